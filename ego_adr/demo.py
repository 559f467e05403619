"""The demo: the main job on real video files, offline, with the checkpoints that the package ships."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ego_adr import console
from ego_adr.detector import EgoADR
from ego_adr.evaluation.report import write_report
from ego_adr.models.registry import load_model
from ego_adr.probe import ProbeResult
from ego_adr.tabletop.episodes import demo_episode
from ego_adr.types import Clip, Detection, Query

__all__ = ["DemoResult", "run_demo"]

#: checkpoint and route; ``auto`` is what the probe chooses
RUNS = (("tabletop", "auto"), ("tabletop-vision", "auto"), ("tabletop", "single-pass"), ("tabletop", "cot"))


@dataclass(frozen=True)
class DemoResult:
    """What the demo did.

    Attributes:
        expected: id of a row -> the label that the world's rule gives.
        runs: (checkpoint, route asked for) -> detections, in the order of the rows.
        probes: checkpoint -> its probe.
        report: the HTML file.
        seconds: in all, rendering included.
    """

    expected: Mapping[str, str]
    runs: Mapping[tuple[str, str], Sequence[Detection]]
    probes: Mapping[str, ProbeResult]
    report: Path
    seconds: float

    def right(self, run: tuple[str, str]) -> int:
        """How many of a run's labels are the expected ones."""
        return sum(detection.label == self.expected[str(detection.id)] for detection in self.runs[run])

    def as_json(self) -> dict[str, Any]:
        """One object: every detection, what was expected, the probes, the report."""
        return {
            "detections": [
                detection.model_dump(mode="json") for found in self.runs.values() for detection in found
            ],
            "expected": dict(self.expected),
            "probes": {name: probe.model_dump(mode="json") for name, probe in self.probes.items()},
            "report": str(self.report),
            "seconds": round(self.seconds, 1),
        }

    def show(self) -> None:
        """The tables and what to do next, for a person."""
        print_ = console.out().print
        for name, probe in self.probes.items():
            print_(f"probe of {name}: {probe.route} route; {probe.reason}", markup=False)
        for (name, route), found in self.runs.items():
            line = f"{name}, {route}: {self.right((name, route))} of {len(found)} labels as expected"
            if route == "auto":
                rows = [(self.expected[str(d.id)], d) for d in found]
                console.show_detections(rows, title=f"{line}, {found[0].route} route")
            else:
                print_(f"{line} (each sample is in the report)", markup=False)
        print_(
            "These are micro models of a rendered toy world, shipped to show the software at work; they are no models "
            "for real video, and which route wins on them says nothing about real models.",
            markup=False,
        )
        print_(f"Report: {self.report} ({self.seconds:.0f} s in all)", markup=False)
        print_(
            "Next, with a real model on your own video (GPU, 16 GB of weights):\n"
            "  ego-adr detect VIDEO --procedure RECIPE.md --action TEXT --model hf:Qwen/Qwen2.5-VL-7B-Instruct",
            markup=False,
        )


def run_demo(
    folder: Path, *, seed: int = 0, progress: Callable[[str, int, int], None] | None = None
) -> DemoResult:
    """Render the demo's recordings into ``folder``, judge every step on four routes, and write the report.

    Both checkpoints are probed; the probe's choice is one of the four. Replies are not cached: a demo that
    calls no model would show nothing.
    """
    begin = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    rows = demo_episode(seed, folder).rows
    queries = [
        Query(Clip(r["video"], r["start"], r["end"]), r["procedure"], r["action"], id=r["id"]) for r in rows
    ]
    models = {name: load_model(name) for name in dict.fromkeys(name for name, _ in RUNS)}
    runs: dict[tuple[str, str], list[Detection]] = {}
    probes: dict[str, ProbeResult] = {}
    for name, route in RUNS:
        detector = EgoADR(models[name], route=route, cache=False, progress=progress)
        if route == "auto":
            probes[name] = detector.probe()
        runs[name, route] = detector.detect_many(queries)
    expected = {row["id"]: row["label"] for row in rows}
    report = folder / "report.html"
    write_report(
        {f"{name}, {route}": found for (name, route), found in runs.items()},
        report,
        truths={row_id: [label] for row_id, label in expected.items()},
        title="ego-adr demo: the tabletop world",
    )
    return DemoResult(expected, runs, probes, report, time.perf_counter() - begin)
