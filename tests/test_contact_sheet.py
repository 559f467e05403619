from __future__ import annotations

import numpy as np
import pytest

from ego_adr.contact_sheet import contact_sheet
from ego_adr.errors import InputError
from ego_adr.types import Frame


def frames(count: int, height: int = 60, width: int = 90) -> list[Frame]:
    return [
        Frame(np.full((height, width, 3), 90 + index, dtype=np.uint8), index / 2) for index in range(count)
    ]


def test_every_picture_is_on_the_sheet_in_order() -> None:
    sheet = np.asarray(contact_sheet(frames(5), columns=3))
    first = [int(np.argwhere((sheet == 90 + index).all(axis=2))[0] @ [1, 0]) for index in range(5)]
    assert first[0] == first[1] == first[2] < first[3] == first[4]
    for index in range(5):
        assert abs((sheet == 90 + index).all(axis=2).sum() - 60 * 90) < 50  # the text has grays too


def test_each_time_is_written_below_its_picture() -> None:
    one, other = (
        np.asarray(contact_sheet([Frame(np.zeros((60, 90, 3), np.uint8), time)])) for time in (1.0, 2.5)
    )
    assert one.shape == other.shape
    assert (one[:64] == other[:64]).all()
    assert (one[64:] != other[64:]).any()


def test_the_number_of_columns_can_be_given_and_is_never_more_than_needed() -> None:
    assert contact_sheet(frames(3), columns=1).width < contact_sheet(frames(3), columns=3).width
    assert contact_sheet(frames(2), columns=9).size == contact_sheet(frames(2), columns=2).size
    wide, high = contact_sheet(frames(9)).size
    assert 0.5 < wide / high < 2


def test_pictures_of_different_sizes_share_a_sheet() -> None:
    sheet = contact_sheet([*frames(1), *frames(1, height=120, width=40)], columns=2)
    assert sheet.width >= 2 * 90
    assert sheet.height >= 120


def test_no_frames_and_no_columns_are_errors() -> None:
    with pytest.raises(InputError, match="at least one"):
        contact_sheet([])
    with pytest.raises(InputError, match="columns"):
        contact_sheet(frames(2), columns=0)
