"""How alike an action and each step are, by words alone: the paper's measure, and a recommended one.

Both take texts that `normal_form` made: composed (NFKC), case folded, blanks folded.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ego_adr.procedure.splitting import splitting_words

__all__ = ["FALLBACK_BELOW", "has_content", "normal_form", "published_scores", "recommended_scores", "stem"]

#: The paper's threshold (papers/002, section 5.2): below this cosine the character ratio decides.
FALLBACK_BELOW = 0.25

_VULGAR_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞↉])")


def normal_form(text: str) -> str:
    """One form of a text: NFKC, case folded, blanks and underscores folded, "1½" as "1 1/2"."""
    spaced = _VULGAR_FRACTION.sub(" ", text)
    composed = unicodedata.normalize("NFKC", spaced).casefold()
    # Folding can decompose again ("ǰ"), so the text is composed last.
    return " ".join(unicodedata.normalize("NFC", composed).replace("⁄", "/").replace("_", " ").split())


# --------------------------------------------------------------------------------------------- published


def published_scores(query: str, texts: Sequence[str]) -> tuple[list[float], str]:
    """Scores in 0..1 of the paper's shallow matcher, and the name of the measure that decided.

    Cosine of TF-IDF vectors over the steps' unigrams and bigrams; where the best lies below 0.25, the
    Ratcliff/Obershelp ratio of the characters (papers/002, section 5.2). One-digit numbers are words here
    ("heat 3 min"), and difflib's shortcut for frequent characters is off.
    """
    scores = _cosines(query, tuple(texts), _published_terms)
    if max(scores) >= FALLBACK_BELOW:
        return scores, "tfidf"
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(query)
    ratios = []
    for text in texts:
        matcher.set_seq1(text)
        ratios.append(matcher.ratio())
    return ratios, "ratcliff-obershelp"


def _published_terms(text: str) -> list[str]:
    words = re.findall(r"\w+", text)
    return words + _pairs(words)


def _pairs(words: Sequence[str]) -> list[str]:
    return [f"{first} {second}" for first, second in pairwise(words)]


def _cosines(
    query: str, texts: tuple[str, ...], terms: Callable[[str], list[str]], *, sublinear: bool = False
) -> list[float]:
    index = _index(texts, terms, sublinear)
    if index is None:
        return [0.0] * len(texts)
    vectorizer, steps = index
    found = steps @ vectorizer.transform([query]).T
    return [float(value) for value in found.toarray().ravel()]


@lru_cache(maxsize=64)  # many actions are asked of the same bank
def _index(
    texts: tuple[str, ...], terms: Callable[[str], list[str]], sublinear: bool
) -> tuple[Any, Any] | None:
    """The TF-IDF index of the steps; None when no step holds a term."""
    if not any(terms(text) for text in texts):
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=terms, sublinear_tf=sublinear)
    return vectorizer, vectorizer.fit_transform(texts)


# ------------------------------------------------------------------------------------------- recommended

#: Weight of the covered share of the action beside the mean of the two cosines.
COVERAGE = 0.5
#: What a step gets of the mean score of its two neighbours, for choosing only.
NEIGHBOURS = 0.3
_WORD = re.compile(r"[^\W_]+")
# Scripts written without blanks between words: each character is a word of its own.
_UNSPACED = re.compile("([぀-ヿ㐀-䶿一-鿿豈-﫿\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])")
_LATIN_MARKS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")


def recommended_scores(query: str, texts: Sequence[str]) -> tuple[list[float], list[float]]:
    """Scores in 0..1 that say how well each step fits, and values by which the best step is chosen.

    A score joins three kinds of evidence, each weak where another is strong: TF-IDF over stems and their
    bigrams (the words themselves), TF-IDF over characters 3 to 5 inside content words (compounds, spellings),
    and the share of the action's own words, weighted by rarity, that the step holds (a long step is not
    punished for what else it says). A step without a verb is a further thing of the verb before it ("add
    flour, 1 egg"), and is read with that verb. For choosing, a step also gets a part of its neighbours' scores:
    an action that was cut over two steps is found where both speak of it.
    """
    asked = _plain(query)
    steps = tuple(_with_verbs([_plain(text) for text in texts]))
    words = _cosines(asked, steps, _stem_terms, sublinear=True)
    characters = _cosines(asked, steps, _character_terms, sublinear=True)
    covered = _coverage(asked, steps)
    scores = [
        ((w + c) / 2 + COVERAGE * share) / (1 + COVERAGE)
        for w, c, share in zip(words, characters, covered, strict=True)
    ]
    padded = [0.0, *scores, 0.0]
    chosen_by = [
        score + NEIGHBOURS * (before + after) / 2
        for score, before, after in zip(scores, padded, padded[2:], strict=False)
    ]
    return scores, chosen_by


def has_content(text: str) -> bool:
    """Whether a text in normal form holds more than function words and marks."""
    skipped = splitting_words().function_words
    return any(word not in skipped for word in _WORD.findall(text))


def stem(word: str) -> str:
    """A word without its English inflection, crudely: "slices", "sliced" and "slicing" are one."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 2 and word.endswith("y") else word


def _plain(text: str) -> str:
    """Without the accents of Latin letters ("saute" is "sauté"), and with unspaced scripts taken apart."""
    bare = unicodedata.normalize("NFC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", text)))
    return _UNSPACED.sub(r" \1 ", bare)


def _content(text: str) -> list[str]:
    skipped = _skipped()
    return [word for word in _WORD.findall(text) if word not in skipped]


@lru_cache(maxsize=1)
def _skipped() -> frozenset[str]:
    words = splitting_words()
    return words.function_words - words.opposites


def _stem_terms(text: str) -> list[str]:
    stems = [stem(word) for word in _content(text)]
    return stems + _pairs(stems)


def _character_terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in _content(text):
        padded = f" {word} "
        for size in (3, 4, 5):
            terms += (padded[at : at + size] for at in range(max(1, len(padded) - size + 1)))
            if len(padded) <= size:
                break
    return terms


def _with_verbs(texts: Sequence[str]) -> list[str]:
    verbs = _verb_stems()
    read: list[str] = []
    last = ""
    for text in texts:
        first = next((word for word in _content(text) if not word.endswith("ly")), "")
        if stem(first) in verbs:
            last = first
            read.append(text)
        else:
            read.append(f"{last} {text}".strip())
    return read


@lru_cache(maxsize=1)
def _verb_stems() -> frozenset[str]:
    return frozenset(stem(verb) for verb in splitting_words().verbs)


def _coverage(query: str, texts: tuple[str, ...]) -> list[float]:
    """For each step the share of the action's distinct stems that it holds, weighted by smoothed idf."""
    asked = {stem(word) for word in _content(query)}
    held = _held_stems(texts)
    weight = {
        word: math.log((1 + len(held)) / (1 + sum(word in step for step in held))) + 1 for word in asked
    }
    total = sum(weight.values())
    return [sum(weight[word] for word in asked & step) / total if total else 0.0 for step in held]


@lru_cache(maxsize=64)
def _held_stems(texts: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(stem(word) for word in _content(text)) for text in texts)
