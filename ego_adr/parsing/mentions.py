"""Labels in running text: which of the names that a sentence holds it commits to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ego_adr.parsing.names import Names, unique
from ego_adr.parsing.scopes import Scopes
from ego_adr.taxonomies import Label
from ego_adr.vocabularies import English

__all__ = ["Committed", "Sentence", "Speech", "longest_first", "sentences"]

_ENDS = re.compile(r"(?<=[.!?;])[\"')\]]*\s+|\n+|(?<=;)")
_JOINS = re.compile(
    r"[\"')\]]*\s*(?:,|/|&|\+|\band\b|\bor\b|\bnor\b|\bas well as\b|,\s*(?:and|or|nor)\b)?"
    r"\s*(?:an?|the|of|by)?\s*[\"'(\[]*",
    re.IGNORECASE,
)
_LOOK_BACK = 80
_ALTERNATIVE = re.compile(r"/|\bor\b", re.IGNORECASE)
_NOR = re.compile(r"\b(?:or|nor|and)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text and where it stands. ``opens_line``: nothing but marks stands before it on its line."""

    text: str
    start: int
    opens_line: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"')]").endswith("?")


def sentences(text: str) -> list[Sentence]:
    """Sentences, broken at their marks, semicolons and line ends; decimals and numbering do not end one."""
    found, start, line_start = [], 0, True
    cuts = [(m.start(), m.end()) for m in _ENDS.finditer(text)] + [(len(text), len(text))]
    for cut, following in cuts:
        piece = text[start:cut]
        if re.fullmatch(r"\s*[(\[]?(?:\d{1,2}|[A-Za-z])[.)]", piece) and "\n" not in text[cut:following]:
            continue  # "3. Wrong order" is one sentence
        if piece.strip():
            found.append(Sentence(piece, start, line_start))
        line_start = "\n" in text[cut:following]
        start = following
    return found


@dataclass(frozen=True)
class Committed:
    """What a sentence commits to. ``undecided``: it names labels and leaves the choice open."""

    labels: tuple[Label, ...]
    undecided: bool = False


@dataclass(frozen=True)
class _Mention:
    label: Label
    start: int
    end: int
    stands: Literal["said", "denied", "supposed"]


class Speech:
    """Reads sentences for one taxonomy."""

    def __init__(self, names: Names, language: English, scopes: Scopes) -> None:
        self._names = names
        self._scopes = scopes
        self._explained_after = re.compile(
            rf"[\"')\]]*\s*{language.pattern('explained-after')}", re.IGNORECASE
        )
        self._explained_before = re.compile(
            rf"{language.pattern('explained-before')}\s*:?\s*(?:the\s+|an?\s+)?[\"'(\[]*$", re.IGNORECASE
        )
        self._partial = re.compile(language.pattern("partial"), re.IGNORECASE)
        foreign = language.names["foreign-negators"]
        self._foreign_before = re.compile(
            rf"(?<![A-Za-zÀ-ɏ])(?:{longest_first(foreign)})\s*(?:une?|ein|eine|un|una|uma)?\s*[\"'(\[]*\s*$",
            re.IGNORECASE,
        )
        self._foreign_after = re.compile(
            rf"[\"')\]]*\s*(?:{longest_first(n for n in foreign if not n.isascii())})", re.IGNORECASE
        )

    def commits(self, sentence: str) -> Committed:
        """The labels that a sentence states as its verdict, in order."""
        mentions = self._mentions(sentence)
        said: list[Label] = []
        undecided = False
        for chain in _chains(mentions, sentence):
            between = sentence[chain[0].end : chain[-1].start]
            first, last = chain[0], chain[-1]
            if first.stands != "said" or last.stands != "said":
                undecided |= first.stands == "supposed" or last.stands == "supposed"
                if len(chain) > 1 and first.stands == "denied" and not _NOR.search(between):
                    said += [m.label for m in chain if m.stands == "said"]
                continue
            if _ALTERNATIVE.search(between) and len({m.label.id for m in chain}) > 1:
                undecided = True
                continue
            said += [m.label for m in chain]
        labels = unique(said) or (() if mentions else self._in_foreign_words(sentence))
        if any(label.is_error for label in labels):
            # praise beside a fault concerns the rest of the step
            labels = tuple(label for label in labels if label.is_error)
        elif labels and self._partial.search(sentence):
            return Committed((), undecided)
        return Committed(labels, undecided and not labels)

    def _in_foreign_words(self, sentence: str) -> tuple[Label, ...]:
        """A name that is the only Latin word of a sentence in another script, everyday words included."""
        found = self._names.everywhere(sentence)
        labels = unique(self._names.owner(match.group()) for match in found)
        rest = sentence
        for match in reversed(found):
            rest = rest[: match.start()] + " " + rest[match.end() :]
        if len(labels) != 1 or re.search(r"[A-Za-zÀ-ɏ]", rest) or not re.search(r"[^\W\dA-Za-zÀ-ɏ]", rest):
            return ()
        first, last = found[0], found[-1]
        denied = self._foreign_before.search(sentence, 0, first.start()) or self._foreign_after.match(
            sentence, last.end()
        )
        return () if denied else labels

    def _mentions(self, sentence: str) -> list[_Mention]:
        spans = [(m.start(), m.end(), self._names.owner(m.group())) for m in self._names.in_prose(sentence)]
        for label in self._names.taxonomy.labels:
            for phrase in label.statements:
                spans += [(m.start(), m.end(), label) for m in phrase.finditer(sentence)]
        # the longer of two that overlap
        kept: list[tuple[int, int, Label]] = []
        for span in sorted(spans, key=lambda s: (s[0] - s[1], s[0])):
            if all(span[1] <= start or end <= span[0] for start, end, _ in kept):
                kept.append(span)
        return [
            _Mention(label, s, e, self._standing(sentence, s, e))
            for s, e, label in sorted(kept, key=lambda k: k[0])
        ]

    def _standing(self, sentence: str, start: int, end: int) -> Literal["said", "denied", "supposed"]:
        if self._scopes.denied(sentence, start, end):
            return "denied"
        if self._foreign_before.search(
            sentence[max(0, start - _LOOK_BACK) : start]
        ) or self._foreign_after.match(sentence, end):
            return "denied"
        if self._scopes.unreal(sentence, start) or self._explained_after.match(sentence, end):
            return "supposed"
        return (
            "supposed"
            if self._explained_before.search(sentence[max(0, start - _LOOK_BACK) : start])
            else "said"
        )


def _chains(mentions: list[_Mention], sentence: str) -> list[list[_Mention]]:
    """Mentions that only "and", "or" and commas part."""
    chains: list[list[_Mention]] = []
    for mention in mentions:
        if chains and _JOINS.fullmatch(sentence, chains[-1][-1].end, mention.start):
            chains[-1].append(mention)
        else:
            chains.append([mention])
    return chains


def longest_first(words: Iterable[str]) -> str:
    """Plain words as alternatives of a pattern."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
