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

from ego_adr.errors import ProcedureError
from ego_adr.models.base import VideoLLM
from ego_adr.procedure.bank_data import bank_from_data, bank_to_data, is_bank_data
from ego_adr.procedure.layout import Item, holds_no_steps, inline_items, read_layout
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
        ProcedureError: nothing there, not text, a file's name as text, or data that breaks the form; the message
            says where.
    """
    if isinstance(source, ProcedureBank):
        return source
    if isinstance(source, PathLike):
        return _read_file(Path(fspath(source)), title, granularity)
    if isinstance(source, (Mapping, Sequence)) and not isinstance(source, (str, bytes)):
        return bank_from_data(source, title, "the procedure")
    if not isinstance(source, str):
        raise ProcedureError(
            f"a procedure is a text, a path or a list of steps, not {type(source).__name__}."
        )
    if _FILE_NAME.fullmatch(source.strip()):
        raise ProcedureError(
            f"the procedure is {source.strip()!r}, which is a file's name; a str is the text itself. Give "
            f"pathlib.Path({source.strip()!r}) to read the file."
        )
    kind = _data_kind(source)
    if kind is not None:
        return bank_from_data(_parse(source, kind, "the procedure"), title, "the procedure")
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
    by_rules = read_procedure(text, title=title)
    prompt = (prompts or PromptLibrary()).render("bank/segment", procedure=text)
    (reply,) = model.generate([Request(prompt=prompt.text, max_tokens=prompt.max_tokens)])
    return bank_from_reply(by_rules, reply)


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
    data = bank_to_data(bank)
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
    data = _parse(text, kind, str(path))
    if isinstance(data, str):
        return _from_text(data, title, granularity, str(path))
    return bank_from_data(data, title, str(path))


#: A name without blanks, or a path from a folder on.
_FILE_NAME = re.compile(
    r"(?:\S{1,300}|(?:[/~.\\]|[a-z]:)[^\n]{1,300})\.(?:md|markdown|txt|ya?ml|json)", re.IGNORECASE
)
_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*["{])')
_YAML = re.compile(r"^steps:\s*(?:#.*)?$", re.MULTILINE)


def _data_kind(text: str) -> str | None:
    """Whether a text is the content of a data file: ``json``, ``yaml``, or None for words."""
    if _JSON.match(text):
        return "json"
    if _YAML.search(text):
        try:
            data = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            return None  # a list under the word "steps:" that a person wrote
        return "yaml" if is_bank_data(data) else None
    return None


def _parse(text: str, kind: str, where: str) -> Any:
    try:
        return json.loads(text) if kind == "json" else yaml.safe_load(text)
    except json.JSONDecodeError as exc:
        raise ProcedureError(f"{where}, line {exc.lineno}: not JSON: {exc.msg}.") from exc
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ProcedureError(f"{where}{line}: not YAML: {getattr(exc, 'problem', None) or exc}.") from exc
    except (ValueError, RecursionError) as exc:  # numbers and dates that are none, brackets within brackets
        raise ProcedureError(f"{where}: not {kind.upper()}: {exc}.") from exc


# --------------------------------------------------------------------------------------------------- text


def _from_text(text: str, title: str | None, granularity: Granularity, where: str) -> ProcedureBank:
    if not re.search(r"\w", text):
        raise ProcedureError(f"{where} is empty: write down the steps, as a list or as sentences.")
    layout = read_layout(text)
    name = title or layout.title
    items = [item for heading, found in layout.lists if not holds_no_steps(heading) for item in found]
    inline = inline_items(text) if len(items) < 2 else None
    if inline is not None:
        return _bank(
            text, [(" ".join(text[b:e].rstrip(" .;").split()), (b, e)) for b, e in inline], name, "list"
        )
    if len(items) >= 2 or (items and not layout.prose):
        steps = _list_steps(text, items)
        if not steps:
            raise ProcedureError(f"{where} is a list whose items hold no words: write down the steps.")
        return _bank(text, steps, name, "list")
    spans: list[tuple[int, int]] = []
    for heading, (begin, end) in layout.prose:
        if not holds_no_steps(heading):
            spans += split_prose(text[begin:end], granularity=granularity, start=begin)
    if not spans:
        raise ProcedureError(f"{where} holds no step: only headings, or parts such as ingredients.")
    return _bank(text, [(" ".join(text[b:e].split()), (b, e)) for b, e in spans], name, "rules")


def _list_steps(text: str, items: Sequence[Item]) -> list[tuple[str, tuple[int, int]]]:
    """Each item is a step. Sub-items belong to it, unless it only announces them ("Cook:" above things to do)."""
    steps: list[tuple[str, tuple[int, int]]] = []
    for item in items:
        own = item.text(text)
        if item.children and own.rstrip().endswith(":") and _are_steps(text, item.children):
            steps += _list_steps(text, item.children)
            continue
        parts = [own, *(words for words, _ in _list_steps(text, item.children))]
        end = _last_end(item)
        steps.append((_joined(parts), (item.span[0], end)))
    return [(words, span) for words, span in steps if re.search(r"\w", words)]


def _are_steps(text: str, items: Sequence[Item]) -> bool:
    """Whether sub-items are things to do: they are numbered, or most of them begin with a verb of instructions."""
    firsts = [re.match(r"\W*(\w+)", item.text(text)) for item in items]
    verbs = splitting_words().verbs
    doing = sum(first is not None and first[1].casefold() in verbs for first in firsts)
    return all(item.numbered for item in items) or 2 * doing > len(items)


def _last_end(item: Item) -> int:
    return max([item.span[1], *(_last_end(child) for child in item.children)])


def _joined(parts: Sequence[str]) -> str:
    own, *below = (part.strip().rstrip(";") for part in parts if part.strip())
    text = f"{own}{' ' if own.endswith(':') else '; '}{'; '.join(below)}" if below else own
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
