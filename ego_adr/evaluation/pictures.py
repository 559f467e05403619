"""Small pictures of clips, as JPEG inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ego_adr.errors import VideoError
from ego_adr.types import Clip, Detection, Frame

__all__ = ["Pictures"]

_SIDE = 224
_MOST = 8
_QUALITY = 70


class Pictures:
    """Opens the clips of samples and keeps count of what could not be shown.

    Args:
        given: id -> pictures, for samples whose clip is no file.
        limit: how many clips are opened.
    """

    def __init__(self, *, given: Mapping[str, Sequence[Any]], limit: int) -> None:
        self._given = given
        self._limit = limit
        self._shown = 0
        self._left_out = 0
        self._unreadable: list[str] = []

    def of(self, name: str, detection: Detection | None) -> tuple[list[str], list[float | None]]:
        """Data URIs of a sample's pictures and their times in seconds; empty when none can be shown."""
        if name in self._given:
            return self._encoded(list(self._given[name]))
        if detection is None or detection.video is None or not detection.frame_times:
            return [], []
        if not Path(detection.video).is_file():
            return [], []
        if self._shown >= self._limit:
            self._left_out += 1
            return [], []
        self._shown += 1
        from ego_adr.video import sample_clip

        clip = Clip(detection.video, detection.start, detection.end)
        try:
            frames = sample_clip(clip, min(len(detection.frame_times), _MOST), longer_side=_SIDE, warn=False)
        except VideoError as exc:
            self._unreadable.append(f"{name}: {exc}")
            return [], []
        return self._encoded(list(frames))

    def note(self) -> str:
        """What a reader should know about the pictures; empty when every clip is shown."""
        parts = []
        if self._left_out:
            parts.append(
                f"pictures of the first {self._shown:,} clips are shown, {self._left_out:,} are left out"
            )
        if self._unreadable:
            parts.append(f"{len(self._unreadable)} clips could not be opened again ({self._unreadable[0]})")
        return "; ".join(parts)

    def _encoded(self, pictures: Sequence[Any]) -> tuple[list[str], list[float | None]]:
        if len(pictures) > _MOST:
            pictures = [pictures[round(i * (len(pictures) - 1) / (_MOST - 1))] for i in range(_MOST)]
        times = [picture.time if isinstance(picture, Frame) else None for picture in pictures]
        return [_jpeg(picture) for picture in pictures], times


def _jpeg(picture: Any) -> str:
    from PIL import Image

    array = picture.array if isinstance(picture, Frame) else picture
    image = array if isinstance(array, Image.Image) else Image.fromarray(array)
    image = image.convert("RGB")
    image.thumbnail((_SIDE, _SIDE))
    held = io.BytesIO()
    image.save(held, "JPEG", quality=_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode("ascii")
