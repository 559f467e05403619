"""Graphs that a user gives: CaptainCook4D's task-graph JSON as it is, and the same form written by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.errors import DataError, ProcedureError
from ego_adr.procedure.ordering_graphs import StepOrder, with_edges
from ego_adr.procedure.ordering_words import step_key, step_words
from ego_adr.reading import json_value, read_text
from ego_adr.types import ProcedureBank, Step, StepEdge

__all__ = ["attach_task_graph", "read_task_graph", "task_graph_data"]

SOURCE = "given graph"
_TERMINALS = {"start", "end"}


def _load(source: str | PathLike[str] | Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    if isinstance(source, Mapping):
        return source, "the task graph"
    path = Path(source)
    try:
        data = json_value(read_text(path), f"the task graph {str(path)!r}")
    except DataError as exc:
        raise ProcedureError(f"{exc} A task graph holds 'steps' and 'edges'.") from exc
    if not isinstance(data, Mapping):
        raise ProcedureError(
            f"{str(path)!r} holds a {type(data).__name__}; a task graph is an object with 'steps' and 'edges'."
        )
    return data, str(path)


def task_graph_data(
    source: str | PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Node texts by id and edges between ids, START and END taken out (what runs through them orders nothing).

    Raises:
        ProcedureError: when the file is no task graph; the message says which part.
    """
    data, name = _load(source)
    steps, edges = data.get("steps"), data.get("edges", [])
    if isinstance(steps, Sequence) and not isinstance(steps, str):
        steps = {str(i): text for i, text in enumerate(steps)}
    if (
        not isinstance(steps, Mapping)
        or not steps
        or not all(isinstance(text, str) for text in steps.values())
    ):
        raise ProcedureError(
            f'{name}: \'steps\' must map ids to texts, such as {{"0": "START", "1": "Peel the onion"}} (or list the texts).'
        )
    if not isinstance(edges, Sequence) or isinstance(edges, str):
        raise ProcedureError(f"{name}: 'edges' must be a list of pairs [before, after] of step ids.")
    texts = {str(node): text.strip() for node, text in steps.items()}
    terminals = {node for node, text in texts.items() if text.casefold() in _TERMINALS}
    pairs: list[tuple[str, str]] = []
    for edge in edges:
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
            raise ProcedureError(f"{name}: the edge {edge!r} is no pair [before, after].")
        before, after = (str(node) for node in edge)
        unknown = [node for node in (before, after) if node not in texts]
        if unknown:
            raise ProcedureError(
                f"{name}: the edge {list(edge)!r} names {', '.join(unknown)}; the ids are {', '.join(texts)}."
            )
        if before not in terminals and after not in terminals:
            pairs.append((before, after))
    return {node: text for node, text in texts.items() if node not in terminals}, pairs


def read_task_graph(
    source: str | PathLike[str] | Mapping[str, Any], *, title: str | None = None
) -> ProcedureBank:
    """A bank made of a task graph: its steps sorted so that each comes after all it needs, with its edges.

    Args:
        source: a JSON file or its content: ``{"steps": {id: text}, "edges": [[before, after], ...]}``; nodes
            whose text is START or END are marks, not steps. A list of texts counts ids from 0.

    Raises:
        ProcedureError: when it is no task graph, or its edges run in a circle (named in the message).
    """
    texts, pairs = task_graph_data(source)
    place = {node: i for i, node in enumerate(texts)}
    raw = [Step(index=i, text=step_words(text)) for i, text in enumerate(texts.values())]
    order = StepOrder(raw, [StepEdge(before=place[a], after=place[b]) for a, b in pairs]).topological
    rank = {old: new for new, old in enumerate(order)}
    steps = tuple(Step(index=new, text=raw[old].text) for new, old in enumerate(order))
    bank = ProcedureBank(text="\n".join(step.text for step in steps), steps=steps, title=title, method="file")
    return with_edges(
        bank, [StepEdge(before=rank[place[a]], after=rank[place[b]], sources=(SOURCE,)) for a, b in pairs]
    )


def attach_task_graph(bank: ProcedureBank, source: str | PathLike[str] | Mapping[str, Any]) -> ProcedureBank:
    """The bank with the edges of a task graph, its nodes found among the bank's steps by their text.

    Nodes that share a text are taken in the graph's own order for the steps that share it. A node the bank
    lacks passes on what it needs to the steps that need it.

    Raises:
        ProcedureError: when it is no task graph, runs in a circle, or no node is a step of the bank.
    """
    graph = read_task_graph(source)
    waiting: dict[str, list[int]] = defaultdict(list)
    for step in bank.steps:
        waiting[step_key(step_words(step.text))].append(step.index)
    place: dict[int, int] = {}
    missing: list[str] = []
    for stated in graph.steps:
        free = waiting.get(step_key(stated.text))
        if free:
            place[stated.index] = free.pop(0)
        else:
            missing.append(stated.text)
    if not place:
        raise ProcedureError(
            f"none of the {len(graph.steps)} nodes of the task graph is a step of this procedure: the graph begins with "
            f"{graph.steps[0].text!r}, the procedure with {next((s.text for s in bank.steps), '')!r}. "
            "Give the graph of this procedure."
        )
    order = StepOrder.of(graph)
    edges = [
        StepEdge(before=place[needed], after=index, sources=(SOURCE,))
        for node, index in place.items()
        for needed in _known_needs(order, node, place)
    ]
    notes = tuple(f"the task graph's step {text!r} is not in this procedure" for text in missing)
    return with_edges(bank.model_copy(update={"notes": bank.notes + notes}), edges)


def _known_needs(order: StepOrder, node: int, known: Mapping[int, int]) -> set[int]:
    found: set[int] = set()
    seen: set[int] = set()
    todo = list(order.needs[node])
    while todo:
        needed = todo.pop()
        if needed in seen:
            continue
        seen.add(needed)
        if needed in known:
            found.add(needed)
        else:
            todo.extend(order.needs[needed])
    return found
