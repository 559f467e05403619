"""Reads predictions from wherever they come: our runs, JSONL of any tool, the published evaluator's files.

A file that ends in ``.jsonl`` is a log: of lines with the same id the last counts. A ``.json`` file is a
table: every row counts, and ids that repeat are told apart by ``#2``, ``#3`` (published ids are not unique).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ego_adr.benchmarks.egoerrorvqa import read_json_rows
from ego_adr.benchmarks.samples import NEGATIVE_START, NO_ACTION, Sample
from ego_adr.benchmarks.sources import guess_source
from ego_adr.errors import DataError
from ego_adr.evaluation.outcomes import (
    Outcome,
    label_reader,
    outcome_of,
    probability,
    probability_of_error,
    short_cause,
    truth_names,
)
from ego_adr.evaluation.results import LOG_NAME, line_id, line_status, read_log
from ego_adr.reading import file_ending, json_value, read_bytes, read_text
from ego_adr.types import Detection, Failure, Status

if TYPE_CHECKING:
    from ego_adr.taxonomies import Taxonomy

__all__ = ["Predictions", "find_logs", "read_predictions"]

PREDICTION_FIELDS = (
    "prediction",
    "pred",
    "predicted",
    "white_agent_cleaned_answer",
    "answer",
    "response",
    "output",
)
TRUTH_FIELDS = ("truth", "ground_truth", "close_end_answer", "target", "gold")
#: What a row shows, in our words or the published ones.
_SHOWN = (
    ("video", "video_id"),
    ("start", "start_time"),
    ("end", "end_time"),
    ("action", "action_annotation"),
)
REPLY_FIELDS = ("reply", "raw", "white_agent_raw_answer")


@dataclass(frozen=True)
class Predictions:
    """What one file or run folder holds, ready to be scored.

    Attributes:
        name: of the run, for tables.
        outcomes: one a row.
        notes: what was noticed while it was read.
        lines: the raw lines by id (prompts, replies, narrations), for reports.
        settings: of the run, where they are known.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    lines: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]

    def detection(self, outcome: Outcome) -> Detection:
        """The detection of an outcome, made up from the bare row where the file kept none."""
        row = self.lines[outcome.id]
        found = _detection(row)
        if found is not None:
            return found
        video = row.get("video") or row.get("video_id")
        return Detection(
            status=outcome.status,
            label=outcome.label,
            labels=outcome.labels,
            id=outcome.id,
            reason=outcome.cause if outcome.status == "unparsed" else None,
            failure=Failure(cause=outcome.cause or "", message=str(row.get("error") or outcome.cause or ""))
            if outcome.status == "failed"
            else None,
            action=str(row.get("action") or row.get("action_annotation") or ""),
            video=None if video is None else str(video),
            evidence=(outcome.reply,) if outcome.reply else (),
        )


def find_logs(path: str | PathLike[str]) -> list[Path]:
    """The files of predictions at a path: itself, a run's log, or the logs of the runs in a folder.

    Raises:
        DataError: when there is none.
    """
    place = Path(path)
    if place.is_file():
        return [place]
    if (place / LOG_NAME).is_file():
        return [place / LOG_NAME]
    found = sorted(place.glob(f"*/{LOG_NAME}")) or sorted(place.glob(f"**/{LOG_NAME}"))
    if not found:
        there = "is not there" if not place.exists() else f"holds no {LOG_NAME}"
        raise DataError(
            f"{place} {there}. Give the folder of a run, or a .jsonl or .json file of predictions."
        )
    return found


def read_predictions(
    path: str | PathLike[str],
    taxonomy: Taxonomy,
    *,
    samples: Sequence[Sample] | None = None,
    name: str | None = None,
) -> Predictions:
    """Read one file of predictions.

    Args:
        path: a ``.jsonl`` log or a ``.json`` table.
        samples: the benchmark's samples; they give the truth (by id) to rows that do not carry it.
        name: of the run; default its folder's (or file's) name.

    Raises:
        DataError: when a row has no id or no truth, or names a label that is none.
    """
    place = Path(path)
    notes: list[str] = []
    rows = _log_rows(place, notes) if _is_log(place) else _table_rows(place, notes)
    known = {sample.id: sample for sample in samples or ()}
    read = label_reader(taxonomy)
    outcomes: list[Outcome] = []
    strangers = 0
    for key, row in rows.items():
        sample = known.get(key)
        if samples is not None and sample is None and not any(row.get(f) is not None for f in TRUTH_FIELDS):
            strangers += 1
            continue
        outcomes.append(_outcome(key, row, sample, read, taxonomy, f"{place.name}, {key!r}"))
    if strangers:
        notes.append(f"{strangers} rows have ids that the benchmark does not know; they are left out")
    missing = len(known.keys() - rows.keys())
    if missing:
        notes.append(f"{missing} of the benchmark's {len(known)} rows have no prediction")
    odd = sum(rows[o.id].get("p_error") is not None and o.p_error is None for o in outcomes)
    if odd:
        notes.append(f"{odd} rows have a p_error that is no number from 0 to 1; it is left out")
    notes += _conflicts(rows, outcomes)
    settings = _settings(place)
    return Predictions(
        name=name
        or str(settings.get("name") or (place.parent.name if place.name == LOG_NAME else place.stem)),
        outcomes=tuple(outcomes),
        notes=tuple(notes),
        lines=rows,
        settings=settings,
    )


def _outcome(
    key: str,
    row: Mapping[str, Any],
    sample: Sample | None,
    read: Callable[[str], str | None],
    taxonomy: Taxonomy,
    where: str,
) -> Outcome:
    correct = taxonomy.correct.name
    detection = _detection(row)
    given = next((row[f] for f in TRUTH_FIELDS if row.get(f) not in (None, [])), None)
    label_is_truth = False
    if given is None and sample is not None and sample.truth.labels:
        given = list(sample.truth.labels)
    if given is None and detection is None and any(row.get(f) is not None for f in PREDICTION_FIELDS):
        given, label_is_truth = row.get("label"), True
    failed = detection.status == "failed" if detection is not None else line_status(row) == "failed"
    if given is None and not failed and detection is None:
        raise DataError(
            f"{where} has no truth. Put it in the row ({', '.join(TRUTH_FIELDS)}), or give --data."
        )
    # The published evaluator forgets the truth of a row that failed; it still counts as a row. A run over
    # samples without labels is read too, for its report; nothing of it is scored.
    truth = () if given is None else truth_names(given, read, where, taxonomy.names)
    dataset = str(row.get("dataset") or (sample.dataset if sample else guess_source(row)) or "")
    giveaways = _giveaways(row, sample)
    group = _group(row, sample, dataset)
    if detection is not None:
        outcome = outcome_of(
            detection, truth, correct, id=key, group=group or key, dataset=dataset, giveaways=giveaways
        )
        return _with_known_label(outcome, read)
    names = [*PREDICTION_FIELDS, *([] if label_is_truth else ["label"])]
    said = next((row[f] for f in names if row.get(f) is not None), None)
    reply = next((row[f] for f in REPLY_FIELDS if isinstance(row.get(f), str)), None)
    status, labels, cause = _reading(row, said, read)
    return Outcome(
        id=key,
        truth=truth,
        status=status,
        label=labels[0] if labels else None,
        labels=labels,
        p_error=_p_error(row, read, correct),
        cause=cause,
        group=group or key,
        dataset=dataset,
        giveaways=giveaways,
        reply=reply if reply is not None else (said if isinstance(said, str) else None),
    )


def _with_known_label(outcome: Outcome, read: Callable[[str], str | None]) -> Outcome:
    """The outcome as it is; ``unparsed`` where its line claims an answer that is no label of the taxonomy."""
    if outcome.status != "ok":
        return outcome
    label = None if outcome.label is None else read(outcome.label)
    if label is None:
        cause = "no prediction" if outcome.label is None else "not a label"
        return replace(outcome, status="unparsed", label=None, labels=(), cause=cause)
    named = [name for said in outcome.labels for name in [read(said)] if name is not None]
    return replace(outcome, label=label, labels=tuple(dict.fromkeys(named or [label])))


def _reading(
    row: Mapping[str, Any], said: Any, read: Callable[[str], str | None]
) -> tuple[Status, tuple[str, ...], str | None]:
    if line_status(row) == "failed" or (said is None and row.get("error")):
        return "failed", (), short_cause(str(row.get("cause") or row.get("error") or ""))
    if line_status(row) == "unparsed":
        return "unparsed", (), short_cause(str(row.get("cause") or row.get("reason") or ""))
    if said is None:
        return "unparsed", (), "no prediction"
    texts = [said] if isinstance(said, str) else said
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return "unparsed", (), "not a label"
    found = [read(text) for text in texts]
    labels = tuple(dict.fromkeys(label for label in found if label is not None))
    if found[0] is None:
        return "unparsed", (), "empty" if not texts[0].strip() else "not a label"
    return "ok", labels, None


def _p_error(row: Mapping[str, Any], read: Callable[[str], str | None], correct: str) -> float | None:
    if row.get("p_error") is not None:
        return probability(row["p_error"])
    held = row.get("probabilities")
    if not isinstance(held, Mapping):
        return None
    return probability_of_error({read(str(label)) or str(label): p for label, p in held.items()}, correct)


def _detection(row: Mapping[str, Any]) -> Detection | None:
    """The detection of a line: in its field, or the line itself."""
    held = row.get("detection")
    if held is None and "status" in row and "exchanges" in row and "route" in row:
        held = row
    if not isinstance(held, Mapping):
        return None
    # Fields that another version added are left alone. Half of a surrogate pair is no text, and JSON has it.
    known = {name: value for name, value in held.items() if name in Detection.model_fields}
    text = json.dumps(known, ensure_ascii=False).encode("utf-8", "replace")
    try:
        return Detection.model_validate_json(text)
    except ValidationError as exc:
        fault = exc.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise DataError(
            f"the detection of {row.get('id')!r} cannot be read: {place + ': ' if place else ''}{fault['msg']}. "
            "Was it written by another version of ego-adr? Score it with that one, or run the sample again."
        ) from exc


def _giveaways(row: Mapping[str, Any], sample: Sample | None) -> tuple[str, ...]:
    held = row.get("giveaways")
    if isinstance(held, list):
        return tuple(map(str, held))
    if sample is not None:
        return sample.giveaways
    found = []
    start = row.get("start_time", row.get("start"))
    if isinstance(start, (int, float)) and start < 0:
        found.append(NEGATIVE_START)
    if "action_annotation" in row and row["action_annotation"] is None:
        found.append(NO_ACTION)
    return tuple(found)


def _conflicts(rows: Mapping[str, Mapping[str, Any]], outcomes: Sequence[Outcome]) -> list[str]:
    """Whether rows that show the same carry different labels: no run can be right on all of them."""
    same: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for outcome in outcomes:
        row = rows[outcome.id]
        shown = [row.get(a, row.get(b)) for a, b in _SHOWN]
        if outcome.truth and None not in shown:
            same.setdefault((outcome.dataset, *map(str, shown)), set()).add(tuple(sorted(outcome.truth)))
    found = sum(len(truths) > 1 for truths in same.values())
    if not found:
        return []
    groups = "1 group of rows shows" if found == 1 else f"{found} groups of rows show"
    return [
        f"conflicting labels: {groups} the same clip and action with different labels; no answer is right for all"
    ]


def _group(row: Mapping[str, Any], sample: Sample | None, dataset: str) -> str:
    if isinstance(row.get("group"), (str, int)) and not isinstance(row["group"], bool):
        return str(row["group"])
    if sample is not None:
        return sample.group
    video = row.get("video_id") or row.get("video")
    return f"{dataset}/{video}" if video else ""


# --------------------------------------------------------------------------------------------------- files


def _is_log(path: Path) -> bool:
    """Lines of objects, and not one JSON list under that name."""
    return file_ending(path) == ".jsonl" and not read_bytes(path).lstrip().startswith(b"[")


def _log_rows(path: Path, notes: list[str]) -> dict[str, dict[str, Any]]:
    log = read_log(path)
    if log.broken:
        notes.append(f"{len(log.broken)} lines are left out: {log.broken[0]}")
    if log.repeated:
        notes.append(f"{log.repeated} lines repeat an id; each id counts once, by its last line")
    if not log.lines:
        raise DataError(
            f"{path} holds no whole line with an id ({'; '.join(log.broken[:3]) or 'it is empty'})."
        )
    return log.lines


def _table_rows(path: Path, notes: list[str]) -> dict[str, dict[str, Any]]:
    rows = _published_results(path) or _keyed_rows(path) or list(read_json_rows(path))
    found: dict[str, dict[str, Any]] = {}
    repeated = 0
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"{path.name}, row {number} is {type(row).__name__}, not an object with fields.")
        name = line_id(row) or _row_name(row) or f"row {number}"
        seen[name] = count = seen.get(name, 0) + 1
        repeated += count > 1
        found[name if count == 1 else f"{name}#{count}"] = dict(row)
    if repeated:
        notes.append(f"{repeated} rows repeat an id; they are kept apart by #2, #3 ...")
    return found


def _row_name(row: Mapping[str, Any]) -> str | None:
    video = row.get("video_id") or row.get("video")
    return None if video is None else f"{video}/{row.get('start_time', row.get('start'))}"


def _json_object(path: Path) -> dict[str, Any] | None:
    try:
        held = json_value(read_text(path), str(path))
    except DataError:
        return None  # read_json_rows says what is wrong with it
    return held if isinstance(held, dict) else None


def _keyed_rows(path: Path) -> list[Any] | None:
    """Rows of an object whose keys are ids and whose values are labels or rows."""
    held = _json_object(path)
    if not held:
        return None
    if all(isinstance(value, str) for value in held.values()):
        return [{"id": name, "prediction": value} for name, value in held.items()]
    if all(isinstance(value, dict) for value in held.values()):
        return [
            value if line_id(value) or _row_name(value) else {"id": name, **value}
            for name, value in held.items()
        ]
    return None


def _published_results(path: Path) -> list[Any] | None:
    """Rows of the published evaluator's final report, which keeps them by data set."""
    held = _json_object(path) or {}
    detailed = held.get("detailed_results")
    if not isinstance(detailed, dict) or not all(isinstance(rows, list) for rows in detailed.values()):
        return None
    return [row for rows in detailed.values() for row in rows]


def _settings(path: Path) -> Mapping[str, Any]:
    manifest = path.parent / "run.json"
    if path.name != LOG_NAME or not manifest.is_file():
        return {}
    try:
        held = json_value(read_text(manifest), str(manifest))
    except DataError as exc:
        raise DataError(f"{exc} Remove it, or take it from a backup.") from exc
    return held if isinstance(held, dict) else {}
