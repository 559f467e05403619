from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ego_adr.video.choosing import choose_around, choose_pictures, spread_instants


def test_instants_are_the_middles_of_equal_parts() -> None:
    assert spread_instants(2.0, 4.0, 4) == pytest.approx([2.25, 2.75, 3.25, 3.75])
    assert spread_instants(2.0, 4.0, 1) == [3.0]


def test_the_picture_that_is_shown_at_an_instant_is_taken() -> None:
    assert choose_pictures([0.0, 1.0, 2.0, 3.0], [0.99, 1.0, 3.5]) == [0, 1, 3]


def test_with_no_more_pictures_than_instants_each_comes_once() -> None:
    assert choose_pictures([0.0, 0.1, 5.0], [1.0, 2.0, 3.0, 4.0]) == [0, 1, 2]


def test_a_slow_stretch_gives_its_surplus_to_the_widest_gap() -> None:
    times = [0.0, 4.0, 4.1, 4.2, 4.3, 4.4, 4.5]
    assert choose_pictures(times, [0.5, 1.5, 2.5, 4.05]) == [0, 1, 3, 4]


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=60, unique=True),
    st.integers(1, 40),
)
def test_the_choice_is_in_order_without_repeats_and_as_large_as_it_can_be(times: list[int], n: int) -> None:
    times = sorted(times)
    chosen = choose_pictures(times, spread_instants(times[0], times[-1] + 1, n))
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(n, len(times))
    assert set(chosen) <= set(range(len(times)))


@given(st.integers(1, 50), st.integers(1, 20), st.floats(0, 50))
def test_around_an_instant_come_neighbours_that_hold_it(count: int, n: int, instant: float) -> None:
    chosen = choose_around([float(index) for index in range(count)], instant, n)
    assert chosen == list(range(chosen[0], chosen[0] + min(n, count)))
    assert min(int(instant), count - 1) in chosen
