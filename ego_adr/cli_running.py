"""How the commands that ask models read their samples, carry out their runs, and show what came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ego_adr import console
from ego_adr.cli_options import all_as_json, listed, read_taxonomy, show_all, write_run_report
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample
    from ego_adr.evaluation.history import RecordingHistory
    from ego_adr.evaluation.metrics import Score
    from ego_adr.evaluation.predictions import Predictions
    from ego_adr.taxonomies import Taxonomy

__all__ = ["judge_runs", "read_history", "read_samples", "run_and_show"]


def read_samples(
    benchmark: str,
    data: Path | None,
    videos: Path | None,
    datasets: str | None,
    procedures: Path | None,
    taxonomy: Path | None,
    tent_times: str,
    prompts: Path | None,
    narrations: Path | None,
) -> tuple[list[Sample], Taxonomy]:
    """Every sample of a benchmark, with the taxonomy that they are judged by.

    Raises:
        InputError: there is neither a video nor a narration to judge, or no sample.
    """
    from ego_adr.benchmarks import load_samples
    from ego_adr.prompting import PromptLibrary

    known = read_taxonomy(taxonomy)
    samples = load_samples(
        benchmark,
        data=data,
        videos=videos,
        datasets=listed(datasets) if datasets else None,
        procedures=procedures,
        taxonomy=known,
        prompts=PromptLibrary(prompts),
        tent_times=tent_times,
    )
    own = Path(benchmark).suffix.casefold() == ".jsonl"
    if videos is None and narrations is None and not own:
        raise InputError("there is nothing to look at: give --videos ROOT, or --narrations FILE.")
    if not samples:
        raise InputError(f"{benchmark} holds no sample.")
    return samples, known


def read_history(
    samples: list[Sample],
    graphs: Path | None,
    logs: Path | None,
    taxonomy: Taxonomy,
    prompts: Path | None,
) -> RecordingHistory:
    """What the other steps of each recording say, and a line for each thing worth knowing about it."""
    from ego_adr.evaluation.history import RecordingHistory, read_recording_logs
    from ego_adr.prompting import PromptLibrary

    whole = None if logs is None else read_recording_logs(logs, samples)
    if whole is not None:
        console.note(
            f"history: whole recordings of {len(whole):,} of {len({s.group for s in samples}):,} videos"
        )
    found = RecordingHistory.of(
        samples, graphs=graphs, logs=whole, taxonomy=taxonomy, prompts=PromptLibrary(prompts)
    )
    for text in found.notes:
        console.note(text)
    return found


def run_and_show(
    plans: Any,
    samples: list[Sample],
    taxonomy: Taxonomy,
    out: Path,
    *,
    as_json: bool,
    benchmark: str,
    judges: list[str],
    prompts: Path | None,
    paper_counting: bool,
    resamples: int,
    report: bool,
    narrations: Path | None,
    tent_times: str,
    **how: Any,
) -> None:
    """Carry out runs, score them, write their report, and show or print everything."""
    from ego_adr.evaluation.progress import run_progress, said_before
    from ego_adr.evaluation.running import run_plans

    for line in said_before(samples, benchmark, [plan.name for plan in plans], **how):
        console.note(line)
    with run_progress() as (progress, started):
        results = run_plans(
            plans,
            samples,
            out,
            narrations=narrations,
            settings={"benchmark": benchmark, "tent_times": tent_times},
            progress=progress,
            started=started,
            **how,
        )
    for result in results:
        counts = ", ".join(f"{count:,} {status}" for status, count in result.statuses.items())
        console.note(f"{result.folder}: {result.before:,} done before, {result.done:,} now; {counts}")
        if how.get("history") is not None:
            console.note(f"{result.folder}: the history changed {result.relabelled:,} labels")
    folders = [result.folder for result in results]
    open_end = any(sample.shown.question is not None for sample in samples)
    if open_end and judges:
        judge_runs(folders, judges, prompts, 0, shown=True)
    from ego_adr.evaluation.paired import compare_to_first
    from ego_adr.evaluation.scoring import read_runs, score_runs

    scored: list[tuple[Predictions, Score]] = []
    opened: dict[str, Any] = {}
    if open_end or any(sample.truth.labels for sample in samples):
        scored, opened = score_runs(folders, taxonomy, paper_counting=paper_counting, resamples=resamples)
        read = [run for run, _ in scored]
    else:
        console.note("no sample has a label: nothing is scored")
        read, _ = read_runs(folders, taxonomy)
    pairs = compare_to_first([(run.name, run.outcomes) for run, _ in scored], taxonomy, resamples=resamples)
    written = None
    if report and read:
        written = write_run_report(read, out / "report.html", taxonomy, 200, paper_counting, resamples)
    if as_json:
        runs = [
            {
                "folder": str(result.folder),
                "total": result.total,
                "before": result.before,
                "done": result.done,
                "statuses": dict(result.statuses),
                "mended": list(result.mended),
            }
            for result in results
        ]
        console.print_json(
            {"runs": runs, **all_as_json(scored, opened, pairs), "report": written and str(written)}
        )
    else:
        show_all(scored, opened, pairs)
        if written is not None:
            console.note(f"report: {written}")
    if all(result.statuses["failed"] == result.total for result in results):
        raise typer.Exit(1)


def judge_runs(
    folders: list[Path], judges: list[str], prompts: Path | None, resamples: int, *, shown: bool
) -> dict[str, Any]:
    """Let each judge score every folder; the open-end score of each run by its name."""
    from ego_adr.evaluation.open_scores import judge_run, score_open_run
    from ego_adr.models.registry import load_model
    from ego_adr.prompting import PromptLibrary

    library = PromptLibrary(prompts)
    with console.stage_progress(shown) as progress:
        for name in judges:  # one judge at a time: two may not fit into memory together
            model = load_model(name)
            for folder in folders:
                judge_run(folder, [model], library, progress=progress)
    return {folder.name: score_open_run(folder, resamples=resamples) for folder in folders}
