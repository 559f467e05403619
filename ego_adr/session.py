"""Whole recordings: a log of steps in, omissions and steps at the wrong moment out.

    >>> session = Session(bank, [StepEvent(0, 0.0, 4.0), StepEvent("pour the eggs", 4.0, 9.0)])
    >>> report = session.verdicts()

The order comes from ``bank.edges`` (`ego_adr.procedure.ordering`); a bank without edges gives omissions,
repeated and unknown steps, and never a wrong order. Optional steps ("... if desired") are no omission when
they are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ego_adr.errors import DataError
from ego_adr.procedure.ordering_graphs import StepOrder
from ego_adr.procedure.ordering_words import is_optional
from ego_adr.sessions.logs import LogEntry, StepEvent, as_events, clean_log, read_log
from ego_adr.sessions.naming import StepNamer
from ego_adr.sessions.reading import LogReading
from ego_adr.sessions.reports import Rule, SessionEvent, SessionReport, SessionVerdict, WhatIf
from ego_adr.sessions.verdicts import LABEL_OF_RULE, VerdictMaker, called
from ego_adr.taxonomies import Taxonomy, default_taxonomy
from ego_adr.types import ProcedureBank

__all__ = ["Session", "SessionEvent", "SessionReport", "SessionVerdict", "StepEvent", "WhatIf", "read_log"]


class Session:
    """A recording as a log of steps.

    Args:
        bank: the procedure, with edges where its order is known.
        events: `StepEvent` values, (step, start, end) triples or mappings; any order. A step is a 0-based
            index or words; words are matched to a step (the same words first, then the recommended matcher),
            and steps that share a text are taken one after the other.
        taxonomy: names of the labels; the package's own by default.
        merge_gap: seconds; a surplus occurrence of the step that was just done, that begins at most this long
            after it ended, is its continuation and no repetition.
        match: words -> index of a step or None, in place of the built-in matching.

    Attributes:
        events: as they were understood, in order of time.
        optional: indices of the steps that may be left out.
        notes: what was noticed in the log.

    Raises:
        DataError: for events that cannot be judged (see `ego_adr.sessions.logs.clean_log`), or a procedure
            without steps.
        ProcedureError: when the bank's edges run in a circle.
        TaxonomyError: when the taxonomy lacks a label the verdicts need.
    """

    def __init__(
        self,
        bank: ProcedureBank,
        events: Iterable[LogEntry],
        *,
        taxonomy: Taxonomy | None = None,
        merge_gap: float = 0.0,
        match: Callable[[str], int | None] | None = None,
    ) -> None:
        if not bank.steps:
            raise DataError(
                "the procedure has no steps, so nothing can be left out or come too early. Give one with steps."
            )
        if not merge_gap >= 0:
            raise DataError(f"merge_gap must be 0 s or more, not {merge_gap!r}.")
        names = taxonomy or default_taxonomy()
        self.bank = bank
        self.order = StepOrder.of(bank)
        self.optional = frozenset(step.index for step in bank.steps if is_optional(step.text))
        self._labels: dict[Rule, str] = {
            rule: names.require(label).name for rule, label in LABEL_OF_RULE.items()
        }
        cleaned, _, notes = clean_log(as_events(events), len(bank.steps))
        self._read = LogReading(bank, StepNamer(bank, match), merge_gap)
        for number, event in cleaned:
            self._read.add(number, event)
        left = sorted(self.optional - self._read.first.keys())
        self.events: tuple[SessionEvent, ...] = tuple(self._read.events)
        self.notes: tuple[str, ...] = (
            *notes,
            *self._read.notes,
            *(f"{called(bank, step)} is left to choice and was not done" for step in left),
        )

    def verdicts(self, *, online: bool = False) -> SessionReport:
        """Every error of the recording that order and completeness show.

        Args:
            online: only what can be known while a step is done or as the next one begins. A step that began
                before one it needs is then first an omission (``not-yet-done``) of the needed one; what only
                the rest of the recording tells is left out.
        """
        found = VerdictMaker(self.bank, self.order, self._read, self.optional, self._labels).all()
        kept = [v for v in found if (v.immediate if online else v.rule != "not-yet-done")]
        return SessionReport(
            title=self.bank.title,
            steps=tuple(step.text for step in self.bank.steps),
            events=self.events,
            verdicts=tuple(sorted(kept, key=lambda v: (v.known_at, -1 if v.event is None else v.event))),
            online=online,
            end=max((event.end for event in self.events), default=0.0),
            notes=self.notes,
        )

    def whatif(self, *, omit: int | str) -> WhatIf:
        """Which steps would lose their ground if one were left out (EgoTaskQA's counterfactual).

        Args:
            omit: index of a step, or words that name one.

        Raises:
            DataError: when it is no step of the procedure.
        """
        step = StepNamer(self.bank).name(omit) if isinstance(omit, str) else omit
        if step is None or isinstance(step, bool) or not 0 <= step < len(self.bank.steps):
            raise DataError(
                f"{omit!r} is no step; give an index from 0 to {len(self.bank.steps) - 1}, or a step's words."
            )
        lost = self.order.all_needed_by(step)
        gone = {step, *lost}
        done = {event.step for event in self.events}
        grounds = (
            (later, next(needed for needed in self.order.needs[later] if needed in gone)) for later in lost
        )
        return WhatIf(
            omitted=step,
            direct=tuple(self.order.needed_by[step]),
            lost=tuple(lost),
            done=tuple(i for i in lost if i in done),
            explanation=tuple(
                f"{called(self.bank, later)} needs {called(self.bank, ground)}" for later, ground in grounds
            ),
        )
