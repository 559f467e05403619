"""Files of one JSON object a line, read with errors that name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ego_adr.errors import DataError

__all__ = ["json_line", "json_lines"]


def json_line(line: str, where: str) -> Mapping[str, Any]:
    """The object that a line holds.

    Raises:
        DataError: when it holds anything else; begins with ``where``.
    """
    try:
        held = json.loads(line)
    except json.JSONDecodeError as exc:
        raise DataError(f"{where} is no JSON: {exc}.") from exc
    if not isinstance(held, Mapping):
        raise DataError(f"{where} holds {type(held).__name__}, not an object.")
    return held


def json_lines(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(``line 3``, its object) of every line that is not empty; ``name`` is the file's, for errors."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}", json_line(line, f"{name}, line {number}")
