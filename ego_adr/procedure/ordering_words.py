"""The words that the order of step texts is read with: verbs and their kinds, vessels, tools, joining words.

They are data (``taxonomy/ordering-verbs.yaml``, ``taxonomy/ordering-words.yaml``).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields
from typing import Any

import yaml

from ego_adr.errors import TaxonomyError
from ego_adr.resources import taxonomy_folder

__all__ = [
    "ReadingWords",
    "base_verb",
    "content_words",
    "is_optional",
    "reading_words",
    "singular",
    "step_key",
    "step_words",
]


@dataclass(frozen=True)
class ReadingWords:
    """The word lists, as sets. ``kind_of`` maps a verb to its kind; ``phrases`` are the clause openers."""

    kind_of: dict[str, str]
    heating: frozenset[str]
    heated_vessels: frozenset[str]
    place_first: frozenset[str]
    covers_with_over: frozenset[str]
    heat_words: frozenset[str]
    uncooked: frozenset[str]
    off_the_fire: frozenset[str]
    optional: tuple[str, ...]
    auxiliaries: frozenset[str]
    purposes: frozenset[str]
    led_by_to: frozenset[str]
    ing_nouns: frozenset[str]
    ly_nouns: frozenset[str]
    plates: frozenset[str]
    surfaces: frozenset[str]
    when: tuple[str, ...]
    during: tuple[str, ...]
    ignored: tuple[str, ...]
    no_act: frozenset[str]
    purpose_makers: frozenset[str]
    by: frozenset[str]
    undoing: frozenset[str]
    prepositions: frozenset[str]
    into: frozenset[str]
    determiners: frozenset[str]
    indefinite: frozenset[str]
    pronouns: frozenset[str]
    everything: frozenset[str]
    units: frozenset[str]
    vessel_units: frozenset[str]
    parts: frozenset[str]
    products: frozenset[str]
    raw: frozenset[str]
    vessels: frozenset[str]
    appliances: frozenset[str]
    tools: frozenset[str]
    adjectives: frozenset[str]
    vessel_adjectives: frozenset[str]
    colours: frozenset[str]
    separate: frozenset[str]
    categories: dict[str, frozenset[str]]


@functools.lru_cache(maxsize=1)
def reading_words() -> ReadingWords:
    """The word lists of the package.

    Raises:
        TaxonomyError: when a file is broken; the message says which entry.
    """
    verbs, words = _table("ordering-verbs.yaml"), _table("ordering-words.yaml")
    found: dict[str, Any] = {
        "kind_of": {verb: kind for kind, listed in verbs["kinds"].items() for verb in _strings(listed, kind)},
        "categories": {
            name: frozenset(_strings(listed, name)) for name, listed in words["categories"].items()
        },
    }
    for entry in fields(ReadingWords):
        name = entry.name.replace("_", "-")
        if entry.name not in found:
            listed = _strings(verbs.get(name, words.get(name)), name)
            found[entry.name] = tuple(listed) if entry.name in _PHRASES else frozenset(listed)
    return ReadingWords(**found)


#: Lists of phrases of several words; the others hold single words.
_PHRASES = {"optional", "when", "during", "ignored"}


def _table(name: str) -> dict[str, Any]:
    path = taxonomy_folder() / name
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as exc:
        raise TaxonomyError(f"{path} cannot be read: {exc}. Reinstall ego-adr or correct the file.") from exc
    if not isinstance(data, dict):
        raise TaxonomyError(f"{path} must hold a mapping of word lists, not {type(data).__name__}.")
    return data


def _strings(listed: Any, name: str) -> list[str]:
    if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
        raise TaxonomyError(
            f'the word list {name!r} must be a list of words; put words such as "on" or "no" in quotes.'
        )
    return listed


# ------------------------------------------------------------------------------------------------ words


def step_key(text: str) -> str:
    """The form in which step texts are compared: case, marks and doubled spaces do not count."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


_PREFIX = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+){0,2}) ?-(?=\S)(.*)\Z", re.DOTALL)


def step_words(text: str) -> str:
    """A step's sentence, without the verb that CaptainCook4D writes before a hyphen.

    ``Add-Add salt`` is ``Add salt`` and ``Add-1/2 tsp salt`` is ``Add 1/2 tsp salt``; a hyphen inside a word
    (``low-fat milk``) stays. What stands before the hyphen must be a verb of the verb table, or come again.
    """
    found = _PREFIX.match(text)
    if found is None:
        return text.strip()
    before, rest = found.group(1), found.group(2).strip()
    if re.search(rf"\b{re.escape(before)}", rest, re.IGNORECASE):
        return rest
    verbs = [word for word in before.casefold().split() if word not in ("and", "or")]
    known = all(base_verb(verb) is not None for verb in verbs)
    joined = before.casefold() + "-" + (rest.split() or [""])[0].casefold()
    if not known or joined in reading_words().kind_of:
        return text.strip()
    # "add-Measure 1/8 tsp salt and add it": the sentence has the verb further on.
    opening = base_verb((rest.split() or [""])[0].casefold())
    return rest if opening is not None and rest[:1].isupper() else f"{before} {rest}"


def is_optional(text: str) -> bool:
    """Whether a step leaves it to the person ("top with parmesan if desired")."""
    key = f" {step_key(text)} "
    return any(f" {words} " in key for words in reading_words().optional)


@functools.lru_cache(maxsize=8192)
def base_verb(word: str) -> str | None:
    """The verb of the table that a word is a form of, None when it is none."""
    kinds = reading_words().kind_of
    if word in kinds:
        return word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            for form in (stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem):
                if form in kinds:
                    return form
    return None


_IRREGULAR = {
    "leaves": "leaf",
    "knives": "knife",
    "halves": "half",
    "loaves": "loaf",
    "potatoes": "potato",
    "tomatoes": "tomato",
}


@functools.lru_cache(maxsize=8192)
def singular(word: str) -> str:
    """The singular of an English noun, as far as its ending shows it."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def content_words(text: str) -> frozenset[str]:
    """The nouns and unknown words of a text, in the singular."""
    words = reading_words()
    left_out = (
        words.determiners
        | words.indefinite
        | words.prepositions
        | words.pronouns
        | words.adjectives
        | words.units
    )
    found = set()
    for word in re.findall(r"[^\W\d_]+", step_words(text).casefold()):
        if word not in left_out and word != "and" and base_verb(word) is None:
            found.add(singular(word))
    return frozenset(found)
