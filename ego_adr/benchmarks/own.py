"""Your own data: one JSON object a line.

::

    {"video": "kitchen/one.mp4", "start": 12.0, "end": 19.5, "procedure": "soup.md",
     "action": "add the salt", "label": "Wrong object"}

=============  =====================================================================================
``video``      path of the video, absolute, or relative to the video root (default: the file's folder)
``action``     the step in question, in words
``procedure``  its text; or the path of a text or Markdown file; or a name in the procedures file
``start``      seconds or h:mm:ss; left out with ``end`` means the whole video
``end``        as ``start``
``label``      a label, or a list of labels; left out when it is not known (nothing can be scored then)
``id``         any unique text; left out, it is made of video and times
``dataset``    a name that figures are shown apart by
``task``       name of the procedure
``group``      what the bootstrap resamples; the video when left out
``narration``  a narration that replaces the model's
``question``   with ``answer``: an open-end sample
``answer``     the reference answer
``meta``       anything of yours; it is never read
=============  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.benchmarks.reading import json_line
from ego_adr.benchmarks.samples import NEGATIVE_START, Sample, Shown, Truth, distinct
from ego_adr.errors import ClipRangeError, DataError
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Failure
from ego_adr.video.interval import parse_time

__all__ = ["FIELDS", "load_own"]

FIELDS = (
    "id",
    "video",
    "start",
    "end",
    "procedure",
    "action",
    "label",
    "dataset",
    "task",
    "group",
    "narration",
    "question",
    "answer",
    "meta",
)
_TEXTS = ("video", "action", "procedure")


def load_own(
    path: str | PathLike[str],
    *,
    videos: str | PathLike[str] | None = None,
    procedures: Mapping[str, str] | None = None,
    taxonomy: Taxonomy | None = None,
    faults: list[str] | None = None,
) -> list[Sample]:
    """Read a file of the schema above.

    Args:
        videos: what relative video paths are relative to; default the file's own folder.
        procedures: name -> text, for rows whose ``procedure`` is a name.
        faults: where given, lines that cannot be used are described there and left out instead of raising.

    Raises:
        DataError: for a file or line that cannot be used; names the line.
    """
    place = Path(path)
    labels = taxonomy if taxonomy is not None else Taxonomy.load()
    try:
        lines = place.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"{place} cannot be read: {exc}.") from exc
    root = Path(videos) if videos is not None else place.parent
    texts: dict[str, str] = {}
    found: list[Sample] = []
    seen: dict[str, int] = {}
    given: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{place.name}, line {number}"
        try:
            row = _row(line, where)
            if row.get("id") is not None:
                name = str(row["id"])
                if name in given:
                    raise DataError(f"{where}: the id {name!r} is already that of line {given[name]}.")
                given[name] = number
            procedure = _procedure(row["procedure"], place.parent, procedures or {}, texts, where)
            found.append(distinct(_sample(row, root, procedure, labels, where), seen))
        except DataError as exc:
            if faults is None:
                raise
            faults.append(str(exc))
    return found


def _row(line: str, where: str) -> Mapping[str, Any]:
    row = json_line(line, where)
    strange = [name for name in row if name not in FIELDS]
    if strange:
        raise DataError(
            f"{where} has {', '.join(map(repr, strange))}; the fields are {', '.join(FIELDS)}. "
            "Put what is yours into 'meta'."
        )
    for name in _TEXTS:
        if not isinstance(row.get(name), str) or not str(row[name]).strip():
            raise DataError(f"{where}: {name!r} must be a text that is not empty, not {row.get(name)!r}.")
    return row


def _sample(row: Mapping[str, Any], root: Path, procedure: str, taxonomy: Taxonomy, where: str) -> Sample:
    problem: Failure | None = None
    start = end = None
    try:
        start, end = parse_time(row.get("start"), "start"), parse_time(row.get("end"), "end")
    except ClipRangeError as exc:
        problem = Failure(cause="times", message=f"{where}: {exc}")
    notes = []
    if start is not None and end is not None and 0 <= end < start:
        notes.append(f"end before start ({start} s to {end} s)")
    video = str(row["video"])
    question, answer = row.get("question"), row.get("answer")
    span = "whole" if start is None and end is None else f"{start}-{end}"
    return Sample(
        id=str(row["id"]) if row.get("id") is not None else f"{video}/{span}",
        dataset=str(row.get("dataset") or ""),
        group=str(row.get("group") or video),
        shown=Shown(
            video=str(root / video),
            start=start,
            end=end,
            procedure=procedure,
            action=str(row["action"]).strip(),
            task=str(row.get("task") or ""),
            question=str(question) if question is not None else None,
        ),
        truth=Truth(_labels(row, taxonomy, where), str(answer) if answer is not None else None),
        giveaways=(NEGATIVE_START,) if start is not None and start < 0 else (),
        problem=problem,
        notes=tuple(notes),
        narration=str(row["narration"]) if row.get("narration") is not None else None,
    )


def _labels(row: Mapping[str, Any], taxonomy: Taxonomy, where: str) -> tuple[str, ...]:
    given = row.get("label")
    if given is None:
        return ()
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where}: 'label' must be a label or a list of labels, not {given!r}.")
    found = [taxonomy.find(name) for name in names]
    for name, label in zip(names, found, strict=True):
        if label is None:
            raise DataError(f"{where}: {name!r} is no label; the labels are {', '.join(taxonomy.names)}.")
    return tuple(dict.fromkeys(label.name for label in found if label is not None))


def _procedure(given: str, folder: Path, named: Mapping[str, str], known: dict[str, str], where: str) -> str:
    """The text of a procedure that is given as a name, as the path of a file, or as the text itself."""
    if given in named:
        return named[given]
    if given in known:
        return known[given]
    path = folder / given if "\n" not in given and len(given) < 1024 else None
    if path is None or not path.is_file():
        looks_like_a_file = path is not None and " " not in given.strip() and bool(path.suffix)
        if not looks_like_a_file:
            return given
        raise DataError(f"{where}: there is no procedure file {path}. Give its path, or the text itself.")
    try:
        known[given] = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"{where}: the procedure {path} cannot be read as text: {exc}.") from exc
    return known[given]
