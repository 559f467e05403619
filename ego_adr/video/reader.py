"""One open video: how long it is, and the pictures at given times."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, pairwise
from math import floor
from typing import Any

from ego_adr.errors import VideoError
from ego_adr.types import Frame
from ego_adr.video.decoding import UndecodableError, decode_pictures
from ego_adr.video.interval import say_seconds
from ego_adr.video.packets import PacketSource, shown_at
from ego_adr.video.scaling import FrameConverter

__all__ = ["VideoReader"]

#: Formats that say when a picture is decoded, not when it is shown.
_STORED_TIMES_ONLY = ("avi", "asf")
#: AVFMT_NOTIMESTAMPS: bare streams. The demuxer makes up 25 pictures a second for some of them.
_NO_TIMES = 0x0080


class VideoReader:
    """An open video file. Not for two threads at once.

    Attributes:
        path: as it was given.
        duration: seconds from the first picture to the end of the last one that is there.
        promised: what the file says its duration is, when it breaks off before that; else None.
        picture: seconds for which one picture is usually shown.
        size: width and height as coded.

    Raises:
        VideoError: the file cannot be read as a video.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._source = PacketSource(path)
        try:
            self._first = self._source.first = self._find_first()
            self._end, self.promised = self._find_end()
        except BaseException:
            self.close()
            raise
        self.duration = self._seconds(self._end)
        self.picture = float(self._source.step * self._source.base)
        context = self._source.stream.codec_context
        self.size: tuple[int, int] = (context.width, context.height)

    def close(self) -> None:
        """Close the file; the reader is of no use afterwards."""
        self._source.close()

    def picture_times(self, start: float, end: float) -> list[float]:
        """When the pictures that are shown in [start, end) begin, in seconds, ascending. Nothing is decoded."""
        low = self._tick(start)
        high = max(low + 1, min(self._tick(end), self._end))
        lead, packets = self._source.enter(low)
        found: set[int] = set()
        for packet in packets:
            if packet.dts is not None and packet.dts >= high:
                break
            shown = shown_at(packet)
            if shown is not None and max(lead, self._first) <= shown < high:
                found.add(shown)
        ticks = sorted(found)
        begin = max((index for index, tick in enumerate(ticks) if tick <= low), default=0)
        return [self._seconds(tick) for tick in ticks[begin:]]

    def frames(self, times: Sequence[float], longer_side: int | None) -> list[Frame]:
        """The pictures that are shown at the times (seconds, ascending), each picture once.

        Raises:
            VideoError: one of them cannot be decoded.
        """
        convert = FrameConverter(longer_side)
        frames: list[Frame] = []

        def take(_: int, decoded: Any) -> None:
            time = self._seconds(decoded.pts)
            if not frames or frames[-1].time != time:
                frames.append(Frame(array=convert.array(decoded), time=time))

        try:
            decode_pictures(self._source, [self._tick(time) for time in times], take)
        except UndecodableError as exc:
            raise VideoError(
                f"{self.path}: the picture at {say_seconds(self._seconds(exc.tick))} cannot be decoded: the file is "
                "damaged there. Get it again, or leave that stretch out."
            ) from exc
        return frames

    def _seconds(self, tick: int) -> float:
        return float((tick - self._first) * self._source.base)

    def _tick(self, seconds: float) -> int:
        # A time that was rounded to float must not fall below the picture that begins exactly there.
        return self._first + floor(Fraction(seconds) / self._source.base + Fraction(1, 1000))

    def _find_first(self) -> int:
        """The time of the first picture that can be decoded: second 0."""
        from av.error import FFmpegError

        source = self._source
        context = source.stream.codec_context
        form, codec = source.container.format, context.codec.canonical_name
        if form.name in _STORED_TIMES_ONLY and codec in ("h264", "hevc") and context.has_b_frames:
            raise VideoError(
                f"{self.path}: {form.name.upper()} files hold no presentation times, and this video stores its "
                "pictures out of order. Convert it to MP4, for example: ffmpeg -i FILE -c:v libx264 out.mp4"
            )
        if form.flags & _NO_TIMES:
            raise VideoError(_no_times(self.path))
        for number, packet in enumerate(chain(source.read(), [None])):
            if number == 0 and packet is not None:
                source.learn_shift(packet)
            try:
                frames = context.decode(packet)
            except FFmpegError:
                continue
            for frame in frames:
                if frame.pts is None:
                    raise VideoError(_no_times(self.path))
                source.interlaced = frame.interlaced_frame
                return int(frame.pts)
        raise VideoError(
            f"{self.path}: not one picture of the video can be decoded (its codec is {codec}). Where a player shows it, "
            "convert it to MP4; where none does, get the file again."
        )

    def _find_end(self) -> tuple[int, float | None]:
        """Where the last picture that is there ends, and the promised duration when the file breaks off before."""
        source = self._source
        stream = source.stream
        stated = None if stream.duration is None else (stream.start_time or 0) + stream.duration
        aim = stated
        if aim is None:
            length = source.container.duration
            aim = self._first + (2**60 if length is None else round(length / 1_000_000 / source.base))
        shown = self._readable(aim)
        if not shown:
            shown = self._readable(self._first)
        if not shown:
            return self._first + source.step, None
        last, length = shown[-1]
        if stated is None or stated <= last + 2 * max(source.step, length):
            return last + length, None
        # Broken off: pictures are stored out of order, so that some before the last one may be missing as well.
        for (earlier, length), (later, _) in pairwise(shown):
            if later - earlier > 1.5 * length:
                return earlier + length, self._seconds(stated)
        return last + length, self._seconds(stated)

    def _readable(self, tick: int) -> list[tuple[int, int]]:
        """Start and length of the whole pictures from the key picture before ``tick`` to the end of the file."""
        _, packets = self._source.enter(tick)
        return sorted(
            (shown_at(packet), packet.duration or self._source.step)
            for packet in packets
            if shown_at(packet) is not None and not packet.is_corrupt
        )


def _no_times(path: str) -> str:
    return (
        f"{path}: the pictures carry no times. Make a video that has times, and say how many are shown a second, for "
        "example: ffmpeg -framerate 30 -i FILE -c:v libx264 out.mp4"
    )
