"""Text, JSON and tables from disk, read with errors that name the file and the line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.errors import DataError

__all__ = [
    "file_ending",
    "is_file",
    "json_line",
    "json_lines",
    "json_value",
    "mended_json",
    "read_bytes",
    "read_text",
    "rows_of_json",
    "table_rows",
    "yaml_value",
]

#: JSON that a model wrote on purpose is never nested deeper.
_DEEPEST = 100
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def file_ending(path: str | PathLike[str]) -> str:
    """``.jsonl`` of ``runs.JSONL`` and of ``runs.jsonl.gz``."""
    name = Path(path).name.casefold().removesuffix(".gz")
    return Path(name).suffix


def is_file(path: Path) -> bool:
    """`Path.is_file`; False also for a text that is too long, or holds what is in no path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, out of gzip, without a mark, and in UTF-8 where the mark is that of UTF-16.

    Raises:
        DataError: when it cannot be read.
    """
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(_GZIP):
            raw = gzip.decompress(raw)
        if raw.startswith(_UTF16):
            raw = raw.decode("utf-16").encode("utf-8")
        return raw.removeprefix(codecs.BOM_UTF8)
    except UnicodeDecodeError as exc:
        raise _no_text(path, exc) from exc
    except (OSError, EOFError, zlib.error) as exc:
        raise DataError(f"{path} cannot be read: {exc}.") from exc


def read_text(path: str | PathLike[str]) -> str:
    """The text of a file: UTF-8, or UTF-16 that begins with its mark (what some shells write); gzipped too.

    Raises:
        DataError: when it cannot be read, or is no such text.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise _no_text(path, exc) from exc
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _no_text(path: str | PathLike[str], exc: UnicodeDecodeError) -> DataError:
    return DataError(f"{path} cannot be read: it is no text in UTF-8 ({exc}). Save it as UTF-8.")


def json_value(text: str, where: str) -> Any:
    """What a JSON text holds.

    Raises:
        DataError: when it is none; begins with ``where``.
    """
    try:
        return json.loads(text)
    # Beside what is no JSON: a number of thousands of digits, brackets within brackets.
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{where} is no JSON: {exc}.") from exc


def mended_json(text: str) -> Any:
    """What the JSON that a model wrote holds, mended where it is nearly JSON; None where it is none.

    Models that loop write brackets within brackets without end; that is no JSON either, and no error.
    """
    import json_repair

    signs = (1 if sign in "{[" else -1 for sign in text if sign in "{[]}")
    if max(accumulate(signs), default=0) > _DEEPEST:
        return None
    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError):
        return None


def yaml_value(text: str, where: str) -> Any:
    """What a YAML text holds, by the fast parser where PyYAML was built with it.

    Raises:
        DataError: when it is none, or holds dates, numbers or nesting that are none; begins with ``where``.
    """
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        raise DataError(f"{where} is no YAML: {exc}. Put the place it names right.") from exc


def json_line(line: str, where: str) -> Mapping[str, Any]:
    """The object that a line holds.

    Raises:
        DataError: when it holds anything else; begins with ``where``.
    """
    held = json_value(line, where)
    if not isinstance(held, Mapping):
        raise DataError(f"{where} holds {type(held).__name__}, not an object.")
    return held


def json_lines(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(``line 3``, its object) of every line that is not empty; ``name`` is the file's, for errors."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}", json_line(line, f"{name}, line {number}")


def table_rows(text: str, name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """(``line 3``, its cells by column) of a table with commas, semicolons or tabs; the first line names the columns.

    Spaces around the names of columns are dropped. ``name`` is the file's, for errors.

    Raises:
        DataError: for a row with more cells than there are columns, or a table that breaks off inside quotes.
    """
    heading = next((line for line in text.split("\n") if line.strip()), "")
    # The separator that the heading has most of: a sniffer also takes letters and spaces for one.
    separator = max(",;\t", key=heading.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] | None = None
    try:
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                columns = [cell.strip() for cell in cells]
                continue
            where = f"line {rows.line_num}"
            if len(cells) > len(columns):
                raise DataError(
                    f"{name}, {where} has {len(cells)} cells; the first line names {len(columns)} columns. "
                    "Put what holds a separator into quotes."
                )
            yield where, dict(zip(columns, cells, strict=False))
    except csv.Error as exc:
        raise DataError(f"{name}, line {rows.line_num} is no row of a table: {exc}.") from exc


def rows_of_json(held: Any, key: str | None = None) -> list[Any] | None:
    """The rows of a JSON value: a list, an object of rows, or an object that holds one of these and nothing like it.

    Args:
        key: where given, rows of an object that lack this field get their name in the object under it.

    Returns:
        None where the value is none of these.
    """
    if isinstance(held, list):
        return held
    if not isinstance(held, Mapping):
        return None
    inner = [value for value in held.values() if isinstance(value, (list, Mapping))]
    if len(inner) == 1 and (isinstance(inner[0], list) or _is_of_rows(inner[0])):
        return rows_of_json(inner[0], key)  # {"version": ..., "rows": [...]}
    if not _is_of_rows(held):
        return None
    return [row if key is None else {key: name, **row} for name, row in held.items()]


def _is_of_rows(held: Mapping[str, Any]) -> bool:
    return bool(held) and all(isinstance(value, Mapping) for value in held.values())
