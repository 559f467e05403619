"""When two timed steps count as one after the other: the one rule that examples and verdicts share."""

from __future__ import annotations

__all__ = ["MOST_OVERLAP", "overlap_share", "runs_against"]

#: Share of the shorter interval up to which two overlapping steps still count as one after the other.
MOST_OVERLAP = 0.5


def overlap_share(start: float, end: float, other_start: float, other_end: float) -> float:
    """How much of the shorter interval lies in the other, 0..1. A moment inside an interval lies in it whole."""
    shorter = min(end - start, other_end - other_start)
    overlap = min(end, other_end) - max(start, other_start)
    if shorter > 0:
        return max(0.0, overlap) / shorter
    moment, low, high = (
        (start, other_start, other_end) if end - start == shorter else (other_start, start, end)
    )
    return 1.0 if low <= moment < high else 0.0


def runs_against(before: tuple[float, float], after: tuple[float, float]) -> bool:
    """Whether two (start, end) run against a required order: ``before`` begins later, and they hardly overlap."""
    return before[0] > after[0] and overlap_share(*before, *after) <= MOST_OVERLAP
