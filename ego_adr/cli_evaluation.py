"""The commands that ask models: arguments in, library calls, results out. Registered by `ego_adr.cli`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    ModelOptions,
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
    model_options,
    show_all,
)
from ego_adr.cli_running import judge_runs, read_history, read_samples, run_and_show
from ego_adr.errors import InputError

__all__ = ["add_run_commands"]


def add_run_commands(app: typer.Typer) -> None:
    """Register evaluate, ablate, judge and merge."""
    for command in (evaluate, ablate, judge, merge):
        app.command()(command)


def evaluate(
    benchmark: Benchmark,
    out: Out,
    model: Annotated[str, typer.Option("--model", "-m", help="As in `ego-adr detect`.")] = "tabletop",
    loading: ModelOptions = None,
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
            "model_options": model_options(loading),
        }
        plans = [RunPlan(f"{model}, {route}", model, {**options, "route": route}) for route in wanted]
        samples, known = read_samples(
            benchmark, data, videos, datasets, procedures, taxonomy, tent_times, prompts, narrations
        )
        part = parse_shard(shard) if shard is not None else None
        # Made of all samples: the history of one is the same whatever limit or shard is run.
        history = read_history(samples, graphs, logs, known, prompts) if with_history else None
        run_and_show(
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
    loading: ModelOptions = None,
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
            options={
                "frames": frames,
                "bank_model": bank_model,
                "prompts": prompts,
                "taxonomy": taxonomy,
                "model_options": model_options(loading),
            },
        )
        samples, known = read_samples(
            benchmark, data, videos, datasets, procedures, taxonomy, "published", prompts, narrations
        )
        run_and_show(
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
        scored = judge_runs(folders, judges, prompts, resamples, shown=not as_json)
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
