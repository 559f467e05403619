"""What an evaluator asks, read from the published tags or from a typed data part."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ego_adr.agents.wording import (
    QuestionError,
    first_paragraph,
    has_tag,
    outer_tags,
    read_headings,
    unfenced,
    unquoted_path,
)

__all__ = ["Question", "QuestionError", "TypedQuestion", "read_question"]

Kind = Literal["multiple-choice", "open-end"]


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
_CLOCK = re.compile(r"-?\d{1,3}(:\d{1,2}){1,2}(\.\d+)?")
_SECONDS = re.compile(r"(.*\d)[ \t]*(?:s|secs?|seconds?)", re.IGNORECASE)
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
    joined = unfenced("\n".join(texts))
    asking = [held for held in objects if "video_path" in held]
    if asking or has_tag(joined, "video_path"):
        objects = asking  # what else is in the message describes it, and asks nothing
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


def _tagged(text: str) -> Question:
    try:
        tags = outer_tags(text, _TAGS, wide="question")
    except QuestionError as exc:
        raise QuestionError(f"{exc} {_HOW}") from exc
    missing = [name for name in _TAGS[:2] if not tags.get(name)]
    if missing:
        raise QuestionError(f"the message lacks {', '.join(f'<{name}>' for name in missing)}. {_HOW}")
    procedure, asked, kind = _parts_of(tags["question"])
    return Question(
        video=unquoted_path(tags["video_path"]),
        start=_time(tags.get("start_ts"), "start_ts"),
        end=_time(tags.get("end_ts"), "end_ts"),
        procedure=procedure,
        action=asked,
        kind=kind,
    )


def _parts_of(question: str) -> tuple[str, str, Kind]:
    """(procedure, step or question, kind) of the text inside the question tag."""
    try:
        found = read_headings(question)
    except ValueError as exc:
        raise QuestionError(f"{exc} {_HOW}") from exc
    if found is None:
        return "", first_paragraph(question), "open-end"
    return found.procedure, found.asked, "multiple-choice" if found.head == "step" else "open-end"


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
        video=unquoted_path(asked.video_path),
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
    plain = _SECONDS.fullmatch(text)
    text = plain[1] if plain else text
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")  # a decimal comma, as in 00:01:30,5
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
