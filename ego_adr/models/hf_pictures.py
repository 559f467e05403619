"""From frames to the tensors and the metadata that a processor is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ego_adr.errors import InputError
from ego_adr.types import Frame

__all__ = ["PixelLimits", "check_frames", "picture_size", "pixel_limits", "stack_frames", "video_metadata"]

#: Pictures a second that files usually have, the commonest first; then a clock that every time fits.
USUAL_RATES = (30.0, 25.0, 24.0, 60.0, 50.0, 30000 / 1001, 24000 / 1001, 60000 / 1001, 120.0)
CLOCK = 1000.0
#: How far, in pictures, a time may lie from its rate's tick: containers round to milliseconds.
OFF_TICK = 0.02
#: Longer side to shorter side: the processors of the Qwen family refuse more.
MAX_RATIO = 200

#: What ``size`` of these processors limits: the pixels of each picture, or of the whole video. Their sizing is
#: that of qwen-vl-utils; every other processor sizes its pictures itself.
QWEN_SIZING: dict[str, Literal["picture", "video"]] = {
    "Qwen2VLVideoProcessor": "picture",
    "Qwen3VLVideoProcessor": "video",
    "Qwen2VLImageProcessor": "picture",
    "Qwen2VLImageProcessorFast": "picture",
    "Qwen2VLImageProcessorPil": "picture",
}


@dataclass(frozen=True)
class PixelLimits:
    """How many pixels a picture may have, and what its sides must divide by.

    Attributes:
        min_pixels, max_pixels: of one picture; None is no limit.
        factor: in pixels: patch size times merge size; None for processors that size pictures themselves.
    """

    min_pixels: int | None = None
    max_pixels: int | None = None
    factor: int | None = None

    def __post_init__(self) -> None:
        low, high = self.min_pixels, self.max_pixels
        for name, value in (("min_pixels", low), ("max_pixels", high)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(
                    f"{name}={value!r} is not allowed: it is a whole number of pixels from 1, or None."
                )
        if low is not None and high is not None and low > high:
            raise InputError(f"min_pixels={low} is more than max_pixels={high}.")


def check_frames(frames: Sequence[Frame]) -> None:
    """Refuse what is no picture.

    Raises:
        InputError: an array that is not H x W x 3 uint8; the message says which and what it is.
    """
    for place, frame in enumerate(frames):
        array = frame.array
        if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape or str(array.dtype) != "uint8":
            raise InputError(
                f"picture {place} is {'x'.join(map(str, array.shape))} {array.dtype}; H x W x 3 uint8 (RGB) is needed."
            )


def video_metadata(frames: Sequence[Frame]) -> dict[str, Any]:
    """What a processor must know of the clip that the frames were taken from.

    It describes the clip, never the file: ``total_num_frames`` is how many pictures the file has in the clip,
    ``fps`` the file's rate and ``frames_indices`` the places of the frames among them, counted from the clip's
    start. Eight frames of 16 s at 30 fps are 480, 30 and eight numbers in 0..479, so that processors find
    ``8 / 480 * 30`` = 0.5 frames a second. Frames that do not know their numbers in the file are laid on the first
    usual rate whose ticks all their times meet, else on a clock of 1000 ticks a second: either gives the same
    times and the same frames a second. (A `FrameSequence` may know the rate of its file as ``rate``.)

    Args:
        frames: at least one, in order of time. The interval is that of a `FrameSequence`, or else as long as
            the frames' mean distance times their number.

    Returns:
        the fields of transformers' ``VideoMetadata``.
    """
    first, last, count = frames[0], frames[-1], len(frames)
    spread = last.time - first.time
    start, end = getattr(frames, "start", None), getattr(frames, "end", None)
    if start is None or end is None or not end > start:
        start = first.time
        end = start + (spread / (count - 1) * count if count > 1 and spread > 0 else 0.0)
    known = _file_rate(first, last) or getattr(frames, "rate", None)
    fps = round(float(known), 3) if known else _usual_rate([frame.time for frame in frames])
    length = max(end - start, spread, 1.0 / fps)
    total = max(round(length * fps), 1)
    indices = [min(max(round((frame.time - start) * fps), 0), total - 1) for frame in frames]
    height, width = first.array.shape[:2]
    return {
        "total_num_frames": total,
        "fps": fps,
        "frames_indices": indices,
        "duration": total / fps,
        "width": width,
        "height": height,
    }


def _file_rate(first: Frame, last: Frame) -> float | None:
    """Pictures a second in the file between two frames that know their numbers; the mean where it varies."""
    if first.number is None or last.number is None or last.number <= first.number or last.time <= first.time:
        return None
    return (last.number - first.number) / (last.time - first.time)


def _usual_rate(times: Sequence[float]) -> float:
    """The first of the usual rates whose ticks all times meet, in seconds after the first picture."""
    for rate in USUAL_RATES:
        if all(abs(time * rate - round(time * rate)) <= OFF_TICK for time in times):
            return rate
    return CLOCK


def pixel_limits(
    processor: Any, count: int, *, min_pixels: int | None = None, max_pixels: int | None = None
) -> PixelLimits:
    """The limits for each of ``count`` pictures under a video or image processor.

    For the Qwen family: what the checkpoint's ``size`` says, within the limits of qwen-vl-utils (128 to 768
    tokens for a picture of a video, 4 to 16,384 for a single image, and an even share of the context), which is
    how these models were trained and are evaluated. A checkpoint whose own limit lies lower keeps it. Its limits and
    its ``smart_resize`` are used, its reader of picture lists is not: that one rounds every picture to twice the
    patch first, and lays the pictures evenly over time whatever their times are.

    Args:
        min_pixels, max_pixels: of one picture, in place of the checkpoint's.
    """
    kind = next((QWEN_SIZING[c.__name__] for c in type(processor).__mro__ if c.__name__ in QWEN_SIZING), None)
    edges = _edges(processor) if kind else None
    if edges is None:
        return PixelLimits(min_pixels, max_pixels)
    from qwen_vl_utils import vision_process as qwen

    factor = int(processor.patch_size * processor.merge_size)
    token = factor * factor
    low, high = edges
    is_video = "Video" in type(processor).__name__
    if kind == "video":
        pictures = count + count % int(processor.temporal_patch_size)
        low, high = max(low // pictures, 1), max(high // pictures, 1)
    if is_video:
        least, most = qwen.VIDEO_MIN_TOKEN_NUM * token, qwen.VIDEO_MAX_TOKEN_NUM * token
        most = min(most, int(qwen.MODEL_SEQ_LEN * token * 0.9 / count * qwen.FRAME_FACTOR))
    else:
        least, most = qwen.IMAGE_MIN_TOKEN_NUM * token, qwen.IMAGE_MAX_TOKEN_NUM * token
    top = max_pixels if max_pixels is not None else max(min(high, most), token)
    bottom = (
        min_pixels
        if min_pixels is not None
        else (max(low, least) if max(low, least) <= top else min(low, top))
    )
    return PixelLimits(bottom, top, factor)


def _edges(processor: Any) -> tuple[int, int] | None:
    """Least and most pixels of a processor's ``size``; None when its size is of another kind."""
    try:
        low, high = processor.size["shortest_edge"], processor.size["longest_edge"]
    except KeyError:
        return None
    return (int(low), int(high)) if low and high else None


def picture_size(height: int, width: int, limits: PixelLimits, scale: float = 1.0) -> tuple[int, int]:
    """The size in pixels (height, width) at which a picture is handed over.

    Args:
        scale: the share of its pixels that a picture keeps, below 1 when memory is short.
    """
    if limits.factor is not None:
        from qwen_vl_utils import smart_resize

        low, high = limits.min_pixels or 1, limits.max_pixels or 10**9
        size = smart_resize(height, width, factor=limits.factor, min_pixels=low, max_pixels=high)
        if scale < 1:
            target = max(int(size[0] * size[1] * scale), limits.factor**2)
            size = smart_resize(height, width, factor=limits.factor, min_pixels=1, max_pixels=target)
        # its floor can be zero for long thin pictures
        return max(int(size[0]), limits.factor), max(int(size[1]), limits.factor)
    ratio = 1.0
    if limits.max_pixels is not None and height * width > limits.max_pixels:
        ratio = (limits.max_pixels / (height * width)) ** 0.5
    elif limits.min_pixels is not None and height * width < limits.min_pixels:
        ratio = (limits.min_pixels / (height * width)) ** 0.5
    ratio *= scale**0.5
    if ratio == 1.0:
        return height, width
    return max(round(height * ratio), 1), max(round(width * ratio), 1)


def stack_frames(frames: Sequence[Frame], limits: PixelLimits, scale: float = 1.0) -> Any:
    """The frames as one ``uint8`` tensor of N x 3 x H x W, sized by `picture_size` (bicubic, antialiased).

    Pictures of different sizes take the first one's. Very long thin ones are padded at their edges until the
    longer side is at most 200 times the shorter one.
    """
    import numpy as np
    import torch

    arrays = [_padded(frame.array) for frame in frames]
    height, width = arrays[0].shape[:2]
    size = picture_size(height, width, limits, scale)
    if len({array.shape for array in arrays}) == 1:
        return _resized(torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2), size)
    return torch.cat([_resized(torch.from_numpy(a.copy())[None].permute(0, 3, 1, 2), size) for a in arrays])


def _resized(pictures: Any, size: tuple[int, int]) -> Any:
    from torchvision.transforms.v2 import InterpolationMode, functional

    if tuple(pictures.shape[-2:]) == size:
        return pictures.contiguous()
    return functional.resize(
        pictures.contiguous(), list(size), interpolation=InterpolationMode.BICUBIC, antialias=True
    )


def _padded(array: Any) -> Any:
    import numpy as np

    height, width = array.shape[:2]
    least = -(-max(height, width) // MAX_RATIO)
    if min(height, width) >= least:
        return array
    rows, columns = max(least - height, 0), max(least - width, 0)
    pads = ((rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2), (0, 0))
    return np.pad(array, pads, mode="edge")
