"""Chain-of-thought: the single-pass question with "think step by step"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ego_adr.routes.base import Case, Kit
from ego_adr.routes.single_pass import SinglePassRoute

__all__ = ["ChainOfThoughtRoute"]


class ChainOfThoughtRoute(SinglePassRoute):
    """Reasons first, verdict last; the verdict is always read from the text, since reasoning comes before it."""

    name = "cot"
    prompt = "cot/answer"

    def run(self, cases: Sequence[Case], kit: Kit) -> None:
        super().run(cases, replace(kit, settings=replace(kit.settings, decide="text")))
