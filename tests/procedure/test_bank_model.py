"""Prose cut by a model: what it says is held against the text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ego_adr import ProcedureBank, ScriptedModel
from ego_adr.errors import ProcedureError, ServerError
from ego_adr.procedure.bank import segment_with_model
from ego_adr.prompting import PromptLibrary
from ego_adr.types import Failure, Reply

TEXT = (
    "First, peel 2 onions and chop them finely. Then heat 1 1/2 tbsp. oil in a pan over medium heat; add the onions, "
    "and fry them for 5 minutes, but do not burn them. Finally, season with salt and serve."
)
GOOD = [
    "peel 2 onions",
    "chop them finely",
    "heat 1 1/2 tbsp. oil in a pan over medium heat",
    "add the onions",
    "fry them for 5 minutes, but do not burn them",
    "season with salt",
    "serve",
]


def said(steps: list[Any], objects: list[str] | None = None) -> str:
    return json.dumps({"steps": [{"text": step, "objects": objects or []} for step in steps]})


def cut(reply: str | Reply, text: str = TEXT) -> ProcedureBank:
    model = ScriptedModel([reply])
    bank = segment_with_model(text, model, PromptLibrary())
    assert text in model.requests[0].prompt
    return bank


@pytest.mark.parametrize(
    "reply",
    [
        said(GOOD),
        f"Here are the steps:\n```json\n{said(GOOD)}\n```\nDone.",
        f"<think>Let me see. {{}}</think>{said(GOOD)}",
        said(GOOD)[:-3],
        json.dumps(GOOD),
        said([f"{number}. {step}" for number, step in enumerate(GOOD, 1)]),
    ],
)
def test_a_cut_that_holds_is_taken_with_spans_into_the_text(reply: str) -> None:
    bank = cut(reply)
    assert bank.method == "model"
    assert [step.text for step in bank.steps] == GOOD
    assert [TEXT[slice(*step.span)] for step in bank.steps if step.span] == GOOD
    assert bank.notes == ()


def test_capitals_and_points_of_the_model_are_no_invention() -> None:
    bank = cut(said([step.capitalize() + "." for step in GOOD]))
    assert bank.method == "model"
    assert bank.steps[0].text == "Peel 2 onions."


def test_objects_are_kept_when_the_text_names_them() -> None:
    bank = cut(said(GOOD, ["onion", "pan", "garlic press"]))
    assert bank.steps[0].objects == ("onion", "pan")
    assert any("garlic press" in note for note in bank.notes)
    named = cut(json.dumps({"steps": [{"text": step, "objects": "onions, oil"} for step in GOOD]}))
    assert named.steps[0].objects == ("onions", "oil")


def swapped(old: str, new: str) -> str:
    assert any(old in step for step in GOOD)
    return said([step.replace(old, new) for step in GOOD])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (said([*GOOD[:3], "add garlic", *GOOD[3:]]), "'add garlic'.* is not in the text"),
        (swapped("5 minutes", "6 minutes"), "6|not in the text"),
        (swapped("2 onions", "3 onions"), "3|not in the text"),
        (swapped("peel", "do not peel"), "opposite"),
        (swapped(", but do not burn them", ", but do burn them"), "opposite|not in the text"),
        (swapped("add the onions", "remove the onions"), "not in the text"),
        (said([*GOOD[2:4], *GOOD[:2], *GOOD[4:]]), "order"),
        (said([*GOOD[:3], GOOD[2], *GOOD[3:]]), "order"),
        (said(GOOD[:2]), "of the text's words"),
        (said(["Prepare the vegetables", "Warm the fat", "Cook"]), "not in the text"),
        (said([TEXT]), "left the text whole"),
        (said(["peel 2 onions", ""]), "has no text"),
        ("1. peel 2 onions\n2. chop them", "no JSON"),
        ("I cannot help with that.", "no JSON"),
        ("", "no JSON"),
        ("<think>first the onions", "still thinking"),
        ('{"steps": null}', "no list of steps"),
        ('{"steps": []}', "no steps"),
        pytest.param("[" * 5000, "no list of steps", id="lists without end"),
        pytest.param('{"steps":' * 5000, "no list of steps", id="objects without end"),
        pytest.param('{"' * 5000, "no list of steps", id="open texts without end"),
        pytest.param('{"steps": ' + "9" * 5000, "no list of steps", id="digits without end"),
    ],
)
def test_a_cut_that_does_not_hold_is_left_and_the_note_says_why(reply: str, why: str) -> None:
    bank = cut(reply)
    assert bank.method == "rules"
    assert len(bank.steps) > 3
    (note,) = bank.notes
    assert note.startswith("the model's cut was not used")
    assert re.search(why, note), note


def test_a_reply_cut_at_the_token_limit_is_not_used_even_if_it_parses() -> None:
    bank = cut(Reply(text=said(GOOD), finish_reason="length"))
    assert bank.method == "rules"
    assert "token limit" in bank.notes[0]


def test_a_reply_that_failed_is_said_with_its_cause() -> None:
    bank = cut(Reply(text="", failure=Failure(cause="server", message="overloaded")))
    assert bank.method == "rules"
    assert "overloaded" in bank.notes[0]


def test_repeated_steps_of_the_text_stay_repeated() -> None:
    text = "Insert the stake, then insert the stake. Tie the top."
    bank = cut(said(["insert the stake", "insert the stake", "tie the top"]), text)
    assert bank.method == "model"
    assert [step.span for step in bank.steps] == [(0, 16), (23, 39), (41, 52)]


def test_other_scripts_are_held_against_their_text_too() -> None:
    assert cut(said(["打鸡蛋", "加盐", "搅拌均匀"]), "首先打鸡蛋。然后加盐,搅拌均匀。").method == "model"
    assert cut(said(["打鸡蛋", "加糖", "搅拌均匀"]), "首先打鸡蛋。然后加盐,搅拌均匀。").method == "rules"


def test_a_model_that_fails_is_an_error_not_a_bank() -> None:
    with pytest.raises(ServerError):
        segment_with_model(TEXT, ScriptedModel([ServerError("gone")]), PromptLibrary())
    with pytest.raises(ProcedureError):
        segment_with_model("", ScriptedModel([]), PromptLibrary())
