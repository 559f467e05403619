"""The evaluator as a server: `assess`, and the assessment itself."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.agents.assessments import Assessment
from ego_adr.agents.keys import SERVER_KEY
from ego_adr.agents.limits import Limits
from ego_adr.agents.roots import check_root, path_below
from ego_adr.agents.sdk import require_sdk
from ego_adr.agents.serving import build_app, card_address, checked_address, run_app

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ego_adr.models.base import VideoLLM

__all__ = ["Bench", "Findings", "assess", "build_evaluator"]

#: Called with how many samples are done and how many there are; what it raises ends the assessment.
Progress = Callable[[int, int], None]


def assess(
    *,
    data: str | PathLike[str],
    videos: str | PathLike[str],
    out: str | PathLike[str],
    host: str = "127.0.0.1",
    port: int = 9009,
    card_url: str | None = None,
    judges: Sequence[Any] = (),
    timeout: float = 300.0,
    concurrency: int = 4,
    limits: Limits | None = None,
    key_variable: str | None = SERVER_KEY,
) -> None:
    """Serve the EgoErrorVQA evaluator until the process is told to stop.

    Args:
        data: folder of the published annotation files.
        videos: root of the videos; paths below it are what the agent under test is sent.
        out: where runs are kept. The same request goes on with the same run.
        host, port, card_url: as in `ego_adr.agents.serve`.
        judges: text models (or their names) that score open-end answers; without any they are counted only.
        timeout: seconds the agent under test may take for an answer.
        concurrency: questions under way at once.
        limits: what is taken from outside.
        key_variable: environment variable of the key that askers have to bring, as in `ego_adr.agents.serve`. The
            agent under test is sent no key: its address comes from the asker.

    Raises:
        InputError: a folder or address that cannot be used.
        ResourceError: the A2A packages are missing or of another range.
    """
    require_sdk()
    address = checked_address(card_url) if card_url else card_address(host, port)
    bench = Bench(data, videos, out, judges=judges, timeout=timeout, concurrency=concurrency)
    app = build_evaluator(bench, url=address, limits=limits, key_variable=key_variable)
    run_app(app, host=host, port=port, limits=limits)


def build_evaluator(
    bench: Bench, *, url: str, limits: Limits | None = None, key_variable: str | None = SERVER_KEY
) -> Starlette:
    """The evaluator as an ASGI application; ``url`` is the address that its card tells. See `assess`."""
    require_sdk()
    from ego_adr.agents.cards import evaluator_card
    from ego_adr.agents.evaluator import AssessmentExecutor, AssessmentHandler
    from ego_adr.agents.keeping import KeptTasks

    bounds = limits or Limits()
    executor = AssessmentExecutor(bench, bounds)
    card = evaluator_card(url)
    handler = AssessmentHandler(executor, task_store=KeptTasks(), agent_card=card)

    def health() -> tuple[bool, dict[str, Any]]:
        return True, {"assessing": executor.at_work}

    return build_app(
        card, handler, health, bounds, start=executor.start, stop=executor.stop, key_variable=key_variable
    )


@dataclass(frozen=True)
class Findings:
    """What an assessment came to: a page for people, figures for programs."""

    text: str
    data: dict[str, Any]


class Bench:
    """The benchmark's files, the folder of runs, and how agents are asked.

    Raises:
        InputError: a folder that is none.
    """

    def __init__(
        self,
        data: str | PathLike[str],
        videos: str | PathLike[str],
        out: str | PathLike[str],
        *,
        judges: Sequence[Any] = (),
        timeout: float = 300.0,
        concurrency: int = 4,
        resamples: int = 2000,
    ) -> None:
        self.data = check_root(data, "--data")
        self.videos = check_root(videos, "--videos")
        self.out = Path(out).expanduser().resolve()
        self._judges = list(judges)
        self._timeout = timeout
        self._concurrency = concurrency
        self._resamples = resamples

    def run(self, assessment: Assessment, progress: Progress) -> Findings:
        """Ask the agent for every sample that has no answer yet, and score the run.

        Samples whose question the agent did not answer are in the findings by their cause, and asked again when
        the same assessment is run again.

        Raises:
            InputError: folders outside the operator's, or files that cannot be read.
            ServerError: there is no agent at the address.
        """
        from ego_adr.agents.client import load_agent
        from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa
        from ego_adr.evaluation.runner import evaluate
        from ego_adr.taxonomies import load_taxonomy

        config = assessment.config
        json_root, videos, procedures = self._folders(assessment)
        taxonomy = load_taxonomy()
        samples = load_egoerrorvqa(
            json_root,
            videos=videos,
            task="choice" if assessment.task == "multiple-choice" else "open-end",
            datasets=config.datasets,
            procedures=procedures,
            taxonomy=taxonomy,
        )
        agent = load_agent(
            assessment.agent_url,
            timeout=self._timeout,
            concurrency=self._concurrency,
            key_variable=None,  # the asker names the agent: a key would go wherever they say
            taxonomy=taxonomy,
        )
        detector = agent if assessment.task == "multiple-choice" else agent.answerer(samples)
        folder = self.out / assessment.run
        result = evaluate(
            samples,
            detector,
            folder,
            name=assessment.run,
            settings={"task": assessment.task, "datasets": list(config.datasets or ())},
            limit=config.limit,
            seed=config.seed,
            chunk=4 * self._concurrency,
            progress=progress,
        )
        notes = [f"{name} was sent and is not used" for name in config.unused]
        failed = result.statuses.get("failed", 0)
        if failed:
            notes.append(
                f"{failed} of {result.total} samples failed; send the same request again to ask for them again"
            )
        return self._findings(assessment, folder, dict(result.statuses), notes)

    def _folders(self, assessment: Assessment) -> tuple[Path, Path, Path | None]:
        config = assessment.config
        json_root = path_below(self.data, config.json_root) if config.json_root else self.data
        videos = path_below(self.videos, config.video_root) if config.video_root else self.videos
        given = config.procedure_json_path
        return json_root, videos, path_below(self.data, given) if given else None

    def _findings(
        self, assessment: Assessment, folder: Path, statuses: dict[str, int], notes: list[str]
    ) -> Findings:
        from rich.console import Console

        from ego_adr.evaluation.scoring import score_runs
        from ego_adr.evaluation.showing import show_open, show_scores
        from ego_adr.taxonomies import load_taxonomy

        if assessment.task == "open-end":
            notes += self._judge(folder)
        scored, opened = score_runs([folder], load_taxonomy(), resamples=self._resamples)
        page = Console(file=io.StringIO(), width=110, force_terminal=False, color_system=None)
        show_scores([(run.name, score) for run, score in scored], page)
        show_open(opened, page)
        for note in notes:
            page.print(note, markup=False)
        figures = [score for _, score in scored] + list(opened.values())
        held = {
            "agent": assessment.agent_url,
            "run": assessment.run,
            "task_type": assessment.task,
            "statuses": statuses,
            "notes": notes,
            "scores": json.loads(figures[0].model_dump_json()) if figures else None,
        }
        stream = page.file
        assert isinstance(stream, io.StringIO)
        return Findings(stream.getvalue().strip(), held)

    def _judge(self, folder: Path) -> list[str]:
        from ego_adr.errors import DataError
        from ego_adr.evaluation.open_scores import judge_run
        from ego_adr.models.registry import load_model
        from ego_adr.prompting import PromptLibrary

        if not self._judges:
            return ["no judge was given to this evaluator (--judge): answers are counted, not scored"]
        loaded: list[VideoLLM] = [load_model(judge) for judge in self._judges]
        try:
            judge_run(folder, loaded, PromptLibrary())
        except DataError as exc:
            return [str(exc)]  # not one answer: the counts say why
        return []
