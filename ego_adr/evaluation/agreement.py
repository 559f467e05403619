"""Do judges agree with people? Cohen's kappa between raters, Pearson's r between consensus and judges."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ego_adr.errors import DataError
from ego_adr.reading import file_ending, json_lines, json_value, read_text, table_rows

__all__ = ["Agreement", "PairAgreement", "agreement", "read_ratings"]

Ratings = Mapping[str, Mapping[str, float]]
#: Columns of a table of ratings that are no rater.
_NO_RATERS = {
    "id",
    "answer_id",
    "sample_id",
    "checksum",
    "status",
    "question",
    "reference",
    "answer",
    "reason",
}


class PairAgreement(BaseModel):
    """Two raters over the items that both rated.

    Attributes:
        kappa: Cohen's kappa over whole scores (halves go to the even neighbour).
        weighted_kappa: the same with squared distances: a miss by one costs less than a miss by five.
        pearson: correlation of the scores.

    A figure is None where it is undefined: a rater without variation, or fewer than two items.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: str
    second: str
    items: int
    kappa: float | None
    weighted_kappa: float | None
    pearson: float | None


class Agreement(BaseModel):
    """How far raters agree.

    Attributes:
        pairs: every two raters.
        people: names of the people; ``mean_kappa`` is over their pairs.
        consensus: judge -> agreement with what most people said (with ties, the mean of the tied scores).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pairs: tuple[PairAgreement, ...]
    people: tuple[str, ...]
    mean_kappa: float | None
    consensus: Mapping[str, PairAgreement]


def agreement(ratings: Ratings, *, people: Sequence[str]) -> Agreement:
    """Compare raters.

    Args:
        ratings: rater -> item -> score.
        people: which of the raters are people; the others are judges.

    Raises:
        DataError: for fewer than two raters, or a person without ratings.
    """
    if len(ratings) < 2:
        raise DataError(f"agreement needs two raters or more; there is {', '.join(ratings) or 'none'}.")
    unknown = [name for name in people if name not in ratings]
    if unknown:
        raise DataError(f"nobody called {unknown[0]!r} rated anything; the raters are {', '.join(ratings)}.")
    pairs = tuple(_pair(a, b, ratings[a], ratings[b]) for a, b in itertools.combinations(ratings, 2))
    between = [
        pair.kappa
        for pair in pairs
        if pair.first in people and pair.second in people and pair.kappa is not None
    ]
    voted = _consensus([ratings[name] for name in people])
    return Agreement(
        pairs=pairs,
        people=tuple(people),
        mean_kappa=sum(between) / len(between) if between else None,
        consensus={
            name: _pair("people", name, voted, ratings[name])
            for name in ratings
            if people and name not in people
        },
    )


def read_ratings(paths: Sequence[str | PathLike[str]]) -> dict[str, dict[str, float]]:
    """Ratings from files: a run's ``judgements.jsonl`` (or its folder), JSONL, or CSV.

    A line has ``id`` (or ``answer_id``), ``rater`` (or ``judge``) and ``score``; or ``id`` and one column a
    rater. Lines without a score (judge errors, empty cells) are left out.

    Raises:
        DataError: for a file or line that cannot be read.
    """
    found: dict[str, dict[str, float]] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            path = path / "judgements.jsonl"
        for where, row in _rows(path):
            name = row.get("answer_id") or row.get("id") or row.get("sample_id")
            if name in (None, ""):
                raise DataError(f"{path.name}, {where} has no id.")
            # A table of one column a rater may well have a column called "judge".
            rater = row.get("rater") or row.get("judge") if "score" in row else None
            if rater:
                _add(found, str(rater), str(name), row.get("score"), f"{path.name}, {where}")
                continue
            for column, value in row.items():
                if column not in _NO_RATERS:
                    _add(found, str(column), str(name), value, f"{path.name}, {where}")
    return found


def _rows(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    if not path.is_file():
        raise DataError(f"there is no file of ratings {path}.")
    text = read_text(path)
    if file_ending(path) == ".jsonl":
        return list(json_lines(text, path.name))
    if file_ending(path) == ".json":
        held = json_value(text, str(path))
        rows = held if isinstance(held, list) else [held]
        strange = next((n for n, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if strange is not None:
            raise DataError(
                f"{path.name}, entry {strange} is {type(rows[strange]).__name__}, not an object with fields."
            )
        return [(f"entry {n}", row) for n, row in enumerate(rows)]
    return list(table_rows(text, path.name))


def _add(found: dict[str, dict[str, float]], rater: str, name: str, value: Any, where: str) -> None:
    if value in (None, ""):
        return
    try:
        score = float(value)
    except (TypeError, ValueError):
        raise DataError(f"{where}: the score of {rater!r} is {value!r}, no number.") from None
    if not math.isfinite(score):
        raise DataError(f"{where}: the score of {rater!r} is {value!r}, no finite number.")
    found.setdefault(rater, {})[name] = score


def _consensus(ratings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    items: dict[str, list[float]] = {}
    for one in ratings:
        for name, score in one.items():
            items.setdefault(name, []).append(score)
    found = {}
    for name, scores in items.items():
        counts = Counter(scores)
        top = max(counts.values())
        tied = [score for score, count in counts.items() if count == top]
        found[name] = sum(tied) / len(tied)
    return found


def _pair(first: str, second: str, one: Mapping[str, float], other: Mapping[str, float]) -> PairAgreement:
    from sklearn.metrics import cohen_kappa_score

    both = [name for name in one if name in other]
    a, b = [one[name] for name in both], [other[name] for name in both]
    whole_a, whole_b = [round(score) for score in a], [round(score) for score in b]
    scale = list(range(min([0, *whole_a, *whole_b]), max([5, *whole_a, *whole_b]) + 1))
    varied = len(set(whole_a) | set(whole_b)) > 1
    return PairAgreement(
        first=first,
        second=second,
        items=len(both),
        kappa=float(cohen_kappa_score(whole_a, whole_b, labels=scale)) if varied else None,
        weighted_kappa=float(cohen_kappa_score(whole_a, whole_b, labels=scale, weights="quadratic"))
        if varied
        else None,
        pearson=_pearson(a, b),
    )


def _pearson(a: Sequence[float], b: Sequence[float]) -> float | None:
    if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    from scipy.stats import pearsonr

    return float(pearsonr(a, b).statistic)
