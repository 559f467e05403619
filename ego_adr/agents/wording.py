"""How askers write: tags, headings and quotation marks, in the spellings that they come in."""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ego_adr.errors import InputError

__all__ = [
    "Headings",
    "QuestionError",
    "first_paragraph",
    "has_tag",
    "outer_tags",
    "read_headings",
    "unfenced",
    "unquoted_path",
]

Head = Literal["procedure", "step", "question"]


class QuestionError(InputError):
    """A message that holds no question this agent understands."""

    cause = "question"


# ----------------------------------------------------------------------------------------------------- tags

_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,6}|#[xX][0-9a-fA-F]{1,5});")
_FENCE = re.compile(r"```[\w+-]{0,20}[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)


def has_tag(text: str, name: str) -> bool:
    """Whether a tag is opened somewhere."""
    return _opening(name).search(text) is not None


def outer_tags(text: str, names: Sequence[str], wide: str) -> dict[str, str]:
    """What stands between tags, in any case; ``wide`` reaches to its last closing tag, for it may hold anything.

    Character references (``&amp;``) are resolved, a CDATA section is taken as it is.

    Raises:
        QuestionError: a tag that is not closed, or is there twice.
    """
    found: dict[str, str] = {}
    begin, end = _opening(wide).search(text), _last(_closing(wide), text)
    if begin is not None:
        if end is None or end.start() < begin.end():
            raise QuestionError(f"<{wide}> is not closed: end it with </{wide}>.")
        found[wide] = _content(text[begin.end() : end.start()])
        text = text[: begin.start()] + text[end.end() :]
    for name in names:
        if name == wide:
            continue
        begins, ends = list(_opening(name).finditer(text)), list(_closing(name).finditer(text))
        if len(begins) > 1 or len(ends) > 1:
            raise QuestionError(f"<{name}> is there more than once; one message asks one thing.")
        if begins:
            if not ends or ends[0].start() < begins[0].end():
                raise QuestionError(f"<{name}> is not closed: end it with </{name}>.")
            found[name] = _content(text[begins[0].end() : ends[0].start()])
    return found


def unfenced(text: str) -> str:
    """A text out of the Markdown fence that is around all of it."""
    plain = text.strip()
    fence = _FENCE.fullmatch(plain)
    return fence[1].strip() if fence else plain


def unquoted_path(text: str) -> str:
    """A path out of its quotation marks."""
    plain = text.strip()
    if len(plain) > 2 and plain[0] == plain[-1] and plain[0] in "\"'`":
        plain = plain[1:-1].strip()
    return plain


def _opening(name: str) -> re.Pattern[str]:
    return re.compile(rf"<[ \t]{{0,4}}{name}(?:[ \t][^<>]{{0,200}})?>", re.IGNORECASE)


def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"<[ \t]{{0,4}}/[ \t]{{0,4}}{name}[ \t]{{0,4}}>", re.IGNORECASE)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def _content(text: str) -> str:
    plain = text.strip()
    if plain.startswith("<![CDATA[") and plain.endswith("]]>"):
        return plain[9:-3].strip()
    return _ENTITY.sub(lambda found: html.unescape(found[0]), plain)


# ------------------------------------------------------------------------------------------------- headings

_PUBLISHED = r"(?P<procedure>task procedure)|(?P<step>current step)|(?P<question>question)"
_OTHERS = (
    r"(?P<procedure>(?:task |full |written |reference )?(?:procedure|recipe|instructions|steps))"
    r"|(?P<step>(?:current |queried |query |target )?(?:step|action))"
    r"|(?P<question>question)"
)
#: Marks of Markdown around a heading.
_BEFORE, _AFTER = r"^[ \t]{0,80}[#*_>-]{0,4}[ \t]{0,4}[*_]{0,3}", r"[*_ \t]{0,4}:[*_]{0,3}"
#: Tried in this order: a heading begins a line; some write all in one line; some use words of their own.
_HEADINGS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"{_BEFORE}(?:{_PUBLISHED}){_AFTER}",
        rf"\b(?:{_PUBLISHED}){_AFTER}",
        rf"{_BEFORE}(?:{_OTHERS}){_AFTER}",
    )
)
_OPENING, _CLOSING = "\"'“‘«„`", "\"'”’»“`"
_QUOTED = re.compile(rf"[{_OPENING}](?P<held>.*?)[{_CLOSING}][.,;]?[ \t]*(?:\r?\n|\Z)", re.DOTALL)
#: What follows a step and is none of it: choices, and how to answer.
_NOT_THE_STEP = re.compile(
    r"\n[ \t]{0,80}[*_#>-]{0,4}[ \t]{0,4}(?:\(?[A-Z0-9][.):]|[-*•][ \t]|"
    r"(?:answer|choices?|choose|classify|labels?|options?|output|please|pick|possible|reply|respond|select|verdicts?|which)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Headings:
    """A question by its headings.

    Attributes:
        procedure: the written text of the task.
        head: what stands last: a ``step`` to be judged, or a ``question``.
        asked: the step, or the question.
    """

    procedure: str
    head: Head
    asked: str


def read_headings(text: str) -> Headings | None:
    """Procedure and step (or question) of a text; None where no procedure is named.

    What stands before the procedure holds definitions, which the agent has its own of. The step is named last: the
    same words inside the procedure are the procedure's.

    Raises:
        ValueError: a procedure without anything that is asked about it.
    """
    named = False
    for pattern in _HEADINGS:
        places = list(pattern.finditer(text))
        heads = [place.lastgroup for place in places]
        if "procedure" not in heads:
            continue
        named = True
        first = heads.index("procedure")
        later = [i for i in range(len(heads) - 1, first, -1) if heads[i] != "procedure"]
        if not later:
            continue
        place = next((i for i in later if heads[i] == "step"), later[0])
        head: Head = "step" if heads[place] == "step" else "question"
        asked = (_step if head == "step" else first_paragraph)(text[places[place].end() :])
        if not asked:
            raise ValueError(f"what follows {places[place][0].strip()!r} is empty.")
        procedure = text[places[first].end() : places[place].start()].strip(" \t\r\n*_#")
        return Headings(procedure, head, asked)
    if named:
        raise ValueError("the question names a procedure and neither a 'Current Step:' nor a 'Question:'.")
    return None


def first_paragraph(text: str) -> str:
    """The first paragraph, out of its quotation marks."""
    plain = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].strip()
    quoted = _QUOTED.fullmatch(plain)
    return quoted["held"].strip() if quoted else plain


def _step(text: str) -> str:
    """A step: what is between quotation marks, else the lines up to the choices."""
    plain = text.strip()
    quoted = _QUOTED.match(plain)
    if quoted and "\n\n" not in quoted["held"]:
        return quoted["held"].strip()
    cut = _NOT_THE_STEP.search(plain)
    return first_paragraph(plain[: cut.start()] if cut else plain)
