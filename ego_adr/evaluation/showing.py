"""Scores on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ego_adr.evaluation.comparing import RunScore, comparison_table, other_rows, published_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ego_adr.benchmarks.checking import DataReport
    from ego_adr.evaluation.agreement import Agreement
    from ego_adr.evaluation.metrics import Score
    from ego_adr.evaluation.open_scores import OpenScore
    from ego_adr.evaluation.paired import PairedScore
    from ego_adr.evaluation.published import Published
    from ego_adr.taxonomies import Taxonomy

__all__ = ["show_agreement", "show_data", "show_open", "show_pairs", "show_published", "show_scores"]

#: So many lines of a list are shown; the JSON has them all.
_SHOWN = 10


def _table(title: str, headings: Sequence[str], *, left: int = 1) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < left else "right", no_wrap=number >= left)
    return table


def show_scores(scored: Sequence[tuple[str, Score]], console: Console) -> None:
    """The columns of tables 4 to 6 in parts that fit a terminal, and what was left out of them."""
    if not scored:
        return
    compared = comparison_table([RunScore(name, score) for name, score in scored])
    hidden = compared.headings.index("BalAcc")
    cut = compared.headings.index("MacroF1") + 1
    costs = compared.headings.index("AccAll")
    for title, span, blind in (
        ("Published metric (percent; below, 95 % intervals over videos)", slice(0, hidden), True),
        ("What it hides (percent)", slice(hidden, cut), True),
        ("Accuracy by label (percent)", slice(cut, costs), False),
        ("Left out, and cost", slice(costs, None), False),
    ):
        headings = compared.headings[span]
        if not headings:
            continue
        table = _table(title, ["Run", *headings])
        for name, kind, cells in compared.rows:
            if kind == "blind" and not blind:
                continue
            shown = [
                cell.text + (f"\n[dim]{cell.interval}[/dim]" if cell.interval else "") for cell in cells[span]
            ]
            table.add_row(_plain(name), *shown, style="dim" if kind == "blind" else None)
        console.print(table)
    console.print("Dim rows look at nothing; they answer the same rows without opening a clip.", style="dim")
    for name, score in scored:
        lines = [*score.warnings]
        lines += [f"{count:,} unparsed: {cause}" for cause, count in score.unparsed.items()]
        lines += [f"{count:,} failed: {cause}" for cause, count in score.failed.items()]
        for line in lines[: 2 * _SHOWN]:
            console.print(f"{name}: {line}", markup=False, style="yellow")
    if len(scored) == 1 and scored[0][1].subsets:
        table = _table("Parts (percent)", ["Part", "Rows", "Acc", "Pre", "Rec", "F1", "BalAcc"])
        for part, rates in scored[0][1].subsets.items():
            figures = (rates.accuracy, rates.precision, rates.recall, rates.f1, rates.balanced_accuracy)
            table.add_row(
                _plain(part), f"{rates.rows:,}", *("–" if v is None else f"{100 * v:.1f}" for v in figures)
            )
        console.print(table)


def show_published(
    published: Published, taxonomy: Taxonomy, scored: Sequence[tuple[str, Score]], console: Console
) -> None:
    """The published tables, apart from the runs and named as what they are."""
    for table in published.tables:
        found = published_table(table, taxonomy)
        cut = len(found.headings) - len(table.labels)
        said = f"Published, not measured here: {published.source}, table {table.number}"
        # In two parts, as the runs above: one would leave no room for the names on a narrow terminal.
        for title, columns in (
            (f"{said}, {table.title} (percent)", range(cut)),
            (f"{said}, accuracy by label (percent)", [0, *range(cut, len(found.headings))]),
        ):
            if len(columns) == 1:
                continue
            shown = _table(title, ["Method", *(found.headings[n] for n in columns)])
            for name, _, cells in found.rows:
                if all(cells[n].text == "–" for n in columns):
                    continue
                shown.add_row(_plain(name), *(cells[n].text for n in columns), style="dim")
            console.print(shown)
    console.print(
        f"Published figures are those of the paper's authors, over all {published.rows:,} rows, by their own counting "
        "(--paper-counting).",
        style="dim",
    )
    for line in other_rows(scored, published):
        console.print(line, markup=False, style="yellow")


def show_pairs(pairs: Sequence[PairedScore], console: Console) -> None:
    """Differences to the first run, row by row; a table a run."""
    for pair in pairs:
        table = _table(
            f"{_plain(pair.second)} less {_plain(pair.first)}, on the {pair.rows:,} rows that both answered",
            ["Percent", "First", "Second", "Difference", "95 % interval"],
        )
        for metric, found in pair.metrics.items():
            span = found.interval
            table.add_row(
                metric.replace("_", " "),
                f"{100 * found.first:.1f}",
                f"{100 * found.second:.1f}",
                f"{100 * found.difference:+.1f}",
                f"{100 * span[0]:+.1f} to {100 * span[1]:+.1f}" if span else "–",
            )
        console.print(table)
        p = "p < 0.001" if pair.p_value < 0.001 else f"p = {pair.p_value:.3f}"
        console.print(
            f"only the first right: {pair.only_first:,}; only the second: {pair.only_second:,} (exact McNemar, {p})",
            style="dim",
        )


def show_open(scored: Mapping[str, OpenScore], console: Console) -> None:
    """Table 3: a column a data set, Avg-Sim, the judges apart."""
    if not scored:
        return
    datasets = list(dict.fromkeys(name for score in scored.values() for name in score.datasets))
    scenes = {
        name: str(score.datasets[name]["scene"]) for score in scored.values() for name in score.datasets
    }
    table = _table(
        "Open-end answers: similarity by the judges, 0 to 5",
        [
            "Run",
            "Rows",
            *(scenes[name] or "all" for name in datasets),
            "Avg-Sim",
            "unanswered as 0",
            "judges",
        ],
    )
    for name, score in scored.items():
        spans = f"\n[dim]{score.interval[0]:.2f}–{score.interval[1]:.2f}[/dim]" if score.interval else ""
        means = [score.datasets.get(dataset, {}).get("mean") for dataset in datasets]
        table.add_row(
            _plain(name),
            f"{score.rows:,}",
            *(_two(mean) for mean in means),
            _two(score.avg_sim) + spans,
            _two(score.avg_sim_unanswered_zero),
            ", ".join(f"{_plain(judge)} {_two(mean)}" for judge, mean in score.judges.items())
            or "not judged yet",
        )
    console.print(table)
    for name, score in scored.items():
        for cause, count in [*score.unparsed.items(), *score.failed.items()]:
            console.print(
                f"{name}: {count:,} questions without an answer: {cause}", markup=False, style="yellow"
            )
        for judge, causes in score.judge_errors.items():
            for cause, count in causes.items():
                console.print(
                    f"{name}: {count:,} errors of judge {judge}: {cause}", markup=False, style="yellow"
                )


def show_data(report: DataReport, console: Console) -> None:
    """What a look through the data found."""
    sets = ", ".join(f"{name or 'no name'} {count:,}" for name, count in report.datasets.items())
    console.print(f"{report.samples:,} samples of {report.videos:,} videos ({sets})", markup=False)
    if report.labels:
        console.print("labels: " + ", ".join(f"{n} {c:,}" for n, c in report.labels.items()), markup=False)
    parts: list[tuple[str, Sequence[str], str]] = [
        ("rows that cannot be read", report.unreadable, "red"),
        ("missing videos", report.missing_videos, "red"),
        ("samples without a procedure", report.no_procedure, "red"),
        ("samples without a label", report.no_label, "red"),
        ("samples without usable times, or with a video that cannot be opened", report.no_times, "red"),
        ("times that will be swapped or clamped", report.bad_times, "yellow"),
        ("groups that show the same and carry different labels", report.conflicts, "yellow"),
        ("groups of duplicates", report.duplicates, "yellow"),
        ("samples without an action text", report.no_action, "yellow"),
    ]
    for title, found, colour in parts:
        if not found:
            continue
        console.print(f"{len(found):,} {title}", style=colour)
        for line in found[:_SHOWN]:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if len(found) > _SHOWN:
            console.print(f"  ... and {len(found) - _SHOWN:,} more (--json lists all)", style="dim")
    for note, count in report.notes.items():
        console.print(f"{count:,} times: {note}", markup=False, style="dim")
    if report.ok:
        console.print("Every sample can be asked and scored.", style="green")


def show_agreement(found: Agreement, console: Console) -> None:
    """Pairs of raters, and judges against what most people said."""
    table = _table("Agreement", ["Raters", "", "Items", "kappa", "weighted kappa", "Pearson"], left=2)
    for pair in [*found.pairs, *found.consensus.values()]:
        figures = (pair.kappa, pair.weighted_kappa, pair.pearson)
        table.add_row(
            _plain(pair.first), _plain(pair.second), f"{pair.items:,}", *(_three(value) for value in figures)
        )
    console.print(table)
    if found.mean_kappa is not None:
        console.print(f"mean kappa among people: {found.mean_kappa:.3f}")


def _plain(text: str) -> str:
    """A name that may hold square brackets, as rich shows it and not as markup."""
    from rich.markup import escape

    return escape(text)


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
