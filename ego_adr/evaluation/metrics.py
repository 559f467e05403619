"""Scores: the published metric, and beside it what the published metric hides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from ego_adr.errors import DataError
from ego_adr.evaluation.constants import blind_predictors
from ego_adr.evaluation.counting import COLUMNS, Table, count_rows, rates_of
from ego_adr.evaluation.intervals import bootstrap, bootstrap_auroc, interval
from ego_adr.evaluation.outcomes import Outcome

if TYPE_CHECKING:
    from ego_adr.taxonomies import Taxonomy

__all__ = ["Auroc", "BlindScore", "Confusion", "Cost", "LabelScore", "Rates", "Score", "score_outcomes"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rates(_Record):
    """Counts and rates over the answered rows. Rates lie in 0..1.

    Attributes:
        rows: how many rows there are, answered or not.
        answered: rows with a label; every rate below is over these, ``accuracy_of_all`` apart.
        tp, fp, tn, fn: by the published metric.
        accuracy: (TP + TN) / answered.
        accuracy_of_all: (TP + TN) / rows, an unanswered row is wrong.
        precision, recall, f1: by the published metric; 0 where undefined (a warning says so).
        error_recall: error rows on which some error was predicted, of whatever type.
        specificity: correct rows found correct.
        balanced_accuracy: mean of the two; None when one of the classes is absent.
        macro_f1: mean F1 over the labels present in the truth; a row that was met counts for none of its
            other labels.
        strict_accuracy: rows whose named labels are exactly the row's labels.
    """

    rows: int
    answered: int
    tp: int
    fp: int
    tn: int
    fn: int
    accuracy: float | None
    accuracy_of_all: float | None
    precision: float
    recall: float
    f1: float
    error_recall: float | None
    specificity: float | None
    balanced_accuracy: float | None
    macro_f1: float | None
    strict_accuracy: float | None


class LabelScore(_Record):
    """One label over its occurrences in the truth of answered rows.

    Attributes:
        occurrences: how many answered rows carry it.
        predicted: how often it was predicted.
        accuracy: occurrences whose row was met by any of its labels: the published figure (table 4 of
            papers/002; its columns add up to more than TP, which no other reading gives).
        recall: occurrences for which this very label was predicted.
        f1: see `Rates.macro_f1`.
    """

    occurrences: int
    predicted: int
    accuracy: float | None
    recall: float | None
    f1: float | None


class Confusion(_Record):
    """Rows: true labels. Columns: predictions, then unparsed and failed. Every row of the data counts once.

    A row with several labels counts under the label that was hit, else under its first.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Auroc(_Record):
    """Area under the ROC curve of "error or not" by 1 - P(correct), over the rows that have probabilities."""

    value: float
    rows: int
    interval: tuple[float, float] | None = None


class BlindScore(_Record):
    """A predictor that looks at nothing, on the same rows."""

    name: str
    rates: Rates


class Cost(_Record):
    """What the run took: model calls, tokens in and out, seconds of work (shared out over a batch)."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


class Score(_Record):
    """Everything that is said of one run.

    Attributes:
        counting: ``strict`` (ours) or ``paper`` (with the three habits of the published evaluator).
        rates: over all rows; by the counting above.
        intervals: metric -> 95 % interval of a bootstrap over ``groups`` videos.
        blind: the constant predictors on the same rows, always counted strictly.
        subsets: data set, or with/without what gives an answer away -> rates.
        unparsed, failed: cause -> rows.
        warnings: what a reader must know before quoting a figure.
    """

    counting: Literal["strict", "paper"]
    rates: Rates
    auroc: Auroc | None
    intervals: Mapping[str, tuple[float, float]]
    groups: int
    resamples: int
    labels: Mapping[str, LabelScore]
    confusion: Confusion
    blind: tuple[BlindScore, ...]
    subsets: Mapping[str, Rates]
    unparsed: Mapping[str, int]
    failed: Mapping[str, int]
    cost: Cost
    warnings: tuple[str, ...] = ()


def score_outcomes(
    outcomes: Sequence[Outcome],
    taxonomy: Taxonomy,
    *,
    paper_counting: bool = False,
    resamples: int = 2000,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> Score:
    """Score a run.

    Args:
        outcomes: one a row; ids must be unique.
        paper_counting: add the three habits of the published evaluator (see `counting.count_rows`).
        resamples: of the bootstrap; 0 leaves intervals out.
        notes: warnings from the reading of the files, kept in the score.

    Raises:
        DataError: when there is nothing to score, or an id comes twice.
    """
    if not outcomes:
        raise DataError(
            "there is not one row to score. Give a run folder or a file of predictions that holds some."
        )
    notes = [*notes]
    scored = [outcome for outcome in outcomes if outcome.truth or outcome.status == "failed"]
    if len(scored) < len(outcomes):
        notes.append(f"{len(outcomes) - len(scored)} rows have no known label and are not scored")
    if not any(outcome.truth for outcome in scored):
        raise DataError(
            "no row has a known label, so nothing can be scored. Put labels into the data, or give --data."
        )
    outcomes = scored
    twice = [name for name, count in Counter(o.id for o in outcomes).items() if count > 1]
    if twice:
        raise DataError(
            f"the id {twice[0]!r} comes more than once ({len(twice)} such ids); ids must be unique."
        )
    correct, labels = taxonomy.correct.name, tuple(taxonomy.names)
    table = count_rows(outcomes, labels, correct, paper_counting=paper_counting)
    warnings = list(notes)
    rates = _rates(table, warnings)
    intervals: dict[str, tuple[float, float]] = {}
    if resamples and rates.answered:
        for name, values in bootstrap(table, resamples=resamples, seed=seed).items():
            found = interval(values)
            if found is not None and getattr(rates, name) is not None:
                intervals[name] = found
        if table.group_count < len(outcomes) and table.group_count < 10:
            warnings.append(
                f"intervals rest on {table.group_count} videos only: they are wide, and still too narrow"
            )
    return Score(
        counting="paper" if paper_counting else "strict",
        rates=rates,
        auroc=_auroc(outcomes, correct, resamples, seed),
        intervals=intervals,
        groups=table.group_count,
        resamples=resamples,
        labels=_by_label(table, outcomes),
        confusion=_confusion(outcomes, labels, correct),
        blind=tuple(
            BlindScore(name=name, rates=_rates(count_rows(answers, labels, correct)))
            for name, answers in blind_predictors(outcomes, taxonomy)
        ),
        subsets=_subsets(outcomes, labels, correct, paper_counting),
        unparsed=_causes(outcomes, "unparsed"),
        failed=_causes(outcomes, "failed"),
        cost=Cost(
            calls=sum(o.calls for o in outcomes),
            tokens=sum(o.tokens for o in outcomes),
            seconds=round(sum(o.seconds for o in outcomes), 3),
        ),
        warnings=tuple(warnings),
    )


def _rates(table: Table, warnings: list[str] | None = None) -> Rates:
    sums = table.values.sum(axis=0)
    count = {name: int(sums[i]) for i, name in enumerate(COLUMNS)}
    rate = rates_of(sums, len(table.labels))
    say = (warnings if warnings is not None else []).append
    if not count["answered"]:
        say("no row was answered: there is nothing to rate")
    elif not count["tp"] + count["fp"]:
        say("no error was predicted: precision is undefined and shown as 0")
    if count["answered"] and not count["error"]:
        say("no answered row holds an error: recall is undefined and shown as 0")
    elif count["answered"] and count["error"] == count["answered"]:
        say("no answered row is correct: specificity and balanced accuracy are undefined")
    return Rates(
        rows=count["rows"],
        answered=count["answered"],
        tp=count["tp"],
        fp=count["fp"],
        tn=count["tn"],
        fn=count["fn"],
        accuracy=_or_none(rate["accuracy"]),
        accuracy_of_all=_or_none(rate["accuracy_of_all"]),
        precision=_or_none(rate["precision"]) or 0.0,
        recall=_or_none(rate["recall"]) or 0.0,
        f1=float(rate["f1"]),
        error_recall=_or_none(rate["error_recall"]),
        specificity=_or_none(rate["specificity"]),
        balanced_accuracy=_or_none(rate["balanced_accuracy"]),
        macro_f1=_or_none(rate["macro_f1"]),
        strict_accuracy=_or_none(rate["strict_accuracy"]),
    )


def _or_none(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


def _by_label(table: Table, outcomes: Sequence[Outcome]) -> dict[str, LabelScore]:
    rate = rates_of(table.values.sum(axis=0), len(table.labels))
    predicted = Counter(o.label for o in outcomes if o.label is not None)
    return {
        label: LabelScore(
            occurrences=int(rate["label_there"][i]),
            predicted=predicted[label],
            accuracy=_or_none(rate["label_met"][i]),
            recall=_or_none(rate["label_named"][i]),
            f1=_or_none(rate["label_f1"][i]),
        )
        for i, label in enumerate(table.labels)
    }


def _confusion(outcomes: Sequence[Outcome], labels: Sequence[str], correct: str) -> Confusion:
    from sklearn.metrics import confusion_matrix

    shown = [label for label in labels if label == correct] + [label for label in labels if label != correct]
    columns = [*shown, "unparsed", "failed"]
    outcomes = [o for o in outcomes if o.truth]
    truth = [o.label if o.label is not None and o.hit else o.truth[0] for o in outcomes]
    said = [o.label if o.label is not None else o.status for o in outcomes]
    counts = confusion_matrix(truth, said, labels=columns)[: len(shown)] if outcomes else []
    return Confusion(
        rows=tuple(shown), columns=tuple(columns), counts=tuple(tuple(map(int, row)) for row in counts)
    )


def _auroc(outcomes: Sequence[Outcome], correct: str, resamples: int, seed: int) -> Auroc | None:
    rows = [(o.p_error, correct not in o.truth, o.group or o.id) for o in outcomes if o.p_error is not None]
    if len({is_error for _, is_error, _ in rows}) < 2:
        return None
    from sklearn.metrics import roc_auc_score

    scores = [float(p) for p, _, _ in rows if p is not None]
    errors = [is_error for _, is_error, _ in rows]
    number = {group: i for i, group in enumerate(dict.fromkeys(group for _, _, group in rows))}
    found = None
    if resamples:
        groups = [number[group] for _, _, group in rows]
        found = interval(bootstrap_auroc(scores, errors, groups, resamples=resamples, seed=seed))
    return Auroc(value=float(roc_auc_score(errors, scores)), rows=len(rows), interval=found)


def _subsets(
    outcomes: Sequence[Outcome], labels: Sequence[str], correct: str, paper_counting: bool
) -> dict[str, Rates]:
    parts: dict[str, list[Outcome]] = {}
    datasets = list(dict.fromkeys(o.dataset for o in outcomes))
    for name in datasets if len(datasets) > 1 else []:
        parts[name or "no data set named"] = [o for o in outcomes if o.dataset == name]
    for giveaway in sorted({g for o in outcomes for g in o.giveaways}):
        parts[f"only {giveaway}"] = [o for o in outcomes if giveaway in o.giveaways]
        parts[f"without {giveaway}"] = [o for o in outcomes if giveaway not in o.giveaways]
    if len({g for o in outcomes for g in o.giveaways}) > 1:
        parts["without any giveaway"] = [o for o in outcomes if not o.giveaways]
    return {
        name: _rates(count_rows(rows, labels, correct, paper_counting=paper_counting))
        for name, rows in parts.items()
        if rows
    }


def _causes(outcomes: Sequence[Outcome], status: str) -> dict[str, int]:
    found = Counter(o.cause or "no reason given" for o in outcomes if o.status == status)
    return dict(found.most_common())
