"""Banks as data: what YAML and JSON files hold, checked, and written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ego_adr.errors import ProcedureError
from ego_adr.procedure.ordering_files import read_task_graph
from ego_adr.procedure.ordering_graphs import find_cycle
from ego_adr.types import ProcedureBank, Step

__all__ = ["bank_from_data", "bank_to_data", "is_bank_data"]

_FORM = "a list of texts, or a mapping with 'steps' (texts, or {text, objects}) and perhaps 'title', 'text', 'edges'"
_KEYS = {"title", "text", "steps", "edges", "method", "notes"}
_STEP_KEYS = {"text", "objects", "span"}


def is_bank_data(data: Any) -> bool:
    """Whether data has the outer form of a bank; what is in it may still be wrong."""
    return isinstance(data, Mapping) and "steps" in data and set(map(str, data)) <= _KEYS


def bank_from_data(data: Any, title: str | None, where: str) -> ProcedureBank:
    """A bank from parsed data.

    Args:
        data: a list of step texts; a mapping as `bank_to_data` makes it, edges numbered from 1; a
            `ProcedureBank` as ``model_dump`` writes it, edges counted from 0 (its steps have an ``index``); or a
            task graph, whose ``steps`` map ids to texts.
        title: name of the task, before the one in the data.
        where: the name of the source, for messages.

    Raises:
        ProcedureError: the data breaks the form; the message says where.
    """
    form: Mapping[str, Any] = data if isinstance(data, Mapping) else {"steps": data}
    steps = form.get("steps")
    if isinstance(steps, Mapping):
        return read_task_graph(
            {"steps": steps, "edges": form.get("edges") or []}, title=title or form.get("title")
        )
    if not isinstance(steps, Sequence) or isinstance(steps, (str, bytes)) or not steps:
        got = ", ".join(map(str, form)) if isinstance(data, Mapping) else type(data).__name__
        if isinstance(data, Sequence) and not data:
            got = "an empty list"
        raise ProcedureError(f"{where} holds {got or 'nothing'}; a bank is {_FORM}.")
    _refuse_others(form, _KEYS, where)
    dumped = all(isinstance(step, Mapping) and "index" in step for step in steps)
    if dumped and [step["index"] for step in steps] != list(range(len(steps))):
        raise ProcedureError(f"{where}: the 'index' of the steps must count 0, 1, 2 ... in their order.")
    read = [_step(step, index, where, dumped) for index, step in enumerate(steps)]
    written = form.get("text")
    text = written if written else "\n".join(f"{step.number}. {step.text}" for step in read)
    try:
        bank = ProcedureBank.model_validate(
            {
                "text": text,
                "steps": read,
                "title": title or form.get("title"),
                "method": form.get("method") or "file",
                "edges": [
                    _edge(edge, len(read), where, 0 if dumped else 1) for edge in form.get("edges") or ()
                ],
                "notes": tuple(form.get("notes") or ()),
            }
        )
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise ProcedureError(f"{where}: {problems}.") from exc
    cycle = find_cycle(len(read), [(edge.before, edge.after) for edge in bank.edges])
    if cycle is not None:
        shown = " -> ".join(str(index + 1) for index in (*cycle, cycle[0]))
        raise ProcedureError(f"{where}: the edges run in a circle ({shown}); take one of them out.")
    return bank


def bank_to_data(bank: ProcedureBank) -> dict[str, Any]:
    """A bank as plain data for people to edit: steps without their index, edges numbered from 1."""
    steps: list[dict[str, Any]] = []
    for step in bank.steps:
        entry: dict[str, Any] = {"text": step.text}
        if step.objects:
            entry["objects"] = list(step.objects)
        if step.span is not None:
            entry["span"] = list(step.span)
        steps.append(entry)
    data: dict[str, Any] = {"title": bank.title, "method": bank.method, "steps": steps}
    if bank.edges:
        data["edges"] = [
            {"before": e.before + 1, "after": e.after + 1}
            | ({"sources": list(e.sources)} if e.sources else {})
            for e in bank.edges
        ]
    if bank.notes:
        data["notes"] = list(bank.notes)
    data["text"] = bank.text
    return {key: value for key, value in data.items() if value is not None}


def _refuse_others(form: Mapping[str, Any], known: set[str], where: str) -> None:
    extra = sorted(set(map(str, form)) - known)
    if extra:
        raise ProcedureError(f"{where} holds {', '.join(extra)}; allowed are {', '.join(sorted(known))}.")


def _step(step: Any, index: int, where: str, dumped: bool) -> Step:
    place = f"{where}, step {index + 1}"
    form: Mapping[str, Any] = step if isinstance(step, Mapping) else {"text": step}
    text = form.get("text")
    if not isinstance(text, (str, int, float)) or isinstance(text, bool) or not str(text).strip():
        raise ProcedureError(f"{place}: {step!r} has no text; a step is a text or {{text, objects}}.")
    _refuse_others(form, _STEP_KEYS | ({"index"} if dumped else set()), place)
    objects = form.get("objects") or ()
    if isinstance(objects, str) or not isinstance(objects, Sequence):
        raise ProcedureError(f"{place}: 'objects' must be a list of names, not {objects!r}.")
    span = form.get("span")
    if span is not None and not (
        isinstance(span, Sequence)
        and len(span) == 2
        and all(isinstance(n, int) and not isinstance(n, bool) for n in span)
        and 0 <= span[0] < span[1]
    ):
        raise ProcedureError(f"{place}: 'span' must be [start, end] in characters, not {span!r}.")
    return Step(
        index=index,
        text=" ".join(str(text).split()),
        objects=tuple(str(name) for name in objects),
        span=None if span is None else (span[0], span[1]),
    )


def _edge(edge: Any, count: int, where: str, first: int) -> dict[str, Any]:
    """An edge as people write it: ``[1, 3]`` or ``{before: 1, after: 3, sources: [...]}``."""
    form: Mapping[str, Any] = {}
    if isinstance(edge, Mapping):
        form = edge
    elif isinstance(edge, Sequence) and not isinstance(edge, str) and len(edge) == 2:
        form = {"before": edge[0], "after": edge[1]}
    ends: list[int] = []
    for number in (form.get("before"), form.get("after")):
        if not isinstance(number, int) or isinstance(number, bool) or not first <= number < count + first:
            raise ProcedureError(
                f"{where}: the edge {edge!r} must name two steps from {first} to {count + first - 1}, [before, after]."
            )
        ends.append(number - first)
    return {"before": ends[0], "after": ends[1], "sources": tuple(form.get("sources") or ())}
