"""The samples of a report as compact JSON: long texts once, however many samples share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ego_adr.evaluation.pictures import Pictures
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Detection

__all__ = ["Entry", "sample_data", "verdict_kind"]


@dataclass(frozen=True)
class Entry:
    """One sample of one run: its detection (None where only a label is known) and its truth."""

    id: str
    detection: Detection | None
    truth: tuple[str, ...] = ()
    dataset: str = ""
    giveaways: tuple[str, ...] = ()


class _Texts:
    """Numbers for texts, so that each stands in the file once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._place: dict[str, int] = {}

    def __call__(self, text: str | None) -> int | None:
        if not text:
            return None
        if text not in self._place:
            self._place[text] = len(self.all)
            self.all.append(text)
        return self._place[text]


def verdict_kind(detection: Detection, truth: Sequence[str], correct: str) -> str:
    """What a verdict came to: right, wrong type, false alarm, missed, unparsed, failed, or no truth."""
    if detection.status != "ok":
        return detection.status
    if not truth:
        return "no truth"
    if detection.label in truth:
        return "right"
    if detection.label == correct:
        return "missed"
    return "false alarm" if correct in truth else "wrong type"


def sample_data(
    runs: Sequence[tuple[str, Sequence[Entry]]], taxonomy: Taxonomy, pictures: Pictures
) -> dict[str, Any]:
    """Everything the report's script shows: samples in the order of the first run, each with its runs."""
    texts = _Texts()
    samples: dict[str, dict[str, Any]] = {}
    for number, (_, entries) in enumerate(runs):
        for entry in entries:
            held = samples.setdefault(
                entry.id,
                {
                    "id": entry.id,
                    "truth": list(entry.truth),
                    "dataset": entry.dataset,
                    "giveaways": list(entry.giveaways),
                    "frames": [],
                    "runs": [],
                },
            )
            detection = entry.detection
            if detection is None:
                continue
            if not held["frames"]:
                held["frames"], held["times"] = pictures.of(entry.id, detection)
            held.setdefault("action", detection.action)
            held.setdefault("video", detection.video)
            held.setdefault("task", detection.procedure)
            held.setdefault("span", [detection.start, detection.end])
            held["runs"].append(_verdict(number, detection, entry.truth, taxonomy.correct.name, texts))
    return {
        "labels": list(taxonomy.names),
        "correct": taxonomy.correct.name,
        "runs": [name for name, _ in runs],
        "samples": list(samples.values()),
        "texts": texts.all,
    }


def _verdict(number: int, d: Detection, truth: Sequence[str], correct: str, texts: _Texts) -> dict[str, Any]:
    match = d.match
    return {
        "run": number,
        "kind": verdict_kind(d, truth, correct),
        "label": d.label,
        "labels": list(d.labels),
        "why": d.failure.message if d.failure else d.reason,
        "cause": d.failure.cause if d.failure else None,
        "route": d.route,
        "routeWhy": texts(d.route_reason),
        "model": d.model,
        "narration": texts(d.narration),
        "step": texts(d.step),
        "previous": texts(d.previous_step),
        "next": texts(d.next_step),
        "match": None
        if match is None
        else {"method": match.method, "score": match.score, "index": match.index},
        "evidence": list(d.evidence),
        "probabilities": dict(d.probabilities) if d.probabilities else None,
        "warnings": list(d.warnings),
        "use": [
            [u.stage, u.calls, u.cached, u.prompt_tokens, u.completion_tokens, round(u.seconds, 3)]
            for u in d.stages
        ],
        "exchanges": [
            [e.stage, texts(e.prompt), texts(e.reply), e.finish_reason, e.frames, e.cached]
            for e in d.exchanges
        ],
    }
