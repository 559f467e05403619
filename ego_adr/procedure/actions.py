"""Action texts as data sets write them, made readable."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean_action"]

_WORD = r"[^\W\d_]+"
# One verb or "measure and add", a hyphen (blanks allowed round it), then the sentence.
_PREFIX = re.compile(
    rf"^(?P<verb>{_WORD}(?: {_WORD}){{0,2}})(?P<hyphen>\s*[-–—]\s*)(?P<rest>\S.*)$", re.DOTALL
)
_JOINED_VERBS = re.compile(rf"^{_WORD} (?:and|or) {_WORD}$", re.IGNORECASE)


def clean_action(text: str) -> str:
    """An action without the "Verb-" prefix of some data sets: "Add-Add 1 can tuna" -> "Add 1 can tuna".

    The prefix goes when the sentence behind it begins with the same verb, has blanks round its hyphen, begins
    with a capital, or names the verb later. An amount keeps its verb ("Add-1/2 tsp cumin" -> "Add 1/2 tsp
    cumin"). Compounds stay as they are: "stir-fry the rice", "Pre-heat the oven", "6-oz. can". Blanks are
    folded and Unicode is composed (NFC).
    """
    folded = " ".join(unicodedata.normalize("NFC", text).split())
    found = _PREFIX.match(folded)
    if found is None:
        return folded
    verb, rest = found["verb"], found["rest"]
    if _begins_alike(verb, rest):
        return rest
    if rest[0].isdigit() or _JOINED_VERBS.match(verb):
        return f"{verb} {rest}"
    sentence = len(rest.split()) > 2
    if sentence and (
        found["hyphen"] != "-" or (rest[0].isupper() and rest[1:2].islower()) or _names(verb, rest)
    ):
        return rest
    return folded


def _begins_alike(verb: str, rest: str) -> bool:
    """Whether the sentence begins with the verb, in any form of it ("chopping - Chop the onion")."""
    if rest.casefold().startswith(verb.casefold()):
        following = rest[len(verb) : len(verb) + 1]
        return not following.isalnum() and following != "-"
    if " " in verb:
        return False
    first = re.match(_WORD, rest)
    a, b = verb.casefold(), (first[0].casefold() if first else "")
    return len(a) > 3 and len(b) > 3 and (a.startswith(b) or b.startswith(a)) and len(rest.split()) > 1


def _names(verb: str, rest: str) -> bool:
    return re.search(rf"\b{re.escape(verb.casefold())}\b", rest.casefold()) is not None
