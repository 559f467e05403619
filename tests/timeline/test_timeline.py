"""Pictures of a recording and of an order."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console
from rich.table import Table

from ego_adr.procedure.ordering import written_chain
from ego_adr.session import Session, SessionReport
from ego_adr.timeline import graph_dot, graph_svg, graph_table, timeline_svg, timeline_table
from ego_adr.types import ProcedureBank, Step, StepEdge

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = ('Peel the <onion> & "leek"', "Slice [bold]it[/bold]\x07", "Heat oil", "Fry")


def bank(count: int = 4) -> ProcedureBank:
    steps = tuple(Step(index=i, text=TEXTS[i % 4] if count == 4 else f"turn wheel {i}") for i in range(count))
    return ProcedureBank(text="", title="Onions & <more>", steps=steps)


def report() -> SessionReport:
    procedure = bank().model_copy(
        update={"edges": tuple(StepEdge(before=a, after=b) for a, b in [(0, 1), (1, 3), (2, 3)])}
    )
    log = [(1, 0, 4), (0, 5, 9), (3, 70, 80), (3, 90, 90), ("waves", 10, 12)]
    return Session(procedure, log, match=lambda _: None).verdicts()


def shapes(svg: str, tag: str, **wanted: str) -> list[ET.Element]:
    return [
        e
        for e in ET.fromstring(svg).iter(SVG + tag)
        if all(e.get(k.replace("_", "-")) == v for k, v in wanted.items())
    ]


def told(element: ET.Element) -> str:
    return element.findtext(SVG + "title") or ""


def plain(table: Table, width: int = 120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()


def test_a_timeline_shows_bars_arcs_and_gaps_with_their_evidence() -> None:
    svg = timeline_svg(report())
    arcs = shapes(svg, "path", marker_end="url(#tip-order)")
    assert len(arcs) == 1
    assert "begins at 5.0 s" in told(arcs[0]) or "begins only at 5.0 s" in told(arcs[0])
    gaps = [box for box in shapes(svg, "rect", stroke_dasharray="4 3") if told(box)]
    assert len(gaps) == 1
    assert "step 3 ('Heat oil') is not seen" in told(gaps[0])
    bars = [box for box in shapes(svg, "rect") if " to " in told(box)]
    assert len(bars) == 5
    assert len({box.get("fill") for box in bars}) == 3
    texts = [e.text for e in shapes(svg, "text")]
    assert "no step of the procedure" in texts
    assert "1:00" in texts


def test_words_of_a_procedure_never_break_a_picture() -> None:
    for svg in (timeline_svg(report()), graph_svg(bank())):
        root = ET.fromstring(svg)
        assert "Onions & <more>" in "".join(root.itertext())
        assert "Peel the <onion>" in "".join(root.itertext())
    assert "[bold]it[/bold]" in plain(timeline_table(report(), width=120))
    assert "[bold]it[/bold]" in plain(graph_table(bank()))


def test_the_terminal_shows_one_line_a_step() -> None:
    shown = plain(timeline_table(report(), width=120))
    assert "Wrong order with step 1" in shown
    assert "Omission" in shown
    assert "····" in shown
    assert "█" in shown


@pytest.mark.parametrize("log", [[], [(0, 0, 0)], [(0, 1e7, 2e7)]])
def test_empty_and_very_long_recordings_can_be_drawn(log: list[tuple[int, float, float]]) -> None:
    made = Session(bank(), log).verdicts()
    assert len(shapes(timeline_svg(made), "text")) < 60
    assert plain(timeline_table(made))


def test_with_many_steps_those_with_findings_are_shown() -> None:
    count = 3000
    made = Session(
        written_chain(bank(count)), [(i, 10 * i, 10 * i + 5) for i in range(count) if i != 2500]
    ).verdicts()
    svg = timeline_svg(made, most_rows=50)
    texts = [e.text or "" for e in shapes(svg, "text")]
    assert "2501. turn wheel 2500" in texts
    assert "2950 steps without a finding are not shown" in texts


def test_a_graph_is_drawn_with_direct_needs_and_their_sources() -> None:
    edges = [
        StepEdge(before=0, after=1, sources=("flow: onion",)),
        StepEdge(before=1, after=3, sources=("flow: pan",)),
        StepEdge(before=0, after=3, sources=("flow: onion",)),
        StepEdge(before=2, after=3, sources=("convention: heat last",)),
    ]
    made = bank().model_copy(update={"edges": tuple(edges)})
    arrows = shapes(graph_svg(made), "path", marker_end="url(#tip-faint)")
    assert sorted(told(arrow) for arrow in arrows) == [
        "1 before 2: flow: onion", "2 before 4: flow: pan", "3 before 4: convention: heat last",
    ]  # fmt: skip
    assert [told(arrow)[0] for arrow in arrows if arrow.get("stroke-dasharray")] == ["3"]
    dot = graph_dot(made)
    assert 's1 [label="1. Peel the <onion> & \\"leek\\""];' in dot
    assert [line.split("[")[0].strip() for line in dot.splitlines() if "->" in line] == [
        "s1 -> s2",
        "s2 -> s4",
        "s3 -> s4",
    ]
    assert "flow: pan; convention: heat last" in plain(graph_table(made), 200)


def test_a_graph_without_edges_or_steps_can_be_drawn() -> None:
    assert len(shapes(graph_svg(bank()), "rect")) == 5
    assert ET.fromstring(graph_svg(ProcedureBank(text="", steps=()))) is not None
    assert graph_dot(ProcedureBank(text="", steps=())).startswith("digraph")
