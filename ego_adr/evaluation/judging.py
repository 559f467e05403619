"""Judges: text models that say from 0 to 5 how close an answer is to its reference (papers/002, section 3.4).

A reply that holds no readable score is an error of the judge: it is counted, and it is never a 0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from ego_adr.errors import EgoADRError, ModelError, ModelNotFoundError, ScriptExhaustedError
from ego_adr.parsing import without_thinking
from ego_adr.reading import mended_json
from ego_adr.types import Failure, Reply, Request

if TYPE_CHECKING:
    from ego_adr.models.base import VideoLLM
    from ego_adr.prompting import PromptLibrary

__all__ = ["SCALE", "JudgeScore", "judge_answers", "read_judge_reply"]

SCALE = (0.0, 5.0)
_KEYS = ("score", "rating", "similarity", "sim", "grade")
_NUMBER = r"[-−]?\d{1,9}(?:[.,]\d{1,40})?"
_OF = r"(?:\s*(?:/|out\s+of|of)\s*(?P<of>\d+(?:\.\d+)?))?"
#: A number with its scale that fills a JSON value, a line or a whole reply.
_ALONE = re.compile(rf"\W*?(?P<score>{_NUMBER}){_OF}\W*", re.IGNORECASE)
_NAMED = re.compile(
    rf"\b(?:score|rating|grade|similarity)\b[^\d\n]{{0,24}}?(?P<score>{_NUMBER}){_OF}(?!\s*(?:[=–]|-\s*\d|to\s+\d))",
    re.IGNORECASE,
)
#: "I would give it a 3." The number must end its clause: "I give 2 reasons" is no score.
_GIVEN = re.compile(
    rf"\b(?:give|gives|given|giving|rate|rates|rated|assign|award|deserves?)\b[^\d.\n]{{0,40}}?(?P<score>{_NUMBER}){_OF}"
    r"(?=\s*(?:[.,;:!?)]|$|\n|because\b|since\b|for\b|as\b))",
    re.IGNORECASE,
)
_WORDS = ("zero", "one", "two", "three", "four", "five")
_NAMED_WORD = re.compile(
    rf"\b(?P<name>score|rating|grade)(?P<sign>\W+(?:is\W+|of\W+)?)(?P<word>{'|'.join(_WORDS)})\b",
    re.IGNORECASE,
)
_SHARE = re.compile(rf"(?P<score>{_NUMBER})\s*(?:/|out\s+of)\s*(?P<of>\d+(?:\.\d+)?)", re.IGNORECASE)


class JudgeScore(BaseModel):
    """What a judge said of one answer.

    Attributes:
        score: 0 to 5, None when it could not be read.
        reason: the judge's own words.
        error: why there is no score; None when there is one.
        reply: word for word.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: float | None
    reason: str = ""
    error: str | None = None
    reply: str = ""

    @property
    def status(self) -> str:
        """``ok``, or ``judge_error`` with what is wrong."""
        return "ok" if self.error is None else f"judge_error: {self.error}"


def read_judge_reply(
    text: str, *, scale: tuple[float, float] = SCALE, finish_reason: str = "stop"
) -> JudgeScore:
    """Read the score out of a judge's reply.

    Looked for in this order: an object with a score (JSON, broken JSON too; the last one counts), a number that
    is called the score, a number out of the scale's top, a line that is nothing but a number. A number outside
    the scale is an error, not the nearest end of the scale.
    """
    plain = without_thinking(text)
    if plain is None:
        return JudgeScore(score=None, error="truncated", reply=text)
    if not plain.strip():
        return JudgeScore(score=None, error="empty", reply=text)
    found = _from_objects(plain, scale)
    if found is None:
        found = _from_text(plain, scale)
    if found is None:
        error = "truncated" if finish_reason == "length" else "no score"
        return JudgeScore(score=None, error=error, reply=text)
    value, reason = found
    if isinstance(value, str):
        return JudgeScore(score=None, reason=reason, error=value, reply=text)
    return JudgeScore(score=value, reason=reason, reply=text)


def judge_answers(
    judge: VideoLLM,
    items: Sequence[Mapping[str, str]],
    prompts: PromptLibrary,
    *,
    batch_size: int = 16,
) -> list[JudgeScore]:
    """Scores of one judge, in the order of the items (``question``, ``reference``, ``answer``).

    Equal questions are asked once. A request that fails is a judge error of its own cause; the rest go on.
    """
    requests: list[Request] = []
    place: dict[tuple[str, ...], int] = {}
    for item in items:
        key = (item["question"], item["reference"], item["answer"])
        if key not in place:
            place[key] = len(requests)
            made = prompts.render("judge/score", **item)
            requests.append(Request(prompt=made.text, max_tokens=made.max_tokens))
    scores: list[JudgeScore] = []
    for begin in range(0, len(requests), batch_size):
        part = requests[begin : begin + batch_size]
        for reply in _replies(judge, part):
            if reply.failure is not None:
                scores.append(JudgeScore(score=None, error=reply.failure.cause, reply=reply.failure.message))
            else:
                scores.append(read_judge_reply(reply.text, finish_reason=reply.finish_reason))
    return [scores[place[item["question"], item["reference"], item["answer"]]] for item in items]


def _replies(judge: VideoLLM, part: Sequence[Request]) -> list[Reply]:
    try:
        found = list(judge.generate(part))
    except (ScriptExhaustedError, ModelNotFoundError):
        raise
    except EgoADRError as exc:
        if len(part) > 1:
            return [reply for request in part for reply in _replies(judge, [request])]
        return [Reply(text="", failure=Failure(cause=exc.cause, message=str(exc)))]
    if len(found) != len(part):
        raise ModelError(f"{judge.name} gave {len(found)} replies to {len(part)} requests.")
    return found


# ------------------------------------------------------------------------------------------------ reading

#: A score, or what is wrong with it; and the reason that stood beside it.
_Found = tuple[float | str, str]


def _from_objects(text: str, scale: tuple[float, float]) -> _Found | None:
    last: _Found | None = None
    for held in _objects(text):
        fields = {str(key).casefold().strip(): value for key, value in held.items()}
        given = next((fields[key] for key in _KEYS if key in fields), None)
        value = _value(given, scale)
        if value is not None:
            reason = next(
                (fields[key] for key in ("reason", "explanation", "rationale") if key in fields), ""
            )
            last = (value, str(reason))
    return last


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in a text, in order; mended where it is broken."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            held, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            following = text.find("{", place + 1)
            end = following if following >= 0 else len(text)
            held = mended_json(text[place:end])
        if isinstance(held, Mapping):
            yield held
        place = text.find("{", max(end, place + 1))


def _value(given: Any, scale: tuple[float, float]) -> float | str | None:
    """A score of a JSON value, what is wrong with it, or None when it is no number at all."""
    if isinstance(given, bool) or given is None:
        return None
    if isinstance(given, (int, float)):
        # A looping judge writes whole numbers that no float holds.
        return _within(float(given) if abs(given) < 1e300 else math.inf, None, scale)
    if isinstance(given, str):
        if given.strip().casefold() in _WORDS:
            return _within(float(_WORDS.index(given.strip().casefold())), None, scale)
        found = _ALONE.fullmatch(given.strip())
        if found:
            return _within(_number(found["score"]), found["of"], scale)
    return None


def _from_text(text: str, scale: tuple[float, float]) -> _Found | None:
    low, high = (f"{end:g}" for end in scale)
    # A scale that the judge repeats ("0-5", "5 = perfect") is no score.
    plain = re.sub(rf"\(?\b{low}\s*(?:-|–|to)\s*{high}\b\)?", " ", text)
    plain = re.sub(r"\b\d\s*=\s*\w", " ", plain).replace("*", "").replace("`", "")
    plain = _NAMED_WORD.sub(lambda m: f"{m['name']}{m['sign']}{_WORDS.index(m['word'].casefold())}", plain)
    for pattern in (_NAMED, _SHARE, _GIVEN):
        matches = list(pattern.finditer(plain))
        if matches:
            return _within(_number(matches[-1]["score"]), matches[-1]["of"], scale), text.strip()
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    for line in [lines[-1], lines[0]] if lines else []:
        found = _ALONE.fullmatch(line)
        if found:
            return _within(_number(found["score"]), found["of"], scale), text.strip()
    return None


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "."))


def _within(value: float, of: str | None, scale: tuple[float, float]) -> float | str:
    low, high = scale
    named = f"{low:g}-{high:g}"
    if not math.isfinite(value):
        return "not a number"
    if of is not None and float(of) != high:
        return f"out of another scale than {named} ({value:g} of {of})"
    if not low <= value <= high:
        return f"out of {named} ({value:g})"
    return value
