"""The commands for whole recordings: arguments in, library calls, results out. Registered by `ego_adr.cli`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ego_adr import console
from ego_adr.cli_options import Json, Prompts
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.types import ProcedureBank

__all__ = ["add_session_commands"]

Procedure = Annotated[str, typer.Option("--procedure", "-p", help="The procedure: a file, or its text.")]
Order = Annotated[
    str,
    typer.Option(
        "--graph",
        help="Which step needs which: text (from the steps' words) | chain | none | given (the bank's own edges) | "
        "the path of a task graph (JSON).",
    ),
]
ModelName = Annotated[str, typer.Option("--model", "-m", help="As in `ego-adr detect`; it narrates.")]
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
        graph: Order = "text",
        online: Annotated[bool, typer.Option(help="Only what a live assistant could know.")] = False,
        svg: Annotated[Path | None, typer.Option(help="Write the timeline as SVG.")] = None,
        prompts: Prompts = None,
        as_json: Json = False,
    ) -> None:
        """Judge a whole recording: steps at the wrong moment, left out, repeated, or no step at all."""
        with console.report_errors(as_json):
            from ego_adr.session import Session, read_log
            from ego_adr.timeline import timeline_svg, timeline_table

            bank = _ordered(read(procedure), graph)
            notes: tuple[str, ...] = ()
            if (log is None) == (video is None):
                raise InputError("give either a recording to narrate, or --log with what happened.")
            if log is not None:
                events = read_log(log)
            else:
                from ego_adr.detector import EgoADR
                from ego_adr.sessions.windows import log_windows

                with console.stage_progress() as progress:
                    detector = EgoADR(model, route="deep", prompts=prompts, progress=progress)
                    seen = log_windows(detector, str(video), bank, window=window)
                events, notes = list(seen.events), seen.notes
            report = Session(bank, events).verdicts(online=online)
            for text in (*notes, *report.notes):
                console.note(f"note: {text}")
            if svg is not None:
                svg.write_text(timeline_svg(report), encoding="utf-8")
                console.note(f"timeline written to {svg}")
            if as_json:
                console.print_json(report.model_dump(mode="json"))
                return
            console.out().print(timeline_table(report, width=max(60, console.out().width)))
            for verdict in report.verdicts:
                console.out().print(f"{verdict.label}: {verdict.evidence}", markup=False)
            if not report.verdicts:
                console.out().print("nothing is out of order and nothing is missing", markup=False)

    @app.command()
    def watch(
        source: Annotated[str, typer.Argument(help="A file, a camera (/dev/video0) or an RTSP address.")],
        procedure: Procedure,
        window: Window = 10.0,
        speed: Annotated[
            float | None,
            typer.Option(help="Play a file at this multiple of its own time; else as fast as it goes."),
        ] = None,
        model: ModelName = "tabletop",
        graph: Order = "text",
        prompts: Prompts = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    ) -> None:
        """The same live: one line a step, one line an error, the moment it can be known."""
        with console.report_errors(as_json):
            from ego_adr.detector import EgoADR
            from ego_adr.sessions.streams import stream_windows
            from ego_adr.sessions.windows import watch as watch_clips

            bank = _ordered(read(procedure), graph)
            detector = EgoADR(model, route="deep", prompts=prompts)
            clips = stream_windows(source, window=window, frames=detector.settings.frames, speed=speed)
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
        svg: Annotated[Path | None, typer.Option(help="Write the graph as SVG.")] = None,
        dot: Annotated[Path | None, typer.Option(help="Write the graph for Graphviz.")] = None,
        as_json: Json = False,
    ) -> None:
        """Show which step of a procedure needs which, and why."""
        with console.report_errors(as_json):
            from ego_adr.timeline import graph_dot, graph_svg, graph_table

            bank = _ordered(read(procedure), order)
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


def _ordered(bank: ProcedureBank, graph: str) -> ProcedureBank:
    """The bank with the order that was asked for; edges that a bank brings itself are kept with ``text``."""
    from ego_adr.procedure import ordering
    from ego_adr.procedure.ordering_files import attach_task_graph

    if graph == "given" or (graph == "text" and bank.edges):
        return bank
    makers: dict[str, Callable[[ProcedureBank], Any]] = {
        "text": ordering.order_from_text,
        "chain": ordering.written_chain,
        "none": lambda one: one.model_copy(update={"edges": ()}),
    }
    if graph in makers:
        made: ProcedureBank = makers[graph](bank)
        return made
    if not Path(graph).is_file():
        raise InputError(f"--graph {graph!r}: say text, chain, none, given, or the path of a task graph.")
    return attach_task_graph(bank, graph)
