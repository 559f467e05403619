"""An agent under evaluation: asked as a whole, on its own route, with files that only it can open."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ego_adr import ScriptedModel
from ego_adr.benchmarks import load_samples
from ego_adr.evaluation.running import RunPlan, run_plans


def test_an_agent_is_evaluated_by_its_address(
    serve_model: Callable[..., Any], video_root: Path, tmp_path: Path
) -> None:
    model = ScriptedModel(lambda request: "Wrong action" if "Stir" in request.prompt else "correct")
    agent = serve_model(model)
    rows = [
        {"id": "a", "video": "good/clip.mp4", "start": 0, "end": 1, "procedure": "Wash it. Cut it.", "action": "Cut it",
         "label": "correct"},
        {"id": "b", "video": "good/clip.mp4", "start": 0, "end": 1, "procedure": "Stir it. Cut it.", "action": "Stir it",
         "label": "Wrong action"},
        {"id": "c", "video": "no/such.mp4", "start": 0, "end": 1, "procedure": "Cut it.", "action": "Cut it",
         "label": "correct"},
    ]  # fmt: skip
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    samples = load_samples(str(data), videos=video_root)
    (result,) = run_plans(
        [RunPlan("agent", f"a2a:{agent.url}", {"route": "auto"})], samples, tmp_path / "runs"
    )
    lines = [
        json.loads(line)
        for line in (result.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    found = {line["id"]: (line["status"], line["prediction"]) for line in lines}
    assert found["a"] == ("ok", "correct")
    assert found["b"] == ("ok", "Wrong action")
    assert found["c"] == ("failed", None)
