"""Puts the shards of a run together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.errors import DataError
from ego_adr.evaluation.predictions import find_logs
from ego_adr.evaluation.results import LOG_NAME, LogWriter, alone_in, line_status, read_log
from ego_adr.evaluation.runner import MANIFEST
from ego_adr.reading import json_value, read_text

__all__ = ["merge_runs", "shards_by_run"]

_SHARD = ("shard", "total", "name")


def shards_by_run(folders: Sequence[str | PathLike[str]]) -> dict[str, list[Path]]:
    """The shards at the paths by the name of their run: folders of runs, or folders that hold several runs.

    Raises:
        DataError: when a path holds no run.
    """
    found: dict[str, list[Path]] = {}
    for folder in folders:
        place = Path(folder)
        alone = (place / LOG_NAME).is_file()
        for log in find_logs(place):
            found.setdefault("" if alone else log.parent.name, []).append(log.parent)
    return found


def merge_runs(folders: Sequence[str | PathLike[str]], out: str | PathLike[str]) -> tuple[int, list[str]]:
    """Merge runs of the same settings into one folder; every sample counts once.

    Returns:
        The number of samples, and notes: shards that are missing or not finished, samples that came twice.

    Raises:
        DataError: when a folder holds no run, the settings differ, or ``out`` already holds one.
    """
    places = [Path(folder) for folder in folders]
    target = Path(out)
    if not places:
        raise DataError("there is nothing to merge: give the folders of the shards.")
    if (target / LOG_NAME).exists():
        raise DataError(f"{target} already holds a run. Give another --out.")
    manifests = [_manifest(place) for place in places]
    first = {key: value for key, value in manifests[0].items() if key not in _SHARD}
    for place, manifest in zip(places, manifests, strict=True):
        unlike = [
            key
            for key in first.keys() | manifest.keys()
            if key not in _SHARD and first.get(key) != manifest.get(key)
        ]
        if unlike:
            raise DataError(
                f"{place} was run with another {', '.join(sorted(unlike))} than {places[0]}: no shards of one run."
            )
    notes: list[str] = []
    lines: dict[str, dict[str, Any]] = {}
    twice = unlike_twice = 0
    for place, manifest in zip(places, manifests, strict=True):
        log = read_log(place / LOG_NAME)
        notes += [f"{place}: {text} is left out" for text in log.broken]
        if len(log.lines) < int(manifest.get("total") or 0):
            notes.append(
                f"{place} has {len(log.lines)} of its {manifest['total']} samples: it is not finished"
            )
        for name, line in log.lines.items():
            if name in lines:
                twice += 1
                unlike_twice += line.get("prediction") != lines[name].get("prediction")
                if line_status(lines[name]) != "failed" or line_status(line) == "failed":
                    continue
            lines[name] = line
    if twice:
        notes.append(
            f"{twice} samples came more than once ({unlike_twice} with another answer); the first answer counts"
        )
    notes += _missing_shards(manifests)
    with alone_in(target):
        with LogWriter(target / LOG_NAME) as writer:
            writer.write(list(lines.values()))
        merged = {**first, "name": target.name, "shard": None, "total": len(lines)}
        (target / MANIFEST).write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
    return len(lines), notes


def _manifest(place: Path) -> dict[str, Any]:
    path = place / MANIFEST
    if not path.is_file() or not (place / LOG_NAME).is_file():
        raise DataError(f"{place} holds no run ({MANIFEST} and {LOG_NAME}).")
    held = json_value(read_text(path), str(path))
    if not isinstance(held, dict):
        raise DataError(f"{path} holds {type(held).__name__}, not an object.")
    return held


def _missing_shards(manifests: Sequence[dict[str, Any]]) -> list[str]:
    shards = [str(manifest["shard"]) for manifest in manifests if manifest.get("shard")]
    wholes = {shard.partition("/")[2] for shard in shards}
    if len(wholes) > 1:
        return [f"the shards are of different cuts: {', '.join(sorted(shards))}"]
    missing = [
        f"{n}/{whole}" for whole in wholes for n in range(1, int(whole) + 1) if f"{n}/{whole}" not in shards
    ]
    return [f"shards are missing: {', '.join(missing)}"] if missing else []
