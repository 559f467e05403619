"""What reading a text gives: labels with the words they were read from, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ego_adr.taxonomies import Label

__all__ = ["Claim", "KeywordVerdict", "Parsed", "Reason", "Unparsed"]

#: Why no label could be read, the words they are counted under:
#:
#: empty                nothing was said
#: truncated            cut off before the verdict, or while thinking
#: refusal              the model said that it cannot or will not tell
#: all options listed   the list of labels came back with no choice in it
#: contradictory        one verdict says that the step is right and that it is wrong
#: not committed        labels were named, none of them was settled on
#: no label found       none of these, and no label
Reason = Literal[
    "empty", "truncated", "refusal", "all options listed", "contradictory", "not committed", "no label found"
]


class _Reading(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parsed(_Reading):
    """A reply that names a verdict.

    Attributes:
        label: display name of the first label.
        labels: all of them, in the order of the reply.
        evidence: the words they were read from.
    """

    status: Literal["ok"] = "ok"
    label: str
    labels: tuple[str, ...]
    reason: None = None
    evidence: tuple[str, ...] = ()


class Unparsed(_Reading):
    """A reply without a verdict. It is a status of its own and never counts as a label.

    Attributes:
        reason: the word it is counted under, see `Reason`.
        evidence: the words that gave the reason, where there are any.
    """

    status: Literal["unparsed"] = "unparsed"
    label: None = None
    labels: tuple[str, ...] = ()
    reason: Reason
    evidence: tuple[str, ...] = ()


class KeywordVerdict(_Reading):
    """What the vocabularies found in a narration.

    Attributes:
        status: ``ok``, or ``unparsed`` for a narration that says nothing.
        label: display name of the leading label, None when unparsed.
        labels: every label whose phrases were found, the leading one first.
        evidence: the phrases as the narration has them; empty when nothing was found, which means correct.
        reason: why it is unparsed.
    """

    status: Literal["ok", "unparsed"] = "ok"
    label: str | None
    labels: tuple[str, ...] = ()
    reason: Reason | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """Labels that a place in a reply commits to.

    Attributes:
        labels: without repetition, in order.
        at: index of its last character's end; of two claims that are as firm, the later one counts.
        firm: 3 a field, tag, marker or a line of its own; 2 a label that opens a line or sentence; 1 a mention.
        words: what it was read from.
        open: the text ends in the middle of it, so that a longer name may have been meant.
    """

    labels: tuple[Label, ...]
    at: int
    firm: int
    words: str
    open: bool = False
