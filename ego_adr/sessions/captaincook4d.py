"""CaptainCook4D's whole recordings: step rows with times and tags, task graphs, and a bank in written order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ego_adr.errors import DataError
from ego_adr.procedure.ordering_files import read_task_graph
from ego_adr.procedure.ordering_words import step_words
from ego_adr.reading import json_value, read_text
from ego_adr.sessions.logs import StepEvent
from ego_adr.types import ProcedureBank, Step

__all__ = [
    "MISSING_TAG",
    "ORDER_TAG",
    "RecordedStep",
    "Recording",
    "error_free_recordings",
    "graph_file",
    "read_recordings",
    "task_graph_bank",
    "written_bank",
]

#: Tags of a step that came at the wrong moment, and of one that was not done.
ORDER_TAG, MISSING_TAG = "Order Error", "Missing Step"


@dataclass(frozen=True)
class RecordedStep:
    """One annotated step: its words, [start, end) in seconds (both -1: not done), and the tags of its errors."""

    text: str
    start: float
    end: float
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """One person cooking one recipe.

    Attributes:
        id: ``<activity>_<number>``.
        recipe: display name.
        steps: in the order of the annotation.
    """

    id: str
    recipe: str
    steps: tuple[RecordedStep, ...]

    @property
    def events(self) -> list[StepEvent]:
        """The steps that have times; what the tags say is not in it."""
        return [StepEvent(step.text, step.start, step.end) for step in self.steps if step.start >= 0]

    @property
    def error_free(self) -> bool:
        """No step has a tag of any kind."""
        return not any(step.tags for step in self.steps)


def read_recordings(path: str | PathLike[str]) -> list[Recording]:
    """The recordings of an annotation file (a JSON list, or an object of lists by recording).

    Raises:
        DataError: when it is no such file; the message names the entry.
    """
    place = Path(path)
    data = json_value(read_text(place), str(place))
    rows = list(data.values()) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise DataError(f"{place} must hold a list of recordings, not {type(data).__name__}.")
    found: list[Recording] = []
    for n, row in enumerate(rows):
        try:
            steps = tuple(
                RecordedStep(
                    text=str(step["description"]),
                    start=float(step["start_time"]),
                    end=float(step["end_time"]),
                    tags=tuple(str(error["tag"]) for error in step.get("errors") or ()),
                )
                for step in row["step_annotations"]
            )
            found.append(
                Recording(id=str(row["recording_id"]), recipe=str(row["activity_name"]), steps=steps)
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise DataError(
                f"{place}, recording {n}: {exc!r}; expected recording_id, activity_name and step_annotations "
                "(description, start_time, end_time, errors)."
            ) from exc
    return found


def graph_file(folder: str | PathLike[str], recipe: str) -> Path:
    """Where the task graph of a recipe lies: its name in lower case, letters and digits only."""
    return Path(folder) / (re.sub(r"[^a-z0-9]", "", recipe.casefold()) + ".json")


def task_graph_bank(folder: str | PathLike[str], recipe: str) -> ProcedureBank:
    """The bank of a recipe with its gold graph.

    Raises:
        ProcedureError: when there is no such graph, or it is broken.
    """
    return read_task_graph(graph_file(folder, recipe), title=recipe)


def written_bank(recording: Recording) -> ProcedureBank:
    """The procedure as the steps of one (error-free) recording, in the order in which they were begun."""
    rows = sorted((row for row in recording.steps if row.start >= 0), key=lambda row: row.start)
    steps = tuple(Step(index=i, text=step_words(row.text)) for i, row in enumerate(rows))
    text = "\n".join(step.text for step in steps)
    return ProcedureBank(text=text, steps=steps, title=recording.recipe, method="list")


def error_free_recordings(recordings: Sequence[Recording], recipe: str) -> list[Recording]:
    """The recordings of a recipe without any tag, in the file's order.

    Where there is none: those in which nothing was out of order or left out.
    """
    own = [recording for recording in recordings if recording.recipe == recipe]
    disturbed = {ORDER_TAG, MISSING_TAG}
    return [r for r in own if r.error_free] or [
        r for r in own if not any(disturbed & set(s.tags) for s in r.steps)
    ]
