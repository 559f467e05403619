"""Keys: our agents ask for one, our client sends one, and only where it belongs."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner

from ego_adr import ScriptedModel
from ego_adr.agents.client import load_agent
from ego_adr.agents.keys import CLIENT_KEY, SERVER_KEY
from ego_adr.cli import app
from ego_adr.errors import ServerError
from ego_adr.types import Clip, Detection, Query

KEY = "s3cret-key-of-ours"
CARD = "/.well-known/agent-card.json"
MESSAGE = {
    "kind": "message",
    "messageId": "a",
    "role": "agent",
    "parts": [{"kind": "text", "text": "correct"}],
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CLIENT_KEY, SERVER_KEY):
        monkeypatch.delenv(name, raising=False)


def ask(url: str, **options: Any) -> Detection:
    query = Query(clip=Clip("good/clip.mp4", 0.0, 1.5), procedure="Wash it. Cut it.", action="Cut it", id="1")
    return load_agent(f"a2a:{url}", **options).detect_many([query])[0]


class Locked:
    """An agent that answers 401 unless ``opens`` says yes to the headers; it keeps those of every request."""

    def __init__(self, schemes: dict[str, Any]) -> None:
        self.schemes = schemes
        self.url = self.card_url = ""
        self.card_open = True
        self.moved: str | None = None
        self.opens: Callable[[Mapping[str, str]], bool] = lambda headers: True
        self.seen: list[tuple[str, dict[str, str]]] = []

    def app(self, url: str) -> Starlette:
        self.url = self.card_url = url.rstrip("/")
        return Starlette(routes=[Route(CARD, self.tell), Route("/", self.answer, methods=["POST"])])

    async def tell(self, request: Request) -> Response:
        self.seen.append((request.url.path, dict(request.headers)))
        if not (self.card_open or self.opens(request.headers)):
            return JSONResponse({"detail": "no"}, 401)
        card: dict[str, Any] = {
            "name": "Locked", "description": "d", "version": "1", "skills": [], "capabilities": {},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "url": self.card_url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
        }  # fmt: skip
        if self.schemes:
            card |= {"securitySchemes": self.schemes, "security": [{name: []} for name in self.schemes]}
        return JSONResponse(card)

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        self.seen.append((request.url.path, dict(request.headers)))
        if self.moved:
            return RedirectResponse(self.moved, 307)
        if not self.opens(request.headers):
            return JSONResponse({"detail": f"what is {request.headers.get('Authorization')}?"}, 401)
        return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": MESSAGE})


@pytest.fixture
def locked(run_agent: Any) -> Callable[..., Locked]:
    """A function from the security schemes of a card to a running agent."""

    def start(schemes: dict[str, Any] | None = None) -> Locked:
        agent = Locked(schemes or {})
        run_agent(agent.app)
        return agent

    return start


# ------------------------------------------------------------------------------------------------ both of ours


def test_our_agent_with_a_key_answers_our_client_with_it_and_nobody_else(
    serve_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER_KEY, KEY)
    url = serve_model(ScriptedModel(lambda r: "Wrong order")).url
    failure = ask(url).failure
    assert failure is not None
    assert failure.cause == "agent refused"
    assert f"in the environment variable {CLIENT_KEY}" in failure.message
    monkeypatch.setenv(CLIENT_KEY, "another")
    failure = ask(url).failure
    assert failure is not None
    assert f"{CLIENT_KEY} was sent and not accepted" in failure.message
    monkeypatch.setenv(CLIENT_KEY, f" {KEY}\n")  # files and shells leave blanks
    found = ask(url)
    assert found.label == "Wrong order"
    assert KEY not in found.model_dump_json()
    monkeypatch.delenv(CLIENT_KEY)
    monkeypatch.setenv("MINE", KEY)
    assert ask(url, key_variable="MINE").label == "Wrong order"


def test_what_is_open_without_the_key_and_what_is_not(
    serve_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER_KEY, KEY)
    url = serve_model(ScriptedModel(lambda r: "correct")).url
    for path in ("/health", "/ready", CARD, "/.well-known/agent.json"):
        assert httpx.get(url + path).status_code == 200, path
    held = {"Authorization": f"bearer  {KEY}"}
    assert httpx.get(url, headers=held).status_code == 200
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}
    for path in ("/", "/v1/message:send", "/message:send", "/v1/tasks/x", "/health/", "//health"):
        for headers in ({}, {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"},
                        {"Authorization": "Bearer"}, {"Authorization": f"Bearer {KEY}x"}):  # fmt: skip
            answer = httpx.post(url + path, json=body, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), (
                path,
                headers,
            )
            assert "Authorization: Bearer KEY" in answer.json()["error"]["message"]
    twice = [("Authorization", f"Bearer {KEY}"), ("Authorization", "Bearer x")]
    assert httpx.post(url, json=body, headers=twice).status_code == 401
    assert "error" in httpx.post(url, json=body, headers=held).json()  # let in: no such task
    # the body is not waited for: none comes here
    with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port or 80), timeout=4) as stranger:
        stranger.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
        assert stranger.recv(4096).startswith(b"HTTP/1.1 401")


def test_the_card_of_either_version_says_that_a_key_is_wanted(
    serve_model: Any, run_agent: Any, video_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ego_adr.agents.assessing import Bench, build_evaluator

    assert "securitySchemes" not in httpx.get(serve_model(ScriptedModel(lambda r: "")).url + CARD).json()
    monkeypatch.setenv(SERVER_KEY, KEY)
    data = tmp_path / "data"
    data.mkdir()
    bench = Bench(data, video_root, tmp_path / "out")
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    for url in (serve_model(ScriptedModel(lambda r: "")).url, evaluator.url):
        card = httpx.get(url + CARD).json()
        assert card["securitySchemes"]["key"]["httpAuthSecurityScheme"]["scheme"] == "bearer"
        assert card["securityRequirements"] == [{"schemes": {"key": {}}}]
        assert (card["securitySchemes"]["key"]["type"], card["security"]) == ("http", [{"key": []}])
        assert KEY not in json.dumps(card)
        assert httpx.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "message/send"}).status_code == 401


# ------------------------------------------------------------------------------------------------ strangers


@pytest.mark.parametrize(
    ("schemes", "key", "header", "value"),
    [
        ({}, KEY, "Authorization", f"Bearer {KEY}"),
        ({"b": {"type": "http", "scheme": "Bearer"}}, KEY, "Authorization", f"Bearer {KEY}"),
        ({"o": {"type": "openIdConnect", "openIdConnectUrl": "http://x"}}, KEY, "Authorization", f"Bearer {KEY}"),
        ({"k": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}, KEY, "X-API-Key", KEY),
        (
            {"b": {"type": "http", "scheme": "basic"}}, "me:pass word", "Authorization",
            "Basic " + base64.b64encode(b"me:pass word").decode(),
        ),
        ({"q": {"type": "apiKey", "in": "query", "name": "k"}, "k": {"type": "apiKey", "in": "header", "name": "K"}},
         KEY, "K", KEY),
    ],
)  # fmt: skip
def test_the_key_is_sent_the_way_the_card_says(
    locked: Any,
    monkeypatch: pytest.MonkeyPatch,
    schemes: dict[str, Any],
    key: str,
    header: str,
    value: str,
) -> None:
    agent = locked(schemes)
    agent.opens = lambda headers: headers.get(header) == value
    monkeypatch.setenv(CLIENT_KEY, key)
    assert ask(agent.url).label == "correct"


def test_a_card_behind_the_key_is_fetched_with_it(locked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = locked()
    agent.card_open = False
    agent.opens = lambda headers: headers.get("Authorization") == f"Bearer {KEY}"
    with pytest.raises(ServerError, match=f"401 .*card.*in the environment variable {CLIENT_KEY}"):
        load_agent(f"a2a:{agent.url}")
    monkeypatch.setenv(CLIENT_KEY, KEY)
    assert ask(agent.url).label == "correct"


def test_a_refused_key_is_named_by_its_variable_and_not_repeated(
    locked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = locked()
    agent.opens = lambda headers: False
    monkeypatch.setenv(CLIENT_KEY, KEY)
    found = ask(agent.url)
    assert found.failure is not None
    assert "what is Bearer <key>?" in found.failure.message
    assert KEY not in found.model_dump_json()


def test_ways_that_are_not_spoken_are_named(locked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = locked({"q": {"type": "apiKey", "in": "query", "name": "k"}})
    agent.opens = lambda headers: False
    monkeypatch.setenv(CLIENT_KEY, KEY)
    failure = ask(agent.url).failure
    assert failure is not None
    assert "a key in the query, which ego-adr does not send" in failure.message


@pytest.mark.parametrize("way", ["card", "redirect"])
@pytest.mark.parametrize("header", ["Authorization", "X-Key"])
def test_the_key_is_not_led_astray(
    locked: Any, monkeypatch: pytest.MonkeyPatch, way: str, header: str
) -> None:
    """Neither the address on a card nor a redirect brings it to another server."""
    schemes = {"k": {"type": "apiKey", "in": "header", "name": header}} if header == "X-Key" else {}
    agent, thief = locked(schemes), locked(schemes)
    agent.card_url = thief.url if way == "card" else agent.url
    agent.moved = f"{thief.url}/" if way == "redirect" else None
    thief.opens = lambda headers: False
    monkeypatch.setenv(CLIENT_KEY, KEY)
    failure = ask(agent.url).failure
    assert failure is not None
    assert thief.seen
    assert all(KEY not in json.dumps(seen) for seen in thief.seen)
    assert any(KEY in json.dumps(seen) for seen in agent.seen)
    assert f"was not sent, since {thief.url}" in failure.message


def test_an_assessor_sends_no_key_to_the_addresses_that_it_is_told(
    locked: Any, video_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ego_adr.agents.assessing import Bench
    from ego_adr.agents.assessments import read_assessment

    agent = locked()
    data = tmp_path / "data"
    data.mkdir()
    row = {
        "video_id": "clip", "task_id": "tape", "instruction": 0, "instruction_label": "stick it",
        "action_annotation": "stick it", "start_time": 0.0, "end_time": 1.5, "close_end_answer": "correct",
    }  # fmt: skip
    (data / "egooops_answer.json").write_text(json.dumps([row]), encoding="utf-8")
    (data / "procedure.json").write_text(json.dumps({"tape": "Stick the pieces."}), encoding="utf-8")
    monkeypatch.setenv(CLIENT_KEY, KEY)
    asked = {"participants": {"agent": agent.url}, "config": {"task_type": "multiple-choice"}}
    assessment = read_assessment([json.dumps(asked)], [], most_letters=10_000)
    findings = Bench(data, video_root, tmp_path / "out", resamples=50).run(
        assessment, lambda done, total: None
    )
    assert findings.data["statuses"]["ok"] == 1
    assert [path for path, _ in agent.seen if path == "/"]
    assert all(KEY not in json.dumps(seen) for seen in agent.seen)


# ------------------------------------------------------------------------------------------------ the commands


@pytest.mark.parametrize(
    ("host", "key", "said"),
    [
        ("0.0.0.0", "", f"for everybody who can reach it (a key in {SERVER_KEY} would change that)"),
        ("127.0.0.1", "", "stop with Ctrl-C"),
        ("0.0.0.0", KEY, f"for those with the key in {SERVER_KEY}"),
    ],
)
def test_serve_says_who_is_answered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, key: str, said: str
) -> None:
    from ego_adr import agents

    monkeypatch.setattr(agents, "serve", lambda model, **more: None, raising=False)
    monkeypatch.setenv(SERVER_KEY, key)
    done = CliRunner().invoke(app, ["serve", "--video-root", str(tmp_path), "--host", host])
    assert done.exit_code == 0, done.output
    assert said in " ".join(done.output.split())
    assert ("can reach it" in done.output) == (host == "0.0.0.0" and not key)
    assert KEY not in done.output
