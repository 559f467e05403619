"""The sentences and the rule that gives the label."""

from __future__ import annotations

import pytest

from ego_adr.tabletop.language import (
    BLOCKS,
    KINDS,
    LABELS,
    Block,
    Event,
    held_out,
    label_of,
    narrate,
    parse_step,
    procedure_text,
    step_text,
)
from ego_adr.taxonomies import load_taxonomy

RED_CUBE, BLUE_BALL, GREEN_CONE = Block("red", "cube"), Block("blue", "ball"), Block("green", "cone")
STEP = Event("on", RED_CUBE, BLUE_BALL)
OTHER = Event("off", GREEN_CONE, BLUE_BALL)


def test_a_step_reads_as_plain_english_and_can_be_read_back() -> None:
    assert step_text(STEP) == "Put the red cube on the blue ball."
    assert step_text(OTHER) == "Take the green cone off the blue ball."
    assert parse_step(step_text(STEP)) == STEP
    assert parse_step("take the green cone off the blue ball") == OTHER
    assert parse_step("Take the green cone on the blue ball.") is None
    assert parse_step("Boil the water.") is None
    assert procedure_text([STEP, OTHER]).splitlines()[1] == "2. Take the green cone off the blue ball."


def test_only_three_kinds_can_be_asked_for() -> None:
    with pytest.raises(ValueError, match="on, beside, off"):
        step_text(Event("break", RED_CUBE))


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (STEP, "correct"),
        (Event("on", GREEN_CONE, BLUE_BALL), "Wrong object"),
        (Event("on", RED_CUBE, GREEN_CONE), "Wrong object"),
        (Event("beside", RED_CUBE, BLUE_BALL), "Wrong action"),
        (Event("beside", RED_CUBE, GREEN_CONE), "Wrong action"),
        (OTHER, "Wrong order"),
        (Event("none", RED_CUBE), "Omission"),
        (Event("back", RED_CUBE), "Unintended and unnecessary action"),
        (Event("fix", RED_CUBE, GREEN_CONE, BLUE_BALL), "Correct wrong action"),
        (Event("break", RED_CUBE), "Equipment failure"),
        (Event("slow", RED_CUBE), "Others"),
    ],
)
def test_every_label_follows_from_procedure_action_and_what_is_seen(event: Event, label: str) -> None:
    assert label_of(event, STEP, [OTHER]) == label


def test_the_labels_are_those_of_the_taxonomy_and_every_kind_has_a_sentence() -> None:
    assert tuple(load_taxonomy().names) == LABELS
    events = [Event(kind, RED_CUBE, BLUE_BALL, GREEN_CONE) for kind in KINDS]
    assert len({narrate(event) for event in events}) == len(KINDS)


def test_a_fifth_of_all_pairs_is_kept_for_the_test_in_either_order() -> None:
    pairs = [(a, b) for a in BLOCKS for b in BLOCKS if a.colour != b.colour]
    share = sum(held_out(a, b) for a, b in pairs) / len(pairs)
    assert 0.15 < share < 0.25
    assert all(held_out(a, b) == held_out(b, a) for a, b in pairs)
