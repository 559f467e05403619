"""Several runs over one set of samples, and the grids of tables 5 and 6."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.samples import Sample, Shown, Truth
from ego_adr.errors import DataError
from ego_adr.evaluation.running import RunPlan, ablation_plans, run_plans
from ego_adr.models.scripted import ScriptedModel
from ego_adr.types import Reply, Request


def samples(video: str = "gone.mp4") -> list[Sample]:
    return [
        Sample(
            id=f"s{i}",
            dataset="d",
            group="v",
            shown=Shown(video, 0.0, 0.1, "1. Chop the onion.\n2. Whisk the eggs.\n", "whisk the eggs"),
            truth=Truth(labels=("correct",)),
            narration="the person whisks the eggs",
        )
        for i in range(3)
    ]


def test_the_grids_are_those_of_tables_5_and_6() -> None:
    plans = ablation_plans(["one", "two"])
    names = [plan.name for plan in plans]
    assert names[:3] == ["one, deep", "one, shallow", "one, cot"]
    stages = [
        (p.options["match"], p.options["narrate"]) for p in plans if p.model == "one" and "match=" in p.name
    ]
    # both switches on is the deep route of table 5, which is not run twice
    assert stages == [("off", False), ("off", True), ("auto", False)]
    assert len(names) == len(set(names)) == 12
    assert len(ablation_plans(["one"], levels=False)) == 4
    assert len({plan.folder for plan in plans}) == 12


def test_each_run_has_its_folder_its_name_and_its_options(tmp_path: Path) -> None:
    model = ScriptedModel(lambda r: "correct" if "whisks" in r.prompt else "2")
    plans = [
        RunPlan("a, deep", model, {"route": "deep", "cache": False}),
        RunPlan("b", model, {"route": "shallow", "cache": False}),
    ]
    seen: list[tuple[str, int, int]] = []
    results = run_plans(
        plans, samples(), tmp_path, settings={"benchmark": "own"}, progress=lambda *n: seen.append(n)
    )
    assert [result.folder.name for result in results] == ["a_deep", "b"]
    manifest: dict[str, Any] = json.loads((tmp_path / "a_deep" / "run.json").read_text(encoding="utf-8"))
    assert (manifest["name"], manifest["route"], manifest["benchmark"]) == ("a, deep", "deep", "own")
    assert seen[-1] == ("b", 3, 3)


def test_a_model_without_text_only_input_gets_a_black_picture_on_the_deep_route(tmp_path: Path) -> None:
    def blind(request: Request) -> Reply:
        if not request.frames:
            raise ValueError("pictures are needed")
        return Reply(text="correct" if "whisks" in request.prompt else "2")

    model = ScriptedModel(blind)
    plan = next(p for p in ablation_plans(["m"], stages=False) if p.options["route"] == "deep")
    (result,) = run_plans([RunPlan(plan.name, model, {**plan.options, "cache": False})], samples(), tmp_path)
    assert result.statuses == {"ok": 3, "unparsed": 0, "failed": 0}
    asked = [request for request in model.requests if "whisks" in request.prompt]
    assert asked
    assert all(len(request.frames) == 1 and not request.frames[0].array.any() for request in asked)


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    plan = RunPlan("same", ScriptedModel([]), {"cache": False})
    with pytest.raises(DataError, match="two runs would write to 'same'"):
        run_plans([plan, plan], samples(), tmp_path)
