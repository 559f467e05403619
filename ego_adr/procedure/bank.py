"""Step banks: a procedure cut into steps, from what people write, by a model, or by rules.

read_procedure      lists, Markdown, YAML, JSON and prose, without a model
segment_with_model  prose, by a text model; what it says is checked against the text
write_bank          an editable file, read back equal
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from ego_adr.errors import ProcedureError
from ego_adr.models.base import VideoLLM
from ego_adr.procedure.layout import Item, inline_items, read_layout
from ego_adr.procedure.segmenting import bank_from_reply
from ego_adr.procedure.splitting import Granularity, split_prose, splitting_words
from ego_adr.prompting import PromptLibrary
from ego_adr.types import ProcedureBank, Request, Step

__all__ = ["bank_from_reply", "is_structured", "read_procedure", "segment_with_model", "write_bank"]

MOST_BYTES = 4 * 1024 * 1024
_DATA_ENDINGS = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def read_procedure(
    source: str | PathLike[str] | Mapping[str, Any] | Sequence[Any] | ProcedureBank,
    *,
    title: str | None = None,
    granularity: Granularity = "clause",
) -> ProcedureBank:
    """A step bank without a model.

    Args:
        source: the text of a procedure; the path of a file (``pathlib.Path``); a list of step texts; a mapping
            with ``steps``; or a bank, returned as it is. Text may be a numbered or bulleted list, Markdown
            (sections such as "Ingredients" hold no steps), JSON, or prose.
        title: name of the task; else a heading, or the file's own.
        granularity: how finely prose is cut (`split_prose`).

    Returns:
        The bank. ``method`` is ``file`` (YAML, JSON), ``list`` or ``rules``. Steps of lists and prose carry
        their spans in ``text``.

    Raises:
        ProcedureError: nothing there, not text, or data that breaks the form; the message says where.
    """
    if isinstance(source, ProcedureBank):
        return source
    if isinstance(source, PathLike):
        return _read_file(Path(fspath(source)), title, granularity)
    if isinstance(source, (Mapping, Sequence)) and not isinstance(source, (str, bytes)):
        return _from_data(source, title, "the procedure")
    if not isinstance(source, str):
        raise ProcedureError(
            f"a procedure is a text, a path or a list of steps, not {type(source).__name__}."
        )
    if source.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(source)
        except json.JSONDecodeError:
            data = None
        if isinstance(data, (dict, list)):
            return _from_data(data, title, "the procedure")
    return _from_text(source, title, granularity, "the procedure")


def is_structured(bank: ProcedureBank) -> bool:
    """Whether the steps were there in the source (a list, a file) and need no model to be found."""
    return bank.method in ("list", "file", "model")


def segment_with_model(
    text: str, model: VideoLLM, prompts: PromptLibrary | None = None, *, title: str | None = None
) -> ProcedureBank:
    """Let a text model cut prose into steps with the objects that each names.

    What it says is checked: the steps keep the order of the text and invent nothing. A reply that does not
    hold is left, the rules cut the text instead, and the bank's notes say why.

    Raises:
        ProcedureError: the text is empty.
        ModelError: the model itself fails.
    """
    prompt = (prompts or PromptLibrary(getattr(model, "prompts", None))).render(
        "bank/segment", procedure=text
    )
    (reply,) = model.generate([Request(prompt=prompt.text, max_tokens=prompt.max_tokens)])
    return bank_from_reply(read_procedure(text, title=title), reply)


def write_bank(bank: ProcedureBank, path: str | PathLike[str]) -> Path:
    """Write a bank to an editable ``.yaml`` or ``.json`` file, which `read_procedure` reads back equal.

    Raises:
        ProcedureError: the file's ending is neither.
    """
    target = Path(path)
    kind = _DATA_ENDINGS.get(target.suffix.casefold())
    if kind is None:
        raise ProcedureError(
            f"a bank is written as .yaml or .json, not {target.suffix or 'without an ending'!r}."
        )
    data = _to_data(bank)
    if kind == "json":
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    else:
        head = "# A step bank of ego_adr. Edit texts, objects and edges freely; steps are numbered from 1 in edges.\n"
        text = head + yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


# -------------------------------------------------------------------------------------------------- files


def _read_file(path: Path, title: str | None, granularity: Granularity) -> ProcedureBank:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ProcedureError(
                f"{path} has {path.stat().st_size} bytes; a procedure has at most {MOST_BYTES}."
            )
        raw = path.read_bytes()
    except OSError as exc:
        raise ProcedureError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    if b"\0" in raw[:4096] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ProcedureError(f"{path} is no text. Give a text, Markdown, YAML or JSON file.")
    try:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ProcedureError(f"{path} is not UTF-8 text (byte {exc.start}). Save it as UTF-8.") from exc
    kind = _DATA_ENDINGS.get(path.suffix.casefold())
    if kind is None:
        return _from_text(text, title, granularity, str(path))
    try:
        data = json.loads(text) if kind == "json" else yaml.safe_load(text)
    except json.JSONDecodeError as exc:
        raise ProcedureError(f"{path}, line {exc.lineno}: not JSON: {exc.msg}.") from exc
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ProcedureError(f"{path}{line}: not YAML: {getattr(exc, 'problem', None) or exc}.") from exc
    if isinstance(data, str):
        return _from_text(data, title, granularity, str(path))
    return _from_data(data, title, str(path))


_FORM = "a list of texts, or a mapping with 'steps' (texts, or {text, objects}) and perhaps 'title', 'text', 'edges'"


def _from_data(data: Any, title: str | None, where: str) -> ProcedureBank:
    form: Mapping[str, Any] = data if isinstance(data, Mapping) else {"steps": data}
    steps = form.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        got = ", ".join(map(str, form)) if isinstance(data, Mapping) else type(data).__name__
        raise ProcedureError(f"{where} holds {got or 'nothing'}; a bank is {_FORM}.")
    extra = sorted(set(map(str, form)) - {"title", "text", "steps", "edges", "method", "notes"})
    if extra:
        raise ProcedureError(f"{where} holds {', '.join(extra)}, which no bank has; a bank is {_FORM}.")
    read = [_step(step, index, where) for index, step in enumerate(steps)]
    text = form.get("text") or "\n".join(f"{step.number}. {step.text}" for step in read)
    try:
        return ProcedureBank.model_validate(
            {
                "text": text,
                "steps": read,
                "title": title or form.get("title"),
                "method": form.get("method") or "file",
                "edges": [_edge(edge, len(read), where) for edge in form.get("edges") or ()],
                "notes": tuple(form.get("notes") or ()),
            }
        )
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise ProcedureError(f"{where}: {problems}.") from exc


def _step(step: Any, index: int, where: str) -> Step:
    form: Mapping[str, Any] = step if isinstance(step, Mapping) else {"text": step}
    text = form.get("text")
    if not isinstance(text, (str, int, float)) or isinstance(text, bool) or not str(text).strip():
        raise ProcedureError(
            f"{where}, step {index + 1}: {step!r} has no text; a step is a text or {{text, objects}}."
        )
    extra = sorted(set(map(str, form)) - {"text", "objects", "span", "index"})
    if extra:
        raise ProcedureError(
            f"{where}, step {index + 1} holds {', '.join(extra)}; allowed are text, objects, span."
        )
    objects = form.get("objects") or ()
    if isinstance(objects, str) or not isinstance(objects, Sequence):
        raise ProcedureError(
            f"{where}, step {index + 1}: 'objects' must be a list of names, not {objects!r}."
        )
    span = form.get("span")
    if span is not None and not (isinstance(span, Sequence) and len(span) == 2):
        raise ProcedureError(f"{where}, step {index + 1}: 'span' must be [start, end], not {span!r}.")
    return Step(
        index=index,
        text=" ".join(str(text).split()),
        objects=tuple(str(name) for name in objects),
        span=None if span is None else (int(span[0]), int(span[1])),
    )


def _edge(edge: Any, count: int, where: str) -> dict[str, Any]:
    """An edge as people write it: ``[1, 3]`` or ``{before: 1, after: 3, sources: [...]}``, numbered from 1."""
    form = edge if isinstance(edge, Mapping) else dict(zip(("before", "after"), edge, strict=False))
    before, after = form.get("before"), form.get("after")
    for number in (before, after):
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= count:
            raise ProcedureError(f"{where}: the edge {edge!r} must name two steps from 1 to {count}.")
    assert isinstance(before, int)
    assert isinstance(after, int)
    return {"before": before - 1, "after": after - 1, "sources": tuple(form.get("sources") or ())}


def _to_data(bank: ProcedureBank) -> dict[str, Any]:
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


# --------------------------------------------------------------------------------------------------- text


def _from_text(text: str, title: str | None, granularity: Granularity, where: str) -> ProcedureBank:
    if not re.search(r"\w", text):
        raise ProcedureError(f"{where} is empty: write down the steps, as a list or as sentences.")
    layout = read_layout(text)
    name = title or layout.title
    items = [item for heading, found in layout.lists if not _no_steps(heading) for item in found]
    inline = inline_items(text) if len(items) < 2 else None
    if inline is not None:
        return _bank(
            text, [(" ".join(text[b:e].rstrip(" .;").split()), (b, e)) for b, e in inline], name, "list"
        )
    if len(items) >= 2 or (items and not layout.prose):
        return _bank(text, _list_steps(text, items), name, "list")
    spans: list[tuple[int, int]] = []
    for heading, (begin, end) in layout.prose or [(None, (0, len(text)))]:
        if not _no_steps(heading):
            spans += split_prose(text[begin:end], granularity=granularity, start=begin)
    if not spans:
        raise ProcedureError(f"{where} holds no step: only headings, or parts such as ingredients.")
    return _bank(text, [(" ".join(text[b:e].split()), (b, e)) for b, e in spans], name, "rules")


def _no_steps(heading: str | None) -> bool:
    return (
        heading is not None
        and " ".join(heading.casefold().strip(" :*_").split()) in splitting_words().no_steps
    )


def _list_steps(text: str, items: Sequence[Item]) -> list[tuple[str, tuple[int, int]]]:
    """Each item is a step. Below an item that ends with a colon the sub-items are; else they belong to it."""
    steps: list[tuple[str, tuple[int, int]]] = []
    for item in items:
        own = item.text(text)
        if item.children and own.rstrip().endswith(":"):
            steps += _list_steps(text, item.children)
            continue
        parts = [own, *(words for words, _ in _list_steps(text, item.children))]
        end = _last_end(item)
        steps.append((_joined(parts), (item.span[0], end)))
    return [(words, span) for words, span in steps if re.search(r"\w", words)]


def _last_end(item: Item) -> int:
    return max([item.span[1], *(_last_end(child) for child in item.children)])


def _joined(parts: Sequence[str]) -> str:
    text = "; ".join(part.strip().rstrip(";") for part in parts if part.strip())
    return re.sub(r"^\*\*(.+?)\*\*", r"\1", text.replace("~~", ""))


def _bank(
    text: str,
    steps: Sequence[tuple[str, tuple[int, int]]],
    title: str | None,
    method: Literal["list", "rules"],
) -> ProcedureBank:
    return ProcedureBank(
        text=text,
        steps=tuple(Step(index=i, text=words, span=span) for i, (words, span) in enumerate(steps)),
        title=title,
        method=method,
    )
