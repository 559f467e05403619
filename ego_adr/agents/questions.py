"""What an evaluator asks, read from the published tags or from a typed data part."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ego_adr.errors import InputError

__all__ = ["Question", "QuestionError", "TypedQuestion", "outer_tags", "read_question"]

Kind = Literal["multiple-choice", "open-end"]


class QuestionError(InputError):
    """A message that holds no question this agent understands."""

    cause = "question"


@dataclass(frozen=True)
class Question:
    """One question to the agent.

    Attributes:
        video: path as it was sent; nothing has opened it.
        start, end: seconds, or a clock such as ``00:01:30``; None means the video's own.
        procedure: the written text of the task.
        action: the step in question; for an open-end question the question itself.
        kind: ``multiple-choice`` wants a label, ``open-end`` a sentence.
        typed: it came as a data part, so the asker reads data parts.
        reply: ``task`` where the asker wants a Task back in place of a Message.
    """

    video: str
    start: float | str | None
    end: float | str | None
    procedure: str
    action: str
    kind: Kind = "multiple-choice"
    typed: bool = False
    reply: Literal["message", "task"] = "message"


class TypedQuestion(BaseModel):
    """The data part that asks the same as the tags do, without room for misreading."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    video_path: str
    procedure: str
    current_step: str | None = None
    question: str | None = None
    start_ts: float | str | None = None
    end_ts: float | str | None = None
    reply: Literal["message", "task"] = "message"


_TAGS = ("video_path", "question", "start_ts", "end_ts")
#: What the question is made of in the published form.
_HEADS = r"(task procedure|current step|question)[ \t]*:"
#: They begin a line; where an asker writes all in one line, they are looked for inside it.
_PARTS = (
    re.compile(rf"^[ \t]*{_HEADS}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"\b{_HEADS}", re.IGNORECASE),
)
_CLOCK = re.compile(r"-?\d{1,3}(:\d{1,2}){1,2}(\.\d+)?")
_HOW = (
    "Send the tags <video_path>, <question> (with 'Task Procedure:' and 'Current Step:' or 'Question:'), <start_ts> and "
    "<end_ts> in one text part, or a data part with video_path, procedure, current_step (or question), start_ts, end_ts."
)


def read_question(texts: Sequence[str], data: Sequence[Any] = (), *, most_letters: int = 100_000) -> Question:
    """The question that a message holds.

    Args:
        texts: of its text parts, in order.
        data: of its data parts; a JSON object as text counts as one.

    Raises:
        QuestionError: it holds none, several, or one that is too long; the message says how to ask.
    """
    if sum(map(len, texts)) > most_letters or len(texts) + len(data) > 16:
        raise QuestionError(f"the message is too long; it may hold {most_letters} letters in 16 parts.")
    objects = [held for held in data if isinstance(held, Mapping)]
    joined = "\n".join(texts).strip()
    if not objects and joined.startswith("{"):
        try:
            held = json.loads(joined)
        except (ValueError, RecursionError) as exc:
            raise QuestionError(
                f"the text begins like JSON and is none ({type(exc).__name__}). {_HOW}"
            ) from exc
        objects = [held] if isinstance(held, Mapping) else []
    if objects:
        if len(objects) > 1:
            raise QuestionError(f"one question a message, please; this one holds {len(objects)} data parts.")
        return _typed(objects[0])
    return _tagged(joined)


def outer_tags(text: str, names: Sequence[str], wide: str) -> dict[str, str]:
    """What stands between tags; ``wide`` reaches to its last closing tag, for it may hold anything.

    Raises:
        QuestionError: a tag that is not closed, or is there twice.
    """
    found: dict[str, str] = {}
    begin, end = text.find(f"<{wide}>"), text.rfind(f"</{wide}>")
    if begin >= 0:
        if end < begin:
            raise QuestionError(f"<{wide}> is not closed. {_HOW}")
        found[wide] = text[begin + len(wide) + 2 : end].strip()
        text = text[:begin] + text[end + len(wide) + 3 :]
    for name in names:
        if name == wide:
            continue
        if text.count(f"<{name}>") > 1 or text.count(f"</{name}>") > 1:
            raise QuestionError(f"<{name}> is there more than once. {_HOW}")
        begin, end = text.find(f"<{name}>"), text.find(f"</{name}>")
        if begin >= 0:
            if end < begin:
                raise QuestionError(f"<{name}> is not closed. {_HOW}")
            found[name] = text[begin + len(name) + 2 : end].strip()
    return found


def _tagged(text: str) -> Question:
    tags = outer_tags(text, _TAGS, wide="question")
    missing = [name for name in _TAGS[:2] if not tags.get(name)]
    if missing:
        raise QuestionError(f"the message lacks {', '.join(f'<{name}>' for name in missing)}. {_HOW}")
    procedure, asked, kind = _parts_of(tags["question"])
    return Question(
        video=tags["video_path"],
        start=_time(tags.get("start_ts"), "start_ts"),
        end=_time(tags.get("end_ts"), "end_ts"),
        procedure=procedure,
        action=asked,
        kind=kind,
    )


def _parts_of(question: str) -> tuple[str, str, Kind]:
    """(procedure, step or question, kind) of the text inside the question tag.

    The text before the procedure holds definitions, which this agent has its own of.
    """
    if not _PARTS[1].search(question) or "task procedure" not in question.casefold():
        # no procedure: the whole text is a question in the asker's own words
        return "", _unquoted(question), "open-end"
    for pattern in _PARTS:
        places = list(pattern.finditer(question))
        heads = [place[1].casefold() for place in places]
        first = heads.index("task procedure") if "task procedure" in heads else len(heads)
        later = [i for i in range(len(heads) - 1, first, -1) if heads[i] != "task procedure"]
        if later:
            break
    else:
        raise QuestionError(
            f"the question names a 'Task Procedure:' and neither a 'Current Step:' nor a 'Question:'. {_HOW}"
        )
    # the step is named last: the same words inside the procedure are the procedure's
    step = next((i for i in later if heads[i] == "current step"), later[0])
    procedure = question[places[first].end() : places[step].start()].strip()
    asked = _unquoted(question[places[step].end() :])
    if not asked:
        raise QuestionError(f"the question's {heads[step]!r} is empty. {_HOW}")
    return procedure, asked, "multiple-choice" if heads[step] == "current step" else "open-end"


def _unquoted(text: str) -> str:
    """The first paragraph, out of its quotation marks."""
    plain = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].strip()
    if len(plain) > 1 and plain[0] == plain[-1] == '"':
        plain = plain[1:-1].strip()
    return plain


def _typed(held: Mapping[str, Any]) -> Question:
    try:
        asked = TypedQuestion.model_validate(dict(held))
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors()[:5])
        raise QuestionError(f"the data part is no question: {problems}. {_HOW}") from exc
    if (asked.current_step is None) == (asked.question is None):
        raise QuestionError(f"the data part must hold either current_step or question. {_HOW}")
    text = (asked.current_step if asked.current_step is not None else asked.question or "").strip()
    if not text or not asked.video_path.strip():
        raise QuestionError(f"video_path, and current_step or question, must not be empty. {_HOW}")
    return Question(
        video=asked.video_path.strip(),
        start=_time(asked.start_ts, "start_ts"),
        end=_time(asked.end_ts, "end_ts"),
        procedure=asked.procedure.strip(),
        action=text,
        kind="multiple-choice" if asked.current_step is not None else "open-end",
        typed=True,
        reply=asked.reply,
    )


def _time(given: float | str | None, name: str) -> float | str | None:
    text = "" if given is None else str(given).strip()
    if text.casefold() in ("", "none", "null"):
        return None
    try:
        seconds = float(text)
    except ValueError:
        if _CLOCK.fullmatch(text):
            return text
        raise QuestionError(
            f"{name} is {text[:40]!r}; it must be seconds, or a clock such as 00:01:30."
        ) from None
    if not math.isfinite(seconds):
        raise QuestionError(f"{name} is {text[:40]!r}; it must be a finite number of seconds.")
    return seconds
