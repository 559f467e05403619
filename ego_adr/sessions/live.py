"""A source that does not wait: a camera, or an address that sends as things happen.

Pictures are taken in by a thread of its own, so that a slow model makes windows be left out instead of making
everything late: what is told is at most two windows old. A source that falls silent is opened again for a while.
Times are those of the watch, counted from the first picture.
"""

from __future__ import annotations

import re
import threading
import time as clock
from collections import deque
from collections.abc import Iterator
from typing import Any

from ego_adr.errors import EgoADRError, VideoError
from ego_adr.sessions.windowing import Windower
from ego_adr.types import Clip

__all__ = ["is_live", "live_windows"]

#: Addresses that send as things happen; HLS and plain files on a web server do not.
_LIVE = re.compile(r"(rtsps?|rtmps?|rtp|srt|udp|tcp)://|/dev/video", re.IGNORECASE)
#: Windows that may wait for the model; beyond that the oldest is left out.
WAITING = 2


def is_live(source: str) -> bool:
    """Whether a source sends as things happen, by its name: ``rtsp://``, ``rtmp://``, ``srt://``, ``udp://`` ..., or
    ``/dev/video0``.
    """
    return _LIVE.match(source) is not None


def live_windows(
    source: str,
    *,
    window: float,
    frames: int,
    options: dict[str, str] | None = None,
    patience: float = 10.0,
    stop: threading.Event | None = None,
) -> Iterator[Clip]:
    """Clips of a live source, each as soon as its window is over and the one before has been dealt with.

    Args:
        source: as for `is_live`.
        window: seconds a clip.
        frames: pictures kept of each window.
        options: of the opener (``{"rtsp_transport": "tcp"}``).
        patience: seconds without a picture until the source counts as gone; until then it is opened anew.
        stop: set from outside, ends the recording with what there is.

    Yields:
        clips whose times show what was left out: each begins where the one before ended, or later.

    Raises:
        VideoError: it cannot be opened, holds no pictures, or was silent for longer than ``patience``.
    """
    reader = _Reader(source, Windower(window, frames), options or {}, patience, stop or threading.Event())
    reader.start()
    try:
        while (clip := reader.next()) is not None:
            yield clip
    finally:
        reader.leave()


class _Reader(threading.Thread):
    """Takes pictures in and keeps the latest windows."""

    def __init__(
        self,
        source: str,
        windower: Windower,
        options: dict[str, str],
        patience: float,
        stop: threading.Event,
    ) -> None:
        super().__init__(name="ego-adr-live", daemon=True)
        self._source = source
        self._windower = windower
        self._options = options
        self._patience = patience
        self._stop_asked = stop
        self._left = threading.Event()
        self._ready: deque[Clip] = deque(maxlen=WAITING)
        self._changed = threading.Condition()
        self._over = False
        self._error: EgoADRError | None = None
        self._begun: float | None = None
        self._last_picture = clock.monotonic()

    def next(self) -> Clip | None:
        """The oldest window that waits, or None when there will be none."""
        with self._changed:
            # A signal's handler runs between two waits.
            while not (self._ready or self._over):
                self._changed.wait(0.2)
            if self._ready:
                return self._ready.popleft()
            if self._error is not None:
                raise self._error
            return None

    def leave(self) -> None:
        """Nobody listens any more."""
        self._left.set()
        self.join(timeout=5)

    def run(self) -> None:
        try:
            self._read()
        except EgoADRError as exc:
            self._error = exc
        except Exception as exc:
            # Any type: the thread's only listener must hear of it, or it would wait for ever.
            self._error = VideoError(f"{self._source!r} broke while it was read: {exc!r}.")
        rest = self._windower.rest()
        with self._changed:
            if rest is not None:
                self._ready.append(rest)
            self._over = True
            self._changed.notify_all()

    @property
    def _done(self) -> bool:
        return self._stop_asked.is_set() or self._left.is_set()

    def _read(self) -> None:
        import av

        while not self._done:
            try:
                with self._open() as container:
                    self._take(container)
                told = "it stopped sending"
            except (av.FFmpegError, OSError) as exc:
                if self._begun is None:
                    raise VideoError(f"{self._source!r} cannot be opened as a stream: {exc}.") from exc
                told = str(exc)
            silent = clock.monotonic() - self._last_picture
            if self._begun is not None and silent > self._patience and not self._done:
                when = self._last_picture - self._begun
                raise VideoError(
                    f"{self._source!r} sent nothing after {when:.1f} s and was not back within {self._patience:g} s "
                    f"({told}): the recording is not over, so nothing is said of what has not been seen."
                )
            if self._begun is None and not self._done:
                raise VideoError(f"{self._source!r} ended before its first picture.")
            self._left.wait(0.5)

    def _open(self) -> Any:
        import av

        form = "v4l2" if self._source.startswith("/dev/video") else None
        container = av.open(
            self._source, format=form, options=self._options, timeout=(self._patience, self._patience)
        )
        if not container.streams.video:
            container.close()
            raise VideoError(f"{self._source!r} holds no pictures.")
        return container

    def _take(self, container: Any) -> None:
        """Pictures until the source ends; the first of a new opening comes at the time that it is by the watch."""
        offset: float | None = None
        for picture in container.decode(video=0):
            if self._done:
                return
            now = self._last_picture = clock.monotonic()
            if self._begun is None:
                self._begun = now
            if picture.time is None:
                continue
            if offset is None:
                offset = now - self._begun - picture.time
            clip = self._windower.add(picture.time + offset, picture)
            if clip is not None:
                with self._changed:
                    self._ready.append(clip)
                    self._changed.notify_all()
