"""Whether words in a sentence are denied, or only supposed: the reach of "no", "without", "might" and "if".

The reach is judged from words and punctuation alone. A denial holds up to the end of its clause; over a comma,
an "and" or an "or" it holds only along a list ("nothing spills, slips or breaks").
"""

from __future__ import annotations

import functools
import re

from ego_adr.vocabularies import English, english

__all__ = ["Scopes", "scopes"]

_HARD = re.compile(r"[.!?;:()\[\]\n]|\s[-–—]+\s|—")
_PIECES = re.compile(r",|/|\band\b|\bor\b|\bnor\b", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)
_OR_FOLLOWS = re.compile(r"[^.;:!?()\n]{0,60}?\b(?:or|nor)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_WINDOW = 300
"""Characters that are looked at on either side; more than a clause holds, and a bound on replies that loop."""
_REACH = 9
"""Words that a denial reaches over inside one clause."""


class Scopes:
    """The words that deny and suppose, compiled.

    Args:
        language: where the word lists come from.
        more_negators: names of further lists that deny what follows (replies: "rather than").
    """

    def __init__(self, language: English, more_negators: tuple[str, ...] = ()) -> None:
        self._negator = _compiled(*(language.pattern(name) for name in ("negators", *more_negators)))
        self._no_negator = _compiled(language.pattern("no-negators"))
        self._noun_negator = _compiled(language.pattern("noun-negators"))
        self._turn = _compiled(language.pattern("turns"))
        self._unreal = _compiled(language.pattern("unreal"))
        self._quantifiers = re.compile(rf"\s*(?:{language.pattern('quantifiers')}\s*)*", re.IGNORECASE)
        self._after = re.compile(
            rf"[\s,]*(?:[\w']+\s+){{0,2}}?{language.pattern('denied-after')}", re.IGNORECASE
        )
        self._next = re.compile(rf"\s*{language.pattern('denied-next')}", re.IGNORECASE)
        self._none = re.compile(
            rf"\s*[\"']?\s*[:=?(–—-]+\s*{language.pattern('none-words')}\s*(?=[.,;)\n]|[-–—]|$)",
            re.IGNORECASE,
        )

    def denied(self, text: str, start: int, end: int) -> bool:
        """Whether ``text[start:end]`` is said not to be so."""
        return self.denied_before(text, start, end) or self.denied_after(text, end)

    def denied_after(self, text: str, end: int) -> bool:
        """Whether what follows takes the words back ("... is ruled out", "...: no")."""
        rest = text[end : end + _WINDOW]
        stop = re.search(r"[.!?;\n]", rest)
        clause = rest[: stop.end()] if stop else rest
        inner = re.split(r"[,;:()]|\s[-–—]\s", clause)[0]
        return bool(self._none.match(clause) or self._next.match(inner) or self._after.match(inner))

    def unreal(self, text: str, start: int) -> bool:
        """Whether what starts there is only supposed, feared or asked."""
        left = text[max(0, start - _WINDOW) : start]
        left = left[_last_end(_HARD, left) :]
        left = left[left.rfind(",") + 1 :]
        return any(len(_WORD.findall(left[m.end() :])) <= _REACH for m in self._unreal.finditer(left))

    def denied_before(self, text: str, start: int, end: int) -> bool:
        """Whether a denial before ``text[start:end]`` reaches it."""
        left = text[max(0, start - _WINDOW) : start]
        left = left[_last_end(_HARD, left) :]
        left = left[_last_end(self._turn, left) :]
        left = self._no_negator.sub(lambda m: " " * len(m.group()), left)
        last = None
        for last in self._negator.finditer(left):  # noqa: B007 - the last one is wanted
            pass
        if last is None:
            return False
        between = left[last.end() :]
        pieces = _PIECES.split(between)
        if len(_WORD.findall(pieces[0])) > _REACH:
            return False
        of_noun = self._noun_negator.fullmatch(last.group()) is not None
        after_with = re.search(r"\bwith\s*$", left[: last.start()], re.IGNORECASE) is not None
        if len(pieces) == 1:
            governs_noun = last.group().casefold() != "no" or after_with
            return not (of_noun and governs_noun) or self._noun_reached(between, text[start:end])
        return self._list_reaches(between, pieces, text, end, of_noun=of_noun)

    def _noun_reached(self, between: str, words: str) -> bool:
        """ "without spilling", "without any spill"; but "the cook without gloves spills it"."""
        first = words.split()[0].casefold() if words.split() else ""
        return first.endswith("ing") or self._only_quantifiers(between) or "ing " in between

    def _only_quantifiers(self, text: str) -> bool:
        return self._quantifiers.fullmatch(text) is not None

    def _list_reaches(self, between: str, pieces: list[str], text: str, end: int, *, of_noun: bool) -> bool:
        later = pieces[1:]
        if any(len(_WORD.findall(piece)) > 3 for piece in later):
            return False
        blank = self._only_quantifiers(later[-1])
        if _OR.search(between):
            return blank or len(_WORD.findall(later[-1])) <= 2
        if not blank:
            return False
        if of_noun and re.search(r"\band\b", between, re.IGNORECASE):
            return True
        follows = _OR_FOLLOWS.match(text, end)
        return follows is not None and self._turn.search(follows.group()) is None


def _compiled(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    end = 0
    for match in pattern.finditer(text):
        if not re.fullmatch(r"[.:]", match.group()) or not _inside_number(text, match.start()):
            end = match.end()
    return end


def _inside_number(text: str, at: int) -> bool:
    return 0 < at < len(text) - 1 and text[at - 1].isdigit() and text[at + 1].isdigit()


@functools.lru_cache(maxsize=4)
def scopes(*more_negators: str) -> Scopes:
    """The scopes of the language that comes with the package, compiled once."""
    return Scopes(english(), more_negators)
