"""Pictures that are already in memory: PIL images, arrays and ready frames, with the times at which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ego_adr.errors import ClipRangeError, VideoError
from ego_adr.types import Frame
from ego_adr.video.interval import parse_time
from ego_adr.video.scaling import scaled_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PictureList"]

_ALLOWED = "A picture is a PIL image, a H x W x 3 uint8 array (RGB; H x W for gray), or a Frame."


class PictureList:
    """Pictures in order of time. Their times are kept as given: they need not begin at 0.

    Attributes:
        times: seconds, ascending.
        first, last: when the first picture is shown and when the last one ends (one usual step after it begins).
        picture: the usual step between two pictures, in seconds.
        assumed: no times were given, so the pictures are taken to be one second apart.
    """

    def __init__(self, pictures: Sequence[Any], times: Sequence[Any] | None = None) -> None:
        self.name = f"<{len(pictures)} pictures>"
        if len(pictures) == 0:
            raise VideoError("an empty list of pictures was given; give at least one picture.")
        self._pictures = pictures
        ready = [picture for picture in pictures if isinstance(picture, Frame)]
        if ready and len(ready) != len(pictures):
            raise VideoError(f"{self.name}: frames and other pictures are mixed. Give one kind.")
        if ready and times is not None:
            raise VideoError(f"{self.name}: frames carry their own times; leave times= out.")
        self.assumed = times is None and not ready
        if ready:
            self.times = _checked([frame.time for frame in ready], self.name)
        elif times is None:
            self.times = [float(index) for index in range(len(pictures))]
        else:
            if len(times) != len(pictures):
                raise ClipRangeError(
                    f"{self.name}: {len(times)} times were given. Give one time for each picture."
                )
            self.times = _checked(times, self.name)
        steps = sorted(later - earlier for earlier, later in pairwise(self.times))
        self.picture = (steps[len(steps) // 2] if steps else 0.0) or 1.0
        self.first, self.last = self.times[0], self.times[-1] + self.picture

    def frame(self, index: int, longer_side: int | None) -> Frame:
        """One picture as a frame, scaled down where its longer side is more than ``longer_side``."""
        picture = self._pictures[index]
        if isinstance(picture, Frame):
            array = _shrunk(_from_array(picture.array, self._place(index)), longer_side)
            number = picture.number
        else:
            array, number = self._array(picture, self._place(index), longer_side), index
        return Frame(array=array, time=self.times[index], number=number)

    def _place(self, index: int) -> str:
        return f"picture {index} of {len(self._pictures)}"

    @staticmethod
    def _array(picture: Any, place: str, longer_side: int | None) -> NDArray[np.uint8]:
        from PIL import Image

        if isinstance(picture, Image.Image):
            return _shrunk(_from_pil(picture, place), longer_side)
        if isinstance(picture, (str, bytes)) or not hasattr(picture, "__array__"):
            raise VideoError(f"{place} is of type {type(picture).__name__}. {_ALLOWED}")
        return _shrunk(_from_array(picture, place), longer_side)


def _checked(times: Sequence[Any], name: str) -> list[float]:
    seconds: list[float] = []
    for index, value in enumerate(times):
        time = parse_time(value, f"{name}: times[{index}]")
        if time is None:
            raise ClipRangeError(
                f"{name}: times[{index}] is None. Give one time in seconds for each picture."
            )
        if seconds and time < seconds[-1]:
            raise ClipRangeError(
                f"{name}: times[{index}] is {time}, after {seconds[-1]}. Give the pictures in order of time."
            )
        seconds.append(time)
    return seconds


def _from_pil(picture: Any, place: str) -> NDArray[np.uint8]:
    """Upright RGB. 16-bit gray is divided down: PIL's own conversion would clip it to white."""
    import numpy as np
    from PIL import Image, ImageOps

    if picture.mode.startswith("I;16"):
        wide = np.asarray(picture).astype(np.uint16)
        picture = Image.fromarray((wide >> 8).astype(np.uint8))
    elif picture.mode in ("I", "F"):
        raise VideoError(
            f"{place} is a PIL image of mode {picture.mode}, whose range is not known. {_ALLOWED}"
        )
    return np.array(ImageOps.exif_transpose(picture).convert("RGB"))


def _from_array(picture: Any, place: str) -> NDArray[np.uint8]:
    import numpy as np

    array = np.asarray(picture)
    if array.dtype != np.uint8:
        raise VideoError(
            f"{place} is an array of {array.dtype}. Scale it to 0..255 and make it uint8. {_ALLOWED}"
        )
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim == 3 and array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    if array.ndim != 3 or array.shape[2] not in (3, 4) or 0 in array.shape:
        shape = " x ".join(map(str, np.shape(picture)))
        raise VideoError(f"{place} is an array of {shape}. Colour comes last. {_ALLOWED}")
    return array[:, :, :3]


def _shrunk(array: NDArray[np.uint8], longer_side: int | None) -> NDArray[np.uint8]:
    import numpy as np

    height, width = array.shape[:2]
    size = scaled_size(width, height, longer_side)
    if size == (width, height):
        return np.ascontiguousarray(array)
    from PIL import Image

    return np.array(Image.fromarray(np.ascontiguousarray(array)).resize(size, Image.Resampling.BOX))
