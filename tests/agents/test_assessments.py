"""What the evaluator is asked to do, in both forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ego_adr.agents.assessments import read_assessment
from ego_adr.agents.questions import QuestionError

URL = "http://localhost:9002"


def published(config: Any, url: str = f"\n{URL}/\n") -> str:
    text = config if isinstance(config, str) else json.dumps(config, indent=2)
    return f"Evaluate:\n<white_agent_url>{url}</white_agent_url>\n<eval_config>\n{text}\n</eval_config>\n"


def test_the_published_request_is_read() -> None:
    config = {
        "video_root": "/v", "json_root": "/j", "procedure_json_path": "/j/procedure.json",
        "datasets": ["egooops", "epic_tent"], "task_type": "multiple-choice",
        "judge_model_path": "/m", "deepseek_model_path": "/d", "judge_device": "cuda:1",
    }  # fmt: skip
    found = read_assessment([published(config)])
    assert (found.agent_url, found.task) == (URL, "multiple-choice")
    assert found.config.datasets == ("egooops", "epic_tent")
    assert found.config.unused == ("judge_model_path", "deepseek_model_path", "judge_device")
    assert read_assessment([published({})]).task == "open-end", (
        "what the published request means when it does not say"
    )


def test_the_request_of_agentbeats_is_read_as_text_and_as_data() -> None:
    held = {"participants": {"agent": f"{URL}/"}, "config": {"datasets": "egooops", "limit": 5.0}}
    for found in (read_assessment([json.dumps(held)]), read_assessment(["see data"], [held])):
        assert (found.agent_url, found.task) == (URL, "multiple-choice")
        assert (found.config.datasets, found.config.limit) == (("egooops",), 5)
    assert read_assessment([json.dumps({"participants": {"white": URL}})]).config.limit is None


def test_fences_and_other_spellings_of_names_are_understood() -> None:
    config = {"datasets": ["EgoOops", "epic-tent"], "task_type": "Multiple_Choice"}
    held = {"participants": {"agent": URL}, "config": config}
    fenced = [f"```json\n{json.dumps(held)}\n```", published(f"```json\n{json.dumps(config)}\n```")]
    for text in (*fenced, published(config).replace("white_agent_url", "WHITE_AGENT_URL")):
        found = read_assessment([text])
        assert (found.agent_url, found.task) == (URL, "multiple-choice")
        assert found.config.datasets == ("egooops", "epic_tent")


def test_the_same_request_is_the_same_run_and_another_is_another() -> None:
    def run(**config: Any) -> str:
        return read_assessment([json.dumps({"participants": {"a": URL}, "config": config})]).run

    assert run(limit=5) == run(limit=5, judge_device="cuda:0")
    assert len({run(), run(limit=5), run(limit=5, seed=1), run(task_type="open-end")}) == 4
    assert run(run="mine.1") == "mine.1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        published("{"),
        published("[1]"),
        published({}, url="ftp://x"),
        published({}, url="http://me:secret@host"),
        published({"surprise": 1}),
        published({"datasets": ["imagenet"]}),
        published({"datasets": []}),
        published({"task_type": "essay"}),
        published({"limit": 0}),
        published({"run": "../up"}),
        published({"run": ""}),
        "<white_agent_url>http://a</white_agent_url><white_agent_url>http://b</white_agent_url>",
        "<eval_config>{}</eval_config>",
        "{",
        '{"participants": {}}',
        '{"participants": {"a": "http://a", "b": "http://b"}}',
        '{"participants": {"a": 7}}',
        '{"participants": {"a": "http://a"}, "config": []}',
        '{"participants": {"a": "http://a"}, "config": 7}',
        '{"participants": {"a": "http://a"}, "extra": 1}',
        "[" * 50_000,
        "x" * 200_000,
    ],
)
def test_everything_else_is_refused_in_words(text: str) -> None:
    if text == '{"participants": {"a": "http://a"}, "config": []}':
        assert read_assessment([text]).config.limit is None, "nothing is nothing"
        return
    with pytest.raises(QuestionError) as caught:
        read_assessment([text])
    assert "secret" not in str(caught.value)
