"""Deep decoupling (papers/002, section 5.2): the model matches, narrates, and classifies from text alone."""

from __future__ import annotations

from collections.abc import Sequence

from ego_adr.prompting import RenderedPrompt
from ego_adr.routes.base import Case, Kit
from ego_adr.routes.deciding import decide
from ego_adr.routes.narrating import narrate
from ego_adr.routes.steps import find_banks, match_by_model, match_by_text, match_off

__all__ = ["DeepRoute"]


class DeepRoute:
    """Bank and match by the model, a free narration, and a text-only comparison of the two.

    Without a narration the classification sees the pictures with the matched context (the third row of
    the paper's table 6); without both it is the single-pass question.
    """

    name = "deep"

    def run(self, cases: Sequence[Case], kit: Kit) -> None:
        find_banks(cases, kit, by_model=True)
        cases = _open(cases)
        if kit.settings.match == "off":
            match_off(cases)
        elif kit.settings.match == "auto":
            match_by_model(cases, kit)
        else:
            match_by_text(cases, method=kit.settings.match)
        cases = _open(cases)
        if not kit.settings.narrate:
            self._classify_pictures(cases, kit)
            return
        narrate(cases, kit, "deep/narrate")

        def render(case: Case) -> RenderedPrompt:
            return kit.prompts.render("deep/classify", **case.variables(kit.taxonomy))

        decide(
            "classify",
            _open(cases),
            kit,
            lambda stage, some, build, take: kit.asker.text(stage, kit.model, some, build, take),
            render,
        )

    def _classify_pictures(self, cases: Sequence[Case], kit: Kit) -> None:
        decide(
            "classify",
            cases,
            kit,
            lambda stage, some, build, take: kit.asker.pictures(stage, kit.model, some, build, take),
            lambda case: kit.prompts.render("single-pass/answer", **case.variables(kit.taxonomy)),
        )


def _open(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.open]
