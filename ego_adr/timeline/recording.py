"""A recording as a picture: steps over time, order errors as arcs, omissions as gaps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ego_adr.sessions.reports import SessionEvent, SessionReport, SessionVerdict
from ego_adr.timeline.svg import COLOURS, clock, curve, document, hover, line, rectangle, text, wrapped

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["timeline_svg", "timeline_table"]

ORDER, MISSING = ("needed-earlier", "needs-later"), ("never-done", "not-yet-done", "undone")
#: What an event is drawn as, by the rules that speak of it: the first that fits.
_LOOKS = (("order", ORDER), ("redone", ("redone",)), ("extra", ("repeated", "unknown")))
_RICH = {"right": "blue", "order": "red", "redone": "magenta", "extra": "yellow"}
_LEGEND = {
    "right": "in order",
    "order": "wrong order",
    "redone": "done again, put right",
    "extra": "repeated or no step",
}
LABELS, TOP, ROW, BAR = 300.0, 64.0, 24.0, 14.0


def _look(verdicts: tuple[SessionVerdict, ...]) -> str:
    rules = {verdict.rule for verdict in verdicts}
    return next((look for look, wanted in _LOOKS if rules & set(wanted)), "right")


class _Rows:
    """One row a step in written order, then one for what is no step; the quiet ones go when there are too many."""

    def __init__(self, report: SessionReport, most: int) -> None:
        self.by_event: dict[int, list[SessionVerdict]] = {}
        self.by_step: dict[int, list[SessionVerdict]] = {}
        for verdict in report.verdicts:
            if verdict.event is not None:
                self.by_event.setdefault(verdict.event, []).append(verdict)
            if verdict.step is not None:
                self.by_step.setdefault(verdict.step, []).append(verdict)
        self.events: dict[int | None, list[tuple[int, SessionEvent]]] = {}
        for i, event in enumerate(report.events):
            self.events.setdefault(event.step, []).append((i, event))
        steps = list(range(len(report.steps)))
        told = [step for step in steps if step in self.by_step]
        self.hidden = 0
        if len(steps) > most:
            shown = set(told[:most])
            shown |= set([step for step in steps if step not in shown][: most - len(shown)])
            self.hidden = len(steps) - len(shown)
            steps = [step for step in steps if step in shown]
        self.steps: list[int | None] = [*steps, *([None] if None in self.events else [])]

    def verdicts(self, event: int) -> tuple[SessionVerdict, ...]:
        return tuple(self.by_event.get(event, ()))

    def missing(self, step: int | None) -> SessionVerdict | None:
        found = self.by_step.get(step, ()) if step is not None else ()
        return next((verdict for verdict in found if verdict.rule in MISSING), None)


def _name(report: SessionReport, step: int | None) -> str:
    return "no step of the procedure" if step is None else f"{step + 1}. {report.steps[step]}"


def _ticks(end: float) -> list[float]:
    """Round times for the axis, at most ten."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
    step = next((s for s in steps if end / s <= 10), 3600 * math.ceil(end / 36000))
    return [i * step for i in range(int(end // step) + 1)]


def timeline_svg(report: SessionReport, *, width: float = 1100.0, most_rows: int = 200) -> str:
    """The recording as an SVG file. Resting the pointer on a bar, an arc or a gap tells the evidence.

    Args:
        width: in pixels.
        most_rows: with more steps than this, those without a verdict are left out first.
    """
    rows = _Rows(report, most_rows)
    end = max(report.end, 1e-9)
    left, right = LABELS + 16, width - 24
    place = {step: TOP + i * ROW for i, step in enumerate(rows.steps)}
    height = TOP + len(rows.steps) * ROW + 56

    def x(seconds: float) -> float:
        return left + (right - left) * seconds / end

    title = f"{report.title or 'Recording'}: {len(report.verdicts)} findings"
    parts = [text(16, 26, report.title or "Recording", size=16, bold=True)]
    known = " as known live" if report.online else ""
    parts.append(
        text(
            16,
            44,
            f"{len(report.events)} events, {len(report.verdicts)} findings{known}",
            colour=COLOURS["faint"],
        )
    )
    bottom = TOP + len(rows.steps) * ROW
    for seconds in _ticks(end):
        parts.append(line(x(seconds), TOP - 6, x(seconds), bottom, colour="grid"))
        parts.append(
            text(x(seconds), TOP - 10, clock(seconds), colour=COLOURS["faint"], anchor="middle", size=11)
        )
    for step, y in place.items():
        parts.append(text(LABELS, y + ROW / 2 + 4, wrapped(_name(report, step), 46, 1)[0], anchor="end"))
        gone = rows.missing(step)
        if gone is not None:
            box = rectangle(
                left,
                y + 5,
                right - left,
                BAR,
                line=COLOURS["missing"],
                dashed=True,
                inside=hover(gone.evidence),
            )
            parts += [box, text(left + 8, y + ROW / 2 + 4, gone.label, colour=COLOURS["missing"], size=11)]
        for index, event in rows.events.get(step, ()):
            found = rows.verdicts(index)
            told = "\n".join(
                [f"{event.text} ({clock(event.start)} to {clock(event.end)})", *(v.evidence for v in found)]
            )
            bar = max(x(event.end) - x(event.start), 2.0)
            parts.append(
                rectangle(x(event.start), y + 5, bar, BAR, fill=COLOURS[_look(found)], inside=hover(told))
            )
    parts += _arcs(report, place, x)
    if rows.hidden:
        parts.append(
            text(
                LABELS,
                bottom + 14,
                f"{rows.hidden} steps without a finding are not shown",
                colour=COLOURS["faint"],
                anchor="end",
            )
        )
    at = left
    for look, words in _LEGEND.items():
        parts += [
            rectangle(at, bottom + 24, 14, 12, fill=COLOURS[look]),
            text(at + 20, bottom + 34, words, size=11),
        ]
        at += 40 + 6.2 * len(words)
    parts += [
        rectangle(at, bottom + 24, 14, 12, line=COLOURS["missing"], dashed=True),
        text(at + 20, bottom + 34, "left out", size=11),
    ]
    return document(width, height, parts, title=title)


def _arcs(report: SessionReport, place: dict[int | None, float], x: Callable[[float], float]) -> list[str]:
    """One arc a pair: from the step that came too early to the one it needed."""
    found: list[str] = []
    drawn: set[frozenset[int]] = set()
    for verdict in report.verdicts:
        if verdict.rule not in ORDER or verdict.event is None or verdict.other_event is None:
            continue
        pair = frozenset((verdict.event, verdict.other_event))
        early, late = (
            sorted(pair, key=lambda i: report.events[i].start)
            if len(pair) == 2
            else (verdict.event, verdict.event)
        )
        first, second = report.events[early], report.events[late]
        if pair in drawn or first.step not in place or second.step not in place:
            continue
        drawn.add(pair)
        x0, y0 = x(first.start), place[first.step] + ROW / 2
        x3, y3 = x(second.start), place[second.step] + ROW / 2
        bend, margin = 24 + abs(y3 - y0) * 0.15, x(0.0) - 12  # arcs stay off the labels
        handles = [
            (max(x0 - bend, margin), y0 + (y3 - y0) * 0.3),
            (max(x3 - bend, margin), y3 - (y3 - y0) * 0.3),
        ]
        points = [(x0, y0), *handles, (x3, y3)]
        found.append(curve(points, colour="order", arrow=True, inside=hover(verdict.evidence)))
    return found


def timeline_table(report: SessionReport, *, width: int = 100, most_rows: int = 200) -> Table:
    """The recording for the terminal: one line a step, its time as a bar, and what is wrong with it.

    Args:
        width: characters of the whole table, at least 60.
    """
    from rich.table import Table
    from rich.text import Text

    rows = _Rows(report, most_rows)
    cells = max(20, (width - 12) * 2 // 5)
    end = max(report.end, 1e-9)
    table = Table(title=report.title, box=None, padding=(0, 1), width=max(width, 60), show_edge=False)
    table.add_column("step", ratio=3, no_wrap=True, overflow="ellipsis")
    table.add_column(f"0:00{clock(end):>{cells - 4}}", width=cells, no_wrap=True)
    table.add_column("finding", ratio=2, overflow="fold")
    for step in rows.steps:
        marks = [" "] * cells
        styles = [""] * cells
        says: dict[str, None] = {}
        gone = rows.missing(step)
        if gone is not None:
            marks, styles = ["·"] * cells, ["red"] * cells
            says[gone.label] = None
        for index, event in rows.events.get(step, ()):
            found = rows.verdicts(index)
            first = min(int(event.start / end * cells), cells - 1)
            last = min(max(math.ceil(event.end / end * cells), first + 1), cells)
            for i in range(first, last):
                marks[i], styles[i] = "█", _RICH[_look(found)]
            for verdict in found:
                other = (
                    ""
                    if verdict.other_step is None or verdict.other_step == step
                    else f" with step {verdict.other_step + 1}"
                )
                says[f"{verdict.label}{other}"] = None
        bar = Text()
        for mark, style in zip(marks, styles, strict=True):
            bar.append(mark, style=style)
        table.add_row(Text(_name(report, step)), bar, Text("; ".join(says)))
    if rows.hidden:
        table.caption = f"{rows.hidden} steps without a finding are not shown"
    return table
