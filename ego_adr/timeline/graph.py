"""A procedure's order as a picture: layers from what needs nothing down to the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ego_adr.procedure.ordering import StepOrder
from ego_adr.timeline.svg import COLOURS, curve, document, hover, rectangle, text, wrapped
from ego_adr.types import ProcedureBank

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["graph_dot", "graph_svg", "graph_table"]

BOX, PASS, GAP, TALL, LEVEL, TOP, MARGIN = 176.0, 12.0, 22.0, 46.0, 84.0, 56.0, 24.0


#: A step, or the place where an edge from one step to another passes a layer between them.
Node = int | tuple[int, int, int]


def _depths(order: StepOrder) -> list[int]:
    """For each step the length of the longest way to it."""
    depth = [0] * order.count
    for step in order.topological:
        depth[step] = max((depth[needed] + 1 for needed in order.needs[step]), default=0)
    return depth


def _layers(order: StepOrder, depth: list[int]) -> list[list[Node]]:
    """Steps and passing edges by layer; in a layer near what they come from, so that edges cross boxes less."""
    layers: list[list[Node]] = [[] for _ in range(max(depth, default=-1) + 1)]
    above: dict[Node, list[Node]] = {step: [] for step in range(order.count)}
    for step in range(order.count):
        layers[depth[step]].append(step)
    for before, after in order.reduced():
        last: Node = before
        for level in range(depth[before] + 1, depth[after]):
            node: Node = (before, after, level)
            layers[level].append(node)
            above[node] = [last]
            last = node
        above[after].append(last)
    place: dict[Node, float] = {}
    for layer in layers:
        wish: dict[Node, float] = {}
        for node in layer:
            near = [place[other] for other in above[node]]
            wish[node] = sum(near) / len(near) if near else float(node if isinstance(node, int) else 0)
        layer.sort(key=lambda node: (wish[node], str(node)))
        for i, node in enumerate(layer):
            place[node] = i - (len(layer) - 1) / 2
    return layers


def graph_svg(bank: ProcedureBank) -> str:
    """The bank's order as an SVG file: an arrow from each step to the steps that need it directly.

    Resting the pointer on an arrow tells its sources; edges that only a convention asks for are dashed.

    Raises:
        ProcedureError: when the edges run in a circle.
    """
    order = StepOrder.of(bank)
    depth = _depths(order)
    layers = _layers(order, depth)
    rows = [
        sum(BOX if isinstance(node, int) else PASS for node in layer) + GAP * (len(layer) - 1)
        for layer in layers
    ]
    width = max(420.0, 2 * MARGIN + max(rows, default=0.0))
    height = TOP + max(len(layers), 1) * LEVEL + MARGIN
    at: dict[Node, tuple[float, float]] = {}
    for level, layer in enumerate(layers):
        x = (width - rows[level]) / 2
        for node in layer:
            at[node] = x, TOP + level * LEVEL
            x += (BOX if isinstance(node, int) else PASS) + GAP
    title = bank.title or "Order of the steps"
    parts = [text(MARGIN, 30, title, size=16, bold=True)]
    why = {(edge.before, edge.after): edge.sources for edge in bank.edges}
    for before, after in order.reduced():
        sources = why.get((before, after), ())
        convention = bool(sources) and all(source.startswith("convention") for source in sources)
        told = hover(f"{before + 1} before {after + 1}" + (f": {', '.join(sources)}" if sources else ""))
        points = [(at[before][0] + BOX / 2, at[before][1] + TALL)]
        for level in range(depth[before] + 1, depth[after]):
            x, y = at[before, after, level]
            points += _bend(points[-1], (x + PASS / 2, y))
            points += _bend(points[-1], (x + PASS / 2, y + TALL))
        points += _bend(points[-1], (at[after][0] + BOX / 2, at[after][1] - 1))
        parts.append(curve(points, colour="faint", arrow=True, dashed=convention, inside=told))
    for step in range(order.count):
        x, y = at[step]
        words = f"{step + 1}. {bank.steps[step].text}"
        parts.append(
            rectangle(x, y, BOX, TALL, fill=COLOURS["paper"], line=COLOURS["right"], inside=hover(words))
        )
        lines = wrapped(words, 29, 2)
        for n, line in enumerate(lines):
            parts.append(
                text(
                    x + BOX / 2,
                    y + TALL / 2 + 4 + (n - (len(lines) - 1) / 2) * 15,
                    line,
                    anchor="middle",
                    size=11,
                )
            )
    return document(width, height, parts, title=title)


def _bend(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """The rest of a curve that leaves and arrives straight down."""
    half = (end[1] - start[1]) / 2
    return [(start[0], start[1] + half), (end[0], end[1] - half), end]


def graph_dot(bank: ProcedureBank) -> str:
    """The bank's order in Graphviz' language (direct needs only)."""
    order = StepOrder.of(bank)
    why = {(edge.before, edge.after): edge.sources for edge in bank.edges}
    lines = ["digraph order {", "  rankdir=TB; node [shape=box, fontname=Helvetica];"]
    for step in bank.steps:
        # A JSON string is a DOT string: quotes and backslashes are escaped alike.
        label = json.dumps(f"{step.number}. {' '.join(step.text.split())}", ensure_ascii=False)
        lines.append(f"  s{step.number} [label={label}];")
    for before, after in order.reduced():
        tip = json.dumps(", ".join(why.get((before, after), ())), ensure_ascii=False)
        lines.append(f"  s{before + 1} -> s{after + 1} [tooltip={tip}];")
    return "\n".join([*lines, "}"]) + "\n"


def graph_table(bank: ProcedureBank) -> Table:
    """The bank's order for the terminal: each step, the steps it needs directly, and what that rests on."""
    from rich.table import Table
    from rich.text import Text

    order = StepOrder.of(bank)
    why = {(edge.before, edge.after): edge.sources for edge in bank.edges}
    needs: dict[int, list[int]] = {}
    for before, after in order.reduced():
        needs.setdefault(after, []).append(before)
    table = Table(title=bank.title, box=None, padding=(0, 1))
    table.add_column("", justify="right", style="dim")
    table.add_column("step", overflow="fold")
    table.add_column("needs")
    table.add_column("because", style="dim", overflow="fold")
    for step in bank.steps:
        found = needs.get(step.index, [])
        sources = dict.fromkeys(source for before in found for source in why.get((before, step.index), ()))
        listed = ", ".join(str(before + 1) for before in found) or "-"
        table.add_row(str(step.number), Text(step.text), listed, Text("; ".join(sources)))
    return table
