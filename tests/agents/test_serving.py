"""The agent under test, asked over HTTP in both versions of the protocol."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from ego_adr import ScriptedModel
from ego_adr.agents.limits import Limits
from ego_adr.agents.sdk import require_sdk
from ego_adr.errors import InputError, ResourceError
from ego_adr.types import Detection, Reply, Request


def ask_old(url: str, text: str, **configuration: Any) -> dict[str, Any]:
    """As a 0.3 client does."""
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    params = {"message": message, **({"configuration": configuration} if configuration else {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    held: dict[str, Any] = httpx.post(url, json=body, timeout=60).json()
    return held


def ask_new(url: str, *parts: dict[str, Any], **configuration: Any) -> dict[str, Any]:
    """As a 1.x client does."""
    params = {
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": list(parts)},
        **({"configuration": configuration} if configuration else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    held: dict[str, Any] = httpx.post(url, json=body, headers={"A2A-Version": "1.0"}, timeout=60).json()
    return held


def label_or_sentence(request: Request) -> str:
    return "Wrong order" if "verdict" in request.prompt else "You cut it with a spoon."


@pytest.fixture
def agent(serve_model: Any) -> Any:
    return serve_model(ScriptedModel(label_or_sentence))


def test_the_card_is_at_both_places_and_serves_both_protocols(agent: Any, load_cases: Any) -> None:
    (case,) = [held for held in load_cases("a2a") if held["id"] == "73a"]
    cards = [httpx.get(agent.url + path) for path in case["input"]["get"]]
    assert [card.status_code for card in cards] == [200, 200]
    assert cards[0].content == cards[1].content
    card = cards[0].json()
    assert card["url"] == f"{agent.url}/"
    assert [(i["protocolBinding"], i["protocolVersion"]) for i in card["supportedInterfaces"]] == [
        ("JSONRPC", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "1.0"), ("HTTP+JSON", "0.3"),
    ]  # fmt: skip


def test_multiple_choice_is_answered_with_exactly_a_label_in_a_message(agent: Any, published: Any) -> None:
    old = ask_old(agent.url, published("good/clip.mp4"))["result"]
    assert old["kind"] == "message"
    assert [part["text"] for part in old["parts"]] == ["Wrong order"]
    new = ask_new(agent.url, {"text": published("good/clip.mp4")})["result"]["message"]
    assert [part["text"] for part in new["parts"]] == ["Wrong order"]


@pytest.mark.parametrize("method", ["message/send", "SendMessage"])
@pytest.mark.parametrize("told", [None, "", "0.3", "0.3.0", "1", "1.0", "1.0.0"])
def test_a_method_is_answered_in_its_own_version_whatever_the_header_says(
    agent: Any, published: Any, method: str, told: str | None
) -> None:
    role = "user" if "/" in method else "ROLE_USER"
    message = {"messageId": "m", "role": role, "parts": [{"text": published("good/clip.mp4")}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    headers = {} if told is None else {"A2A-Version": told}
    result = httpx.post(agent.url, json=body, headers=headers, timeout=60).json()["result"]
    assert [part["text"] for part in result.get("message", result)["parts"]] == ["Wrong order"]


def test_a_version_that_is_neither_is_refused_by_name(agent: Any, published: Any) -> None:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": published("good/clip.mp4")}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    held = httpx.post(agent.url, json=body, headers={"A2A-Version": "2.0"}, timeout=60).json()
    assert "'2.0'" in held["error"]["message"]


@pytest.mark.parametrize("method", ["message/stream", "SendStreamingMessage"])
def test_streams_bring_the_label_a_failed_task_or_the_refusal(
    agent: Any, published: Any, method: str
) -> None:
    def events(text: str) -> list[dict[str, Any]]:
        role = "user" if "/" in method else "ROLE_USER"
        message = {"messageId": "m", "role": role, "parts": [{"text": text}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
        lines = httpx.post(agent.url, json=body, timeout=60).text.splitlines()
        return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith(("data:", "{"))]

    (event,) = events(published("good/clip.mp4"))
    assert [p["text"] for p in event["result"].get("message", event["result"])["parts"]] == ["Wrong order"]
    failed = json.dumps(events(published("broken.mp4"))[-1]["result"]).casefold()
    assert '"failed"' in failed or "task_state_failed" in failed
    (refused,) = events(published("/etc/passwd"))
    assert refused["error"]["message"].startswith("path refused: ")


def test_a_plain_get_says_what_is_there(agent: Any) -> None:
    held = httpx.get(agent.url).json()
    assert held["name"] == httpx.get(agent.url + held["card"]).json()["name"]
    assert httpx.get(agent.url + held["health"]).status_code == 200


@pytest.mark.parametrize("body", ["[]", "[{}]", "null", "7", '"message/send"'])
def test_a_body_that_is_no_single_request_is_refused(agent: Any, body: str) -> None:
    error = httpx.post(agent.url, content=body).json()["error"]
    assert error["code"] == -32600
    assert "one JSON-RPC request" in error["message"]


def test_an_open_end_question_is_answered_with_a_sentence(agent: Any, published: Any) -> None:
    old = ask_old(agent.url, published("good/clip.mp4", step=None, question="What did I cut it with?"))[
        "result"
    ]
    assert [part["text"] for part in old["parts"]] == ["You cut it with a spoon."]


def test_the_whole_detection_goes_along_where_the_asker_takes_json(agent: Any, published: Any) -> None:
    text = published("good/clip.mp4")
    old = ask_old(agent.url, text, acceptedOutputModes=["text/plain", "application/json"])["result"]
    new = ask_new(agent.url, {"text": text}, acceptedOutputModes=["application/json"])["result"]["message"]
    typed = {"video_path": "good/clip.mp4", "procedure": "Wash it. Cut it.", "current_step": "Cut the tomato"}
    data = ask_new(agent.url, {"data": {**typed, "start_ts": 0.0, "end_ts": 1.5}})["result"]["message"]
    for reply in (old, new, data):
        text_part, data_part = reply["parts"]
        assert text_part["text"] == "Wrong order"
        found = Detection.model_validate(data_part["data"])
        assert (found.status, found.label, found.action) == ("ok", "Wrong order", "Cut the tomato")
        assert found.video == "good/clip.mp4", "where the agent keeps its videos is not told"
        assert len(found.frame_times) == 8


def test_a_task_comes_back_when_it_is_asked_for(agent: Any) -> None:
    typed = {"video_path": "good/clip.mp4", "procedure": "p", "current_step": "Cut", "reply": "task"}
    task = ask_new(agent.url, {"data": typed})["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"][0]["text"] == "Wrong order"


def test_a_video_that_cannot_be_read_is_a_failed_task_not_an_opinion(agent: Any, published: Any) -> None:
    old = ask_old(agent.url, published("broken.mp4"))["result"]
    assert (old["kind"], old["status"]["state"]) == ("task", "failed")
    told = old["status"]["message"]["parts"][0]["text"]
    assert told.startswith("video: ")
    assert "broken.mp4" in told
    assert str(Path("/tmp")) not in told
    late = ask_new(agent.url, {"text": published("good/clip.mp4", start=50, end=60)})["result"]["task"]
    assert late["status"]["state"] == "TASK_STATE_FAILED"
    assert late["status"]["message"]["parts"][1]["data"]["cause"] == "clip range"


def test_a_reply_without_a_label_is_a_failed_task(serve_model: Any, published: Any) -> None:
    agent = serve_model(ScriptedModel(lambda r: Reply(text="")))
    task = ask_old(agent.url, published("good/clip.mp4"))["result"]
    assert task["status"]["state"] == "failed"
    assert task["status"]["message"]["parts"][0]["text"].startswith("unparsed: ")


def test_a_model_that_breaks_fails_its_question_and_the_agent_lives_on(
    serve_model: Any, published: Any
) -> None:
    def answer(request: Request) -> str:
        if "tomato" in request.prompt:
            raise RuntimeError("boom")
        return "correct"

    agent = serve_model(ScriptedModel(answer))
    failed = ask_old(agent.url, published("good/clip.mp4"))["result"]
    assert failed["status"]["state"] == "failed"
    assert (
        ask_old(agent.url, published("good/clip.mp4", step="Wash"))["result"]["parts"][0]["text"] == "correct"
    )


def test_a_path_outside_the_root_is_refused_in_words_and_not_opened(serve_model: Any, published: Any) -> None:
    model = ScriptedModel([])
    agent = serve_model(model)
    for path in (
        "../secret.mp4",
        "/etc/passwd",
        "link.mp4",
        "up/secret.mp4",
        "loop.mp4",
        "file:///etc/passwd",
    ):
        for held in (ask_old(agent.url, published(path)), ask_new(agent.url, {"text": published(path)})):
            assert held["error"]["code"] == -32602
            assert held["error"]["message"].startswith("path refused: ")
            assert "result" not in held
    assert model.requests == []


def test_a_clip_that_is_too_long_is_refused(serve_model: Any, published: Any) -> None:
    agent = serve_model(ScriptedModel(lambda r: "correct"), limits=Limits(clip_seconds=1.0))
    for start, end in ((0, 1.5), (-1, -1), ("", "")):
        task = ask_old(agent.url, published("good/clip.mp4", start=start, end=end))["result"]
        assert task["status"]["state"] == "failed"
        assert "no more than 1 s" in task["status"]["message"]["parts"][0]["text"]
    assert ask_old(agent.url, published("good/clip.mp4", start=0, end=0.9))["result"]["kind"] == "message"


NO_QUESTIONS: list[tuple[bytes, int, int]] = [
    (b"", 200, -32700),
    (b"{", 200, -32700),
    (b"\xff\xfe\x00", 200, -32700),
    (b"[" * 500_000, 200, -32700),
    (b'{"a":' * 100_000, 200, -32700),
    (b"1" * 10_000, 200, -32700),
    (b"x" * ((1 << 20) + 1), 413, -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "rob"}', 200, -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}', 200, -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": 7}}', 200, -32600),
    (b"[]", 200, -32600),
    (b"7", 200, -32600),
]


def test_bodies_that_are_no_question_get_an_error_and_do_no_harm(agent: Any, published: Any) -> None:
    for body, status, code in NO_QUESTIONS:
        begin = time.monotonic()
        reply = httpx.post(agent.url, content=body, headers={"Content-Type": "application/json"}, timeout=30)
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code), body[:80]
        assert time.monotonic() - begin < 5
    assert ask_old(agent.url, published("good/clip.mp4"))["result"]["kind"] == "message"


def test_slow_senders_are_cut_off(serve_model: Any) -> None:
    agent = serve_model(ScriptedModel([]), limits=Limits(body_seconds=0.5), seconds=0.5)
    port = int(agent.url.rpartition(":")[2])
    for opening in (
        b"",
        b"POST / HTTP/1.1\r\nHost: a\r\nX-",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
            slow.sendall(opening)
            begin = time.monotonic()
            heard = slow.recv(4096)
            assert time.monotonic() - begin < 5
            assert heard == b"" or b" 408 " in heard


def test_more_questions_than_may_wait_are_told_that_the_agent_is_busy(
    serve_model: Any, published: Any
) -> None:
    going = threading.Event()

    def answer(request: Request) -> str:
        going.wait(20)
        return "correct"

    agent = serve_model(ScriptedModel(answer), limits=Limits(waiting=3))
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask_old, agent.url, published("good/clip.mp4", step=f"s{i}")) for i in range(8)]
        while sum(one.done() for one in asked) < 5:
            time.sleep(0.01)
        state = httpx.get(agent.url + "/ready").json()
        going.set()
        held = [one.result() for one in asked]
    busy = [reply["error"]["message"] for reply in held if "error" in reply]
    assert len(busy) == 5
    assert all(message.startswith("busy: 3 questions wait") for message in busy)
    assert [reply["result"]["parts"][0]["text"] for reply in held if "result" in reply] == ["correct"] * 3
    assert (state["waiting"], state["refused"]) == (3, 5)


def test_many_askers_get_each_their_own_answer(serve_model: Any, published: Any) -> None:
    labels = ["correct", "Wrong object", "Omission"]

    def answer(request: Request) -> str:
        return next(label for i, label in enumerate(labels) if f"step-{i}-" in request.prompt)

    agent = serve_model(ScriptedModel(answer))
    with ThreadPoolExecutor(12) as pool:
        held = list(
            pool.map(
                lambda i: ask_old(agent.url, published("good/clip.mp4", step=f"step-{i % 3}-{i}")), range(18)
            )
        )
    assert [reply["result"]["parts"][0]["text"] for reply in held] == labels * 6


def test_health_and_readiness_are_told_apart(serve_model: Any) -> None:
    def broken(request: Request) -> str:
        raise OSError("no model here")

    well = serve_model(ScriptedModel([]))
    assert httpx.get(well.url + "/health").status_code == 200
    assert httpx.get(well.url + "/ready").json()["ready"] is True
    ill = serve_model(ScriptedModel(broken), route="auto")
    assert httpx.get(ill.url + "/health").status_code == 200
    end = time.monotonic() + 5
    while "fault" not in httpx.get(ill.url + "/ready").json() and time.monotonic() < end:
        time.sleep(0.02)
    ready = httpx.get(ill.url + "/ready")
    assert ready.status_code == 503
    assert "no model here" in ready.json()["fault"]


def test_a_stop_answers_what_was_taken_in(serve_model: Any, published: Any) -> None:
    going = threading.Event()

    def answer(request: Request) -> str:
        going.wait(20)
        return "correct"

    agent = serve_model(ScriptedModel(answer))
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask_old, agent.url, published("good/clip.mp4", step=f"s{i}")) for i in range(3)]
        while httpx.get(agent.url + "/ready").json()["waiting"] < 3:
            time.sleep(0.01)
        stopping = threading.Thread(target=agent.stop)
        stopping.start()
        time.sleep(0.1)
        going.set()
        assert [one.result()["result"]["parts"][0]["text"] for one in asked] == ["correct"] * 3
        stopping.join(20)
    with pytest.raises(httpx.ConnectError):
        httpx.get(agent.url + "/health")


def test_a_context_that_is_used_again_carries_nothing_over(agent: Any, published: Any) -> None:
    message = {"kind": "message", "messageId": "m", "role": "user", "contextId": "one-run"}
    for number in range(3):
        parts = [{"kind": "text", "text": published("good/clip.mp4", step=f"s{number}")}]
        params = {"message": {**message, "messageId": f"m{number}", "parts": parts}}
        body = {"jsonrpc": "2.0", "id": number, "method": "message/send", "params": params}
        reply = httpx.post(agent.url, json=body, timeout=30).json()["result"]
        assert (reply["kind"], reply["contextId"]) == ("message", "one-run")
        assert "history" not in reply


@pytest.mark.parametrize("found", ["0.3.26", "1.2.9", "2.0.0", None])
def test_another_sdk_is_one_clear_line_that_names_the_range(
    found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ego_adr.agents.sdk as sdk

    def version(name: str) -> str:
        if found is None:
            raise sdk.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(sdk, "version", version)
    with pytest.raises(ResourceError, match=r"a2a-sdk\[http-server\]>=1.3,<2") as caught:
        require_sdk()
    assert "\n" not in str(caught.value)


def test_what_cannot_be_served_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    from ego_adr.agents import serve

    with pytest.raises(InputError, match="--video-root"):
        serve("no-such-model", video_root=tmp_path / "none")
    with pytest.raises(InputError, match="port"):
        serve(ScriptedModel([]), video_root=tmp_path, port=0)


def test_json_depth_does_not_count_brackets_in_strings() -> None:
    from ego_adr.agents.guarding import json_depth

    assert json_depth(json.dumps({"a": ["[[[[", '\\"[[', {"b": []}]}).encode(), 9) == 4
    assert json_depth(b'"' + b"[" * 1000, 9) == 0
    assert json_depth(b'"\\', 9) == 0
