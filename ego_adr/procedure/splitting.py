"""Cuts prose into steps by rules, with exact character spans.

Sentences end at ``.``, ``!``, ``?``, ``;`` and blank lines, but not inside numbers ("1.5"), behind abbreviations
("6-oz.", "1/2 tsp.", "No. 2", "e.g."), or inside brackets and quotes. Clauses are cut inside sentences before
"then", "after that", "finally" ..., and, at granularity ``clause``, at commas and "and" where a verb of
instructions follows. The words are data: ``taxonomy/step-splitting.yaml`` and ``taxonomy/ordering-verbs.yaml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Literal

import yaml

from ego_adr.errors import TaxonomyError
from ego_adr.resources import taxonomy_folder

__all__ = ["Granularity", "SplittingWords", "split_prose", "splitting_words"]

#: A line of more characters is part of a text broken to a width.
LONGEST_LINE = 120
#: A word is looked for no further back than this, so that the time grows with the text and not with its square.
LONGEST_WORD = 60
Granularity = Literal["sentence", "clause", "phrase"]
Span = tuple[int, int]


@dataclass(frozen=True)
class SplittingWords:
    """The words that the rules rest on."""

    abbreviations: frozenset[str]
    soft_abbreviations: frozenset[str]
    connectives: tuple[str, ...]
    clause_connectives: tuple[str, ...]
    no_steps: frozenset[str]
    steps: frozenset[str]
    function_words: frozenset[str]
    opposites: frozenset[str]
    particles: frozenset[str]
    lead_ins: frozenset[str]
    openers: frozenset[str]
    objects: frozenset[str]
    adjectives: frozenset[str]
    cardinals: tuple[str, ...]
    ordinals: tuple[str, ...]
    verbs: frozenset[str]
    gerunds: frozenset[str]


@cache
def splitting_words() -> SplittingWords:
    """The words of ``taxonomy/``, read once.

    Raises:
        TaxonomyError: a list holds something that is no text (YAML reads a bare ``on`` as true).
    """
    folder = taxonomy_folder()
    data = yaml.safe_load((folder / "step-splitting.yaml").read_text(encoding="utf-8"))
    kinds = yaml.safe_load((folder / "ordering-verbs.yaml").read_text(encoding="utf-8"))["kinds"]
    for name, words in (data | kinds).items():
        strange = [word for word in words if not isinstance(word, str)]
        if strange:
            raise TaxonomyError(
                f"{name!r} in {folder} holds {strange[0]!r}; put quotes round words such as on."
            )
    verbs = {verb for kind in kinds.values() for verb in kind if " " not in verb}
    return SplittingWords(
        abbreviations=frozenset(data["abbreviations"]),
        soft_abbreviations=frozenset(data["soft-abbreviations"]),
        connectives=tuple(sorted(data["connectives"], key=len, reverse=True)),
        clause_connectives=tuple(sorted(data["clause-connectives"], key=len, reverse=True)),
        no_steps=frozenset(data["no-steps"]),
        steps=frozenset(data["steps"]),
        function_words=frozenset(data["function-words"]),
        opposites=frozenset(data["opposites"]),
        particles=frozenset(data["particles"]),
        lead_ins=frozenset(data["lead-ins"]),
        openers=frozenset(phrase.split()[0] for phrase in data["connectives"]),
        objects=frozenset(data["objects"]),
        adjectives=frozenset(data["adjectives"]),
        cardinals=tuple(data["cardinals"]),
        ordinals=tuple(data["ordinals"]),
        verbs=frozenset(verbs | set(data["more-verbs"])),
        gerunds=frozenset(_gerund(verb) for verb in verbs),
    )


def split_prose(text: str, *, granularity: Granularity = "clause", start: int = 0) -> list[Span]:
    """Spans [begin, end) of the steps of a prose text, in order, without connectives and end marks.

    Args:
        text: the prose.
        granularity: ``sentence`` cuts at sentences and before connectives; ``clause`` also at commas and "and"
            that a verb of instructions follows; ``phrase`` at every comma and before every further thing, so
            that "add flour, 1 egg and the milk" becomes three.
        start: added to every span.
    """
    spans: list[Span] = []
    for begin, end in _sentences(text):
        for piece in _pieces(text, begin, end, granularity):
            trimmed = _trim(text, *piece)
            if trimmed is not None:
                spans.append(trimmed)
    return [(begin + start, end + start) for begin, end in spans]


# ---------------------------------------------------------------------------------------------- sentences

_END = re.compile(r"[.!?。!?]+[\"'”’)\]]*|[;;]|\n\s*\n|\n")
# Straight quotes open at a word's beginning; behind a digit they are inches (1/2" pipe).
_QUOTED = re.compile(r'(?<![\w"])"(?=\w)[^"\n]{1,400}"(?!\w)')
_WORD = re.compile(r"[^\W_]+")
_NOT_BLANK = re.compile(r"\S")
_CAPITAL = re.compile(r"\s+([A-Z][^\W\d_]*)")
_CLOSING = {"(": ")", "[": "]", "“": "”", "«": "»"}


def _enclosed(text: str) -> list[bool]:
    """For each character, whether it stands inside brackets or quotes that are closed again soon."""
    inside = [False] * len(text)
    for opening, closing in _CLOSING.items():
        for begin in (i for i, char in enumerate(text) if char == opening):
            end = text.find(closing, begin + 1, begin + 400)
            if end != -1:
                inside[begin:end] = [True] * (end - begin)
    for quoted in _QUOTED.finditer(text):
        inside[quoted.start() : quoted.end() - 1] = [True] * (len(quoted[0]) - 1)
    return inside


def _sentences(text: str) -> list[Span]:
    inside = _enclosed(text)
    by_line = _one_a_line(text)
    found: list[Span] = []
    begin = 0
    for mark in _END.finditer(text):
        if inside[mark.start()] or not (by_line if mark[0] == "\n" else _ends_sentence(text, mark)):
            continue
        found.append((begin, mark.start()))
        begin = mark.end()
    found.append((begin, len(text)))
    return found


def _one_a_line(text: str) -> bool:
    """Whether each line is a step of its own, rather than a text broken to the width of a page."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = splitting_words()
    for line, following in pairwise(lines):
        first = re.match(r"\W*(\w+)", following)
        if line[-1] in ",(-–" or len(line) > LONGEST_LINE or first is None:
            return False
        last = re.search(r"(\w+)\W*$", line)
        if last is not None and last[1].casefold() in words.function_words - words.opposites - words.objects:
            return False
        if following[0].islower() and first[1].casefold() not in words.verbs | words.openers:
            return False
    return len(lines) > 1


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    shown = mark[0]
    if not shown.startswith("."):
        return True
    after = text[mark.end() : mark.end() + 1]
    if after and not after.isspace() and shown == ".":
        # "1.5", "e.g", "file.txt"; a capital right behind the point is a forgotten blank ("pan.Then")
        return after.isupper() and text[mark.start() - 1 : mark.start()].islower()
    if shown != ".":
        return True
    word = re.search(r"[^\W_](?:[\w.]*[^\W_])?$", text[max(0, mark.start() - LONGEST_WORD) : mark.start()])
    words = splitting_words()
    last = word[0].casefold() if word else ""
    behind = _NOT_BLANK.search(text, mark.end())
    following = behind[0] if behind else ""
    if last in words.soft_abbreviations:
        return following.isupper()
    if last in words.abbreviations:
        # "1 tsp. Stir": a unit at the end of a sentence, when a verb of instructions follows with a capital
        next_word = _CAPITAL.match(text, mark.end())
        return (
            next_word is not None
            and last not in {"no", "fig", "dr", "mr", "mrs", "e.g", "i.e"}
            and (next_word[1].casefold() in words.verbs or next_word[1].casefold() in words.connectives)
        )
    if len(last) == 1 and last.isalpha() and following and not following.isupper():
        return False
    return not (following and following.islower())


# ------------------------------------------------------------------------------------------------ clauses


def _pieces(text: str, begin: int, end: int, granularity: Granularity) -> list[Span]:
    inside = _enclosed(text[begin:end])
    cuts: list[Span] = []
    judged_from = begin
    for mark in _joints(granularity).finditer(text, begin, end):
        if inside[mark.start() - begin] or not _goes_on(text, mark.end(), end):
            continue
        piece = text[judged_from : mark.start()]
        if granularity == "phrase" and _ends_with_adjective(piece):
            continue
        if _leads_in(piece):
            judged_from = mark.end()  # it stays with what follows, which may be a step
        elif _worth_a_step(piece, least=1 if _connective_at(text, mark.end()) else 2):
            cuts.append((mark.start(), mark.end()))
            judged_from = mark.end()
    pieces: list[Span] = []
    at = begin
    for cut_begin, cut_end in cuts:
        pieces.append((at, cut_begin))
        at = cut_end
    pieces.append((at, end))
    return pieces


@cache
def _joints(granularity: Granularity) -> re.Pattern[str]:
    """Where a clause may end: before "then" and its like, and before a verb at granularity ``clause``."""
    words = splitting_words()
    then = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words.clause_connectives)
    joints = [rf"\s*,\s*(?:and\s+|but\s+)?(?=(?:{then})\b)", rf"\s+and\s+(?=(?:{then})\b)"]
    if granularity == "clause":
        # a bare "-ing" behind a comma tells how ("fry it, stirring often"); behind "and" it is the next step
        begins, goes_on = _begins(words.verbs), _begins(words.verbs | words.gerunds)
        joints += [rf"\s*,\s*{begins}", rf"\s*,\s*(?:and|but)\s+{goes_on}", rf"\s+and\s+{goes_on}"]
        joints += [rf"\s*:\s+{begins}"]
    elif granularity == "phrase":
        joints += [r"\s*,\s*(?:and\s+|or\s+|but\s+)?", rf"\s+and\s+{_begins(words.verbs | words.gerunds)}"]
        joints += [r"\s+and\s+(?=(?:the|a|an|\d)\b)", r"\s*:\s+"]
    # from the first blank of a run on, never from within it
    return re.compile(rf"(?<!\s)(?:{'|'.join(joints)})", re.IGNORECASE)


def _begins(verbs: frozenset[str]) -> str:
    names = "|".join(sorted(map(re.escape, verbs), key=len, reverse=True))
    return rf"(?=(?:[^\W\d_]+ly\s+)?(?:{names})\s+\S)"


def _leads_in(piece: str) -> bool:
    """Whether a piece only leads in to the next: "Once done, ...", "In a bowl, ...", "To make tea, first, ..."."""
    shown = _closing().sub("", piece)
    words = _words(shown)
    return bool(words) and words[0] in splitting_words().lead_ins and "," not in shown


def _ends_with_adjective(piece: str) -> bool:
    """Whether a comma behind the piece joins adjectives: "in a large, heavy pan"."""
    near = piece[-4 * LONGEST_WORD :]
    last = re.search(r"\b(?:a|an|the|your|each)\s+(?:\w+,\s*)*(\w+)$", near, re.IGNORECASE)
    return last is not None and last[1].casefold() in splitting_words().adjectives


def _worth_a_step(piece: str, least: int) -> bool:
    """A verb alone ("peel and mince the garlic") is no step: what it acts on comes later.

    Before "then" it is one ("whisk, then fry").
    """
    return len([word for word in _words(piece) if word not in splitting_words().function_words]) >= least


def _connective_at(text: str, at: int) -> bool:
    lead = _leading().match(text, at)
    return lead is not None and re.search(r"\w", lead[0]) is not None


def _words(piece: str) -> list[str]:
    lead = _leading().match(piece)
    return _WORD.findall(piece[lead.end() if lead else 0 :].casefold())


def _goes_on(text: str, begin: int, end: int) -> bool:
    """Whether two words or more follow."""
    return len(list(islice(_WORD.finditer(text, begin, end), 2))) == 2


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    if re.search(r"[^aeiou][aeiou][bdgmnprt]$", verb) and len(verb) <= 4:
        return verb + verb[-1] + "ing"
    return verb + "ing"


@cache
def _leading() -> re.Pattern[str]:
    names = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in splitting_words().connectives)
    return re.compile(rf"[\s,;:•*–-]*(?:(?:{names})\b\s*,?\s*)*", re.IGNORECASE)


@cache
def _closing() -> re.Pattern[str]:
    names = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in splitting_words().connectives)
    return re.compile(rf"(?<!\s)\s*,\s*(?:{names})\s*$", re.IGNORECASE)


def _trim(text: str, begin: int, end: int) -> Span | None:
    """The span without blanks, end marks and leading connectives; None when nothing is left."""
    while end > begin and (text[end - 1].isspace() or text[end - 1] in ".,;:!?"):
        # a unit keeps its point
        end -= 1
    lead = _leading().match(text, begin, end)
    inner = lead.end() if lead else begin
    if inner >= end or not re.search(r"\w", text[inner:end]):
        inner = begin
        while inner < end and (text[inner].isspace() or text[inner] in ",;:"):
            inner += 1
    return (inner, end) if inner < end and re.search(r"\w", text[inner:end]) else None
