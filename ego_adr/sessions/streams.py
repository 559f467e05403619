"""Windows out of a source that only runs forward: a camera, an RTSP address, or a file played at speed."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ego_adr.errors import InputError, VideoError
from ego_adr.sessions.live import is_live, live_windows
from ego_adr.sessions.windowing import Windower
from ego_adr.types import Clip

if TYPE_CHECKING:
    import threading

__all__ = ["stream_windows"]


def stream_windows(
    source: str,
    *,
    window: float = 10.0,
    frames: int = 8,
    speed: float | None = None,
    options: dict[str, str] | None = None,
    patience: float = 10.0,
    stop: threading.Event | None = None,
) -> Iterator[Clip]:
    """Clips of a running source, each as soon as its window is over.

    Args:
        source: a live one (`ego_adr.sessions.live`: ``rtsp://...``, ``/dev/video0``), or a file.
        window: seconds a clip.
        frames: pictures kept of each window, spread over it.
        speed: play a file at this multiple of its own time; None reads as fast as it can.
        options: passed on to the opener (``{"rtsp_transport": "tcp"}``).
        patience: seconds that a live source may be silent.
        stop: set from outside, ends a live recording with what there is.

    Yields:
        clips of pictures with their times. A source that ends gives its last, shorter clip.

    Raises:
        InputError: for a window, a number of frames or a speed that is not positive.
        VideoError: when the source cannot be opened, holds no pictures, or breaks.
    """
    import av

    if not window > 0 or frames < 1 or (speed is not None and not speed > 0) or not patience > 0:
        raise InputError(
            f"window, frames, speed and patience must be positive; got {window!r}, {frames!r}, {speed!r}, {patience!r}."
        )
    if is_live(source):
        if speed is not None:
            raise InputError(f"{source!r} runs at its own speed: leave speed out.")
        yield from live_windows(
            source, window=window, frames=frames, options=options, patience=patience, stop=stop
        )
        return
    try:
        container = av.open(source, options=options or {})
    except (av.FFmpegError, OSError) as exc:
        raise VideoError(f"{source!r} cannot be opened as a stream: {exc}.") from exc
    with container:
        if not container.streams.video:
            raise VideoError(f"{source!r} holds no pictures.")
        try:
            yield from _clips(container, Windower(window, frames), speed)
        except av.FFmpegError as exc:
            raise VideoError(f"{source!r} broke while it was read: {exc}.") from exc


def _clips(container: Any, windower: Windower, speed: float | None) -> Iterator[Clip]:
    begun = clock.monotonic()
    zero: float | None = None
    for picture in container.decode(video=0):
        if picture.time is None:
            continue
        zero = picture.time if zero is None else zero
        now = picture.time - zero
        if speed is not None:
            clock.sleep(max(0.0, now / speed - (clock.monotonic() - begun)))
        clip = windower.add(now, picture)
        if clip is not None:
            yield clip
    if zero is None:
        raise VideoError("the stream ended before its first picture.")
    rest = windower.rest()
    if rest is not None:
        yield rest
