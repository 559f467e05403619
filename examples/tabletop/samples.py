"""Training samples: what is asked, what the answer is, and the dense targets of the auxiliary losses.

Prompts are rendered from the very files that ship beside the checkpoint, so that training and use cannot
drift apart. No sample holds a pair of blocks that `language.held_out` keeps for the test.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

import ego_adr
from ego_adr.tabletop.language import (
    COLOURS,
    GIVEN_AWAY,
    SHAPES,
    STEP_KINDS,
    Event,
    label_of,
    narrate,
    step_text,
)
from ego_adr.tabletop.mistakes import differ
from ego_adr.tabletop.render import View, frames
from ego_adr.tabletop.world import Scene, draw_event, draw_scene
from examples.tabletop.model import FRAMES, SIZE, vocabulary

PROMPTS = Path(ego_adr.__file__).parent / "checkpoints" / "tabletop" / "prompts"
VIDEO = ("<|vision_start|>", *["<|video_pad|>"] * 64, "<|vision_end|>")
PICTURE = ("<|vision_start|>", *["<|image_pad|>"] * 16, "<|vision_end|>")
LATE = 1.0
"""How much likelier each further step of a procedure is to be the one that is asked for (0: all alike)."""
COMPARED = ("correct", "Wrong object", "Wrong action", "Wrong order")
COT = (".", "answer", ":")
"""Between the sentence and the label of a `cot` reply."""
ROLES = ("nothing", "mover", "target", "other", "first")


@cache
def _ids() -> dict[str, int]:
    return {entry: index for index, entry in enumerate(vocabulary())}


@cache
def _template(name: str) -> jinja2.Template:
    body = (PROMPTS / f"{name}.md").read_text().split("---\n", 2)[2]
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(body)


def prompt(name: str, **values: Any) -> list[str]:
    """The words of one of the world's prompts."""
    return _template(name).render(**values).lower().replace(",", " , ").split()


@dataclass(frozen=True)
class Sample:
    """Token ids with the answer last; `answer_from` is the index of its first token. `equal` holds (index,
    field equal, all equal).
    """

    ids: tuple[int, ...]
    answer_from: int
    equal: tuple[tuple[int, int, int], ...] = ()


@dataclass
class Clip:
    """A rendered clip, its time scale (seconds per slice), the seconds of each frame since the first, and where
    every colour, shape and role lies, per frame and cell.
    """

    event: Event
    pixels: NDArray[np.uint8] = field(repr=False)
    interval: float
    seconds: tuple[float, ...]
    colours: NDArray[np.float32] = field(repr=False)
    shapes: NDArray[np.float32] = field(repr=False)
    roles: NDArray[np.float32] = field(repr=False)


def times(rng: random.Random) -> list[float]:
    """Eight times in 0 to 1, as any sampler might choose them: ends included, middles or starts, and a
    little off.
    """
    style = rng.random()
    offset = rng.uniform(0.1, 0.9)
    base = (
        [i / (FRAMES - 1) * 0.995 for i in range(FRAMES)]
        if style < 0.3
        else [(i + offset) / FRAMES for i in range(FRAMES)]
    )
    if style > 0.6:
        base = [(i + 0.5) / FRAMES for i in range(FRAMES)]
    return [min(max(t + rng.uniform(-0.012, 0.012), 0.0), 1.0) for t in base]


def draw_clip(rng: random.Random, kind: str | None = None, *, unseen: bool = False) -> Clip:
    """A random clip with its dense targets."""
    event = draw_event(rng, kind, unseen=unseen)
    scene = draw_scene(rng, event, unseen=unseen)
    when = times(rng)
    colours, shapes, roles = _cover(scene, when)
    stretch = rng.uniform(0.85, 1.15)
    seconds = tuple((time - when[0]) * scene.seconds * stretch for time in when)
    return Clip(
        event, frames(scene, when, SIZE), scene.seconds / 4 * stretch, seconds, colours, shapes, roles
    )


def _cover(scene: Scene, when: Sequence[float]) -> tuple[NDArray[np.float32], ...]:
    """How much of every cell (8 frames, 16 cells) each colour, shape and role covers; the rest is class 0."""
    view = View(scene.look, SIZE)
    cell = SIZE / 4
    edges = np.arange(4) * cell
    colours = np.zeros((FRAMES, 16, len(COLOURS) + 1), np.float32)
    shapes = np.zeros((FRAMES, 16, len(SHAPES) + 1), np.float32)
    roles = np.zeros((FRAMES, 16, len(ROLES)), np.float32)
    event = scene.event
    goal = event.second or event.target
    for index, time in enumerate(when):
        moment = scene.at(time)
        for place, block in zip(moment.places, scene.blocks, strict=True):
            if block == event.mover and moment.broken > 0:
                continue
            x, y = view.xy(place, time)
            half = view.unit * 0.49
            wide = np.clip(np.minimum(x + half, edges + cell) - np.maximum(x - half, edges), 0, None) / cell
            high = np.clip(np.minimum(y, edges + cell) - np.maximum(y - 2 * half, edges), 0, None) / cell
            share = (high[:, None] * wide[None, :]).reshape(16)
            colours[index, :, 1 + COLOURS.index(block.colour)] += share
            shapes[index, :, 1 + SHAPES.index(block.shape)] += share
            role = 3
            if event.kind != "none" and block == event.mover:
                role = 1
            elif block == goal:
                role = 2
            elif event.second is not None and block == event.target:
                role = 4
            roles[index, :, role] += share
    for table in (colours, shapes, roles):
        table[..., 0] = np.clip(1 - table[..., 1:].sum(-1), 0, 1)
        table /= table.sum(-1, keepdims=True)
    return colours, shapes, roles


def pictures(seconds: Sequence[float]) -> list[str]:
    """The words of a clip in pictures: before each its time, `03.5` as four tokens."""
    found: list[str] = []
    for time in seconds:
        tens, ones, point, tenths = tuple(f"{time:04.1f}")
        found += [tens, "##" + ones, point, tenths, *PICTURE]
    return found


def _seen(clip: Clip, *, as_pictures: bool) -> Sequence[str]:
    return pictures(clip.seconds) if as_pictures else VIDEO


def _assemble(
    words: Sequence[str], answer: Sequence[str], seen: Sequence[str] = ()
) -> tuple[tuple[int, ...], int]:
    ids = _ids()
    begin = ["<|im_start|>", *seen, *words, "<|im_end|>", "<|assistant|>"]
    return tuple(ids[word] for word in (*begin, *answer, "<|im_end|>")), len(begin)


@dataclass(frozen=True)
class Context:
    """A step with its neighbours and the label that an event gets there."""

    step: Event
    before: Event | None
    after: Event | None
    label: str

    def values(self) -> dict[str, Any]:
        """Variables of the prompts."""
        return {
            "action": step_text(self.step),
            "current": step_text(self.step),
            "previous": step_text(self.before) if self.before else "",
            "next": step_text(self.after) if self.after else "",
        }


def context_for(rng: random.Random, event: Event, wanted: str | None = None) -> Context:
    """A step and neighbours for `event`; for the compared kinds each label of `COMPARED` is equally likely,
    or is `wanted`.
    """
    if event.kind in GIVEN_AWAY:
        step = draw_event(rng, rng.choice(STEP_KINDS))
        if event.target is not None and rng.random() < 0.5:
            step = Event("on", event.mover, event.second or event.target)
        wanted = GIVEN_AWAY[event.kind]
    else:
        wanted = wanted or rng.choice(COMPARED)
        if wanted == "correct":
            step = event
        elif wanted == "Wrong object":
            step = differ(rng, event, "object")
        elif wanted == "Wrong action":
            step = differ(rng, event, "action" if rng.random() < 0.75 else "both")
        else:
            step = differ(rng, event)
    neighbours: list[Event | None] = []
    for _ in range(2):
        base = event if event.kind in STEP_KINDS else step
        other = differ(rng, base) if rng.random() < 0.5 else draw_event(rng, rng.choice(STEP_KINDS))
        while other in (event, step):
            other = draw_event(rng, rng.choice(STEP_KINDS))
        neighbours.append(other)
    place = rng.randrange(2)
    if rng.random() < 0.25:
        neighbours[1 - place] = None
    if wanted == "Wrong order":
        neighbours[place] = event
    others = [other for other in neighbours if other is not None]
    label = label_of(event, step, others)
    assert label == wanted or wanted in ("Wrong object", "Wrong action"), (event, step, wanted, label)
    return Context(step, neighbours[0], neighbours[1], label)


def narrate_sample(clip: Clip, *, as_pictures: bool = False) -> Sample:
    """Clip in, sentence out."""
    words = prompt("deep/narrate", action="", times=[], duration=0)
    ids, start = _assemble(words, narrate(clip.event).split(), _seen(clip, as_pictures=as_pictures))
    return Sample(ids, start)


def whole_sample(rng: random.Random, clip: Clip, *, as_pictures: bool = False) -> Sample:
    """Clip and step in; a label (single-pass) or a sentence and a label (cot) out."""
    context = context_for(rng, clip.event)
    known = {"labels": [], "procedure": "", "steps": [], "times": [], "duration": 0, **context.values()}
    if rng.random() < 0.5:
        words, answer = prompt("single-pass/answer", **known), [context.label]
    else:
        words, answer = prompt("cot/answer", **known), [*narrate(clip.event).split(), *COT, context.label]
    ids, start = _assemble(words, answer, _seen(clip, as_pictures=as_pictures))
    return Sample(ids, start)


def text_sample(rng: random.Random) -> Sample:
    """One of the text tasks: classify, match, same or different, agree."""
    task = rng.choices(("classify", "match", "same", "agree"), (8, 8, 1.5, 1.5))[0]
    words, answer = {"classify": _classify, "match": _match, "same": _same, "agree": _agree}[task](rng)
    ids, start = _assemble(words, [answer])
    return Sample(ids, start, tuple((1 + i, a, b) for i, a, b in _equalities(words)))


def _classify(rng: random.Random) -> tuple[list[str], str]:
    if rng.random() < 0.8:
        event, wanted = draw_event(rng, rng.choice(STEP_KINDS)), rng.choice(COMPARED)
    else:
        event, wanted = draw_event(rng, rng.choice(list(GIVEN_AWAY))), None
    context = context_for(rng, event, wanted)
    known = {"narration": narrate(event), "steps": [], "procedure": "", "labels": [], **context.values()}
    return prompt("deep/classify", **known), context.label


def _match(rng: random.Random) -> tuple[list[str], str]:
    count = rng.choice((1, 2, 3, 4, 4, 5, 5, 6, 6, 6))
    action = draw_event(rng, rng.choice(STEP_KINDS))
    steps: list[Event] = []
    while len(steps) < count:
        step = differ(rng, action) if rng.random() < 0.5 else draw_event(rng, rng.choice(STEP_KINDS))
        if step not in steps:
            steps.append(step)
    answer = "none"
    if rng.random() < 0.85:
        (place,) = rng.choices(range(count), [1 + LATE * i for i in range(count)])
        steps[place] = action
        answer = str(place + 1)
    named = narrate(action) if rng.random() < 0.25 else step_text(action)
    listed = [{"text": step_text(step), "number": i, "index": i - 1} for i, step in enumerate(steps, start=1)]
    return prompt("deep/match", action=named, steps=listed), answer


def _pair(rng: random.Random) -> tuple[Event, Event, bool]:
    event = draw_event(rng, rng.choice(STEP_KINDS))
    same = rng.random() < 0.5
    return event, event if same else differ(rng, event), same


def _same(rng: random.Random) -> tuple[list[str], str]:
    first, second, same = _pair(rng)
    form = narrate if rng.random() < 0.3 else step_text
    words = f"step {form(first)} step {form(second)} same".lower().replace(".", "").split()
    return words, "same" if same else "different"


def _agree(rng: random.Random) -> tuple[list[str], str]:
    seen, step, same = _pair(rng)
    if rng.random() < 0.3:
        seen, same = draw_event(rng, rng.choice(list(GIVEN_AWAY))), False
    known = {"narration": narrate(seen), "action": step_text(step), "current": step_text(step)}
    return prompt("deep/is-correct", **known), "yes" if same else "no"


_VERBS = frozenset(("put", "take", "puts", "takes"))
_PLACES = frozenset(STEP_KINDS)
_OFFSETS = (4, 2, 3, 6, 7)


def _equalities(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """For each word of each later sentence whether it, and all words so far, equal the first sentence's
    (index, word, all).
    """
    starts = [
        i for i, w in enumerate(words) if w in _VERBS and i + 7 < len(words) and words[i + 4] in _PLACES
    ]
    if not starts:
        return []
    first = starts[0]
    if sum(word == "step" for word in words[:first]) > (words[0] == "step"):
        return []
    found = []
    for start in starts[1:]:
        verbs = words[first][:3] == words[start][:3]
        every = verbs
        found.append((start, int(verbs), int(every)))
        for offset in sorted(_OFFSETS):
            one = words[first + offset] == words[start + offset]
            every = every and one
            found.append((start + offset, int(one), int(every)))
        if start + 8 < len(words):
            found.append((start + 8, int(every), int(every)))
    return found
