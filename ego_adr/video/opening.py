"""Opening a video file: which stream holds the pictures, and saying plainly why a file cannot be used."""

from __future__ import annotations

import os
import stat
from typing import Any

from ego_adr.errors import VideoError

__all__ = ["identify_file", "open_video"]

# libavformat reads text files as pictures of a terminal; nobody means that.
_NO_VIDEO_FORMATS = frozenset({"tty", "bin", "xbin", "adf", "idf"})

#: Decoder threads of one open video. Two have most of the gain, and more would pile up where several are kept open.
THREADS = 2
#: Videos with larger pictures are not kept open, so that they may have more.
_LARGE, _THREADS_IF_LARGE = 2560 * 1440, 4


def identify_file(path: str) -> tuple[int, ...]:
    """Device, inode, size and time of change: another tuple means another file.

    Raises:
        VideoError: there is no such file, it is no regular file, or it is empty.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        hint = " Check the path."
        if path.startswith("file:"):
            hint = " Give its path, without 'file:'."
        elif "://" in path:
            hint = " Only files can be read: download it first."
        raise VideoError(f"{path if path.strip() else repr(path)}: there is no such file.{hint}") from None
    except (OSError, ValueError) as exc:
        raise VideoError(f"{path}: the file cannot be reached ({exc}).") from exc
    if stat.S_ISDIR(found.st_mode):
        raise VideoError(f"{path}: this is a folder. Give one video file.")
    if not stat.S_ISREG(found.st_mode):
        raise VideoError(f"{path}: this is no regular file. Give one video file.")
    if found.st_size == 0:
        raise VideoError(f"{path}: the file is empty (0 bytes). Get it again.")
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def open_video(path: str) -> tuple[Any, Any]:
    """An open container and the stream of its pictures, ready to decode.

    Raises:
        VideoError: the file cannot be read as a video, or holds no pictures in time.
    """
    import av
    from av.error import FFmpegError
    from av.stream import Discard

    try:
        # The prefix keeps a colon in the name from being taken for a protocol, and nothing but files is opened.
        container = av.open(
            f"file:{path}", container_options={"protocol_whitelist": "file"}, metadata_errors="replace"
        )
    except (FFmpegError, ValueError, OSError) as exc:
        raise VideoError(
            f"{path}: the file cannot be read as a video ({_reason(exc)}). It is no video, or it was cut off while it "
            "was recorded or downloaded: try to play it, and get it again."
        ) from exc
    try:
        stream = _picture_stream(container, path)
    except VideoError:
        container.close()
        raise
    for other in container.streams:
        if other is not stream:
            other.discard = Discard.all
    context = stream.codec_context
    context.thread_type = "AUTO"
    large = context.width * context.height > _LARGE
    context.thread_count = max(THREADS, min(_THREADS_IF_LARGE, os.cpu_count() or 1)) if large else THREADS
    return container, stream


def _picture_stream(container: Any, path: str) -> Any:
    """The stream that a player would show; cover art is none."""
    kinds = sorted({stream.type for stream in container.streams}) or ["nothing"]
    if container.format.name in _NO_VIDEO_FORMATS:
        raise VideoError(f"{path}: this is text, not a video.")
    from av.stream import Disposition

    moving = [
        stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic
    ]
    if not moving:
        cover = " apart from a cover picture" if container.streams.video else ""
        raise VideoError(f"{path}: the file holds no video stream{cover} (it holds {', '.join(kinds)}).")
    usable = [stream for stream in moving if stream.codec_context is not None]
    if not usable:
        raise VideoError(f"{path}: the installed PyAV has no decoder for this video. Convert it to H.264.")
    best = container.streams.best("video")
    return best if best in usable else usable[0]


def _reason(exc: Exception) -> str:
    return getattr(exc, "strerror", None) or str(exc)
