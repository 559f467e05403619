"""Open-end questions: an answer in words by any route."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ego_adr.errors import DataError
from ego_adr.parsing import is_refusal, without_thinking
from ego_adr.routes.asking import Asker, Progress
from ego_adr.routes.base import Case, Kit
from ego_adr.routes.narrating import narrate
from ego_adr.routes.steps import find_banks, match_by_model, match_by_text, match_off
from ego_adr.types import Detection, FrameSequence, Query, Reply, Request

if TYPE_CHECKING:
    from ego_adr.benchmarks.samples import Sample
    from ego_adr.detector import EgoADR

__all__ = ["OPEN_END_ROUTES", "OpenEndAnswerer"]


class OpenEndAnswerer:
    """Answers questions with the model, prompts and switches of a detector.

    It has the `detect_many` that a run needs. An answer stands in ``evidence`` of its detection; ``label``
    stays None, for no label is asked.

    Args:
        detector: gives model, route (the probe's where it is ``auto``), prompts and settings.
        samples: the questions that will be asked.

    Raises:
        DataError: when a sample has no question, or the route has no way to answer one.
    """

    def __init__(self, detector: EgoADR, samples: Sequence[Sample]) -> None:
        silent = [sample.id for sample in samples if not sample.shown.question]
        if silent:
            raise DataError(
                f"{len(silent)} samples have no question, {silent[0]!r} first: this is no open-end benchmark."
            )
        self._detector = detector
        self._questions = {sample.id: str(sample.shown.question) for sample in samples}
        self.model = detector.model
        self.bank_model = detector.bank_model
        self.settings = detector.settings
        self.taxonomy = detector.taxonomy
        self.prompts = detector.prompts
        self.route, self._reason = detector.choose_route()
        self._whole = None if detector.judge is None else detector.judge.answerer(samples)
        if self._whole is None and self.route not in OPEN_END_ROUTES:
            raise DataError(
                f"the route {self.route!r} answers no open-end question; these do: {', '.join(OPEN_END_ROUTES)}."
            )

    @property
    def progress(self) -> Progress | None:
        """The detector's own; set it and the detector tells of its stages."""
        return self._detector.progress

    @progress.setter
    def progress(self, value: Progress | None) -> None:
        self._detector.progress = value

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
        """One detection a query, with the answer as its evidence."""
        if self._whole is not None:
            found: list[Detection] = self._whole.detect_many(queries)
            return found
        cases = [Case(query=query) for query in queries]
        asker = Asker(self._load, progress=self._detector.progress)
        kit = Kit(self.model, self.bank_model, self.prompts, self.taxonomy, asker, self.settings)
        answers: dict[int, str] = {}
        OPEN_END_ROUTES[self.route](cases, kit, self._questions, answers)
        return [self._detection(case, answers.get(id(case))) for case in cases]

    def _load(self, case: Case) -> FrameSequence:
        from ego_adr.video import sample_clip

        return sample_clip(
            case.query.clip, self.settings.frames, longer_side=self.settings.longer_side, warn=False
        )

    def _detection(self, case: Case, answer: str | None) -> Detection:
        if case.failure is None and case.unparsed is None and answer is None:
            case.unparsed = "no answer"
        failed, unparsed = case.failure is not None, case.unparsed is not None
        match = case.match
        return Detection(
            status="failed" if failed else ("unparsed" if unparsed else "ok"),
            reason=None if failed else case.unparsed,
            failure=case.failure,
            id=case.query.id,
            video=str(case.query.clip.source),
            start=case.start,
            end=case.end,
            action=case.query.action,
            procedure=case.bank.title if case.bank else None,
            route=self.route,
            route_reason=self._reason,
            match=match,
            step=case.step_text(match.index if match else None) or None,
            previous_step=case.step_text(match.previous if match else None) or None,
            next_step=case.step_text(match.next if match else None) or None,
            narration=case.narration,
            evidence=(answer,) if answer and not failed and not unparsed else (),
            frame_times=case.frame_times,
            warnings=tuple(case.warnings),
            stages=tuple(case.uses.values()),
            exchanges=tuple(case.exchanges),
            model=self.model.name,
            taxonomy=self.taxonomy.name,
        )


Answers = dict[int, str]
#: The mark that open-end/think-and-answer.md asks for before the answer, however a model dresses it.
_ANSWER = re.compile(r"\**\banswer\b\**\s*:\**", re.IGNORECASE)
_Route = Callable[[Sequence[Case], Kit, Mapping[str, str], Answers], None]


def _single_pass(cases: Sequence[Case], kit: Kit, questions: Mapping[str, str], answers: Answers) -> None:
    find_banks(cases, kit, by_model=False)
    match_off(_open(cases))
    _ask(cases, kit, questions, answers, "open-end/answer", pictures=True)


def _think(cases: Sequence[Case], kit: Kit, questions: Mapping[str, str], answers: Answers) -> None:
    find_banks(cases, kit, by_model=False)
    match_off(_open(cases))
    _ask(cases, kit, questions, answers, "open-end/think-and-answer", pictures=True, last_line=True)


def _deep(cases: Sequence[Case], kit: Kit, questions: Mapping[str, str], answers: Answers) -> None:
    find_banks(cases, kit, by_model=True)
    if kit.settings.match == "off":
        match_off(_open(cases))
    elif kit.settings.match == "auto":
        match_by_model(_open(cases), kit)
    else:
        match_by_text(_open(cases), method=kit.settings.match)
    narrate(_open(cases), kit, "deep/narrate")
    _ask(cases, kit, questions, answers, "open-end/answer-from-narration", pictures=False)


def _shallow(cases: Sequence[Case], kit: Kit, questions: Mapping[str, str], answers: Answers) -> None:
    find_banks(cases, kit, by_model=False)
    if kit.settings.match == "off":
        match_off(_open(cases))
    else:
        match_by_text(
            _open(cases), method="published" if kit.settings.match == "auto" else kit.settings.match
        )
    narrate(_open(cases), kit, "shallow/narrate")
    _ask(cases, kit, questions, answers, "open-end/answer", pictures=True)


OPEN_END_ROUTES: Mapping[str, _Route] = {
    "deep": _deep,
    "shallow": _shallow,
    "single-pass": _single_pass,
    "cot": _think,
}


def _ask(
    cases: Sequence[Case],
    kit: Kit,
    questions: Mapping[str, str],
    answers: Answers,
    prompt: str,
    *,
    pictures: bool,
    last_line: bool = False,
) -> None:
    def build(case: Case) -> Request:
        offered: dict[str, Any] = case.variables(kit.taxonomy) | {"question": questions[str(case.query.id)]}
        made = kit.prompts.render(prompt, **offered)
        return Request(prompt=made.text, max_tokens=made.max_tokens)

    def take(case: Case, reply: Reply) -> None:
        text = without_thinking(reply.text)
        parts = _ANSWER.split(text) if text is not None and last_line else [text or ""]
        if text is None or (last_line and len(parts) == 1 and reply.finish_reason == "length"):
            case.unparsed = "truncated"
            return
        said = parts[-1].strip()
        if not said:
            case.unparsed = "empty"
        elif is_refusal(said):
            case.unparsed = "refusal"
        else:
            answers[id(case)] = said

    ask = kit.asker.pictures if pictures else kit.asker.text
    ask("answer", kit.model, _open(cases), build, take)


def _open(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.open]
