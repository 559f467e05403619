"""Reading a judge: a score, or an error that is counted, and never a made-up 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ego_adr.errors import ServerError
from ego_adr.evaluation.judging import judge_answers, read_judge_reply
from ego_adr.models.scripted import ScriptedModel
from ego_adr.prompting import PromptLibrary
from ego_adr.types import Reply, Request

Cases = Callable[[str], list[dict[str, Any]]]


def test_the_public_cases_are_read_right(load_cases: Cases) -> None:
    for case in load_cases("judge reply"):
        low, high = case["input"]["scale"]
        found = read_judge_reply(case["input"]["reply"], scale=(low, high))
        assert found.score == case["expected"]["score"], case["id"]
        assert found.status.startswith(case["expected"].get("status", "ok")), case["id"]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('```json\n{"score": 3, "reason": "the tool is right"}\n```', 3),
        ('{"Score": 5, "Reason": "{same}"}', 5),
        ('{"score": 4, "reason": "unclosed', 4),
        ("{'score': 2, 'reason': 'single quotes'}", 2),
        ('{"score": <0 to 5>, "reason": "..."}\n{"score": 1, "reason": "wrong tool"}', 1),
        ('<think>It could be {"score": 5}.</think>{"score": 2, "reason": "no"}', 2),
        ('{"score": "4/5", "reason": "x"}', 4),
        ('{"score": 3.5, "reason": "between"}', 3.5),
        ('{"reason": "0 of the 5 steps", "score": 0}', 0),
        ("**Score:** 4", 4),
        ("Score (0-5): 3", 3),
        ("On the scale 0 to 5, my rating is 2.", 2),
        ("I compared 3 tools. The score is 4 out of 5.", 4),
        ("4/5, a small detail is missing", 4),
        ("3", 3),
        ("3\nThe answer is partly right.", 3),
        ("The answer is partly right.\n**3**", 3),
        ("5 = perfect, 4 = minor error. Score: 4", 4),
        ('{"score": "4 out of 5"}', 4),
        ('{"score": "three", "reason": "half"}', 3),
        ('{"score": 4.0}', 4),
        ('{"rating": 1}', 1),
        ("score=4", 4),
        ("Score - 3", 3),
        ("Final score: four", 4),
        ("I would give it a 3.", 3),
        ("I rate this answer 4 because the tool is right.", 4),
        ("The answer deserves a 2 out of 5.", 2),
    ],
)
def test_a_score_is_found_wherever_judges_put_it(reply: str, score: float) -> None:
    found = read_judge_reply(reply)
    assert (found.score, found.status) == (score, "ok")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("I cannot rate this.", "no score"),
        ("There are 5 reasons to doubt it.", "no score"),
        ("I give 2 reasons why this is hard to tell.", "no score"),
        ("The scale runs from 0 to 5.", "no score"),
        ('{"reason": "no score here"}', "no score"),
        ('{"score": null, "reason": "?"}', "no score"),
        ('{"score": true}', "no score"),
        ('{"score": "3-4"}', "no score"),
        ('{"score": -1}', "out of 0-5 (-1)"),
        ('{"score": 9}', "out of 0-5 (9)"),
        ("Score: 8/10", "out of another scale than 0-5 (8 of 10)"),
        ("Score: 80", "out of 0-5 (80)"),
        ("<think>Let me see, the score", "truncated"),
        ('{"score": NaN}', "not a number"),
        ('{"score": 1e999}', "not a number"),
        pytest.param('{"score": ' + "9" * 400 + "}", "not a number", id="a number that no float holds"),
        pytest.param("9" * 5000, "no score", id="digits without end"),
        pytest.param('{"score":' * 5000, "no score", id="objects without end"),
        pytest.param('{"' * 5000, "no score", id="open texts without end"),
    ],
)
def test_what_is_no_score_is_an_error_with_its_reason(reply: str, error: str) -> None:
    found = read_judge_reply(reply)
    assert found.score is None
    assert found.error == error


def items(*answers: str) -> list[dict[str, str]]:
    return [{"question": "Did I stir?", "reference": "No.", "answer": answer} for answer in answers]


def test_a_judge_sees_question_reference_and_answer_and_no_pictures() -> None:
    judge = ScriptedModel(['{"score": 4, "reason": "close"}'])
    (found,) = judge_answers(judge, items("No, I shook it."), PromptLibrary())
    assert (found.score, found.reason) == (4, "close")
    (request,) = judge.requests
    assert all(text in request.prompt for text in ("Did I stir?", "No.", "No, I shook it."))
    assert request.frames == ()


def test_one_failing_request_is_a_judge_error_and_the_others_are_scored() -> None:
    def say(request: Request) -> Reply:
        if "bad" in request.prompt.partition("Answer to judge:")[2]:
            raise ServerError("it is gone")
        return Reply(text='{"score": 5, "reason": "same"}')

    found = judge_answers(ScriptedModel(say), items("good", "bad", "fine", "good"), PromptLibrary())
    assert [score.score for score in found] == [5, None, 5, 5]
    assert found[1].error == "server"
