"""The command line: arguments in, library calls, results out. Everything heavy is imported inside a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ego_adr import console
from ego_adr.agents.commands import add_agent_commands
from ego_adr.cli_evaluation import add_run_commands
from ego_adr.cli_options import Json, ModelOptions, Prompts, TaxonomyFile, model_options
from ego_adr.cli_scoring import add_score_commands
from ego_adr.cli_sessions import add_session_commands
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.types import ProcedureBank

__all__ = ["app", "main"]

app = typer.Typer(
    name="ego-adr",
    help="Was this step of the procedure done right? Ego-ADR over first-person video.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="tabletop | hf:ORG/NAME | path of a checkpoint | openai:NAME | http://host:port/v1#NAME | a2a:http://...",
    ),
]
Granularity = Literal["sentence", "clause", "phrase"]
Procedure = Annotated[str, typer.Option("--procedure", "-p", help="The procedure: a file, or its text.")]


def _version(wanted: bool) -> None:
    if wanted:
        from ego_adr import __version__

        typer.echo(f"ego-adr {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Set the ground for every command."""


def file_or_text(given: str) -> Path | str:
    """A procedure argument: the path of a file that exists, or the text itself.

    Raises:
        InputError: when it looks like a file name and there is no such file.
    """
    looks_like_a_file = "\n" not in given and len(given) < 1024
    if looks_like_a_file and Path(given).is_file():
        return Path(given)
    if looks_like_a_file and " " not in given.strip() and Path(given).suffix:
        raise InputError(f"there is no file {given!r}. Give the path of a procedure, or its text in quotes.")
    return given


def _bank(given: str, granularity: Granularity = "clause") -> ProcedureBank:
    from ego_adr.procedure.bank import read_procedure

    return read_procedure(file_or_text(given), granularity=granularity)


@app.command()
def detect(
    video: Annotated[Path, typer.Argument(help="The video file.")],
    procedure: Procedure,
    action: Annotated[str, typer.Option("--action", "-a", help="The step in question, in words.")],
    start: Annotated[str | None, typer.Option(help="Where the clip begins: seconds or hh:mm:ss.")] = None,
    end: Annotated[str | None, typer.Option(help="Where the clip ends.")] = None,
    model: ModelName = "tabletop",
    options: ModelOptions = None,
    route: Annotated[
        str, typer.Option("--route", "-r", help="auto | deep | shallow | single-pass | cot")
    ] = "auto",
    frames: Annotated[int, typer.Option(min=1, help="Pictures taken from the clip.")] = 8,
    bank_model: Annotated[str | None, typer.Option(help="Another model that cuts prose into steps.")] = None,
    match: Annotated[str, typer.Option(help="auto | published | recommended | off")] = "auto",
    narrate: Annotated[bool, typer.Option(help="Leave the narration out (ablation).")] = True,
    black_image: Annotated[
        bool, typer.Option(help="Send text prompts with a black picture (ablation).")
    ] = False,
    decide: Annotated[str, typer.Option(help="text | score | two-step")] = "text",
    calibrate: Annotated[bool, typer.Option(help="With scores: subtract the content-free prior.")] = False,
    prompts: Prompts = None,
    taxonomy: TaxonomyFile = None,
    cache: Annotated[bool, typer.Option(help="Keep and reuse the model's replies.")] = True,
    as_json: Json = False,
) -> None:
    """Judge one step in one clip."""
    with console.report_errors(as_json):
        from ego_adr.detector import EgoADR

        source = file_or_text(procedure)
        with console.stage_progress() as progress:
            detector = EgoADR(
                model,
                route=route,
                bank_model=bank_model,
                prompts=prompts,
                taxonomy=taxonomy,
                frames=frames,
                match=match,  # type: ignore[arg-type]  # EgoADR checks it and lists what is allowed
                narrate=narrate,
                black_image=black_image,
                decide=decide,  # type: ignore[arg-type]
                calibrate=calibrate,
                cache=cache,
                progress=progress,
                model_options=model_options(options),
            )
            detection = detector.detect(video, source, action, start=start, end=end)
        if as_json:
            console.print_json(detection.model_dump(mode="json"))
        else:
            console.show_detection(detection)
        if detection.status == "failed":
            raise typer.Exit(1)


@app.command()
def probe(
    model: ModelName = "tabletop",
    options: ModelOptions = None,
    prompts: Prompts = None,
    fresh: Annotated[bool, typer.Option(help="Ask again, whatever is known.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a model whether it reasons over text alone: the route that suits it, with the transcript."""
    with console.report_errors(as_json):
        from ego_adr.detector import EgoADR

        asked = EgoADR(model, prompts=prompts, cache=not fresh, model_options=model_options(options))
        result = asked.probe()
        if as_json:
            console.print_json(result.model_dump(mode="json"))
        else:
            console.show_probe(result)


@app.command()
def bank(
    procedure: Annotated[str, typer.Argument(help="The procedure: a file, or its text.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the editable bank goes (.yaml or .json).")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Let a model cut prose into steps.")
    ] = None,
    options: ModelOptions = None,
    granularity: Annotated[
        Granularity, typer.Option(help="How finely prose is cut without a model.")
    ] = "clause",
    prompts: Prompts = None,
    as_json: Json = False,
) -> None:
    """Cut a procedure into numbered steps and write them to a file that you can edit."""
    with console.report_errors(as_json):
        from ego_adr.procedure.bank import write_bank

        if model is None:
            made = _bank(procedure, granularity)
        else:
            from ego_adr.detector import EgoADR

            reader = EgoADR(model, prompts=prompts, route="deep", model_options=model_options(options))
            made = reader.make_bank(file_or_text(procedure))
        if out is not None:
            write_bank(made, out)
            console.note(f"{len(made.steps)} steps written to {out}")
        if as_json:
            console.print_json(made.model_dump(mode="json"))
        elif out is None:
            console.show_bank(made)


@app.command()
def match(
    action: Annotated[str, typer.Argument(help="The step in question, in words.")],
    procedure: Procedure,
    method: Annotated[
        Literal["published", "recommended", "model"],
        typer.Option(help="The paper's matcher, ours, or the model's choice."),
    ] = "published",
    model: ModelName = "tabletop",
    options: ModelOptions = None,
    prompts: Prompts = None,
    as_json: Json = False,
) -> None:
    """Find the step of a procedure that an action names. Needs no model unless --method model."""
    with console.report_errors(as_json):
        from ego_adr.procedure.matching import match_step

        steps = _bank(procedure)
        if method == "model":
            from ego_adr.detector import EgoADR

            matcher = EgoADR(model, prompts=prompts, route="deep", model_options=model_options(options))
            found = matcher.match(action, steps)
        else:
            found = match_step(action, steps, method=method)
        if as_json:
            step = None if found.index is None else steps.steps[found.index].text
            console.print_json(found.model_dump(mode="json") | {"step": step})
        else:
            console.show_match(found, steps)


@app.command()
def frames(
    video: Annotated[Path, typer.Argument(help="The video file.")],
    start: Annotated[str | None, typer.Option(help="Where the clip begins.")] = None,
    end: Annotated[str | None, typer.Option(help="Where the clip ends.")] = None,
    count: Annotated[int, typer.Option("--frames", "-n", min=1, help="Pictures taken from the clip.")] = 8,
    out: Annotated[Path, typer.Option("--out", "-o", help="The contact sheet (PNG).")] = Path("frames.png"),
    as_json: Json = False,
) -> None:
    """Write a contact sheet of the pictures that a model would see, with their times."""
    with console.report_errors(as_json):
        from ego_adr.contact_sheet import contact_sheet
        from ego_adr.video import sample_frames

        taken = sample_frames(video, start, end, count, longer_side=480)
        contact_sheet(taken).save(out)
        if as_json:
            console.print_json(
                {
                    "video": str(video),
                    "sheet": str(out),
                    "start": taken.start,
                    "end": taken.end,
                    "duration": taken.duration,
                    "times": [frame.time for frame in taken],
                    "warnings": list(taken.warnings),
                }
            )
        else:
            times = ", ".join(f"{frame.time:.2f}" for frame in taken)
            console.out().print(f"{out}: {len(taken)} pictures at {times} s", markup=False)


@app.command()
def labels(taxonomy: TaxonomyFile = None, as_json: Json = False) -> None:
    """Print the taxonomy: the nine labels with what they mean."""
    with console.report_errors(as_json):
        from ego_adr.taxonomies import load_taxonomy

        found = load_taxonomy(taxonomy)
        if as_json:
            console.print_json(found.model_dump(mode="json"))
        else:
            console.show_labels(found)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed, which device, dtype and attention would be used, and where caches are."""
    with console.report_errors(as_json):
        from ego_adr.doctor import examine

        found = examine()
        if as_json:
            console.print_json(found)
        else:
            _show_tree(found)


def _show_tree(value: dict[str, Any], depth: int = 0) -> None:
    for key, inner in value.items():
        if isinstance(inner, dict):
            console.out().print(f"{'  ' * depth}{key}:", markup=False)
            _show_tree(inner, depth + 1)
        else:
            shown = "not installed" if inner is None and depth else inner
            console.out().print(f"{'  ' * depth}{key}: {shown}", markup=False, soft_wrap=True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where clips and the report go.")] = Path(
        "demo-out"
    ),
    seed: Annotated[int, typer.Option(help="Another seed, another episode.")] = 0,
    as_json: Json = False,
) -> None:
    """See it work offline: render a tabletop episode and judge its steps with the shipped checkpoints."""
    with console.report_errors(as_json):
        from ego_adr.demo import run_demo

        with console.stage_progress() as progress:
            shown = run_demo(out, seed=seed, progress=progress)
        if as_json:
            console.print_json(shown.as_json())
        else:
            shown.show()


add_run_commands(app)
add_score_commands(app)
add_session_commands(app, _bank)
add_agent_commands(app, console.report_errors, console.note, model_options)


def main() -> None:
    """Entry point of ``ego-adr``."""
    app()
