"""The demuxer's side of an open video: packets from the right key picture on, without decoding.

Times are ticks, whole numbers of the stream's time base, as in the file.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any

from ego_adr.video.opening import identify_file, open_video

__all__ = ["PacketSource", "shown_at"]

#: Earlier than every picture.
ALWAYS = -(2**62)
#: Decoding times that go back by more than this many seconds begin a new count: files that were joined.
_NEW_COUNT = 0.5
#: AVFMT_TS_DISCONT: formats whose times may begin anew within a file.
_MAY_COUNT_ANEW = 0x0200


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
        self._from_front = _must_be_read_from_its_front(path, self.container)

    def close(self) -> None:
        self.container.close()

    def read(self) -> Generator[Any, None, None]:
        """Packets from where the file stands to its end; a read error ends it too.

        Where the times begin anew, those that follow are moved on to one count for the whole file.
        """
        from av.error import FFmpegError

        packets = self.container.demux(self.stream)
        behind, last = 0, None
        try:
            for packet in packets:
                if packet.size == 0:
                    return
                if self._from_front and packet.dts is not None:
                    if last is not None and packet.dts + behind < last - _NEW_COUNT / self.base:
                        behind = last + self.step - packet.dts
                    last = packet.dts = packet.dts + behind
                    packet.pts = None if packet.pts is None else packet.pts + behind
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

        if self._from_front:
            return self._read_up_to(tick)
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
        if len(entries) and not self._from_front:
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

    def _read_up_to(self, tick: int) -> tuple[int, Iterator[Any]]:
        """`enter` for files that must be read from their front. Only what may be decoded is kept."""
        lead, kept = ALWAYS, list[Any]()
        packets = self._reopened()
        for packet in packets:
            shown = shown_at(packet)
            if packet.is_keyframe and shown is not None:
                if shown > tick:
                    return lead, chain(kept, [packet], packets)
                lead, kept = shown, []
            kept.append(packet)
            if packet.dts is not None and packet.dts > tick:
                break
        return lead, chain(kept, packets)

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
        """For formats that cannot seek (GIF, streams of single pictures), or not exactly."""
        self.container.close()
        self.container, self.stream = open_video(self.path)
        return self.read()


def shown_at(packet: Any) -> Any:
    """The presentation time of a packet's picture; None where there is none, or it is never shown."""
    return None if packet.is_discard else packet.pts


def _must_be_read_from_its_front(path: str, container: Any) -> bool:
    """Whether packets after a seek cannot be relied on to carry the times that they have in the whole file.

    In MPEG program streams several pictures share one time stamp, and after a seek into their midst the parser counts
    on from the wrong one. In streams that were joined end to end the same times come more than once.
    """
    if container.format.name == "mpeg":
        return True
    return bool(container.format.flags & _MAY_COUNT_ANEW) and _times_begin_anew(path, identify_file(path))


@lru_cache(maxsize=256)
def _times_begin_anew(path: str, _: tuple[int, ...]) -> bool:
    """Whether decoding times go back within the file. All of it is read, nothing is decoded; known by its identity."""
    from av.error import FFmpegError

    container, stream = open_video(path)
    last = None
    try:
        for packet in container.demux(stream):
            if packet.dts is None:
                continue
            if last is not None and packet.dts < last - _NEW_COUNT / stream.time_base:
                return True
            last = packet.dts
    except FFmpegError:
        pass  # what can be read is what is looked at; the reader meets the error as well
    finally:
        container.close()
    return False
