"""The earlier steps of a recording, from the rows of a benchmark: what ``evaluate --with-history`` joins to clips.

Of a row only the words and the times of its step are taken. Its truth, its narration and what else is known of it
never come here, so that a label does not depend on the labels of other rows. The policy of the join is stated in
`ego_adr.sessions.joining`.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.benchmarks.samples import NO_ACTION, Sample
from ego_adr.errors import DataError, ProcedureError
from ego_adr.procedure.bank import read_procedure
from ego_adr.procedure.ordering import order_from_text, read_task_graph
from ego_adr.prompting import PromptLibrary
from ego_adr.reading import file_ending
from ego_adr.sessions.captaincook4d import graph_file
from ego_adr.sessions.joining import join_with_history
from ego_adr.sessions.logs import LOG_ENDINGS, LogEntry, StepEvent, as_events, read_log
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Detection, ProcedureBank

__all__ = ["RecordingHistory", "read_recording_logs"]

#: Rows of one recording and one procedure: (video, procedure).
_Key = tuple[str, str]


@dataclass(frozen=True)
class RecordingHistory:
    """The steps of every recording, and the order of every procedure.

    Attributes:
        events: (video, procedure) -> words and times of the steps that have a time.
        logs: name of a video (`Sample.group`) -> the whole log of its recording, in place of what the rows tell.
        banks: (task, procedure) -> its steps with their order; without an entry nothing is known.
        order: ``text`` or ``graphs``: where the order comes from.
        fingerprint: of all that a join rests on.
        notes: what a person should know of it.
        stand_in: the words that stand for the action of a row that names none.
        taxonomy: names of the labels.
    """

    events: dict[_Key, tuple[StepEvent, ...]]
    logs: dict[str, tuple[StepEvent, ...]]
    banks: dict[_Key, ProcedureBank]
    order: str
    fingerprint: str
    notes: tuple[str, ...]
    stand_in: str
    taxonomy: Taxonomy

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        *,
        graphs: str | PathLike[str] | None = None,
        logs: Mapping[str, Iterable[LogEntry]] | None = None,
        taxonomy: Taxonomy | None = None,
        prompts: PromptLibrary | None = None,
    ) -> RecordingHistory:
        """The history of samples.

        Args:
            samples: all there are, before a limit or a shard is taken of them.
            graphs: a folder of task graphs (JSON), each named after its task in lower case, letters and digits
                alone. Tasks without one there have no order. By default the order is read from the procedures'
                texts (`order_from_text`), or is what a procedure's own edges say.
            logs: whole recordings by the name of their video (`Sample.group`), where they are known: a benchmark's
                rows are often a few of a recording's steps. Words and times, never labels.
            prompts: where the words stand that take the place of a missing action.

        Raises:
            DataError: for open-end samples, which have no labels to join, and when ``graphs`` is no folder or holds
                the graph of no task.
            ProcedureError: for a graph that is broken.
        """
        if any(sample.shown.question is not None for sample in samples):
            raise DataError("a history is joined to labels; open-end questions have none. Leave it out.")
        names = taxonomy if taxonomy is not None else Taxonomy.load()
        stand_in = (prompts if prompts is not None else PromptLibrary()).render("benchmark/no-action").text
        events: dict[_Key, list[StepEvent]] = defaultdict(list)
        for sample in samples:
            event = _event(sample, stand_in)
            if event is not None:
                events[_recording(sample)].append(event)
        banks, notes = _text_banks(samples) if graphs is None else _graph_banks(samples, Path(graphs))
        order = "text" if graphs is None else "graphs"
        whole = {name: tuple(as_events(log)) for name, log in (logs or {}).items()}
        return cls(
            events={key: tuple(found) for key, found in events.items()},
            logs=whole,
            banks=banks,
            order=order,
            fingerprint=_fingerprint(samples, banks, order, whole),
            notes=notes,
            stand_in=stand_in,
            taxonomy=names,
        )

    def settings(self) -> dict[str, Any]:
        """What is kept with a run, so that it never goes on with another history."""
        return {"history": self.order, "history_fingerprint": self.fingerprint}

    def join(self, sample: Sample, detection: Detection) -> Detection:
        """A clip's detection with what the earlier steps of its recording say.

        A sample that failed stays failed, so that it is asked again when the run goes on.
        """
        bank = self.banks.get(_procedure(sample))
        own = _event(sample, self.stand_in)
        if detection.status == "failed" or bank is None or own is None:
            return detection
        known = self.logs.get(sample.group, self.events.get(_recording(sample), ()))
        earlier = [event for event in known if event.start < own.start]
        return join_with_history(
            detection, bank, earlier, taxonomy=self.taxonomy, start=own.start, end=own.end
        )


def read_recording_logs(folder: str | PathLike[str], samples: Sequence[Sample]) -> dict[str, list[StepEvent]]:
    """The logs of whole recordings in a folder, for the videos of the samples: 28_7.csv for the video 28_7.

    A log says what was done and when (`ego_adr.session.read_log`); a video without one is left out.

    Raises:
        DataError: when the folder holds the log of no video, two of one, or one that cannot be read.
    """
    place = Path(folder)
    files: dict[str, Path] = {}
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if file_ending(path) not in LOG_ENDINGS:
            continue
        video = Path(path.name.removesuffix(".gz")).stem
        if video in files:
            raise DataError(f"{path} and {files[video].name} are both the log of {video!r}; keep one.")
        files[video] = path
    found: dict[str, list[StepEvent]] = {}
    for group in sorted({sample.group for sample in samples}):
        path_of = files.get(Path(group).name) or files.get(Path(group).stem)
        if path_of is not None:
            found[group] = read_log(path_of)
    if not found:
        name = Path(samples[0].group).stem if samples else "video"
        raise DataError(
            f"{place} holds the log of none of these videos; a log is named after its video, such as {name}.csv."
        )
    return found


def _recording(sample: Sample) -> _Key:
    return sample.shown.video, sample.shown.procedure


def _procedure(sample: Sample) -> _Key:
    return sample.shown.task, sample.shown.procedure


def _event(sample: Sample, stand_in: str) -> StepEvent | None:
    """The words and times of a row; None when it has no time of its own, or no words."""
    shown = sample.shown
    if shown.start is None or shown.end is None or not 0 <= shown.start <= shown.end:
        return None
    if NO_ACTION in sample.giveaways and shown.action == stand_in:
        return None
    return StepEvent(shown.action, shown.start, shown.end)


def _text_banks(samples: Sequence[Sample]) -> tuple[dict[_Key, ProcedureBank], tuple[str, ...]]:
    found: dict[_Key, ProcedureBank] = {}
    by_text: dict[str, ProcedureBank | None] = {}
    for sample in samples:
        task, text = key = _procedure(sample)
        if text not in by_text:
            by_text[text] = _text_bank(text, task)
        bank = by_text[text]
        if bank is not None:
            found[key] = bank
    known = [bank for bank in by_text.values() if bank is not None]
    notes = [f"history: the order of {len(known):,} of {len(by_text):,} procedures is known from their texts"]
    prose = sum(bank.method == "rules" for bank in known)
    if prose:
        notes.append(
            f"history: {prose:,} of them are prose, which does not keep the order of steps well; "
            "prefer lists of steps, or task graphs"
        )
    return found, tuple(notes)


def _text_bank(text: str, task: str) -> ProcedureBank | None:
    """A procedure's steps in their order; None for a text that is no procedure: its samples fail by name anyway."""
    if not text.strip():
        return None
    try:
        bank = read_procedure(text, title=task or None)
        ordered = bank if bank.edges else order_from_text(bank)
    except ProcedureError:
        return None
    return ordered if ordered.edges else None


def _graph_banks(
    samples: Sequence[Sample], folder: Path
) -> tuple[dict[_Key, ProcedureBank], tuple[str, ...]]:
    if not folder.is_dir():
        raise DataError(f"there is no folder of task graphs {folder}.")
    tasks = sorted({sample.shown.task for sample in samples})
    graphs = {
        task: read_task_graph(graph_file(folder, task), title=task)
        for task in tasks
        if task and graph_file(folder, task).is_file()
    }
    if not graphs:
        wanted = graph_file(folder, next((task for task in tasks if task), "task")).name
        raise DataError(
            f"{folder} holds the graph of none of the {len(tasks)} tasks; a graph is named after its task in lower "
            f"case, letters and digits alone, such as {wanted}."
        )
    notes = [f"history: task graphs of {len(graphs):,} of {len(tasks):,} tasks"]
    if len(graphs) < len(tasks):
        notes.append("history: clips of the other tasks stand alone")
    found = {
        _procedure(sample): graphs[sample.shown.task] for sample in samples if sample.shown.task in graphs
    }
    return found, tuple(notes)


def _fingerprint(
    samples: Sequence[Sample],
    banks: dict[_Key, ProcedureBank],
    order: str,
    logs: dict[str, tuple[StepEvent, ...]],
) -> str:
    rows = sorted(
        [s.id, s.group, s.shown.task, s.shown.action, repr(s.shown.start), repr(s.shown.end)] for s in samples
    )
    orders = sorted(
        [task, text, [s.text for s in bank.steps], [[e.before, e.after] for e in bank.edges]]
        for (task, text), bank in banks.items()
    )
    whole = [[name, [[e.step, e.start, e.end] for e in logs[name]]] for name in sorted(logs)]
    written = json.dumps([order, rows, orders, whole], ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16]
