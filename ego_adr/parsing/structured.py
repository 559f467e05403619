"""Verdicts in a form that was made for machines: JSON (broken too), tags and boxes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ego_adr.parsing.names import Names, unique
from ego_adr.parsing.reading import Claim
from ego_adr.reading import mended_json
from ego_adr.taxonomies import Label, label_key
from ego_adr.vocabularies import english

__all__ = ["Structured", "read_structured"]

_FENCE = re.compile(r"^\s*(?:```|~~~)[\w+-]*[ \t]*\n?|(?:```|~~~)", re.MULTILINE)
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|operatorname|texttt|mbox)\s*\{([^{}]*)\}|\\[,;!: ]|\$"
)
_BOX_TOKENS = re.compile(r"<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|$)", re.DOTALL)
_ARRAY = re.compile(r"\[\s*[\"'{\[]")
_WORDS_SHOWN = 300

#: From a text that stands in place of a label to what it claims, or None.
ReadText = Callable[[str], "tuple[Label, ...] | None"]


@dataclass
class Structured:
    """What was found, and the text with it blanked out (same length, so that places stay comparable).

    Attributes:
        claims: fields, tags and boxes that hold a verdict.
        rest: the text without them.
        echoed: a field or tag held the list of labels.
        cut: the last of them is not closed: the text ends inside it.
        contradiction: the words of a field that says right and wrong at once.
    """

    rest: str
    claims: list[Claim] = field(default_factory=list)
    echoed: bool = False
    cut: bool = False
    contradiction: str | None = None


def read_structured(
    text: str, names: Names, by_number: Mapping[str, Label], read_text: ReadText
) -> Structured:
    """Find verdicts in JSON, tags and boxes.

    Args:
        text: the reply without its thinking.
        names: the labels' names.
        by_number: labels by option number or letter, where a list of options is known.
        read_text: reads a value that is a sentence rather than a name.
    """
    found = Structured(rest=text)
    reader = _Reader(names, by_number, read_text, found)
    for start, end, inner, closed in [*_boxes(text), *_tags(text)]:
        reader.tag(start, end, _LATEX.sub(r"\1", inner), closed=closed)
    for start, end, closed in _objects(found.rest):
        reader.json(start, end, closed=closed)
    found.rest = _FENCE.sub(
        lambda m: " " * (len(m.group()) - 1) + m.group()[-1:].replace("`", " "), found.rest
    )
    return found


class _Reader:
    def __init__(
        self, names: Names, by_number: Mapping[str, Label], read_text: ReadText, found: Structured
    ) -> None:
        words = english().names
        self._names = names
        self._by_number = by_number
        self._read_text = read_text
        self._found = found
        self._keys = [label_key(key) for key in words["answer-keys"]]
        self._error_keys = {label_key(key) for key in words["error-keys"]}
        self._is_error_keys = {label_key(key) for key in words["is-error-keys"]}
        self._is_correct_keys = {label_key(key) for key in words["is-correct-keys"]}
        self._none, self._yes, self._no = (frozenset(words[name]) for name in ("none", "yes", "no"))
        self._correct = names.taxonomy.correct

    def tag(self, start: int, end: int, inner: str, *, closed: bool) -> None:
        """One tag or box. What it holds may be JSON or a sentence."""
        if "{" in inner:
            return  # the JSON inside is read in its own right
        labels = self._labels(inner, error_key=False)
        self._blank(start, end)
        if labels:
            self._claim(labels, end, inner, cut=not closed)

    def json(self, start: int, end: int, *, closed: bool) -> None:
        """One object or array; broken ones are mended."""
        source = self._found.rest[start:end]
        inner = source.strip("{}[] \n")
        single = None if ":" in inner else self._names.value(inner)
        if isinstance(single, tuple) and inner:
            labels: tuple[Label, ...] | None = single
        else:
            try:
                data = json.loads(source)
            except (ValueError, RecursionError):
                data = mended_json(source)
                if data is None:
                    return  # brackets without an end: no JSON at all
            if isinstance(data, str) or data in ({}, []):
                return
            labels = self._walk(data)
        self._blank(start, end)
        self._found.cut = self._found.cut or (not closed and not labels)
        if labels:
            self._claim(labels, end, source, cut=not closed and self._unfinished(source))

    def _unfinished(self, source: str) -> bool:
        """Whether the text stops inside a string that may go on: ``{"label": "Correct``."""
        last = re.search(r"[\"']([^\"'{}\[\]:,]*)$", source)
        return last is not None and self._names.starts_a_longer_name(last.group(1))

    def _claim(self, labels: tuple[Label, ...], end: int, words: str, *, cut: bool) -> None:
        if len(labels) > len(self._names.taxonomy.labels) / 2:
            self._found.echoed = True
            return
        if cut and self._names.starts_a_longer_name(labels[-1].name):
            self._found.cut = True
            return
        if any(label.is_error for label in labels) and not all(label.is_error for label in labels):
            self._found.contradiction = _shown(words)
            self._found.claims.append(Claim((), end, 3, _shown(words)))
            return
        self._found.claims.append(Claim(labels, end, 3, _shown(words)))

    def _blank(self, start: int, end: int) -> None:
        rest = self._found.rest
        blank = re.sub(r"[^\n]", " ", rest[start:end])
        self._found.rest = rest[:start] + blank + rest[end:]

    # ------------------------------------------------------------------------------------ values

    def _walk(self, data: Any) -> tuple[Label, ...] | None:
        """Labels of a parsed value, wherever in it they are."""
        if isinstance(data, Mapping):
            return self._mapping({label_key(str(key)): value for key, value in data.items()})
        if isinstance(data, Sequence) and not isinstance(data, str):
            parts = [
                self._walk(part) if not isinstance(part, str) else self._labels(part, error_key=False)
                for part in data
            ]
            if data and all(isinstance(part, Mapping) for part in data):
                return _last_of_kind(parts)
            return unique(label for part in parts if part for label in part) or None
        return self._labels(data, error_key=False) if isinstance(data, str) else None

    def _mapping(self, data: Mapping[str, Any]) -> tuple[Label, ...] | None:
        scored = self._scored(data)
        if scored is not None:
            return scored
        flag = self._flag(data)
        for key in self._keys:
            if key not in data:
                continue
            value = data[key]
            labels = self._field(value, error_key=key in self._error_keys)
            if labels:
                if flag is not None and any(label.is_error for label in labels) != flag:
                    self._found.contradiction = f"{key}: {value!r}"
                    return (self._correct, *(label for label in labels if label.is_error))
                return labels
        for key, value in data.items():
            if isinstance(value, (Mapping, list)) and key not in self._keys:
                labels = self._walk(value)
                if labels and isinstance(value, Mapping):
                    return labels
        if flag is False:
            return (self._correct,)
        # a field of another name: taken when just one of them is a label and nothing but a label
        held = [
            v
            for v in (self._names.value(x) for x in data.values() if isinstance(x, str))
            if isinstance(v, tuple)
        ]
        return held[0] if len(held) == 1 else None

    def _field(self, value: Any, *, error_key: bool) -> tuple[Label, ...] | None:
        if value is None or value is False:
            return (self._correct,) if error_key else None
        if isinstance(value, str):
            return self._labels(value, error_key=error_key)
        if isinstance(value, bool):
            return None
        if isinstance(value, (int, float)):
            return self._numbered(str(value))
        if isinstance(value, Sequence):
            if not value:
                return (self._correct,) if error_key else None
            parts = [self._field(part, error_key=error_key) for part in value]
            return unique(label for part in parts if part for label in part) or None
        return self._walk(value)

    def _flag(self, data: Mapping[str, Any]) -> bool | None:
        """What yes-or-no fields say: True for an error, False for none, None when there are none."""
        for key, value in data.items():
            said = _truth(value, self._yes, self._no)
            if said is None:
                continue
            if key in self._is_error_keys:
                return said
            if key in self._is_correct_keys:
                return not said
        return None

    def _scored(self, data: Mapping[str, Any]) -> tuple[Label, ...] | None:
        """``{"Wrong object": 0.1, "Omission": 0.8}``: the highest; with yes and no: those with yes."""
        owners = {key: self._names.taxonomy.find(key) for key in data}
        known = {key: label for key, label in owners.items() if label is not None and key not in self._keys}
        if len(known) < 2 or len(known) < len(data) - 2:
            return None
        numbers = {k: v for k in known if isinstance(v := data[k], (int, float)) and not isinstance(v, bool)}
        if len(numbers) == len(known):
            top = max(numbers.values())
            best = [key for key, value in numbers.items() if value == top]
            return (known[best[0]],) if len(best) == 1 else None
        said = {key: _truth(data[key], self._yes, self._no) for key in known}
        if None in said.values():
            return None
        return unique(known[key] for key, value in said.items() if value) or None

    def _numbered(self, value: str) -> tuple[Label, ...] | None:
        label = self._by_number.get(value.removesuffix(".0").upper())
        return (label,) if label is not None else None

    def _labels(self, value: str, *, error_key: bool) -> tuple[Label, ...] | None:
        stripped = value.strip().strip("\"'`*_. ")
        if error_key and stripped.casefold() in self._none:
            return (self._correct,)
        if not stripped:
            return None
        if numbered := self._numbered(stripped.strip("()[]. ")):
            return numbered
        labels = self._names.value(stripped)
        if labels == "or":
            self._found.echoed |= len(self._names.everywhere(stripped)) > len(self._names.taxonomy.labels) / 2
            return None
        if labels is not None:
            return labels
        lead = self._names.lead(stripped, announced=True)
        if (
            lead is not None
            and lead.kind == "labels"
            and re.match(r"\s*(?:[:.,;(\n\"]|[-–—]\s|$)", stripped[lead.end :])
        ):
            return lead.labels
        return self._read_text(stripped)


def _truth(value: Any, yes: frozenset[str], no: frozenset[str]) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        said = value.strip().casefold()
        return True if said in yes else False if said in no else None
    return None


def _last_of_kind(parts: Sequence[tuple[Label, ...] | None]) -> tuple[Label, ...] | None:
    """Of several objects that each hold a verdict, the last one's."""
    held = [part for part in parts if part]
    return held[-1] if held else None


def _objects(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where JSON may stand: start, end, and whether it is closed."""
    at = 0
    decoder = json.JSONDecoder()
    while at < len(text):
        brace = text.find("{", at)
        array = _ARRAY.search(text, at)
        start = min((place for place in (brace, array.start() if array else -1) if place >= 0), default=-1)
        if start < 0:
            return
        try:
            _, end = decoder.raw_decode(text, start)
            closed = True
        except (ValueError, RecursionError):
            end, closed = _balanced(text, start)
        yield start, end, closed
        at = end


def _balanced(text: str, start: int) -> tuple[int, bool]:
    """The end of a bracket's content; text in double quotes does not count where the quotes pair up."""
    opening, closing = text[start], {"{": "}", "[": "]"}[text[start]]
    for skip_strings in (True, False):
        depth, quoted, at = 0, False, start
        while at < len(text):
            char = text[at]
            if skip_strings and char == '"' and text[at - 1] != "\\":
                quoted = not quoted
            elif not quoted and char == opening:
                depth += 1
            elif not quoted and char == closing:
                depth -= 1
                if depth == 0:
                    return at + 1, True
            at += 1
    return len(text), False


def _boxes(text: str) -> Iterator[tuple[int, int, str, bool]]:
    for match in _BOXED.finditer(text):
        end, closed = _balanced(text, match.end() - 1)
        yield match.start(), end, text[match.end() : end - closed], closed
    for match in _BOX_TOKENS.finditer(text):
        yield match.start(), match.end(), match.group(1), match.group().endswith("|>")


def _tags(text: str) -> Iterator[tuple[int, int, str, bool]]:
    tags = "|".join(sorted(map(re.escape, english().names["answer-tags"]), key=len, reverse=True))
    pattern = re.compile(
        rf"[<\[](?P<tag>{tags})[>\]](?P<inner>.*?)(?:[<\[]/\s*(?P=tag)\s*[>\]]|$)", re.DOTALL | re.IGNORECASE
    )
    for match in pattern.finditer(text):
        yield match.start(), match.end(), match.group("inner"), match.end("inner") < match.end()


def _shown(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= _WORDS_SHOWN else words[: _WORDS_SHOWN - 1] + "…"
