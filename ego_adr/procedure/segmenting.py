"""Reads a model's cut of a procedure and holds it against the text: same order, nothing invented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ego_adr.procedure.similarity import stem
from ego_adr.reading import mended_json
from ego_adr.types import ProcedureBank, Reply, Step

__all__ = ["bank_from_reply"]

#: Least similarity (0 to 100) of a step and the stretch of text that it is aligned with.
ALIKE = 75.0
#: Least share of the text's content words that the steps must hold together.
COVERED = 0.6

Span = tuple[int, int]


class _NotHeldError(Exception):
    """The reply does not hold against the text; the message says why."""


def bank_from_reply(cut_by_rules: ProcedureBank, reply: Reply) -> ProcedureBank:
    """The bank that a model's reply gives, or the one cut by rules with a note that says why.

    Args:
        cut_by_rules: the same text, cut without the model: what is kept when the reply does not hold.
        reply: JSON with ``steps`` of ``text`` and ``objects`` (papers/002, section 5.2).
    """
    text = cut_by_rules.text
    try:
        if reply.failure is not None:
            raise _NotHeldError(f"it failed ({reply.failure.message})")
        if reply.finish_reason == "length":
            raise _NotHeldError("its reply was cut at the token limit")
        entries = _entries(reply.text)
        if len(entries) == 1 and len(cut_by_rules.steps) > 1:
            raise _NotHeldError("it left the text whole")
        spans = _align([words for words, _ in entries], text)
        _check_cover(spans, text)
    except _NotHeldError as exc:
        note = f"the model's cut was not used: {exc}; rules cut the text"
        return cut_by_rules.model_copy(update={"notes": (*cut_by_rules.notes, note)})
    named = {stem(word) for word in _content(text)}
    known = [tuple(name for name in objects if _is_named(name, named)) for _, objects in entries]
    strange = [name for _, objects in entries for name in objects if not _is_named(name, named)]
    notes = list(cut_by_rules.notes)
    if strange:
        notes.append(
            f"objects that the text does not name were left out: {', '.join(dict.fromkeys(strange))}"
        )
    steps = tuple(
        Step(index=index, text=words, objects=objects, span=span)
        for index, ((words, _), objects, span) in enumerate(zip(entries, known, spans, strict=True))
    )
    return ProcedureBank(text=text, steps=steps, title=cut_by_rules.title, method="model", notes=tuple(notes))


def _is_named(name: str, named: set[str]) -> bool:
    stems = {stem(word) for word in _content(name)}
    return bool(stems) and stems <= named


def _entries(said: str) -> list[tuple[str, tuple[str, ...]]]:
    from ego_adr.parsing.cleaning import without_thinking

    answer = without_thinking(said)
    if answer is None:
        raise _NotHeldError("it was still thinking when its reply ended")
    begin = min((i for i in (answer.find("{"), answer.find("[")) if i != -1), default=-1)
    if begin == -1:
        raise _NotHeldError("its reply holds no JSON")
    data = mended_json(answer[begin:])
    if isinstance(data, list) and data and isinstance(data[-1], Mapping) and "steps" in data[-1]:
        data = data[-1]
    steps = data.get("steps") if isinstance(data, Mapping) else data
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise _NotHeldError("its JSON has no list of steps")
    entries: list[tuple[str, tuple[str, ...]]] = []
    for step in steps:
        form = step if isinstance(step, Mapping) else {"text": step}
        words = form.get("text") or form.get("step") or form.get("description")
        if not isinstance(words, str) or not re.search(r"\w", words):
            raise _NotHeldError(f"a step has no text ({step!r})"[:120])
        cleaned = re.sub(r"^\s*(?:step\s*)?\d{1,2}[.):]\s+", "", words, flags=re.IGNORECASE)
        entries.append((" ".join(cleaned.split()), _names(form.get("objects"))))
    if not entries:
        raise _NotHeldError("it gave no steps")
    return entries


def _names(objects: Any) -> tuple[str, ...]:
    """Names of objects, given as a list of texts or of ``{name: ...}``, or as one text with commas."""
    if isinstance(objects, str):
        objects = objects.split(",")
    if not isinstance(objects, Sequence):
        return ()
    found = (entry.get("name") if isinstance(entry, Mapping) else entry for entry in objects)
    return tuple(dict.fromkeys(name.strip() for name in found if isinstance(name, str) and name.strip()))


def _align(steps: Sequence[str], text: str) -> list[Span]:
    """The stretch of text that each step was taken from; later steps lie later."""
    spans: list[Span] = []
    at = 0
    for number, words in enumerate(steps, 1):
        span = _find(words, text, at)
        if span is None:
            if _find(words, text, 0) is not None:
                raise _NotHeldError(f"step {number} ({words[:60]!r}) is out of the text's order")
            raise _NotHeldError(f"step {number} ({words[:60]!r}) is not in the text")
        missing = [n for n in _numbers(words) if n not in _numbers(text[max(span[0] - 2, 0) : span[1] + 12])]
        if missing:
            raise _NotHeldError(
                f"step {number} names {', '.join(missing)}, which the text does not say there"
            )
        if _negated(words) != _negated(text[_clause_start(text, span[0]) : span[1]]):
            raise _NotHeldError(f"step {number} ({words[:60]!r}) turns what the text says into its opposite")
        spans.append(span)
        at = span[0] + max(1, (span[1] - span[0]) // 2)
    return spans


def _find(words: str, text: str, at: int) -> Span | None:
    from rapidfuzz import fuzz

    lowered, wanted = text.casefold(), words.casefold().rstrip(" .;,")
    if len(lowered) != len(text):
        lowered = text.lower() if len(text.lower()) == len(text) else text
    exact = lowered.find(wanted, at)
    if exact != -1:
        return exact, exact + len(wanted)
    rest = lowered[at:]
    if not rest.strip():
        return None
    best = fuzz.partial_ratio_alignment(wanted, rest, score_cutoff=ALIKE)
    if best is None:
        return None
    content = _content(words)
    there = set(_content(text[at + best.dest_start : at + best.dest_end + len(words) // 2]))
    if content and sum(word in there for word in content) / len(content) < 0.7:
        return None
    return at + best.dest_start, at + best.dest_end


_NEGATION = re.compile(r"\b(?:not|never|without|no|avoid)\b|n['’]t\b", re.IGNORECASE)


def _negated(text: str) -> int:
    return len(_NEGATION.findall(text))


def _clause_start(text: str, begin: int) -> int:
    """Where the clause that holds a place begins: behind the last mark or blank line before it."""
    marks = [mark.end() for mark in re.finditer(r"[.,;:!?()\n]|\b(?:and|then|but)\b", text[:begin])]
    return marks[-1] if marks else 0


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,/]\d+)*", text)


def _content(text: str) -> list[str]:
    from ego_adr.procedure.splitting import splitting_words

    skipped = splitting_words().function_words
    return [word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in skipped]


def _check_cover(spans: Sequence[Span], text: str) -> None:
    everything = _content(text)
    inside = [word for begin, end in spans for word in _content(text[begin:end])]
    share = len(inside) / max(1, len(everything))
    if share < COVERED:
        raise _NotHeldError(f"its steps hold only {share:.0%} of the text's words")
