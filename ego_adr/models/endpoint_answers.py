"""From what a server sent to a reply or a reason. Pure: nothing here touches the network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from ego_adr.errors import TextOnlyUnsupportedError
from ego_adr.models.endpoint_scores import Token
from ego_adr.types import Failure, Reply, Request

__all__ = [
    "Answer",
    "error_text",
    "image_limit",
    "is_about_the_input",
    "read_answer",
    "refusal",
    "retry_after",
]


@dataclass(frozen=True)
class Answer:
    """A reply, and the tokens it is made of where the server sent their likelihoods."""

    reply: Reply
    tokens: tuple[Token, ...] = ()


def read_answer(body: Any, *, use_reasoning: bool = False) -> Answer:
    """Read the body of a successful chat completion.

    Truncated, empty and reasoning-only replies are told apart: a truncated one has ``finish_reason`` ``length``;
    an empty one has no text and a note that says what there was in place of it. Reasoning is never taken for the
    answer unless ``use_reasoning`` is set.
    """
    if not isinstance(body, Mapping):
        return _broken(
            f"it sent {type(body).__name__} in place of a JSON object; is the address that of an API (/v1)?"
        )
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        said = error_text(body) if body.get("error") or body.get("detail") or body.get("message") else ""
        return _broken(f"its answer holds no choices{': ' + said if said else ''}.")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return _broken("its answer holds no message.")
    finish = str(choice.get("finish_reason") or "stop")
    text = _without_role_marks(_text(message.get("content")))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    notes: list[str] = []
    if not text.strip():
        if reasoning.strip() and use_reasoning:
            text = reasoning
            notes.append("the reply is the model's reasoning: it gave no other text")
        elif reasoning.strip():
            notes.append(_reasoning_note(finish, len(reasoning)))
        elif message.get("refusal"):
            notes.append(f"the model refused: {message['refusal']}")
        elif message.get("tool_calls"):
            notes.append("empty content: the model called a tool in place of answering")
        else:
            notes.append("empty content")
    if finish == "content_filter":
        notes.append("the server's content filter cut the reply")
    usage = body.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    reply = Reply(
        text=text,
        finish_reason=finish,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        notes=tuple(notes),
    )
    return Answer(reply, _tokens(choice.get("logprobs")))


def _reasoning_note(finish: str, length: int) -> str:
    if finish == "length":
        return (
            f"empty content: the token limit was spent on {length} characters of reasoning; allow more tokens, or "
            "switch the model's thinking off"
        )
    return f"empty content: the reply holds {length} characters of reasoning only (use_reasoning=True reads them)"


def _broken(what: str) -> Answer:
    message = f"the server answered, but {what}"
    return Answer(Reply(text="", finish_reason="failed", failure=Failure(cause="server", message=message)))


def _text(content: Any) -> str:
    """The text of a message, also where it comes in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"]
            for part in content
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    return ""


#: Marks of a chat template that servers leave at the ends of a reply when they do not know the template.
_ROLE = r"<\|(?:assistant|im_start|start_header_id|start_of_role|end_header_id|end_of_role)\|>"
_OPENING = re.compile(rf"^\s*{_ROLE}(?:\s*assistant\b)?(?:\s*{_ROLE})*\s*")
_CLOSING = re.compile(
    r"\s*(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|eom_id)\|>|<(?:/s|end_of_turn)>)\s*$"
)


def _without_role_marks(text: str) -> str:
    """A reply without the marks around it. Marks of thinking stay: the reader must see where that ends."""
    while (shorter := _CLOSING.sub("", _OPENING.sub("", text, count=1))) != text:
        text = shorter
    return text


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    """Tokens with their alternatives, or nothing when any of them is not as the protocol says."""
    held = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(held, list):
        return ()
    found: list[Token] = []
    for entry in held:
        pair = _pair(entry)
        if pair is None:
            return ()
        others = [_pair(other) for other in entry.get("top_logprobs") or ()]
        found.append(Token(pair[0], pair[1], tuple(other for other in others if other is not None)))
    return tuple(found)


def _pair(entry: Any) -> tuple[str, float] | None:
    if not isinstance(entry, Mapping):
        return None
    text, value = entry.get("token"), entry.get("logprob")
    if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return text, float(value)


# ------------------------------------------------------------------------------------------------- refusals


def error_text(body: Any) -> str:
    """What a server says of an error, whatever shape it says it in."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", errors="replace")
    if isinstance(body, str):
        try:
            held = json.loads(body)
        except ValueError:
            return " ".join(re.sub(r"<[^>]*>", " ", body).split())[:500]
        return error_text(held) if not isinstance(held, str) else held[:500]
    if isinstance(body, list):
        return "; ".join(filter(None, map(error_text, body)))[:500]
    if isinstance(body, Mapping):
        for name in ("error", "message", "detail", "msg"):
            if body.get(name):
                said = error_text(body[name])
                place = body.get("loc")
                return f"{'.'.join(map(str, place))}: {said}" if isinstance(place, list) and said else said
        return json.dumps(body, ensure_ascii=False)[:500] if body else ""
    return "" if body is None else str(body)


_LIMIT = re.compile(
    r"at most (?P<a>\d+) (?:image|video|picture|multi-?modal)"
    r"|limit[-_]mm[-_]per[-_]prompt"
    r"|too many (?:images|image|pictures|frames|multi-?modal)"
    r"|(?:max\w*|limit\w*|most|exceed\w*|supports? (?:only|up to))[^.]{0,40}?(?:(?P<b>\d+) )?(?:images?|pictures)\b"
    r"|(?:only|one) (?:one|1|a single) image|single image|multiple images",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context (?:length|size|window)|maximum context|max_model_len|num_ctx|n_ctx|n_keep|prompt (?:is )?too long"
    r"|input (?:is )?too long|input length|(?:exceed\w*|longer than|more than)[^.]{0,60}tokens|tokens[^.]{0,60}exceed"
    r"|too many tokens|sequence length",
    re.IGNORECASE,
)
_PICTURES = re.compile(r"image|vision|visual|picture|multi-?modal|mmproj", re.IGNORECASE)
_PLAIN_TEXT = re.compile(
    r"content[^.]{0,40}(?:must be|should be|expected)[^.]{0,20}str|expected[^.]{0,20}string", re.IGNORECASE
)


def image_limit(message: str) -> int | None:
    """How many pictures a request may hold, where a refusal says so."""
    found = _LIMIT.search(message)
    number = next((part for part in found.groups() if part), None) if found else None
    return int(number) if number else None


def is_about_the_input(message: str, request: Request, status: int = 400) -> bool:
    """Whether a refusal is about the pictures or the length: asking again in other words is then useless."""
    if status == 413 or _CONTEXT.search(message):
        return True
    about_pictures = _PICTURES.search(message) or _LIMIT.search(message)
    return bool(about_pictures) or (bool(request.frames) and bool(_PLAIN_TEXT.search(message)))


def refusal(status: int, message: str, request: Request, server: str) -> Failure:
    """Why a request was refused, with the switch that helps."""
    count = len(request.frames)
    said = f"{server} refused the request ({status}): {message or 'it gives no reason'}"
    pictures = (
        f"--limit-mm-per-prompt '{{\"image\": {max(count, 1)}}}' (vLLM) lets a request hold {count} pictures; "
        "or ask with fewer frames"
    )
    room = (
        "give the server more room: --max-model-len (vLLM), --context-length (SGLang), --ctx-size (llama.cpp), "
        "num_ctx (Ollama); or ask with fewer or smaller frames"
    )
    if _LIMIT.search(message) and count:
        return Failure(cause="too many pictures", message=f"{said} Sent were {count} pictures: {pictures}.")
    if _CONTEXT.search(message):
        return Failure(cause="context length", message=f"{said} Sent were {count} pictures: {room}.")
    if status == 413:
        return Failure(cause="request too large", message=f"{said} Ask with fewer or smaller frames.")
    if count and (_PICTURES.search(message) or _PLAIN_TEXT.search(message)):
        eyes = "the model must be one that sees, and be served so (--mmproj for llama.cpp)"
        return Failure(
            cause="pictures refused", message=f"{said} Sent were {count} pictures: {eyes}; {pictures}."
        )
    if not count and _PICTURES.search(message):
        return Failure(
            cause=TextOnlyUnsupportedError.cause, message=f"{said} There were no pictures in the request."
        )
    if count:
        return Failure(
            cause="refused",
            message=f"{said} If it is about the pictures: {pictures}. If about length: {room}.",
        )
    return Failure(cause="refused", message=said)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait: ``Retry-After`` in seconds or as a date, or ``retry-after-ms``.

    Args:
        now: the time in seconds since 1970, for dates.
    """
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(given).timestamp() - now
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None
