"""What lies where and what moves when: scenes and the motion of the hand, without pixels.

Lengths are in block widths (1.0 is the width of a block), x to the right, y up from the table, so that the
same scene can be drawn at any size. Time runs from 0 to 1 over a clip.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

from ego_adr.tabletop.language import BLOCKS, KINDS, STEP_KINDS, Block, Event, held_out

WIDTH = 5.0
"""Width of the view in block widths."""
MARGIN = 0.6
APART = 1.5
"""Centres of blocks that stand for themselves are at least this far apart; blocks side by side are `BESIDE`
apart.
"""
BESIDE = 1.06
FREE = 1.6
HAND_AWAY = (-1.3, -2.2)
"""Where the hand rests, relative to the block it will fetch: below the view."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Key:
    """At time `at` the moved block is at `place`, the hand at `hand`; `held` until the next key."""

    at: float
    place: Point
    hand: Point
    held: bool = False
    broken: float = 0.0


@dataclass(frozen=True)
class Moment:
    """The state at one time: where each block is, where the hand is (None: out of view), how far the block
    has broken (0 to 1).
    """

    places: tuple[Point, ...]
    hand: Point
    held: bool
    broken: float


@dataclass(frozen=True)
class Scene:
    """One clip's content: blocks (the moved one first), where they stand, and the keys of the motion."""

    event: Event
    blocks: tuple[Block, ...]
    standing: tuple[Point, ...]
    keys: tuple[Key, ...]
    seconds: float
    look: int = field(default=0)
    """Seed of table, light, camera and noise."""

    def at(self, time: float) -> Moment:
        """The state at `time` in 0 to 1."""
        keys = self.keys
        before = after = keys[0] if time < keys[0].at else keys[-1]
        for left, right in itertools.pairwise(keys):
            if left.at <= time <= right.at:
                before, after = left, right
                break
        span = after.at - before.at
        share = 0.0 if span <= 0 else (time - before.at) / span
        eased = share * share * (3 - 2 * share)
        place = _between(before.place, after.place, eased)
        hand = _between(before.hand, after.hand, eased)
        broken = before.broken + (after.broken - before.broken) * share
        return Moment((place, *self.standing[1:]), hand, before.held, broken)


def _between(a: Point, b: Point, share: float) -> Point:
    return (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)


def draw_event(rng: random.Random, kind: str | None = None, *, unseen: bool = False) -> Event:
    """A random event. `unseen` asks for a pair of blocks kept out of training, otherwise for one that
    training may see.
    """
    chosen = kind or rng.choice(KINDS)
    count = 3 if chosen == "fix" else 2
    while True:
        blocks = rng.sample(BLOCKS, count)
        if len({block.colour for block in blocks}) < count:
            continue
        if held_out(blocks[0], blocks[1]) != unseen:
            continue
        if not unseen and any(held_out(a, b) for a in blocks for b in blocks if a != b):
            continue
        if chosen in STEP_KINDS:
            return Event(chosen, blocks[0], blocks[1])
        if chosen == "fix":
            return Event(chosen, blocks[0], blocks[1], blocks[2])
        return Event(chosen, blocks[0])


def draw_scene(
    rng: random.Random, event: Event, *, company: Block | None = None, unseen: bool = False
) -> Scene:
    """Lays out `event`, mostly with a further block, and times its motion.

    `company` asks for a block to be there too; it comes where the colours allow and there is room.
    """
    blocks = list(event.blocks())
    colours = {block.colour for block in blocks}
    if company is not None and company.colour not in colours and event.kind != "beside":
        blocks.append(company)
    # a block beside another needs room: there is no place for a third one that isn't beside them too
    wanted = 2 if event.kind == "beside" else max(len(blocks), rng.choice((2, 3, 3)))
    while len(blocks) < wanted:
        extra = rng.choice(BLOCKS)
        if extra.colour in {block.colour for block in blocks}:
            continue
        pair = held_out(blocks[0], extra)
        if (len(blocks) == 1 and pair != unseen) or (not unseen and any(held_out(b, extra) for b in blocks)):
            continue
        blocks.append(extra)
    while True:
        laid = _lay_out(rng, event.kind, len(blocks))
        if laid is not None:
            break
    standing, end = laid
    seconds = rng.uniform(7.5, 12.0) if event.kind == "slow" else rng.uniform(2.0, 9.0)
    keys = _keys(rng, event.kind, standing, end)
    return Scene(event, tuple(blocks), standing, keys, seconds, rng.randrange(2**31))


def _lay_out(rng: random.Random, kind: str, count: int) -> tuple[tuple[Point, ...], Point] | None:
    """Start places of all blocks and the mover's last place, or None where this draw does not fit."""
    xs = [rng.uniform(MARGIN, WIDTH - MARGIN) for _ in range(count)]
    stacked = kind == "off"
    own = xs[1:] if stacked else xs
    if any(abs(a - b) < APART for i, a in enumerate(own) for b in own[i + 1 :]):
        return None
    if stacked:
        xs[0] = xs[1] + rng.uniform(-0.08, 0.08)
    start: Point = (xs[0], 1.0 if stacked else 0.0)
    standing = (start, *((x, 0.0) for x in xs[1:]))
    end = start
    if kind in ("on", "fix"):
        goal = xs[2] if kind == "fix" else xs[1]
        end = (goal + rng.uniform(-0.08, 0.08), 1.0)
    elif kind == "beside":
        x = xs[1] + rng.choice((-1, 1)) * (BESIDE + rng.uniform(0.0, 0.08))
        end = (x, 0.0)
        if (
            not MARGIN <= x <= WIDTH - MARGIN
            or abs(x - xs[0]) < 0.85
            or any(abs(x - o) < FREE for o in xs[2:])
        ):
            return None
    elif kind == "off":
        x = rng.uniform(MARGIN, WIDTH - MARGIN)
        end = (x, 0.0)
        if any(abs(x - o) < FREE for o in xs[1:]):
            return None
    return standing, end


def _keys(rng: random.Random, kind: str, standing: tuple[Point, ...], end: Point) -> tuple[Key, ...]:
    start = standing[0]
    side = rng.choice((-1, 1)) * rng.uniform(0.2, 1.4)
    away = (start[0] + side, HAND_AWAY[1])
    gone = (end[0] + side, HAND_AWAY[1])
    lift = rng.uniform(2.0, 2.35)
    if kind == "none":
        if rng.random() < 0.5:
            return (Key(0.0, start, away), Key(1.0, start, away))
        low = (away[0], -1.35)
        return (
            Key(0.0, start, low),
            Key(0.5, start, (low[0] + rng.uniform(-0.2, 0.2), -1.3)),
            Key(1.0, start, low),
        )
    enter = rng.uniform(0.1, 0.15)
    grab = enter + rng.uniform(0.08, 0.13)
    if kind == "slow":
        far = (
            min(max(start[0] + rng.uniform(-0.7, 0.7), MARGIN), WIDTH - MARGIN),
            start[1] + rng.uniform(0.5, 1.0),
        )
        return (
            Key(0.0, start, away),
            Key(enter, start, away),
            Key(grab, start, start, held=True),
            Key(1.0, far, far, held=True),
        )
    if kind == "fix":
        grab = enter + rng.uniform(0.05, 0.08)
        first = rng.uniform(0.36, 0.41)
        again = rng.uniform(0.57, 0.61)
        last = rng.uniform(0.76, 0.8)
        wrong = (standing[1][0] + rng.uniform(-0.08, 0.08), 1.0)
        return (
            Key(0.0, start, away),
            Key(enter, start, away),
            Key(grab, start, start, held=True),
            *_carry(start, wrong, grab, first, lift),
            Key(first, wrong, wrong),
            Key((first + again) / 2, wrong, (wrong[0] + side * 0.5, wrong[1] + 0.9)),
            Key(again, wrong, wrong, held=True),
            *_carry(wrong, end, again, last, lift),
            Key(last, end, end),
            Key(min(last + 0.1, 0.9), end, gone),
            Key(1.0, end, gone),
        )
    leave = rng.uniform(0.64, 0.74)
    done = min(leave + rng.uniform(0.08, 0.13), 0.86)
    middle: tuple[Key, ...]
    if kind == "break":
        top = (start[0] + rng.uniform(-0.3, 0.3), rng.uniform(1.3, 1.8))
        crack = rng.uniform(0.44, 0.52)
        middle = (
            Key(crack - 0.04, top, top, held=True),
            Key(crack, top, top, broken=0.25),
            Key(leave, (top[0], start[1]), top, broken=1.0),
            Key(done, (top[0], start[1]), gone, broken=1.0),
            Key(1.0, (top[0], start[1]), gone, broken=1.0),
        )
    else:
        if kind == "back":
            top = (start[0] + rng.uniform(-0.35, 0.35), start[1] + rng.uniform(1.3, 2.0))
            hold = (grab + leave) / 2
            carried: tuple[Key, ...] = (
                Key(hold - 0.06, top, top, held=True),
                Key(hold + 0.06, top, top, held=True),
            )
        else:
            carried = _carry(start, end, grab, leave, lift)
        middle = (*carried, Key(leave, end, end), Key(done, end, gone), Key(1.0, end, gone))
    return (Key(0.0, start, away), Key(enter, start, away), Key(grab, start, start, held=True), *middle)


def _carry(start: Point, end: Point, grab: float, leave: float, lift: float) -> tuple[Key, ...]:
    """The top of an arc: up at a third of the way, down from two thirds."""
    span = leave - grab
    high = max(lift, start[1] + 0.7, end[1] + 0.7)
    rise = (start[0] + (end[0] - start[0]) * 0.25, high)
    fall = (start[0] + (end[0] - start[0]) * 0.8, high)
    return (Key(grab + span * 0.35, rise, rise, held=True), Key(grab + span * 0.7, fall, fall, held=True))
