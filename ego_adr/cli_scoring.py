"""The commands that need no model: score, compare, check-data, agreement. Registered by `ego_adr.cli`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ego_adr import console
from ego_adr.cli_options import (
    Benchmark,
    Data,
    Datasets,
    Json,
    PaperCounting,
    Procedures,
    Resamples,
    TaxonomyFile,
    TentTimes,
    Videos,
    all_as_json,
    listed,
    read_taxonomy,
    show_all,
    write_run_report,
)

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample
    from ego_adr.evaluation.metrics import Score
    from ego_adr.evaluation.predictions import Predictions

__all__ = ["add_score_commands"]


def add_score_commands(app: typer.Typer) -> None:
    """Register score, compare, check-data and agreement."""
    for command in (score, compare, check_data, agreement):
        app.command()(command)


def score(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of runs, or .jsonl and .json files of predictions.")
    ],
    benchmark: Annotated[
        str, typer.Option(help="Where the truth is for rows that do not carry it.")
    ] = "egoerrorvqa",
    data: Data = None,
    taxonomy: TaxonomyFile = None,
    paper_counting: PaperCounting = False,
    resamples: Resamples = 2000,
    as_json: Json = False,
) -> None:
    """Score predictions, without a model: the published metric, and beside it what it hides."""
    with console.report_errors(as_json):
        scored, open_end = _scored(paths, benchmark, data, taxonomy, paper_counting, resamples)
        if as_json:
            console.print_json(all_as_json(scored, open_end, []))
        else:
            show_all(scored, open_end, [])


def compare(
    paths: Annotated[list[Path], typer.Argument(help="Folders of runs, or files of predictions.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML report.")] = Path("compare.html"),
    benchmark: Annotated[
        str, typer.Option(help="Where the truth is for rows that do not carry it.")
    ] = "egoerrorvqa",
    data: Data = None,
    taxonomy: TaxonomyFile = None,
    pictures: Annotated[
        int, typer.Option(min=0, help="For how many samples the clip is opened and shown.")
    ] = 200,
    paper_counting: PaperCounting = False,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="Show the paper's own tables below, in the report too, marked as published."
        ),
    ] = False,
    resamples: Resamples = 2000,
    as_json: Json = False,
) -> None:
    """Put runs side by side: one table, paired differences, and an HTML report that needs nothing else."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.paired import compare_to_first

        scored, open_end = _scored(paths, benchmark, data, taxonomy, paper_counting, resamples)
        runs = [(run.name, run.outcomes) for run, _ in scored]
        pairs = compare_to_first(runs, read_taxonomy(taxonomy), resamples=resamples)
        written = None
        if scored:
            written = write_run_report(
                [run for run, _ in scored], out, taxonomy, pictures, paper_counting, resamples, published
            )
        if as_json:
            found = all_as_json(scored, open_end, pairs) | {"report": written and str(written)}
            console.print_json(found | (_published_json() if published else {}))
        else:
            show_all(scored, open_end, pairs)
            if published:
                from ego_adr.evaluation.published import published_figures
                from ego_adr.evaluation.showing import show_published

                runs_shown = [(run.name, one) for run, one in scored]
                show_published(published_figures(), read_taxonomy(taxonomy), runs_shown, console.out())
            if written is not None:
                console.note(f"report: {written}")


def check_data(
    benchmark: Benchmark,
    data: Data = None,
    videos: Videos = None,
    datasets: Datasets = None,
    procedures: Procedures = None,
    open_videos: Annotated[
        bool, typer.Option("--open-videos", help="Open every video and compare the times.")
    ] = False,
    tent_times: TentTimes = "published",
    taxonomy: TaxonomyFile = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write what is shown of every sample (id, video, times, action) as JSONL."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Look through data before hours are spent: missing videos, bad times, conflicts, duplicates."""
    with console.report_errors(as_json):
        from ego_adr.benchmarks import load_samples
        from ego_adr.benchmarks.checking import check_data as look_through
        from ego_adr.evaluation.showing import show_data

        faults: list[str] = []
        samples = load_samples(
            benchmark,
            data=data,
            videos=videos,
            datasets=listed(datasets) if datasets else None,
            procedures=procedures,
            taxonomy=read_taxonomy(taxonomy),
            tent_times=tent_times,
            faults=faults,
        )
        own = Path(benchmark).suffix.casefold() == ".jsonl"
        found = look_through(
            samples, videos=videos is not None or own, open_videos=open_videos, faults=faults
        )
        if write is not None:
            _write_samples(samples, write)
        if as_json:
            console.print_json({**found.model_dump(mode="json"), "ok": found.ok})
        else:
            show_data(found, console.out())
            if videos is None and not own:
                console.note("videos were not looked for: give --videos")
        if not found.ok:
            raise typer.Exit(1)


def agreement(
    paths: Annotated[
        list[Path], typer.Argument(help="Judgements of runs, and files of people's scores (JSONL, CSV).")
    ],
    people: Annotated[str, typer.Option(help="Which raters are people, by commas.")] = "",
    as_json: Json = False,
) -> None:
    """Do judges agree with people? Cohen's kappa between raters, Pearson against what most people said."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.agreement import agreement as compare_raters
        from ego_adr.evaluation.agreement import read_ratings
        from ego_adr.evaluation.showing import show_agreement

        found = compare_raters(read_ratings(paths), people=listed(people) if people else [])
        if as_json:
            console.print_json(found.model_dump(mode="json"))
        else:
            show_agreement(found, console.out())


# ------------------------------------------------------------------------------------------------- pieces


def _scored(
    paths: list[Path],
    benchmark: str,
    data: Path | None,
    taxonomy: Path | None,
    paper_counting: bool,
    resamples: int,
) -> tuple[list[tuple[Predictions, Score]], dict[str, Any]]:
    from ego_adr.benchmarks import load_samples
    from ego_adr.errors import DataError
    from ego_adr.evaluation.scoring import score_runs

    known = read_taxonomy(taxonomy)
    how = {"paper_counting": paper_counting, "resamples": resamples}
    try:
        return score_runs(paths, known, **how)  # type: ignore[arg-type]
    except DataError:
        # Rows without a truth of their own take the benchmark's, where its files are at hand.
        if data is None and benchmark == "egoerrorvqa":
            raise
        samples = load_samples(benchmark, data=data, taxonomy=known)
        return score_runs(paths, known, samples=samples, **how)  # type: ignore[arg-type]


def _published_json() -> dict[str, Any]:
    from ego_adr.evaluation.published import published_figures

    return {"published": published_figures().model_dump(mode="json", exclude_none=True)}


def _write_samples(samples: list[Sample], path: Path) -> None:
    import json

    with path.open("w", encoding="utf-8", newline="\n") as file:
        for sample in samples:
            shown = sample.shown
            line = {"id": sample.id, "video": shown.video, "start": shown.start, "end": shown.end}
            file.write(
                json.dumps({**line, "task": shown.task, "action": shown.action}, ensure_ascii=False) + "\n"
            )
