"""Which step the words of a log name: the same words first, then words nearly the same, then the matcher."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container

from ego_adr.procedure.ordering_words import content_words, reading_words, step_key, step_words
from ego_adr.types import ProcedureBank

__all__ = ["StepNamer"]

#: Indel similarity (0..100) from which two texts are the same words with a slip of the pen (chat / chaat).
_SAME_WORDS = 92.0


class StepNamer:
    """Finds steps by words, each distinct text once.

    Args:
        bank: where to look.
        match: words -> index or None; None uses `ego_adr.procedure.matching` with its recommended method,
            and takes a match of low confidence for none.
    """

    def __init__(self, bank: ProcedureBank, match: Callable[[str], int | None] | None = None) -> None:
        self._bank = bank
        self._match = match
        self._by_key: dict[str, list[int]] = defaultdict(list)
        for step in bank.steps:
            self._by_key[step_key(step_words(step.text))].append(step.index)
        self._known: dict[str, list[int]] = {}
        self._content: dict[int, frozenset[str]] = {}

    def candidates(self, text: str) -> list[int]:
        """The steps that the words name equally well, lowest first; empty when they name none."""
        if text not in self._known:
            self._known[text] = self._find(text)
        return self._known[text]

    def name(self, text: str) -> int | None:
        """The first of the candidates."""
        found = self.candidates(text)
        return found[0] if found else None

    def _find(self, text: str) -> list[int]:
        key = step_key(step_words(text))
        if key in self._by_key:
            return self._by_key[key]
        if not key:
            return []
        if self._match is not None:
            index = self._match(text)
            return [] if index is None else self._by_key[step_key(step_words(self._bank.steps[index].text))]
        from rapidfuzz import fuzz, process

        near = process.extractOne(key, list(self._by_key), scorer=fuzz.ratio, score_cutoff=_SAME_WORDS)
        if near is not None:
            return self._by_key[near[0]]
        found = self._matched(text)
        # What takes a step back shares its words; it is no further doing of it.
        undoing = reading_words().undoing
        if self._first_word(text) in undoing:
            found = [i for i in found if self._first_word(step_words(self._bank.steps[i].text)) in undoing]
        return found

    def _matched(self, text: str) -> list[int]:
        from ego_adr.procedure.matching import match_step

        found = match_step(step_words(text), self._bank, method="recommended")
        if found.index is None or found.low_confidence:
            return []
        return list(found.duplicates) or [found.index]

    @staticmethod
    def _first_word(text: str) -> str:
        words = step_key(text).split()
        return words[0] if words else ""

    def undone_by(self, text: str, done: Container[int]) -> int | None:
        """The step that these words take back, among those done: it shares most things with them."""
        if self._first_word(text) not in reading_words().undoing:
            return None
        said = content_words(text)
        best: tuple[float, int] | None = None
        for step in self._bank.steps:
            if step.index not in done:
                continue
            if step.index not in self._content:
                self._content[step.index] = content_words(step.text)
            things = self._content[step.index]
            shared = len(said & things)
            if shared and (best is None or shared / len(said | things) >= best[0]):
                best = (shared / len(said | things), step.index)
        return None if best is None else best[1]
