"""The log of a run: one checked JSON line a sample, appended and flushed, mended after a kill.

Every line carries a checksum of the rest of it. A line that was cut off, damaged or written twice is found
when the log is read, and `mend_log` leaves only whole lines, one a sample.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ego_adr.errors import DataError
from ego_adr.reading import json_value, read_bytes

__all__ = [
    "LOG_NAME",
    "Log",
    "LogWriter",
    "alone_in",
    "line_id",
    "line_status",
    "mend_log",
    "plan",
    "read_log",
    "seal",
]

LOG_NAME = "results.jsonl"
_CHECK = "checksum"
#: Fields that other tools call the id of a sample.
ID_FIELDS = ("id", "sample_id")


@dataclass
class Log:
    """What a log holds.

    Attributes:
        lines: id -> its line; a line with an answer goes before one that failed, then the later one.
        broken: descriptions of lines that were no whole JSON object, had no id, or a wrong checksum.
        repeated: how many lines were superseded by another of the same id.
        clean: the file is exactly these lines and nothing else.
    """

    lines: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    repeated: int = 0
    clean: bool = True


def seal(line: Mapping[str, Any]) -> str:
    """The line as text, with its checksum at the end."""
    body = {name: value for name, value in line.items() if name != _CHECK}
    return json.dumps({**body, _CHECK: _sum(body)}, allow_nan=False)


def line_id(line: Mapping[str, Any]) -> str | None:
    """The id that a line goes by, None when it has none."""
    value = next((line[name] for name in ID_FIELDS if line.get(name) is not None), None)
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def line_status(line: Mapping[str, Any]) -> str:
    """``ok``, ``unparsed`` or ``failed``, also for lines of other tools that say ``error``."""
    status = line.get("status")
    if status in ("failed", "error") or (status is None and line.get("error")):
        return "failed"
    return "unparsed" if status == "unparsed" else "ok"


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a log without changing it. A file that is not there is an empty log."""
    log = Log()
    place = Path(path)
    if not place.is_file():
        return log
    raw = read_bytes(place)
    # A log that was packed or saved anew is written out before lines are added to it.
    log.clean = (not raw or raw.endswith(b"\n")) and len(raw) == place.stat().st_size
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        held, fault = _open_line(line)
        if held is None:
            log.broken.append(f"line {number} {fault}")
            log.clean = False
            continue
        name = line_id(held)
        if name is None:
            log.broken.append(f"line {number} has no id")
            log.clean = False
            continue
        if name in log.lines:
            log.repeated += 1
            log.clean = False
            if line_status(held) == "failed" and line_status(log.lines[name]) != "failed":
                continue
            del log.lines[name]  # so that the order is that of the lines that count
        log.lines[name] = held
    return log


def mend_log(path: str | os.PathLike[str]) -> Log:
    """Read a log and leave in the file only whole lines, one an id. The file is replaced in one step."""
    log = read_log(path)
    if not log.clean:
        place = Path(path)
        fresh = place.with_name(f"{place.name}.mending")
        with fresh.open("w", encoding="utf-8", newline="\n") as file:
            for line in log.lines.values():
                file.write((seal(line) if _CHECK in line else json.dumps(line)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, place)
    return log


def plan(log: Log, ids: Sequence[str], *, retry_failed: bool = True) -> list[str]:
    """Which of the ids are still to be done, in their order."""
    done = {name for name, line in log.lines.items() if not (retry_failed and line_status(line) == "failed")}
    return [name for name in ids if name not in done]


class LogWriter:
    """Appends lines to a log; each is on disk before `write` returns.

    Use it as a context manager. Only one writer at a time can have a log.

    Raises:
        DataError: when another process is writing to it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._file: IO[str] | None = None

    def __enter__(self) -> LogWriter:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a", encoding="utf-8", newline="\n")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._file.close()
        self._file = None

    def write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Append lines, flush them and wait for the disk."""
        if self._file is None:
            raise ValueError("a LogWriter writes inside its with-block only")
        self._file.writelines(seal(line) + "\n" for line in lines)
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for one run. The system lets go of it when the process ends, however it ends.

    Raises:
        DataError: when another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # no such lock on this system; two runs into one folder stay the user's mistake
        yield
        return
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise DataError(
                f"another run is writing to {folder}. Wait for it, or give another --out."
            ) from exc
        yield


def _open_line(line: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        held = json_value(line.decode("utf-8"), "it")
    except (UnicodeDecodeError, DataError):
        return None, "is cut off or no JSON"
    if not isinstance(held, dict):
        return None, f"holds {type(held).__name__}, not an object"
    if _CHECK in held:
        body = {name: value for name, value in held.items() if name != _CHECK}
        if held[_CHECK] != _sum(body):
            return None, "does not fit its checksum"
    return held, ""


def _sum(body: Mapping[str, Any]) -> str:
    plain = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()[:16]
