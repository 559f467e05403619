"""Windows out of a source that only runs forward: a camera, an RTSP address, or a file played at speed."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ego_adr.errors import InputError, VideoError
from ego_adr.types import Clip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["stream_windows"]


def stream_windows(
    source: str,
    *,
    window: float = 10.0,
    frames: int = 8,
    speed: float | None = None,
    options: dict[str, str] | None = None,
) -> Iterator[Clip]:
    """Clips of a running source, each as soon as its window is over.

    Args:
        source: an address (``rtsp://...``), a device (``/dev/video0``), or a file.
        window: seconds a clip.
        frames: pictures kept of each window, spread over it.
        speed: play a file at this multiple of its own time; None reads as fast as it can.
        options: passed on to the opener (``{"rtsp_transport": "tcp"}``).

    Yields:
        clips of pictures with their times. A source that ends gives its last, shorter clip.

    Raises:
        InputError: for a window, a number of frames or a speed that is not positive.
        VideoError: when the source cannot be opened, holds no pictures, or breaks.
    """
    import av

    if not window > 0 or frames < 1 or (speed is not None and not speed > 0):
        raise InputError(f"window, frames and speed must be positive; got {window!r}, {frames!r}, {speed!r}.")
    try:
        container = av.open(source, options=options or {})
    except (av.FFmpegError, OSError) as exc:
        raise VideoError(f"{source!r} cannot be opened as a stream: {exc}.") from exc
    with container:
        if not container.streams.video:
            raise VideoError(f"{source!r} holds no pictures.")
        try:
            yield from _clips(container, window, frames, speed)
        except av.FFmpegError as exc:
            raise VideoError(f"{source!r} broke while it was read: {exc}.") from exc


def _clips(container: Any, window: float, frames: int, speed: float | None) -> Iterator[Clip]:
    begun = clock.monotonic()
    zero: float | None = None
    edge = window
    kept: list[tuple[float, NDArray[np.uint8]]] = []
    wanted = 0.0
    last = 0.0
    for picture in container.decode(video=0):
        if picture.time is None:
            continue
        zero = picture.time if zero is None else zero
        now = picture.time - zero
        if speed is not None:
            clock.sleep(max(0.0, now / speed - (clock.monotonic() - begun)))
        if now >= edge:
            if kept:
                yield _clip(kept, edge - window, edge)
            kept, edge = [], edge + window * (1 + (now - edge) // window)
            wanted = edge - window
        last = now
        # The first picture at or after the middle of each of the window's equal parts.
        if now >= wanted + window / frames / 2 and len(kept) < frames:
            kept.append((now, picture.to_ndarray(format="rgb24")))
            wanted += window / frames
    if zero is None:
        raise VideoError("the stream ended before its first picture.")
    if kept:
        yield _clip(kept, edge - window, max(last, kept[-1][0] + 1e-3))


def _clip(kept: list[tuple[float, NDArray[np.uint8]]], start: float, end: float) -> Clip:
    return Clip([array for _, array in kept], start, end, times=tuple(moment for moment, _ in kept))
