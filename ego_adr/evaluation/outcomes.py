"""What a row came to: the truth beside what was said, whatever file it was read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ego_adr.errors import DataError
from ego_adr.types import Detection, Status

if TYPE_CHECKING:
    from ego_adr.taxonomies import Taxonomy

__all__ = [
    "Outcome",
    "exact_reply",
    "label_reader",
    "outcome_of",
    "probability",
    "probability_of_error",
    "short_cause",
    "truth_names",
]

#: Longest cause that is kept as a word to count by.
_CAUSE_LENGTH = 80


@dataclass(frozen=True)
class Outcome:
    """One row: its truth and its prediction.

    Attributes:
        id: unique in its run.
        truth: display names of every label the row carries; a hit on any of them is a hit.
        status: ``ok``, ``unparsed`` or ``failed``. Only ``ok`` has a label.
        label: the predicted label (the first one named), None unless ``ok``.
        labels: every label the reply named.
        p_error: probability that the step was not done right, where the model gave one.
        cause: the word an unparsed or failed row is counted under.
        group: what the bootstrap resamples: the video, or the row itself when no video is known.
        dataset: name of the data set it came from, empty when unknown.
        giveaways: what about the row gives its answer away without a look (``negative start`` ...).
        reply: the model's last words, where they were kept (only the paper's own counting reads them).
        calls, tokens, seconds: what the row cost.
    """

    id: str
    truth: tuple[str, ...]
    status: Status
    label: str | None = None
    labels: tuple[str, ...] = ()
    p_error: float | None = None
    cause: str | None = None
    group: str = ""
    dataset: str = ""
    giveaways: tuple[str, ...] = ()
    reply: str | None = None
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def hit(self) -> bool:
        """The predicted label is one of the row's."""
        return self.label is not None and self.label in self.truth


def label_reader(taxonomy: Taxonomy) -> Callable[[str], str | None]:
    """A function from a written label to its display name, or None when the whole text names none.

    Case, punctuation, underscores and hyphens do not matter; the taxonomy's aliases count.
    """

    @lru_cache(maxsize=4096)
    def read(text: str) -> str | None:
        label = taxonomy.find(text)
        return None if label is None else label.name

    return read


def exact_reply(reply: str) -> str:
    """A reply as the published evaluator compares it: punctuation at its ends off, case folded."""
    return reply.strip().strip('.,!?;:"').casefold()


def short_cause(text: str) -> str:
    """A cause to count by: the first line of a message, cut to a word's length."""
    line = text.strip().splitlines()[0].strip() if text.strip() else "no reason given"
    return line if len(line) <= _CAUSE_LENGTH else line[: _CAUSE_LENGTH - 1] + "…"


def outcome_of(
    detection: Detection,
    truth: Sequence[str],
    correct: str,
    *,
    id: str | None = None,
    group: str | None = None,
    dataset: str = "",
    giveaways: Sequence[str] = (),
) -> Outcome:
    """The outcome of one detection.

    Args:
        truth: display names of the row's labels.
        correct: the label that means "no error"; ``p_error`` is one minus its probability.
        id, group: default to the detection's id and video.
    """
    name = id if id is not None else detection.id
    if name is None:
        raise DataError("a detection without an id cannot be scored: give each Query an id.")
    last = next((e.reply for e in reversed(detection.exchanges) if e.stage == "classify"), None)
    return Outcome(
        id=name,
        truth=tuple(truth),
        status=detection.status,
        label=detection.label,
        labels=detection.labels,
        p_error=probability_of_error(detection.probabilities, correct),
        cause=_cause(detection),
        group=group or detection.video or name,
        dataset=dataset,
        giveaways=tuple(giveaways),
        reply=last,
        calls=sum(use.calls for use in detection.stages),
        tokens=sum(use.prompt_tokens + use.completion_tokens for use in detection.stages),
        seconds=sum(use.seconds for use in detection.stages),
    )


def _cause(detection: Detection) -> str | None:
    if detection.failure is not None:
        return detection.failure.cause
    return detection.reason if detection.status == "unparsed" else None


def truth_names(
    value: Any, read: Callable[[str], str | None], where: str, allowed: Sequence[str]
) -> tuple[str, ...]:
    """Display names of a truth field, which holds a text or a list of texts.

    Raises:
        DataError: when it is empty, of another type, or names no label.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence) or not given or not all(isinstance(item, str) for item in given):
        raise DataError(f"{where}: the truth must be a label or a list of labels, not {value!r}.")
    names: list[str] = []
    for item in given:
        name = read(item)
        if name is None:
            raise DataError(f"{where}: {item!r} is no label; the labels are {', '.join(allowed)}.")
        if name not in names:
            names.append(name)
    return tuple(names)


def probability_of_error(probabilities: Mapping[str, Any] | None, correct: str) -> float | None:
    """One minus the probability of ``correct``, where a mapping of label to probability holds it."""
    value = probability((probabilities or {}).get(correct))
    return None if value is None else 1.0 - value


def probability(value: Any) -> float | None:
    """A number from 0 to 1; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    return float(value)
