"""The demuxer's side of an open video: packets from the right key picture on, without decoding.

Times are ticks, whole numbers of the stream's time base, as in the file.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from ego_adr.video.opening import open_video

__all__ = ["PacketSource", "shown_at"]

#: Earlier than every picture.
ALWAYS = -(2**62)


class PacketSource:
    """Packets of one video stream.

    Attributes:
        base: seconds of one tick.
        step: ticks for which one picture is usually shown.
        first: the tick of the first picture, set by the reader once it is known.
        interlaced: pictures are stored as fields; set by the reader too.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.container: Any
        self.stream: Any
        self.container, self.stream = open_video(path)
        self.base: Fraction = self.stream.time_base
        rate = self.stream.average_rate or self.stream.guessed_rate or 30
        self.step = max(1, round(1 / rate / self.base))
        self.first: int = 0
        self.interlaced = False
        self._longest_run: int = max(1, round(1 / self.base))
        self._shift: int = 0

    def close(self) -> None:
        self.container.close()

    def read(self) -> Generator[Any, None, None]:
        """Packets from where the file stands to its end; a read error ends it too."""
        from av.error import FFmpegError

        packets = self.container.demux(self.stream)
        try:
            for packet in packets:
                if packet.size == 0:
                    return
                yield packet
        except FFmpegError:
            return
        finally:
            packets.close()

    def learn_shift(self, packet: Any) -> None:
        """Learn from the file's first packet how far the index's times (decoding times in MP4) lie before ours."""
        entries = self.stream.index_entries
        if len(entries) and packet.pts is not None and entries[0].pos == packet.pos:
            self._shift = packet.pts - entries[0].timestamp

    def enter(self, tick: int) -> tuple[int, Iterator[Any]]:
        """Packets from a key picture that is shown at or before ``tick``, and the time of that picture.

        The time is `ALWAYS` where reading begins with the file.
        """
        from av.error import FFmpegError

        aim, back = tick, self._longest_run
        while aim > self.first:
            try:
                self.container.seek(aim, stream=self.stream)
            except FFmpegError:
                break
            packets = self.read()
            key = next(
                (packet for packet in packets if packet.is_keyframe and shown_at(packet) is not None), None
            )
            if key is not None and shown_at(key) <= tick:
                return shown_at(key), chain([key], packets)
            packets.close()
            before = None if key is None or key.dts is None else key.dts - abs(self._shift) - 1
            if before is not None and tick - back < before < aim:
                aim = before
            else:
                aim, back = min(tick - back, aim - 1), back * 4
        return ALWAYS, self._from_start()

    def jump_pays(self, tick: int, at: int) -> bool:
        """Whether a seek to the key picture before ``tick`` is less work than reading on from ``at``."""
        entries = self.stream.index_entries
        if len(entries):
            place = entries.search_timestamp(tick - self._shift)
            if place >= 0 and entries[place].timestamp + self._shift > at + 2 * self.step:
                return True
            if entries[len(entries) - 1].timestamp + self._shift >= tick:
                return False
        run: int = tick - at
        return run > self._longest_run

    def saw_run(self, ticks: int) -> None:
        """Remember the longest stretch that was read without a key picture in it."""
        self._longest_run = max(self._longest_run, ticks)

    def _from_start(self) -> Iterator[Any]:
        from av.error import FFmpegError

        try:
            self.container.seek(self.first - self._longest_run, stream=self.stream)
        except FFmpegError:
            return self._reopened()
        packets = self.read()
        begin = next(packets, None)
        if begin is None or (begin.dts is not None and begin.dts > self.first):
            return self._reopened()
        return chain([begin], packets)

    def _reopened(self) -> Iterator[Any]:
        """For formats that cannot seek (GIF, streams of single pictures)."""
        self.container.close()
        self.container, self.stream = open_video(self.path)
        return self.read()


def shown_at(packet: Any) -> Any:
    """The presentation time of a packet's picture; None where there is none, or it is never shown."""
    return None if packet.is_discard else packet.pts
