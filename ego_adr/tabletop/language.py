"""Every word and sentence of the tabletop world, in one place.

An `Event` says what happens in a clip. `step_text` is how a procedure asks for it, `narrate` how an
observer tells it, and `label_of` is the written rule that gives one of the nine labels for (procedure,
step, event).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

COLOURS = ("red", "green", "blue", "yellow", "purple", "white")
SHAPES = ("cube", "ball", "cone", "ring")
KINDS = ("on", "beside", "off", "back", "fix", "break", "slow", "none")
"""What can happen in a clip; the first three are also what a step can ask for."""
STEP_KINDS = ("on", "beside", "off")

LABELS = (
    "correct",
    "Wrong object",
    "Wrong action",
    "Wrong order",
    "Omission",
    "Unintended and unnecessary action",
    "Correct wrong action",
    "Equipment failure",
    "Others",
)
GIVEN_AWAY = {
    "back": "Unintended and unnecessary action",
    "fix": "Correct wrong action",
    "break": "Equipment failure",
    "slow": "Others",
    "none": "Omission",
}
"""Kinds whose label the narration alone gives away; the other labels need the step beside the narration."""


@dataclass(frozen=True)
class Block:
    """One coloured block."""

    colour: str
    shape: str

    @property
    def name(self) -> str:
        """`red cube`, without an article."""
        return f"{self.colour} {self.shape}"


BLOCKS = tuple(Block(colour, shape) for colour, shape in itertools.product(COLOURS, SHAPES))


@dataclass(frozen=True)
class Event:
    """What happens: `kind`, the block that moves, where it goes first and, for `fix`, where it goes at
    last.
    """

    kind: str
    mover: Block
    target: Block | None = None
    second: Block | None = None

    def blocks(self) -> tuple[Block, ...]:
        """The blocks the event involves, mover first."""
        return tuple(block for block in (self.mover, self.target, self.second) if block is not None)


def step_text(event: Event) -> str:
    """The step that asks for `event`, for example `Put the red cube on the blue ball.`

    Raises:
        ValueError: the event's kind is not one that a step can ask for.
    """
    if event.target is None or event.kind not in STEP_KINDS:
        raise ValueError(f"no step asks for {event.kind!r}; a step is one of {', '.join(STEP_KINDS)}")
    if event.kind == "off":
        return f"Take the {event.mover.name} off the {event.target.name}."
    return f"Put the {event.mover.name} {event.kind} the {event.target.name}."


def narrate(event: Event) -> str:
    """What an observer says about `event`, in the fixed words that the micro model was trained on."""
    mover = event.mover.name
    target = event.target.name if event.target else ""
    second = event.second.name if event.second else ""
    return {
        "on": f"the hand puts the {mover} on the {target}",
        "beside": f"the hand puts the {mover} beside the {target}",
        "off": f"the hand takes the {mover} off the {target}",
        "back": f"the hand picks up the {mover} and puts it back",
        "fix": f"by mistake the hand puts the {mover} on the {target} , then moves it onto the {second}",
        "break": f"the {mover} breaks in the hand",
        "slow": f"very slowly the hand moves the {mover}",
        "none": "nothing happens , no movement",
    }[event.kind]


def label_of(event: Event, step: Event, others: Sequence[Event] = ()) -> str:
    """The label of `event` seen where `step` was asked for, `others` being the procedure's other steps.

    In this order: what the narration gives away; the step itself is correct; another step of the procedure
    is Wrong order; a different verb is Wrong action; a different block, moved or stood at, is Wrong object.
    """
    if event.kind in GIVEN_AWAY:
        return GIVEN_AWAY[event.kind]
    if event == step:
        return "correct"
    if event in others:
        return "Wrong order"
    return "Wrong action" if event.kind != step.kind else "Wrong object"


def procedure_text(steps: Sequence[Event]) -> str:
    """A numbered list in plain English, one step a line."""
    return "\n".join(f"{number}. {step_text(step)}" for number, step in enumerate(steps, start=1))


_NAME = "|".join(re.escape(block.name) for block in BLOCKS)
_STEP = re.compile(rf"(put|take) the ({_NAME}) (on|beside|off) the ({_NAME})")


def parse_step(text: str) -> Event | None:
    """The event that a step text asks for, or None where the text is not a step of this world."""
    found = _STEP.fullmatch(text.strip().rstrip(".").lower())
    if found is None:
        return None
    verb, mover, kind, target = found.groups()
    if (verb == "take") != (kind == "off"):
        return None
    return Event(kind, _block(mover), _block(target))


def _block(name: str) -> Block:
    colour, shape = name.split()
    return Block(colour, shape)


HELD_OUT_MODULUS = 5


def held_out(first: Block, second: Block) -> bool:
    """Whether this pair of blocks was kept out of training (a fifth of all pairs), in either order."""
    a, b = sorted((BLOCKS.index(first), BLOCKS.index(second)))
    return (a * 7 + b * 3) % HELD_OUT_MODULUS == 0


_SENTENCES = """
    the hand puts takes picks up moves breaks in and it back on beside off onto by mistake then very slowly
    nothing happens no movement put take none
    seen step before after judge match action same different agree yes question answer watch think so
    1 2 3 4 5 6 7 8 9 0
"""
WORDS = (*COLOURS, *SHAPES, *_SENTENCES.split())
"""Whole words of the tokenizer; the labels and all printable characters come on top."""
