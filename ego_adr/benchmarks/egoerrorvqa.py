"""EgoErrorVQA as it is published, quirks and all: 1,857 multiple-choice rows, 1,805 open-end rows.

Of a row, only video, times, task and action text are shown; fields such as ``modified_description``,
``errors``, ``error_caption`` and ``error_annotation_main`` hold the answer and are never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ego_adr.benchmarks.samples import NEGATIVE_START, NO_ACTION, Sample, Shown, Truth, distinct
from ego_adr.benchmarks.sources import SOURCES, find_video, guess_source
from ego_adr.errors import ClipRangeError, DataError
from ego_adr.procedure.matching import clean_action
from ego_adr.prompting import PromptLibrary
from ego_adr.reading import json_value, read_text, rows_of_json
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Failure
from ego_adr.video.interval import parse_time

__all__ = ["Task", "TentTimes", "load_egoerrorvqa", "read_json_rows", "read_procedures", "samples_of_rows"]

Task = Literal["choice", "open-end"]
#: ``published``: the seconds as they stand. ``gopro``: recomputed from the camera's codes, whose last field
#: counts pictures at 60 a second (the published seconds divide it by 30).
TentTimes = Literal["published", "gopro"]
GOPRO_RATE = 60.0


def load_egoerrorvqa(
    data: str | PathLike[str],
    *,
    videos: str | PathLike[str] | None = None,
    task: Task = "choice",
    datasets: Sequence[str] | None = None,
    procedures: Mapping[str, str] | str | PathLike[str] | None = None,
    tent_times: TentTimes = "published",
    taxonomy: Taxonomy | None = None,
    prompts: PromptLibrary | None = None,
    faults: list[str] | None = None,
) -> list[Sample]:
    """Read the published files.

    Args:
        data: the folder of the files, one above it, or a single file of rows.
        videos: root of the videos; without one the paths stay relative.
        task: multiple choice, or the open-end questions (one sample a question).
        datasets: a part of the four.
        procedures: task -> text, or a file of it; default ``procedure.json`` beside the rows.
        tent_times: see `TentTimes`.
        faults: where given, rows that cannot be read are described there and left out instead of raising.

    Raises:
        DataError: for files or rows that cannot be read; names the file and the row.
    """
    place = Path(data)
    if place.is_file():
        files: list[tuple[str | None, Path]] = [(None, place)]
        folder = place.parent
    else:
        folder = _folder(place, task)
        wanted = list(SOURCES) if datasets is None else list(datasets)
        for name in wanted:
            if name not in SOURCES:
                raise DataError(f"EgoErrorVQA has no data set {name!r}; it has {', '.join(SOURCES)}.")
        named = [(name, folder / _file_name(name, task)) for name in wanted]
        files = [(name, path) for name, path in named if path.is_file()]
        if datasets is not None and len(files) < len(named):
            raise DataError(
                f"{folder} lacks {', '.join(path.name for _, path in named if not path.is_file())}."
            )
    texts = _procedures(procedures, folder)
    rows = [(dataset, path, read_json_rows(path)) for dataset, path in files]
    found: list[Sample] = []
    for dataset, path, held in rows:
        found += samples_of_rows(
            held,
            dataset=dataset,
            procedures=texts,
            videos=videos,
            tent_times=tent_times,
            taxonomy=taxonomy,
            prompts=prompts,
            source=path.name,
            faults=faults,
        )
    if datasets is not None:
        found = [sample for sample in found if sample.dataset in datasets]
    return found


def samples_of_rows(
    rows: Sequence[Mapping[str, Any]],
    *,
    dataset: str | None = None,
    procedures: Mapping[str, str],
    videos: str | PathLike[str] | None = None,
    tent_times: TentTimes = "published",
    taxonomy: Taxonomy | None = None,
    prompts: PromptLibrary | None = None,
    source: str = "rows",
    faults: list[str] | None = None,
) -> list[Sample]:
    """Samples of published rows, see `load_egoerrorvqa`; ``qa_pairs`` give one sample a question."""
    labels = taxonomy if taxonomy is not None else Taxonomy.load()
    stand_in = (prompts if prompts is not None else PromptLibrary()).render("benchmark/no-action").text
    instructions = _instructions(rows)
    found: list[Sample] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        where = f"{source}, row {number}"
        try:
            if not isinstance(row, Mapping):
                raise DataError(f"{where} is {type(row).__name__}, not an object with fields.")
            name = dataset or guess_source(row, source) or ""
            base = _sample(row, name, where, procedures, videos, tent_times, instructions, stand_in)
            base = distinct(base, seen)
            found += _answers(base, row, labels, where)
        except DataError as exc:
            if faults is None:
                raise
            faults.append(str(exc))
    return found


def read_json_rows(path: str | PathLike[str]) -> list[Mapping[str, Any]]:
    """The rows of a JSON file whose top level is a list, or an object of rows.

    Raises:
        DataError: when it is neither, or no JSON.
    """
    try:
        held = json_value(read_text(path), str(path))
    except DataError as exc:
        raise DataError(f"{exc} Download the file again, or give a .jsonl file its ending.") from exc
    found = rows_of_json(held)
    if not found:
        raise DataError(
            f"{path} holds {'no rows' if found is not None else type(held).__name__}; "
            "expected a list of rows, or an object of rows."
        )
    return found


# ------------------------------------------------------------------------------------------------- one row


def _sample(
    row: Mapping[str, Any],
    dataset: str,
    where: str,
    procedures: Mapping[str, str],
    videos: str | PathLike[str] | None,
    tent_times: TentTimes,
    instructions: Mapping[tuple[str, str], str],
    stand_in: str,
) -> Sample:
    video = row.get("video_id") or row.get("recording_id") or row.get("subject_id")
    if not isinstance(video, (str, int)) or isinstance(video, bool):
        raise DataError(f"{where} has no video_id; a row needs video_id, start_time, end_time and task_id.")
    task = str(row.get("task_id") or row.get("activity_name") or "")
    notes: list[str] = []
    giveaways: list[str] = []
    problem: Failure | None = None
    start: float | None
    end: float | None
    try:
        start, end = _times(row, tent_times)
    except ClipRangeError as exc:
        start = end = None
        problem = Failure(cause="times", message=f"{where}: {exc}")
    if start is not None and end is not None:
        if start < 0:
            giveaways.append(NEGATIVE_START)
            notes.append("negative start: the step has no time of its own, the whole video is shown")
        elif end < start:
            notes.append(f"end before start ({start} s to {end} s)")
    texts = {field: row[field] for field in _source_actions(dataset) if row.get(field) is not None}
    strange = next((field for field, text in texts.items() if not isinstance(text, str)), None)
    if strange is not None:
        raise DataError(f"{where}: {strange} must be a text, not {texts[strange]!r}.")
    action = next((text for text in texts.values() if text.strip()), None)
    if action is None:
        action = _parts_action(row)
    if action is None:
        giveaways.append(NO_ACTION)
        action = instructions.get((task, str(row.get("instruction"))))
        said = "its instruction's text stands in" if action else "nothing names its step"
        notes.append(f"no action text: {said}")
    procedure = procedures.get(task, "")
    if not procedure.strip() and problem is None:
        problem = Failure(
            cause="procedure",
            message=f"no procedure for {task!r}; there are {', '.join(sorted(procedures)) or 'none'}.",
        )
    path = find_video(videos, dataset, {**row, "video_id": video, "task_id": task})
    span = "no-time" if start is None or end is None else f"{start:.3f}-{end:.3f}"
    key = SOURCES[dataset].key if dataset in SOURCES else None
    last = [f"{key.partition('_')[0]}-{row[key]}"] if key and row.get(key) is not None else []
    return Sample(
        id="/".join([dataset or "rows", str(video), span, *last]),
        dataset=dataset,
        group=f"{dataset}/{video}",
        shown=Shown(
            video=str(path),
            start=start,
            end=end,
            procedure=procedure,
            action=clean_action(action) if action else stand_in,
            task=task,
        ),
        giveaways=tuple(giveaways),
        problem=problem,
        notes=tuple(notes),
    )


def _answers(base: Sample, row: Mapping[str, Any], taxonomy: Taxonomy, where: str) -> Iterable[Sample]:
    """The sample with its truth, or one sample a question."""
    if "qa_pairs" in row:
        pairs = row["qa_pairs"]
        if not isinstance(pairs, list) or not all(
            isinstance(p, Mapping) and isinstance(p.get("question"), str) and isinstance(p.get("answer"), str)
            for p in pairs
        ):
            raise DataError(f"{where}: qa_pairs must be a list of objects with question and answer.")
        return [
            replace(
                base,
                id=f"{base.id}/q{n}",
                row=base.id,
                shown=replace(base.shown, question=pair["question"].strip()),
                truth=Truth(answer=pair["answer"].strip()),
            )
            for n, pair in enumerate(pairs, 1)
        ]
    given = row.get("close_end_answer")
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where}: close_end_answer must be a label or a list of labels, not {given!r}.")
    found = [(name, taxonomy.find(name)) for name in names]
    unknown = [name for name, label in found if label is None]
    if unknown:
        raise DataError(f"{where}: {unknown[0]!r} is no label; the labels are {', '.join(taxonomy.names)}.")
    labels = tuple(dict.fromkeys(label.name for _, label in found if label is not None))
    return [replace(base, truth=Truth(labels=labels))]


def _times(row: Mapping[str, Any], tent_times: TentTimes) -> tuple[float, float]:
    if tent_times == "gopro" and "str_GoPro_ts" in row:
        return _gopro_seconds(row["str_GoPro_ts"]), _gopro_seconds(row.get("end_GoPro_ts"))
    start, end = (parse_time(row.get(name), name) for name in ("start_time", "end_time"))
    if start is None or end is None:
        raise ClipRangeError(f"{'start_time' if start is None else 'end_time'} is missing.")
    return start, end


def _gopro_seconds(code: Any) -> float:
    """Seconds of a code hours:minutes:seconds:pictures; a code of -1 in every place means no time: -1."""
    try:
        hours, minutes, seconds, pictures = (int(part) for part in str(code).split(":"))
    except ValueError:
        raise ClipRangeError(f"the camera's code {code!r} is not hours:minutes:seconds:pictures") from None
    if hours < 0:
        return -1.0
    return hours * 3600 + minutes * 60 + seconds + pictures / GOPRO_RATE


def _source_actions(dataset: str) -> tuple[str, ...]:
    return SOURCES[dataset].action if dataset in SOURCES else ("action_annotation",)


def _parts_action(row: Mapping[str, Any]) -> str | None:
    """The action of an Assembly101 row that only has its parts, as its multiple-choice row writes it."""
    verb, first, second = (row.get(name) for name in ("verb", "first_object", "second_object"))
    if not all(isinstance(part, str) and part for part in (verb, first, second)):
        return None
    return f"{verb} the {first} {'from' if verb == 'detach' else 'to'} the {second}"


def _instructions(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """(task, number of the instruction) -> its text, from the rows that carry both."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        text = row.get("instruction_label") if isinstance(row, Mapping) else None
        if isinstance(text, str) and text.strip() and row.get("instruction") is not None:
            found.setdefault((str(row.get("task_id")), str(row["instruction"])), text)
    return found


# --------------------------------------------------------------------------------------------------- files


def _file_name(dataset: str, task: Task) -> str:
    return SOURCES[dataset].choice if task == "choice" else SOURCES[dataset].open_end


def _folder(place: Path, task: Task) -> Path:
    names = [_file_name(dataset, task) for dataset in SOURCES]
    for folder in (place, place / "egoerrorvqa"):
        if any((folder / name).is_file() for name in names):
            return folder
    raise DataError(
        f"no EgoErrorVQA file at {place} (nor in its folder egoerrorvqa); looked for {', '.join(names)}. "
        "Download the annotations and give their folder (--data, or EGO_ADR_DATA)."
    )


def _procedures(given: Mapping[str, str] | str | PathLike[str] | None, folder: Path) -> Mapping[str, str]:
    if isinstance(given, Mapping):
        return given
    path = Path(given) if given is not None else folder / "procedure.json"
    return {} if given is None and not path.is_file() else read_procedures(path)


def read_procedures(path: str | PathLike[str]) -> Mapping[str, str]:
    """Procedures by task, from a JSON file such as the published ``procedure.json``.

    Raises:
        DataError: when it is not there, or holds anything else.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no procedures file {path}.")
    held = json_value(read_text(path), str(path))
    if not isinstance(held, Mapping) or not all(isinstance(text, str) for text in held.values()):
        raise DataError(f"{path} must hold an object of task -> procedure text.")
    return {str(task): text for task, text in held.items()}
