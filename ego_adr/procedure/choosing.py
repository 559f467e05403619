"""Reads which step a model chose from a numbered list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["StepChoice", "read_step_reply"]


class StepChoice(BaseModel):
    """What a reply chose.

    Attributes:
        index: 0-based; None for "no step fits", and when nothing could be read.
        reason: None when the reply was read; else ``empty``, ``truncated``, ``out of range``, ``several steps`` or
            ``no step found``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int | None
    reason: str | None = None


_NONE = re.compile(
    r"\b(?:none(?:\s+of\s+(?:them|these|the\s+(?:above|steps)))?|no\s+(?:such\s+|matching\s+)?step(?:s)?"
    r"(?:\s+(?:fits|matches|is\s+a\s+match))?|not\s+(?:a\s+step|listed|in\s+the\s+(?:list|procedure))|null|n/a)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"(?:answer|final\s+answer|number|choice|result)\s*(?:is|:|=)?\s*[:=]?\s*(?:the\s+)?(?:step\s*)?(?:no\.?|number|#)?\s*"
    r"[\"'(\[*]*(\d+)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"\bstep\s*(?:no\.?|number|#)?\s*[:(\[*]*\s*(\d+)\b", re.IGNORECASE)
_LEADING = re.compile(r"^[\s\"'(\[*#]*(\d+)(?![\d/]|\.\d)")
_NUMBER = re.compile(r"(?<![\w./])(\d+)(?![\w/]|\.\d)")


def read_step_reply(text: str, count: int) -> StepChoice:
    """The step that a reply names, of ``count`` steps numbered from 1.

    Read in this order: JSON with ``step``, ``number`` or ``index``; a marked answer ("Answer: 3"); a number that
    begins the reply ("3. Add the salt"); "none"; "step 3"; a single number anywhere. What stands inside
    thinking tags does not count.
    """
    from ego_adr.parsing.cleaning import without_thinking

    said = without_thinking(text)
    if said is None:
        return StepChoice(index=None, reason="truncated")
    said = said.strip()
    if not said:
        return StepChoice(index=None, reason="empty")
    found = _from_json(said)
    if found is not None:
        return _choice(found, count)
    marked = _MARKED.findall(said)
    if marked:
        return _choice(int(marked[-1]), count)
    leading = _LEADING.match(said)
    if leading:
        return _choice(int(leading[1]), count)
    if _NONE.search(said):
        return StepChoice(index=None)
    for pattern in (_STEP, _NUMBER):
        numbers = list(dict.fromkeys(int(n) for n in pattern.findall(said)))
        if len(numbers) == 1:
            return _choice(numbers[0], count)
        if numbers:
            return StepChoice(index=None, reason="several steps")
    return StepChoice(index=None, reason="no step found")


def _choice(number: int, count: int) -> StepChoice:
    if 1 <= number <= count:
        return StepChoice(index=number - 1)
    return StepChoice(index=None, reason="out of range") if number else StepChoice(index=None)


def _from_json(said: str) -> int | None:
    """The number of a JSON answer; 0 for an explicit null or "none"; None when there is no JSON answer."""
    import json_repair

    begin = said.find("{")
    if begin == -1:
        return None
    data: Any = json_repair.loads(said[begin:])
    if isinstance(data, list):
        data = next((entry for entry in reversed(data) if isinstance(entry, Mapping)), None)
    if not isinstance(data, Mapping):
        return None
    for key in ("step", "number", "step_number", "index", "answer", "current", "match"):
        if key not in data:
            continue
        value = data[key]
        if isinstance(value, Mapping):
            value = value.get("number") or value.get("index")
        if value is None or (isinstance(value, str) and _NONE.search(value)):
            return 0
        digits = re.search(r"\d+", str(value))
        if digits and not isinstance(value, bool):
            return int(digits[0])
    return None
