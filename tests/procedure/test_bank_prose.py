"""Prose cut into steps by rules."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ego_adr import read_procedure
from ego_adr.errors import ProcedureError


def steps(text: str, **options: Any) -> list[str]:
    bank = read_procedure(text, **options)
    assert bank.method == "rules"
    for step in bank.steps:
        assert step.span is not None
        assert " ".join(text[slice(*step.span)].split()) == step.text
    starts = [step.span[0] for step in bank.steps if step.span]
    assert starts == sorted(starts)
    return [step.text for step in bank.steps]


def test_connectives_part_steps_and_are_left_out() -> None:
    text = "First crack the eggs, then whisk them. Next, heat the pan. After that, fry; finally serve with bread."
    assert steps(text) == ["crack the eggs", "whisk them", "heat the pan", "fry", "serve with bread"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Add 1/2 tsp. cumin to the pan",
        "Coat a 6-oz. ramekin with oil",
        "Set the dial to No. 2 position",
        "Heat for 1.5 minutes at 180.5 degrees",
        "Use a fork, e.g. a steel one",
        "Mix approx. 3 cups of flour",
        "Open www.example.com on the screen",
        "Attach part A.1 to part B.2",
        "Tighten the M3 vs. the M4 screw",
        "Add the herbs etc. to the pot",
        "Fix the bolt (tighten it. do not overtighten) to the frame",
        'Press the key marked "Start. Now." on the panel',
        "Press the key marked “Start. Now.” on the panel",
        "Wait approx. 5 min. for the glue",
        "Plug in the U.S. adapter",
        'Cut the 1/2" pipe in two',
        "Turn it 1.25 times (see fig. 3.2; page 4)",
    ],
)
def test_points_inside_amounts_abbreviations_brackets_and_quotes_end_no_step(sentence: str) -> None:
    assert steps(f"{sentence}. Serve it.", granularity="sentence") == [sentence, "Serve it"]


def test_a_unit_may_end_a_sentence_all_the_same() -> None:
    assert steps("Add 2 tbsp. Stir well. Pour 3 oz. Add ice.") == [
        "Add 2 tbsp",
        "Stir well",
        "Pour 3 oz",
        "Add ice",
    ]


def test_every_mark_that_ends_a_sentence_does() -> None:
    assert steps("Stop! Is it hot? Wait... Cut it; fry it.") == [
        "Stop",
        "Is it hot",
        "Wait",
        "Cut it",
        "fry it",
    ]


def test_clauses_are_cut_where_a_verb_of_instructions_follows() -> None:
    text = "Remove the cover, set it aside and unscrew the two bolts."
    assert steps(text) == ["Remove the cover", "set it aside", "unscrew the two bolts"]
    assert len(steps(text, granularity="sentence")) == 1


def test_things_listed_with_commas_stay_in_one_clause_but_not_in_one_phrase() -> None:
    text = "Add flour, 1 egg and the milk. Stir."
    assert steps(text) == ["Add flour, 1 egg and the milk", "Stir"]
    assert steps(text, granularity="phrase") == ["Add flour", "1 egg", "the milk", "Stir"]


@pytest.mark.parametrize(
    "text",
    [
        "Once the oil is hot, add the onions",
        "In a large bowl, mix the flour with the eggs",
        "To make the tea, first, boil the water",
        "If the belt is worn, replace it",
        "Peel and mince the garlic",
    ],
)
def test_what_only_leads_in_stays_with_its_step(text: str) -> None:
    assert steps(f"{text}. Serve it.") == [text, "Serve it"]


def test_adjectives_joined_by_a_comma_are_no_further_things() -> None:
    text = "Heat the oil in a large, heavy pan. Add salt, black pepper."
    assert steps(text, granularity="phrase") == [
        "Heat the oil in a large, heavy pan",
        "Add salt",
        "black pepper",
    ]


def test_a_lone_verb_before_then_is_a_step() -> None:
    assert steps("Whisk, then pour it into the pan.") == ["Whisk", "pour it into the pan"]


def test_lines_that_are_steps_of_their_own_are_told_from_broken_lines() -> None:
    assert steps("Crack the eggs\nWhisk them\nPour into the pan") == [
        "Crack the eggs",
        "Whisk them",
        "Pour into the pan",
    ]
    broken = "Heat the oil in a large pan and add the\nonions, then stir until they are soft and\ngolden."
    assert steps(broken) == [
        "Heat the oil in a large pan",
        "add the onions",
        "stir until they are soft and golden",
    ]


def test_paragraphs_part_steps() -> None:
    assert steps("Cut the wire\n\nStrip the wire\n\n\nCrimp the wire") == [
        "Cut the wire",
        "Strip the wire",
        "Crimp the wire",
    ]


def test_other_languages_are_cut_at_their_own_marks() -> None:
    assert steps("首先打鸡蛋。然后加盐!最后倒入锅中。") == ["首先打鸡蛋", "然后加盐", "最后倒入锅中"]
    assert steps("Zuerst die Eier aufschlagen. Dann salzen.") == [
        "Zuerst die Eier aufschlagen",
        "Dann salzen",
    ]


def test_one_word_is_a_procedure_of_one_step() -> None:
    assert steps("Stir.") == ["Stir"]
    assert steps("Stir") == ["Stir"]


@pytest.mark.parametrize("text", ["", "   \n\t", "---", "?!", "..."])
def test_a_text_without_words_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(ProcedureError, match="is empty: write down the steps"):
        read_procedure(text)


def test_real_procedures_lose_no_words_but_connectives(data_dir: Any) -> None:
    import json
    import re

    from ego_adr.procedure.splitting import splitting_words

    texts = json.loads((data_dir / "egoerrorvqa" / "procedure.json").read_text(encoding="utf-8"))
    assert len(texts) == 31
    joining = {word for phrase in splitting_words().connectives for word in phrase.split()} | {
        "and",
        "but",
        "or",
    }
    for task, text in texts.items():
        for granularity in ("sentence", "clause", "phrase"):
            bank = read_procedure(text, granularity=granularity)  # type: ignore[arg-type]
            spans = [step.span for step in bank.steps if step.span]
            assert all(a[1] <= b[0] for a, b in pairwise(spans)), task
            gaps = [
                text[a:b]
                for a, b in zip([0, *(e for _, e in spans)], [*(b for b, _ in spans), len(text)], strict=True)
            ]
            lost = {word for gap in gaps for word in re.findall(r"[a-z0-9]+", gap.casefold())}
            assert lost <= joining, (task, granularity, lost - joining)
