"""Action texts as data sets write them, made readable."""

from __future__ import annotations

import re
import unicodedata

from ego_adr.procedure.splitting import splitting_words

__all__ = ["clean_action"]

_WORD = r"[^\W\d_]+"
_HYPHEN = r"\s*[-–—]\s*"
# The same words on both sides of a hyphen, compounds included: "Re-insert-Re-insert the screw".
_REPEATED = re.compile(rf"^(?P<verb>\w[\w' -]*?){_HYPHEN}(?=(?P=verb)(?!\w))", re.IGNORECASE)
# One verb or "measure and add", a hyphen (blanks allowed round it), then the sentence.
_PREFIX = re.compile(rf"^(?P<verb>{_WORD}(?: {_WORD}){{0,2}})(?P<hyphen>{_HYPHEN})(?P<rest>\S.*)$", re.DOTALL)
_JOINED_VERBS = re.compile(rf"^{_WORD} (?:and|or) {_WORD}$", re.IGNORECASE)


def clean_action(text: str) -> str:
    """An action without the "Verb-" prefix of some data sets: "Add-Add 1 can tuna" -> "Add 1 can tuna".

    The prefix goes when the sentence behind it begins with the same verb or names it later, when it has blanks
    round its hyphen, or when it is a verb of instructions and the sentence has a capital of its own. An amount
    keeps its verb ("Add-1/2 tsp cumin" -> "Add 1/2 tsp cumin"). Compounds stay as they are: "stir-fry the
    rice", "Pre-heat the oven", "6-oz. can", "Turn-On the stove". Blanks are folded and Unicode is composed
    (NFC).
    """
    folded = " ".join(unicodedata.normalize("NFC", text).split())
    while (repeated := _REPEATED.match(folded)) is not None:
        folded = folded[repeated.end() :]
    found = _PREFIX.match(folded)
    if found is None:
        return folded
    verb, rest = found["verb"], found["rest"]
    if _begins_alike(verb, rest):
        return rest
    if (rest[0].isdigit() and len(rest.split()) > 1) or _JOINED_VERBS.match(verb):
        return f"{verb} {rest}"
    if len(rest.split()) > 2 and (
        found["hyphen"] != "-" or _names(verb, rest) or _sentence_of_its_own(verb, rest)
    ):
        return rest
    return folded


def _sentence_of_its_own(verb: str, rest: str) -> bool:
    words = splitting_words()
    first = re.match(_WORD, rest)
    return (
        verb.casefold() in words.verbs
        and first is not None
        and first[0].istitle()
        and first[0].casefold() not in words.particles
    )


def _begins_alike(verb: str, rest: str) -> bool:
    """Whether the sentence begins with a form of the verb ("chopping - Chop the onion", "saute-Sauté it")."""
    first = re.match(_WORD, rest)
    if first is None or " " in verb or rest[first.end() : first.end() + 1] == "-":
        return False
    a, b = _bare(verb), _bare(first[0])
    if a == b:
        return True
    return len(a) > 3 and len(b) > 3 and (a.startswith(b) or b.startswith(a)) and len(rest.split()) > 1


def _names(verb: str, rest: str) -> bool:
    return re.search(rf"\b{re.escape(_bare(verb))}\b", _bare(rest)) is not None


def _bare(text: str) -> str:
    """Without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))
