from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ego_adr.errors import ClipRangeError
from ego_adr.video.interval import Interval, parse_time, resolve_interval


def resolved(start: object, end: object, **given: Any) -> Interval:
    return resolve_interval(
        start, end, **({"first": 0.0, "last": 10.0, "name": "a.mp4", "picture": 1 / 30} | given)
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (7, 7.0), (7.5, 7.5), (Fraction(15, 2), 7.5), (Decimal("7.5"), 7.5), (np.float32(7.5), 7.5), (np.int64(7), 7.0),
        ("7.5", 7.5), (" 7.5 ", 7.5), ("7", 7.0), ("1e1", 10.0), ("-1", -1.0),
        ("00:00:07", 7.0), ("00:00:07.250", 7.25), ("00:00:07,250", 7.25), ("01:30", 90.0), ("90:00", 5400.0),
        ("1:02:03", 3723.0), ("-00:00:05", -5.0), ("-1:-1:-1:-1", -1.0), ("-1:-1:-1", -1.0),
        (None, None),
    ],
)  # fmt: skip
def test_numbers_and_clock_times_are_read(value: object, seconds: float | None) -> None:
    assert parse_time(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "7 apples",
        "7:",
        "00:61:00",
        "00:00:75",
        "1:2:3:4:5",
        "7,5",
        [],
        {},
        b"7",
        True,
        1j,
        object(),
    ],
)
def test_what_is_no_time_is_an_error_that_shows_it_and_says_what_is_allowed(value: object) -> None:
    with pytest.raises(ClipRangeError, match="00:00:07") as failed:
        parse_time(value, "a.mp4: start")
    assert repr(value) in str(failed.value)
    assert "a.mp4: start" in str(failed.value)


@pytest.mark.parametrize(
    "value", ["NaN", "nan", float("nan"), float("inf"), "-inf", "Infinity", np.float64("nan"), 10**400]
)
def test_what_is_not_finite_is_an_error(value: object) -> None:
    with pytest.raises(ClipRangeError, match="not a finite number"):
        resolved(value, 3.0)
    with pytest.raises(ClipRangeError, match="not a finite number"):
        resolved(0.0, value)


def test_a_fourth_field_counts_pictures_at_an_unknown_rate_and_is_refused() -> None:
    with pytest.raises(ClipRangeError, match="four fields"):
        parse_time("00:00:07:21")


def test_an_interval_in_the_video_is_kept_without_a_warning() -> None:
    assert resolved("2", 3.5) == Interval(2.0, 3.5)


def test_no_ends_are_the_whole_video() -> None:
    assert resolved(None, None) == Interval(0.0, 10.0)
    assert resolved(None, 4) == Interval(0.0, 4.0)
    assert resolved(4, None) == Interval(4.0, 10.0)


def test_minus_one_twice_is_the_whole_video_without_a_warning() -> None:
    assert resolved(-1.0, "-1") == Interval(0.0, 10.0)
    assert resolved("-1:-1:-1:-1", "-1:-1:-1:-1") == Interval(0.0, 10.0)


@pytest.mark.parametrize("pair", [(-3661.033, -3661.033), (-1, -2), (-5, -3), (-0.5, -0.5)])
def test_two_other_negative_ends_are_the_whole_video_with_a_warning(pair: tuple[float, float]) -> None:
    found = resolved(*pair)
    assert (found.start, found.end) == (0.0, 10.0)
    assert "whole video" in found.warnings[0]


def test_a_negative_start_is_clamped_with_a_warning() -> None:
    found = resolved(-1.0, 5.0)
    assert (found.start, found.end) == (0.0, 5.0)
    assert "clamped" in found.warnings[0]


def test_a_negative_end_after_a_start_is_swapped_and_out_of_range_so_an_error() -> None:
    with pytest.raises(ClipRangeError, match="before it starts"):
        resolved(5.0, -1.0)


def test_an_end_before_the_start_is_swapped_with_a_warning() -> None:
    found = resolved(3.533, 3.333)
    assert (found.start, found.end) == (3.333, 3.533)
    assert "swapped" in found.warnings[0]


@pytest.mark.parametrize("pair", [(63.533, 63.333), (12.0, 5.0), (10.0, 5.0), (11.0, 10.5)])
def test_an_end_before_the_start_and_outside_of_the_video_is_an_error(pair: tuple[float, float]) -> None:
    with pytest.raises(ClipRangeError, match=r"10\.0 s") as failed:
        resolved(*pair)
    assert "a.mp4" in str(failed.value)


@pytest.mark.parametrize("pair", [(10.0, 12.0), (60.0, 70.0), (60.0, None), (60.0, 60.0)])
def test_a_start_past_the_last_picture_is_an_error_that_says_how_long_the_video_is(
    pair: tuple[float, float],
) -> None:
    with pytest.raises(ClipRangeError, match=r"the video ends at 10\.0 s") as failed:
        resolved(*pair)
    assert "a.mp4" in str(failed.value)


def test_an_end_that_nobody_gave_is_not_spoken_of() -> None:
    with pytest.raises(ClipRangeError, match=r"the clip starts at 60\.0 s, the video ends at 10\.0 s"):
        resolved(60.0, None)


def test_an_end_past_the_last_picture_is_clamped_with_a_warning() -> None:
    found = resolved(8.0, 60.0)
    assert (found.start, found.end) == (8.0, 10.0)
    assert "10.0 s" in found.warnings[0]


def test_an_end_that_is_late_by_less_than_a_picture_is_taken_for_rounding() -> None:
    assert resolved(8.0, 10.02) == Interval(8.0, 10.0)


def test_equal_ends_are_an_instant() -> None:
    assert resolved(3, 3.0).instant
    assert not resolved(3, 3.1).instant


def test_past_the_readable_part_of_a_file_that_breaks_off_is_an_error_that_says_how_much_there_is() -> None:
    for pair in [(2.0, 2.8), (0.5, 2.8), (0.5, 60.0)]:
        with pytest.raises(ClipRangeError, match=r"1\.033 s of 3\.0 s are readable"):
            resolved(*pair, last=1.033, cut_from=3.0)
    assert resolved(0.2, 0.9, last=1.033, cut_from=3.0) == Interval(0.2, 0.9)


def test_the_whole_of_a_file_that_breaks_off_is_what_is_there_with_a_warning() -> None:
    for pair in [(None, None), (-1, -1), (0.5, None)]:
        found = resolved(*pair, last=1.033, cut_from=3.0)
        assert found.end == 1.033
        assert "breaks off" in found.warnings[-1]


def test_pictures_on_a_clock_of_their_own_are_cut_on_that_clock() -> None:
    assert resolved(13, 14, first=12.0, last=16.0) == Interval(13.0, 14.0)
    assert resolved(None, None, first=12.0, last=16.0) == Interval(12.0, 16.0)
    with pytest.raises(ClipRangeError, match="first picture"):
        resolved(1, 2, first=12.0, last=16.0)
