"""Which step a model's reply names."""

from __future__ import annotations

import pytest

from ego_adr.procedure.matching import read_step_reply


@pytest.mark.parametrize(
    "reply",
    [
        "3",
        "3.",
        "3)",
        "(3)",
        "[3]",
        "#3",
        "**3**",
        "- 3",
        "３",
        "three",
        "Step 3",
        "step 3.",
        "Step #3",
        "Step_3",
        "Step three",
        "the third step",
        "**Step 3:** Add the salt",
        "3. Add 2 eggs to 1 cup of milk",
        "3/10",
        "Step 3 of 10",
        "步骤3",
        "第3步",
        "\\boxed{3}",
        "Answer: 3",
        "Final answer: step 3",
        "The answer is 3",
        "The best match is step 3: Add 2 eggs",
        "Add 2 eggs (step 3)",
        "I think it's 3 because 1 tbsp of oil is used",
        '{"step": 3}',
        '{"step": "3"}',
        '{"step": 3.0}',
        '{"step": [3]}',
        '{"step": "Step 3: Add 2 eggs"}',
        '{"step": 3, "reason": "because step 4 is later"}',
        '```json\n{"step": 3}\n```',
        '{"step": 3',
        "<think>2 or 4? 4 comes later.</think>\n3",
        "3\n\nExplanation: steps 2 and 4 differ.",
    ],
)
def test_one_step_is_read_from_every_form_it_is_given_in(reply: str) -> None:
    choice = read_step_reply(reply, 10)
    assert choice.reason is None
    assert choice.index == 2


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("It matches step 2... wait, no. It is step 4.", 4),
        ("The action is step 3, not step 4.", 3),
        ("Not step 2: it is step 5", 5),
        ("Answer: 2\nOn reflection, answer: 6", 6),
        ("Step 1: Heat oil. Step 2: Add egg. The action is step 2.", 2),
        ("Current step: 3\nPreceding step: 2\nFollowing step: 4", 3),
        ("Step 3 - none of the others fit.", 3),
    ],
)
def test_the_last_committed_step_counts(reply: str, number: int) -> None:
    assert read_step_reply(reply, 10).index == number - 1


@pytest.mark.parametrize(
    "reply",
    [
        "None of them",
        "none",
        "None.",
        "none of the above",
        "No step fits.",
        "no matching step",
        "0",
        "Answer: none",
        '{"step": null}',
        '{"step": "none"}',
        '{"step": 0}',
        "Step 3 is near, but none of them fits.",
    ],
)
def test_none_of_them_is_an_answer(reply: str) -> None:
    choice = read_step_reply(reply, 10)
    assert choice.index is None
    assert choice.reason is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<think>maybe 2", "truncated"),
        ("Step 99", "out of range"),
        ("11", "out of range"),
        ('{"step": 11}', "out of range"),
        ("2 or 3", "several steps"),
        ("2, 3", "several steps"),
        ("2-3", "several steps"),
        ("Steps 2 and 3", "several steps"),
        ("Answer: 3 or 4", "several steps"),
        ('{"step": [2, 3]}', "several steps"),
        ("I cannot tell from this.", "no step found"),
        ("Add the salt", "no step found"),
        ("3.5", "no step found"),
        ("1/2 tsp", "no step found"),
        ('{"step": "Add 2 eggs"}', "no step found"),
        ('{"step": true}', "no step found"),
        ('{"step": 1e999}', "no step found"),
        ('{"step": NaN}', "no step found"),
        pytest.param('{"step": ' + "9" * 400 + "}", "out of range", id="a number that no float holds"),
        pytest.param('{"step": ' + "9" * 5000 + "}", "no step found", id="a number that no int is read from"),
        pytest.param("9" * 5000, "no step found", id="digits without end"),
        pytest.param("[" * 5000, "no step found", id="lists without end"),
        pytest.param('{"step":' * 5000, "no step found", id="objects without end"),
        pytest.param('{"' * 5000, "no step found", id="open texts without end"),
        pytest.param("Answer:" + " #*" * 5000, "no step found", id="an answer that never comes"),
    ],
)
def test_what_names_no_single_step_is_said_to_and_why(reply: str, reason: str) -> None:
    choice = read_step_reply(reply, 10)
    assert choice.index is None
    assert choice.reason == reason
