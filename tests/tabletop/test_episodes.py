"""Whole recordings and their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ego_adr.tabletop.episodes import Demo, Episode, case_labels, draw_case, draw_episode, draw_plan
from ego_adr.tabletop.language import GIVEN_AWAY, KINDS, LABELS, label_of, parse_step, step_text


def test_the_demo_holds_all_nine_labels_and_writes_rows_that_name_its_videos(demo: Demo) -> None:
    rows = [json.loads(line) for line in demo.data.read_text(encoding="utf-8").splitlines()]
    assert {row["label"] for row in rows} == set(LABELS)
    assert len({row["id"] for row in rows}) == len(rows)
    for row, absolute in zip(rows, demo.rows, strict=True):
        assert set(row) == {"id", "video", "start", "end", "procedure", "action", "label"}
        assert (demo.data.parent / row["video"]).is_file()
        assert Path(absolute["video"]).is_file()
        assert 0 <= row["start"] < row["end"]
        assert 3 <= len(row["procedure"].splitlines()) <= 6
        assert row["action"] in row["procedure"]
    assert sum(video.stat().st_size for video in demo.videos) < 2_000_000


def test_labels_of_a_recording_follow_from_what_is_seen(demo: Demo) -> None:
    for episode in demo.episodes:
        for segment in episode.segments:
            step = episode.steps[segment.index]
            others = [other for other in episode.steps if other != step]
            assert segment.label == label_of(segment.event, step, others)
            assert parse_step(step_text(step)) == step


def test_a_wrong_order_is_two_steps_that_change_places(demo: Demo) -> None:
    episode = demo.episodes[0]
    first, second = (s for s in episode.segments if s.label == "Wrong order")
    assert first.event == episode.steps[second.index]
    assert second.event == episode.steps[first.index]


def test_the_same_seed_gives_the_same_recording(tmp_path: Path) -> None:
    one = draw_episode(5, tmp_path / "one")
    two = draw_episode(5, tmp_path / "two")
    assert one.segments == two.segments
    assert one.procedure == two.procedure
    assert one.video.read_bytes() == two.video.read_bytes()
    assert one.rows(relative_to=tmp_path / "one") == two.rows(relative_to=tmp_path / "two")


def test_a_plan_that_cannot_be_played_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 to 6 steps, not 2"):
        draw_episode(1, tmp_path, plan=["correct", "correct"])
    with pytest.raises(ValueError, match="not a label"):
        draw_episode(1, tmp_path, plan=["correct", "correct", "Wrong tool"])
    with pytest.raises(ValueError, match="cannot be 'Omission'"):
        draw_case(1, "on", "Omission", tmp_path)


def test_every_kind_of_clip_can_be_drawn_with_every_label_it_can_have(clips: list[Episode]) -> None:
    assert [clip.segments[0].event.kind for clip in clips] == list(KINDS)
    possible = {label for kind in KINDS for label in case_labels(kind)}
    assert possible == set(LABELS)
    assert all(case_labels(kind) == (label,) for kind, label in GIVEN_AWAY.items())


def test_random_plans_have_the_length_asked_for() -> None:
    import random

    rng = random.Random(1)
    assert {len(draw_plan(rng, count)) for count in (3, 4, 5, 6) for _ in range(20)} == {3, 4, 5, 6}
