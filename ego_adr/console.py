"""What the command line shows to a person: results on stdout, progress and notes on stderr."""

from __future__ import annotations

import json
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ego_adr.errors import EgoADRError, EgoADRWarning

if TYPE_CHECKING:
    from rich.console import Console

    from ego_adr.probe import ProbeResult
    from ego_adr.taxonomies import Taxonomy
    from ego_adr.types import Detection, ProcedureBank, StepMatch

__all__ = [
    "note",
    "notes_for_warnings",
    "out",
    "print_json",
    "report_errors",
    "show_bank",
    "show_detection",
    "show_detections",
    "show_labels",
    "show_match",
    "show_probe",
    "stage_progress",
    "stop_on_interrupt",
]


def out() -> Console:
    """The console of results."""
    from rich.console import Console

    return Console(highlight=False)


def _err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """A line for the person, beside the result."""
    _err().print(text, markup=False, style="dim")


def print_json(value: Any) -> None:
    """Exactly one JSON object on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


@contextmanager
def notes_for_warnings() -> Iterator[None]:
    """Show the package's warnings as plain lines on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", EgoADRWarning)
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, EgoADRWarning):
                note(f"note: {message}")
            else:
                before(message, category, *rest, **more)

        warnings.showwarning = show
        yield


@contextmanager
def report_errors(as_json: bool, *, lines: bool = False) -> Iterator[None]:
    """Turn an error of ours into a message on stderr (and a JSON object with ``--json``) and exit code 1.

    Args:
        lines: the object is one of several, each on a line of its own.
    """
    import typer

    try:
        with notes_for_warnings():
            yield
    except EgoADRError as exc:
        if as_json:
            told = {"status": "failed", "failure": {"cause": exc.cause, "message": str(exc)}}
            if lines:
                sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
            else:
                print_json(told)
        _err().print(f"error: {exc}", markup=False, style="red")
        raise typer.Exit(1) from exc
    except KeyboardInterrupt as exc:
        _err().print("stopped.")
        raise typer.Exit(130) from exc


@contextmanager
def stop_on_interrupt(wanted: bool = True) -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second interrupts as usual.

    Args:
        wanted: False leaves Ctrl-C as it is.
    """
    stop = threading.Event()
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def first(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()
        _err().print("stopping after this window; Ctrl-C again leaves at once", style="dim")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stage_progress(shown: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """A progress line a stage, with rate and time left, on stderr."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=_err(),
        disable=not shown,
        transient=True,
    ) as progress:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield report


# ------------------------------------------------------------------------------------------------- results

_COLOURS = {"ok": "green", "unparsed": "yellow", "failed": "red"}


def _verdict(detection: Detection) -> tuple[str, str]:
    if detection.status == "failed" and detection.failure:
        return f"failed ({detection.failure.cause})", "red"
    if detection.status == "unparsed":
        return f"unparsed ({detection.reason})", "yellow"
    return str(detection.label), "red" if detection.is_error else "green"


def show_detection(detection: Detection) -> None:
    """One result with what it rests on."""
    from rich.table import Table
    from rich.text import Text

    console = out()
    verdict, colour = _verdict(detection)
    console.print(Text(verdict, style=f"bold {colour}"))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    rows: list[tuple[str, str | None]] = [
        ("why it failed", detection.failure.message if detection.failure else None),
        ("action", detection.action),
        ("step", _step_line(detection)),
        ("narration", detection.narration),
        ("evidence", "; ".join(detection.evidence) or None),
        ("probabilities", _top(detection.probabilities)),
        ("pictures at", _times(detection.frame_times)),
        (
            "route",
            f"{detection.route} ({detection.route_reason})" if detection.route_reason else detection.route,
        ),
        ("model", detection.model),
        ("stages", _stages(detection)),
        *[("note", text) for text in detection.warnings],
    ]
    for name, value in rows:
        if value:
            table.add_row(name, Text(value))
    console.print(table)


def _step_line(detection: Detection) -> str | None:
    match = detection.match
    if match is None or match.method == "off":
        return None
    if match.index is None:
        return f"none fits ({match.method})"
    score = "" if match.score is None else f", score {match.score:.2f}"
    return f"{match.index + 1}. {detection.step}  [{match.method}{score}]"


def _top(probabilities: Mapping[str, float] | None, most: int = 4) -> str | None:
    if not probabilities:
        return None
    ranked = sorted(probabilities.items(), key=lambda pair: -pair[1])[:most]
    return ", ".join(f"{label} {value:.2f}" for label, value in ranked)


def _times(times: Sequence[float]) -> str | None:
    return ", ".join(f"{time:.2f}" for time in times) + " s" if times else None


def _stages(detection: Detection) -> str | None:
    parts = []
    for use in detection.stages:
        calls = f"{use.calls} call{'s' if use.calls != 1 else ''}" + (
            f", {use.cached} cached" if use.cached else ""
        )
        parts.append(
            f"{use.stage} {use.seconds:.2f} s ({calls}, {use.prompt_tokens}+{use.completion_tokens} tokens)"
        )
    return "; ".join(parts) or None


def show_detections(rows: Sequence[tuple[str | None, Detection]], title: str | None = None) -> None:
    """A table of results: what was asked, what was expected (where that is known), what was found."""
    from rich.table import Table
    from rich.text import Text

    expected_known = any(expected for expected, _ in rows)
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ("clip", "action", *(["expected"] if expected_known else []), "found", "step", "narration"):
        table.add_column(name)
    for expected, detection in rows:
        verdict, colour = _verdict(detection)
        if expected is not None:
            colour = "green" if expected == detection.label else "red"
        step = (
            "" if detection.match is None or detection.match.index is None else str(detection.match.index + 1)
        )
        table.add_row(
            Text(_clip_name(detection)),
            Text(detection.action),
            *([Text(expected or "")] if expected_known else []),
            Text(verdict, style=colour),
            Text(step),
            Text(detection.narration or ""),
        )
    out().print(table)


def _clip_name(detection: Detection) -> str:
    from pathlib import Path

    name = Path(detection.video).stem if detection.video else ""
    return name if detection.start is None else f"{name} {detection.start:.0f} s"


def show_probe(result: ProbeResult) -> None:
    """The probe with its transcript."""
    from rich.table import Table
    from rich.text import Text

    console = out()
    console.print(Text(f"{result.model}: {result.route} route", style="bold"))
    console.print(Text(result.reason + (" (known from an earlier probe)" if result.cached else "")))
    table = Table(title=f"transcript, {result.calls} calls", title_justify="left", show_lines=True)
    table.add_column("question")
    table.add_column("reply")
    for exchange in result.transcript:
        table.add_row(Text(exchange.prompt), Text(exchange.reply))
    console.print(table)


def show_bank(bank: ProcedureBank) -> None:
    """The steps, numbered."""
    from rich.text import Text

    console = out()
    if bank.title:
        console.print(Text(bank.title, style="bold"))
    for step in bank.steps:
        objects = f"  [{', '.join(step.objects)}]" if step.objects else ""
        console.print(Text(f"{step.number:>3}. {step.text}{objects}"))
    for text in bank.notes:
        note(f"note: {text}")


def show_match(match: StepMatch, bank: ProcedureBank) -> None:
    """The step that was found, with its neighbours and doubts."""
    from rich.text import Text

    console = out()
    if match.index is None:
        console.print(Text("no step fits", style="yellow"))
        return
    for name, index in (("before", match.previous), ("step", match.index), ("after", match.next)):
        if index is not None:
            style = "bold" if name == "step" else "dim"
            console.print(Text(f"{name:>6}: {index + 1}. {bank.steps[index].text}", style=style))
    score = "" if match.score is None else f", score {match.score:.3f}"
    doubts = (
        ["ambiguous: steps " + ", ".join(str(i + 1) for i in match.duplicates)] if match.ambiguous else []
    ) + (["low confidence"] if match.low_confidence else [])
    console.print(Text("; ".join([f"by {match.method}{score}", *doubts]), style="dim"))


def show_labels(taxonomy: Taxonomy) -> None:
    """The taxonomy."""
    from rich.table import Table

    table = Table(title=taxonomy.name, title_justify="left", show_lines=True)
    for name in ("label", "id", "definition", "examples"):
        table.add_column(name)
    for label in taxonomy.labels:
        table.add_row(label.name, label.id, label.definition, "\n".join(label.examples))
    out().print(table)
