"""From what a model wrote to labels: `parse_label` for replies, `classify_narration` for narrations.

`reading` holds the results, `cleaning` what is taken off a reply before it is read (thinking, marks), `structured`
JSON and tagged answers, `options` echoed lists, `mentions` labels in running text, `scopes` what denies them.
"""

from __future__ import annotations

from ego_adr.parsing.cleaning import without_thinking
from ego_adr.parsing.narrations import classify_narration
from ego_adr.parsing.reading import KeywordVerdict, Parsed, Unparsed
from ego_adr.parsing.replies import is_refusal, parse_label

__all__ = [
    "KeywordVerdict",
    "Parsed",
    "Unparsed",
    "classify_narration",
    "is_refusal",
    "parse_label",
    "without_thinking",
]
