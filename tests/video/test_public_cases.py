"""The public cases of video, clip range and resources."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ego_adr.errors import ClipRangeError, EgoADRWarning, VideoError
from ego_adr.types import FrameSequence
from ego_adr.video import sample_frames

Array = NDArray[np.uint8]
Numbers = Callable[[Array], int]


@pytest.fixture
def case(
    load_cases: Callable[[str], list[dict[str, Any]]], cases_dir: Path
) -> Callable[[str], dict[str, Any]]:
    cases = {case["id"]: case for kind in ("video", "clip range", "resources") for case in load_cases(kind)}

    def find(name: str) -> dict[str, Any]:
        found = dict(cases[name])
        found["path"] = cases_dir / found["input"]["file"]
        return found

    return find


def sample(case: dict[str, Any]) -> tuple[FrameSequence, list[str]]:
    given = case["input"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frames = sample_frames(case["path"], given["start"], given["end"], given["num_frames"])
    assert all(issubclass(one.category, EgoADRWarning) for one in caught)
    texts = [str(one.message) for one in caught]
    assert tuple(texts) == frames.warnings
    return frames, texts


def test_every_case_of_these_kinds_is_tried_here(load_cases: Callable[[str], list[dict[str, Any]]]) -> None:
    known = {*COUNTED, "05b", "06", "07", "12", "14", "18b", "18g", "18h", "75"}
    assert {case["id"] for kind in ("video", "clip range", "resources") for case in load_cases(kind)} <= known


COUNTED = [
    "01a", "01b", "02", "03", "04", "05a", "08", "09", "10", "11", "13", "15", "16", "17", "18a", "18e", "18j",
]  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_the_right_pictures_come_in_order(
    name: str, case: Callable[[str], dict[str, Any]], number_of: Numbers
) -> None:
    one = case(name)
    wanted = one["expected"]
    frames, texts = sample(one)
    turned = "turn the picture back" in wanted.get("note", "")
    numbers = [number_of(np.rot90(frame.array, -1) if turned else frame.array) for frame in frames]
    assert len(frames) == wanted["n_frames"]
    low, high = wanted["frame_numbers_between"]
    slack = wanted["tolerance_pictures"]
    assert all(low - slack <= number <= high + slack for number in numbers)
    assert numbers == sorted(numbers)
    assert numbers[0] <= wanted["first_at_most"]
    assert numbers[-1] >= wanted["last_at_least"]
    for frame in frames:
        assert frame.array.dtype == np.uint8
        assert frame.array.ndim == 3
        assert frame.array.shape[2] == 3
        assert list(frame.array.shape) == wanted.get("shape", list(frame.array.shape))
    assert bool(texts) == ("warning" in wanted)


def test_a_phone_clip_comes_upright(case: Callable[[str], dict[str, Any]]) -> None:
    one = case("02")
    wanted = one["expected"]
    for frame in sample(one)[0]:
        red, green, blue = (frame.array[:, :, channel].astype(int) for channel in range(3))
        rows, columns = np.nonzero((red > 150) & (green < 90) & (blue < 90))
        assert (
            np.abs(np.array([rows.mean(), columns.mean()]) - wanted["red_mark_centre_yx"]).max()
            <= wanted["tolerance_px"]
        )


def test_ten_bit_gray_becomes_eight_bit_without_wrapping(
    case: Callable[[str], dict[str, Any]], number_of: Numbers
) -> None:
    means = []
    for frame in sample(case("03"))[0]:
        assert (frame.array == frame.array[:, :, :1]).all()
        mean = frame.array[frame.array.shape[0] // 2 :].mean()
        assert abs(mean - (16 + 3 * number_of(frame.array))) <= 12
        means.append(mean)
    assert means == sorted(means)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("05b", ClipRangeError, ["05_truncated_tail.mp4", "1.033 s"]),
        ("06", VideoError, ["06_no_moov.mp4", "cannot be read"]),
        ("07", VideoError, ["07_sound_only.mp4", "no video stream"]),
        ("18b", ClipRangeError, ["10_long_gop.mp4", "10.0 s", "63.533"]),
        ("18h", ClipRangeError, ["10_long_gop.mp4", "not a finite number"]),
    ],
)
def test_what_cannot_be_given_is_an_error_that_names_the_file(
    name: str, error: type[Exception], words: list[str], case: Callable[[str], dict[str, Any]]
) -> None:
    with pytest.raises(error) as failed:
        sample(case(name))
    assert all(word in str(failed.value) for word in words)


def test_a_picture_smaller_than_one_patch_is_read_as_it_is(case: Callable[[str], dict[str, Any]]) -> None:
    frames, _ = sample(case("12"))
    assert [frame.array.shape for frame in frames] == [(12, 16, 3)] * 8


def test_five_pictures_are_all_given_once_and_said_to_be_five(
    case: Callable[[str], dict[str, Any]], number_of: Numbers
) -> None:
    frames, texts = sample(case("14"))
    assert [number_of(frame.array) for frame in frames] == [0, 1, 2, 3, 4]
    assert frames.distinct == 5
    assert "holds 5" in texts[0]


def test_one_negative_end_is_clamped_with_a_warning(
    case: Callable[[str], dict[str, Any]], number_of: Numbers
) -> None:
    frames, texts = sample(case("18g"))
    assert (frames.start, frames.end) == (0.0, 5.0)
    assert "clamped" in texts[0]
    assert number_of(frames[-1].array) < 150


def test_two_hundred_clips_leave_nothing_behind(case: Callable[[str], dict[str, Any]]) -> None:
    one = case("75")
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("open files are counted through /proc")

    def state() -> tuple[int, int, float]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        threads = len(list(Path("/proc/self/task").iterdir()))
        return len(list(folder.iterdir())), threads, pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    before = state()
    for _ in range(200):
        sample_frames(one["path"], 7, 8)
    grown = [later - earlier for earlier, later in zip(before, state(), strict=True)]
    wanted = one["expected"]
    limits = [wanted["open_files_growth"], wanted["threads_growth"], wanted["memory_growth_MB"]]
    assert all(
        growth <= float(limit.removeprefix("<=")) for growth, limit in zip(grown, limits, strict=True)
    ), grown
