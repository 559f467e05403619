"""Looks through samples before hours are spent on them: missing videos, bad times, conflicts, duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from ego_adr.benchmarks.samples import NEGATIVE_START, NO_ACTION, Sample
from ego_adr.errors import VideoError
from ego_adr.reading import is_file

__all__ = ["DataReport", "check_data"]


class DataReport(BaseModel):
    """What was found. Lists hold texts that name the sample.

    Attributes:
        samples, videos: how many there are.
        labels: label -> occurrences; a sample with several counts under each.
        datasets: data set -> samples.
        unreadable: rows that could not be read at all.
        missing_videos: videos that are not there (each once, with how many samples need it).
        bad_times: times that end before they start, or past the end of the video: the clip is swapped or clamped.
        no_times: times that are none, videos that cannot be opened, clips that start past the end: these fail.
        no_procedure, no_label: samples without.
        no_action: samples that name no step.
        negative_start: samples that show the whole video because their step has no time.
        conflicts: groups that show the same and carry different labels: no answer can be right for all.
        duplicates: groups that show the same and carry the same labels.
        notes: everything else that was noticed, with counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int
    videos: int
    labels: Mapping[str, int]
    datasets: Mapping[str, int]
    unreadable: tuple[str, ...] = ()
    missing_videos: tuple[str, ...] = ()
    bad_times: tuple[str, ...] = ()
    no_times: tuple[str, ...] = ()
    no_procedure: tuple[str, ...] = ()
    no_label: tuple[str, ...] = ()
    no_action: tuple[str, ...] = ()
    negative_start: int = 0
    conflicts: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    notes: Mapping[str, int] = {}

    @property
    def ok(self) -> bool:
        """Every sample can be asked and scored. Conflicts, duplicates and swapped times do not prevent that."""
        return not (
            self.unreadable or self.missing_videos or self.no_times or self.no_procedure or self.no_label
        )


def check_data(
    samples: Sequence[Sample],
    *,
    videos: bool = True,
    open_videos: bool = False,
    labels: bool = True,
    faults: Sequence[str] = (),
) -> DataReport:
    """Look through samples.

    Args:
        videos: look whether the files are there.
        open_videos: open every video too, and compare the times with its length (slow).
        labels: samples without a label (and without an answer) are a fault.
        faults: rows that the loader could not read.
    """
    paths = Counter(sample.shown.video for sample in samples)
    missing = [path for path in paths if not is_file(Path(path))] if videos or open_videos else []
    bad_times: list[str] = []
    no_times: list[str] = []
    for sample in samples:
        if sample.problem is not None and sample.problem.cause == "times":
            no_times.append(f"{sample.id}: {sample.problem.message}")
        bad_times += [f"{sample.id}: {note}" for note in sample.notes if note.startswith("end before start")]
    if open_videos:
        late, beyond = _past_the_end(samples, set(missing))
        bad_times += late
        no_times += beyond
    same: dict[tuple[object, ...], list[Sample]] = {}
    for sample in samples:
        same.setdefault((sample.dataset, sample.group, sample.shown), []).append(sample)
    repeated = [group for group in same.values() if len(group) > 1]
    conflicts = [group for group in repeated if len({sample.truth for sample in group}) > 1]
    return DataReport(
        samples=len(samples),
        videos=len(paths),
        labels=dict(Counter(label for sample in samples for label in sample.truth.labels).most_common()),
        datasets=dict(Counter(sample.dataset for sample in samples)),
        unreadable=tuple(faults),
        missing_videos=tuple(f"{path} ({paths[path]} samples)" for path in missing),
        bad_times=tuple(bad_times),
        no_times=tuple(no_times),
        no_procedure=tuple(
            f"{sample.id}: {sample.problem.message}"
            for sample in samples
            if sample.problem is not None and sample.problem.cause == "procedure"
        ),
        no_label=tuple(s.id for s in samples if not s.truth.labels and s.truth.answer is None)
        if labels
        else (),
        no_action=tuple(sample.id for sample in samples if NO_ACTION in sample.giveaways),
        negative_start=sum(NEGATIVE_START in sample.giveaways for sample in samples),
        conflicts=tuple(_told(group) for group in conflicts),
        duplicates=tuple(_told(group) for group in repeated if group not in conflicts),
        notes=dict(
            Counter(
                note for sample in samples for note in sample.notes if not note.startswith("end before start")
            ).most_common()
        ),
    )


def _told(group: Sequence[Sample]) -> str:
    truths = " / ".join(", ".join(sample.truth.labels) or str(sample.truth.answer) for sample in group)
    return f"{group[0].id}: {len(group)} samples, {truths}"


def _past_the_end(samples: Sequence[Sample], missing: set[str]) -> tuple[list[str], list[str]]:
    """Samples that end past their video, and those that have no picture of it; opens each video once."""
    from ego_adr.types import Clip
    from ego_adr.video import sample_clip

    late: list[str] = []
    beyond: list[str] = []
    lengths: dict[str, float | None] = {}
    for sample in samples:
        path = sample.shown.video
        if path in missing:
            continue
        if path not in lengths:
            try:
                lengths[path] = sample_clip(Clip(path), 1, warn=False).duration
            except VideoError as exc:
                lengths[path] = None
                beyond.append(f"{sample.id}: {exc}")
        length = lengths[path]
        if length is None:
            continue
        times = [time for time in (sample.shown.start, sample.shown.end) if time is not None and time >= 0]
        latest, earliest = max(times, default=0.0), sample.shown.start or 0.0
        if earliest >= length:
            beyond.append(f"{sample.id}: it starts at {earliest} s, the video ends at {length:.1f} s")
        elif latest > length:
            late.append(f"{sample.id}: it ends at {latest} s, the video at {length:.1f} s")
    return late, beyond
