"""What the commands of the evaluation share: options, and what is shown when they are done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ego_adr import console
from ego_adr.errors import InputError
from ego_adr.reading import yaml_value

if TYPE_CHECKING:
    from ego_adr.evaluation.metrics import Score
    from ego_adr.evaluation.paired import PairedScore
    from ego_adr.evaluation.predictions import Predictions
    from ego_adr.taxonomies import Taxonomy

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else there.")]
Benchmark = Annotated[
    str,
    typer.Argument(
        help="egoerrorvqa | egoerrorvqa-open | a .jsonl file of your own | a published .json file"
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the benchmark's files (default: EGO_ADR_DATA).", envvar="EGO_ADR_DATA"),
]
Videos = Annotated[Path | None, typer.Option(help="Root of the videos.")]
Datasets = Annotated[str | None, typer.Option(help="A part of the data sets, by commas.")]
Procedures = Annotated[Path | None, typer.Option(help="A JSON file of task -> procedure text.")]
TentTimes = Annotated[
    str, typer.Option(help="published | gopro: Epic-Tent's seconds as published, or from the camera's codes.")
]
TaxonomyFile = Annotated[Path | None, typer.Option("--taxonomy", help="A taxonomy file of your own.")]
PaperCounting = Annotated[
    bool,
    typer.Option(
        "--paper-counting", help="Count as the published evaluator does, its three habits included."
    ),
]
Resamples = Annotated[
    int, typer.Option(min=0, help="Resamples of the bootstrap over videos; 0 leaves intervals out.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs; one below it for each.")]
ModelOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        "-M",
        metavar="KEY=VALUE",
        help="An option of the model's loader, several times for several: -M dtype=bf16 -M max_pixels=200704 (hf), "
        "-M concurrency=16 (servers). A wrong one lists all.",
    ),
]
Prompts = Annotated[Path | None, typer.Option(help="A folder that overrides single prompt files.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="So many samples in all, over all data sets together.")
]
Seed = Annotated[int, typer.Option(help="Which samples a limit takes; the same seed, the same samples.")]
Narrations = Annotated[
    Path | None,
    typer.Option(help="Narrations by id, or by video and time, that replace the model's; no video needed."),
]
Frames = Annotated[int, typer.Option(min=1, help="Pictures taken from each clip.")]
RetryFailed = Annotated[
    bool,
    typer.Option("--retry-failed/--no-retry-failed", help="Ask failed samples again when a run goes on."),
]
WithHistory = Annotated[
    bool,
    typer.Option(
        "--with-history", help="Join the earlier steps of the recording (words and times) to each verdict."
    ),
]
Graphs = Annotated[
    Path | None,
    typer.Option(
        help="With --with-history: a folder of task graphs (mugcake.json for the task Mug Cake), in place of the "
        "order that the procedures' texts show."
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(
        help="With --with-history: a folder of logs of whole recordings (28_7.csv for the video 28_7: step, "
        "start, end), for a benchmark whose rows are a few of a recording's steps."
    ),
]


def listed(text: str) -> list[str]:
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise InputError(f"{text!r} names nothing; write names with commas between them.")
    return found


def model_options(given: list[str] | None) -> dict[str, Any]:
    """``KEY=VALUE`` arguments as keyword arguments of a loader; values are read as YAML (numbers, true, {a: b}).

    Raises:
        InputError: an argument without a key or with a value that is no YAML, or a key that comes twice.
    """
    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise InputError(f"--model-option {text!r}: write it as KEY=VALUE, for example dtype=bf16.")
        if key in found:
            raise InputError(f"--model-option {key} is given twice.")
        try:
            found[key] = yaml_value(value, "the value")
        except InputError as exc:
            raise InputError(f"--model-option {text!r}: {exc} Or put it in quotes.") from exc
    return found


def read_taxonomy(path: Path | None) -> Taxonomy:
    from ego_adr.taxonomies import Taxonomy

    return Taxonomy.load(path)


def write_run_report(
    runs: list[Predictions],
    out: Path,
    taxonomy: Any,
    pictures: int,
    paper_counting: bool,
    resamples: int,
    published: bool = False,
) -> Path:
    from ego_adr.evaluation.report import write_report
    from ego_adr.taxonomies import Taxonomy

    known = taxonomy if isinstance(taxonomy, Taxonomy) else read_taxonomy(taxonomy)
    return write_report(
        runs,
        out,
        taxonomy=known,
        title=" and ".join(run.name for run in runs) if len(runs) < 3 else f"{len(runs)} runs",
        pictures=pictures,
        paper_counting=paper_counting,
        resamples=resamples,
        published=published,
    )


def show_all(
    scored: list[tuple[Predictions, Score]], open_end: dict[str, Any], pairs: list[PairedScore]
) -> None:
    from ego_adr.evaluation.showing import show_open, show_pairs, show_scores

    out = console.out()
    show_scores([(run.name, found) for run, found in scored], out)
    show_pairs(pairs, out)
    show_open(open_end, out)


def all_as_json(
    scored: list[tuple[Predictions, Score]], open_end: dict[str, Any], pairs: list[PairedScore]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "scores": [{"name": run.name, **score.model_dump(mode="json")} for run, score in scored],
    }
    if pairs:
        found["differences"] = [pair.model_dump(mode="json") for pair in pairs]
    if open_end:
        found["open_end"] = [
            {"name": name, **score.model_dump(mode="json")} for name, score in open_end.items()
        ]
    return found
