"""The narration stage: what happens in the clip, in the model's words or in given ones."""

from __future__ import annotations

from collections.abc import Sequence

from ego_adr.parsing import is_refusal, without_thinking
from ego_adr.routes.base import Case, Kit
from ego_adr.types import Reply, Request

__all__ = ["narrate"]


def narrate(cases: Sequence[Case], kit: Kit, prompt: str) -> None:
    """Give every case its narration by the prompt of that name; narrations that were given are kept."""
    waiting: list[Case] = []
    for case in cases:
        if case.query.narration is None:
            waiting.append(case)
        else:
            _keep(case, case.query.narration)

    def build(case: Case) -> Request:
        rendered = kit.prompts.render(prompt, **case.variables(kit.taxonomy))
        return Request(prompt=rendered.text, max_tokens=rendered.max_tokens)

    def take(case: Case, reply: Reply) -> None:
        text = without_thinking(reply.text)
        if text is None:
            case.unparsed = "truncated narration"
            return
        if reply.finish_reason == "length":
            case.warn("narrate: the narration was cut at its token limit")
        _keep(case, text)

    kit.asker.pictures("narrate", kit.model, waiting, build, take)


def _keep(case: Case, text: str) -> None:
    case.narration = text.strip()
    if not case.narration:
        case.unparsed = "empty narration"
    elif is_refusal(case.narration):
        case.unparsed = "refused narration"
