"""The names of a taxonomy's labels, found in text: as a whole value, at the start of a text, or in running words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ego_adr.taxonomies import Label, Taxonomy, label_key
from ego_adr.vocabularies import english

__all__ = ["Lead", "Names", "names_of", "unique"]

_BEGIN, _END = r"(?<![A-Za-zÀ-ɏ0-9])", r"(?![A-Za-zÀ-ɏ0-9])"
_GAP = r"[\s_\-/]{0,3}"
_AND = r"(?:and|&|or|/|\+)"
# what may stand round names in a value that holds nothing else
_RESIDUE = re.compile(
    r"(?:[\s,;/|+&\"'\[\](){}<>.:!#=\-–—✅❌✓✔→]|\b(?:and|also|plus|both|then|labels?|answer)\b|\b\d{1,2}\b|\b[a-i][.)])*",
    re.IGNORECASE,
)
_OR = re.compile(r"\bor\b|\beither\b", re.IGNORECASE)
_JOINER = re.compile(
    r"[\"']?\s*(?:[,;/|+&]\s*(?:and\b|also\b)?|\band\b|\bas well as\b|\bplus\b|\bor\b)"
    r"\s*(?:also\s+)?(?:an?\s+|the\s+)?[\"']?",
    re.IGNORECASE,
)
# after a name that is also an everyday word: the end, a mark, or a word that begins a reason
_ALONE = re.compile(
    r"\s*(?:$|[.,;:!?()\[\]\"'<>{}|/+&\n]|[-–—](?:\s|$)|(?:because|since|as|and|for|but|with|or|here)\b|[^\x00-\u024F])",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"(?:[(\[]?\s*(?:\d{1,2}|[A-Ia-i])\s*[.)\]:]|#?\d{1,2}\s*[-–:])\s*(?=[^\s\d])")
_OPENERS = re.compile(r"[\s\"'(\[{<>=:*#\-–—→✅❌✓✔|,]+")
_QUESTION = re.compile(r"[\"')\]]*\s*\?")


@dataclass(frozen=True)
class Lead:
    """Labels that open a text. ``kind`` is ``or`` when it leaves the choice between them open."""

    labels: tuple[Label, ...]
    end: int
    kind: Literal["labels", "or"] = "labels"


class Names:
    """Every name of every label, compiled.

    ``find`` of the taxonomy wants the whole text to be a name; this finds names inside texts, longest first, so
    that a name that holds another one is never read as the shorter.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        owners: dict[str, Label] = {}
        in_prose: set[str] = set()
        for label in taxonomy.labels:
            for name in (label.name, label.id, *label.aliases):
                key = label_key(name)
                owners.setdefault(key, label)
                if not label.common_word and (" " in key or key == label_key(label.name)):
                    in_prose.add(key)
        for tags in taxonomy.source_tags.values():
            for tag in tags:
                found = taxonomy.find(tag)
                if found is not None:
                    key = label_key(tag)
                    owners.setdefault(key, found)
                    if " " in key and not found.common_word:
                        in_prose.add(key)
        self._owners = owners
        self._every = _one_of(owners)
        self._prose = _one_of(in_prose)
        self._lead_ins = re.compile(rf"(?:{english().pattern('lead-ins')}[\s:]+)", re.IGNORECASE)
        self._hedged = re.compile(rf"\s*{english().pattern('hedged')}", re.IGNORECASE)
        self._negator = re.compile(rf"\s*{english().pattern('negators')}", re.IGNORECASE)

    def owner(self, written: str) -> Label:
        """The label of a name that one of the patterns found."""
        key = label_key(written.replace("/", " "))
        for candidate in (key, label_key(_spaced(written)), key.removesuffix("s")):
            if candidate in self._owners:
                return self._owners[candidate]
        squeezed = re.sub(r"\b(?:and|or)\b|\s", "", key).removesuffix("s")
        return self._squeezed[squeezed]

    @functools.cached_property
    def _squeezed(self) -> dict[str, Label]:
        return {re.sub(r"\b(?:and|or)\b|\s", "", k).removesuffix("s"): v for k, v in self._owners.items()}

    def everywhere(self, text: str) -> list[re.Match[str]]:
        """Names of any kind, everyday words included."""
        return list(self._every.finditer(text))

    def unwrapped(self, text: str) -> str:
        """Names that a line end cuts in two, on one line; same length.

        Not where the first line's end is a name by itself: that is one label under another.
        """

        def join(match: re.Match[str]) -> str:
            written = match.group()
            first = written.split("\n", 1)[0]
            whole = "\n" not in written or self.taxonomy.find(first) is not None
            return written if whole else written.replace("\n", " ")

        return self._every.sub(join, text)

    def every_at(self, text: str, at: int) -> re.Match[str] | None:
        """A name of any kind that begins at one place."""
        return self._every.match(text, at)

    def in_prose(self, text: str) -> list[re.Match[str]]:
        """Names that are none but names wherever they stand."""
        return list(self._prose.finditer(text))

    def stands_alone(self, match: re.Match[str]) -> bool:
        """Whether a name is one where it stands: of several words, or with nothing that it could describe."""
        owner = self.owner(match.group())
        key = label_key(match.group())
        if " " in key or (key == label_key(owner.name) and not owner.common_word):
            return True
        return _ALONE.match(match.string, match.end()) is not None

    def exact(self, text: str) -> Label | None:
        """The label when the text is its name and no more, a slip of the pen forgiven."""
        stripped = _strip(text)
        return (
            self.taxonomy.find(stripped) or self.taxonomy.find(_spaced(stripped)) or self._misspelt(stripped)
        )

    def value(self, text: str) -> tuple[Label, ...] | Literal["or"] | None:
        """The labels when the text holds names and what joins them, nothing else; ``or`` for an open choice."""
        if _QUESTION.search(text.rstrip()[-3:]):
            return None
        single = self.exact(text)
        if single is not None:
            return (single,)
        found = self.everywhere(text)
        if not found:
            return None
        if any(re.match(r"\s*:", text[match.end() :]) for match in found):
            return None  # a label with a colon announces something of its own
        residue, at = "", 0
        for match in found:
            residue += text[at : match.start()] + " "
            at = match.end()
        residue += text[at:]
        labels = unique(self.owner(match.group()) for match in found)
        if _OR.search(residue) and _RESIDUE.fullmatch(_OR.sub(" ", residue)):
            return "or" if len(labels) > 1 else labels
        return labels if _RESIDUE.fullmatch(residue) else None

    def is_proper(self, written: str) -> bool:
        """Whether a name says by itself that it is a label: of several words, or the label's own.

        Tags of one word ("Order", "Timing") head paragraphs as well.
        """
        label = self.exact(written)
        key = label_key(_strip(written))
        return label is None or " " in key or key in (label_key(label.name), label_key(label.id))

    def lead(self, text: str, start: int = 0, *, announced: bool = False) -> Lead | None:
        """The labels that open ``text[start:]`` after marks, numbering and words such as "a case of".

        Args:
            announced: a marker stands before it; only then do tags of one word count.
        """
        at = self._skip(text, start)
        if self._hedged.match(text, at) or (
            self._negator.match(text, at) and not self._every.match(text, at)
        ):
            return None
        match = self._every.match(text, at)
        if match is None or not self.stands_alone(match) or _QUESTION.match(text, match.end()):
            return None
        if not self.is_proper(match.group()) and (not announced or re.match(r"\s*:", text[match.end() :])):
            return None
        labels, end, open_choice = [self.owner(match.group())], match.end(), False
        while joiner := _JOINER.match(text, end):
            following = self._every.match(text, joiner.end())
            if following is None or not self.stands_alone(following):
                break
            open_choice |= bool(_OR.search(joiner.group()))
            labels.append(self.owner(following.group()))
            end = following.end()
        found = unique(labels)
        return Lead(found, end, "or" if open_choice and len(found) > 1 else "labels")

    def _skip(self, text: str, at: int) -> int:
        while True:
            before = at
            if opened := _OPENERS.match(text, at):
                at = opened.end()
            if self._every.match(text, at):
                return at
            if numbered := _NUMBERING.match(text, at):
                at = numbered.end()
            elif word := self._lead_ins.match(text, at):
                at = word.end()
            if at == before:
                return at

    def starts_a_longer_name(self, text: str) -> bool:
        """Whether a text that was cut off could have become another name: "Correct", "Wrong", "Equip"."""
        key = label_key(_strip(text))
        if not key:
            return False
        return any(name != key and name.startswith(key) for name in map(label_key, self.taxonomy.names))

    def _misspelt(self, text: str) -> Label | None:
        from rapidfuzz import fuzz

        words = [] if re.search(r"[:;\n]", text) else label_key(text).split()
        if not 1 <= len(words) <= 6 or sum(map(len, words)) < 7:
            return None
        for label in self.taxonomy.labels:
            wanted = label_key(label.name).split()
            if len(words) == len(wanted) and all(
                a[0] == b[0] and fuzz.ratio(a, b) >= 80 for a, b in zip(words, wanted, strict=True)
            ):
                return label
        return None


_KNOWN: dict[str, Names] = {}


def names_of(taxonomy: Taxonomy) -> Names:
    """The compiled names of a taxonomy, made once for equal content."""
    key = taxonomy.fingerprint
    if key not in _KNOWN:
        if len(_KNOWN) >= 8:
            _KNOWN.clear()
        _KNOWN[key] = Names(taxonomy)
    return _KNOWN[key]


def unique(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Without repetition, in order."""
    return tuple({label.id: label for label in labels}.values())


def _one_of(keys: Iterable[str]) -> re.Pattern[str]:
    ordered = sorted(keys, key=len, reverse=True)
    if not ordered:
        return re.compile(r"(?!)")
    return re.compile(rf"{_BEGIN}(?:{'|'.join(map(_body, ordered))}){_END}", re.IGNORECASE)


def _body(key: str) -> str:
    words = key.split()
    plural = "s?" if len(words) > 1 and not key.endswith("s") else ""
    return _GAP.join(_AND if word == "and" else re.escape(word) for word in words) + plural


def _spaced(text: str) -> str:
    """ "WrongObject" as two words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def _strip(text: str) -> str:
    text = text.strip().strip("\"'`*_ .,;:!()[]{}<>|").strip()
    numbered = _NUMBERING.match(text)
    return text[numbered.end() :].strip("\"' ") if numbered else text
