"""Your own data: one JSON object a line, or one JSON list (or object by id) of them.

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
from unicodedata import normalize

from ego_adr.benchmarks.samples import NEGATIVE_START, Sample, Shown, Truth, distinct
from ego_adr.errors import ClipRangeError, DataError
from ego_adr.reading import is_file, json_line, json_value, read_text, rows_of_json
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Failure
from ego_adr.video.interval import parse_time

__all__ = ["FIELDS", "holds_own_rows", "load_own"]

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
    lines = _lines(read_text(place), place)
    root = Path(videos) if videos is not None else place.parent
    texts: dict[str, str] = {}
    found: list[Sample] = []
    seen: dict[str, int] = {}
    given: dict[str, str] = {}
    for number, line in lines.items():
        where = f"{place.name}, {number}"
        try:
            row = _row(line, where)
            if row.get("id") is not None:
                name = str(row["id"])
                if name in given:
                    raise DataError(f"{where}: the id {name!r} is already that of {given[name]}.")
                given[name] = number
            procedure = _procedure(row["procedure"], place.parent, procedures or {}, texts, where)
            found.append(distinct(_sample(row, root, procedure, labels, where), seen))
        except DataError as exc:
            if faults is None:
                raise
            faults.append(str(exc))
    return found


def holds_own_rows(path: str | PathLike[str]) -> bool:
    """Whether a JSON file holds rows of the schema above, not the published ones.

    Raises:
        DataError: when it cannot be read.
    """
    first = next(iter(_lines(read_text(path), Path(path)).values()))
    try:
        row = json_line(first, "") if isinstance(first, str) else first
    except DataError:
        return False
    return isinstance(row, Mapping) and "video" in row and "video_id" not in row


def _lines(text: str, place: Path) -> dict[str, Any]:
    """``line 3`` -> the line; or, where the file is one JSON value, ``row 0`` -> what the row holds."""
    start = text.lstrip()[:1]
    if not start:
        raise DataError(f"{place} holds no rows. Write one JSON object a line.")
    if start not in "[{":
        raise DataError(f"{place} begins with {text.split()[0][:40]!r}. Write one JSON object a line.")
    try:
        held = json_value(text, place.name)
    except DataError:
        held = None  # more than one line, or a broken one, which is named when it is read
    whole = None if isinstance(held, Mapping) and "video" in held else rows_of_json(held, "id")
    if whole is not None and not whole:
        raise DataError(f"{place} holds no rows. Write one JSON object a line.")
    if whole is not None:
        return {f"row {number}": row for number, row in enumerate(whole)}
    if held is not None:
        return {"line 1": held}
    return {f"line {number}": line for number, line in enumerate(text.split("\n"), 1) if line.strip()}


def _row(line: Any, where: str) -> Mapping[str, Any]:
    row = json_line(line, where) if isinstance(line, str) else line
    if not isinstance(row, Mapping):
        raise DataError(f"{where} holds {type(row).__name__}, not an object.")
    strange = [name for name in row if name not in FIELDS]
    if strange:
        raise DataError(
            f"{where} has {', '.join(map(repr, strange))}; the fields are {', '.join(FIELDS)}. "
            "Put what is yours into 'meta'."
        )
    for name in _TEXTS:
        if not isinstance(row.get(name), str) or not str(row[name]).strip():
            raise DataError(f"{where}: {name!r} must be a text that is not empty, not {row.get(name)!r}.")
    if row.get("id") is not None and not _is_id(row["id"]):
        raise DataError(f"{where}: 'id' must be a text or a whole number, not {row['id']!r}.")
    if "://" in row["video"]:
        raise DataError(f"{where}: {row['video']!r} is an address. Download the video, and give its path.")
    return row


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and bool(str(value).strip())


def _find(root: Path, name: str) -> Path:
    """Where a video lies: as it is named, or as another system writes the same name (accents, backslashes)."""
    path = root / Path(name).expanduser()
    if not is_file(path):
        plain = name.replace("\\", "/")
        for form in ("NFC", "NFD"):
            other = root / normalize(form, plain)
            if is_file(other):
                return other
    return path


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
            video=str(_find(root, video)),
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
    if path is None or not is_file(path):
        looks_like_a_file = path is not None and " " not in given.strip() and bool(path.suffix)
        if not looks_like_a_file:
            return given
        raise DataError(f"{where}: there is no procedure file {path}. Give its path, or the text itself.")
    text = read_text(path)
    if not text.strip():
        raise DataError(f"{where}: the procedure file {path} is empty.")
    known[given] = text
    return text
