"""One run a route, over one set of samples: what ``evaluate`` and ``ablate`` do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.benchmarks.narrations import read_narrations
from ego_adr.detector import EgoADR
from ego_adr.errors import DataError
from ego_adr.evaluation.open_end import OpenEndAnswerer
from ego_adr.evaluation.runner import Detector, RunResult, evaluate
from ego_adr.models.registry import load_model

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample

__all__ = ["RunPlan", "ablation_plans", "file_mark", "run_plans"]

#: Called with the run's name, how many of its samples are done, and how many there are.
RunProgress = Callable[[str, int, int], None]
#: Value of ``black_image`` in a plan: as the model's probe says.
AUTO = "auto"
#: Options that do not change an answer.
_NO_SETTINGS = frozenset({"progress", "cache", "batch_size"})


@dataclass(frozen=True)
class RunPlan:
    """One run: a model and the switches of its detector.

    Attributes:
        name: shown in tables.
        model: a name, or a backend.
        options: keyword arguments of `EgoADR`, the route and the ``model_options`` among them. Plans of one model
            share the options that its first plan loads it with.
    """

    name: str
    model: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The name as the name of a folder."""
        return re.sub(r"[^\w.=-]+", "_", self.name).strip("_")


def run_plans(
    plans: Sequence[RunPlan],
    samples: Sequence[Sample],
    out: str | PathLike[str],
    *,
    narrations: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: RunProgress | None = None,
    started: Callable[[str, Detector], None] | None = None,
    **how: Any,
) -> list[RunResult]:
    """Carry out runs one after the other, each in a folder of its own below ``out``.

    Each model is loaded once. Samples with questions are answered in words.

    Args:
        narrations: a file that replaces the models' narrations.
        settings: kept with every run.
        started: called before each run with its name and detector.
        how: arguments of `evaluate` (``history``, ``limit``, ``seed``, ``shard``, ``resume``, ``retry_failed``,
            ``chunk``).

    Raises:
        DataError: when two plans share a folder.
    """
    folders = [plan.folder for plan in plans]
    twice = next((name for name in folders if folders.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two runs would write to {twice!r}: give different names.")
    told = read_narrations(narrations) if narrations is not None else None
    open_end = any(sample.shown.question is not None for sample in samples)
    models: dict[Any, Any] = {}
    found: list[RunResult] = []
    for plan in plans:
        if plan.model not in models:
            models.clear()  # one model at a time: two may not fit into memory together
            models[plan.model] = load_model(plan.model, **(plan.options.get("model_options") or {}))
        options = dict(plan.options)
        loading = _plain(options.pop("model_options", None) or {})
        detector = _detector(models[plan.model], options, samples if open_end else None)
        if started is not None:
            started(plan.name, detector)
        extra = {name: _plain(value) for name, value in options.items() if name not in _NO_SETTINGS}
        found.append(
            evaluate(
                samples,
                detector,
                Path(out) / plan.folder,
                name=plan.name,
                narrations=told,
                settings={
                    **(settings or {}),
                    "options": extra,
                    "model_options": loading,
                    "narrations": file_mark(narrations),
                },
                progress=None if progress is None else _named(progress, plan.name),
                **how,
            )
        )
    return found


def _detector(model: Any, options: dict[str, Any], questions: Sequence[Sample] | None) -> Any:
    """What is asked: a model on a route, or an agent as a whole (it has a route of its own)."""
    if hasattr(model, "judging"):
        kept = {name: options[name] for name in ("taxonomy", "prompts") if options.get(name) is not None}
        options.clear()
        options.update(kept)
        model = model.judging(**kept)
        return model if questions is None else model.answerer(questions)
    if options.get("black_image") == AUTO:
        # Asked of the probe: only a model that cannot be asked without pictures gets a black one.
        options["black_image"] = False
        probed = EgoADR(model, **options).probe()
        options["black_image"] = not probed.supports_text_only
    detector = EgoADR(model, **options)
    return detector if questions is None else OpenEndAnswerer(detector, questions)


def ablation_plans(
    models: Sequence[str],
    *,
    routes: Sequence[str] = ("deep", "shallow", "cot"),
    levels: bool = True,
    stages: bool = True,
    options: Mapping[str, Any] | None = None,
) -> list[RunPlan]:
    """The grids of tables 5 and 6 of papers/002.

    Args:
        levels: table 5, every model on every route. A model that cannot be asked without pictures gets a black
            one beside the text on the deep route, as in the paper.
        stages: table 6, the deep route with key-step match and narration on and off.
        options: further switches of every run.
    """
    rest = dict(options or {})
    found: list[RunPlan] = []
    for model in models:
        if levels:
            found += [
                RunPlan(f"{model}, {route}", model, {"black_image": AUTO, **rest, "route": route})
                for route in routes
            ]
        if not stages:
            continue
        for match, narrate in ((False, False), (False, True), (True, False), (True, True)):
            if levels and match and narrate and "deep" in routes:
                continue  # that is the deep route of table 5
            name = f"{model}, deep, match={'on' if match else 'off'}, narration={'on' if narrate else 'off'}"
            switches = {
                "route": "deep",
                "match": rest.get("match", "auto") if match else "off",
                "narrate": narrate,
            }
            found.append(RunPlan(name, model, {"black_image": AUTO, **rest, **switches}))
    return found


def file_mark(path: str | PathLike[str] | None) -> str | None:
    """A short hash of a file's content, to see whether a run goes on with the same file."""
    return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def _named(progress: RunProgress, name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
