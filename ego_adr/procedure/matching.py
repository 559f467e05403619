"""Which step of a bank does an action name?

``published`` is the paper's matcher (papers/002, section 5.2): TF-IDF over the steps' unigrams and bigrams,
cosine, and where the best lies below 0.25 the Ratcliff/Obershelp ratio. ``recommended`` is ours.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from ego_adr.errors import InputError
from ego_adr.procedure.actions import clean_action
from ego_adr.procedure.choosing import StepChoice, read_step_reply
from ego_adr.procedure.splitting import splitting_words
from ego_adr.types import ProcedureBank, Step, StepMatch

__all__ = ["StepChoice", "clean_action", "match_step", "read_step_reply", "step_match_at"]

Steps = ProcedureBank | Sequence[Step] | Sequence[str]

#: The paper's threshold: below this cosine the character ratio decides.
FALLBACK_BELOW = 0.25
#: difflib calls ratios above 0.6 close matches; a fallback below it is a guess.
CLOSE = 0.6
#: A recommended score below this shares hardly more than function words with any step.
RECOMMENDED_LOW = 0.2


def match_step(
    query: str, steps: Steps, *, method: Literal["published", "recommended"] | str = "published"
) -> StepMatch:
    """Find the step that an action names, by words alone.

    Args:
        query: the action; a "Verb-" prefix is taken off (`clean_action`).
        steps: a bank, steps, or their texts.
        method: ``published`` (the paper's) or ``recommended`` (word and character TF-IDF together).

    Returns:
        The match. ``index`` is None for an empty bank, and for a query without a word of its own (function words or
        marks alone), which is then marked ``low_confidence``. Steps that fit equally well are all in
        ``duplicates``, lowest first, and the lowest is taken.

    Raises:
        InputError: an unknown method.
    """
    if method not in ("published", "recommended"):
        raise InputError(f"there is no matcher {method!r}; the methods are published, recommended.")
    texts = [_normal(text) for text in _texts(steps)]
    wanted = _normal(clean_action(query))
    words = re.findall(r"[^\W_]+", wanted)
    if not texts or not any(word not in splitting_words().function_words for word in words):
        return StepMatch(index=None, score=0.0, method=_NAMES[method], low_confidence=True)
    if method == "published":
        scores, name = _published(wanted, texts)
        low = name == "ratcliff-obershelp" and max(scores) < CLOSE
    else:
        scores, name = _recommended(wanted, texts), "word-char-tfidf"
        low = max(scores) < RECOMMENDED_LOW
    best = max(scores)
    if best <= 0:
        return StepMatch(index=None, score=0.0, method=name, low_confidence=True)
    equal = [index for index, score in enumerate(scores) if score >= best - 1e-9]
    return step_match_at(
        equal[0], len(texts), method=name, score=min(1.0, best), duplicates=tuple(equal), low_confidence=low
    )


_NAMES = {"published": "tfidf", "recommended": "word-char-tfidf"}


def step_match_at(
    index: int | None,
    steps: Steps | int,
    *,
    method: str,
    score: float | None = None,
    duplicates: tuple[int, ...] = (),
    low_confidence: bool | None = None,
) -> StepMatch:
    """A match at a given index, with its neighbours in written order.

    Args:
        index: 0-based, None for "no step".
        steps: the steps, or how many there are.
        duplicates: indices that fit equally well; for steps with the same text they are found here.
    """
    count = steps if isinstance(steps, int) else len(_texts(steps))
    if index is None:
        return StepMatch(index=None, method=method, score=score, low_confidence=True)
    if not 0 <= index < count:
        raise InputError(f"there is no step {index}; the bank has {count}, counted from 0.")
    if not duplicates and not isinstance(steps, int):
        texts = [_normal(text) for text in _texts(steps)]
        duplicates = tuple(i for i, text in enumerate(texts) if text == texts[index])
    ambiguous = len(duplicates) > 1
    return StepMatch(
        index=index,
        previous=index - 1 if index else None,
        next=index + 1 if index + 1 < count else None,
        score=score,
        method=method,
        duplicates=duplicates if ambiguous else (),
        ambiguous=ambiguous,
        low_confidence=bool(low_confidence),
    )


def _texts(steps: Steps) -> list[str]:
    found = steps.steps if isinstance(steps, ProcedureBank) else steps
    return [step.text if isinstance(step, Step) else step for step in found]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


# --------------------------------------------------------------------------------------------- published

_TOKEN = r"(?u)\b\w+\b"  # one-digit numbers are words: "heat 3 min"


def _published(query: str, texts: Sequence[str]) -> tuple[list[float], str]:
    scores = _cosines(query, texts, analyzer="word", token_pattern=_TOKEN, ngram_range=(1, 2))
    if max(scores) >= FALLBACK_BELOW:
        return scores, "tfidf"
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(query)
    ratios = []
    for text in texts:
        matcher.set_seq1(text)
        ratios.append(matcher.ratio())
    return ratios, "ratcliff-obershelp"


def _cosines(query: str, texts: Sequence[str], **options: Any) -> list[float]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(lowercase=False, **options)
    try:
        index = vectorizer.fit_transform(texts)
    except ValueError:  # "empty vocabulary": no step holds a word
        return [0.0] * len(texts)
    found = index @ vectorizer.transform([query]).T
    return [float(value) for value in found.toarray().ravel()]


# ------------------------------------------------------------------------------------------- recommended


def _recommended(query: str, texts: Sequence[str]) -> list[float]:
    """Mean of two cosines: content words (uni- and bigrams, sublinear), and characters 3 to 5 inside words.

    Characters see through inflections and compounds, words keep near spellings apart.
    """
    stop = sorted(splitting_words().function_words)
    words = _cosines(
        query, texts, analyzer="word", token_pattern=_TOKEN, ngram_range=(1, 2), stop_words=stop, sublinear_tf=True
    )
    characters = _cosines(query, texts, analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    return [(w + c) / 2 for w, c in zip(words, characters, strict=True)]
