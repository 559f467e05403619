"""One HTML file that shows runs: figures, plots, confusion matrices, and every sample with what led to its label.

The file holds everything it needs (pictures, styles, script) and opens from disk without a network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ego_adr.errors import DataError
from ego_adr.evaluation.comparing import (
    RunScore,
    comparison_table,
    other_rows,
    percent,
    published_tables,
    short_names,
)
from ego_adr.evaluation.metrics import Score, score_outcomes
from ego_adr.evaluation.outcomes import Outcome, label_reader, outcome_of, truth_names
from ego_adr.evaluation.paired import compare_to_first
from ego_adr.evaluation.pictures import Pictures
from ego_adr.evaluation.plots import Point, bars, scatter
from ego_adr.evaluation.published import published_figures
from ego_adr.evaluation.sample_data import Entry, sample_data
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Detection

if TYPE_CHECKING:
    from ego_adr.evaluation.predictions import Predictions

__all__ = ["ReportRun", "write_report"]

_TEMPLATES = Path(__file__).resolve().parent / "templates"
#: Differences to the first run are shown for so many runs; more would bury the table.
_MOST_PAIRS = 12


@dataclass(frozen=True)
class ReportRun:
    """One run as the report takes it.

    Attributes:
        name: shown everywhere.
        entries: one a sample, in order.
        score: None when no truth is known.
        outcomes: what the score was made of.
        settings: of the run, shown as they are.
    """

    name: str
    entries: Sequence[Entry]
    score: Score | None = None
    outcomes: Sequence[Outcome] = ()
    settings: Mapping[str, Any] | None = None


def write_report(
    runs: Mapping[str, Sequence[Detection]] | Sequence[Detection] | Sequence[Predictions],
    path: str | PathLike[str],
    *,
    truths: Mapping[str, Sequence[str] | str] | None = None,
    frames: Mapping[str, Sequence[Any]] | None = None,
    taxonomy: Taxonomy | None = None,
    title: str = "Ego-ADR report",
    pictures: int = 200,
    paper_counting: bool = False,
    resamples: int = 2000,
    published: bool = False,
) -> Path:
    """Write the report of one or more runs.

    Args:
        runs: detections by name of the run, one run's detections, or predictions that were read from disk.
        path: the HTML file; its folder is made.
        truths: id -> label or labels. Without them there are no figures, only samples. Predictions bring
            their own.
        frames: id -> pictures (frames, H x W x 3 uint8 arrays or PIL images) of samples whose clip is no file.
        pictures: for how many samples the clip is opened and shown; 0 shows none. The report says how many.
        paper_counting, resamples: as in `score_outcomes`.
        published: show the published tables below the figures, named as what they are.

    Returns:
        The path of the file.

    Raises:
        DataError: when there is no sample, or a truth is no label.
    """
    labels = taxonomy if taxonomy is not None else Taxonomy.load()
    prepared = [
        *_prepare(runs, labels, truths, paper_counting=paper_counting, resamples=resamples),
    ]
    if not any(run.entries for run in prepared):
        raise DataError(
            "there is no sample to report. Give detections, or the folder of a run that holds some."
        )
    album = Pictures(given=frames or {}, limit=pictures)
    data = sample_data([(run.name, run.entries) for run in prepared], labels, album)
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(_page(prepared, data, labels, title, album, resamples, published), encoding="utf-8")
    return place


def _prepare(
    runs: Any,
    taxonomy: Taxonomy,
    truths: Mapping[str, Sequence[str] | str] | None,
    *,
    paper_counting: bool,
    resamples: int,
) -> list[ReportRun]:
    named: list[tuple[str, Any]]
    if isinstance(runs, Mapping):
        named = list(runs.items())
    elif runs and isinstance(runs[0], Detection):
        named = [(f"{runs[0].model} · {runs[0].route}", runs)]
    else:
        named = [(run.name, run) for run in runs]
    found = []
    for name, held in named:
        entries, outcomes, settings, notes = (
            _from_detections(held, taxonomy, truths or {})
            if isinstance(held, Sequence)
            else _from_predictions(held)
        )
        score = None
        if any(outcome.truth for outcome in outcomes):
            score = score_outcomes(
                outcomes, taxonomy, paper_counting=paper_counting, resamples=resamples, notes=notes
            )
        found.append(ReportRun(name, entries, score, outcomes, settings))
    return found


def _from_detections(
    detections: Sequence[Detection], taxonomy: Taxonomy, truths: Mapping[str, Sequence[str] | str]
) -> tuple[list[Entry], list[Outcome], Mapping[str, Any], tuple[str, ...]]:
    read = label_reader(taxonomy)
    entries: list[Entry] = []
    outcomes: list[Outcome] = []
    for number, detection in enumerate(detections):
        name = detection.id if detection.id is not None else f"sample {number + 1}"
        truth: tuple[str, ...] = ()
        if name in truths:
            given = truths[name]
            listed = given if isinstance(given, str) else list(given)
            truth = truth_names(listed, read, f"truth of {name!r}", taxonomy.names)
            outcomes.append(outcome_of(detection, truth, taxonomy.correct.name, id=name))
        entries.append(Entry(name, detection, truth))
    return entries, outcomes, {}, ()


def _from_predictions(
    held: Predictions,
) -> tuple[list[Entry], list[Outcome], Mapping[str, Any], tuple[str, ...]]:
    entries = [
        Entry(outcome.id, held.detection(outcome), outcome.truth, outcome.dataset, outcome.giveaways)
        for outcome in held.outcomes
    ]
    return entries, list(held.outcomes), held.settings, held.notes


# ------------------------------------------------------------------------------------------------ the page


def _page(
    runs: Sequence[ReportRun],
    data: Mapping[str, Any],
    taxonomy: Taxonomy,
    title: str,
    album: Pictures,
    resamples: int,
    published: bool,
) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    scored = [(run, run.score) for run in runs if run.score is not None]
    table = comparison_table([RunScore(run.name, score) for run, score in scored]) if scored else None
    known = published_figures() if published and scored else None
    return environment.get_template("report.html.j2").render(
        title=title,
        runs=runs,
        scored=[run for run, _ in scored],
        table=table,
        plots=_plots(runs) if scored else [],
        pairs=compare_to_first(
            [(run.name, run.outcomes) for run, _ in scored[: _MOST_PAIRS + 1]], taxonomy, resamples=resamples
        ),
        published=published_tables(known, taxonomy) if known else [],
        other_rows=other_rows([(run.name, score) for run, score in scored], known) if known else [],
        short=short_names(list(taxonomy.names)),
        samples=len(data["samples"]),
        pictures=album.note(),
        data=Markup(_script_safe(data)),
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup((_TEMPLATES / "report.js").read_text(encoding="utf-8")),
    )


def _script_safe(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element it stands in, whatever a model said."""
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in ("<", ">", "&", "\u2028", "\u2029"):
        plain = plain.replace(sign, f"\\u{ord(sign):04x}")
    return plain.encode("utf-8", "replace").decode("utf-8")


def _plots(runs: Sequence[ReportRun]) -> list[tuple[str, Markup, str]]:
    """(heading, picture, how to read it) of every plot."""
    published: list[Point] = []
    plain: list[Point] = []
    first = next(run.score for run in runs if run.score is not None)
    for entry in first.blind:
        rates = entry.rates
        published.append(Point(entry.name, rates.recall, rates.precision))
        if rates.error_recall is not None and rates.specificity is not None:
            plain.append(Point(entry.name, 1 - rates.specificity, rates.error_recall))
    for number, run in enumerate(runs):
        if run.score is None:
            continue
        rates, spans = run.score.rates, run.score.intervals
        published.append(
            Point(
                run.name, rates.recall, rates.precision, spans.get("recall"), spans.get("precision"), number
            )
        )
        if rates.error_recall is not None and rates.specificity is not None:
            low_high = spans.get("specificity")
            alarms = None if low_high is None else (1 - low_high[1], 1 - low_high[0])
            plain.append(
                Point(
                    run.name,
                    1 - rates.specificity,
                    rates.error_recall,
                    alarms,
                    spans.get("error_recall"),
                    number,
                )
            )
    present = [label for label, entry in first.labels.items() if entry.occurrences]
    by_label = [
        (
            f"{label} ({first.labels[label].occurrences:,})",
            [run.score.labels[label].accuracy if run.score else None for run in runs],
        )
        for label in present
    ]
    return [
        (
            "Published metric",
            scatter(
                published,
                x_title="recall, %",
                y_title="precision, %",
                label="Precision by recall",
                iso_f1=True,
            ),
            "Grey diamonds look at nothing. A constant error label has a recall of 100: an error found as the "
            "wrong type is no miss in this metric.",
        ),
        (
            "Error or not",
            scatter(
                plain,
                x_title="false alarms, %",
                y_title="errors flagged, %",
                label="Errors by alarms",
                diagonal=True,
            ),
            "Type set aside: how many of the errors are flagged, against how many of the correct steps are. "
            "On the diagonal the answer tells nothing about the clip.",
        ),
        (
            "Accuracy by label",
            bars(by_label, label="Accuracy by label"),
            "Over the occurrences of the label; a row with several labels is met by any of them.",
        ),
    ]
