"""The rules of a recording: which events came at the wrong moment, fed one after the other as they happen.

Required a -> b (directly or through other steps, done or not). A pair breaks the order when a begins after b,
and both steps of the pair are in the wrong place: a because a step that needs it has already begun, b because
a step it needs begins later. A pair counts only if the two intervals overlap by at most half of the shorter
one, and a step's first occurrence counts (an undone one does not).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ego_adr.procedure.ordering_graphs import StepOrder
from ego_adr.procedure.ordering_times import MOST_OVERLAP, overlap_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OrderBreach", "OrderJudge"]

#: Number of steps from which intervals are kept in arrays.
_MANY = 256


@dataclass(frozen=True)
class OrderBreach:
    """A required pair that was done the other way round.

    Attributes:
        before, after: step indices; ``after`` needs ``before`` and began first.
        known_at: seconds at which this can be known.
    """

    before: int
    after: int
    known_at: float


def _bits(mask: int) -> list[int]:
    """The positions of the set bits, lowest first."""
    if mask.bit_count() < 32:
        found = []
        while mask:
            low = mask & -mask
            found.append(low.bit_length() - 1)
            mask ^= low
        return found
    return [int(i) for i in _places(mask)]


def _places(mask: int) -> NDArray[np.intp]:
    """The positions of the set bits of a large mask."""
    import numpy as np

    raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


class OrderJudge:
    """Takes first occurrences in order of their start and says which earlier and present steps break the order.

    Memory and time a step grow with the number of steps in the bank over 64 (sets are kept as whole numbers).
    """

    def __init__(self, order: StepOrder) -> None:
        self.order = order
        self._after = [0] * order.count
        for step in reversed(order.topological):
            mask = 0
            for later in order.needed_by[step]:
                mask |= self._after[later] | (1 << later)
            self._after[step] = mask
        self._begun = 0
        self._ended = 0
        self._running: list[tuple[float, int]] = []
        self._times: dict[int, tuple[float, float]] = {}
        self._fresh: list[int] = []
        self._now = float("-inf")
        self._arrays: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        if order.count >= _MANY:
            import numpy as np

            self._arrays = np.zeros(order.count), np.zeros(order.count)
        self._blamed = 0  # steps already known to have begun before one they need

    @property
    def begun(self) -> int:
        """The steps that have begun, as the set bits of a whole number."""
        mask = self._begun
        for step in self._fresh:
            mask |= 1 << step
        return mask

    def needed_by(self, step: int) -> int:
        """The steps that need this one, directly or through others, as set bits."""
        return self._after[step]

    def feed(self, step: int, start: float, end: float) -> list[OrderBreach]:
        """One first occurrence. Starts must not run backwards.

        Returns:
            breaches in which this step is the one that came too late: first the one that tells most (a step
            that needs it directly, where there is one), then one for every step that is not yet known to have
            begun too early. Pairs beyond these say nothing new and are left out, so that a log of n steps
            gives at most 2 n of them.
        """
        if start > self._now:
            # What began at this very moment is no earlier: it enters the books once time has moved on.
            for fresh in self._fresh:
                self._begun |= 1 << fresh
                heapq.heappush(self._running, (self._times[fresh][1], fresh))
            self._fresh.clear()
            self._now = start
        while self._running and self._running[0][0] <= start:
            self._ended |= 1 << heapq.heappop(self._running)[1]
        begun_after = self._after[step] & self._begun
        broken = begun_after & self._ended | self._apart(begun_after & ~self._ended, start, end)
        found: list[OrderBreach] = []
        if broken:
            direct = [after for after in self.order.needed_by[step] if broken >> after & 1]
            told = direct[0] if direct else (broken & -broken).bit_length() - 1
            others = _bits(broken & ~self._blamed & ~(1 << told))
            found = [OrderBreach(step, after, self._known(after, start, end)) for after in (told, *others)]
            self._blamed |= broken
        self._times[step] = (start, end)
        if self._arrays is not None:
            self._arrays[0][step], self._arrays[1][step] = start, end
        self._fresh.append(step)
        return found

    def _known(self, after: int, start: float, end: float) -> float:
        """When the breach can be known: at once, or when the overlap is over."""
        return max(start, min(end, self._times[after][1]))

    def _apart(self, running: int, start: float, end: float) -> int:
        """Those of the running steps that overlap with [start, end) by at most half of the shorter interval."""
        if self._arrays is None or running.bit_count() < 8:
            apart = [i for i in _bits(running) if overlap_share(start, end, *self._times[i]) <= MOST_OVERLAP]
            return sum(1 << i for i in apart)
        if not running:
            return 0
        import numpy as np

        places = _places(running)
        starts, ends = self._arrays[0][places], self._arrays[1][places]
        shorter = np.minimum(ends - starts, end - start)
        shared = np.maximum(np.minimum(ends, end) - start, 0.0)
        # A moment inside a running step (shorter = 0) lies in it whole.
        far = places[(shorter > 0) & (shared <= MOST_OVERLAP * shorter)]
        if not len(far):
            return 0
        bits = np.zeros(int(far[-1]) + 1, dtype=np.uint8)
        bits[far] = 1
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
