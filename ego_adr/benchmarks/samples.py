"""Samples: what a prompt may see, and apart from it the truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ego_adr.types import Clip, Failure, Query

__all__ = ["NEGATIVE_START", "NO_ACTION", "Sample", "Shown", "Truth", "distinct"]

#: A start before second 0 marks a step that was not done: it gives the answer away without a look.
NEGATIVE_START = "negative start"
#: Rows without an action text are errors, all of them, in the published files.
NO_ACTION = "no action text"


@dataclass(frozen=True)
class Shown:
    """All that a prompt or a detector ever gets of a row.

    Attributes:
        video: path of the video; it need not exist (the sample then fails by name).
        start, end: seconds; both negative means the whole video.
        procedure: its text; empty when there is none for the task.
        action: the step in question, cleaned of what the annotation put before it.
        task: name of the task.
        question: for an open-end sample, the question.
    """

    video: str
    start: float | None
    end: float | None
    procedure: str
    action: str
    task: str = ""
    question: str | None = None

    @property
    def whole_video(self) -> bool:
        return self.start is not None and self.end is not None and self.start < 0 and self.end < 0


@dataclass(frozen=True)
class Truth:
    """What the row's annotators say: labels by display name, or the answer to its question."""

    labels: tuple[str, ...] = ()
    answer: str | None = None


@dataclass(frozen=True)
class Sample:
    """One row of a benchmark.

    Attributes:
        id: unique, and the same whatever order or subset is read.
        dataset: the data set it comes from.
        group: the video as a name; what the bootstrap resamples.
        shown: see `Shown`.
        truth: see `Truth`; no prompt is made of it.
        giveaways: what about the row gives its answer away.
        problem: why the row cannot be asked at all; it then fails by this.
        notes: what was noticed while it was read.
        row: id of the row it belongs to, where a row holds several samples (open-end questions).
        narration: a narration that came with it.
    """

    id: str
    dataset: str
    group: str
    shown: Shown
    truth: Truth = field(default_factory=Truth)
    giveaways: tuple[str, ...] = ()
    problem: Failure | None = None
    notes: tuple[str, ...] = ()
    row: str | None = None
    narration: str | None = None

    def query(self, narration: str | None = None) -> Query:
        """What the detector is asked. Made of ``shown`` alone (and of a narration, where one is given)."""
        shown = self.shown
        return Query(
            clip=Clip(Path(shown.video), shown.start, shown.end),
            procedure=shown.procedure,
            action=shown.action,
            id=self.id,
            narration=narration if narration is not None else self.narration,
        )


def distinct(sample: Sample, seen: dict[str, int]) -> Sample:
    """The sample under an id of its own: rows that show the same get ``#2``, ``#3`` ... in file order.

    ``seen`` counts the ids so far and is kept by the caller.
    """
    seen[sample.id] = count = seen.get(sample.id, 0) + 1
    return sample if count == 1 else replace(sample, id=f"{sample.id}#{count}")
