"""Two runs on the same rows: how far apart they are, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from ego_adr.errors import DataError
from ego_adr.evaluation.counting import count_rows, rates_of
from ego_adr.evaluation.intervals import INTERVAL_METRICS, bootstrap, interval
from ego_adr.evaluation.outcomes import Outcome

if TYPE_CHECKING:
    from ego_adr.taxonomies import Taxonomy

__all__ = ["Difference", "PairedScore", "compare_to_first", "paired_difference"]


class Difference(BaseModel):
    """Second run less first, with its 95 % interval (videos resampled, the same ones for both runs)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: float
    second: float
    difference: float
    interval: tuple[float, float] | None


class PairedScore(BaseModel):
    """Two runs over the rows that both answered.

    Attributes:
        rows: rows that both answered; ``left_out`` are the others.
        metrics: metric -> its difference.
        only_first, only_second: rows that only one of the runs got right.
        p_value: exact McNemar test on those (two-sided binomial); rows of one video are taken as independent
            here, so the intervals are the more careful word.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: str
    second: str
    rows: int
    left_out: int
    metrics: Mapping[str, Difference]
    only_first: int
    only_second: int
    p_value: float


def paired_difference(
    first: Sequence[Outcome],
    second: Sequence[Outcome],
    taxonomy: Taxonomy,
    *,
    names: tuple[str, str] = ("first", "second"),
    resamples: int = 2000,
    seed: int = 0,
) -> PairedScore:
    """Compare two runs row by row.

    Raises:
        DataError: when they share no answered row, or disagree on the truth of one.
    """
    import numpy as np

    there = {outcome.id: outcome for outcome in second}
    pairs = [(one, there[one.id]) for one in first if one.id in there]
    unlike = [one.id for one, other in pairs if set(one.truth) != set(other.truth)]
    if unlike:
        raise DataError(
            f"the runs disagree on the truth of {len(unlike)} rows, {unlike[0]!r} first: they are of different data."
        )
    both = [(one, other) for one, other in pairs if one.status == other.status == "ok"]
    if not both:
        raise DataError(f"{names[0]} and {names[1]} have no answered row in common: nothing can be compared.")
    correct, labels = taxonomy.correct.name, tuple(taxonomy.names)
    tables = [count_rows([pair[i] for pair in both], labels, correct) for i in (0, 1)]
    # Groups come in the order of the first run in both tables, so that equal seeds draw the same videos.
    order = {outcome.id: outcome.group for outcome, _ in both}
    if [order[other.id] for _, other in both] != [other.group for _, other in both]:
        from dataclasses import replace

        regrouped = [replace(other, group=order[other.id]) for _, other in both]
        tables[1] = count_rows(regrouped, labels, correct)
    rates = [rates_of(table.values.sum(axis=0), len(labels)) for table in tables]
    drawn = [bootstrap(table, resamples=resamples, seed=seed) for table in tables] if resamples else []
    metrics: dict[str, Difference] = {}
    for name in INTERVAL_METRICS:
        one, other = float(rates[0][name]), float(rates[1][name])
        if np.isnan(one) or np.isnan(other):
            continue
        found = interval(drawn[1][name] - drawn[0][name]) if drawn else None
        metrics[name] = Difference(first=one, second=other, difference=other - one, interval=found)
    only_first = sum(one.hit and not other.hit for one, other in both)
    only_second = sum(other.hit and not one.hit for one, other in both)
    return PairedScore(
        first=names[0],
        second=names[1],
        rows=len(both),
        left_out=len({o.id for o in first} | there.keys()) - len(both),
        metrics=metrics,
        only_first=only_first,
        only_second=only_second,
        p_value=_mcnemar(only_first, only_second),
    )


def compare_to_first(
    runs: Sequence[tuple[str, Sequence[Outcome]]], taxonomy: Taxonomy, *, resamples: int = 2000, seed: int = 0
) -> list[PairedScore]:
    """Every other run against the first. Runs that share no answered row with it are left out."""
    found: list[PairedScore] = []
    for name, outcomes in runs[1:]:
        first, start = runs[0]
        answered = {outcome.id for outcome in start if outcome.status == "ok"}
        if answered & {outcome.id for outcome in outcomes if outcome.status == "ok"}:
            names = (first, name)
            found.append(
                paired_difference(start, outcomes, taxonomy, names=names, resamples=resamples, seed=seed)
            )
    return found


def _mcnemar(only_first: int, only_second: int) -> float:
    from scipy.stats import binomtest

    if not only_first + only_second:
        return 1.0
    return float(binomtest(only_first, only_first + only_second, 0.5).pvalue)
