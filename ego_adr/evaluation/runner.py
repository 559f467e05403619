"""Runs a benchmark: a line a sample on disk as it goes, resumable after any kind of end."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ego_adr.benchmarks.narrations import Narrations
from ego_adr.benchmarks.samples import Sample
from ego_adr.errors import DataError
from ego_adr.evaluation.results import LOG_NAME, LogWriter, alone_in, line_status, mend_log, plan
from ego_adr.models.base import fingerprint
from ego_adr.prompting import PromptLibrary
from ego_adr.reading import is_file, json_value, read_text
from ego_adr.types import Detection, Failure, Query

if TYPE_CHECKING:
    from ego_adr.evaluation.history import RecordingHistory

__all__ = [
    "MANIFEST",
    "Detector",
    "Progress",
    "RunResult",
    "choose_samples",
    "describe_detector",
    "evaluate",
    "parse_shard",
]

MANIFEST = "run.json"
#: Settings that may differ between the first start of a run and its resumption.
_MAY_CHANGE = frozenset({"limit", "total", "version", "model_options"})
#: Called with how many samples are done (those of earlier starts included) and how many there are.
Progress = Callable[[int, int], None]


class Detector(Protocol):
    """What is evaluated: `ego_adr.EgoADR`, or anything with the same ``detect_many``."""

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]: ...


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        folder: holds ``results.jsonl`` and ``run.json``.
        total: samples of the run.
        before: of them done by earlier starts.
        done: of them done now.
        statuses: status -> lines, over all of the run.
        mended: what was put right in the log before it went on.
        relabelled: labels that the recordings' history changed, over all of the run.
    """

    folder: Path
    total: int
    before: int
    done: int
    statuses: Mapping[str, int]
    mended: tuple[str, ...] = field(default=())
    relabelled: int = 0


def choose_samples(samples: Sequence[Sample], limit: int | None = None, seed: int = 0) -> list[Sample]:
    """The same subset for the same limit and seed, whatever order the samples come in.

    The limit is over all data sets together. Subsets of one seed are nested: 100 samples hold the 50.

    Raises:
        DataError: for a limit below 1.
    """
    if limit is None:
        return list(samples)
    if limit < 1:
        raise DataError(f"--limit must be at least 1, not {limit}.")
    ranked = sorted(samples, key=lambda s: hashlib.sha256(f"{seed}:{s.id}".encode()).digest())
    kept = {sample.id for sample in ranked[:limit]}
    return [sample for sample in samples if sample.id in kept]


def parse_shard(text: str) -> tuple[int, int]:
    """``2/8``, the second of eight parts.

    Raises:
        DataError: for anything else; parts count from 1.
    """
    part, _, whole = text.partition("/")
    if part.strip().isdigit() and whole.strip().isdigit() and 1 <= int(part) <= int(whole):
        return int(part), int(whole)
    raise DataError(f"--shard {text!r} is no part of a whole; write 1/4, 2/4, 3/4 or 4/4 for four parts.")


def describe_detector(detector: Any) -> dict[str, Any]:
    """What determines a detector's answers, as far as it tells: kept with the run, compared when it resumes."""
    found: dict[str, Any] = {"detector": type(detector).__name__}
    model = getattr(detector, "model", None)
    if model is not None:
        found["model"] = str(getattr(model, "name", type(model).__name__))
        found["fingerprint"] = fingerprint(model)
    bank_model = getattr(detector, "bank_model", None)
    if bank_model is not None:
        found["bank_model"] = str(getattr(bank_model, "name", type(bank_model).__name__))
    if isinstance(getattr(detector, "route", None), str):
        found["route"] = detector.route
    settings = getattr(detector, "settings", None)
    if is_dataclass(settings) and not isinstance(settings, type):
        found["settings"] = asdict(settings)
    prompts = getattr(detector, "prompts", None)
    if isinstance(prompts, PromptLibrary):
        texts = b"".join(prompts.find(name).read_bytes() for name in sorted(prompts.known_files()))
        found["prompts"] = hashlib.sha256(texts).hexdigest()[:16]
    taxonomy = getattr(detector, "taxonomy", None)
    if taxonomy is not None:
        found["taxonomy"] = getattr(taxonomy, "name", "")
        found["taxonomy_fingerprint"] = getattr(taxonomy, "fingerprint", "")
    return found


def evaluate(
    samples: Sequence[Sample],
    detector: Detector,
    out: str | PathLike[str],
    *,
    name: str | None = None,
    narrations: Narrations | None = None,
    history: RecordingHistory | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    seed: int = 0,
    shard: tuple[int, int] | None = None,
    resume: bool = True,
    retry_failed: bool = True,
    chunk: int = 32,
    progress: Progress | None = None,
) -> RunResult:
    """Ask the detector for every sample and keep what it says.

    Each chunk's lines are on disk before the next is asked. A run that ended, however it ended, goes on where
    it stopped: lines that were cut off are taken out, samples that have a line are not asked again.

    Args:
        samples: of a benchmark; ids must be unique.
        detector: its `Query` is made of the sample's visible part alone.
        out: the folder of this run.
        name: shown in tables and reports; default the folder's name.
        narrations: replace the model's own. A sample without one needs its video.
        history: joins the earlier steps of its recording to each clip's verdict; made of all samples, so that it is
            the same for every limit and shard. A line then says in ``clip_status`` and ``clip_prediction`` what the
            clip alone gave, and the detection's warnings say why a label was changed.
        settings: kept in ``run.json`` beside what the detector tells of itself.
        limit, seed: see `choose_samples`.
        shard: (part, of how many), parts count from 1.
        resume: False refuses a folder that already holds a run.
        retry_failed: samples that failed are asked again when the run goes on.
        chunk: samples asked at once; what a kill can cost.
        progress: called after each chunk.

    Raises:
        DataError: when the folder holds a run of other settings, or another process is writing to it.
        ModelError: when the model as a whole cannot go on; what was done until then is kept.
    """
    if chunk < 1:
        raise DataError(f"a chunk holds at least one sample, not {chunk}.")
    _unique(samples)
    chosen = choose_samples(samples, limit, seed)
    # Samples of one procedure and action follow each other, so that a chunk asks each of them once.
    ordered = sorted(chosen, key=lambda s: (s.dataset, s.shown.task, s.shown.action))
    if shard is not None:
        ordered = ordered[shard[0] - 1 :: shard[1]]
    folder = Path(out)
    manifest: dict[str, Any] = {
        "name": name or folder.name,
        **describe_detector(detector),
        **(settings or {}),
        **(history.settings() if history is not None else {}),
        "limit": limit,
        "seed": seed,
        "shard": None if shard is None else f"{shard[0]}/{shard[1]}",
        "total": len(ordered),
        "version": _version(),
    }
    with alone_in(folder):
        log = _open_run(folder, manifest, {sample.id for sample in ordered}, resume=resume)
        waiting = set(plan(log, [sample.id for sample in ordered], retry_failed=retry_failed))
        todo = [sample for sample in ordered if sample.id in waiting]
        before = len(ordered) - len(todo)
        statuses = {name: line_status(line) for name, line in log.lines.items()}
        relabelled = {name: _relabelled(line) for name, line in log.lines.items()}
        if progress is not None:
            progress(before, len(ordered))
        with LogWriter(folder / LOG_NAME) as writer:
            done = 0
            for part in _parts(todo, chunk):
                alone = _ask(part, detector, narrations)
                found = alone
                if history is not None:
                    found = [history.join(sample, clip) for sample, clip in zip(part, alone, strict=True)]
                lines = [
                    result_line(sample, detection) for sample, detection in zip(part, found, strict=True)
                ]
                if history is not None:
                    for line, clip in zip(lines, alone, strict=True):
                        line |= {"clip_status": clip.status, "clip_prediction": clip.label}
                writer.write(lines)
                statuses.update({line["id"]: line["status"] for line in lines})
                relabelled.update({line["id"]: _relabelled(line) for line in lines})
                done += len(part)
                if progress is not None:
                    progress(before + done, len(ordered))
        # Samples that failed before and were asked again have two lines now.
        mend_log(folder / LOG_NAME)
    mended = [*log.broken, *([f"{log.repeated} repeated lines"] if log.repeated else [])]
    counts = {status: list(statuses.values()).count(status) for status in ("ok", "unparsed", "failed")}
    changed = sum(relabelled.values())
    return RunResult(folder, len(ordered), before, done, counts, tuple(mended), changed)


def result_line(sample: Sample, detection: Detection) -> dict[str, Any]:
    """One line of the log: what was asked, the truth beside it, and the whole detection."""
    open_end = {}
    if sample.shown.question is not None:
        open_end = {
            "row": sample.row,
            "question": sample.shown.question,
            "reference": sample.truth.answer,
            "answer": detection.evidence[0] if detection.evidence else None,
        }
    return {
        "id": sample.id,
        "dataset": sample.dataset,
        "group": sample.group,
        "video": sample.shown.video,
        "start": sample.shown.start,
        "end": sample.shown.end,
        "task": sample.shown.task,
        "action": sample.shown.action,
        "giveaways": list(sample.giveaways),
        "truth": list(sample.truth.labels),
        "status": detection.status,
        "prediction": detection.label,
        **open_end,
        "cause": detection.failure.cause if detection.failure else detection.reason,
        "detection": detection.model_dump(mode="json"),
    }


# ------------------------------------------------------------------------------------------------- pieces


def _ask(part: Sequence[Sample], detector: Detector, narrations: Narrations | None) -> list[Detection]:
    """Detections in the order of the samples. What cannot be asked at all fails by name, without the model."""
    queries: list[Query] = []
    asked: list[int] = []
    found: list[Detection | None] = [None] * len(part)
    for place, sample in enumerate(part):
        query = sample.query(narrations.of(sample) if narrations is not None else None)
        # An agent opens the files itself, where it runs.
        elsewhere = getattr(detector, "opens_videos_itself", False)
        failure = sample.problem or (None if elsewhere else _missing(sample, query, narrations))
        if failure is None:
            queries.append(query)
            asked.append(place)
        else:
            shown = sample.shown
            found[place] = Detection(
                status="failed",
                failure=failure,
                id=sample.id,
                video=shown.video,
                start=shown.start,
                end=shown.end,
                action=shown.action,
            )
    answers = detector.detect_many(queries) if queries else []
    if len(answers) != len(queries):
        raise DataError(
            f"the detector gave {len(answers)} detections for {len(queries)} queries; it must give one each."
        )
    for place, answer in zip(asked, answers, strict=True):
        found[place] = answer
    return [detection for detection in found if detection is not None]


def _relabelled(line: Mapping[str, Any]) -> bool:
    """Whether the history changed the label that the clip alone gave."""
    return "clip_prediction" in line and line["clip_prediction"] != line.get("prediction")


def _missing(sample: Sample, query: Query, narrations: Narrations | None) -> Failure | None:
    if query.narration is not None or is_file(Path(sample.shown.video)):
        return None
    said = "" if narrations is None else ", and the narrations have none for it"
    return Failure(cause="video", message=f"there is no video {sample.shown.video}{said}.")


def _open_run(folder: Path, manifest: Mapping[str, Any], ids: set[str], *, resume: bool) -> Any:
    path = folder / MANIFEST
    log = mend_log(folder / LOG_NAME)
    if log.lines and not resume:
        raise DataError(f"{folder} already holds a run. Give another --out, or let it go on.")
    if path.is_file():
        try:
            held = json_value(read_text(path), str(path))
        except DataError as exc:
            raise DataError(f"{exc} Give another --out.") from exc
        if not isinstance(held, dict):
            raise DataError(
                f"{path} holds {type(held).__name__}, not the settings of a run. Give another --out."
            )
        now = json.loads(json.dumps(manifest))
        unlike = [
            _told(key, held.get(key), now.get(key))
            for key in sorted({*held, *now} - _MAY_CHANGE)
            if held.get(key) != now.get(key)
        ]
        if unlike and log.lines:
            raise DataError(
                f"{folder} holds a run of other settings ({'; '.join(unlike)}). Give another --out."
            )
    strangers = [name for name in log.lines if name not in ids]
    if strangers:
        raise DataError(
            f"{folder} holds {len(strangers)} samples that this run does not ask, {strangers[0]!r} first. "
            "Give another --out, or a limit that is not smaller than before."
        )
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    os.replace(fresh, path)
    return log


def _told(key: str, then: Any, now: Any) -> str:
    """A difference in words; of hashes, which nobody can read, only that they differ."""
    if max(len(repr(then)), len(repr(now))) > 60:
        return f"{key.replace('_', ' ')} has changed"
    return f"{key}: {then!r} then, {now!r} now"


def _unique(samples: Sequence[Sample]) -> None:
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise DataError(f"two samples have the id {sample.id!r}; ids must be unique.")
        seen.add(sample.id)


def _parts(samples: Sequence[Sample], size: int) -> Iterator[Sequence[Sample]]:
    for begin in range(0, len(samples), size):
        yield samples[begin : begin + size]


def _version() -> str:
    from ego_adr import __version__

    return __version__
