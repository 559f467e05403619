"""From paths to scored runs: what ``score`` and ``compare`` do, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from ego_adr.evaluation.metrics import Score, score_outcomes
from ego_adr.evaluation.open_scores import OpenScore, score_open_run
from ego_adr.evaluation.predictions import Predictions, find_logs, read_predictions
from ego_adr.evaluation.results import LOG_NAME, read_log

if TYPE_CHECKING:
    from pathlib import Path

    from ego_adr.benchmarks.samples import Sample
    from ego_adr.taxonomies import Taxonomy

__all__ = ["read_runs", "score_runs"]


def read_runs(
    paths: Sequence[str | PathLike[str]], taxonomy: Taxonomy, *, samples: Sequence[Sample] | None = None
) -> tuple[list[Predictions], dict[str, Path]]:
    """Every run at the paths: multiple-choice runs read, and the folders of open-end runs by name.

    Names that come twice are made unique by their folders.

    Raises:
        DataError: when a path holds no run, or a row cannot be scored.
    """
    runs: list[Predictions] = []
    open_end: dict[str, Path] = {}
    names: dict[str, int] = {}
    for log in [log for path in paths for log in find_logs(path)]:
        if _is_open_end(log):
            open_end[_unused(log.parent.name, names)] = log.parent
            continue
        read = read_predictions(log, taxonomy, samples=samples)
        name = _unused(read.name, names)
        runs.append(
            read if name == read.name else read_predictions(log, taxonomy, samples=samples, name=name)
        )
    return runs, open_end


def score_runs(
    paths: Sequence[str | PathLike[str]],
    taxonomy: Taxonomy,
    *,
    samples: Sequence[Sample] | None = None,
    paper_counting: bool = False,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[list[tuple[Predictions, Score]], dict[str, OpenScore]]:
    """Score every run at the paths; arguments as in `read_predictions` and `score_outcomes`."""
    runs, open_end = read_runs(paths, taxonomy, samples=samples)
    scored = [
        (
            run,
            score_outcomes(
                run.outcomes,
                taxonomy,
                paper_counting=paper_counting,
                resamples=resamples,
                seed=seed,
                notes=run.notes,
            ),
        )
        for run in runs
    ]
    return scored, {
        name: score_open_run(folder, resamples=resamples, seed=seed) for name, folder in open_end.items()
    }


def _is_open_end(log: Path) -> bool:
    if log.name != LOG_NAME:
        return False
    first = next(iter(read_log(log).lines.values()), {})
    return "question" in first and "reference" in first


def _unused(name: str, names: dict[str, int]) -> str:
    names[name] = count = names.get(name, 0) + 1
    return name if count == 1 else f"{name} ({count})"
