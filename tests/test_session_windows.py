"""A log made by looking: windows of a real video, narrated by a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ego_adr.detector import EgoADR
from ego_adr.errors import InputError, VideoError
from ego_adr.models.scripted import ScriptedModel
from ego_adr.session import Session, StepEvent
from ego_adr.sessions.streams import stream_windows
from ego_adr.sessions.windows import LiveLine, WindowSeen, log_windows, merge_windows, watch, windows_of
from ego_adr.types import Failure, ProcedureBank, Reply, Request, Step, StepEdge

TEXTS = (
    "Crack two eggs into the bowl",
    "Whisk the eggs with a fork",
    "Pour the eggs into the pan",
    "Grate the cheese",
)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import av

    path = tmp_path_factory.mktemp("video") / "eggs.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=5, options={"crf": "30"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for i in range(60):
            picture = np.full((48, 64, 3), 4 * i, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def bank() -> ProcedureBank:
    steps = tuple(Step(index=i, text=text) for i, text in enumerate(TEXTS))
    edges = (StepEdge(before=0, after=1), StepEdge(before=1, after=2))
    return ProcedureBank(text="", steps=steps, edges=edges)


def narrator(says: Callable[[int], str | Reply]) -> EgoADR:
    """A detector whose model tells the window of 2 s that its pictures are of."""

    def answer(request: Request) -> str | Reply:
        times = [frame.time for frame in request.frames]
        assert times
        assert max(times) - min(times) < 2
        return says(int(times[0] // 2))

    return EgoADR(ScriptedModel(answer), route="shallow", cache=False, frames=3)


SEEN = [
    "The hands whisk the eggs in a bowl with a fork.",
    "A fork whisks the eggs.",
    "Two eggs are cracked into the bowl.",
    "Nothing can be told here.",
    "The eggs are poured into the pan.",
    "The eggs are poured into the pan.",
]


def test_each_window_is_narrated_once_and_neighbours_are_merged(video: Path) -> None:
    model = narrator(lambda window: SEEN[window])
    log = log_windows(model, video, bank(), window=2.0)
    assert log.events == (
        StepEvent(1, 0.0, 4.0),
        StepEvent(0, 4.0, 6.0),
        StepEvent(2, 8.0, pytest.approx(12.0, abs=0.3)),
    )  # type: ignore[arg-type]
    assert [seen.step for seen in log.windows] == [1, 1, 0, None, 2, 2]
    assert log.notes == ("1 of 6 windows show no step of the procedure that could be named",)
    found = {(v.rule, v.step) for v in Session(bank(), log.events).verdicts().verdicts}
    assert found == {("needed-earlier", 0), ("needs-later", 1), ("never-done", 3)}


def test_a_prompt_of_a_window_does_not_say_what_ought_to_happen(video: Path) -> None:
    asked: list[str] = []

    def says(request: Request) -> str:
        asked.append(request.prompt)
        return "Nothing."

    log_windows(
        EgoADR(ScriptedModel(says), route="shallow", cache=False, frames=2), video, bank(), window=4.0
    )
    assert len(asked) == 3
    assert not any(text in prompt for prompt in asked for text in TEXTS)


def test_a_window_that_fails_is_no_step_and_no_error(video: Path) -> None:
    def says(window: int) -> str | Reply:
        broken = Reply(text="", failure=Failure(cause="server", message="gone away"))
        return broken if window == 1 else SEEN[0]

    log = log_windows(narrator(says), video, bank(), window=2.0)
    assert [seen.failure is not None for seen in log.windows] == [False, True, False, False, False, False]
    assert log.events[0].start == 0
    assert len(log.events) == 1
    assert "gone away" in log.notes[0]


def told(lines: list[LiveLine]) -> list[tuple[str, float, str]]:
    return [(line.kind, line.time, line.verdict.rule if line.verdict else line.text) for line in lines]


def test_watching_tells_a_step_and_an_error_the_moment_it_can_be_known(video: Path) -> None:
    lines = list(watch(narrator(lambda window: SEEN[window]), video, bank(), window=2.0))
    shown = told(lines)
    assert shown[:2] == [("step", 0.0, "2. Whisk the eggs with a fork"), ("error", 0.0, "not-yet-done")]
    assert ("error", 4.0, "needed-earlier") in shown
    assert ("error", 4.0, "needs-later") in shown
    assert shown[-1][2] == "never-done"
    times = [time for _, time, _ in shown]
    assert times == sorted(times)
    assert len(set(shown)) == len(shown)


def test_a_stream_gives_each_window_as_it_ends(video: Path) -> None:
    clips = list(stream_windows(str(video), window=5.0, frames=4))
    assert [(clip.start, round(float(clip.end or 0))) for clip in clips] == [(0.0, 5), (5.0, 10), (10.0, 12)]
    assert all(clip.times is not None and len(clip.times) <= 4 for clip in clips)
    assert clips[1].times is not None
    assert all(5 <= moment < 10 for moment in clips[1].times)
    lines = list(
        watch(
            EgoADR(ScriptedModel(lambda _: SEEN[4]), route="shallow", cache=False, frames=4),
            iter(clips),
            bank(),
        )
    )
    assert told(lines)[0] == ("step", 0.0, "3. Pour the eggs into the pan")


def test_a_stream_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="cannot be opened"):
        list(stream_windows(str(tmp_path / "absent.mp4")))
    with pytest.raises(InputError, match="positive"):
        list(stream_windows("x", window=0))


def test_windows_cover_the_recording_and_a_sliver_joins_the_one_before(video: Path) -> None:
    def edges(window: float) -> list[tuple[float, float]]:
        return [(float(c.start or 0), round(float(c.end or 0), 1)) for c in windows_of(video, window)]

    assert edges(5.0) == [(0.0, 5.0), (5.0, 10.0), (10.0, 12.0)]
    assert edges(5.8) == [(0.0, 5.8), (5.8, 12.0)]
    assert edges(100.0) == [(0.0, 12.0)]
    with pytest.raises(InputError, match="positive"):
        windows_of(video, 0)


def test_unnamed_windows_part_a_step_only_when_they_last() -> None:
    def seen(*steps: int | None) -> list[WindowSeen]:
        return [WindowSeen(start=2.0 * i, end=2.0 * i + 2, step=step) for i, step in enumerate(steps)]

    assert merge_windows(seen(0, None, 0), gap=2.0) == [StepEvent(0, 0.0, 6.0)]
    assert merge_windows(seen(0, None, None, 0), gap=2.0) == [StepEvent(0, 0.0, 2.0), StepEvent(0, 6.0, 8.0)]
    assert merge_windows(seen(0, 1, 0), gap=2.0) == [
        StepEvent(0, 0.0, 2.0),
        StepEvent(1, 2.0, 4.0),
        StepEvent(0, 4.0, 6.0),
    ]
