"""Turns cleaned events into occurrences of steps: which is the first, which one too many, which taken back."""

from __future__ import annotations

from collections.abc import Sequence

from ego_adr.sessions.logs import StepEvent
from ego_adr.sessions.naming import StepNamer
from ego_adr.sessions.reports import SessionEvent
from ego_adr.types import ProcedureBank

__all__ = ["LogReading"]


class LogReading:
    """Takes events in order of time.

    Attributes:
        events: as understood; surplus neighbours of one step are merged.
        first: step -> the event that counts for the order (after an undoing: the redoing).
        surplus: (event, the event it repeats).
        unknown: events that name no step.
        taken_back: step -> (its event, the event that undid it), where it was not done again.
        redone: event of the redoing -> (the first event, the event that undid it).
        notes: what was merged.
    """

    def __init__(self, bank: ProcedureBank, namer: StepNamer, merge_gap: float) -> None:
        self.events: list[SessionEvent] = []
        self.notes: list[str] = []
        self.first: dict[int, int] = {}
        self.surplus: list[tuple[int, int]] = []
        self.unknown: list[int] = []
        self.taken_back: dict[int, tuple[int, int]] = {}
        self.redone: dict[int, tuple[int, int]] = {}
        self._bank = bank
        self._namer = namer
        self._gap = merge_gap
        self._latest: dict[int, int] = {}

    def add(self, number: int, event: StepEvent) -> None:
        """The next event, with its place in the log. Starts must not run backwards."""
        text = event.step if isinstance(event.step, str) else self._bank.steps[event.step].text
        twins = [event.step] if isinstance(event.step, int) else self._namer.candidates(text)
        index = len(self.events)
        if not twins:
            self._unnamed(SessionEvent(number=number, step=None, text=text, start=event.start, end=event.end))
            return
        open_steps = [step for step in twins if step not in self.first and step not in self.taken_back]
        step = open_steps[0] if open_steps else self._of_many(twins)
        if not open_steps and step not in self.taken_back and self._continues(step, number, event):
            return
        self.events.append(
            SessionEvent(number=number, step=step, text=text, start=event.start, end=event.end)
        )
        self._latest[step] = index
        if step in self.taken_back:
            self.redone[index] = self.taken_back.pop(step)
            self.first[step] = index
        elif step in self.first:
            self.surplus.append((index, self.first[step]))
        else:
            self.first[step] = index

    def _continues(self, step: int, number: int, event: StepEvent) -> bool:
        """Whether a surplus occurrence goes on where the event before it (of the same step) ended."""
        index = len(self.events) - 1
        if self._latest.get(step) != index:
            return False
        before = self.events[index]
        if event.start > before.end + self._gap:
            return False
        self.events[index] = before.model_copy(update={"end": max(before.end, event.end)})
        self.notes.append(
            f"event {number} continues event {before.number} (the same step) and was merged with it"
        )
        return True

    def _of_many(self, twins: Sequence[int]) -> int:
        """Of steps that share a text and are all done: one that was taken back, else the one done last."""
        back = [step for step in twins if step in self.taken_back]
        return back[0] if back else max(twins, key=lambda step: self._latest[step])

    def _unnamed(self, event: SessionEvent) -> None:
        index = len(self.events)
        self.events.append(event)
        undone = self._namer.undone_by(event.text, self.first)
        if undone is None:
            self.unknown.append(index)
        else:
            self.taken_back[undone] = (self.first.pop(undone), index)
