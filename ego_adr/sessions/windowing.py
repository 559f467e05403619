"""Windows out of pictures that come one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ego_adr.types import Clip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Windower"]


class Windower:
    """Gathers pictures into windows; of each it keeps so many pictures, spread over it.

    Args:
        window: seconds a clip.
        frames: pictures kept of each: the first at or after the middle of each of its equal parts.
    """

    def __init__(self, window: float, frames: int) -> None:
        self._window = window
        self._frames = frames
        self._edge = window
        self._wanted = 0.0
        self._last = 0.0
        self._kept: list[tuple[float, NDArray[np.uint8]]] = []

    def add(self, now: float, picture: Any) -> Clip | None:
        """Take in a picture (``av.VideoFrame``) at ``now`` seconds; the window that it shows to be over, if any."""
        done = None
        if now >= self._edge:
            if self._kept:
                done = self._clip(self._edge)
            window = self._window
            self._kept, self._edge = [], self._edge + window * (1 + (now - self._edge) // window)
            self._wanted = self._edge - window
        self._last = now
        part = self._window / self._frames
        if now >= self._wanted + part / 2 and len(self._kept) < self._frames:
            self._kept.append((now, picture.to_ndarray(format="rgb24")))
            self._wanted += part
        return done

    def rest(self) -> Clip | None:
        """The window that the end cuts short."""
        return self._clip(max(self._last, self._kept[-1][0] + 1e-3)) if self._kept else None

    def _clip(self, end: float) -> Clip:
        times = tuple(moment for moment, _ in self._kept)
        return Clip([array for _, array in self._kept], self._edge - self._window, end, times=times)
