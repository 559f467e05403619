"""`sample_frames`: from a source and an interval to frames with their times."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from operator import index
from typing import Any

from ego_adr.errors import EgoADRWarning, InputError, VideoError
from ego_adr.types import Clip, Frame, FrameSequence, Source
from ego_adr.video.choosing import choose_around, choose_pictures, spread_instants
from ego_adr.video.interval import Interval, resolve_interval, say_seconds
from ego_adr.video.pictures import PictureList
from ego_adr.video.pool import borrow_video
from ego_adr.video.reader import VideoReader

__all__ = ["sample_clip", "sample_frames"]


def sample_frames(
    source: Source,
    start: float | str | None = None,
    end: float | str | None = None,
    n: int = 8,
    *,
    longer_side: int | None = None,
    times: Sequence[float] | None = None,
    warn: bool = True,
) -> FrameSequence:
    """Up to ``n`` pictures, spread evenly over [start, end) of a video, each with its own time.

    The interval is cut into ``n`` equal parts; the picture that is shown in the middle of each part is taken, by its
    presentation time. No picture comes twice: an interval with fewer pictures gives those that it has, and says so.

    Args:
        source: the path of a video file or GIF; or pictures in order of time: PIL images, H x W x 3 uint8 arrays
            (one T x H x W x 3 array too), or `Frame` objects.
        start, end: seconds after the first picture (numbers, ``"7.5"``, ``"00:00:07"``, ``"01:30"``). None is the
            video's own start or end, and -1 for both is the whole video. Equal ends give the pictures around that
            instant. `ego_adr.video.interval` has all rules. For pictures with ``times``, on the clock of those.
        n: how many pictures, at least 1.
        longer_side: pixels that the longer side may have; larger pictures are scaled down, smaller ones are kept.
        times: seconds at which each picture of a list is shown, ascending. Without them the pictures are taken to
            be one second apart, with a warning.
        warn: give each warning as an `EgoADRWarning`; they are on the result in any case.

    Returns:
        Frames of H x W x 3 uint8, RGB, upright (rotation applied; pixels as they are stored, also where the file says
        that they are not square), in order of time, with ``start`` and ``end`` that were really used, the
        ``duration`` of the whole video, and ``warnings``.

    Raises:
        VideoError: the file cannot be read, holds no pictures, or is damaged where it was asked for.
        ClipRangeError: the times do not lie in the video, or are no times.
        InputError: ``n`` or ``longer_side`` is no positive whole number.
    """
    n = _positive("n", n)
    longer_side = None if longer_side is None else _positive("longer_side", longer_side)
    if isinstance(source, (str, bytes, os.PathLike)):
        if times is not None:
            raise InputError(
                "times= belongs to a list of pictures; a video file has its own times. Leave it out."
            )
        if isinstance(source, bytes) and b"\0" in source:
            raise VideoError(
                f"{len(source):,} bytes were given that are no path. Write a video's content to a file, and give its path."
            )
        found = _from_file(os.fsdecode(source), start, end, n, longer_side)
    else:
        found = _from_pictures(source, times, start, end, n, longer_side)
    if warn:
        for text in found.warnings:
            warnings.warn(text, EgoADRWarning, stacklevel=2)
    return found


def sample_clip(
    clip: Clip, n: int = 8, *, longer_side: int | None = None, warn: bool = True
) -> FrameSequence:
    """`sample_frames` for a `Clip`."""
    return sample_frames(
        clip.source, clip.start, clip.end, n, longer_side=longer_side, times=clip.times, warn=warn
    )


def _positive(what: str, value: Any) -> int:
    try:
        number = 0 if isinstance(value, bool) else index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"{what}={value!r} is not allowed; it is a whole number, 1 or more.")
    return number


def _from_file(path: str, start: object, end: object, n: int, longer_side: int | None) -> FrameSequence:
    with borrow_video(path) as video:
        interval = resolve_interval(
            start,
            end,
            first=0.0,
            last=video.duration,
            name=path,
            picture=video.picture,
            cut_from=video.promised,
        )
        if interval.instant:
            times = _around(video, interval.start, n)
            interval = Interval(times[0], min(times[-1] + video.picture, video.duration), interval.warnings)
            frames = video.frames(times, longer_side)
        else:
            frames = _spread(video, interval, n, longer_side)
        found = _sequence(frames, interval, video.duration, path, n)
        found.rate = 1.0 / video.picture if video.picture > 0 else None
        return found


def _spread(video: VideoReader, interval: Interval, n: int, longer_side: int | None) -> list[Frame]:
    instants = spread_instants(interval.start, interval.end, n)
    if interval.end - interval.start >= 2 * n * video.picture:
        frames = video.frames(instants, longer_side)
        if len(frames) == n:
            return frames
    # Close to as many pictures as were asked for, or unevenly spaced: they are listed before they are chosen.
    times = video.picture_times(interval.start, interval.end)
    return video.frames([times[place] for place in choose_pictures(times, instants)], longer_side)


def _around(video: VideoReader, instant: float, n: int) -> list[float]:
    """Times of the ``n`` pictures around an instant."""
    reach = n * video.picture
    while True:
        low, high = max(0.0, instant - reach), min(video.duration, instant + reach)
        times = video.picture_times(low, high)
        chosen = choose_around(times, instant, n)
        full = (
            len(chosen) == n
            and (chosen[0] > 0 or low == 0)
            and (chosen[-1] < len(times) - 1 or high == video.duration)
        )
        if full or (low == 0 and high == video.duration):
            return [times[place] for place in chosen]
        reach *= 4


def _from_pictures(
    source: Sequence[Any],
    times: Sequence[float] | None,
    start: object,
    end: object,
    n: int,
    longer_side: int | None,
) -> FrameSequence:
    if isinstance(source, Clip):
        raise InputError("sample_frames takes the source of a clip; use sample_clip for a Clip.")
    if not isinstance(source, Sequence) and getattr(source, "ndim", None) != 4:
        raise VideoError(
            f"a source of type {type(source).__name__} cannot be sampled. Give the path of a video, a list of pictures "
            "(PIL images, H x W x 3 uint8 arrays, frames), or one T x H x W x 3 array."
        )
    count = len(source)
    pictures = PictureList(source, times)
    interval = resolve_interval(
        start, end, first=pictures.first, last=pictures.last, name=pictures.name, picture=pictures.picture
    )
    notes = interval.warnings
    if pictures.assumed and count > 1:
        notes = (
            f"{pictures.name}: no times were given; the pictures are taken to be one second apart, from 0 to "
            f"{count - 1} s. Pass times= to say when each is shown.",
            *notes,
        )
    if interval.instant:
        chosen = choose_around(pictures.times, interval.start, n)
    else:
        inside = [
            place
            for place, time in enumerate(pictures.times)
            if time < interval.end
            and (time >= interval.start or place + 1 == count or pictures.times[place + 1] > interval.start)
        ]
        instants = spread_instants(interval.start, interval.end, n)
        chosen = [
            inside[place] for place in choose_pictures([pictures.times[place] for place in inside], instants)
        ]
    frames = [pictures.frame(place, longer_side) for place in chosen]
    return _sequence(
        frames,
        Interval(interval.start, interval.end, notes),
        pictures.last - pictures.first,
        pictures.name,
        n,
    )


def _sequence(frames: list[Frame], interval: Interval, duration: float, name: str, n: int) -> FrameSequence:
    notes = interval.warnings
    if not frames:
        raise VideoError(
            f"{name}: there is no picture from {say_seconds(interval.start)} to {say_seconds(interval.end)}."
        )
    if len(frames) < n:
        notes = (
            *notes,
            f"{name}: {n} pictures were asked for, the clip from {say_seconds(interval.start)} to "
            f"{say_seconds(interval.end)} holds {len(frames)}",
        )
    found = FrameSequence(frames)
    found.start, found.end, found.duration, found.warnings = interval.start, interval.end, duration, notes
    return found
