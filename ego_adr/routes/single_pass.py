"""Single pass: procedure, definitions, pictures and question in one prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ego_adr.routes.base import Case, Kit
from ego_adr.routes.deciding import decide
from ego_adr.routes.steps import find_banks, match_by_text, match_off

__all__ = ["SinglePassRoute"]


class SinglePassRoute:
    """The baseline: the whole question at once. A textual matcher in the settings prunes its procedure."""

    name = "single-pass"
    prompt = "single-pass/answer"

    def run(self, cases: Sequence[Case], kit: Kit) -> None:
        find_banks(cases, kit, by_model=False)
        cases = [case for case in cases if case.open]
        if kit.settings.match in ("published", "recommended"):
            match_by_text(cases, method=kit.settings.match)
        else:
            match_off(cases)
        decide(
            "classify",
            cases,
            kit,
            lambda stage, some, build, take: kit.asker.pictures(stage, kit.model, some, build, take),
            lambda case: kit.prompts.render(self.prompt, **case.variables(kit.taxonomy)),
        )
