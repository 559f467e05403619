"""The commands for whole recordings: arguments in, library calls, results out. Registered by `ego_adr.cli`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ego_adr import console
from ego_adr.cli_options import Json, ModelOptions, Prompts, model_options
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.detector import EgoADR
    from ego_adr.session import WhatIf
    from ego_adr.types import ProcedureBank

__all__ = ["add_session_commands"]

Procedure = Annotated[str, typer.Option("--procedure", "-p", help="The procedure: a file, or its text.")]
Order = Annotated[
    str,
    typer.Option(
        "--graph",
        help="Which step needs which: text (from the steps' words) | model (--model writes it) | chain | none | "
        "given (the bank's own edges) | the path of a task graph (JSON).",
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="As in `ego-adr detect`; it narrates, and with --graph model it orders the steps.",
    ),
]
Examples = Annotated[
    list[Path] | None,
    typer.Option(
        "--examples",
        help="A log of an error-free recording, or a folder of them: what it contradicts is no need. Several times "
        "for several.",
    ),
]
NoHeatLast = Annotated[
    bool,
    typer.Option(
        "--no-heat-last",
        help="With --graph text: a pan may be heated before what goes into it was made ready.",
    ),
]
Window = Annotated[float, typer.Option(help="Seconds a window.")]


def add_session_commands(app: typer.Typer, read: Callable[[str], ProcedureBank]) -> None:
    """Register session, watch and graph.

    Args:
        read: from a procedure argument (a file, or a text) to its bank.
    """

    @app.command()
    def session(
        procedure: Procedure,
        video: Annotated[
            Path | None, typer.Argument(help="A recording, narrated in windows; not needed with --log.")
        ] = None,
        log: Annotated[
            Path | None,
            typer.Option(help="What happened, from a file (JSON, JSON lines, CSV: step, start, end)."),
        ] = None,
        window: Window = 10.0,
        model: ModelName = "tabletop",
        options: ModelOptions = None,
        graph: Order = "text",
        examples: Examples = None,
        no_heat_last: NoHeatLast = False,
        online: Annotated[bool, typer.Option(help="Only what a live assistant could know.")] = False,
        whatif: Annotated[
            str | None,
            typer.Option(
                "--whatif",
                help="A step, by its number (from 1) or its words: which steps lose their ground without it? Needs "
                "no recording.",
            ),
        ] = None,
        svg: Annotated[Path | None, typer.Option(help="Write the timeline as SVG.")] = None,
        prompts: Prompts = None,
        as_json: Json = False,
    ) -> None:
        """Judge a whole recording: steps at the wrong moment, left out, repeated, or no step at all."""
        with console.report_errors(as_json):
            from ego_adr.session import Session, read_log
            from ego_adr.timeline import timeline_svg, timeline_table

            if (log is not None and video is not None) or (log is None and video is None and whatif is None):
                raise InputError("give either a recording to narrate, or --log with what happened.")
            written = read(procedure)  # what is wrong with it is said before a model is loaded
            detector = None
            if video is not None or graph == "model":
                from ego_adr.detector import EgoADR

                detector = EgoADR(model, route="deep", prompts=prompts, model_options=model_options(options))
            bank = _ordered(written, graph, detector, examples, heat_last=not no_heat_last)
            if log is None and video is None:
                _show_bare_whatif(bank, str(whatif), as_json)
                return
            notes: tuple[str, ...] = ()
            if log is not None:
                events = read_log(log)
            else:
                from ego_adr.sessions.windows import log_windows

                assert detector is not None
                with console.stage_progress() as progress:
                    detector.progress = progress
                    seen = log_windows(detector, str(video), bank, window=window)
                events, notes = list(seen.events), seen.notes
            recording = Session(bank, events)
            report = recording.verdicts(online=online)
            asked = None if whatif is None else recording.whatif(omit=_step(whatif))
            for text in (*notes, *report.notes):
                console.note(f"note: {text}")
            if svg is not None:
                svg.write_text(timeline_svg(report), encoding="utf-8")
                console.note(f"timeline written to {svg}")
            if as_json:
                more = {} if asked is None else {"whatif": asked.model_dump(mode="json")}
                console.print_json({**report.model_dump(mode="json"), **more})
                return
            console.out().print(timeline_table(report, width=max(60, console.out().width)))
            for verdict in report.verdicts:
                console.out().print(f"{verdict.label}: {verdict.evidence}", markup=False)
            if not report.verdicts:
                console.out().print("nothing is out of order and nothing is missing", markup=False)
            if asked is not None:
                _show_whatif(bank, asked)

    @app.command()
    def watch(
        source: Annotated[str, typer.Argument(help="A file, a camera (/dev/video0) or an RTSP address.")],
        procedure: Procedure,
        window: Window = 10.0,
        speed: Annotated[
            float | None,
            typer.Option(help="Play a file at this multiple of its own time; else as fast as it goes."),
        ] = None,
        patience: Annotated[
            float, typer.Option(help="Seconds that a camera may be silent; it is opened anew until then.")
        ] = 10.0,
        model: ModelName = "tabletop",
        options: ModelOptions = None,
        graph: Order = "text",
        examples: Examples = None,
        no_heat_last: NoHeatLast = False,
        prompts: Prompts = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    ) -> None:
        """The same live: one line a step, one line an error, the moment it can be known.

        Ctrl-C ends a live recording: what is missing by then is told. Twice, it leaves at once.
        """
        with console.report_errors(as_json, lines=True):
            from ego_adr.detector import EgoADR
            from ego_adr.sessions.live import is_live
            from ego_adr.sessions.streams import stream_windows
            from ego_adr.sessions.windows import watch as watch_clips

            written = read(procedure)
            detector = EgoADR(model, route="deep", prompts=prompts, model_options=model_options(options))
            bank = _ordered(written, graph, detector, examples, heat_last=not no_heat_last)
            with console.stop_on_interrupt(is_live(source)) as stop:
                clips = stream_windows(
                    source,
                    window=window,
                    frames=detector.settings.frames,
                    speed=speed,
                    patience=patience,
                    stop=stop,
                )
                for line in watch_clips(detector, clips, bank, window=window):
                    if as_json:
                        typer.echo(line.model_dump_json())
                    else:
                        style = {"error": "red", "note": "dim"}.get(line.kind, "")
                        console.out().print(f"{line.time:8.1f} s  {line.text}", style=style, markup=False)

    @app.command()
    def graph(
        procedure: Annotated[str, typer.Argument(help="The procedure: a file, or its text.")],
        order: Order = "text",
        model: ModelName = "tabletop",
        options: ModelOptions = None,
        examples: Examples = None,
        no_heat_last: NoHeatLast = False,
        prompts: Prompts = None,
        svg: Annotated[Path | None, typer.Option(help="Write the graph as SVG.")] = None,
        dot: Annotated[Path | None, typer.Option(help="Write the graph for Graphviz.")] = None,
        as_json: Json = False,
    ) -> None:
        """Show which step of a procedure needs which, and why."""
        with console.report_errors(as_json):
            from ego_adr.timeline import graph_dot, graph_svg, graph_table

            written = read(procedure)
            detector = None
            if order == "model":
                from ego_adr.detector import EgoADR

                detector = EgoADR(model, prompts=prompts, model_options=model_options(options))
            bank = _ordered(written, order, detector, examples, heat_last=not no_heat_last)
            for path, draw in ((svg, graph_svg), (dot, graph_dot)):
                if path is not None:
                    path.write_text(draw(bank), encoding="utf-8")
                    console.note(f"graph written to {path}")
            for text in bank.notes:
                console.note(f"note: {text}")
            if as_json:
                console.print_json(bank.model_dump(mode="json"))
            else:
                console.out().print(graph_table(bank))


def _ordered(
    bank: ProcedureBank,
    graph: str,
    detector: EgoADR | None,
    examples: list[Path] | None,
    *,
    heat_last: bool,
) -> ProcedureBank:
    """The bank with the order that was asked for; edges that a bank brings itself are kept with ``text``."""
    from ego_adr.procedure import ordering

    if not heat_last and graph != "text":
        raise InputError("--no-heat-last goes with --graph text; other graphs know no such convention.")
    makers: dict[str, Callable[[ProcedureBank], ProcedureBank]] = {
        "text": lambda one: one if one.edges else ordering.order_from_text(one, heat_last=heat_last),
        "given": lambda one: one,
        "chain": ordering.written_chain,
        "none": lambda one: one.model_copy(update={"edges": ()}),
    }
    if graph == "model":
        assert detector is not None
        made = ordering.order_with_model(bank, detector.model, prompts=detector.prompts)
    elif graph in makers:
        made = makers[graph](bank)
    elif Path(graph).is_file():
        made = ordering.attach_task_graph(bank, graph)
    else:
        raise InputError(
            f"--graph {graph!r}: say text, model, chain, none, given, or the path of a task graph."
        )
    return ordering.drop_contradicted(made, [_example(made, path) for path in _logs(examples or [])])


def _logs(places: list[Path]) -> list[Path]:
    """The logs themselves, those of folders in order of their names."""
    from ego_adr.reading import file_ending
    from ego_adr.sessions.logs import LOG_ENDINGS

    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            continue
        inside = sorted(path for path in place.iterdir() if file_ending(path) in LOG_ENDINGS)
        if not inside:
            raise InputError(f"--examples {place}: the folder holds no log ({', '.join(LOG_ENDINGS)}).")
        found += inside
    return found


def _example(bank: ProcedureBank, path: Path) -> list[tuple[int, float, float]]:
    """An error-free log as (step, start, end).

    Raises:
        InputError: when nothing in it is a step of the procedure.
    """
    from ego_adr.session import Session, read_log

    events = Session(bank, read_log(path)).events
    known = [(event.step, event.start, event.end) for event in events if event.step is not None]
    if not known:
        raise InputError(f"--examples {path}: nothing in it is a step of this procedure.")
    return known


def _step(given: str) -> int | str:
    """A step as a person names it: its number, counted from 1 as in every table, or its words."""
    text = given.strip()
    return int(text) - 1 if text.isascii() and text.isdigit() else text


def _show_bare_whatif(bank: ProcedureBank, given: str, as_json: bool) -> None:
    """What a step carries, without a recording."""
    from ego_adr.session import Session

    asked = Session(bank, []).whatif(omit=_step(given))
    for text in bank.notes:
        console.note(f"note: {text}")
    if as_json:
        console.print_json({"whatif": asked.model_dump(mode="json")})
    else:
        _show_whatif(bank, asked)


def _show_whatif(bank: ProcedureBank, asked: WhatIf) -> None:
    omitted = bank.steps[asked.omitted]
    out = console.out()
    if not asked.lost:
        out.print(f"without step {omitted.number} ({omitted.text}) no step loses its ground", markup=False)
        return
    out.print(
        f"without step {omitted.number} ({omitted.text}) {len(asked.lost)} lose their ground:", markup=False
    )
    for step, why in zip(asked.lost, asked.explanation, strict=True):
        out.print(f"  {why}{'; it was done' if step in asked.done else ''}", markup=False)
