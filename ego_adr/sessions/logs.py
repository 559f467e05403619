"""Step logs: what happened when, from a program, a JSON or CSV file, and cleaned before anything is judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.errors import ClipRangeError, DataError
from ego_adr.reading import file_ending, json_lines, json_value, read_text, table_rows
from ego_adr.video.interval import parse_time

__all__ = ["LOG_ENDINGS", "LogEntry", "StepEvent", "as_events", "clean_log", "read_log"]

#: What the files that `read_log` reads end in.
LOG_ENDINGS = (".csv", ".json", ".jsonl", ".tsv")


@dataclass(frozen=True)
class StepEvent:
    """One thing that happened.

    Attributes:
        step: 0-based index of a step of the bank, or words that name a step or an action.
        start, end: half-open interval in seconds of the recording. Both negative: the log says that the
            step was not done (a benchmark's mark).
    """

    step: int | str
    start: float
    end: float


LogEntry = StepEvent | Sequence[Any] | Mapping[str, Any]

#: Names under which the fields of an event are found in files, the first that is there counts.
_FIELDS: dict[str, tuple[str, ...]] = {
    "step": ("step", "action", "text", "description", "action_annotation", "label", "index"),
    "start": ("start", "start_time", "begin", "from", "t0"),
    "end": ("end", "end_time", "stop", "to", "t1"),
}


def as_events(log: Iterable[LogEntry]) -> list[StepEvent]:
    """Events from events, (step, start, end) triples, or mappings with such keys.

    Raises:
        DataError: when an entry is none of these; the message gives its number.
    """
    return [
        entry if isinstance(entry, StepEvent) else _event(entry, f"entry {i} of the log")
        for i, entry in enumerate(log)
    ]


def _event(entry: Any, where: str) -> StepEvent:
    if isinstance(entry, Mapping):
        values: dict[str, Any] = {}
        given = {"_".join(str(name).casefold().split()): value for name, value in entry.items()}
        for field, names in _FIELDS.items():
            name = next((name for name in names if given.get(name) not in (None, "")), None)
            if name is None:
                raise DataError(
                    f"{where} has no {field}; looked for {', '.join(names)} among {', '.join(map(str, entry))}."
                )
            values[field] = given[name]
        step, start, end = values["step"], values["start"], values["end"]
    elif isinstance(entry, Sequence) and not isinstance(entry, (str, bytes)) and len(entry) == 3:
        step, start, end = entry
    else:
        raise DataError(f"{where} is {entry!r:.80}; an event is a step, a start and an end in seconds.")
    return StepEvent(step, _seconds(start, "start", where), _seconds(end, "end", where))


def _seconds(value: Any, what: str, where: str) -> float:
    try:
        seconds = parse_time(value, what)
    except ClipRangeError as exc:
        raise DataError(f"{where}: {exc}") from exc
    if seconds is None:
        raise DataError(f"{where} has no {what}; give it in seconds.")
    return seconds


def clean_log(
    events: Sequence[StepEvent], steps: int
) -> tuple[list[tuple[int, StepEvent]], list[int], list[str]]:
    """Check every event, put them in order of time and drop exact doubles.

    Args:
        steps: how many steps the bank has.

    Returns:
        (events with their numbers in the log, by start then end; numbers of the events that say "not done";
        notes on what was noticed).

    Raises:
        DataError: for a time that is no number, lies before the recording or runs backwards, and for the index
            of a step that is not there.
    """
    kept: list[tuple[int, StepEvent]] = []
    undone: list[int] = []
    notes: list[str] = []
    seen: set[tuple[object, float, float]] = set()
    doubles = 0
    for i, event in enumerate(events):
        where = f"event {i} ({event.step!r:.60})"
        step = event.step
        if isinstance(step, bool) or not isinstance(step, (int, str)):
            raise DataError(
                f"{where}: a step is an index (int) or its words (str), not {type(step).__name__}."
            )
        if isinstance(step, int) and not 0 <= step < steps:
            raise DataError(f"{where}: the procedure has steps 0 to {steps - 1} (counted from 0).")
        for value in (event.start, event.end):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise DataError(f"{where}: {value!r} is no time; give start and end in seconds.")
        if event.start < 0 and event.end < 0:
            undone.append(i)
            continue
        if event.start < 0:
            raise DataError(
                f"{where} starts at {event.start} s; times count from 0 (both negative means: not done)."
            )
        if event.end < event.start:
            raise DataError(
                f"{where} ends at {event.end} s, before it starts at {event.start} s. Exchange or correct them."
            )
        same = (step, float(event.start), float(event.end))
        if same in seen:
            doubles += 1
            continue
        seen.add(same)
        kept.append((i, event))
    kept.sort(key=lambda pair: (pair[1].start, pair[1].end, pair[0]))
    if [i for i, _ in kept] != sorted(i for i, _ in kept):
        notes.append("the log was not in order of time; it was sorted")
    if doubles:
        notes.append(f"{doubles} exact doubles were dropped")
    if undone:
        notes.append(f"{len(undone)} entries with negative times say that their step was not done")
    return kept, undone, notes


def read_log(path: str | PathLike[str]) -> list[StepEvent]:
    """Events from a file: JSON (a list, or an object with 'events' or 'step_annotations'), JSON lines, or CSV.

    Step numbers in a file's column ``step`` are read as 0-based indices when they are whole numbers.

    Raises:
        DataError: when the file cannot be read as any of these; the message says which line.
    """
    place = Path(path)
    text = read_text(place)
    if not text.strip():
        raise DataError(f"the log {str(place)!r} is empty.")
    rows: list[tuple[str, Any]]
    ending = file_ending(place)
    if ending in (".csv", ".tsv"):
        rows = list(table_rows(text, str(place)))
    elif ending == ".jsonl" and not text.lstrip().startswith("["):
        rows = list(json_lines(text, str(place)))
    else:
        data = json_value(text, str(place))
        if isinstance(data, Mapping):
            data = next((data[name] for name in ("events", "step_annotations") if name in data), None)
        if not isinstance(data, list):
            raise DataError(f"{place} holds no list of events; give a list, or an object with 'events'.")
        rows = [(f"entry {n}", row) for n, row in enumerate(data, 1)]
    found = [_event(row, f"{place}, {where}") for where, row in rows]
    return [StepEvent(_index_or_words(event.step), event.start, event.end) for event in found]


def _index_or_words(step: Any) -> int | str:
    return int(step) if isinstance(step, str) and step.strip().isdecimal() else step
