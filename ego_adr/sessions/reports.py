"""What a session says: verdicts with their evidence, and the counterfactual. JSON both ways."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Rule", "SessionEvent", "SessionReport", "SessionVerdict", "WhatIf"]

#: Which rule found an error.
Rule = Literal[
    "needed-earlier",  # a step that needs this one had already begun
    "needs-later",  # a step that this one needs begins later
    "never-done",  # not seen by the end of the recording
    "not-yet-done",  # online: a step that needs it begins, and it has not been seen
    "undone",  # done, taken back, and not done again
    "repeated",  # done once more although nothing was wrong
    "unknown",  # no step of the procedure
    "redone",  # done again after it was taken back, or after it had come too early
]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SessionEvent(_Value):
    """An event as it was understood.

    Attributes:
        number: its place in the log that was given, from 0.
        step: index in the bank, None when it names no step.
        text: the words of the log.
        start, end: seconds.
    """

    number: int
    step: int | None
    text: str
    start: float
    end: float


class SessionVerdict(_Value):
    """One error.

    Attributes:
        label: display name of the label.
        rule: which rule found it.
        step: index in the bank, None for an action that is no step.
        event: index into the report's ``events``; None for what was not done.
        other_step, other_event: the other half of the pair, or what the verdict rests on.
        known_at: seconds of the recording at which this can be known; the end of the recording for what
            never came.
        immediate: whether it can be known while the step itself is done.
        evidence: the reason in words.
    """

    label: str
    rule: Rule
    step: int | None
    event: int | None
    other_step: int | None = None
    other_event: int | None = None
    known_at: float
    immediate: bool
    evidence: str


class SessionReport(_Value):
    """What a recording says about the procedure.

    Attributes:
        title: of the procedure.
        steps: the texts of its steps.
        events: in order of time, exact doubles dropped and surplus neighbours of one step merged.
        verdicts: in the order in which they can be known. An event without one was done right, as far as
            order and omission go.
        online: only what a live assistant can know at the time was used.
        end: seconds at which the last event ends.
        notes: what was noticed in the log.
    """

    title: str | None
    steps: tuple[str, ...]
    events: tuple[SessionEvent, ...]
    verdicts: tuple[SessionVerdict, ...]
    online: bool = False
    end: float = 0.0
    notes: tuple[str, ...] = ()

    def for_event(self, event: int) -> tuple[SessionVerdict, ...]:
        """The verdicts on one of the ``events``."""
        return tuple(verdict for verdict in self.verdicts if verdict.event == event)

    def for_step(self, step: int) -> tuple[SessionVerdict, ...]:
        """The verdicts on one step of the procedure."""
        return tuple(verdict for verdict in self.verdicts if verdict.step == step)

    def with_label(self, label: str) -> tuple[SessionVerdict, ...]:
        """The verdicts of one label."""
        return tuple(verdict for verdict in self.verdicts if verdict.label == label)


class WhatIf(_Value):
    """What would lose its ground if a step were left out.

    Attributes:
        omitted: the step's index.
        direct: the steps that need it themselves.
        lost: all that need it, directly or through others, lowest first.
        done: those of ``lost`` that the log holds.
        explanation: one sentence a lost step: which step it rests on.
    """

    omitted: int
    direct: tuple[int, ...]
    lost: tuple[int, ...]
    done: tuple[int, ...]
    explanation: tuple[str, ...]
