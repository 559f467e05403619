"""Phrases as people write them in taxonomy files, made into patterns that know inflections.

A phrase is a row of words with a few signs:

    {spill}          every form of the verb: spill, spills, spilled, spilling; irregular forms are in the data
    (lid|cap|top)    one of these; an alternative may have several words and signs of its own
    [by mistake]     may be there or not; alternatives as above
    ...              up to six words of the same clause
    <equipment>      one of a named list of words (``words`` in the data)
    *                any one word;  *ing  any one word that ends so
    !(way|side)      the next words are none of these (they are not part of the phrase)
    ^  |             as the first or last sign: here a clause begins or ends (``|`` stands alone)

Words are matched without regard to case; a hyphen counts as a space.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ego_adr.errors import DataError, TaxonomyError
from ego_adr.reading import read_text, yaml_value
from ego_adr.resources import taxonomy_folder

__all__ = ["English", "Phrase", "Phrases", "english", "inflections", "phrase_pattern"]

_GAP = r"(?:[\s\-]+[^\s,;:.!?()\[\]\-]+){0,6}?"
_SPACE = r"[\s\-]+"
# Latin letters and digits only: a Chinese or Japanese sentence leaves no space round an English word.
_BEGIN, _END = r"(?<![A-Za-zÀ-ɏ0-9])", r"(?![A-Za-zÀ-ɏ0-9])"
_CLAUSE_BEGINS = r"(?:(?<=[,;:.!?()\n])\s*|^\s*)"
_CLAUSE_ENDS = r"(?=\s*(?:[,;:.!?()\n]|[-–—]\s|$))"
_LOOK_BACK = 80
_MARKS = (":", "=", "-", ",")
#: Ends of words are looked for in words of up to this many letters; scripts without blanks have longer runs.
_LONGEST_WORD = 40
_WORD = r"[^\W_]+(?:['’][^\W_]+)*"
_SIGNS = re.compile(
    r"\{[^{}]*\}|<[^<>]*>|\.\.\.|!\(|[()\[\]|^]|[:,](?=\s|$)|[^\s{}<>()\[\]|^!,]+|.", re.DOTALL
)


class English(BaseModel):
    """What the readers of replies and narrations need to know of the language (``taxonomy/english.yaml``).

    Attributes:
        verbs: irregular forms of verbs, third person and -ing form left out where they are regular.
        words: named lists of words and phrases that phrases may use as ``<name>``.
        patterns: named lists of phrases that the readers themselves use (negations, refusals, markers ...).
        names: named lists of plain strings that the readers compare (names of fields, of tags ...).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verbs: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    patterns: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def pattern(self, name: str) -> str:
        """One regular expression for all phrases of a named list.

        Raises:
            TaxonomyError: when there is no such list.
        """
        if name not in self.patterns:
            raise TaxonomyError(
                f"english.yaml holds no list {name!r} under 'patterns'; it has {', '.join(self.patterns)}."
            )
        return "(?:" + "|".join(phrase_pattern(phrase, self) for phrase in self.patterns[name]) + ")"


def english() -> English:
    """The language data that comes with the package, read once.

    Raises:
        TaxonomyError: when the file cannot be read or breaks its shape.
    """
    return _read_english(taxonomy_folder() / "english.yaml")


@functools.lru_cache(maxsize=2)
def _read_english(path: Path) -> English:
    try:
        return English.model_validate(yaml_value(read_text(path), str(path)))
    except (DataError, ValidationError) as exc:
        raise TaxonomyError(f"{path} cannot be read: {exc}. Reinstall ego-adr.") from exc


def inflections(verb: str, irregular: Iterable[str] = ()) -> tuple[str, ...]:
    """Every form of an English verb; spellings that may double the last consonant come both ways.

    Args:
        verb: the base form.
        irregular: forms that replace the regular past; -s and -ing are always made.
    """
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
    stems = [stem]
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprtv]", verb) or re.fullmatch(r"\w+[aeiou][lpt]", verb):
        stems.append(verb + verb[-1])
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        third = verb + "es"
    elif re.search(r"[^aeiou]y$", verb):
        third = verb[:-1] + "ies"
    else:
        third = verb + "s"
    irregular = tuple(irregular)
    if irregular:
        past: list[str] = list(irregular)
    elif re.search(r"[^aeiou]y$", verb):
        past = [verb[:-1] + "ied"]
    else:
        past = [s + "ed" for s in stems]
    continuous = [verb[:-2] + "ying"] if verb.endswith("ie") else [s + "ing" for s in stems]
    return tuple(dict.fromkeys([verb, third, *past, *continuous]))


def phrase_pattern(phrase: str, language: English | None = None) -> str:
    """The regular expression of a phrase, to be searched without regard to case.

    Raises:
        ValueError: when brackets do not match, or a named list is unknown.
    """
    return _Builder(phrase, language or english()).build()


class _Builder:
    """Reads the signs of one phrase from left to right."""

    def __init__(self, phrase: str, language: English) -> None:
        self._phrase = phrase
        self._language = language
        self._signs = [sign for sign in _SIGNS.findall(phrase) if not sign.isspace()]
        self._at = 0

    def build(self) -> str:
        if not self._signs:
            raise ValueError("a phrase is empty")
        begins = self._signs[0] == "^"
        ends = len(self._signs) > 1 and self._signs[-1] == "|"
        self._signs = self._signs[begins : len(self._signs) - ends]
        body = self._sequence(closing=None)
        word_begins = "" if self._signs[0] in _MARKS else _BEGIN
        word_ends = "" if self._signs[-1] in _MARKS else _END
        return f"(?:{_CLAUSE_BEGINS if begins else ''}{word_begins}{body}{word_ends}{_CLAUSE_ENDS if ends else ''})"

    def body(self) -> str:
        """The phrase as a part of another one: no marks of clauses, no bounds of words."""
        return self._sequence(closing=None)

    def _sequence(self, closing: str | None) -> str:
        """Signs up to ``closing``; alternatives only inside brackets."""
        alternatives: list[str] = []
        made, space = "", ""  # space: what parts the next word from what is already there
        while self._at < len(self._signs):
            sign = self._signs[self._at]
            self._at += 1
            if sign == closing:
                return "|".join([*alternatives, made])
            if sign == "|" and closing is not None:
                alternatives.append(made)
                made, space = "", ""
            elif sign == "[":
                optional = f"(?:{self._sequence(']')})"
                # an option brings its own space, so that leaving it out leaves no gap
                made += f"(?:{space}{optional})?" if space else f"(?:{optional}{_SPACE})?"
            elif sign == "...":
                made += _GAP
            elif sign in _MARKS:
                made, space = made + rf"\s*{sign}", r"\s*"
            elif sign == "!(":
                made += f"(?!{space}(?:{self._sequence(')')}){_END})"
            else:
                piece = f"(?:{self._sequence(')')})" if sign == "(" else self._word(sign)
                made, space = made + space + piece, _SPACE
        if closing is not None:
            raise ValueError(f"{self._phrase!r} lacks a {closing!r}")
        return made

    def _word(self, sign: str) -> str:
        if sign[0] == "{" and len(sign) > 2:
            verb, _, rest = sign[1:-1].partition(" ")
            if rest:
                raise ValueError(f"{self._phrase!r}: {sign} holds more than one verb")
            forms = inflections(verb, self._language.verbs.get(verb, ()))
            return "(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + ")"
        if sign[0] == "<" and len(sign) > 2:
            name = sign[1:-1]
            if name not in self._language.words:
                known = ", ".join(sorted(self._language.words))
                raise ValueError(f"{self._phrase!r}: there is no list {sign}; the lists are {known}")
            words = sorted(self._language.words[name], key=len, reverse=True)
            return "(?:" + "|".join(_Builder(word, self._language).body() for word in words) + ")"
        if sign[0] == "*":
            return f"(?:{_WORD})" if sign == "*" else rf"(?:[^\W_]{{0,{_LONGEST_WORD}}}{re.escape(sign[1:])})"
        if sign[0] in "{}<>()[]|^!":
            raise ValueError(f"{self._phrase!r}: {sign!r} stands alone")
        return re.escape(sign).replace(r"\-", _SPACE)


class Phrase(BaseModel):
    """A phrase with what takes its force away.

    Attributes:
        say: the phrase itself.
        not_before: phrases that must not follow directly.
        not_after: phrases that must not stand directly before.
        unless: phrases that must not be found anywhere in the same sentence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str
    not_before: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_be_read(self) -> Phrase:
        for phrase in (self.say, *self.not_before, *self.not_after, *self.unless):
            phrase_pattern(phrase)
        return self

    # Compiled when first searched for: most runs read replies or narrations, seldom both.
    @functools.cached_property
    def _say(self) -> re.Pattern[str]:
        return re.compile(phrase_pattern(self.say), re.IGNORECASE)

    @functools.cached_property
    def _before(self) -> re.Pattern[str] | None:
        return re.compile(r"[\s\-]*" + _any(self.not_before), re.IGNORECASE) if self.not_before else None

    @functools.cached_property
    def _after(self) -> re.Pattern[str] | None:
        return re.compile(_any(self.not_after) + r"[\s\-]*$", re.IGNORECASE) if self.not_after else None

    @functools.cached_property
    def _elsewhere(self) -> re.Pattern[str] | None:
        return re.compile(_any(self.unless), re.IGNORECASE) if self.unless else None

    def finditer(self, sentence: str) -> Iterable[re.Match[str]]:
        """Where a sentence says the phrase with its force."""
        found = [
            match
            for match in self._say.finditer(sentence)
            if not (self._before and self._before.match(sentence, match.end()))
            and not (
                self._after
                and self._after.search(sentence[max(0, match.start() - _LOOK_BACK) : match.start()])
            )
        ]
        return found if found and not (self._elsewhere and self._elsewhere.search(sentence)) else ()


def _any(phrases: Iterable[str]) -> str:
    return "(?:" + "|".join(phrase_pattern(phrase) for phrase in phrases) + ")"


def _as_phrases(value: object) -> object:
    """Plain texts and mappings side by side; one text stands for a list of one."""
    if isinstance(value, (list, tuple)):
        return [{"say": entry} if isinstance(entry, str) else _with_lists(entry) for entry in value]
    return value


def _with_lists(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    return {
        key: [given] if isinstance(given, str) and key != "say" else given for key, given in entry.items()
    }


#: A list in a taxonomy file whose entries are texts or mappings with ``say`` and its guards.
Phrases = Annotated[tuple[Phrase, ...], BeforeValidator(_as_phrases)]
