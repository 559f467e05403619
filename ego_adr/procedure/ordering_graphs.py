"""Which step needs which, as a graph without cycles: checks, repairs and the questions asked of it."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterable, Sequence

from ego_adr.errors import ProcedureError
from ego_adr.types import ProcedureBank, Step, StepEdge

__all__ = ["StepOrder", "break_cycles", "find_cycle", "with_edges"]


def find_cycle(count: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...] | None:
    """A shortest-found cycle as step indices (the first is not repeated), or None when there is none.

    Args:
        count: number of steps; every edge (before, after) joins two of 0 .. count - 1.
    """
    following: list[list[int]] = [[] for _ in range(count)]
    for before, after in edges:
        following[before].append(after)
    state = bytearray(count)  # 0 not seen, 1 on the path, 2 done
    for root in range(count):
        if state[root]:
            continue
        path = [root]
        state[root] = 1
        left = [iter(following[root])]
        while path:
            step = next(left[-1], None)
            if step is None:
                state[path.pop()] = 2
                left.pop()
            elif state[step] == 1:
                return tuple(path[path.index(step) :])
            elif state[step] == 0:
                state[step] = 1
                path.append(step)
                left.append(iter(following[step]))
    return None


class StepOrder:
    """The order that a bank's edges ask for.

    Args:
        steps: the bank's steps.
        edges: its edges; double ones count once.

    Attributes:
        needs: for each step the steps it needs directly, lowest first.
        needed_by: for each step the steps that need it directly, lowest first.
        topological: step indices, each after all it needs, written order where that leaves a choice.

    Raises:
        ProcedureError: when an edge names no step, or the edges run in a circle (the message names it).
    """

    def __init__(self, steps: Sequence[Step], edges: Iterable[StepEdge]) -> None:
        count = len(steps)
        pairs = sorted({(edge.before, edge.after) for edge in edges})
        for before, after in pairs:
            if not (0 <= before < count and 0 <= after < count):
                raise ProcedureError(
                    f"the edge {before} -> {after} names a step that is not there: the procedure has steps "
                    f"0 to {count - 1} (counted from 0). Correct the graph."
                )
        cycle = find_cycle(count, pairs)
        if cycle is not None:
            round_trip = " -> ".join(f"{i + 1} ({steps[i].text[:40]!r})" for i in (*cycle, cycle[0]))
            raise ProcedureError(
                f"the steps need each other in a circle: {round_trip}. Take one of these edges out of the graph."
            )
        self.count = count
        self.needs: list[list[int]] = [[] for _ in range(count)]
        self.needed_by: list[list[int]] = [[] for _ in range(count)]
        for before, after in pairs:
            self.needs[after].append(before)
            self.needed_by[before].append(after)
        self.topological = self._sorted()

    @classmethod
    def of(cls, bank: ProcedureBank) -> StepOrder:
        """The order of a bank's own edges."""
        return cls(bank.steps, bank.edges)

    def _sorted(self) -> list[int]:
        open_needs = [len(needed) for needed in self.needs]
        ready = [step for step in range(self.count) if not open_needs[step]]
        heapq.heapify(ready)
        found: list[int] = []
        while ready:
            step = heapq.heappop(ready)
            found.append(step)
            for after in self.needed_by[step]:
                open_needs[after] -= 1
                if not open_needs[after]:
                    heapq.heappush(ready, after)
        return found

    @functools.cached_property
    def _ancestors(self) -> list[int]:
        """For each step a whole number whose bit i says that step i must come before."""
        masks = [0] * self.count
        for step in self.topological:
            mask = 0
            for needed in self.needs[step]:
                mask |= masks[needed] | (1 << needed)
            masks[step] = mask
        return masks

    def must_precede(self, before: int, after: int) -> bool:
        """Whether ``after`` needs ``before``, directly or through other steps."""
        return bool(self._ancestors[after] >> before & 1)

    def all_needs(self, step: int) -> list[int]:
        """Every step that must come before, directly or through others, lowest first."""
        mask = self._ancestors[step]
        return [i for i in range(step if not mask else mask.bit_length()) if mask >> i & 1]

    def all_needed_by(self, step: int) -> list[int]:
        """Every step that loses its ground without this one, lowest first."""
        found: set[int] = set()
        todo = list(self.needed_by[step])
        while todo:
            after = todo.pop()
            if after not in found:
                found.add(after)
                todo.extend(self.needed_by[after])
        return sorted(found)

    def reduced(self) -> list[tuple[int, int]]:
        """The edges that do not follow from others (transitive reduction), sorted."""
        kept: list[tuple[int, int]] = []
        for after in range(self.count):
            # Of the steps needed, one that another needed step needs too is implied.
            implied = 0
            for needed in self.needs[after]:
                implied |= self._ancestors[needed]
            kept += [(needed, after) for needed in self.needs[after] if not implied >> needed & 1]
        return sorted(kept)

    def closure(self) -> set[tuple[int, int]]:
        """Every (before, after) that holds, directly or through other steps."""
        return {(before, after) for after in range(self.count) for before in self.all_needs(after)}


def break_cycles(count: int, edges: Sequence[StepEdge]) -> tuple[list[StepEdge], list[StepEdge]]:
    """Take edges out until no cycle is left: from each cycle the one that runs furthest against written order.

    Returns:
        (kept, dropped). Edges from a step to itself are dropped; a cycle always holds an edge that runs
        against written order, so edges along written order are never lost.
    """
    kept = [edge for edge in edges if edge.before != edge.after]
    dropped = [edge for edge in edges if edge.before == edge.after]
    while True:
        cycle = find_cycle(count, ((edge.before, edge.after) for edge in kept))
        if cycle is None:
            return kept, dropped
        pairs = list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        worst = max(pairs, key=lambda pair: pair[0] - pair[1])
        dropped += [edge for edge in kept if (edge.before, edge.after) == worst]
        kept = [edge for edge in kept if (edge.before, edge.after) != worst]


def with_edges(bank: ProcedureBank, edges: Iterable[StepEdge], *, repair: bool = False) -> ProcedureBank:
    """The bank with these edges in place of its own; the reasons of double edges are joined.

    Args:
        repair: take edges out of cycles (noted in ``bank.notes``) instead of raising.

    Raises:
        ProcedureError: for an edge to a step that is not there, and for a cycle unless ``repair``.
    """
    joined: dict[tuple[int, int], dict[str, None]] = {}
    for edge in edges:
        joined.setdefault((edge.before, edge.after), {}).update(dict.fromkeys(edge.sources))
    kept = [StepEdge(before=a, after=b, sources=tuple(joined[a, b])) for a, b in sorted(joined)]
    notes = list(bank.notes)
    if repair:
        inside = [e for e in kept if 0 <= e.before < len(bank.steps) and 0 <= e.after < len(bank.steps)]
        notes += [f"edge {e.before} -> {e.after} left out: no such step" for e in kept if e not in inside]
        kept, dropped = break_cycles(len(bank.steps), inside)
        notes += [f"edge {e.before} -> {e.after} left out: it closed a circle" for e in dropped]
    StepOrder(bank.steps, kept)
    return bank.model_copy(update={"edges": tuple(kept), "notes": tuple(notes)})
