"""Decoding exactly the pictures that are shown at given ticks, with little else.

The picture at a tick is the last one whose presentation time is not later. How the work is kept small:

* Decoding starts at the last key picture before a tick and goes on from tick to tick as long as that is less work
  than another seek.
* Pictures that no other picture refers to are left out, unless one may be the picture of a tick.
* Nothing is read after the packet that can still matter.

What keeps it exact: after a seek only pictures from the key picture on are trusted (those that are stored after it
but shown before it lack what they refer to), and after damage in the file no picture is trusted until the next sound
key picture.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ego_adr.video.packets import ALWAYS, PacketSource, shown_at

__all__ = ["UndecodableError", "decode_pictures"]

#: Packets read ahead of the decoder, so that a later picture is known before an earlier one is decoded in vain.
_AHEAD = 4
#: Pictures in a row that must be missing before a stretch of a damaged file counts as a hole in it.
_HOLE = 4


class UndecodableError(Exception):
    """The picture at ``tick`` cannot be decoded; for the reader, which knows how to say it."""

    def __init__(self, tick: int) -> None:
        super().__init__(tick)
        self.tick = tick


def decode_pictures(source: PacketSource, ticks: Sequence[int], take: Callable[[int, Any], None]) -> None:
    """Call ``take(index, frame)`` with the picture of each tick, in order, as soon as it is known.

    Args:
        ticks: ascending, none before the first picture.
        take: is given a frame of the decoder's; to keep it is to keep its memory.

    Raises:
        UndecodableError: a picture is damaged or missing.
    """
    done, aim = 0, None
    while done < len(ticks):
        run = _Run(source, ticks, done, take)
        run.work(ticks[done] if aim is None else aim)
        if run.taken == done and run.lead == ALWAYS:
            raise UndecodableError(ticks[done])
        aim = run.lead - 1 if run.taken == done else None
        done = run.taken


class _Run:
    """One seek, and the ticks that are served from it."""

    def __init__(
        self, source: PacketSource, ticks: Sequence[int], begin: int, take: Callable[[int, Any], None]
    ) -> None:
        self.taken = begin
        self.lead = ALWAYS
        self._source = source
        self._context = source.stream.codec_context
        self._ticks = ticks
        self._take = take
        self._limit = len(ticks)  # ticks from here on are left to another run
        # By place among the ticks: the latest picture seen that is not later than this tick, but than the one before.
        self._newest: dict[int, int] = {}
        self._held: Any = None
        self._held_is_sound = True
        self._sound = True  # no damage since the last sound key picture
        self._bad_from: int | None = None  # the first picture whose packet came incomplete
        self._broken = False  # there was damage anywhere
        self._too_late = False
        self._may_skip = not source.interlaced and _leaves_out_only_unreferred(self._context)

    def work(self, aim: int) -> None:
        """Serve ticks until another seek is less work, or all are served."""
        self.lead, packets = self._source.enter(aim)
        # `enter` may have opened the file again.
        self._context = self._source.stream.codec_context
        sent = self.taken
        key = self.lead
        for packet in self._ahead(packets):
            if packet.is_corrupt:
                self._miss(packet)
                continue
            self._choose_effort(packet)
            for frame in self._send(packet):
                self._see(frame)
            if self._too_late:
                return
            at = packet.dts
            if packet.is_keyframe and packet.pts is not None:
                key = packet.pts
            elif at is not None and key != ALWAYS:
                self._source.saw_run(at - key)
            before = sent
            sent = max(sent, self.taken)
            while at is not None and sent < len(self._ticks) and at > self._ticks[sent]:
                sent += 1
            if sent == len(self._ticks):
                break
            if sent > before and at is not None and self._source.jump_pays(self._ticks[sent], at):
                self._limit = sent
                break
        for frame in self._send(None):
            self._see(frame)
        while self._held is not None and self.taken < self._limit:
            self._serve()

    def _ahead(self, packets: Iterator[Any]) -> Iterator[Any]:
        waiting: deque[Any] = deque()
        for packet in packets:
            shown = shown_at(packet)
            if shown is not None and shown >= self.lead:
                slot = bisect_left(self._ticks, shown)
                self._newest[slot] = max(shown, self._newest.get(slot, shown))
            waiting.append(packet)
            if len(waiting) > _AHEAD:
                yield waiting.popleft()
        yield from waiting

    def _choose_effort(self, packet: Any) -> None:
        """Let the decoder leave the picture out, if nothing refers to it, when it is surely the picture of no tick."""
        if not self._may_skip:
            return
        slot = len(self._ticks) if packet.pts is None else bisect_left(self._ticks, packet.pts)
        needless = packet.pts is not None and (
            slot == len(self._ticks) or self._newest.get(slot, ALWAYS) > packet.pts
        )
        wanted = "NONREF" if needless else "DEFAULT"
        if self._context.skip_frame != wanted:
            self._context.skip_frame = wanted

    def _send(self, packet: Any) -> list[Any]:
        from av.error import FFmpegError

        try:
            frames: list[Any] = self._context.decode(packet)
        except FFmpegError:
            self._broken, self._sound = True, False
            return []
        return frames

    def _miss(self, packet: Any) -> None:
        """An incomplete packet is not decoded: what came of it would be another picture's content."""
        self._broken = True
        shown = shown_at(packet)
        if shown is not None and self._bad_from is None:
            self._bad_from = shown

    def _see(self, frame: Any) -> None:
        if frame.pts is None or frame.pts < self.lead:
            return
        while self.taken < self._limit and frame.pts > self._ticks[self.taken]:
            if self._held is None:
                self._too_late = True
                return
            self._serve()
        if frame.is_corrupt or (self._bad_from is not None and frame.pts >= self._bad_from):
            self._broken, self._sound = True, bool(frame.key_frame and not frame.is_corrupt)
            self._bad_from = None
        elif frame.key_frame:
            self._sound = True
        self._held, self._held_is_sound = frame, self._sound

    def _serve(self) -> None:
        tick = self._ticks[self.taken]
        if not self._held_is_sound or self._lacks_a_picture(tick):
            raise UndecodableError(tick)
        self._take(self.taken, self._held)
        self.taken += 1

    def _lacks_a_picture(self, tick: int) -> bool:
        """Whether a packet promised a later picture for this tick, or there is a hole where packets should be."""
        if not self._broken and not self._may_skip:
            return False  # not every codec makes one picture of one packet
        promised = max(
            (newest for slot, newest in self._newest.items() if slot <= self.taken), default=self._held.pts
        )
        hole = self._broken and tick - self._held.pts > _HOLE * self._source.step
        return bool(hole or self._held.pts != promised)


def _leaves_out_only_unreferred(context: Any) -> bool:
    """Whether ``skip_frame = "NONREF"`` is safe: H.264, and HEVC in one temporal layer.

    With several temporal layers, HEVC's "non-reference" pictures may be referred to from the layers above. (Nor is it
    safe where pictures are interlaced, whatever the codec: a packet may hold one field, half a picture.)
    """
    name = context.codec.canonical_name
    extra = context.extradata or b""
    if name == "hevc":
        # hvcC, ISO/IEC 14496-15: byte 21 holds numTemporalLayers in bits 3 to 5.
        return len(extra) > 22 and extra[0] == 1 and (extra[21] >> 3) & 7 == 1
    return bool(name == "h264")
