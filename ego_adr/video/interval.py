"""The rules of the interval: from what was asked for to the stretch of video that is looked at.

Nothing here opens a file. The rules, in the order in which they are applied:

* ``None`` is the source's own start or end.
* Both ends negative: the whole video (the mark of a step that was not done). Anything but -1 is warned of.
* The end before the start: swapped, with a warning; an error when one of them lies outside the video as well.
* A negative start, or an end past the last picture: clamped, with a warning.
* A start past the last picture, NaN, infinity, or text that is no time: `ClipRangeError`.
* Equal ends: an instant; the sampler takes the pictures around it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from ego_adr.errors import ClipRangeError

__all__ = ["Interval", "parse_time", "resolve_interval", "say_seconds"]

_ALLOWED = (
    "A time is a number of seconds (7.5 or '7.5') or a clock time ('00:00:07', '01:30', '00:00:07.250')."
)
_CLOCK = re.compile(r"(?P<sign>-?)(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d{1,2}(?:[.,]\d*)?)")
_NOT_DONE_CLOCK = re.compile(r"-1(?::-1){1,3}")
_FOUR_FIELDS = re.compile(r"-?\d+:\d+:\d+[:;]\d+")


@dataclass(frozen=True)
class Interval:
    """A stretch [start, end) in seconds that lies in the video; ``warnings`` say what had to be changed."""

    start: float
    end: float
    warnings: tuple[str, ...] = field(default=())

    @property
    def instant(self) -> bool:
        """Both ends are the same time."""
        return self.start == self.end


def say_seconds(seconds: float) -> str:
    """Seconds for a message, to the millisecond: ``10.0 s``, ``63.533 s``."""
    return f"{round(seconds, 3)} s"


def parse_time(value: object, what: str = "time") -> float | None:
    """Seconds of a number, of text like ``7.5``, ``01:30`` or ``00:00:07.250``, or of None.

    The mark ``-1:-1:-1:-1`` of some annotation tools is read as -1. A fourth field counts pictures at a rate that
    the text does not say, so it is refused.

    Args:
        value: what was given. Anything with ``__float__`` is a number.
        what: which time it is, for the message.

    Raises:
        ClipRangeError: it is no time, or it is not finite.
    """
    if value is None:
        return None
    seconds = _clock(value.strip(), what) if isinstance(value, str) else None
    if seconds is None:
        try:
            if isinstance(value, (bool, bytes, bytearray)):
                raise TypeError
            seconds = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ClipRangeError(f"{what} {value!r} is no time. {_ALLOWED}") from None
        except OverflowError:
            seconds = math.inf
    if not math.isfinite(seconds):
        raise ClipRangeError(f"{what} {value!r} is not a finite number. {_ALLOWED}")
    return seconds


def _clock(text: str, what: str) -> float | None:
    """Seconds of a clock time; None when the text is not written as one."""
    if _NOT_DONE_CLOCK.fullmatch(text):
        return -1.0
    if _FOUR_FIELDS.fullmatch(text):
        raise ClipRangeError(
            f"{what} {text!r} has four fields, and the last one counts pictures at a rate that it does not say. "
            f"Turn it into seconds first. {_ALLOWED}"
        )
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hours, minutes = int(found["hours"] or 0), int(found["minutes"])
    seconds = float(found["seconds"].replace(",", "."))
    if seconds >= 60 or (found["hours"] is not None and minutes >= 60):
        raise ClipRangeError(f"{what} {text!r} is no time: minutes and seconds run to 59. {_ALLOWED}")
    total = 3600 * hours + 60 * minutes + seconds
    return -total if found["sign"] else total


def resolve_interval(
    start: object,
    end: object,
    *,
    first: float,
    last: float,
    name: str,
    picture: float = 0.0,
    cut_from: float | None = None,
) -> Interval:
    """Apply the rules above.

    Args:
        start, end: what was asked for, see `parse_time`.
        first, last: when the first picture is shown and when the last one ends, in seconds.
        name: the video, for messages.
        picture: seconds for which one picture is shown; an end that is later than ``last`` by no more than this is
            taken for rounding and not warned of.
        cut_from: how long the file says it is, when it breaks off at ``last``. An end past ``last`` is then an
            error: the pictures exist, but not here.

    Raises:
        ClipRangeError: see the rules.
    """
    begin = parse_time(start, f"{name}: start")
    stop = parse_time(end, f"{name}: end")
    notes: list[str] = []
    if begin is not None and stop is not None and begin < 0 and stop < 0:
        if begin != -1 or stop != -1:
            notes.append(
                f"{name}: start {say_seconds(begin)} and end {say_seconds(stop)} are both negative, the mark of a "
                "step that was not done: the whole video is taken"
            )
        begin = stop = None
    length = _say_length(last, cut_from)
    explicit_end = stop is not None
    begin = first if begin is None else begin
    stop = last if stop is None else stop
    if stop < begin and explicit_end:
        if stop < first or begin >= last:
            raise ClipRangeError(
                f"{name}: the clip ends at {say_seconds(stop)}, before it starts at {say_seconds(begin)}, and does not "
                f"lie in the video, {length}. Give two times of this video, the earlier one first."
            )
        notes.append(
            f"{name}: the clip ends at {say_seconds(stop)}, before it starts at {say_seconds(begin)}: the two were swapped"
        )
        begin, stop = stop, begin
    if begin >= last:
        raise ClipRangeError(
            f"{name}: the clip starts at {say_seconds(begin)}, {length}. Give a start before that, or check that the "
            "times belong to this video."
        )
    if begin < first:
        notes.append(f"{name}: the clip starts at {say_seconds(begin)}: clamped to {say_seconds(first)}")
        begin = first
        if stop < first:
            raise ClipRangeError(
                f"{name}: the clip ends at {say_seconds(stop)}, before the first picture at {say_seconds(first)}."
            )
    if stop > last:
        if cut_from is not None and explicit_end and stop > last + picture:
            raise ClipRangeError(
                f"{name}: the clip ends at {say_seconds(stop)}, {length}. Get the whole file, or ask for what is readable."
            )
        if stop > last + picture:
            notes.append(
                f"{name}: the clip ends at {say_seconds(stop)}, the video at {say_seconds(last)}: the end was clamped"
            )
        stop = last
    if cut_from is not None and not explicit_end:
        notes.append(f"{name}: {length}; the pictures up to there were taken")
    return Interval(begin, stop, tuple(notes))


def _say_length(last: float, cut_from: float | None) -> str:
    if cut_from is None:
        return f"the video ends at {say_seconds(last)}"
    return f"the file breaks off: {say_seconds(last)} of {say_seconds(cut_from)} are readable"
