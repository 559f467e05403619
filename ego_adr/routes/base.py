"""What a route is, and what it works on.

A route takes cases through its stages, one stage over all cases before the next. It never raises for one
case: what goes wrong with a case is written on it, and the case is left out of the stages that follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ego_adr.types import (
    Exchange,
    Failure,
    FrameSequence,
    ProcedureBank,
    Query,
    Reply,
    StageUse,
    Step,
    StepMatch,
)

if TYPE_CHECKING:
    from ego_adr.models.base import VideoLLM
    from ego_adr.prompting import PromptLibrary
    from ego_adr.routes.asking import Asker
    from ego_adr.taxonomies import Taxonomy

__all__ = ["Case", "Decision", "Kit", "Route", "Settings"]

Decision = Literal["text", "score", "two-step"]


@dataclass(frozen=True)
class Settings:
    """The switches of a run; each can be measured alone.

    Attributes:
        frames: pictures a clip, uniform over it.
        longer_side: pictures are scaled down to this many pixels, None keeps their size.
        match: ``auto`` (the route's own way), ``published`` or ``recommended`` (textual matchers), ``off``.
        narrate: False leaves the narration out: the classification sees the pictures.
        decide: ``text`` reads the reply, ``score`` compares the log-likelihood of the labels, ``two-step``
            decides "correct or not" first and the type second.
        calibrate: with ``score`` and ``two-step``, subtract what the model says with no evidence.
    """

    frames: int = 8
    longer_side: int | None = 768
    match: Literal["auto", "published", "recommended", "off"] = "auto"
    narrate: bool = True
    decide: Decision = "text"
    calibrate: bool = False


@dataclass(frozen=True)
class Kit:
    """All that a route works with."""

    model: VideoLLM
    bank_model: VideoLLM | None
    prompts: PromptLibrary
    taxonomy: Taxonomy
    asker: Asker
    settings: Settings


@dataclass
class Case:
    """One query on its way through the stages; filled in as it goes."""

    query: Query
    bank: ProcedureBank | None = None
    match: StepMatch | None = None
    narration: str | None = None
    label: str | None = None
    labels: tuple[str, ...] = ()
    unparsed: str | None = None
    failure: Failure | None = None
    evidence: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None
    frame_times: tuple[float, ...] = ()
    start: float | None = None
    end: float | None = None
    warnings: list[str] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    uses: dict[str, StageUse] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Nothing has gone wrong with it, and it has no verdict yet."""
        return self.failure is None and self.unparsed is None and self.label is None

    def fail(self, cause: str, message: str) -> None:
        self.failure = Failure(cause=cause, message=message)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def spend(
        self, stage: str, reply: Reply | None = None, *, seconds: float = 0.0, cached: bool = False
    ) -> None:
        """Book one call (or one answer that was already known) on a stage."""
        use = self.uses.get(stage, StageUse(stage=stage))
        self.uses[stage] = use.model_copy(
            update={
                "calls": use.calls + (0 if cached or reply is None else 1),
                "cached": use.cached + (1 if cached else 0),
                "prompt_tokens": use.prompt_tokens + ((reply and not cached and reply.prompt_tokens) or 0),
                "completion_tokens": use.completion_tokens
                + ((reply and not cached and reply.completion_tokens) or 0),
                "seconds": use.seconds + seconds,
            }
        )

    def saw(self, frames: FrameSequence) -> None:
        """Note which pictures were looked at."""
        self.frame_times = tuple(frame.time for frame in frames)
        self.start, self.end = frames.start, frames.end
        for text in frames.warnings:
            self.warn(text)

    def step_text(self, index: int | None) -> str:
        """The text of a step of this case's bank, empty when there is none."""
        step = self._step(index)
        return step.text if step else ""

    def _step(self, index: int | None) -> Step | None:
        return None if index is None or self.bank is None else self.bank.steps[index]

    def variables(self, taxonomy: Taxonomy) -> dict[str, Any]:
        """What every prompt of a stage may use."""
        match = self.match
        times = [round(time, 3) for time in self.frame_times]
        return {
            "action": self.query.action,
            "steps": self.bank.steps if self.bank else (),
            "procedure": self.bank.text if self.bank else "",
            "title": (self.bank.title if self.bank else None) or "",
            "current": self.step_text(match.index if match else None),
            "previous": self.step_text(match.previous if match else None),
            "next": self.step_text(match.next if match else None),
            "labels": taxonomy.labels,
            "narration": self.narration or "",
            "times": times,
            "duration": None if self.start is None or self.end is None else self.end - self.start,
        }


class Route(Protocol):
    """One way from a case to a label."""

    name: str

    def run(self, cases: Sequence[Case], kit: Kit) -> None:
        """Take every open case as far as it goes: label, unparsed reason or failure."""
        ...
