"""From a request to the body of a chat completion. Pure: nothing here touches the network."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ego_adr.models.base import caption
from ego_adr.types import Frame, Request

__all__ = ["ANSWER_FIELD", "TOP_LOGPROBS", "build_payload", "choice_fields", "data_uri", "jpeg"]

#: Most alternatives a token that the protocol allows to ask for.
TOP_LOGPROBS = 20
#: The field of the JSON object that a closed answer stands in, where a server only knows schemas.
ANSWER_FIELD = "answer"


def build_payload(
    request: Request,
    *,
    model: str,
    limit_field: str = "max_tokens",
    jpeg_quality: int = 92,
    extras: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of ``POST /chat/completions`` for one request.

    Frames become JPEG data URIs in ``image_url`` parts, in order, each preceded by a text part with its time in
    seconds; the prompt follows. Without frames the content is the prompt alone, as plain text.

    Args:
        model: the name the server knows.
        limit_field: ``max_tokens``, or ``max_completion_tokens`` for servers that renamed it.
        jpeg_quality: 1 to 100.
        extras: further fields, among them those of `choice_fields`.
    """
    content: str | list[dict[str, Any]] = request.prompt
    if request.frames:
        content = [*_picture_parts(request.frames, jpeg_quality), {"type": "text", "text": request.prompt}]
    return {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        limit_field: request.max_tokens,
        **(extras or {}),
    }


def choice_fields(way: str, choices: Sequence[str]) -> dict[str, Any]:
    """The fields that hold an answer to a closed list, in one of the two ways servers know.

    Args:
        way: ``structured_outputs`` (vLLM), ``response_format`` (a JSON schema; most servers), or ``none``.
    """
    if way == "structured_outputs":
        return {"structured_outputs": {"choice": list(choices)}}
    if way == "response_format":
        schema = {
            "type": "object",
            "properties": {ANSWER_FIELD: {"type": "string", "enum": list(choices)}},
            "required": [ANSWER_FIELD],
            "additionalProperties": False,
        }
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": ANSWER_FIELD, "strict": True, "schema": schema},
            }
        }
    return {}


def jpeg(frame: Frame, *, quality: int = 92) -> bytes:
    """A frame as a JPEG file; colours are not subsampled, so small marks stay as they are."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(frame.array).save(buffer, format="JPEG", quality=quality, subsampling=0)
    return buffer.getvalue()


def data_uri(frame: Frame, *, quality: int = 92) -> str:
    """A frame as ``data:image/jpeg;base64,...``."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(frame, quality=quality)).decode("ascii")


def _picture_parts(frames: Sequence[Frame], quality: int) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for frame in frames:
        parts.append({"type": "text", "text": caption(frame)})
        parts.append({"type": "image_url", "image_url": {"url": data_uri(frame, quality=quality)}})
    return parts
