"""Counting rows: the published metric as sums that can be resampled.

Everything a score is made of is a sum over rows, so a bootstrap over videos is one matrix product.

The published metric (papers/002, section 4.2; its evaluator settles the details): a prediction is met by any
label of its row. Error predicted on an error row: TP when met, FP when not (never FN). Error predicted on a
correct row: FP. Correct on correct: TN. Correct on an error row: FN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ego_adr.evaluation.outcomes import Outcome, exact_reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "Table", "count_rows", "rates_of"]

#: Columns that are summed, in order; the columns of the labels follow them.
COLUMNS = (
    "tp",
    "fp",
    "tn",
    "fn",
    "hit",  # answered rows whose prediction is one of their labels
    "strict",  # answered rows that named exactly their labels
    "answered",  # rows with a label
    "counted",  # rows the accuracy is divided by
    "error",  # answered error rows
    "flagged",  # ... on which an error was predicted, of whatever type
    "rows",
)

#: What the published evaluator takes for an answer though it is none: its agent says these in words.
_ANSWERED_IN_WORDS = frozenset({"video", "clip range"})


@dataclass(frozen=True)
class Table:
    """Sums by row.

    Attributes:
        values: rows x columns, float64.
        labels: the labels that have columns of their own, five each: true positives, false positives,
            occurrences in the truth of answered rows, those of them whose row was met by any of its labels,
            and those that were named themselves.
        groups: rows, the number of the row's group (video).
        group_count: how many groups there are.
    """

    values: NDArray[np.float64]
    labels: tuple[str, ...]
    groups: NDArray[np.int64]
    group_count: int

    def by_group(self) -> NDArray[np.float64]:
        """Groups x columns: the sums of each group's rows."""
        import numpy as np

        sums = np.zeros((self.group_count, self.values.shape[1]))
        np.add.at(sums, self.groups, self.values)
        return sums


PER_LABEL = 5


def count_rows(
    outcomes: Sequence[Outcome], labels: Sequence[str], correct: str, *, paper_counting: bool = False
) -> Table:
    """Sums of every row.

    With ``paper_counting`` the three habits of the published evaluator are added: a reply that is not exactly
    a label is a predicted error; a failed row is wrong in the accuracy and vanishes from the rest; a video
    error is an answer (and so a predicted error).
    """
    import numpy as np

    place = {label: i for i, label in enumerate(labels)}
    fixed = {name: i for i, name in enumerate(COLUMNS)}
    values = np.zeros((len(outcomes), len(COLUMNS) + PER_LABEL * len(labels)))
    known: dict[str, int] = {}
    groups = np.empty(len(outcomes), dtype=np.int64)
    for row, outcome in enumerate(outcomes):
        groups[row] = known.setdefault(outcome.group or outcome.id, len(known))
        line = values[row]
        line[fixed["rows"]] = 1
        said = _said(outcome, labels) if paper_counting else outcome.label
        answered = said is not None
        line[fixed["counted"]] = 1 if answered or paper_counting else 0
        if said is None:
            continue
        is_error = correct not in outcome.truth
        hit = said in outcome.truth
        line[fixed["answered"]] = 1
        line[fixed["hit"]] = hit
        line[fixed["strict"]] = set(outcome.labels or (said,)) == set(outcome.truth)
        line[fixed["error"]] = is_error
        if said == correct:
            line[fixed["fn" if is_error else "tn"]] = 1
        else:
            line[fixed["flagged"]] = is_error
            line[fixed["tp" if hit else "fp"]] = 1
        for label in outcome.truth:
            at = len(COLUMNS) + PER_LABEL * place[label]
            line[at + 2] += 1
            line[at + 3] += hit
            line[at + 4] += said == label
        if said in place:
            line[len(COLUMNS) + PER_LABEL * place[said] + (0 if hit else 1)] += 1
    return Table(values=values, labels=tuple(labels), groups=groups, group_count=len(known))


def _said(outcome: Outcome, labels: Sequence[str]) -> str | None:
    """What the published evaluator takes the prediction for; a text that is no label comes out empty."""
    if outcome.status == "failed":
        return "" if outcome.cause in _ANSWERED_IN_WORDS else None
    if outcome.reply is None:
        return outcome.label if outcome.status == "ok" else ""
    exact = exact_reply(outcome.reply)
    return next((label for label in labels if label.casefold() == exact), "")


def rates_of(sums: NDArray[np.float64], label_count: int) -> dict[str, Any]:
    """Rates from sums (``... x columns``): each value has the leading shape of ``sums``.

    A rate without a denominator is NaN here; who shows it decides what to say instead.
    """
    import numpy as np

    column = {name: sums[..., i] for i, name in enumerate(COLUMNS)}

    def share(top: Any, bottom: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), np.nan)

    precision = share(column["tp"], column["tp"] + column["fp"])
    recall = share(column["tp"], column["tp"] + column["fn"])
    both = np.nan_to_num(precision) + np.nan_to_num(recall)
    f1 = np.where(
        both > 0, 2 * np.nan_to_num(precision) * np.nan_to_num(recall) / np.where(both > 0, both, 1), 0.0
    )
    error_recall = share(column["flagged"], column["error"])
    specificity = share(column["tn"], column["answered"] - column["error"])
    by_label = sums[..., len(COLUMNS) :].reshape(*sums.shape[:-1], label_count, PER_LABEL)
    hits, false, there, met, named = (by_label[..., i] for i in range(PER_LABEL))
    # A row that was met is met for all of its labels, so only occurrences in rows that were not are misses.
    label_f1 = share(2 * hits, 2 * hits + false + (there - met))
    present = there > 0
    with np.errstate(invalid="ignore"):
        macro = share(np.where(present, np.nan_to_num(label_f1), 0.0).sum(-1), present.sum(-1))
    return {
        "accuracy": share(column["hit"], column["counted"]),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "balanced_accuracy": (error_recall + specificity) / 2,
        "error_recall": error_recall,
        "specificity": specificity,
        "macro_f1": macro,
        "strict_accuracy": share(column["strict"], column["answered"]),
        "accuracy_of_all": share(column["hit"], column["rows"]),
        "label_f1": label_f1,
        "label_met": share(met, there),
        "label_named": share(named, there),
        "label_there": there,
    }
