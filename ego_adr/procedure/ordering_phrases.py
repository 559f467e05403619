"""Noun phrases of instructions: "1/4 tsp salt", "the contents of the bowl", "a can of tuna"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ego_adr.procedure.ordering_words import base_verb, reading_words, singular

__all__ = ["NUMBER", "NounPhrase", "noun_phrase", "phrases_in", "tokens"]


@dataclass(frozen=True)
class NounPhrase:
    """A thing as a step names it.

    Attributes:
        words: its nouns in the singular, in order; the last is the head. Empty for "it", "all the contents".
        parts: words for a part or form of it ("slice", "end").
        marks: adjectives that tell two vessels apart ("small", "mixing").
        definite: "the ...". indefinite: "a ...". quantified: a number or a measure stands before it.
        everything: "all", "contents", "the rest of". pronoun: "it", "them".
        held_in: the vessel it comes in ("a can of tuna": can).
    """

    words: tuple[str, ...]
    parts: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    definite: bool = False
    indefinite: bool = False
    quantified: bool = False
    everything: bool = False
    pronoun: bool = False
    held_in: str | None = None

    @property
    def head(self) -> str:
        return self.words[-1] if self.words else ""

    @property
    def empty(self) -> bool:
        return not (self.words or self.parts or self.everything or self.pronoun)


TOKEN = re.compile(r"'s\b|\d+(?:[./]\d+)?(?:-\d+)?|[½¼¾⅓⅔⅛]|[^\W\d_]+(?:['’-][^\W\d_]+)*|[,;.]")

NUMBER = re.compile(r"[\d½¼¾⅓⅔⅛]")

_NUMBERS = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "half"}


def tokens(text: str) -> list[str]:
    return [token.replace("’", "'") for token in TOKEN.findall(text)]


def phrases_in(words: Sequence[str]) -> list[NounPhrase]:
    """The noun phrases of a list such as "the carrots, onion and 1/4 tsp pepper"."""
    found: list[NounPhrase] = []
    chunk: list[str] = []
    for word in [*words, ","]:
        if word in (",", "and", "or", "&", ";", "."):
            phrase = noun_phrase(chunk)
            if not phrase.empty:
                found.append(phrase)
            chunk = []
        else:
            chunk.append(word)
    return found


def noun_phrase(words: Sequence[str]) -> NounPhrase:
    lists = reading_words()
    if "of" in words:
        at = list(words).index("of")
        whole, inner = list(words[:at]), noun_phrase(words[at + 1 :])
        outer = noun_phrase(whole)
        held = next((w for w in outer.words if w in lists.vessel_units), None)
        extra = (
            ()
            if held
            else tuple(
                w
                for w in outer.words
                if w not in lists.units and w not in lists.everything and w not in lists.vessels
            )
        )
        return NounPhrase(
            words=(*extra, *inner.words) if inner.words else outer.words,
            parts=(*outer.parts, *inner.parts),
            marks=inner.marks,
            definite=inner.definite or (outer.definite and not inner.indefinite),
            indefinite=inner.indefinite,
            quantified=outer.quantified or inner.quantified or any(singular(w) in lists.units for w in whole),
            everything=outer.everything or inner.everything,
            pronoun=inner.pronoun,
            held_in=held,
        )
    if "'s" in words:
        at = list(words).index("'s")
        return noun_phrase([*words[at + 1 :], "of", *words[:at]])
    nouns: list[str] = []
    parts: list[str] = []
    marks: set[str] = set()
    definite = indefinite = quantified = everything = pronoun = False
    held_in: str | None = None
    for i, word in enumerate(words):
        one, last = singular(word), i == len(words) - 1
        if NUMBER.match(word) or word in _NUMBERS:
            quantified = True
        elif word in lists.pronouns and len(words) == 1:
            pronoun = True
        elif word in lists.determiners:
            definite = True
        elif word in lists.indefinite:
            indefinite = True
        elif one in lists.everything:
            everything = True
        elif (word in lists.vessel_adjectives or word in lists.colours) and not last:
            marks.add(word)
        elif one in lists.vessel_units and quantified and not last:
            held_in = one
        elif one in lists.units and (quantified or (indefinite and not last)) and not (last and nouns):
            quantified, indefinite = True, False
        elif one in lists.parts:
            parts.append(one)
        elif (
            (
                (word in lists.adjectives or (word.endswith("ly") and word not in lists.ly_nouns))
                and word != one + "s"
            )
            or "-" in word
            or _is_form(word, singular(words[-1]))
        ):
            continue
        else:
            nouns.append(one)
    if parts and not nouns and marks & lists.colours:
        nouns, parts = parts, []  # "the red cube" is a thing; "the cubes" are a form of one
    return NounPhrase(
        tuple(nouns),
        tuple(parts),
        frozenset(marks),
        definite,
        indefinite,
        quantified,
        everything,
        pronoun,
        held_in,
    )


def _is_form(word: str, head: str) -> bool:
    """A form that tells how a thing is or what it is for ("chopped", "cutting board"), and names none."""
    lists = reading_words()
    if word.endswith("ed") and len(word) > 4 and not word.endswith("eed"):
        return True
    if word.endswith("ing") and word not in lists.ing_nouns and base_verb(word) is not None:
        return head == word or head in lists.vessels or head in lists.tools
    return False
