"""Which step of a bank does an action name?

``published`` is the paper's matcher (papers/002, section 5.2): TF-IDF over the steps' unigrams and bigrams,
cosine, and where the best lies below 0.25 the Ratcliff/Obershelp ratio. ``recommended`` is ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ego_adr.errors import InputError
from ego_adr.procedure.actions import clean_action
from ego_adr.procedure.choosing import StepChoice, read_step_reply
from ego_adr.procedure.similarity import has_content, normal_form, published_scores, recommended_scores
from ego_adr.types import ProcedureBank, Step, StepMatch

__all__ = ["StepChoice", "clean_action", "match_step", "read_step_reply", "step_match_at"]

Steps = ProcedureBank | Sequence[Step] | Sequence[str]

#: difflib calls ratios above 0.6 close matches; a fallback below it is a guess.
CLOSE = 0.6
#: Below this, a step shares about one content word in three with the action: one thing, or the verb alone.
RECOMMENDED_LOW = 0.25
#: Scores this near are equal but for rounding.
TIE = 1e-9


def match_step(query: str, steps: Steps, *, method: str = "published") -> StepMatch:
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
    if method not in _NAMES:
        raise InputError(f"there is no matcher {method!r}; the methods are {', '.join(_NAMES)}.")
    if not isinstance(query, str):
        raise InputError(f"an action is a text, not {query!r}.")
    texts = [normal_form(text) for text in _texts(steps)]
    wanted = normal_form(clean_action(query))
    name = _NAMES[method]
    if not texts or not (has_content(wanted) or (wanted in texts and re.search(r"\w", wanted))):
        return StepMatch(index=None, score=0.0, method=name, low_confidence=True)
    if method == "published":
        scores, name = published_scores(wanted, texts)
        chosen_by = scores
        low = name == "ratcliff-obershelp" and max(scores) < CLOSE
    else:
        scores, chosen_by = recommended_scores(wanted, texts)
        if wanted in texts:  # word for word: nothing fits better, even words without content
            scores = chosen_by = [float(text == wanted) for text in texts]
        low = scores[chosen_by.index(max(chosen_by))] < RECOMMENDED_LOW
    best = max(chosen_by)
    if best <= 0:
        return StepMatch(index=None, score=0.0, method=name, low_confidence=True)
    chosen = chosen_by.index(best)
    equal = [
        i
        for i, text in enumerate(texts)
        if chosen_by[i] >= best - TIE or abs(scores[i] - scores[chosen]) <= TIE or text == texts[chosen]
    ]
    return step_match_at(
        equal[0],
        len(texts),
        method=name,
        score=min(1.0, scores[chosen]),
        duplicates=tuple(equal),
        low_confidence=low,
    )


#: Each method, and the name of the measure in a match that it could not make.
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
        texts = [normal_form(text) for text in _texts(steps)]
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
    if isinstance(steps, (str, bytes)) or not isinstance(steps, (ProcedureBank, Sequence)):
        raise InputError(
            f"steps are a bank or a list of texts, not {type(steps).__name__}; `read_procedure` cuts a text into steps."
        )
    found = steps.steps if isinstance(steps, ProcedureBank) else steps
    texts = [step.text if isinstance(step, Step) else step for step in found]
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise InputError(f"step {number} is {text!r}; a step is a text.")
    return texts
