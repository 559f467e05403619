"""Intervals and paired differences by a bootstrap that resamples videos, not rows.

Rows of one video share a person, a kitchen and often an error; to resample rows would pretend otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ego_adr.evaluation.counting import Table, rates_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["INTERVAL_METRICS", "bootstrap", "bootstrap_auroc", "draws", "interval", "weighted_auroc"]

#: Rates that get an interval.
INTERVAL_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "f1",
    "balanced_accuracy",
    "error_recall",
    "specificity",
    "macro_f1",
)
_CHUNK = 200


def draws(groups: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each group is drawn in each resample, in chunks of (at most 200) x groups."""
    import numpy as np

    random = np.random.default_rng(seed)
    even = np.full(groups, 1.0 / groups)
    for begin in range(0, resamples, _CHUNK):
        yield random.multinomial(groups, even, size=min(_CHUNK, resamples - begin))


def bootstrap(table: Table, *, resamples: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Every interval metric, recomputed on each resample. Equal group order and seed give equal draws."""
    import numpy as np

    sums = table.by_group()
    parts: dict[str, list[NDArray[np.float64]]] = {name: [] for name in INTERVAL_METRICS}
    for drawn in draws(table.group_count, resamples, seed):
        rates = rates_of(drawn @ sums, len(table.labels))
        for name in INTERVAL_METRICS:
            parts[name].append(rates[name])
    return {name: np.concatenate(found) for name, found in parts.items()}


def bootstrap_auroc(
    scores: Sequence[float], is_error: Sequence[bool], groups: Sequence[int], *, resamples: int, seed: int
) -> NDArray[np.float64]:
    """AUROC of "error or not" on each resample; NaN where a resample holds one class only."""
    import numpy as np

    _, numbered = np.unique(np.asarray(groups), return_inverse=True)
    found = [
        weighted_auroc(np.asarray(scores), np.asarray(is_error), drawn[:, numbered])
        for drawn in draws(int(numbered.max()) + 1, resamples, seed)
    ]
    return np.concatenate(found)


def weighted_auroc(
    scores: NDArray[np.float64], is_error: NDArray[np.bool_], weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """AUROC with integer weights, one value a row of ``weights`` (resamples x rows); ties count half."""
    import numpy as np

    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) != 0])
    weights = weights[:, order]
    errors = is_error[order]
    positive = np.add.reduceat(weights * errors, starts, axis=1)
    negative = np.add.reduceat(weights * ~errors, starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative
    won = (positive * (below + 0.5 * negative)).sum(axis=1)
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1), np.nan)


def interval(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float] | None:
    """The middle ``level`` of resampled values (percentiles), None when hardly any resample had a value."""
    import numpy as np

    real = values[~np.isnan(values)]
    if len(real) < 0.5 * len(values) or not len(real):
        return None
    low, high = np.quantile(real, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
