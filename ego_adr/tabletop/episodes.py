"""Whole recordings of the tabletop world, with planted errors, a step log and rows in the project's data
schema.

A recording is a montage: each step has its own two or three blocks, and the next ones are laid out between
steps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ego_adr.tabletop.language import (
    KINDS,
    LABELS,
    STEP_KINDS,
    Event,
    label_of,
    narrate,
    procedure_text,
    step_text,
)
from ego_adr.tabletop.mistakes import mistaken
from ego_adr.tabletop.render import write_video
from ego_adr.tabletop.world import Scene, draw_event, draw_scene

__all__ = [
    "Demo",
    "Episode",
    "Segment",
    "case_labels",
    "demo_episode",
    "draw_case",
    "draw_episode",
    "draw_steps",
]

FRAME_RATES = (8, 10, 12, 15)


@dataclass(frozen=True)
class Segment:
    """One logged step of a recording.

    Attributes:
        index: which step was asked for, 0-based.
        event: what is seen.
        label: one of the nine.
        start, end: seconds in the video, half-open.
    """

    index: int
    event: Event
    label: str
    start: float
    end: float

    @property
    def narration(self) -> str:
        """What a perfect observer says."""
        return narrate(self.event)


@dataclass(frozen=True)
class Episode:
    """A recording on disk with its procedure and everything that is true of it."""

    name: str
    video: Path
    steps: tuple[Event, ...]
    segments: tuple[Segment, ...]

    @property
    def procedure(self) -> str:
        """The numbered list in plain English."""
        return procedure_text(self.steps)

    def step_log(self) -> list[dict[str, Any]]:
        """Start, end and action of every logged step, in order: what a step detector would write."""
        return [
            {"start": s.start, "end": s.end, "action": step_text(self.steps[s.index]).rstrip(".")}
            for s in self.segments
        ]

    def rows(self, relative_to: Path | None = None) -> list[dict[str, Any]]:
        """One JSON-ready row a logged step: id, video, start, end, procedure, action, label.

        Args:
            relative_to: the folder that video paths are written relative to; None keeps them as they are.
        """
        video = self.video if relative_to is None else self.video.relative_to(relative_to)
        return [
            {
                "id": f"{self.name}-{number}",
                "video": video.as_posix(),
                "start": segment.start,
                "end": segment.end,
                "procedure": self.procedure,
                "action": logged["action"],
                "label": segment.label,
            }
            for number, (segment, logged) in enumerate(
                zip(self.segments, self.step_log(), strict=True), start=1
            )
        ]


def draw_steps(
    rng: random.Random, count: int, *, unseen: bool = False, first_on: Sequence[int] = ()
) -> list[Event]:
    """`count` different steps; those at the indices `first_on` put one block on another."""
    steps: list[Event] = []
    while len(steps) < count:
        kind = "on" if len(steps) in first_on else rng.choice(STEP_KINDS)
        step = draw_event(rng, kind, unseen=unseen)
        if step not in steps:
            steps.append(step)
    return steps


def draw_plan(rng: random.Random, count: int) -> list[str]:
    """Labels for `count` steps: about half are correct, and a wrong order is always two steps that change
    places.
    """
    errors = [label for label in LABELS if label != "correct"]
    plan: list[str] = []
    while len(plan) < count:
        label = "correct" if rng.random() < 0.5 else rng.choice(errors)
        if label == "Wrong order":
            if len(plan) + 2 <= count:
                plan += [label, label]
        else:
            plan.append(label)
    return plan


def draw_episode(
    seed: int,
    folder: Path,
    *,
    plan: Sequence[str] | None = None,
    unseen: bool = False,
    name: str | None = None,
) -> Episode:
    """Renders a recording of 3 to 6 steps into `folder` (the same seed gives the same recording).

    Args:
        seed: of everything that is left to chance.
        folder: where `<name>.mp4` is written; made if it does not exist.
        plan: one label a step; two `Wrong order` in a row are two steps that change places. None draws 3 to
            6 labels.
        unseen: use pairs of blocks that training never saw.
        name: of the recording; None makes one from the seed.

    Raises:
        ValueError: when the plan has fewer than 3 or more than 6 labels, or an unknown label.
    """
    rng = random.Random(f"episode/{seed}")
    labels = list(plan) if plan is not None else draw_plan(rng, rng.randint(3, 6))
    if not 3 <= len(labels) <= 6:
        raise ValueError(f"a procedure has 3 to 6 steps, not {len(labels)}")
    corrected = [i for i, label in enumerate(labels) if label == "Correct wrong action"]
    steps = draw_steps(rng, len(labels), unseen=unseen, first_on=corrected)
    events = [mistaken(rng, steps, i, label, unseen=unseen) for i, label in enumerate(labels)]
    for i in range(len(labels) - 1):
        if labels[i] == labels[i + 1] == "Wrong order" and events[i] == steps[i + 1]:
            events[i + 1] = steps[i]
    scenes = [_scene(rng, event, step, unseen=unseen) for event, step in zip(events, steps, strict=True)]
    name = name or f"tabletop-{seed}"
    video = folder / f"{name}.mp4"
    spans = write_video(
        scenes, video, fps=rng.choice(FRAME_RATES), variable=rng.random() < 0.4, seed=rng.randrange(2**31)
    )
    segments = tuple(
        Segment(i, event, label_of(event, steps[i], [s for s in steps if s != steps[i]]), start, end)
        for i, (event, (start, end)) in enumerate(zip(events, spans, strict=True))
    )
    assert [segment.label for segment in segments] == labels
    return Episode(name, video, tuple(steps), segments)


def _scene(rng: random.Random, event: Event, step: Event, *, unseen: bool) -> Scene:
    """The event laid out, with a block that the step asked for beside it where the colours allow."""
    missing = [block for block in step.blocks() if block not in event.blocks()]
    return draw_scene(rng, event, company=missing[0] if missing else None, unseen=unseen)


def case_labels(kind: str) -> tuple[str, ...]:
    """The labels that a clip of `kind` can have."""
    return tuple(label for label in LABELS if label in _POSSIBLE[kind])


_POSSIBLE = {
    **dict.fromkeys(STEP_KINDS, ("correct", "Wrong object", "Wrong action", "Wrong order")),
    "back": ("Unintended and unnecessary action",),
    "fix": ("Correct wrong action",),
    "break": ("Equipment failure",),
    "slow": ("Others",),
    "none": ("Omission",),
}


def draw_case(seed: int, kind: str, label: str, folder: Path, *, unseen: bool = False) -> Episode:
    """Renders one clip of `kind` that has `label` as a step of a procedure of 3 to 6 steps: an episode with
    one logged step.

    Raises:
        ValueError: when a clip of this kind cannot have this label.
    """
    if kind not in KINDS or label not in _POSSIBLE[kind]:
        raise ValueError(f"a clip of kind {kind!r} cannot be {label!r}; kinds and labels: {_POSSIBLE}")
    rng = random.Random(f"case/{seed}/{kind}/{label}")
    while True:
        count = rng.randint(3, 6)
        index = rng.randrange(count)
        steps = draw_steps(rng, count, unseen=unseen, first_on=[index] if kind == "fix" else ())
        event = mistaken(rng, steps, index, label, unseen=unseen)
        if event.kind == kind:
            break
    name = f"{kind}-{seed}"
    video = folder / f"{name}.mp4"
    scene = _scene(rng, event, steps[index], unseen=unseen)
    fps, variable = rng.choice(FRAME_RATES), rng.random() < 0.3
    ((start, end),) = write_video([scene], video, fps=fps, variable=variable, seed=rng.randrange(2**31))
    others = [step for step in steps if step != steps[index]]
    segment = Segment(index, event, label_of(event, steps[index], others), start, end)
    assert segment.label == label
    return Episode(name, video, tuple(steps), (segment,))


DEMO_PLANS = (
    ("correct", "Wrong object", "Correct wrong action", "Wrong order", "Wrong order", "Omission"),
    ("Wrong action", "correct", "Unintended and unnecessary action", "Equipment failure", "Others"),
)


@dataclass(frozen=True)
class Demo:
    """Two recordings in which all nine labels occur, and the JSON-lines file that names them."""

    episodes: tuple[Episode, ...]
    data: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all recordings, with video paths that can be opened from anywhere."""
        return [row for episode in self.episodes for row in episode.rows()]

    @property
    def videos(self) -> tuple[Path, ...]:
        """The video files."""
        return tuple(episode.video for episode in self.episodes)


def demo_episode(seed: int, folder: Path) -> Demo:
    """Renders the demo's recordings into `folder` and writes `tabletop.jsonl` beside them (a few seconds)."""
    episodes = tuple(
        draw_episode(seed * 10 + number, folder, plan=plan, name=f"recording-{number}")
        for number, plan in enumerate(DEMO_PLANS, start=1)
    )
    data = folder / "tabletop.jsonl"
    rows = [row for episode in episodes for row in episode.rows(relative_to=folder)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Demo(episodes, data)
