"""Benchmarks: rows on disk -> samples, one file a benchmark. Others are added by entry point.

An entry point of the group ``ego_adr.benchmarks`` names a function with the keyword arguments of `load_samples`
(all but the name) that returns a list of `samples.Sample`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.errors import DataError

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample
    from ego_adr.prompting import PromptLibrary
    from ego_adr.taxonomies import Taxonomy

__all__ = ["benchmark_names", "load_samples"]

_OWN = {"egoerrorvqa": "choice", "egoerrorvqa-open": "open-end"}


def benchmark_names() -> list[str]:
    """Every benchmark that can be asked for by name; a ``.jsonl`` file of your own is one too."""
    return [*_OWN, *sorted({entry.name for entry in entry_points(group="ego_adr.benchmarks")} - set(_OWN))]


def load_samples(
    name: str | PathLike[str],
    *,
    data: str | PathLike[str] | None = None,
    videos: str | PathLike[str] | None = None,
    datasets: Sequence[str] | None = None,
    procedures: str | PathLike[str] | None = None,
    taxonomy: Taxonomy | None = None,
    prompts: PromptLibrary | None = None,
    tent_times: str = "published",
    faults: list[str] | None = None,
) -> list[Sample]:
    """The samples of a benchmark.

    Args:
        name: ``egoerrorvqa``, ``egoerrorvqa-open``, a name from an entry point, the path of a ``.jsonl`` or
            ``.json`` file of your own (see `own`), or of a published ``.json`` file. Files may be gzipped.
        data: the folder of its files; default the variable ``EGO_ADR_DATA``.
        videos: root of the videos.
        datasets: a part of its data sets.
        procedures: a file of task -> text.
        tent_times: see `egoerrorvqa.TentTimes`.
        faults: where given, rows that cannot be read are described there and left out.

    Raises:
        DataError: for an unknown name, or data that cannot be read.
    """
    from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa, read_procedures
    from ego_adr.benchmarks.own import holds_own_rows, load_own
    from ego_adr.reading import file_ending

    asked = os.fspath(name)
    common: dict[str, Any] = {"videos": videos, "taxonomy": taxonomy, "faults": faults}
    published = {**common, "datasets": datasets, "procedures": procedures, "prompts": prompts}
    if asked in _OWN:
        place = data if data is not None else os.environ.get("EGO_ADR_DATA")
        if not place:
            raise DataError(f"where are the files of {asked}? Give --data, or set EGO_ADR_DATA.")
        return load_egoerrorvqa(place, task=_OWN[asked], tent_times=tent_times, **published)  # type: ignore[arg-type]
    for entry in entry_points(group="ego_adr.benchmarks"):
        if entry.name == asked:
            load: Callable[..., list[Sample]] = entry.load()
            return load(data=data, **published)
    path = Path(asked)
    if path.is_dir():
        raise DataError(f"{path} is a folder. Give a file of rows, or egoerrorvqa with --data {path}.")
    if path.is_file():
        if file_ending(path) == ".json" and not holds_own_rows(path):
            return load_egoerrorvqa(path, tent_times=tent_times, **published)  # type: ignore[arg-type]
        named = read_procedures(procedures) if procedures is not None else {}
        return load_own(path, procedures=named, **common)
    raise DataError(
        f"there is no benchmark {asked!r} and no such file; the benchmarks are {', '.join(benchmark_names())}, "
        "or give a .jsonl file of your own."
    )
