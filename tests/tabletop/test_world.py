"""Scenes, motion and pixels."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import av
import numpy as np
import pytest

from ego_adr.tabletop.language import KINDS, held_out
from ego_adr.tabletop.render import frames, write_video
from ego_adr.tabletop.world import APART, BESIDE, draw_event, draw_scene


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_stand_clear_of_each_other_and_end_where_the_sentence_says(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(30):
        event = draw_event(rng, kind)
        scene = draw_scene(rng, event)
        before, after = scene.at(0.0).places, scene.at(1.0).places
        assert scene.blocks[0] == event.mover
        assert len({block.colour for block in scene.blocks}) == len(scene.blocks)
        standing = before[1:] if kind == "off" else before
        gaps = [abs(a[0] - b[0]) for i, a in enumerate(standing) for b in standing[i + 1 :]]
        assert min(gaps, default=APART) >= APART
        assert after[1:] == before[1:]
        goal = after[2] if kind == "fix" else after[1]
        if kind in ("on", "fix"):
            assert abs(after[0][0] - goal[0]) < 0.1
            assert after[0][1] == 1.0
        elif kind == "beside":
            assert BESIDE <= abs(after[0][0] - goal[0]) < 1.2
            assert all(abs(after[0][0] - other[0]) > 1.5 for other in after[2:])
        elif kind == "off":
            assert before[0][1] == 1.0
            assert after[0][1] == 0.0
        elif kind in ("back", "none"):
            assert after[0] == before[0]
        elif kind == "slow":
            assert scene.seconds > 7
            assert scene.at(1.0).held


def test_a_step_that_stays_short_shows_its_beginning_and_its_end_in_eight_frames() -> None:
    rng = random.Random(5)
    for kind in ("on", "beside", "off", "back", "fix"):
        scene = draw_scene(rng, draw_event(rng, kind))
        first, last = scene.at(0.5 / 8), scene.at(7.5 / 8)
        assert not first.held
        assert first.places == scene.at(0.0).places
        assert not last.held
        assert last.places == scene.at(1.0).places


def test_pairs_of_blocks_can_be_kept_out_of_training() -> None:
    rng = random.Random(2)
    for _ in range(100):
        seen, unseen = draw_event(rng, "on"), draw_event(rng, "on", unseen=True)
        assert seen.target is not None
        assert unseen.target is not None
        assert not held_out(seen.mover, seen.target)
        assert held_out(unseen.mover, unseen.target)


def test_frames_have_the_size_asked_for_and_show_the_motion() -> None:
    rng = random.Random(4)
    drawn = frames(draw_scene(rng, draw_event(rng, "on")), [0.0, 0.02, 0.5, 1.0], 112)
    assert drawn.shape == (4, 112, 112, 3)
    assert drawn.dtype == np.uint8
    differ = [np.abs(drawn[0].astype(int) - other).mean() for other in drawn[1:]]
    assert differ[0] < 2 < differ[1]


def test_the_same_seed_gives_the_same_video_file(tmp_path: Path) -> None:
    sums = []
    for name in ("one", "two"):
        rng = random.Random(11)
        path = tmp_path / f"{name}.mp4"
        write_video([draw_scene(rng, draw_event(rng, "back"))], path, fps=8, variable=True, seed=3)
        with av.open(str(path)) as container:
            pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        sums.append(hashlib.sha256(np.stack(pictures).tobytes()).hexdigest())
    assert sums[0] == sums[1]


def test_a_variable_frame_rate_is_variable_and_the_file_lasts_as_long_as_its_scenes(tmp_path: Path) -> None:
    rng = random.Random(12)
    scenes = [draw_scene(rng, draw_event(rng, kind)) for kind in ("on", "none")]
    path = tmp_path / "recording.mp4"
    spans = write_video(scenes, path, fps=10, variable=True, seed=1)
    assert spans[0][0] == 0
    assert spans[0][1] == spans[1][0]
    with av.open(str(path)) as container:
        stamps = [frame.time for frame in container.decode(video=0)]
    gaps = np.diff(np.array(stamps, dtype=float))
    assert gaps.min() > 0
    assert gaps.std() > 0.01
    assert abs(stamps[-1] - spans[-1][1]) < 0.2
