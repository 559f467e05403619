"""Reads the layout of a written procedure: headings, numbered and bulleted lists, items of several lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from ego_adr.procedure.splitting import splitting_words

__all__ = ["Item", "Layout", "holds_no_steps", "inline_items", "read_layout"]

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"^\s{0,3}(=+|-{3,})\s*$")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)\s*\w*\s*$")
_MARKER = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?P<bullet>[-*+•·‣▪●○◦–])|(?P<number>(?:step\s*)?[(\[]?\d{1,3}(?:[.):\]]|\s*[-–:])|"
    r"step\s+\d{1,3}\b[.:)]?|[(\[]?(?:[a-zA-Z]|[ivx]{2,5})[.)\]]|\d\ufe0f?\u20e3|"
    r"[(\[]?\d{1,2}:\d{2}(?::\d{2})?[)\]]?(?:\s*[-–—:])?))[ \t]+(?P<box>\[[ xX]\][ \t]+)?(?=\S)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"(?:(?<=\s)|^)(?:step\s*)?\(?(\d{1,2})[.):]\)?\s+(?=\S)", re.IGNORECASE)
_BARE_HEADING = re.compile(
    r"^\s*(?:\*\*|__)?([A-Za-z][\w' /-]{1,40}?)\s*(?::(?:\s*(?:\*\*|__))?|(?:\*\*|__))\s*$"
)


@dataclass
class Item:
    """One entry of a list: its depth in blanks, and the spans of its lines (marker left out)."""

    indent: int
    lines: list[tuple[int, int]]
    numbered: bool
    children: list[Item] = field(default_factory=list)

    @property
    def span(self) -> tuple[int, int]:
        return self.lines[0][0], self.lines[-1][1]

    def text(self, source: str) -> str:
        return " ".join(" ".join(source[begin:end].split()) for begin, end in self.lines)


@dataclass
class Layout:
    """What a text is made of.

    Attributes:
        title: the first heading, when it names no part.
        lists: (heading above it or None, its top-level items).
        prose: spans of paragraphs that are neither heading nor list, each with the heading above it.
    """

    title: str | None = None
    lists: list[tuple[str | None, list[Item]]] = field(default_factory=list)
    prose: list[tuple[str | None, tuple[int, int]]] = field(default_factory=list)


def read_layout(text: str) -> Layout:
    """The layout of a text. Every span counts characters of ``text``."""
    layout = Layout()
    heading: str | None = None
    level = 0
    items: list[Item] = []
    paragraph: list[tuple[int, int]] = []
    blank = False

    def end_list() -> None:
        nonlocal items
        if items:
            layout.lists.append((heading, _nested(items)))
            items = []

    def end_paragraph() -> None:
        nonlocal paragraph
        if paragraph:
            layout.prose.append((heading, (paragraph[0][0], paragraph[-1][1])))
            paragraph = []

    lines = _lines(text)
    cells = _table_cells(text, lines)
    for place, (begin, end) in enumerate(lines):
        line = text[begin:end]
        if place in cells:
            end_paragraph()
            cell = cells[place]
            items += [Item(0, [cell], False)] if cell is not None else []
            continue
        if not line.strip():
            blank = True
            end_paragraph()
            continue
        found = _heading_of(text, lines, place, inside_list=bool(items) and not blank)
        if found is not None:
            end_list()
            end_paragraph()
            named, depth = found
            if layout.title is None and heading is None and not _is_part(named):
                layout.title = named
            # What stands below "Ingredients" belongs to it, whatever its own heading says ("### Sauce").
            if not (heading is not None and depth > level and holds_no_steps(heading)):
                heading, level = named, depth
        elif _UNDERLINE.match(line) or _FENCE.match(line):
            pass
        elif (mark := _MARKER.match(line)) is not None:
            end_paragraph()
            indent = len(mark["indent"].expandtabs(4))
            items.append(Item(indent, [_stripped(text, begin + mark.end(), end)], mark["number"] is not None))
        elif items and (line[:1].isspace() or not blank):
            items[-1].lines.append(_stripped(text, begin, end))
        else:
            end_list()
            paragraph.append(_stripped(text, begin, end))
        blank = False
    end_list()
    end_paragraph()
    return layout


def inline_items(text: str) -> list[tuple[int, int]] | None:
    """Spans of "1. Crack the eggs. 2. Whisk them." on one line, when the numbers run from 1 without a gap."""
    wanted = 1
    marks: list[re.Match[str]] = []
    for mark in _INLINE.finditer(text):
        if int(mark[1]) == wanted:
            marks.append(mark)
            wanted += 1
    if len(marks) < 2 or text[: marks[0].start()].strip():
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_stripped(text, mark.end(), end) for mark, end in zip(marks, ends, strict=True)]


def _lines(text: str) -> list[tuple[int, int]]:
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append((at, at + len(line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))))
        at += len(line)
    return found


def _stripped(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


#: Depth of a heading without a mark of its own: below every marked one.
_BARE = 7


def _heading_of(
    text: str, lines: list[tuple[int, int]], place: int, *, inside_list: bool
) -> tuple[str, int] | None:
    """The words of a heading and its depth; None when the line is none."""
    begin, end = lines[place]
    line = text[begin:end]
    if (found := _HEADING.match(line)) is not None:
        name = found[2].strip("*_ ")
        return (name, len(found[1])) if name else None
    if place + 1 < len(lines) and not inside_list:
        below = _UNDERLINE.match(text[slice(*lines[place + 1])])
        if below is not None and len(line.strip()) <= 80 and _MARKER.match(line) is None:
            return line.strip().strip("*_ "), 1 if below[1][0] == "=" else 2
    found = _BARE_HEADING.match(line)
    if found is not None and (_is_part(found[1]) or line.strip().startswith(("**", "__"))):
        return found[1].strip(), _BARE
    plain = line.strip().rstrip(":")
    return (plain, _BARE) if _is_part(plain) and not inside_list else None


def holds_no_steps(heading: str | None) -> bool:
    """Whether what stands under a heading is no step: ingredients, tools, notes."""
    return heading is not None and not splitting_words().no_steps.isdisjoint(_keys(heading))


def _is_part(name: str) -> bool:
    words = splitting_words()
    return not (words.no_steps | words.steps).isdisjoint(_keys(name))


def _keys(name: str) -> set[str]:
    """A heading without its case and marks, and without "for ..." too: "Ingredients (for two):" is "ingredients"."""
    plain = re.sub(r"\([^()]*\)", "", name.casefold())
    return {
        " ".join(form.strip(" :*_.").split()) for form in (plain, re.sub(r"\s(?:for|to)\s.*$", "", plain))
    }


_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^\s*\|(?:\s*:?-+:?\s*\|)+\s*$")


def _table_cells(text: str, lines: list[tuple[int, int]]) -> dict[int, tuple[int, int] | None]:
    """For each line of a Markdown table, the cell that holds the step; None for its head and rule.

    The column is the one with the most letters in its body.
    """
    found: dict[int, tuple[int, int] | None] = {}
    rules = [i for i, line in enumerate(lines) if i and _RULE.match(text[slice(*line)])]
    for rule in rules:
        rows: dict[int, list[tuple[int, int]]] = {}
        for place in range(rule + 1, len(lines)):
            begin, end = lines[place]
            if not _ROW.match(text[begin:end]):
                break
            bars = [at for at in range(begin, end) if text[at] == "|" and text[at - 1 : at] != "\\"]
            rows[place] = [_stripped(text, left + 1, right) for left, right in pairwise(bars)]
        if not rows:
            continue
        letters = [
            sum(
                sum(map(str.isalpha, text[slice(*row[column])])) for row in rows.values() if column < len(row)
            )
            for column in range(max(map(len, rows.values())))
        ]
        column = letters.index(max(letters))
        found |= {rule - 1: None, rule: None}
        for place, row in rows.items():
            filled = column < len(row) and row[column][0] < row[column][1]
            found[place] = row[column] if filled else None
    return found


def _nested(items: list[Item]) -> list[Item]:
    """Items under the items that they are indented below."""
    top: list[Item] = []
    above: list[Item] = []
    for item in items:
        while above and above[-1].indent >= item.indent:
            above.pop()
        (above[-1].children if above else top).append(item)
        above.append(item)
    return top
