"""Both versions of the SDK against our agents, each in its own environment.

The environment of a2a-sdk 0.3 is the Python that ``EGO_ADR_A2A03_PYTHON`` names; without it one is made, which
needs the package index.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ego_adr import ScriptedModel
from ego_adr.agents.client import load_agent
from ego_adr.types import Clip, Query, Request

pytestmark = pytest.mark.slow

OLD_SDK = "a2a-sdk[http-server]==0.3.26"
SCRIPTS = Path(__file__).parent / "interop"


@pytest.fixture(scope="session")
def old_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has a2a-sdk 0.3."""
    given = os.environ.get("EGO_ADR_A2A03_PYTHON")
    if given:
        return given
    folder = tmp_path_factory.mktemp("a2a03") / "venv"
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False
    )
    python = str(folder / "bin" / "python")
    if made.returncode == 0:
        command = [python, "-m", "pip", "install", "-q", OLD_SDK, "uvicorn"]
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if made.returncode != 0:
        pytest.skip(f"no environment with {OLD_SDK} could be made: {made.stderr.strip()[-300:]}")
    return python


def run_old(python: str, url: str, way: str, text: str) -> dict[str, Any]:
    command = [python, str(SCRIPTS / "old_client.py"), url, way]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    held: dict[str, Any] = json.loads(done.stdout)
    return held


def run_new(url: str, text: str) -> list[Any]:
    """The events that a 1.x client sees."""
    from a2a.client import ClientConfig, create_client
    from a2a.helpers import new_text_message
    from a2a.types import Role, SendMessageRequest

    async def talk() -> list[Any]:
        async with httpx.AsyncClient(timeout=120, trust_env=False) as http:
            client = await create_client(url, client_config=ClientConfig(httpx_client=http))
            request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
            return [event async for event in client.send_message(request)]

    return asyncio.run(talk())


@pytest.fixture
def agent(serve_model: Any) -> Any:
    def answer(request: Request) -> str:
        return "Wrong order" if "tomato" in request.prompt else "It is a spoon."

    return serve_model(ScriptedModel(answer))


@pytest.mark.parametrize("way", ["client", "factory", "rest"])
def test_a_client_of_0_3_gets_a_label_a_sentence_and_a_failed_task(
    agent: Any, old_python: str, published: Any, way: str
) -> None:
    label = run_old(old_python, agent.url, way, published("good/clip.mp4"))
    assert (label["kind"], label["texts"]) == ("message", ["Wrong order"])
    sentence = run_old(
        old_python, agent.url, way, published("good/clip.mp4", step=None, question="What is it?")
    )
    assert (sentence["kind"], sentence["texts"]) == ("message", ["It is a spoon."])
    failed = run_old(old_python, agent.url, way, published("broken.mp4"))
    assert (failed["kind"], failed["state"]) == ("task", "failed")


def test_a_client_of_0_3_gets_an_error_for_a_path_outside(
    agent: Any, old_python: str, published: Any
) -> None:
    held = run_old(old_python, agent.url, "client", published("/etc/passwd"))
    assert held["kind"] == "error"
    assert held["message"].startswith("path refused: ")


def test_a_client_of_1_x_gets_a_label(agent: Any, published: Any) -> None:
    (event,) = run_new(agent.url, published("good/clip.mp4"))
    assert [part.text for part in event.message.parts] == ["Wrong order"]


@pytest.fixture
def old_agent(old_python: str) -> Iterator[Callable[[str], str]]:
    running: list[subprocess.Popen[bytes]] = []

    def start(way: str) -> str:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        running.append(subprocess.Popen([old_python, str(SCRIPTS / "old_server.py"), str(port), way]))
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                httpx.get(f"{url}/.well-known/agent-card.json", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        return url

    yield start
    for process in running:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("way", ["message", "task"])
def test_our_client_asks_an_agent_of_0_3(old_agent: Callable[[str], str], way: str) -> None:
    agent = load_agent(f"a2a:{old_agent(way)}")
    asked = [
        Query(clip=Clip("v.mp4", 0.0, 1.0), procedure="p", action=f"step {i}", id=str(i)) for i in range(4)
    ]
    found = agent.detect_many(asked)
    assert [(d.status, d.label, d.id) for d in found] == [("ok", "Wrong order", str(i)) for i in range(4)]


def test_the_evaluator_serves_clients_of_both_versions_against_an_agent_of_0_3(
    old_agent: Callable[[str], str], old_python: str, run_agent: Any, video_root: Path, tmp_path: Path
) -> None:
    from ego_adr.agents.assessing import Bench, build_evaluator

    (video_root / "egooops" / "t").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(6):
        clip = video_root / "egooops" / "t" / f"w{number}.MP4"
        clip.write_bytes((video_root / "good" / "clip.mp4").read_bytes())
        rows.append(
            {
                "video_id": f"w{number}", "task_id": "t", "instruction": number, "instruction_label": f"s{number}",
                "action_annotation": f"s{number}", "start_time": 0.0, "end_time": 1.0,
                "close_end_answer": "Wrong order" if number < 3 else "correct",
            }
        )  # fmt: skip
    data = tmp_path / "data"
    data.mkdir()
    (data / "egooops_answer.json").write_text(json.dumps(rows))
    (data / "procedure.json").write_text(json.dumps({"t": "Do s0, then s1, then the others."}))
    bench = Bench(data, video_root, tmp_path / "runs", resamples=50)
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    url = old_agent("message")
    for run, way in (("a", "client"), ("b", "factory"), ("d", "rest")):
        held = run_old(
            old_python,
            evaluator.url,
            way,
            json.dumps({"participants": {"agent": url}, "config": {"run": run}}),
        )
        assert (held["kind"], held["state"]) == ("task", "completed")
        rates = held["data"][0]["scores"]["rates"]
        assert (rates["tp"], rates["fp"], rates["tn"]) == (3, 3, 0)
    events = run_new(evaluator.url, json.dumps({"participants": {"agent": url}, "config": {"run": "c"}}))
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds[0] == "task"
    assert "status_update" in kinds
    assert "artifact_update" in kinds


def test_under_the_old_sdk_our_server_says_in_one_line_which_range_it_wants(old_python: str) -> None:
    code = (
        "from ego_adr.agents import serve\nfrom ego_adr.errors import ResourceError\n"
        "try:\n    serve('tabletop', video_root='.')\nexcept ResourceError as exc:\n    print(exc)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([old_python, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("a2a-sdk 0.3")
    assert "a2a-sdk[http-server]>=1.3,<2" in line
