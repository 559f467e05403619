"""Shallow decoupling (papers/002, section 5.2): match by words, a constrained narration, vocabularies."""

from __future__ import annotations

from collections.abc import Sequence

from ego_adr.parsing import classify_narration
from ego_adr.routes.base import Case, Kit
from ego_adr.routes.narrating import narrate
from ego_adr.routes.single_pass import SinglePassRoute
from ego_adr.routes.steps import find_banks, match_by_text, match_off

__all__ = ["ShallowRoute"]


class ShallowRoute:
    """TF-IDF (then Ratcliff/Obershelp) for the step, three short sentences for the clip, keywords for the label.

    Vocabularies see what a narration says outright. An error that only a comparison with the step can show
    (another object, another order) is found only where the narration itself calls it so.
    """

    name = "shallow"

    def run(self, cases: Sequence[Case], kit: Kit) -> None:
        if not kit.settings.narrate:
            SinglePassRoute().run(cases, kit)
            return
        find_banks(cases, kit, by_model=False)
        cases = [case for case in cases if case.open]
        if kit.settings.match == "off":
            match_off(cases)
        else:
            match_by_text(cases, method="published" if kit.settings.match == "auto" else kit.settings.match)
        narrate(cases, kit, "shallow/narrate")
        for case in cases:
            if not case.open or case.narration is None:
                continue
            verdict = classify_narration(case.narration, kit.taxonomy)
            if verdict.label is None:
                case.unparsed = verdict.reason
            else:
                case.label, case.labels, case.evidence = verdict.label, verdict.labels, verdict.evidence
            case.spend("classify")
