"""What stands in examples/agents works: the curl lines, the container file, the load script."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ego_adr import ScriptedModel, agents, console
from ego_adr.agents.commands import add_agent_commands
from ego_adr.cli_options import model_options
from ego_adr.types import Request

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "agents"


def commands(start: str) -> list[str]:
    """The shell commands of the document that start so."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    found = [
        line
        for block in blocks
        for line in re.findall(r"(?ms)^(?:curl|ego-adr) .*?(?=^curl |^ego-adr |\Z)", block)
    ]
    return [line.strip() for line in found if line.startswith(start)]


def curl(command: str, ports: dict[str, str]) -> Any:
    for port, url in ports.items():
        command = command.replace(f"http://127.0.0.1:{port}", url)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_lines_of_the_document_work(
    serve_model: Any, run_agent: Any, video_root: Path, tmp_path: Path
) -> None:
    from ego_adr.agents.assessing import Bench, build_evaluator

    def answer(request: Request) -> str:
        return "Wrong order" if "red cube" in request.prompt else "correct"

    shutil.copy(video_root / "good" / "clip.mp4", video_root / "clip.mp4")
    agent = serve_model(ScriptedModel(answer))
    (video_root / "egooops" / "d").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(6):
        shutil.copy(video_root / "good" / "clip.mp4", video_root / "egooops" / "d" / f"x{number}.MP4")
        rows.append(
            {
                "video_id": f"x{number}", "task_id": "d", "instruction": number, "instruction_label": f"s{number}",
                "action_annotation": f"s{number}", "start_time": 0.0, "end_time": 1.0, "close_end_answer": "correct",
            }
        )  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "egooops_answer.json").write_text(json.dumps(rows))
    (tmp_path / "data" / "procedure.json").write_text(json.dumps({"d": "Do one after the other."}))
    bench = Bench(tmp_path / "data", video_root, tmp_path / "runs", resamples=50)
    evaluator = run_agent(lambda url: build_evaluator(bench, url=url))
    ports = {"9010": agent.url, "9009": evaluator.url}
    health, ready, card, old, new, assessed = (curl(command, ports) for command in commands("curl"))
    assert health == {"status": "ok"}
    assert ready["ready"] is True
    assert card["name"] == "Ego-ADR"
    assert [part["text"] for part in old["result"]["parts"]] == ["Wrong order"]
    text, data = new["result"]["message"]["parts"]
    assert text["text"] == data["data"]["label"] == "Wrong order"
    assert assessed["result"]["status"]["state"] == "completed"
    assert assessed["result"]["artifacts"][0]["parts"][1]["data"]["statuses"]["ok"] == 4


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    held: dict[str, Any] = {}
    monkeypatch.setattr(
        agents, "serve", lambda model, **more: held.update(model=model, **more), raising=False
    )
    monkeypatch.setattr(agents, "assess", lambda **more: held.update(more), raising=False)
    return held


def start(arguments: list[str]) -> None:
    app = typer.Typer()
    add_agent_commands(app, console.report_errors, console.note, model_options)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output


def test_the_start_lines_of_the_document_are_understood(called: dict[str, Any]) -> None:
    served, assessed = commands("ego-adr")
    start(shlex.split(served)[1:])
    assert (called["model"], called["port"]) == ("tabletop", 9010)
    start(shlex.split(assessed)[1:])
    assert called["port"] == 9009


def test_the_container_file_copies_what_is_there_and_starts_what_agentbeats_wants(
    called: dict[str, Any], repository: Path
) -> None:
    lines = (FOLDER / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    known = {"FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}
    assert {name for name, _ in steps} <= known
    assert steps[0][0] == "FROM"
    for rest in (rest for name, rest in steps if name == "COPY"):
        for source in rest.split()[:-1]:
            assert (repository / source).exists(), source
    assert [rest for name, rest in steps if name == "EXPOSE"] == ["9009"]
    users = [place for place, (name, _) in enumerate(steps) if name == "USER"]
    entry = next(place for place, (name, _) in enumerate(steps) if name == "ENTRYPOINT")
    assert users, "it must not run as root"
    assert users[-1] < entry
    arguments = json.loads(steps[entry][1])
    assert arguments[0] == "ego-adr"
    start([*arguments[1:], "--host", "0.0.0.0", "--port", "9009", "--card-url", "http://evaluator:9009/"])
    assert (called["host"], called["port"], called["card_url"]) == ("0.0.0.0", 9009, "http://evaluator:9009/")


@pytest.mark.slow
def test_a_hostile_load_loses_no_good_request_and_opens_nothing_outside() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "hostile_load.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["good"], found["good_answered"]) == (70, 70)
    assert (found["hostile"], found["hostile_turned_away"]) == (30, 30)
    assert found["opened_outside_root"] == []
