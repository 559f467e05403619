"""Open videos that are kept for the next clip of the same file, few and small.

A video that was just used stays open, so that the next clip of it needs neither probing nor an index. What is kept is
bounded in number and in bytes, is never shared between two threads at once, and is dropped when the file on disk has
changed. After a fork the child starts with nothing.
"""

from __future__ import annotations

import atexit
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ego_adr.video.opening import THREADS, identify_file
from ego_adr.video.reader import VideoReader

__all__ = ["borrow_video", "close_videos"]

#: Videos kept open at most, and bytes of decoder memory that all of them together, or one alone, may hold.
MAX_OPEN = 2
MAX_BYTES = 64 * 2**20

_Key = tuple[str, tuple[int, ...]]


class _Pool:
    def __init__(self) -> None:
        self.lock = Lock()
        self.idle: OrderedDict[_Key, VideoReader] = OrderedDict()

    def take(self, key: _Key) -> VideoReader | None:
        with self.lock:
            stale = [other for other in self.idle if other[0] == key[0] and other != key]
            dropped = [self.idle.pop(other) for other in stale]
            found = self.idle.pop(key, None)
        for reader in dropped:
            reader.close()
        return found

    def give(self, key: _Key, reader: VideoReader) -> None:
        dropped = [reader]
        with self.lock:
            if key not in self.idle and _held_bytes(reader) <= MAX_BYTES:
                self.idle[key] = dropped.pop()
            while len(self.idle) > MAX_OPEN or sum(map(_held_bytes, self.idle.values())) > MAX_BYTES:
                dropped.append(self.idle.popitem(last=False)[1])
        for reader in dropped:
            reader.close()

    def clear(self) -> None:
        with self.lock:
            dropped = list(self.idle.values())
            self.idle.clear()
        for reader in dropped:
            reader.close()


def _held_bytes(reader: VideoReader) -> int:
    """Decoder memory of an open video, from above: pictures that may be referred to, and one for each thread."""
    width, height = reader.size
    return width * height * 3 * (5 + THREADS)


_pool = _Pool()
_left_to_parent: list[_Pool] = []


def _start_anew() -> None:
    global _pool
    # The decoder threads of the parent do not exist here: to close its videos would wait for them forever.
    _left_to_parent.append(_pool)
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def borrow_video(path: str) -> Iterator[VideoReader]:
    """An open video for this thread alone; afterwards it is kept for the next, unless something went wrong.

    Raises:
        VideoError: the file cannot be read as a video.
    """
    key = (os.path.abspath(path), identify_file(path))
    pool = _pool
    reader = pool.take(key) or VideoReader(path)
    try:
        yield reader
    except BaseException:
        reader.close()
        raise
    pool.give(key, reader)


def close_videos() -> None:
    """Close every video that is kept open. The next clip opens its file again."""
    _pool.clear()


atexit.register(close_videos)
