"""The "Verb-" prefixes of data sets, which the benchmark and the matcher take off alike."""

from __future__ import annotations

import pytest

from ego_adr.procedure.matching import clean_action


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("Add-Add 1 can drained tuna to the bowl", "Add 1 can drained tuna to the bowl"),
        ("Coat -Coat a 6-oz. ramekin cup", "Coat a 6-oz. ramekin cup"),
        ("Coat - Coat the pan", "Coat the pan"),
        ("Add–Add the salt", "Add the salt"),
        ("peel-Peel 1 garlic clove", "Peel 1 garlic clove"),
        ("mix-mix well contents of the pan", "mix well contents of the pan"),
        ("saute-Sauté the onions", "Sauté the onions"),
        ("chopping - Chop the onion", "Chop the onion"),
        ("pick up-Pick up the box", "Pick up the box"),
        ("Measure and add-Measure and add salt", "Measure and add salt"),
        ("Re-insert-Re-insert the screw", "Re-insert the screw"),
        ("Stir-fry-Stir-fry the rice", "Stir-fry the rice"),
        ("Add-Add-Add salt", "Add salt"),
        ("add-When seeds sizzle, add garlic", "When seeds sizzle, add garlic"),
        ("Season-Sprinkle salt on it", "Sprinkle salt on it"),
    ],
)
def test_a_prefixed_verb_is_taken_off(written: str, clean: str) -> None:
    assert clean_action(written) == clean


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("Add-1/2 tsp cumin seeds to the pan", "Add 1/2 tsp cumin seeds to the pan"),
        ("Measure and add-1.5 tbsp sugar", "Measure and add 1.5 tbsp sugar"),
    ],
)
def test_an_amount_keeps_its_verb(written: str, clean: str) -> None:
    assert clean_action(written) == clean


@pytest.mark.parametrize(
    "action",
    [
        "stir-fry the rice",
        "Stir-fry the rice",
        "Pre-heat the oven",
        "pre-heat oven to 350",
        "Re-insert the screw",
        "6-oz. can of tuna",
        "X-ray the board",
        "Double-check the wiring",
        "Double-Check the wiring",
        "Turn-On the stove switch",
        "pick-up the box",
        "Deep-fry the potatoes until golden",
        "Cross-thread the bolt",
        "Make a cross-shaped cut in the lid",
        "Place the non-stick pan on the stove",
        "low-fat milk",
        "insert stake",
        "Cut",
        "-",
        "",
    ],
)
def test_compounds_and_plain_actions_stay_as_they_are(action: str) -> None:
    assert clean_action(action) == action


def test_cleaning_twice_changes_nothing_more() -> None:
    for action in ("Add-Add 1 can", "Coat -Coat a 6-oz. cup", "Add-1/2 tsp salt", "stir-fry the rice"):
        assert clean_action(clean_action(action)) == clean_action(action)


def test_blanks_are_folded_and_accents_composed() -> None:
    assert clean_action("  Add \n jalapen\u0303o ") == "Add jalape\u00f1o"
