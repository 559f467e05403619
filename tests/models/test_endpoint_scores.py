"""Likelihoods of closed answers, worked out from the alternatives that a chat server lists."""

from __future__ import annotations

import math

import pytest

from ego_adr.models.endpoint_scores import Token, score_choices


def token(text: str, p: float, **others: float) -> Token:
    listed = {text: p, **{name.replace("_", " "): value for name, value in others.items()}}
    return Token(text, math.log(p), tuple((name, math.log(value)) for name, value in listed.items()))


def test_the_share_of_each_answer_where_they_part_at_the_first_token() -> None:
    found = score_choices(["yes", "no"], [token("yes", 0.6, no=0.2, maybe=0.2)])
    assert found is not None
    assert not found.open
    assert not found.bounded
    assert math.exp(found.known["yes"].logprob) == pytest.approx(0.75)
    assert math.exp(found.known["no"].logprob) == pytest.approx(0.25)


def test_a_branch_with_several_answers_that_was_not_taken_is_left_open() -> None:
    labels = ["correct", "Wrong object", "Wrong order", "Omission"]
    found = score_choices(labels, [token("correct", 0.5, Wrong=0.3, Omission=0.2)])
    assert found is not None
    assert math.exp(found.known["correct"].logprob) == pytest.approx(0.5)
    (branch,) = found.open
    assert set(branch.choices) == {"Wrong object", "Wrong order"}
    assert math.exp(branch.logprob) == pytest.approx(0.3)


def test_a_branch_that_was_taken_is_followed_to_its_end() -> None:
    labels = ["correct", "Wrong object", "Wrong order"]
    reply = [token("Wrong", 0.8, correct=0.2), token(" o", 1.0), token("rder", 0.9, bject=0.1)]
    found = score_choices(labels, reply)
    assert found is not None
    shares = {name: math.exp(score.logprob) for name, score in found.known.items()}
    assert shares == {
        "correct": pytest.approx(0.2),
        "Wrong object": pytest.approx(0.08),
        "Wrong order": pytest.approx(0.72),
    }
    assert sum(shares.values()) == pytest.approx(1.0)
    assert found.known["Wrong order"].tokens == 2


def test_another_cut_into_tokens_is_the_same_answer() -> None:
    found = score_choices(["Omission", "Others"], [token("Om", 0.5, O=0.2, Others=0.3), token("ission", 1.0)])
    assert found is not None
    # "O" agrees with both; it is shared out as the rest is
    assert math.exp(found.known["Omission"].logprob) == pytest.approx(0.5 + 0.2 * 0.5 / 0.8)


def test_an_answer_that_begins_another_is_told_by_how_it_ends() -> None:
    labels = ["correct", "correct wrong action"]
    ended = [Token("correct", 0.0, (("correct", 0.0),)), token('"', 0.7, **{"_wrong": 0.3})]
    found = score_choices(labels, ended)
    assert found is not None
    assert math.exp(found.known["correct"].logprob) == pytest.approx(0.7)
    assert math.exp(found.known["correct wrong action"].logprob) == pytest.approx(0.3)
    assert score_choices(labels, ended[:1]) is None, "without a token after it nothing tells them apart"


def test_an_answer_below_the_listed_alternatives_gets_an_upper_bound() -> None:
    found = score_choices(["yes", "no", "never"], [token("yes", 0.9, yeah=0.06, no=0.04)])
    assert found is not None
    assert found.bounded == {"never"}
    assert found.known["never"].logprob <= found.known["no"].logprob


def test_a_reply_that_is_none_of_the_answers_has_no_scores() -> None:
    assert score_choices(["yes", "no"], [token("The", 0.9, yes=0.05, no=0.05), token(" step", 1.0)]) is None
    assert score_choices(["yes", "no"], []) is None


def test_the_answer_may_stand_inside_json_and_its_case_may_not_matter() -> None:
    reply = [token('{"answer": "', 1.0), token("Yes", 0.5, No=0.5), token('"}', 1.0)]
    found = score_choices(["Yes", "No"], reply, lead=len('{"answer": "'))
    assert found is not None
    assert math.exp(found.known["No"].logprob) == pytest.approx(0.5)
    assert score_choices(["yes", "no"], [token("Yes", 0.5, No=0.5)]) is None
    assert score_choices(["yes", "no"], [token("Yes", 0.5, No=0.5)], fold=True) is not None
