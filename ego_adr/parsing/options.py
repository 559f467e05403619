"""Lists of the labels that a reply repeats from its prompt, and the numbers that such a list gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ego_adr.parsing.names import Names, unique
from ego_adr.parsing.reading import Claim
from ego_adr.taxonomies import Label, Taxonomy, label_key
from ego_adr.vocabularies import english

__all__ = ["Lists", "find_lists", "numbers_of"]

_MARK = r"\s*(?:[-•>#|]+\s*)*(?:\[(?P<box>[ xX✓✔])\]\s*)?(?:\*?[(\[]?(?P<num>\d{1,2}|[A-Za-z])[.)\]:|]+\s*)?[\"'\[(]*"
_ITEM = re.compile(_MARK)
_AFTER = re.compile(r"[\"')\]|]*\s*(?:$|[:.,;(|=✅❌✓✔]|[-–—→]+\s|(?P<said>yes|no)\b)", re.IGNORECASE)
_NUMBER_BEFORE = re.compile(
    r"(?:[(\[]?(?P<num>\d{1,2}|[A-Za-z])[.)\]:]\s*|#?(?P<bare>\d{1,2})\s*[-–=]?\s*)[\"'(\[]*$"
)
_BETWEEN = re.compile(
    r"[\"')\]}.]*\s*(?:[,;/|·•\n-]|\bor\b|\band\b)*\s*(?:\bor\b|\band\b)?\s*(?:[(\[]?(?:\d{1,2}|[A-Za-z])[.)\]:])?\s*[\"'(\[{-]*\s*",
    re.IGNORECASE,
)
_SCORE = re.compile(r"[\"')\]|]*\s*[:=|–—-]\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*$")


@dataclass
class Lists:
    """What the echoed lists of a text were.

    Attributes:
        rest: the text with them blanked out, same length.
        by_number: labels by their number or upper-case letter.
        claims: choices that a list itself marks (ticked boxes, "yes" behind one of them).
        echoed: at least one list held no choice.
    """

    rest: str
    by_number: dict[str, Label] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    echoed: bool = False


@dataclass(frozen=True)
class _Item:
    label: Label
    start: int
    end: int
    number: str | None = None
    said: bool | None = None
    score: float | None = None
    dress: str = ""


def numbers_of(options: Sequence[str], taxonomy: Taxonomy) -> dict[str, Label]:
    """The labels of a list of options by number from 1 and by letter from A.

    Raises:
        LabelError: when an option names no label.
    """
    found: dict[str, Label] = {}
    for index, option in enumerate(options):
        found[str(index + 1)] = found[chr(ord("A") + index)] = taxonomy.require(option)
    return found


def find_lists(text: str, names: Names, *, given: Mapping[str, Label] | None = None) -> Lists:
    """Blank out every list that repeats the labels, and learn its numbers.

    Args:
        given: numbers that are known from the prompt; a list in the reply itself goes before them.
    """
    found = Lists(rest=text, by_number=dict(given or {}))
    for run in [*_line_runs(text, names), *_inline_runs(text, names)]:
        if not _is_echo(run, names.taxonomy):
            continue
        start, end = run[0].start, run[-1].end
        if not found.rest[start:end].strip():
            continue
        found.by_number.update({item.number.upper(): item.label for item in run if item.number})
        chosen = _chosen(run, names.taxonomy)
        if chosen:
            words = " ".join(text[start:end].split())[:300]
            found.claims.append(Claim(chosen, end, 3, words))
        else:
            found.echoed = True
        found.rest = found.rest[:start] + re.sub(r"[^\n]", " ", text[start:end]) + found.rest[end:]
    return found


def _is_echo(run: Sequence[_Item], taxonomy: Taxonomy) -> bool:
    """More labels than an answer would hold: most of them, or "correct" beside errors, or the first in order."""
    labels = unique(item.label for item in run)
    if len(labels) > 1 and all(item.said is not None or item.score is not None for item in run):
        return True
    if len(labels) < 3:
        return False
    if len(labels) > len(taxonomy.labels) / 2:
        return True
    if any(not label.is_error for label in labels):
        return True
    numbers = [item.number for item in run]
    counted = numbers in ([str(i + 1) for i in range(len(run))], [chr(97 + i) for i in range(len(run))])
    return counted and labels in (taxonomy.labels[: len(labels)], taxonomy.errors[: len(labels)])


def _chosen(run: Sequence[_Item], taxonomy: Taxonomy) -> tuple[Label, ...]:
    """What a list with ticks, yes and no, or scores says; empty when it says nothing."""
    yes = unique(item.label for item in run if item.said is True)
    if yes:
        return yes
    no = {item.label.id for item in run if item.said is False}
    if no >= {label.id for label in taxonomy.errors} and taxonomy.correct.id not in no:
        return (taxonomy.correct,)
    scored = [item for item in run if item.score is not None]
    if len(scored) == len(run):
        top = max(item.score or 0.0 for item in scored)
        best = unique(item.label for item in scored if item.score == top)
        return best if len(best) == 1 else ()
    return ()


def _line_runs(text: str, names: Names) -> list[list[_Item]]:
    """Neighbouring lines that each begin with a label; blank and indented lines may lie between."""
    runs: list[list[_Item]] = [[]]
    at = 0
    for line in text.splitlines(keepends=True):
        item = _line_item(line.rstrip("\n"), at, names)
        if item is not None:
            last = runs[-1][-1] if runs[-1] else None
            # a label that the list holds already, or one in another dress, is said about the list
            if last and (item.label.id in {i.label.id for i in runs[-1]} or item.dress != last.dress):
                runs.append([])
            runs[-1].append(item)
        elif line.strip() and not re.match(r"\s{2,}\S", line) and not re.fullmatch(r"[\s|:=-]+", line):
            runs.append([])
        at += len(line)
    return [run for run in runs if len(run) > 1]


def _line_item(line: str, at: int, names: Names) -> _Item | None:
    # the mark may swallow a letter that begins a name ("a." is a mark, "A" of a name is not), so both are tried
    for mark in (_ITEM.match(line), re.match(r"\s*", line)):
        if mark is None:
            continue
        match = names.every_at(line, mark.end())
        if match is None:
            continue
        after = _AFTER.match(line, match.end())
        if after is None:
            continue
        groups = mark.groupdict()
        box, number = groups.get("box"), groups.get("num")
        score = _SCORE.match(line, match.end())
        return _Item(
            label=names.owner(match.group()),
            start=at,
            end=at + len(line),
            number=number,
            dress=_dress(mark.group()),
            said=(box != " ") if box else _said(line[match.end() :]),
            score=float(score.group(1)) if score else None,
        )
    return None


def _dress(mark: str) -> str:
    """The kind of a list mark: numbers are one kind, letters another."""
    return re.sub(r"[A-Za-z]", "a", re.sub(r"\d+", "1", re.sub(r"\[[ xX✓✔]\]", "[]", mark))).strip()


def _said(rest: str) -> bool | None:
    """ "yes" or "no" right behind a label and its mark."""
    mark = re.match(r"[\"')\]|]*\s*[:=|–—→?-]*\s*[\"'(\[]*", rest)
    rest = rest[mark.end() :] if mark else rest
    if rest[:1] in "✅✓✔" and rest:
        return True
    if rest[:1] == "❌":
        return False
    for name, value in (("yes-words", True), ("none-words", False)):
        if re.match(rf"{english().pattern(name)}\s*(?:[.,;|)\n\"-]|[-–—]|$)", rest, re.IGNORECASE):
            return value
    return None


def _inline_runs(text: str, names: Names) -> list[list[_Item]]:
    """Labels one behind the other with nothing but commas, numbers and the like between them."""
    runs: list[list[_Item]] = []
    last_end = -1
    for match in names.everywhere(text):
        number = _NUMBER_BEFORE.search(text, max(0, match.start() - 8), match.start())
        start = number.start() if number else match.start()
        item = _Item(
            label=names.owner(match.group()),
            start=start,
            end=match.end(),
            number=(number.group("num") or number.group("bare")) if number else None,
        )
        held = {other.label.id for other in runs[-1]} if runs else {item.label.id}
        joined = item.label.id not in held and _BETWEEN.fullmatch(text, last_end, match.start()) is not None
        if joined:
            runs[-1].append(item)
        else:
            runs.append([item])
        last_end = match.end()
    return [run for run in runs if len(run) > 2 and not _is_phrase_of_one(run)]


def _is_phrase_of_one(run: Sequence[_Item]) -> bool:
    return len({label_key(item.label.name) for item in run}) == 1
