"""The commands that ask models: arguments in, library calls, results out. Registered by `ego_adr.cli`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ego_adr import console
from ego_adr.cli_options import (
    Benchmark,
    Data,
    Datasets,
    Frames,
    Graphs,
    Json,
    Limit,
    Logs,
    Narrations,
    Out,
    PaperCounting,
    Procedures,
    Prompts,
    Resamples,
    RetryFailed,
    Seed,
    TaxonomyFile,
    TentTimes,
    Videos,
    WithHistory,
    all_as_json,
    listed,
    read_taxonomy,
    show_all,
    write_run_report,
)
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample
    from ego_adr.evaluation.history import RecordingHistory
    from ego_adr.evaluation.metrics import Score
    from ego_adr.evaluation.predictions import Predictions
    from ego_adr.taxonomies import Taxonomy

__all__ = ["add_run_commands"]


def add_run_commands(app: typer.Typer) -> None:
    """Register evaluate, ablate, judge and merge."""
    for command in (evaluate, ablate, judge, merge):
        app.command()(command)


def evaluate(
    benchmark: Benchmark,
    out: Out,
    model: Annotated[str, typer.Option("--model", "-m", help="As in `ego-adr detect`.")] = "tabletop",
    routes: Annotated[
        str, typer.Option(help="auto, deep, shallow, single-pass, cot: one or several, by commas.")
    ] = "auto",
    data: Data = None,
    videos: Videos = None,
    datasets: Datasets = None,
    procedures: Procedures = None,
    narrations: Narrations = None,
    limit: Limit = None,
    seed: Seed = 0,
    shard: Annotated[
        str | None, typer.Option(help="2/8: the second of eight parts; put together by merge.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with a run that is there.")
    ] = True,
    retry_failed: RetryFailed = True,
    frames: Frames = 8,
    bank_model: Annotated[str | None, typer.Option(help="Another model that cuts prose into steps.")] = None,
    match: Annotated[str, typer.Option(help="auto | published | recommended | off")] = "auto",
    narrate: Annotated[bool, typer.Option(help="Leave the narration out (ablation).")] = True,
    black_image: Annotated[bool, typer.Option(help="Send text prompts with a black picture.")] = False,
    decide: Annotated[str, typer.Option(help="text | score | two-step")] = "text",
    calibrate: Annotated[bool, typer.Option(help="With scores: subtract the content-free prior.")] = False,
    judges: Annotated[
        list[str] | None,
        typer.Option("--judge", help="Open-end: a text model that scores the answers; give two."),
    ] = None,
    with_history: WithHistory = False,
    graphs: Graphs = None,
    logs: Logs = None,
    tent_times: TentTimes = "published",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Requests a batch.")] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Samples between two writes to disk.")] = 32,
    prompts: Prompts = None,
    taxonomy: TaxonomyFile = None,
    cache: Annotated[bool, typer.Option(help="Keep and reuse the model's replies.")] = True,
    paper_counting: PaperCounting = False,
    resamples: Resamples = 2000,
    report: Annotated[bool, typer.Option(help="Write an HTML report beside the runs.")] = True,
    as_json: Json = False,
) -> None:
    """Run a benchmark: a line a sample on disk as it goes, resumed after any end, scored when done."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.runner import parse_shard
        from ego_adr.evaluation.running import RunPlan

        if (graphs is not None or logs is not None) and not with_history:
            raise InputError(
                "--graphs and --logs go with --with-history; without it no other step is looked at."
            )
        wanted = listed(routes)
        options = {
            "frames": frames,
            "bank_model": bank_model,
            "match": match,
            "narrate": narrate,
            "black_image": black_image,
            "decide": decide,
            "calibrate": calibrate,
            "batch_size": batch_size,
            "prompts": prompts,
            "taxonomy": taxonomy,
            "cache": cache,
        }
        plans = [RunPlan(f"{model}, {route}", model, {**options, "route": route}) for route in wanted]
        samples, known = _samples(
            benchmark, data, videos, datasets, procedures, taxonomy, tent_times, prompts, narrations
        )
        part = parse_shard(shard) if shard is not None else None
        # Made of all samples: the history of one is the same whatever limit or shard is run.
        history = _history(samples, graphs, logs, known, prompts) if with_history else None
        _run(
            plans,
            samples,
            known,
            out,
            as_json=as_json,
            benchmark=benchmark,
            judges=judges or [],
            prompts=prompts,
            paper_counting=paper_counting,
            resamples=resamples,
            report=report,
            narrations=narrations,
            tent_times=tent_times,
            history=history,
            limit=limit,
            seed=seed,
            shard=part,
            resume=resume,
            retry_failed=retry_failed,
            chunk=chunk,
        )


def ablate(
    benchmark: Benchmark,
    out: Out,
    models: Annotated[
        list[str], typer.Option("--model", "-m", help="Give it several times for several models.")
    ],
    routes: Annotated[str, typer.Option(help="The levels of table 5, by commas.")] = "deep,shallow,cot",
    grid: Annotated[
        str, typer.Option(help="levels (route x model, table 5) | stages (match x narration, table 6) | both")
    ] = "both",
    data: Data = None,
    videos: Videos = None,
    datasets: Datasets = None,
    procedures: Procedures = None,
    narrations: Narrations = None,
    limit: Limit = None,
    seed: Seed = 0,
    retry_failed: RetryFailed = True,
    frames: Frames = 8,
    bank_model: Annotated[str | None, typer.Option(help="Another model that cuts prose into steps.")] = None,
    prompts: Prompts = None,
    taxonomy: TaxonomyFile = None,
    paper_counting: PaperCounting = False,
    resamples: Resamples = 2000,
    as_json: Json = False,
) -> None:
    """Run the grids of tables 5 and 6: route x model, and key-step match x narration."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.running import ablation_plans

        if grid not in ("levels", "stages", "both"):
            raise InputError(f"--grid {grid!r} is not allowed; it is levels, stages or both.")
        plans = ablation_plans(
            models,
            routes=listed(routes),
            levels=grid != "stages",
            stages=grid != "levels",
            options={"frames": frames, "bank_model": bank_model, "prompts": prompts, "taxonomy": taxonomy},
        )
        samples, known = _samples(
            benchmark, data, videos, datasets, procedures, taxonomy, "published", prompts, narrations
        )
        _run(
            plans,
            samples,
            known,
            out,
            as_json=as_json,
            benchmark=benchmark,
            judges=[],
            prompts=prompts,
            paper_counting=paper_counting,
            resamples=resamples,
            report=True,
            narrations=narrations,
            tent_times="published",
            limit=limit,
            seed=seed,
            retry_failed=retry_failed,
        )


def judge(
    paths: Annotated[list[Path], typer.Argument(help="Folders of open-end runs.")],
    judges: Annotated[
        list[str], typer.Option("--judge", help="A text model that scores the answers; give two.")
    ],
    prompts: Prompts = None,
    resamples: Resamples = 2000,
    as_json: Json = False,
) -> None:
    """Let judges score the answers of open-end runs, 0 to 5 with a reason."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.predictions import find_logs

        folders = [log.parent for path in paths for log in find_logs(path)]
        scored = _judge(folders, judges, prompts, resamples, shown=not as_json)
        if as_json:
            console.print_json(all_as_json([], scored, []))
        else:
            show_all([], scored, [])


def merge(
    paths: Annotated[list[Path], typer.Argument(help="Folders of the shards of one run.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    as_json: Json = False,
) -> None:
    """Put the shards of a run together; every sample counts once."""
    with console.report_errors(as_json):
        from ego_adr.evaluation.merging import merge_runs, shards_by_run

        merged = []
        for name, folders in shards_by_run(paths).items():
            count, notes = merge_runs(folders, out / name)
            merged.append({"folder": str(out / name), "samples": count, "notes": notes})
            for note in notes:
                console.note(note)
        if as_json:
            console.print_json({"runs": merged})
        else:
            for run in merged:
                console.out().print(f"{run['samples']:,} samples in {run['folder']}", markup=False)


# ------------------------------------------------------------------------------------------------- pieces


def _samples(
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


def _history(
    samples: list[Sample],
    graphs: Path | None,
    logs: Path | None,
    taxonomy: Taxonomy,
    prompts: Path | None,
) -> RecordingHistory:
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


def _run(
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
        _judge(folders, judges, prompts, 0, shown=True)
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


def _judge(
    folders: list[Path], judges: list[str], prompts: Path | None, resamples: int, *, shown: bool
) -> dict[str, Any]:
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
