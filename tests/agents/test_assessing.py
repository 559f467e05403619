"""The evaluator at work against agents on this machine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from ego_adr import ScriptedModel
from ego_adr.agents.assessing import Bench, build_evaluator
from ego_adr.agents.assessments import read_assessment
from ego_adr.evaluation.results import read_log
from ego_adr.types import Request

ROWS = 12


@pytest.fixture(scope="session")
def bench_folders(video_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(annotations, videos): rows of our own making in the published shape."""
    data = tmp_path_factory.mktemp("annotations").resolve()
    videos = video_root
    (videos / "egooops" / "tape").mkdir(parents=True, exist_ok=True)
    rows, asked = [], []
    for number in range(ROWS):
        name = f"v{number}"
        (videos / "egooops" / "tape" / f"{name}.MP4").write_bytes((videos / "good" / "clip.mp4").read_bytes())
        base = {
            "video_id": name, "task_id": "tape", "instruction": number, "instruction_label": f"stick piece {number}",
            "action_annotation": f"stick piece {number}", "start_time": 0.0, "end_time": 1.5,
        }  # fmt: skip
        rows.append({**base, "close_end_answer": "Wrong order" if number % 3 == 0 else "correct"})
        asked.append(
            {**base, "qa_pairs": [{"question": f"Where is piece {number}?", "answer": "On the left."}]}
        )
    (data / "egooops_answer.json").write_text(json.dumps(rows))
    (data / "egooops_qa_pair.json").write_text(json.dumps(asked))
    (data / "procedure.json").write_text(json.dumps({"tape": "Stick the pieces one after the other."}))
    return data, videos


@pytest.fixture
def bench(bench_folders: tuple[Path, Path], tmp_path: Path) -> Bench:
    return Bench(*bench_folders, tmp_path / "runs", timeout=20, concurrency=2, resamples=50)


def answer(request: Request) -> str:
    thirds = (f"piece {number}\n" in request.prompt + "\n" for number in range(0, ROWS, 3))
    return "Wrong order" if any(thirds) else "correct"


def request_for(url: str, **config: Any) -> str:
    return json.dumps({"participants": {"agent": url}, "config": config})


def send(url: str, text: str, *, method: str = "message/send", **configuration: Any) -> dict[str, Any]:
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    params = {"message": message, **({"configuration": configuration} if configuration else {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    held: dict[str, Any] = httpx.post(url, json=body, timeout=60).json()
    return held


def get_task(url: str, task_id: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": task_id}}
    held: dict[str, Any] = httpx.post(url, json=body, timeout=30).json()["result"]
    return held


def test_an_assessment_ends_with_an_artifact_of_text_and_data(
    serve_model: Any, run_agent: Any, bench: Bench
) -> None:
    agent = serve_model(ScriptedModel(answer))
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    task = send(evaluator.url, request_for(agent.url))["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    text, data = task["artifacts"][0]["parts"]
    assert "Acc" in text["text"]
    held = data["data"]
    assert held["statuses"] == {"ok": ROWS, "unparsed": 0, "failed": 0}
    rates = held["scores"]["rates"]
    assert (rates["rows"], rates["tp"], rates["tn"], rates["fp"]) == (ROWS, 4, 8, 0)
    assert rates["accuracy"] == 1.0


def test_the_published_request_is_carried_out_too(
    serve_model: Any, run_agent: Any, bench: Bench, bench_folders: tuple[Path, Path]
) -> None:
    agent = serve_model(ScriptedModel(answer))
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    data, videos = bench_folders
    config = {
        "video_root": str(videos), "json_root": str(data), "procedure_json_path": str(data / "procedure.json"),
        "datasets": ["egooops"], "task_type": "multiple-choice", "judge_device": "cuda:1",
    }  # fmt: skip
    text = f"<white_agent_url>{agent.url}/</white_agent_url><eval_config>{json.dumps(config)}</eval_config>"
    task = send(evaluator.url, text)["result"]
    assert task["status"]["state"] == "completed"
    held = task["artifacts"][0]["parts"][1]["data"]
    assert held["scores"]["rates"]["accuracy"] == 1.0
    assert "judge_device was sent and is not used" in held["notes"]


def test_progress_is_told_while_it_runs(serve_model: Any, run_agent: Any, bench: Bench) -> None:
    def slow(request: Request) -> str:
        time.sleep(0.05)
        return answer(request)

    agent = serve_model(ScriptedModel(slow))
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    task = send(evaluator.url, request_for(agent.url), blocking=False)["result"]
    assert task["status"]["state"] in ("submitted", "working")
    busy = send(evaluator.url, request_for(agent.url))["error"]["message"]
    assert busy.startswith("busy: ")
    said: list[str] = []
    while task["status"]["state"] in ("submitted", "working"):
        time.sleep(0.02)
        task = get_task(evaluator.url, task["id"])
        said += [
            part["text"] for part in task["status"].get("message", {}).get("parts", []) if "text" in part
        ]
    assert task["status"]["state"] == "completed"
    assert any(text.endswith(f"of {ROWS} samples") for text in said)


def test_an_agent_that_dies_fails_its_samples_by_cause_and_the_same_request_completes_them(
    serve_model: Any, run_agent: Any, bench: Bench
) -> None:
    model = ScriptedModel(answer)
    agent = serve_model(model)
    asked = read_assessment([request_for(agent.url)])

    def die_halfway(done: int, total: int) -> None:
        if done >= ROWS // 2 and agent.thread.is_alive():
            agent.stop()

    first = bench.run(asked, die_halfway)
    assert first.data["statuses"]["failed"] == ROWS - 8
    assert first.data["scores"]["failed"] == {"agent unreachable": ROWS - 8}
    assert any("same request again" in note for note in first.data["notes"])
    before = len(model.requests)
    serve_model(model, port=int(agent.url.rpartition(":")[2]))
    second = bench.run(asked, lambda done, total: None)
    assert second.data["statuses"] == {"ok": ROWS, "unparsed": 0, "failed": 0}
    assert len(model.requests) - before == ROWS - 8, "what had an answer is not asked again"
    log = read_log(bench.out / asked.run / "results.jsonl")
    assert log.clean
    assert len(log.lines) == ROWS


def test_an_evaluator_that_is_stopped_goes_on_where_it_was(
    serve_model: Any, run_agent: Any, bench: Bench
) -> None:
    def slow(request: Request) -> str:
        time.sleep(0.1)
        return answer(request)

    model = ScriptedModel(slow)
    agent = serve_model(model)
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    text = request_for(agent.url, run="one")
    task = send(evaluator.url, text, blocking=False)["result"]
    while len(model.requests) < 2:
        time.sleep(0.02)
    evaluator.stop()
    kept = len(read_log(bench.out / "one" / "results.jsonl").lines)
    assert task["id"]
    assert kept < ROWS
    again = run_agent(lambda url: build_evaluator(bench, url=url))
    held = send(again.url, text)["result"]["artifacts"][0]["parts"][1]["data"]
    assert held["statuses"]["ok"] == ROWS
    assert len(model.requests) == ROWS


def test_open_end_answers_are_judged_by_the_operators_judges(
    serve_model: Any, bench_folders: tuple[Path, Path], tmp_path: Path
) -> None:
    agent = serve_model(ScriptedModel(lambda r: "It is on the left."))
    judge = ScriptedModel(lambda r: '{"score": 4, "reason": "close"}', name="judge")
    asked = read_assessment([request_for(agent.url, task_type="open-end", limit=5)])
    unjudged = Bench(*bench_folders, tmp_path / "a", timeout=20, resamples=50).run(asked, lambda d, t: None)
    assert unjudged.data["scores"]["answered"] == 5
    assert unjudged.data["scores"]["avg_sim"] is None
    assert any("no judge" in note for note in unjudged.data["notes"])
    judged = Bench(*bench_folders, tmp_path / "b", judges=[judge], timeout=20, resamples=50)
    assert judged.run(asked, lambda d, t: None).data["scores"]["avg_sim"] == 4.0


@pytest.mark.parametrize(
    "config",
    [
        {"json_root": "/etc"},
        {"json_root": "../.."},
        {"video_root": "/"},
        {"video_root": "up"},
        {"procedure_json_path": "/etc/passwd"},
    ],
)
def test_folders_that_are_not_the_operators_are_refused(
    serve_model: Any, run_agent: Any, bench: Bench, config: dict[str, str]
) -> None:
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    task = send(evaluator.url, request_for("http://127.0.0.1:9", **config))["result"]
    assert task["status"]["state"] == "failed"
    assert task["status"]["message"]["parts"][0]["text"].startswith("path refused: ")


def test_what_cannot_be_assessed_fails_by_its_cause(run_agent: Any, bench: Bench) -> None:
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    task = send(evaluator.url, request_for("http://127.0.0.1:9"))["result"]
    assert task["status"]["state"] == "failed"
    assert task["status"]["message"]["parts"][0]["text"].startswith("server: there is no agent at")
    none = send(evaluator.url, request_for("http://127.0.0.1:9", datasets=["epic_tent"]))["result"]
    assert none["status"]["message"]["parts"][0]["text"].startswith("data: ")
    assert send(evaluator.url, "hello")["error"]["code"] == -32602
