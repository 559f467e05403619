"""From a question over the labels to a label: reading the reply, or comparing likelihoods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ego_adr.parsing import Unparsed, parse_label
from ego_adr.prompting import RenderedPrompt
from ego_adr.routes.base import Case, Kit
from ego_adr.types import ChoiceScore, Reply, Request

__all__ = ["decide", "normalised", "read_verdict"]

Ask = Callable[[str, Sequence[Case], Callable[[Case], Request], Callable[[Case, Reply], None]], None]
Render = Callable[[Case], RenderedPrompt]

#: A narration that says nothing: what a model answers to it is its bias (content-free calibration).
NO_EVIDENCE = "N/A"


def read_verdict(case: Case, reply: Reply, kit: Kit) -> None:
    """Write the label that a reply names on its case, or why none could be read."""
    verdict = parse_label(reply.text, kit.taxonomy, finish_reason=reply.finish_reason)
    if isinstance(verdict, Unparsed):
        case.unparsed = verdict.reason
        return
    case.label, case.labels, case.evidence = verdict.label, verdict.labels, verdict.evidence


def normalised(scores: Sequence[ChoiceScore], prior: Mapping[str, float] | None = None) -> dict[str, float]:
    """Probabilities over a closed list from log-likelihoods (softmax), less a prior's where there is one.

    Args:
        scores: one entry a choice; ``logprob`` is summed over the choice's tokens.
        prior: log-likelihoods of the same choices without evidence, subtracted before the softmax.
    """
    values = {s.choice: s.logprob - (prior[s.choice] if prior else 0.0) for s in scores}
    top = max(values.values())
    weights = {choice: math.exp(value - top) for choice, value in values.items()}
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()}


def decide(stage: str, cases: Sequence[Case], kit: Kit, ask: Ask, render: Render) -> None:
    """Ask for the label in the way the settings say.

    ``score`` falls back to reading the text, case by case, where the backend gives no likelihoods; that is
    said in the case's warnings.
    """
    mode = kit.settings.decide
    if mode == "text":
        ask(
            stage,
            cases,
            lambda case: _request(render(case)),
            lambda case, reply: read_verdict(case, reply, kit),
        )
        return
    if mode == "two-step":
        _correct_or_not(cases, kit)
        cases = [case for case in cases if case.open]
    labels = (
        tuple(kit.taxonomy.names)
        if mode == "score"
        else tuple(label.name for label in kit.taxonomy.labels if label.is_error)
    )
    _score(stage, cases, kit, ask, render, labels)


def _score(
    stage: str, cases: Sequence[Case], kit: Kit, ask: Ask, render: Render, labels: tuple[str, ...]
) -> None:
    priors: dict[int, Mapping[str, float]] = {}
    if kit.settings.calibrate:
        # One content-free call per distinct context: the same prompt with the evidence taken out.
        def blank(case: Case) -> Request:
            kept, case.narration = case.narration, NO_EVIDENCE
            try:
                return replace(_request(render(case)), choices=labels)
            finally:
                case.narration = kept

        def keep(case: Case, reply: Reply) -> None:
            if reply.scores is not None:
                priors[id(case)] = {s.choice: s.logprob for s in reply.scores}

        kit.asker.text(f"{stage}-prior", kit.model, cases, blank, keep)
        cases = [case for case in cases if case.open]

    def take(case: Case, reply: Reply) -> None:
        if reply.scores is None:
            case.warn(f"{stage}: the backend gives no likelihoods, so the reply was read instead")
            read_verdict(case, reply, kit)
            return
        prior = priors.get(id(case))
        if kit.settings.calibrate and prior is None:
            case.warn(f"{stage}: there is no content-free prior, so none was subtracted")
        found = normalised(reply.scores, prior)
        rest = dict(case.probabilities or {})
        share = 1.0 - sum(rest.values())
        case.probabilities = rest | {label: p * share for label, p in found.items()}
        case.label = max(found, key=lambda label: found[label])
        case.labels = (case.label,)

    ask(stage, cases, lambda case: replace(_request(render(case)), choices=labels), take)


def _correct_or_not(cases: Sequence[Case], kit: Kit) -> None:
    """The first half of the two-step decision. A case found correct has its label afterwards."""
    yes, no = "yes", "no"
    correct = kit.taxonomy.correct.name

    def build(case: Case) -> Request:
        prompt = kit.prompts.render("deep/is-correct", **case.variables(kit.taxonomy))
        return replace(_request(prompt), choices=(yes, no))

    def take(case: Case, reply: Reply) -> None:
        if reply.scores is not None:
            found = normalised(reply.scores)
            case.probabilities = {correct: found[yes]}
            said = yes if found[yes] >= found[no] else no
        else:
            words = reply.text.casefold().replace(".", " ").replace(",", " ").split()
            said = next((word for word in words if word in (yes, no)), "")
        if said == yes:
            case.label, case.labels = correct, (correct,)
        elif said != no:
            case.unparsed = "no yes or no"

    kit.asker.text("classify", kit.model, cases, build, take)


def _request(prompt: RenderedPrompt) -> Request:
    return Request(prompt=prompt.text, max_tokens=prompt.max_tokens)
