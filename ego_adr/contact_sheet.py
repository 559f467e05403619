"""A contact sheet: the pictures that a model sees, on one image, each with its time."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from ego_adr.errors import InputError
from ego_adr.types import Frame

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

__all__ = ["contact_sheet"]

_GAP = 4
_PAPER = (24, 24, 24)
_INK = (240, 240, 240)


def contact_sheet(frames: Sequence[Frame], *, columns: int | None = None) -> PilImage:
    """The frames in rows, in their order, each above its time in seconds.

    Args:
        frames: at least one. They may differ in size; every cell has room for the largest.
        columns: cells in a row; by default so many that the sheet is about as wide as it is high.

    Raises:
        InputError: there are no frames, or ``columns`` is less than 1.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not frames:
        raise InputError("a contact sheet needs at least one frame.")
    if columns is not None and columns < 1:
        raise InputError(f"columns={columns} is not allowed; it is a whole number, 1 or more.")
    width = max(frame.array.shape[1] for frame in frames)
    height = max(frame.array.shape[0] for frame in frames)
    size = max(11, min(width, height) // 14)
    font = ImageFont.load_default(size=size)
    caption = size + 2 * _GAP
    across = min(len(frames), columns or max(1, round(sqrt(len(frames) * (height + caption) / width))))
    down = ceil(len(frames) / across)
    sheet = Image.new(
        "RGB", (across * (width + _GAP) + _GAP, down * (height + caption + _GAP) + _GAP), color=_PAPER
    )
    draw = ImageDraw.Draw(sheet)
    for place, frame in enumerate(frames):
        left = _GAP + place % across * (width + _GAP)
        top = _GAP + place // across * (height + caption + _GAP)
        sheet.paste(Image.fromarray(frame.array), (left + (width - frame.array.shape[1]) // 2, top))
        draw.text(
            (left + width // 2, top + height + caption // 2),
            f"{frame.time:.2f} s",
            _INK,
            font=font,
            anchor="mm",
        )
    return sheet
