"""What an evaluator may send, and what is made of it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ego_adr.agents.questions import Question, QuestionError, read_question


def test_the_published_multiple_choice_form_is_read(published: Any) -> None:
    question = read_question([published("/videos/a b.mp4", start=12.25, end=20)])
    assert question.video == "/videos/a b.mp4"
    assert (question.start, question.end) == (12.25, 20.0)
    assert question.procedure == "Wash it. Cut it."
    assert question.action == "Cut the tomato"
    assert question.kind == "multiple-choice"
    assert not question.typed


def test_the_published_open_end_form_is_read(published: Any) -> None:
    question = read_question([published("v.mp4", step=None, question="Did I use the right knife?")])
    assert (question.kind, question.action) == ("open-end", "Did I use the right knife?")
    assert question.procedure == "Wash it. Cut it."


@pytest.mark.parametrize(
    "step",
    [
        "attach <wheel> to </question> the <video_path>car</video_path>",
        'press "start" and Current Step: go',
        "Question: is it done?",
    ],
)
def test_a_question_may_hold_anything_since_the_outer_tags_count(published: Any, step: str) -> None:
    question = read_question([published("v.mp4", step=step)])
    assert question.video == "v.mp4"
    assert question.action == step
    assert question.kind == "multiple-choice"
    assert question.procedure == "Wash it. Cut it."


def test_a_procedure_of_several_lines_with_headings_stays_whole() -> None:
    procedure = "Step one: wash.\nQuestion: is it clean?\nCurrent step: none\nStep two: cut."
    text = (
        f'<video_path>v</video_path><question>Task Procedure: {procedure}\n\nCurrent Step: "cut"</question>'
    )
    question = read_question([text])
    assert question.procedure == procedure
    assert question.action == "cut"
    assert (question.start, question.end) == (None, None)


def test_all_in_one_line_is_understood_too() -> None:
    text = "<question>Task Procedure: wash, cut. Current Step: cut</question><video_path>v</video_path>"
    question = read_question([text])
    assert (question.procedure, question.action) == ("wash, cut.", "cut")


def test_a_question_without_a_procedure_is_an_open_one() -> None:
    question = read_question(["<video_path>v</video_path><question>What is in my hand?</question>"])
    assert (question.kind, question.procedure, question.action) == ("open-end", "", "What is in my hand?")


def _asked(question: str, tags: str = "<video_path>v</video_path>") -> Question:
    return read_question([f"{tags}<question>{question}</question>"])


@pytest.mark.parametrize(
    "text",
    [
        "<VIDEO_PATH>a b.mp4</VIDEO_PATH><Question>Task Procedure: p\nCurrent Step: s</Question>",
        "< video_path >a b.mp4</ video_path ><question >Task Procedure: p\nCurrent Step: s</question >",
        "<question type='mcq' id=\"7\">Task Procedure: p\nCurrent Step: s</question><video_path>`a b.mp4`</video_path>",
        "<video_path>'a b.mp4'</video_path><question><![CDATA[Task Procedure: p\nCurrent Step: s]]></question>",
        "```xml\n<video_path>a b.mp4</video_path>\n<question>Task Procedure: p\nCurrent Step: s</question>\n```",
    ],
)
def test_tags_come_in_many_spellings(text: str) -> None:
    question = read_question([text])
    assert (question.video, question.procedure, question.action) == ("a b.mp4", "p", "s")
    assert question.kind == "multiple-choice"


def test_character_references_are_resolved_and_other_ampersands_kept() -> None:
    question = _asked(
        "Task Procedure: salt &amp; pepper, R&D &copy\nCurrent Step: &quot;cut &#39;it&#x27;&quot;",
        "<video_path>a&amp;b&copy.mp4</video_path>",
    )
    assert question.video == "a&b&copy.mp4"
    assert question.procedure == "salt & pepper, R&D &copy"
    assert question.action == "cut 'it'"


@pytest.mark.parametrize(
    "text",
    [
        "**Task Procedure:** wash, cut\n\n**Current Step:** cut it",
        "## Task Procedure:\nwash, cut\n## Current Step:\ncut it",
        "Definitions.\nProcedure: wash, cut\nStep: cut it",
        "Task Procedure: wash, cut\nCurrent Action: 'cut it'",
        "- Recipe: wash, cut\n- Queried action: \u201ccut it\u201d.",
        'Task Procedure: wash, cut\nCurrent Step: "cut it"\nOptions: correct, Wrong order. One label, please.',
        "Task Procedure: wash, cut\nCurrent Step: cut it\nA. correct\nB. Wrong order\nAnswer with the letter.",
        "Task Procedure: wash, cut\nCurrent Step: cut it\n\nChoose one: correct, Wrong order",
        "Task Procedure: wash, cut Current Step: cut it",
    ],
)
def test_headings_and_choices_come_in_many_spellings(text: str) -> None:
    question = _asked(text)
    assert (question.procedure, question.action, question.kind) == ("wash, cut", "cut it", "multiple-choice")


def test_a_step_may_begin_with_a_quotation_mark_of_its_own() -> None:
    question = _asked('Task Procedure: p\nCurrent Step: "Off" is pressed\nas long as needed')
    assert question.action == '"Off" is pressed\nas long as needed'


def test_the_words_of_published_headings_come_before_looser_ones() -> None:
    question = _asked("Task Procedure:\nStep: wash\nAction: cut\n\nCurrent Step: cut\n")
    assert (question.procedure, question.action) == ("Step: wash\nAction: cut", "cut")


def test_data_that_only_describes_the_message_is_passed_over(published: Any) -> None:
    tagged = read_question([published("v")], [{"sample_id": 3}])
    assert (tagged.action, tagged.typed) == ("Cut the tomato", False)
    held = {"video_path": "v", "procedure": "p", "current_step": "s"}
    assert read_question(["see the data"], [{"sample_id": 3}, held]).action == "s"
    assert read_question(["```json\n" + json.dumps(held) + "\n```"]).action == "s"
    with pytest.raises(QuestionError, match="one question a message"):
        read_question([], [held, held])


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("8.8s", 8.8), ("15 sec", 15.0), ("8,5", 8.5), ("00:01:30,5", "00:01:30.5"),
        ("-1", -1.0), ("", None), ("None", None), (3, 3.0), ("00:01:30", "00:01:30"), ("1e2", 100.0),
        ("-3661.033", -3661.033),
    ],
)  # fmt: skip
def test_times_are_seconds_or_clocks_or_left_out(published: Any, given: Any, read: Any) -> None:
    assert read_question([published("v", start=given)]).start == read


@pytest.mark.parametrize("given", ["soon", "nan", "inf", "1e999", "12; rm", "<b>"])
def test_other_times_are_refused_in_words(published: Any, given: str) -> None:
    with pytest.raises(QuestionError, match="start_ts"):
        read_question([published("v", start=given)])


def test_a_data_part_is_read_and_says_that_details_are_wanted() -> None:
    held = {
        "video_path": "v.mp4",
        "procedure": "p",
        "current_step": "s",
        "start_ts": 1,
        "end_ts": "2.5",
        "reply": "task",
    }
    for question in (read_question([], [held]), read_question([json.dumps(held)])):
        assert (question.start, question.end) == (1.0, 2.5)
        assert (question.kind, question.typed, question.reply) == ("multiple-choice", True, "task")
    assert (
        read_question(["see the data"], [{"video_path": "v", "procedure": "", "question": "q"}]).kind
        == "open-end"
    )


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"video_path": "v", "procedure": "p"},
        {"video_path": "v", "procedure": "p", "current_step": "s", "question": "q"},
        {"video_path": "v", "procedure": "p", "current_step": " "},
        {"video_path": "v", "procedure": "p", "current_step": "s", "surprise": 1},
        {"video_path": 7, "procedure": "p", "current_step": "s"},
        {"video_path": "v", "procedure": "p", "current_step": "s", "start_ts": float("nan")},
        {"video_path": "v", "procedure": "p", "current_step": "s", "start_ts": [1]},
    ],
)
def test_a_data_part_that_is_no_question_is_refused_with_the_way_to_ask(held: Any) -> None:
    with pytest.raises(QuestionError, match="current_step"):
        read_question([], [held])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "<video_path>v</video_path>",
        "<question>q</question>",
        "<video_path></video_path><question>q</question>",
        "<video_path>v<question>q</question>",
        "<video_path>v</video_path><question>q",
        "<video_path>a</video_path><video_path>b</video_path><question>q</question>",
        "<video_path>v</video_path><question>Task Procedure: p</question>",
        '<video_path>v</video_path><question>Task Procedure: p\nCurrent Step: ""</question>',
        "{" * 50,
        '{"video_path": ',
        "[1]",
    ],
)
def test_messages_without_a_question_are_refused_with_the_way_to_ask(text: str) -> None:
    with pytest.raises(QuestionError, match="<video_path>"):
        read_question([text])


@pytest.mark.parametrize(
    "bomb",
    [
        "<question>" * 9_000,
        "<video_path>" * 8_000,
        "<question>" + "<question>" * 4_000 + "</question>" * 4_000,
        "<question>Task Procedure:" + " Current Step:" * 6_000 + "</question><video_path>v</video_path>",
        "<" * 99_000,
        "<video_path>v</video_path><question>Task Procedure: p\nCurrent Step:"
        + "\n" * 90_000
        + "</question>",
        "<video_path>v</video_path><question>Task Procedure:" + "\n" + " " * 90_000 + "</question>",
        "<video_path>v</video_path><question>Task Procedure:" + '"' * 90_000 + "</question>",
        "<video_path " + " " * 90_000,
        "{" + '"a":{' * 15_000,
    ],
)
def test_bombs_of_tags_are_refused_quickly(bomb: str) -> None:
    begin = time.monotonic()
    with pytest.raises(QuestionError):
        read_question([bomb])
    assert time.monotonic() - begin < 1


def test_a_message_that_is_too_long_is_refused(published: Any) -> None:
    with pytest.raises(QuestionError, match="too long"):
        read_question([published("v") + "x" * 100_000])
    with pytest.raises(QuestionError, match="too long"):
        read_question(["x"] * 17)
