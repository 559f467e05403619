"""The four data sets of EgoErrorVQA: file names, keys and where their videos lie. A table, no branches."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.reading import is_file

__all__ = ["SOURCES", "SourceSet", "find_video", "guess_source"]


@dataclass(frozen=True)
class SourceSet:
    """One data set.

    Attributes:
        choice, open_end: names of its published files.
        mark: fields that only its rows have.
        key: the field that tells its rows apart where video and times do not.
        videos: patterns below the video root, best first; fields of the row in braces, ``*`` as in a shell.
            Each is tried with its first folder and without.
        action: fields that hold the action text, first one that is set wins.
        scene: the name of its kind of task in the published tables.
    """

    choice: str
    open_end: str
    mark: tuple[str, ...]
    key: str | None
    videos: tuple[str, ...]
    action: tuple[str, ...]
    scene: str


SOURCES: Mapping[str, SourceSet] = {
    "captaincook4d": SourceSet(
        choice="captaincook4d_answer.json",
        open_end="captaincook4d_qa_pairs_updated.json",
        mark=("recording_id", "step_id"),
        key="step_id",
        videos=("captaincook4d/{video_id}_360p.mp4",),
        action=("action_annotation", "original_description"),
        scene="Cook",
    ),
    "epic_tent": SourceSet(
        choice="epic_tent_answer_sec.json",
        open_end="epic_tent_qa_pair.json",
        mark=("subject_id", "str_GoPro_ts"),
        key="action_label",
        videos=("epic-tent/0{video_id}.tent.gopro.MP4",),
        action=("action_annotation",),
        scene="Tent",
    ),
    "assembly101": SourceSet(
        choice="assembly101_answers.json",
        open_end="assembly101_qa_pairs_updated.json",
        mark=("first_object", "second_object"),
        key=None,
        # The head cameras differ from recording to recording; the fixed ones (C*_rgb) are not first-person.
        videos=("assembly101/{video_id}/HMC_*_mono10bit.mp4", "assembly101/{video_id}/HMC_*.mp4"),
        action=("action_annotation",),
        scene="Toy",
    ),
    "egooops": SourceSet(
        choice="egooops_answer.json",
        open_end="egooops_qa_pair.json",
        mark=("instruction", "instruction_label"),
        key="instruction",
        videos=("egooops/{task_id}/{video_id}.MP4",),
        action=("action_annotation", "instruction_label"),
        scene="Hand",
    ),
}


#: Where the videos of other data sets are looked for.
_UNKNOWN = ("{video_id}.mp4", "{video_id}.*")
_ENDING = re.compile(r"\.(?:mp4|m4v|mov|mkv|webm|avi)$", re.IGNORECASE)


def guess_source(row: Mapping[str, Any], file_name: str = "") -> str | None:
    """The data set that a row is of, by its fields, else by the name of its file."""
    for name, source in SOURCES.items():
        if all(field in row for field in source.mark):
            return name
    plain = file_name.casefold().replace("-", "_")
    return next((name for name in SOURCES if name in plain), None)


def find_video(root: str | PathLike[str] | None, dataset: str, row: Mapping[str, Any]) -> Path:
    """Where the video of a row lies below ``root``.

    The first file in sorted order that a pattern of the data set's finds. When there is none (or no root to
    look below), the path that would be looked for first comes back: whoever opens it fails by its name.
    """
    patterns = SOURCES[dataset].videos if dataset in SOURCES else _UNKNOWN
    fields = {name: str(row.get(name) or "") for name in ("video_id", "task_id")}
    # An id may be given as the name of its file.
    fields["video_id"] = _ENDING.sub("", fields["video_id"])
    escaped = {name: glob.escape(value) for name, value in fields.items()}
    if root is None:
        return Path(patterns[0].format(**fields))
    base = Path(root)
    for pattern in patterns:
        for tried in (pattern, pattern.partition("/")[2] or pattern):
            # Endings come in either case: copies by way of other systems are often renamed.
            name = re.sub(r"\.mp4$", ".[mM][pP]4", tried.format(**escaped), flags=re.IGNORECASE)
            found = sorted(glob.glob(str(Path(glob.escape(str(base))) / name)))
            files = [path for path in map(Path, found) if is_file(path)]
            if files:
                return files[0]
    return base / patterns[0].format(**fields)
