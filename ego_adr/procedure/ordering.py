"""Which step needs which: the order of a procedure, from its texts, from examples, from a graph or a model.

    order_from_text     the flow of things through vessels, words of time, object states; no model
    order_with_model    a model writes the graph (`ego_adr.procedure.ordering_model`)
    attach_task_graph   a graph that the user gives (CaptainCook4D's JSON is read as it is)
    drop_contradicted   error-free recordings take edges away that they contradict
    join_orders         several sources in one graph
    written_chain       the written order as it stands: a baseline that nearly always asks too much

Every edge says in ``sources`` what it rests on. No graph ever holds a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ego_adr.errors import DataError, ProcedureError
from ego_adr.procedure.object_states import state_edges, states_from_text
from ego_adr.procedure.ordering_files import attach_task_graph, read_task_graph
from ego_adr.procedure.ordering_flow import flow_edges
from ego_adr.procedure.ordering_graphs import StepOrder, with_edges
from ego_adr.procedure.ordering_model import order_with_model
from ego_adr.procedure.ordering_times import runs_against
from ego_adr.types import ProcedureBank, StepEdge

__all__ = [
    "StepOrder",
    "TextSource",
    "attach_task_graph",
    "drop_contradicted",
    "join_orders",
    "order_from_text",
    "order_with_model",
    "read_task_graph",
    "with_edges",
    "written_chain",
]

#: Noted on a bank that was cut from prose.
PROSE_NOTE = (
    "the order was read from prose, which does not keep the order of steps well: prefer a list of steps"
)
TextSource = Literal["flow", "states"]
_TEXT_SOURCES: tuple[TextSource, ...] = ("flow", "states")


def order_from_text(
    bank: ProcedureBank, *, sources: Sequence[TextSource] = ("flow",), heat_last: bool = True
) -> ProcedureBank:
    """The bank with the order that its step texts show, without a model. Steps that share nothing stay free.

    Write the steps in the order of an error-free performance: of two steps that belong to one thing the one
    written first comes first. Prose that sums a procedure up loses that order.

    Args:
        sources: ``flow`` (things through vessels, with words of time) and ``states`` (EgoTaskQA's object states
            from the verb table; alone it finds little).
        heat_last: a pan is heated after what goes into it was made ready (a convention of recipe graphs, not
            physics).

    Raises:
        ProcedureError: for a source that is not there.
    """
    strange = [source for source in sources if source not in _TEXT_SOURCES]
    if strange or not sources:
        raise ProcedureError(
            f"sources are {', '.join(_TEXT_SOURCES)}; got {', '.join(map(repr, strange)) or 'none'}."
        )
    edges: list[StepEdge] = []
    if "flow" in sources:
        edges += flow_edges(bank.steps, heat_last=heat_last)
    if "states" in sources:
        edges += state_edges(states_from_text(bank.steps))
    if bank.method == "rules" and PROSE_NOTE not in bank.notes:
        bank = bank.model_copy(update={"notes": (*bank.notes, PROSE_NOTE)})
    return _reduced(with_edges(bank, edges))


def _reduced(bank: ProcedureBank) -> ProcedureBank:
    """Without the edges that follow from others; what it asks for stays the same."""
    kept = set(StepOrder.of(bank).reduced())
    return bank.model_copy(update={"edges": tuple(e for e in bank.edges if (e.before, e.after) in kept)})


def written_chain(bank: ProcedureBank) -> ProcedureBank:
    """Every step needs the one written before it."""
    edges = [StepEdge(before=i, after=i + 1, sources=("written order",)) for i in range(len(bank.steps) - 1)]
    return with_edges(bank, edges)


def join_orders(*banks: ProcedureBank) -> ProcedureBank:
    """One bank with the edges of several that have the same steps; cycles are broken and noted.

    Raises:
        ProcedureError: when the banks' steps differ, or there is none.
    """
    if not banks or any([s.text for s in bank.steps] != [s.text for s in banks[0].steps] for bank in banks):
        raise ProcedureError(
            "orders can be joined when their banks have the same steps; give banks made of one procedure."
        )
    notes = tuple(dict.fromkeys(note for bank in banks for note in bank.notes))
    joined = banks[0].model_copy(update={"notes": notes})
    return with_edges(joined, [edge for bank in banks for edge in bank.edges], repair=True)


def drop_contradicted(
    bank: ProcedureBank, examples: Iterable[Sequence[tuple[int, float, float]]]
) -> ProcedureBank:
    """Take away what error-free performances contradict: a -> b when b began first in one of them.

    Args:
        examples: for each performance the (step index, start, end) of the steps that were done. Two steps that
            overlap by more than half of the shorter one contradict nothing; a step's first occurrence counts.

    Returns:
        The bank with the remaining needs, so that none of the examples breaks any; direct needs only.

    Raises:
        DataError: for a step that is not in the bank.
    """
    broken: set[tuple[int, int]] = set()
    order = StepOrder.of(bank)
    for example in examples:
        first: dict[int, tuple[float, float]] = {}
        for step, start, end in sorted(example, key=lambda event: (event[1], event[2])):
            if not 0 <= step < len(bank.steps):
                raise DataError(
                    f"an example names step {step}; the procedure has steps 0 to {len(bank.steps) - 1}."
                )
            first.setdefault(step, (start, end))
        for before, after in order.closure():
            if before in first and after in first and runs_against(first[before], first[after]):
                broken.add((before, after))
    if not broken:
        return bank
    why = {(edge.before, edge.after): edge.sources for edge in bank.edges}
    kept = {pair for pair in order.closure() if pair not in broken}
    while True:
        edges = [StepEdge(before=a, after=b, sources=why.get((a, b), ("follows",))) for a, b in sorted(kept)]
        found = StepOrder(bank.steps, edges)
        again = found.closure() & broken
        if not again:
            break
        # a -> c -> b brings a -> b back: of its two halves the one that a text speaks for stays, else the later.
        for a, b in again:
            for c in found.needs[b]:
                if c == a or not found.must_precede(a, c):
                    continue
                first_half = (a, c) in kept and not ((a, c) in why and (c, b) not in why)
                kept.discard((a, c) if first_half else (c, b))
    note = f"{len(broken)} needs were dropped because error-free examples contradict them"
    return _reduced(with_edges(bank.model_copy(update={"notes": (*bank.notes, note)}), edges))
