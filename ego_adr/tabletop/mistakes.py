"""What a person does instead of the step that was asked for: one recipe for each of the nine labels."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ego_adr.tabletop.language import BLOCKS, STEP_KINDS, Block, Event, held_out, label_of
from ego_adr.tabletop.world import draw_event

__all__ = ["differ", "mistaken"]


def _other_block(rng: random.Random, block: Block, taken: str) -> Block:
    """Another block, often one that shares the colour or the shape; never of the colour `taken`."""
    while True:
        style = rng.random()
        choice = rng.choice(BLOCKS)
        if style < 0.3:
            choice = Block(block.colour, choice.shape)
        elif style < 0.5:
            choice = Block(choice.colour, block.shape)
        if choice != block and choice.colour != taken:
            return choice


def differ(rng: random.Random, event: Event, how: str | None = None, *, unseen: bool = False) -> Event:
    """A step that differs from `event`.

    Args:
        rng: where chance comes from.
        event: something that a step can ask for.
        how: in one block (`object`), in the verb (`action`), in both, or in anything (`any`); None draws
            one of these.
        unseen: use pairs of blocks that training never saw.
    """
    if event.target is None:
        raise ValueError(f"no step asks for {event.kind!r}; a step is one of {', '.join(STEP_KINDS)}")
    while True:
        way = how or rng.choice(("object", "action", "both", "any"))
        kind, mover, target = event.kind, event.mover, event.target
        if way in ("action", "both"):
            kind = rng.choice([k for k in STEP_KINDS if k != kind])
        if way in ("object", "both"):
            if rng.random() < 0.5:
                mover = _other_block(rng, mover, target.colour)
            else:
                target = _other_block(rng, target, mover.colour)
            if rng.random() < 0.2:
                mover, target = target, mover
        made = Event(kind, mover, target)
        if way == "any":
            made = draw_event(rng, rng.choice(STEP_KINDS), unseen=unseen)
        assert made.target is not None
        if made != event and held_out(made.mover, made.target) == unseen:
            return made


def mistaken(
    rng: random.Random, steps: Sequence[Event], index: int, label: str, *, unseen: bool = False
) -> Event:
    """What is seen at step `index` of `steps` so that its label is `label`.

    Wrong order is the following step, or the preceding one at the end. A corrected mistake needs a step
    that puts one block on another.

    Raises:
        ValueError: when the step cannot go wrong in this way.
    """
    step = steps[index]
    others = [other for other in steps if other != step]
    if label == "correct":
        return step
    if label == "Wrong order":
        return steps[index + 1] if index + 1 < len(steps) else steps[index - 1]
    if label in ("Wrong object", "Wrong action"):
        how = "object" if label == "Wrong object" else "action"
        while True:
            event = differ(rng, step, how, unseen=unseen)
            if label_of(event, step, others) == label:
                return event
    if label == "Correct wrong action":
        if step.kind != "on" or step.target is None:
            raise ValueError(
                f"only a step that puts a block on another can be corrected this way, not {step.kind!r}"
            )
        while True:
            first = rng.choice(BLOCKS)
            colours = {step.mover.colour, step.target.colour, first.colour}
            if len(colours) == 3 and held_out(step.mover, first) == unseen:
                return Event("fix", step.mover, first, step.target)
    kinds = {
        "Omission": "none",
        "Unintended and unnecessary action": "back",
        "Equipment failure": "break",
        "Others": "slow",
    }
    if label not in kinds:
        raise ValueError(f"{label!r} is not a label; they are correct, Wrong object ... (language.LABELS)")
    return Event(kinds[label], step.mover)
