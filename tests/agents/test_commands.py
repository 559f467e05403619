"""The commands hand what they are given to the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ego_adr import agents, console
from ego_adr.agents.commands import add_agent_commands
from ego_adr.cli_options import model_options


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    add_agent_commands(made, console.report_errors, console.note, model_options)
    return made


def test_serve_and_assess_hand_on_what_they_are_given(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr(
        agents, "serve", lambda model, **more: called.update(model=model, **more), raising=False
    )
    monkeypatch.setattr(agents, "assess", lambda **more: called.update(more), raising=False)
    serve = [
        "serve",
        "--model",
        "m",
        "--video-root",
        str(tmp_path),
        "--port",
        "9011",
        "--card-url",
        "http://a/",
        "--waiting",
        "3",
    ]
    done = CliRunner().invoke(
        app, [*serve, "--route", "deep", "--max-clip-seconds", "60", "-M", "dtype=fp32"]
    )
    assert done.exit_code == 0, done.output
    assert (called["model"], called["port"], called["card_url"], called["route"]) == (
        "m",
        9011,
        "http://a/",
        "deep",
    )
    assert called["model_options"] == {"dtype": "fp32"}
    assert (called["limits"].waiting, called["limits"].clip_seconds) == (3, 60.0)
    assess = ["assess", "--data", str(tmp_path), "--videos", str(tmp_path), "--judge", "a", "--judge", "b"]
    done = CliRunner().invoke(app, assess)
    assert done.exit_code == 0, done.output
    assert (called["port"], list(called["judges"]), called["data"]) == (9009, ["a", "b"], tmp_path)


def test_a_folder_that_is_none_is_an_error_of_one_line(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--video-root", str(tmp_path / "none")])
    assert done.exit_code == 1
    assert "--video-root" in done.output
    assert "Traceback" not in done.output
