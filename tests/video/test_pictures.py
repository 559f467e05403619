"""Pictures in memory as a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from ego_adr.errors import ClipRangeError, EgoADRWarning, InputError, VideoError
from ego_adr.types import Clip, Frame
from ego_adr.video import sample_clip, sample_frames

Array = NDArray[np.uint8]


@pytest.fixture
def pictures(painted: Callable[..., Array]) -> list[Array]:
    return [painted(number) for number in range(20)]


HALF_SECONDS = [index / 2 for index in range(20)]


def test_arrays_with_times_are_sampled_by_time(
    pictures: list[Array], number_of: Callable[[Array], int]
) -> None:
    frames = sample_frames(pictures, 2.0, 6.0, 4, times=HALF_SECONDS)
    assert [number_of(frame.array) for frame in frames] == [5, 7, 9, 11]
    assert [frame.time for frame in frames] == [2.5, 3.5, 4.5, 5.5]
    assert [frame.number for frame in frames] == [5, 7, 9, 11]
    assert (frames.start, frames.end, frames.duration) == (2.0, 6.0, 10.0)


@pytest.mark.parametrize("form", ["pil", "tuple", "block", "frames"])
def test_every_form_of_the_same_pictures_gives_the_same(
    form: str, pictures: list[Array], number_of: Callable[[Array], int]
) -> None:
    source: Any = {
        "pil": [Image.fromarray(picture) for picture in pictures],
        "tuple": tuple(pictures),
        "block": np.stack(pictures),
        "frames": [Frame(picture, time) for picture, time in zip(pictures, HALF_SECONDS, strict=True)],
    }[form]
    times = None if form == "frames" else tuple(HALF_SECONDS)
    frames = sample_clip(Clip(source, "2", "00:00:06", times=times), 4)
    assert [number_of(frame.array) for frame in frames] == [5, 7, 9, 11]


def test_what_was_sampled_can_be_sampled_again(pictures: list[Array]) -> None:
    once = sample_frames(pictures, times=HALF_SECONDS, n=10)
    again = sample_frames(once, n=10)
    assert [frame.time for frame in again] == [frame.time for frame in once]
    assert len(sample_frames(once, n=3)) == 3


def test_fewer_pictures_than_asked_are_all_given_with_a_warning(pictures: list[Array]) -> None:
    with pytest.warns(EgoADRWarning, match="holds 3"):
        frames = sample_frames(pictures[:3], times=[0, 1, 2])
    assert [frame.time for frame in frames] == [0, 1, 2]


def test_without_times_the_pictures_are_a_second_apart_and_that_is_said(pictures: list[Array]) -> None:
    with pytest.warns(EgoADRWarning, match="one second apart"):
        frames = sample_frames(pictures, n=20)
    assert [frame.time for frame in frames] == [float(second) for second in range(20)]


def test_the_clock_of_the_times_is_kept(pictures: list[Array]) -> None:
    times = [100 + time for time in HALF_SECONDS]
    frames = sample_frames(pictures, 102, 104, 2, times=times)
    assert [frame.time for frame in frames] == [102.5, 103.5]
    with pytest.raises(ClipRangeError, match="110"):
        sample_frames(pictures, 200, 210, times=times)


def test_equal_ends_give_the_pictures_around(pictures: list[Array]) -> None:
    assert [frame.time for frame in sample_frames(pictures, 5, 5, 3, times=HALF_SECONDS)] == [4.5, 5.0, 5.5]


def test_the_picture_that_is_already_shown_when_the_clip_starts_belongs_to_it(pictures: list[Array]) -> None:
    frames = sample_frames(pictures[:3], 1.2, 2.5, 3, times=[0, 1, 2], warn=False)
    assert [frame.time for frame in frames] == [1, 2]


def test_large_pictures_are_scaled_down_and_small_ones_kept(pictures: list[Array]) -> None:
    mixed = [Image.fromarray(pictures[0]).resize((640, 384)), Image.fromarray(pictures[1]).resize((40, 24))]
    frames = sample_frames(mixed, n=2, times=[0, 1], longer_side=80)
    assert [frame.array.shape for frame in frames] == [(48, 80, 3), (24, 40, 3)]


@pytest.mark.parametrize(
    "picture",
    [
        Image.new("L", (6, 4), 200),
        Image.new("RGBA", (6, 4), (200, 200, 200, 255)),
        Image.new("RGB", (6, 4), (200, 200, 200)).quantize(2),
        Image.fromarray(np.full((4, 6), 200 << 8, dtype=np.uint16)),
        np.full((4, 6), 200, dtype=np.uint8),
        np.full((4, 6, 1), 200, dtype=np.uint8),
        np.full((4, 6, 4), 200, dtype=np.uint8),
    ],
    ids=["gray", "alpha", "palette", "16-bit", "array-gray", "array-one-channel", "array-alpha"],
)
def test_every_kind_of_picture_becomes_rgb(picture: Any) -> None:
    (frame,) = sample_frames([picture], n=1)
    assert frame.array.shape == (4, 6, 3)
    assert frame.array.dtype == np.uint8
    assert np.abs(frame.array.astype(int) - 200).max() <= 1


def test_a_photo_is_turned_as_its_tag_says(tmp_path: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (6, 4)).save(tmp_path / "photo.jpg", exif=exif)
    with Image.open(tmp_path / "photo.jpg") as photo:
        assert sample_frames([photo], n=1)[0].array.shape == (6, 4, 3)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "at least one"),
        ([np.zeros((4, 6, 3), dtype=np.float32)], "uint8"),
        ([np.zeros((3, 40, 60), dtype=np.uint8)], "Colour comes last"),
        ([np.zeros((0, 6, 3), dtype=np.uint8)], "0 x 6"),
        ([Image.new("F", (6, 4))], "mode F"),
        (["a.jpg", "b.jpg"], "type str"),
        ([None], "NoneType"),
        (np.zeros((4, 6, 3), dtype=np.uint8), "T x H x W x 3"),
        (Image.new("RGB", (6, 4)), "list of pictures"),
        (12, "type int"),
        (iter([]), "list of pictures"),
        ([Frame(np.zeros((4, 6, 3), dtype=np.uint8), 0.0), np.zeros((4, 6, 3), dtype=np.uint8)], "mixed"),
    ],
)
def test_what_is_no_list_of_pictures_is_an_error_that_says_what_is_allowed(source: Any, words: str) -> None:
    with pytest.raises(VideoError, match=words):
        sample_frames(source, warn=False)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0, 1], "one time for each"),
        ([0, 2, 1], "order of time"),
        ([0, "soon", 2], "soon"),
        ([0, float("nan"), 2], "finite"),
        ([0, None, 2], "None"),
    ],
)
def test_times_that_do_not_fit_are_errors(times: list[Any], words: str, pictures: list[Array]) -> None:
    with pytest.raises(ClipRangeError, match=words):
        sample_frames(pictures[:3], times=times)


def test_frames_bring_their_own_times() -> None:
    frame = Frame(np.zeros((4, 6, 3), dtype=np.uint8), 0.0)
    with pytest.raises(VideoError, match="times="):
        sample_frames([frame], times=[1.0])


def test_a_clip_is_for_sample_clip(pictures: list[Array]) -> None:
    with pytest.raises(InputError, match="sample_clip"):
        sample_frames(Clip(pictures))  # type: ignore[arg-type]
