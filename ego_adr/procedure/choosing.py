"""Reads which step a model chose from a numbered list."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from ego_adr.procedure.splitting import splitting_words
from ego_adr.reading import mended_json

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
    r"\b(?:none(?!\s+of\s+the\s+(?:other|rest|remaining))|no\s+(?:such\s+|matching\s+)?steps?\b(?!\s*\d)|"
    r"not\s+(?:a\s+step|listed|in\s+the\s+(?:list|procedure))|null|n/a)\b",
    re.IGNORECASE,
)
#: What may stand between the word and its number; bounded, so that the time grows with a reply and not with its square.
_BEFORE = (
    r"[\s\"'(\[{*_:=#-]{0,40}(?:the\s{1,9})?(?:step[\s_]{0,9})?(?:no\.?|number|#)?[\s\"'(\[{*_:=#]{0,40}"
)
#: A number with what follows it, so that "3.5", "1/2" and "2nd" are none; a range or a choice is kept whole.
_CHOSEN = r"(?P<number>\d{1,9})(?![\d/A-Za-z]|\.\d|-[A-Za-z])(?P<more>\s*(?:[-–—,/&]|or|and|to)\s*(?:steps?\s*)?\d+)?"
_MARKED = re.compile(
    rf"(?:answer|choice|result|boxed|(?:current|matched|matching|queried)(?:\s+step)?)(?:\s+is)?{_BEFORE}{_CHOSEN}",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    rf"(?:\bis|\bit's|match(?:es)?|corresponds\s+to|refers\s+to|cho(?:o)?se|select|pick|describes){_BEFORE}{_CHOSEN}",
    re.IGNORECASE,
)
_LEADING = re.compile(rf"^[\s\"'(\[{{*#]*{_CHOSEN}")
_STEP = re.compile(rf"steps?[\s_]{{0,40}}(?:no\.?|number|#)?[\s:(\[*_#]{{0,40}}{_CHOSEN}", re.IGNORECASE)
_NUMBER = re.compile(rf"(?<![A-Za-z0-9_./-]){_CHOSEN}")
_NEGATED = re.compile(
    r"\b(?:not|rather\s+than|instead\s+of|nor)\s+(?:the\s+)?(?:step\s*)?#?\d+", re.IGNORECASE
)
_KEYS = ("step", "number", "step_number", "index", "answer", "current", "current_step", "match", "steps")


def read_step_reply(text: str, count: int) -> StepChoice:
    """The step that a reply names, of ``count`` steps numbered from 1.

    Read in this order: JSON; a marked answer ("Answer: 3", the last one counts); a number that begins the
    reply ("3. Add the salt"); the last commitment ("it is step 4", "none of them"); "step 3"; a single number
    anywhere. What stands inside thinking tags does not count, nor does "not step 4". Two steps offered at once
    ("2 or 3") are no answer.
    """
    from ego_adr.parsing.cleaning import without_thinking

    said = without_thinking(text)
    if said is None:
        return StepChoice(index=None, reason="truncated")
    said = unicodedata.normalize("NFKC", said).strip()
    if not said:
        return StepChoice(index=None, reason="empty")
    found = _from_json(said, count)
    return found if found is not None else _from_words(said, count)


def _from_words(said: str, count: int) -> StepChoice:
    said = re.sub(rf"(?<=\d)\s*(?:/|of|out\s+of)\s*{count}\b(?!\s*(?:tsp|tbsp|cup))", "", _spelled_out(said))
    said = _NEGATED.sub("", said)
    marked = list(_MARKED.finditer(said))
    if marked:
        return _choice(marked[-1], count)
    leading = _LEADING.match(said)
    if leading:
        return _choice(leading, count)
    nones = [mark.start() for mark in _NONE.finditer(said)]
    commitments = list(_COMMITTED.finditer(said))
    named = list(_STEP.finditer(said))
    last = max((mark.start() for mark in (*commitments, *named)), default=-1)
    if nones and nones[-1] > last:
        return StepChoice(index=None)
    if commitments:
        return _choice(commitments[-1], count)
    for marks in (named, list(_NUMBER.finditer(said))):
        if len({mark["number"] for mark in marks}) == 1:
            return _choice(marks[0], count)
        if marks:
            return StepChoice(index=None, reason="several steps")
    return StepChoice(index=None, reason="no step found")


def _choice(mark: re.Match[str], count: int) -> StepChoice:
    return (
        StepChoice(index=None, reason="several steps")
        if mark["more"]
        else _numbered(int(mark["number"]), count)
    )


def _numbered(number: int, count: int) -> StepChoice:
    if 1 <= number <= count:
        return StepChoice(index=number - 1)
    return StepChoice(index=None, reason="out of range") if number else StepChoice(index=None)


def _spelled_out(said: str) -> str:
    """ "Step three" and "the third step" with digits; other number words stay."""
    words = splitting_words()
    cardinals, ordinals = "|".join(words.cardinals), "|".join(words.ordinals)

    def digits(mark: re.Match[str]) -> str:
        word = (mark["cardinal"] or mark["ordinal"] or mark["alone"]).casefold()
        listed = words.ordinals if mark["ordinal"] else words.cardinals
        return f"step {listed.index(word) + 1}"

    return re.sub(
        rf"\bstep\s+(?:number\s+)?(?P<cardinal>{cardinals})\b|\b(?P<ordinal>{ordinals})\s+step\b|"
        rf"^\W*(?P<alone>{cardinals})\W*$",
        digits,
        said,
        flags=re.IGNORECASE,
    )


def _from_json(said: str, count: int) -> StepChoice | None:
    """What a JSON object answers; None when there is no such answer."""
    begin = said.find("{")
    if begin == -1 or '"' not in said[begin:]:
        return None
    data = mended_json(said[begin:])
    if isinstance(data, list):
        data = next((entry for entry in reversed(data) if isinstance(entry, Mapping)), None)
    if not isinstance(data, Mapping):
        return None
    lowered = {str(key).casefold().replace(" ", "_"): value for key, value in data.items()}
    key = next((key for key in _KEYS if key in lowered), None)
    return None if key is None else _from_value(lowered[key], count)


def _from_value(value: Any, count: int) -> StepChoice:
    if isinstance(value, Mapping):
        key = next((key for key in _KEYS if key in value), None)
        value = None if key is None else value[key]
        if key is None:
            return StepChoice(index=None, reason="no step found")
    if isinstance(value, list):
        if len(value) > 1:
            return StepChoice(index=None, reason="several steps")
        value = value[0] if value else None
    if value is None:
        return StepChoice(index=None)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return StepChoice(index=None, reason="no step found")
    if isinstance(value, str):
        # A number, or the step's own words: digits inside those ("Add 2 eggs") are no answer.
        mark = _LEADING.match(value) or _STEP.match(value)
        if mark is None and _NONE.search(value) is None:
            return StepChoice(index=None, reason="no step found")
        return StepChoice(index=None) if mark is None else _choice(mark, count)
    if isinstance(value, float) and not value.is_integer():
        return StepChoice(index=None, reason="no step found")
    return _numbered(int(value), count)
