"""A model writes the graph, or the object states: what it says is checked, repaired, and its gaps are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from ego_adr.errors import ProcedureError
from ego_adr.models.base import VideoLLM
from ego_adr.procedure.object_states import UNKNOWN, ObjectState, state_table
from ego_adr.procedure.ordering_graphs import with_edges
from ego_adr.prompting import PromptLibrary
from ego_adr.reading import mended_json
from ego_adr.types import ProcedureBank, Reply, Request, StepEdge

__all__ = ["graph_from_reply", "order_with_model", "states_from_reply", "states_with_model"]

SOURCE = "model"
GRAPH_PROMPT, STATES_PROMPT = "ordering/graph", "ordering/states"


def order_with_model(
    bank: ProcedureBank, model: VideoLLM, *, prompts: PromptLibrary | str | PathLike[str] | None = None
) -> ProcedureBank:
    """The bank with the edges that a model writes. The prompt states the conventions (``prompts/ordering/graph.md``).

    Cycles are broken, steps that are not there are left out, and both are noted in ``bank.notes``.

    Raises:
        ProcedureError: when nothing in the reply can be read as a graph, or the model failed.
    """
    reply = _ask(bank, model, prompts, GRAPH_PROMPT)
    return graph_from_reply(reply.text, bank, cut=reply.finish_reason == "length")


def states_with_model(
    bank: ProcedureBank, model: VideoLLM, *, prompts: PromptLibrary | str | PathLike[str] | None = None
) -> list[list[ObjectState]]:
    """Object states before and after each step, by a model; what breaks the vocabulary is left out.

    Raises:
        ProcedureError: when nothing in the reply can be read as states, or the model failed.
    """
    return states_from_reply(_ask(bank, model, prompts, STATES_PROMPT).text, bank)


def _ask(
    bank: ProcedureBank, model: VideoLLM, prompts: PromptLibrary | str | PathLike[str] | None, name: str
) -> Reply:
    library = prompts if isinstance(prompts, PromptLibrary) else PromptLibrary(prompts)
    offered = {"title": bank.title or "", "steps": bank.steps, "attributes": dict(state_table().attributes)}
    prompt = library.render(name, **offered)
    replies = model.generate([Request(prompt=prompt.text, max_tokens=prompt.max_tokens)])
    if len(replies) != 1:
        raise ProcedureError(
            f"model {model.name!r} gave {len(replies)} replies to one request for the order of steps."
        )
    if replies[0].failure is not None:
        raise ProcedureError(
            f"model {model.name!r} could not write the order of steps: {replies[0].failure.message}"
        )
    return replies[0]


def _parsed(text: str) -> Any:
    """The JSON in a reply, mended where it is nearly JSON; None when there is none."""
    inside = re.sub(r"(?s)<think>.*?(</think>|\Z)", "", text)
    fenced = re.findall(r"(?s)```(?:json)?\s*(.*?)(?:```|\Z)", inside)
    for candidate in [*reversed(fenced), inside]:
        start = min((at for mark in "{[" if (at := candidate.find(mark)) >= 0), default=-1)
        if start >= 0:
            return mended_json(candidate[start:])
    return None


def _number(value: Any) -> int | None:
    """A step number in a key or value: 3, 3.0, "3", "step 3", "3. Peel"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    found = re.match(r"\s*(?:step|schritt|#)?\s*(\d{1,9})\b", str(value), re.IGNORECASE)
    return int(found.group(1)) if found else None


def _entries(data: Any) -> list[tuple[Any, Any]]:
    """(step, what it needs) from the forms that models write: a mapping, a list of objects, pairs, "edges"."""
    if isinstance(data, Mapping):
        for name in ("edges", "dependencies", "graph", "needs", "steps"):
            if isinstance(data.get(name), (Mapping, list)):
                inner = data[name]
                # Edges are pairs (before, after).
                pairs = (
                    isinstance(inner, list)
                    and inner
                    and all(isinstance(e, (list, tuple)) and len(e) == 2 for e in inner)
                )
                return [(after, [before]) for before, after in inner] if pairs else _entries(inner)
        return list(data.items())
    found: list[tuple[Any, Any]] = []
    for entry in data if isinstance(data, list) else []:
        if isinstance(entry, Mapping):
            step = next((entry[k] for k in ("step", "number", "id", "after") if k in entry), None)
            needs = next(
                (
                    entry[k]
                    for k in ("needs", "requires", "depends_on", "after_steps", "before")
                    if k in entry
                ),
                None,
            )
            if step is not None:
                found.append((step, needs))
            else:
                found += _entries(entry)
        elif isinstance(entry, (list, tuple)) and len(entry) == 2 and not isinstance(entry[1], (list, tuple)):
            found.append((entry[1], [entry[0]]))
        elif isinstance(entry, (list, tuple)) and len(entry) == 2:
            found.append((entry[0], entry[1]))
    return found


def graph_from_reply(text: str, bank: ProcedureBank, *, cut: bool = False) -> ProcedureBank:
    """The bank with the edges that a reply holds: ``{"step number": [numbers it needs]}``, or near it.

    Args:
        cut: the reply ended at its token limit; noted.

    Raises:
        ProcedureError: when the reply holds no graph, or none of its numbers is a step.
    """
    entries = _entries(_parsed(text))
    count = len(bank.steps)
    edges: list[StepEdge] = []
    strange: list[str] = []
    seen: set[int] = set()
    for key, value in entries:
        step = _number(key)
        if step is None or not 1 <= step <= count:
            strange.append(repr(key)[:60])
            continue
        seen.add(step)
        if isinstance(value, str):
            needs: list[Any] = list(re.findall(r"\d+", value))
        else:
            needs = list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
        for need in needs:
            number = _number(need)
            if number is None or not 1 <= number <= count:
                strange.append(repr(need)[:60])
            elif number != step:
                edges.append(StepEdge(before=number - 1, after=step - 1, sources=(SOURCE,)))
    if not seen:
        raise ProcedureError(
            f"no order of steps can be read from the reply {text[:120]!r}; expected a JSON object such as "
            '{"1": [], "2": [1]}. Ask a larger model, or take the order from the text (order_from_text).'
        )
    notes = list(bank.notes)
    if strange:
        notes.append(f"the model named steps that are not there: {', '.join(strange[:8])}")
    silent = [step.number for step in bank.steps if step.number not in seen]
    if silent:
        notes.append(
            f"the model said nothing of {len(silent)} steps ({', '.join(map(str, silent[:8]))}); they stay free"
        )
    if cut:
        notes.append("the model's reply was cut at its token limit")
    return with_edges(bank.model_copy(update={"notes": tuple(notes)}), edges, repair=True)


def states_from_reply(text: str, bank: ProcedureBank) -> list[list[ObjectState]]:
    """Object states by step from a reply; entries outside the vocabulary are left out.

    Raises:
        ProcedureError: when no entry can be read.
    """
    data = _parsed(text)
    rows = data if isinstance(data, list) else data.get("states", []) if isinstance(data, Mapping) else []
    attributes = {name.casefold(): (name, values) for name, values in state_table().attributes.items()}
    found: list[list[ObjectState]] = [[] for _ in bank.steps]
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        step, named = (
            _number(row.get("step")),
            attributes.get(str(row.get("attribute", "")).strip().casefold()),
        )
        name = str(row.get("object", "")).strip().casefold()
        if step is None or not 1 <= step <= len(bank.steps) or named is None or not name:
            continue
        allowed = {value.casefold(): value for value in (*named[1], UNKNOWN)}
        before, after = (
            allowed.get(str(row.get(side, UNKNOWN)).strip().casefold()) for side in ("before", "after")
        )
        if before is not None and after is not None:
            found[step - 1].append(ObjectState(name, named[0], before, after))
    if not any(found):
        raise ProcedureError(
            f"no object states can be read from the reply {text[:120]!r}; expected a JSON list of entries with step, "
            "object, attribute, before and after. Ask a larger model, or use the verb table (states_from_text)."
        )
    return found
