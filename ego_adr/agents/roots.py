"""Paths from outside: opened below one folder, after every link has been followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ego_adr.errors import InputError

__all__ = ["PathRefusedError", "check_root", "path_below", "video_below"]


class PathRefusedError(InputError):
    """A path from outside that is not opened."""

    cause = "path refused"


def check_root(root: str | os.PathLike[str], option: str = "--video-root") -> Path:
    """The folder that an operator opens up, resolved.

    Raises:
        InputError: it is no folder, or it is the root of the whole file system.
    """
    place = Path(root).expanduser()
    if not place.is_dir():
        raise InputError(f"{option} {place} is no folder.")
    found = place.resolve()
    if found == Path(found.anchor):
        raise InputError(
            f"{option} {place} opens the whole machine to whoever asks: name the folder of the videos."
        )
    return found


def path_below(root: Path, given: str) -> Path:
    """Where a path from outside leads, when that is at or below a root.

    Args:
        root: resolved, from `check_root`.
        given: absolute, or relative to the root, or a ``file:`` address on this machine.

    The answer holds no links, so that what was checked is what is opened. Whether something outside the root is
    there cannot be told from the refusal.

    Raises:
        PathRefusedError: anything that leads elsewhere or is no path.
    """
    if given[:5].casefold() == "file:":
        given = _of_address(given)
    if not given or "\0" in given or len(given) > 4096 or "\n" in given:
        raise PathRefusedError("the path is empty, too long, or holds characters that no path has.")
    if "://" in given or given.startswith("~"):
        raise PathRefusedError(
            "only files below the agent's own folder are opened, no addresses and no home folders."
        )
    try:
        found = (root / given).resolve()
        inside = found.is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # links in a circle, names that the system refuses
        inside = False
    if not inside:
        raise PathRefusedError(
            "the path does not lie below what this agent was started with (--video-root, or --data and --videos). Give "
            "the path of something in there, absolute or relative to it."
        )
    return found


def _of_address(address: str) -> str:
    """The path of a ``file:`` address; the address itself where it is one of another machine."""
    try:
        parts = urlsplit(address)
    except ValueError:  # brackets without an address in them
        return address
    here = parts.netloc.casefold() in ("", "localhost") and parts.path.startswith("/")
    return unquote(parts.path) if here and not parts.query and not parts.fragment else address


def video_below(root: Path, given: str, *, most_bytes: int) -> Path:
    """The video file that a path from outside names.

    Raises:
        PathRefusedError: see `path_below`; or it is no regular file, or too large.
    """
    found = path_below(root, given)
    name = found.relative_to(root)
    try:
        about = found.stat()
    except OSError as exc:
        raise PathRefusedError(f"there is no video {str(name)!r} in this agent's folder.") from exc
    if not stat.S_ISREG(about.st_mode):
        raise PathRefusedError(f"{str(name)!r} is no file.")
    if about.st_size > most_bytes:
        raise PathRefusedError(
            f"{str(name)!r} holds {about.st_size} bytes; this agent opens at most {most_bytes}."
        )
    return found
