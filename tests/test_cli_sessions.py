"""Whole recordings on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ego_adr.cli import app

RECIPE = (
    "1. Crack two eggs into the bowl.\n2. Whisk the eggs in the bowl.\n3. Pour the eggs from the bowl into the pan.\n"
    "4. Slice the tomato.\n"
)


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.md"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Poured before it was whisked; the tomato forgotten."""
    path = tmp_path / "log.csv"
    path.write_text(
        "step,start,end\ncrack two eggs into the bowl,0,10\npour the eggs into the pan,10,20\nwhisk the eggs,21,30\n",
        encoding="utf-8",
    )
    return path


def test_a_log_is_judged_for_order_and_omissions(recipe: Path, log: Path, tmp_path: Path) -> None:
    svg = tmp_path / "timeline.svg"
    result = run("session", "--log", log, "-p", recipe, "--svg", svg, "--json")
    assert result.exit_code == 0, result.stderr
    labels = {(v["label"], v["step"]) for v in json.loads(result.stdout)["verdicts"]}
    assert ("Omission", 3) in labels
    assert {("Wrong order", 1), ("Wrong order", 2)} & labels
    assert svg.read_text(encoding="utf-8").startswith("<svg")


def test_without_an_order_only_the_omission_is_left(recipe: Path, log: Path) -> None:
    result = run("session", "--log", log, "-p", recipe, "--graph", "none", "--json")
    assert [v["label"] for v in json.loads(result.stdout)["verdicts"]] == ["Omission"]


def test_a_person_sees_a_timeline_and_the_evidence(recipe: Path, log: Path) -> None:
    result = run("session", "--log", log, "-p", recipe)
    assert result.exit_code == 0
    assert "Omission" in result.stdout


def test_the_graph_says_which_step_needs_which(recipe: Path, tmp_path: Path) -> None:
    dot = tmp_path / "graph.dot"
    result = run("graph", recipe, "--dot", dot, "--json")
    edges = {(e["before"], e["after"]) for e in json.loads(result.stdout)["edges"]}
    assert (0, 1) in edges
    assert (1, 2) in edges
    assert not any(3 in edge for edge in edges)
    assert dot.read_text(encoding="utf-8").startswith("digraph")


def test_bad_input_is_exit_1_with_what_is_allowed(recipe: Path, log: Path) -> None:
    assert "chain, none, given" in run("graph", recipe, "--graph", "tree").stderr
    assert run("graph", recipe, "--graph", "tree").exit_code == 1
    assert run("session", "-p", recipe).exit_code == 1
    assert run("session", "-p", recipe, "--log", recipe.parent / "no.csv").exit_code == 1


def test_a_recording_is_narrated_in_windows_and_watched_live(tmp_path: Path) -> None:
    from ego_adr.tabletop.episodes import draw_episode

    episode = draw_episode(3, tmp_path, plan=["correct", "correct", "correct"])
    procedure = tmp_path / "p.md"
    procedure.write_text(episode.procedure, encoding="utf-8")
    result = run("session", episode.video, "-p", procedure, "--window", 4, "--json")
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["steps"]) == 3
    watched = run("watch", episode.video, "-p", procedure, "--window", 4, "--json")
    assert watched.exit_code == 0, watched.stderr
    lines = [json.loads(line) for line in watched.stdout.splitlines()]
    assert {line["kind"] for line in lines} <= {"step", "error", "note"}
    assert lines
