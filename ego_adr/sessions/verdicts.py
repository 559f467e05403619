"""From occurrences of steps to verdicts with their evidence: order, what is too many, what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass

from ego_adr.procedure.ordering_graphs import StepOrder
from ego_adr.sessions.judging import OrderBreach, OrderJudge
from ego_adr.sessions.reading import LogReading
from ego_adr.sessions.reports import Rule, SessionEvent, SessionVerdict
from ego_adr.types import ProcedureBank

__all__ = ["LABEL_OF_RULE", "VerdictMaker", "called"]

#: Which label of the taxonomy (by id) each rule gives.
LABEL_OF_RULE: dict[Rule, str] = {
    "needed-earlier": "wrong-order",
    "needs-later": "wrong-order",
    "never-done": "omission",
    "not-yet-done": "omission",
    "undone": "omission",
    "repeated": "unintended-action",
    "unknown": "unintended-action",
    "redone": "correct-wrong-action",
}


def called(bank: ProcedureBank, step: int) -> str:
    """A step as evidence names it: its number and the beginning of its text."""
    text = " ".join(bank.steps[step].text.split())
    return f"step {step + 1} ({text if len(text) <= 70 else text[:69] + '…'!r})"


@dataclass(frozen=True)
class _Rest:
    """What a verdict rests on: the other half of its pair."""

    step: int | None = None
    event: int | None = None


class VerdictMaker:
    """One pass over the events in order of time, then what only the end can tell.

    Args:
        bank, order: the procedure and what its edges ask for.
        read: the log.
        optional: steps that may be left out.
        labels: display name of the label of each rule.
    """

    def __init__(
        self,
        bank: ProcedureBank,
        order: StepOrder,
        read: LogReading,
        optional: Container[int],
        labels: Mapping[Rule, str],
    ) -> None:
        self._bank, self._order, self._read = bank, order, read
        self._events: list[SessionEvent] = read.events
        self._optional = optional
        self._labels = labels
        self._found: list[SessionVerdict] = []
        self._late: set[int] = set()
        self._early: dict[int, list[int]] = defaultdict(list)  # step -> the steps it came before

    def all(self) -> list[SessionVerdict]:
        """Every verdict, offline and online ones (``not-yet-done``) together."""
        self._in_order()
        self._extra()
        self._missing()
        return self._found

    def _say(
        self,
        rule: Rule,
        step: int | None,
        event: int | None,
        known_at: float,
        evidence: str,
        rest: _Rest,
        immediate: bool = True,
    ) -> None:
        self._found.append(
            SessionVerdict(
                label=self._labels[rule],
                rule=rule,
                step=step,
                event=event,
                other_step=rest.step,
                other_event=rest.event,
                known_at=known_at,
                immediate=immediate,
                evidence=evidence,
            )
        )

    def _step(self, index: int) -> str:
        return called(self._bank, index)

    def _at(self, event: int) -> str:
        return f"at {self._events[event].start:.1f} s"

    # ------------------------------------------------------------------------------------------------- order

    def _in_order(self) -> None:
        judge = OrderJudge(self._order)
        counted = {event: step for step, event in self._read.first.items()}
        warned: set[int] = set()
        for index, event in enumerate(self._events):
            step = counted.get(index)
            if step is None:
                continue
            for needed in self._order.needs[step]:
                if (
                    needed not in warned
                    and needed not in self._optional
                    and not self._begun(judge, needed, event.start)
                ):
                    warned.add(needed)
                    why = f"{self._step(step)} begins {self._at(index)} and needs {self._step(needed)}, not seen so far"
                    self._say("not-yet-done", needed, None, event.start, why, _Rest(step, index))
            for breach in judge.feed(step, event.start, event.end):
                self._breach(breach)

    def _begun(self, judge: OrderJudge, step: int, moment: float) -> bool:
        if judge.begun >> step & 1:
            return True
        event = self._read.first.get(step)
        return event is not None and self._events[event].start <= moment

    def _breach(self, breach: OrderBreach) -> None:
        before, after = breach.before, breach.after
        late, early = self._read.first[before], self._read.first[after]
        through = self._through(before, after)
        if before not in self._late:
            self._late.add(before)
            why = (
                f"{self._step(before)} begins {self._at(late)}; {self._step(after)}, which needs it{through}, "
                f"had begun {self._at(early)}"
            )
            now = breach.known_at <= self._events[late].end
            self._say("needed-earlier", before, late, breach.known_at, why, _Rest(after, early), now)
        if not self._early[after]:
            why = (
                f"{self._step(after)} begins {self._at(early)} and needs{through} {self._step(before)}, "
                f"which begins only {self._at(late)}"
            )
            now = breach.known_at <= self._events[early].end
            self._say("needs-later", after, early, breach.known_at, why, _Rest(before, late), now)
        self._early[after].append(before)

    def _through(self, before: int, after: int) -> str:
        """Names one step between, where the need is not direct."""
        if before in self._order.needs[after]:
            return ""
        between = next(i for i in self._order.needs[after] if self._order.must_precede(before, i))
        return f" (through step {between + 1})"

    # ------------------------------------------------------------------------------------- too many, missing

    def _extra(self) -> None:
        for index in self._read.unknown:
            event = self._events[index]
            self._say(
                "unknown", None, index, event.end, f"{event.text!r} is no step of the procedure", _Rest()
            )
        corrected: set[int] = set()
        for index, done in self._read.surplus:
            event = self._events[index]
            step = event.step
            assert step is not None
            waited_for = [
                self._events[self._read.first[i]].start
                for i in self._early.get(step, ())
                if i in self._read.first
            ]
            if waited_for and max(waited_for) < event.start and step not in corrected:
                corrected.add(step)
                why = (
                    f"{self._step(step)} came too early {self._at(done)} and is done again {self._at(index)}"
                )
                self._say("redone", step, index, event.end, why, _Rest(step, done))
            else:
                why = f"{self._step(step)} is done again {self._at(index)}; it was already done {self._at(done)}"
                self._say("repeated", step, index, event.start, why, _Rest(step, done))
        for index, (done, undoing) in self._read.redone.items():
            event = self._events[index]
            step = event.step
            assert step is not None
            taken = f"taken back {self._at(undoing)} ({self._events[undoing].text!r})"
            why = f"{self._step(step)} was done {self._at(done)}, {taken} and done again {self._at(index)}"
            self._say("redone", step, index, event.end, why, _Rest(step, undoing))

    def _missing(self) -> None:
        first = self._read.first
        end = max((event.end for event in self._events), default=0.0)
        for step in range(len(self._bank.steps)):
            if step in first or step in self._optional:
                continue
            if step in self._read.taken_back:
                done, undoing = self._read.taken_back[step]
                why = f"{self._step(step)} was done {self._at(done)}, taken back {self._at(undoing)} and not done again"
                self._say("undone", step, None, end, why, _Rest(step, undoing))
                continue
            needing = next((later for later in self._order.needed_by[step] if later in first), None)
            why = f"{self._step(step)} is not seen by the end at {end:.1f} s"
            if needing is None:
                self._say("never-done", step, None, end, why, _Rest())
            else:
                why += f"; {self._step(needing)}, which needs it, begins {self._at(first[needing])}"
                self._say("never-done", step, None, end, why, _Rest(needing, first[needing]))
