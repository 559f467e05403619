"""What a server can do, found once from its own answers and remembered for as long as the backend lives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Abilities", "ChoiceWay"]

ChoiceWay = Literal["structured_outputs", "response_format", "none"]


@dataclass
class Abilities:
    """What was found out about one server and model. None means: not found out yet.

    Attributes:
        choices: how it holds an answer to a closed list; ``none``: it cannot.
        candidates: the ways that are still to be tried, best first.
        logprobs: whether likelihoods were in an answer that asked for them.
        images: most pictures a request, where a refusal said so.
        text_only: whether a request without pictures was answered.
        limit_field: what it calls the token limit.
        refused: fields that it refused and that are no longer sent.
    """

    choices: ChoiceWay | None = None
    candidates: tuple[ChoiceWay, ...] = ("structured_outputs", "response_format")
    logprobs: bool | None = None
    images: int | None = None
    text_only: bool | None = None
    limit_field: str = "max_tokens"
    refused: set[str] = field(default_factory=set)

    def ways(self) -> tuple[ChoiceWay, ...]:
        """The ways to ask for a closed list, best first."""
        return (self.choices,) if self.choices is not None else (*self.candidates, "none")

    def rule_out(self, way: ChoiceWay) -> None:
        """This way was refused or not kept to."""
        self.candidates = tuple(left for left in self.candidates if left != way)
        if self.choices == way or not self.candidates:
            self.choices = None if self.candidates else "none"

    def learn_from_refusal(self, message: str, optional: set[str]) -> bool:
        """Take a refusal of fields to heart. Returns whether it named any that asking again can leave out."""
        renamed = "max_completion_tokens" if self.limit_field == "max_tokens" else "max_tokens"
        if re.search(r"\bmax_completion_tokens\b", message) and re.search(r"\bmax_tokens\b", message):
            self.limit_field = renamed
            return True
        named = {name for name in optional if re.search(rf"\b{name}\b", message)}
        self.refused |= named
        return bool(named)
