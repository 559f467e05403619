"""Narrations from a file in place of a model's, so that the text-only stages can be studied without video.

Accepted, by content rather than by name:

- JSON: an object ``id -> text``; a list of objects; or Ego4D's own narration file (``narration_pass_1`` ...).
- JSONL and CSV: one object a line, with ``narration`` (or ``text``, ``narration_text``) and either ``id``, or
  ``video`` (or ``video_id``, ``video_uid``) with ``time`` (or ``timestamp_sec``), or with ``start`` and ``end``.
- Plain lines ``VIDEO 12.5 #C C cuts the onion`` or ``VIDEO 12.5-14.0 #C C ...``, times in seconds or h:mm:ss.

What is timed is given to the samples whose interval it falls into, in order of time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.benchmarks.samples import Sample
from ego_adr.errors import ClipRangeError, DataError
from ego_adr.reading import file_ending, json_lines, json_value, read_text, table_rows
from ego_adr.video.interval import parse_time

__all__ = ["Narrations", "read_narrations"]

_TEXT = ("narration", "text", "narration_text", "description")
_ID = ("id", "sample_id")
_VIDEO = ("video", "video_id", "video_uid")
_START = ("start", "start_time", "time", "timestamp_sec", "timestamp", "start_sec")
_END = ("end", "end_time", "end_sec")
#: Ego4D marks who acts: #C the camera's wearer, #O another person, #unsure what could not be seen.
_MARK = re.compile(r"#\s*(?:c|o|unsure|summary)\b\s*", re.IGNORECASE)
_CLOCK = r"(?:\d+:)?\d{1,2}:\d{2}(?:\.\d+)?|\d+(?:\.\d+)?"
_LINE = re.compile(
    rf"^(?P<video>[^\s,]+)[\s,]+(?P<start>{_CLOCK})\s*s?(?:\s*(?:-|–|to|,|\s)\s*(?P<end>{_CLOCK})\s*s?)?[\s,:]+(?P<text>\S.*)$"
)


@dataclass(frozen=True)
class _Spoken:
    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Narrations:
    """Narrations by sample, and by video and time.

    Attributes:
        by_id: sample id -> text.
        by_video: video -> its narrations in order of time.
    """

    by_id: Mapping[str, str]
    by_video: Mapping[str, Sequence[_Spoken]]

    def of(self, sample: Sample) -> str | None:
        """The narration of a sample, None when the file has nothing for it.

        A sample that shows the whole video gets all of the video's narrations.
        """
        for name in (sample.id, sample.row):
            if name is not None and name in self.by_id:
                return self.by_id[name]
        spoken = next((self.by_video[name] for name in _names(sample) if name in self.by_video), None)
        if spoken is None:
            return None
        start, end = sample.shown.start, sample.shown.end
        if start is None or end is None or sample.shown.whole_video:
            start, end = -math.inf, math.inf
        start, end = min(start, end), max(start, end)
        inside = [
            part.text for part in spoken if part.start < end and (part.end > start or part.start >= start)
        ]
        return "\n".join(inside) or None


def read_narrations(path: str | PathLike[str]) -> Narrations:
    """Read a file of narrations; see the module for what it may hold.

    Raises:
        DataError: when it cannot be read, or an entry lacks its text or its place; names the entry.
    """
    place = Path(path)
    text = read_text(place)
    if not text.strip():
        raise DataError(f"the narrations {place} are empty.")
    by_id: dict[str, str] = {}
    by_video: dict[str, list[_Spoken]] = {}
    for where, entry in _entries(text, place):
        words = next((entry[name] for name in _TEXT if isinstance(entry.get(name), str)), None)
        if words is None:
            raise DataError(f"{place.name}, {where}: no text; it goes under one of {', '.join(_TEXT)}.")
        words = " ".join(_MARK.sub(" ", words).split())
        if not words:
            continue
        name = next((str(entry[field]) for field in _ID if entry.get(field) not in (None, "")), None)
        if name is not None:
            by_id[name] = f"{by_id[name]}\n{words}" if name in by_id else words
            continue
        video = next((str(entry[field]) for field in _VIDEO if entry.get(field) not in (None, "")), None)
        start = _seconds(next((entry[field] for field in _START if entry.get(field) not in (None, "")), None))
        if video is None or start is None:
            raise DataError(
                f"{place.name}, {where}: it must say whose it is: {' or '.join(_ID)}, or a video "
                f"({', '.join(_VIDEO)}) with a time in seconds ({', '.join(_START)})."
            )
        end = _seconds(next((entry[field] for field in _END if entry.get(field) not in (None, "")), None))
        by_video.setdefault(video, []).append(_Spoken(start, start if end is None else end, words))
    return Narrations(
        by_id, {video: sorted(parts, key=lambda part: part.start) for video, parts in by_video.items()}
    )


def _names(sample: Sample) -> Iterable[str]:
    """What a file may call the sample's video: its path, its name, its stem, the name in the annotations."""
    path = Path(sample.shown.video)
    return (sample.shown.video, path.name, path.stem, sample.group, sample.group.rpartition("/")[2])


def _entries(text: str, place: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    start = text.lstrip()[0]
    if start in "[{":
        try:
            held = json_value(text, str(place))
        except DataError:
            if start == "[" or "\n" not in text.strip():
                raise
            return json_lines(text, place.name)
        return _json_entries(held, place)
    if file_ending(place) in (".csv", ".tsv"):
        return _table(text, place)
    return _plain_lines(text, place)


def _json_entries(held: Any, place: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if isinstance(held, list):
        for number, entry in enumerate(held):
            if not isinstance(entry, Mapping):
                raise DataError(f"{place.name}, entry {number} is {type(entry).__name__}, not an object.")
            yield f"entry {number}", entry
        return
    if any(field in held for field in _TEXT) and not isinstance(held.get("videos"), Mapping):
        yield "entry 0", held  # a .jsonl of one line
        return
    videos = held["videos"] if isinstance(held.get("videos"), Mapping) else held
    for name, value in videos.items():
        if isinstance(value, str):
            yield repr(name), {"id": name, "text": value}
            continue
        passes = (
            [
                part
                for key, part in value.items()
                if key.startswith("narration_pass") and isinstance(part, Mapping)
            ]
            if isinstance(value, Mapping)
            else []
        )
        spoken = passes[0].get("narrations", []) if passes else value if isinstance(value, list) else None
        if spoken is None and isinstance(value, Mapping) and isinstance(value.get("narrations"), list):
            spoken = value["narrations"]
        if not isinstance(spoken, list):
            if isinstance(value, Mapping) and not passes and any(field in value for field in _TEXT):
                yield repr(name), {"id": name, **value}
                continue
            raise DataError(f"{place.name}, {name!r}: neither a text nor a list of narrations with times.")
        for number, entry in enumerate(spoken):
            if not isinstance(entry, Mapping):
                raise DataError(f"{place.name}, {name!r}, narration {number} is {type(entry).__name__}.")
            yield f"{name!r}, narration {number}", {"video": name, **entry}


def _table(text: str, place: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for where, row in table_rows(text, place.name):
        if not any(name in _TEXT for name in row):
            raise DataError(
                f"{place.name} has the columns {', '.join(row)}; one must be {' or '.join(_TEXT)}."
            )
        yield where, row


def _plain_lines(text: str, place: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _LINE.match(line.strip())
        if found is None:
            raise DataError(
                f"{place.name}, line {number}: expected VIDEO TIME #C C ..., got {line.strip()[:60]!r}."
            )
        yield f"line {number}", found.groupdict()


def _seconds(value: Any) -> float | None:
    try:
        return parse_time(value)
    except ClipRangeError:
        return None
