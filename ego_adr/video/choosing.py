"""Which pictures stand for a stretch of video: pure functions of times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["choose_around", "choose_pictures", "spread_instants"]


def spread_instants(start: float, end: float, n: int) -> list[float]:
    """``n`` instants in seconds, spread evenly over [start, end): the middles of ``n`` equal parts."""
    return [start + (end - start) * (part + 0.5) / n for part in range(n)]


def choose_pictures(times: Sequence[float], instants: Sequence[float]) -> list[int]:
    """Indices, in order, of the pictures that are shown at the instants.

    No picture is taken twice: where several instants fall on one picture (a slow stretch of a variable frame rate),
    the pictures that are left go where the widest gaps are. With no more pictures than instants, all are taken.

    Args:
        times: when each picture is first shown, ascending, not empty. Any unit.
        instants: in the same unit. An instant before the first picture takes the first one.
    """
    if len(times) <= len(instants):
        return list(range(len(times)))
    taken = sorted({max(bisect_right(times, instant) - 1, 0) for instant in instants})
    while len(taken) < len(instants):
        borders = [-1, *taken, len(times)]
        gaps = [(low, high) for low, high in pairwise(borders) if high - low > 1]
        low, high = max(gaps, key=lambda gap: times[min(gap[1], len(times) - 1)] - times[max(gap[0], 0)])
        middle = (times[max(low, 0)] + times[min(high, len(times) - 1)]) / 2
        best = min(range(low + 1, high), key=lambda index: abs(times[index] - middle))
        taken.insert(bisect_right(taken, best), best)
    return taken


def choose_around(times: Sequence[float], instant: float, n: int) -> list[int]:
    """Indices of up to ``n`` pictures in a row, the one that is shown at ``instant`` in their middle where it can be."""
    centre = max(bisect_right(times, instant) - 1, 0)
    low = min(max(centre - n // 2, 0), max(len(times) - n, 0))
    return list(range(low, min(low + n, len(times))))
