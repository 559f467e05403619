"""Runs side by side: the columns of tables 4 to 6 of papers/002, and what they leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ego_adr.evaluation.metrics import Rates, Score
from ego_adr.evaluation.published import Published, PublishedTable
from ego_adr.taxonomies import Taxonomy

__all__ = [
    "RunScore",
    "Table",
    "comparison_table",
    "other_rows",
    "percent",
    "published_table",
    "published_tables",
    "short_names",
]

#: Words that say nothing in an abbreviation.
_SMALL = {"and", "or", "of", "the"}


@dataclass(frozen=True)
class RunScore:
    """A run's name, its score, and the settings it was made with."""

    name: str
    score: Score
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One value of a table as it is shown, and its interval where it has one."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Table:
    """Headings, and rows of (name, kind, cells); ``kind`` is ``run``, ``blind`` or ``published``."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]
    meanings: Mapping[str, str]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Unique abbreviations of labels: initials, with as many more letters as tell them apart (WOb, WOr)."""
    words: dict[str, list[str]] = {
        name: [w for w in re.findall(r"\w+", name) if w.casefold() not in _SMALL] for name in names
    }

    def short(name: str, letters: int) -> str:
        parts = words[name] or [name]
        return "".join(word[:1].upper() for word in parts[:-1]) + parts[-1][:1].upper() + parts[-1][1:letters]

    found: dict[str, str] = {}
    for name in names:
        letters = 1
        longest = max((len(word) for word in words[name]), default=1)
        while letters < longest and any(
            short(other, letters) == short(name, letters) for other in names if other != name
        ):
            letters += 1
        found[name] = short(name, letters)
    return found


def comparison_table(runs: Sequence[RunScore], *, blind: bool = True) -> Table:
    """One row a run, the predictors that look at nothing below.

    Blind predictors are those of the first run's rows: the best constant by F1, the constant that finds
    everything correct, and the rules that read a giveaway.
    """
    labels = [name for name, entry in runs[0].score.labels.items() if entry.occurrences] if runs else []
    short = short_names(list(runs[0].score.labels)) if runs else {}
    headings = ("Rows", "Acc", "Pre", "Rec", "F1", "TP", "BalAcc", "AUROC", "MacroF1")
    costs = ("AccAll", "Unparsed", "Failed", "Calls", "Tokens", "Seconds")
    rows: list[tuple[str, str, tuple[Cell, ...]]] = []
    for run in runs:
        score = run.score
        auroc = score.auroc
        cells = [
            *_rate_cells(score.rates, score.intervals),
            Cell(percent(auroc.value), _span(auroc.interval)) if auroc else Cell("–"),
            Cell(percent(score.rates.macro_f1), _span(score.intervals.get("macro_f1"))),
            *(
                Cell(percent(score.labels[label].accuracy) if label in score.labels else "–")
                for label in labels
            ),
            Cell(percent(score.rates.accuracy_of_all)),
            Cell(f"{sum(score.unparsed.values()):,}"),
            Cell(f"{sum(score.failed.values()):,}"),
            Cell(f"{score.cost.calls:,}"),
            Cell(f"{score.cost.tokens:,}"),
            Cell(f"{score.cost.seconds:,.1f}"),
        ]
        rows.append((run.name, "run", tuple(cells)))
    for name, rates in _shown_blind(runs[0].score) if blind and runs else ():
        shown = [*_rate_cells(rates, {}), Cell("–"), Cell(percent(rates.macro_f1))]
        shown += [Cell("")] * (len(labels) + len(costs))
        rows.append((name, "blind", tuple(shown)))
    meanings = {
        "Rows": "rows with a label, of all rows",
        "Acc": "accuracy of the published metric",
        "Pre": "precision of the published metric",
        "Rec": "recall of the published metric: an error found as the wrong type is no miss",
        "F1": "of that precision and recall",
        "TP": "errors found with their type",
        "BalAcc": "balanced accuracy of error or not; 50 is a guess",
        "AUROC": "of error or not, where the model gave probabilities; 50 is a guess",
        "MacroF1": "mean F1 over the labels present",
        "AccAll": "accuracy when rows without a label are wrong",
        **{short[label]: f"accuracy over the rows of {label!r}" for label in labels},
    }
    return Table((*headings, *(short[label] for label in labels), *costs), tuple(rows), meanings)


def published_table(table: PublishedTable, taxonomy: Taxonomy) -> Table:
    """A published table with the headings of `comparison_table`; columns of which it says nothing are left out."""
    short = short_names(list(taxonomy.names))
    names = [
        label.name if label is not None else key for key in table.labels for label in [taxonomy.find(key)]
    ]
    figures: list[tuple[str, list[Cell]]] = []
    for heading, name, form in (
        ("Frames", "frames", "d"),
        ("Acc", "accuracy", ".1f"),
        ("Pre", "precision", ".1f"),
        ("Rec", "recall", ".1f"),
        ("F1", "f1", ".1f"),
        ("TP", "tp", "d"),
    ):
        values = [getattr(row, name) for row in table.figures]
        if any(value is not None for value in values):
            figures.append(
                (heading, [Cell("–" if value is None else format(value, form)) for value in values])
            )
    for place, label in enumerate(names):
        cells = [Cell(f"{row.labels[place]:.1f}" if row.labels else "–") for row in table.figures]
        figures.append((short.get(label, label), cells))
    rows = [
        (row.method, "published", tuple(cells[number] for _, cells in figures))
        for number, row in enumerate(table.figures)
    ]
    meanings = {short.get(label, label): f"accuracy over the rows of {label!r}" for label in names}
    return Table(tuple(heading for heading, _ in figures), tuple(rows), meanings)


def published_tables(published: Published, taxonomy: Taxonomy) -> list[tuple[str, Table]]:
    """Every published table under a heading that says where it is from."""
    return [
        (f"Table {table.number} of {published.source}: {table.title}", published_table(table, taxonomy))
        for table in published.tables
    ]


def other_rows(runs: Sequence[tuple[str, Score]], published: Published) -> list[str]:
    """For each run of other rows than the published figures: that the two cannot be compared as they stand."""
    return [
        f"{name}: {score.rates.rows:,} rows; the published figures are of {published.rows:,}, so they are no comparison"
        for name, score in runs
        if score.rates.rows != published.rows
    ]


def _rate_cells(rates: Rates, intervals: Mapping[str, tuple[float, float]]) -> list[Cell]:
    rows = f"{rates.answered:,}" if rates.answered == rates.rows else f"{rates.answered:,}/{rates.rows:,}"
    named = ("accuracy", "precision", "recall", "f1")
    return [
        Cell(rows),
        *(Cell(percent(getattr(rates, name)), _span(intervals.get(name))) for name in named),
        Cell(f"{rates.tp:,}"),
        Cell(percent(rates.balanced_accuracy), _span(intervals.get("balanced_accuracy"))),
    ]


def _shown_blind(score: Score) -> Iterable[tuple[str, Rates]]:
    constants = [entry for entry in score.blind if entry.name.startswith("always")]
    kept = sorted(constants, key=lambda entry: -entry.rates.f1)[:1]
    kept += [entry for entry in constants if not entry.rates.tp + entry.rates.fp]
    kept += [entry for entry in score.blind if entry not in constants]
    return [(entry.name, entry.rates) for entry in dict.fromkeys(kept)]


def percent(value: float | None) -> str:
    """A rate as the published tables show it."""
    return "–" if value is None else f"{100 * value:.1f}"


def _span(found: tuple[float, float] | None) -> str:
    return "" if found is None else f"{100 * found[0]:.1f}–{100 * found[1]:.1f}"
