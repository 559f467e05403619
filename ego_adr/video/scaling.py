"""Sizes and orientation: how a decoded picture becomes H x W x 3, uint8, RGB, upright, no larger than asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FrameConverter", "scaled_size"]


def scaled_size(width: int, height: int, longer_side: int | None) -> tuple[int, int]:
    """Width and height with the longer one at ``longer_side``: same shape, never enlarged, each at least 1."""
    longest = max(width, height)
    if longer_side is None or longest <= longer_side:
        return width, height

    def scaled(side: int) -> int:
        return max(1, (2 * side * longer_side + longest) // (2 * longest))

    return scaled(width), scaled(height)


class FrameConverter:
    """Turns decoded frames of one video into arrays; keeps libswscale's tables between frames."""

    def __init__(self, longer_side: int | None) -> None:
        from av.video.reformatter import VideoReformatter

        self._longer_side = longer_side
        self._reformatter: Any = VideoReformatter()

    def array(self, frame: Any) -> NDArray[np.uint8]:
        """One pass of libswscale scales (area averaging) and converts; then the display matrix is applied."""
        width, height = scaled_size(frame.width, frame.height, self._longer_side)
        turned = _display_matrix(frame)
        small = self._reformatter.reformat(frame, width, height, "rgb24", interpolation="AREA", threads=1)
        array: NDArray[np.uint8] = small.to_ndarray()
        return array if turned is None else _upright(array, turned)


def _display_matrix(frame: Any) -> tuple[int, int, int, int] | None:
    """a, b, c, d of the frame's display matrix (x' = a x + c y, y' = b x + d y); None when it has none."""
    data = frame.side_data.get("DISPLAYMATRIX")
    if data is None:
        return None
    values: Sequence[int] = memoryview(bytes(data)).cast("i").tolist()
    return values[0], values[1], values[3], values[4]


def _upright(array: NDArray[np.uint8], matrix: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    """Turn and mirror by the quarter turn that is nearest to the matrix."""
    import numpy as np

    a, b, c, d = matrix
    if abs(a) + abs(d) >= abs(b) + abs(c):
        right, down = a, d
    else:
        array, right, down = array.transpose(1, 0, 2), c, b
    if right < 0:
        array = array[:, ::-1]
    if down < 0:
        array = array[::-1]
    return np.ascontiguousarray(array)
