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
    assert "model, chain, none, given" in run("graph", recipe, "--graph", "tree").stderr
    assert run("graph", recipe, "--graph", "tree").exit_code == 1
    assert run("session", "-p", recipe).exit_code == 1
    assert run("session", "-p", recipe, "--log", recipe.parent / "no.csv").exit_code == 1


def verdicts(result: Result) -> set[tuple[str, int]]:
    assert result.exit_code == 0, result.stderr
    return {(v["label"], v["step"]) for v in json.loads(result.stdout)["verdicts"]}


def write_log(path: Path, *steps: str) -> Path:
    rows = [f"{step},{10 * i},{10 * i + 9}" for i, step in enumerate(steps)]
    path.write_text("step,start,end\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


CRACK, WHISK, POUR, SLICE = RECIPE.replace(".", "").splitlines()
CHAIN = ("--graph", "chain")


def test_error_free_examples_take_needs_away(recipe: Path, tmp_path: Path) -> None:
    steps = [step.split(" ", 1)[1] for step in (CRACK, WHISK, POUR, SLICE)]
    tomato_first = [steps[3], *steps[:3]]
    log = write_log(tmp_path / "log.csv", *tomato_first)
    good = tmp_path / "good"
    good.mkdir()
    write_log(good / "one.csv", *tomato_first)
    write_log(good / "two.csv", *steps)
    session = ("session", "-p", recipe, "--log", log, *CHAIN, "--json")
    assert ("Wrong order", 3) in verdicts(run(*session))
    assert verdicts(run(*session, "--examples", good / "one.csv")) == set()
    assert verdicts(run(*session, "--examples", good / "two.csv", "--examples", good / "one.csv")) == set()
    assert verdicts(run(*session, "--examples", good)) == set()
    # what the examples do not contradict is needed as before
    other = write_log(tmp_path / "other.csv", steps[1], steps[0], steps[2], steps[3])
    assert ("Wrong order", 1) in verdicts(
        run("session", "-p", recipe, "--log", other, *CHAIN, "--examples", good, "--json")
    )
    edges = json.loads(run("graph", recipe, "--graph", "chain", "--examples", good, "--json").stdout)["edges"]
    assert {(e["before"], e["after"]) for e in edges} == {(0, 1), (1, 2)}


def test_examples_that_say_nothing_are_refused(recipe: Path, log: Path, tmp_path: Path) -> None:
    strange = write_log(tmp_path / "strange.csv", "dance on the table")
    empty = tmp_path / "empty"
    empty.mkdir()
    for given, said in (
        (strange, "step of this procedure"),
        (empty, "no log"),
        (tmp_path / "no.csv", "no.csv"),
    ):
        result = run("session", "-p", recipe, "--log", log, "--examples", given)
        assert result.exit_code == 1
        assert said in " ".join(result.stderr.split())


def test_the_convention_of_the_pan_can_be_left_out(tmp_path: Path) -> None:
    recipe = tmp_path / "pan.md"
    recipe.write_text(
        "1. Chop the onion.\n2. Heat the pan.\n3. Add the onion to the pan.\n", encoding="utf-8"
    )

    def edges(*more: str) -> set[tuple[int, int]]:
        found = json.loads(run("graph", recipe, "--json", *more).stdout)["edges"]
        return {(e["before"], e["after"]) for e in found}

    assert (0, 1) in edges()
    assert (0, 1) not in edges("--no-heat-last")
    log = write_log(tmp_path / "log.csv", "heat the pan", "chop the onion", "add the onion to the pan")
    session = ("session", "-p", recipe, "--log", log, "--json")
    assert ("Wrong order", 1) in verdicts(run(*session))
    assert verdicts(run(*session, "--no-heat-last")) == set()
    refused = run(*session, "--no-heat-last", *CHAIN)
    assert refused.exit_code == 1
    assert "--graph text" in refused.stderr


@pytest.mark.parametrize("step", ["1", " 1 ", "crack two eggs into the bowl"])
def test_what_would_lose_its_ground_is_told(recipe: Path, log: Path, step: str) -> None:
    found = json.loads(run("session", "-p", recipe, "--log", log, "--whatif", step, "--json").stdout)
    assert found["whatif"]["omitted"] == 0
    assert (found["whatif"]["lost"], found["whatif"]["done"]) == ([1, 2], [1, 2])
    assert found["verdicts"]
    alone = json.loads(run("session", "-p", recipe, "--whatif", step, "--json").stdout)
    assert set(alone) == {"whatif"}
    assert (alone["whatif"]["lost"], alone["whatif"]["done"]) == ([1, 2], [])
    shown = " ".join(run("session", "-p", recipe, "--log", log, "--whatif", step).stdout.split())
    assert "2 lose their ground" in shown
    assert "; it was done" in shown
    assert "no step loses its ground" in run("session", "-p", recipe, "--whatif", "4").stdout


@pytest.mark.parametrize("step", ["0", "5", "dance on the table", ""])
def test_a_step_that_is_not_there_is_exit_1(recipe: Path, log: Path, step: str) -> None:
    assert run("session", "-p", recipe, "--whatif", step).exit_code == 1
    assert run("session", "-p", recipe, "--log", log, "--whatif", step).exit_code == 1


def test_a_model_writes_the_order(recipe: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ego_adr.models.scripted import ScriptedModel

    asked: list[str] = []

    def answer(request: Any) -> str:
        asked.append(request.prompt)
        return '{"1": [], "2": [1], "3": [2], "4": [3]}'

    monkeypatch.setattr("ego_adr.detector.load_model", lambda name: ScriptedModel(answer, name=str(name)))
    edges = json.loads(run("graph", recipe, "--graph", "model", "--model", "mine", "--json").stdout)["edges"]
    assert {(e["before"], e["after"]) for e in edges} == {(0, 1), (1, 2), (2, 3)}
    assert {source for e in edges for source in e["sources"]} == {"model"}
    session = ("session", "-p", recipe, "--log", log, "--graph", "model", "--model", "mine", "--json")
    assert {("Wrong order", 1), ("Wrong order", 2)} & verdicts(run(*session))
    assert len(asked) == 2
    assert all("Slice the tomato" in prompt for prompt in asked)


def test_a_model_that_writes_no_order_is_exit_1(
    recipe: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ego_adr.models.scripted import ScriptedModel

    monkeypatch.setattr("ego_adr.detector.load_model", lambda _: ScriptedModel(lambda _: "I cannot."))
    result = run("session", "-p", recipe, "--log", log, "--graph", "model")
    assert result.exit_code == 1
    assert "no order of steps" in " ".join(result.stderr.split())


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
