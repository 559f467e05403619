"""Plain frozen values that the rooms hand to each other. No behaviour beyond JSON and repr lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ChoiceScore",
    "Clip",
    "Detection",
    "Exchange",
    "Failure",
    "Frame",
    "FrameSequence",
    "ProcedureBank",
    "Query",
    "Reply",
    "Request",
    "StageUse",
    "Step",
    "StepEdge",
    "StepMatch",
]

RouteName = Literal["auto", "deep", "shallow", "single-pass", "cot"]
Status = Literal["ok", "unparsed", "failed"]


class _Value(BaseModel):
    """A frozen record that reads and writes JSON and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# ---------------------------------------------------------------------------------------------- pictures


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture and the time at which it is shown.

    Attributes:
        array: H x W x 3, uint8, RGB, upright.
        time: seconds after the first picture of the video.
        number: presentation index in its video where the reader knows it, else None.
    """

    array: NDArray[np.uint8]
    time: float
    number: int | None = None

    def __repr__(self) -> str:
        shape = "x".join(str(side) for side in self.array.shape)
        return f"Frame({shape}, {self.time:.3f} s)"


class FrameSequence(tuple[Frame, ...]):
    """Frames of one clip, in order of time, with what was noticed while they were taken.

    Attributes (set by the sampler, empty or None for frames that came from elsewhere):
        start, end: the interval in seconds that was really sampled.
        duration: length of the whole video in seconds, where known.
        rate: usual pictures a second of the video, where known.
        warnings: texts of the warnings that were given (clamped, swapped, fewer pictures than asked ...).
        distinct: how many different pictures there are among the frames.
    """

    start: float | None = None
    end: float | None = None
    duration: float | None = None
    rate: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def distinct(self) -> int:
        return len({frame.time for frame in self})


#: What a clip can be cut from: a path, or pictures (PIL images or H x W x 3 uint8 arrays), or ready frames.
Source = str | PathLike[str] | Sequence[Any]


@dataclass(frozen=True)
class Clip:
    """A stretch of video: a source and a half-open interval [start, end) in seconds.

    ``None`` for start or end means the source's own. Both negative means the whole video (a benchmark's
    mark for a step that was not done). With a list of pictures as source, ``times`` gives one time in
    seconds for each of them.
    """

    source: Source
    start: float | str | None = None
    end: float | str | None = None
    times: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        shown = (
            str(self.source) if isinstance(self.source, (str, PathLike)) else f"<{len(self.source)} pictures>"
        )
        return f"Clip({shown!r}, {self.start}, {self.end})"


# --------------------------------------------------------------------------------------------- procedure


class StepEdge(_Value):
    """``before`` must be done before ``after`` (0-based step indices); ``sources`` say why."""

    before: int
    after: int
    sources: tuple[str, ...] = ()


class Step(_Value):
    """One step of a procedure.

    Attributes:
        index: position in the bank, 0-based.
        text: what is to be done, in the procedure's own words.
        objects: things the step names (ingredients, tools, parts).
        span: [start, end) in characters of the procedure text, where the step was cut from it.
    """

    index: int
    text: str
    objects: tuple[str, ...] = ()
    span: tuple[int, int] | None = None

    @property
    def number(self) -> int:
        """Position as people count, from 1."""
        return self.index + 1


class ProcedureBank(_Value):
    """A procedure cut into steps.

    Attributes:
        text: the written procedure it was made from.
        steps: in written order.
        title: name of the task, where there is one.
        method: how it was cut: ``list``, ``rules``, ``model`` or ``file``.
        edges: which step needs which, where that is known; empty means nothing is known of the order.
        notes: what was noticed while it was made.
    """

    text: str
    steps: tuple[Step, ...]
    title: str | None = None
    method: str = "file"
    edges: tuple[StepEdge, ...] = ()
    notes: tuple[str, ...] = ()


class StepMatch(_Value):
    """Which step of a bank an action names.

    Attributes:
        index: 0-based, or None when no step fits (or the bank is empty).
        previous, next: indices of the neighbours in written order, None at the ends.
        score: similarity in 0..1 for the textual methods; a probability where a model gave one; else None.
        method: ``tfidf``, ``ratcliff-obershelp``, ``char-tfidf``, ``model``, ``off`` ...
        duplicates: all indices whose text is as good an answer, lowest first (holds ``index`` when ambiguous).
        ambiguous: more than one step fits equally well.
        low_confidence: the best step shares little or nothing with the action.
    """

    index: int | None
    previous: int | None = None
    next: int | None = None
    score: float | None = None
    method: str = "tfidf"
    duplicates: tuple[int, ...] = ()
    ambiguous: bool = False
    low_confidence: bool = False


# ------------------------------------------------------------------------------------------ model protocol


class Failure(_Value):
    """Why one sample has no answer. ``cause`` is the word it is counted under, ``message`` tells the person."""

    cause: str
    message: str


class ChoiceScore(_Value):
    """Log-likelihood of one closed answer.

    Attributes:
        choice: the answer as it stood in the request.
        logprob: natural log of the answer's probability given the prompt, summed over its tokens.
        tokens: number of tokens the sum runs over (``logprob / tokens`` is the length-normalised score).
    """

    choice: str
    logprob: float
    tokens: int


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Attributes:
        prompt: the text.
        frames: the pictures with their times; empty for a text-only call.
        max_tokens: limit of the reply in tokens.
        choices: a closed list of answers; a backend that can, scores each of them.
    """

    prompt: str
    frames: tuple[Frame, ...] = ()
    max_tokens: int = 256
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """One answer of a model.

    Attributes:
        text: what it said; with scored choices, the best one by ``logprob``.
        finish_reason: ``stop``, ``length`` (cut at the token limit), or the backend's own word.
        prompt_tokens, completion_tokens: counts where the backend knows them.
        scores: one entry a choice, in the order of the request; None where the backend cannot score.
        failure: set when this one request failed though the model is well; ``text`` is then empty.
        notes: what the backend had to do (``pixels reduced`` ...).
    """

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    scores: tuple[ChoiceScore, ...] | None = None
    failure: Failure | None = None
    notes: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class Query:
    """One question to the detector: was ``action``, a step of ``procedure``, done right in ``clip``?

    ``procedure`` is its text, the path of a file (``os.PathLike``), or a ready bank. A given ``narration``
    replaces the model's own: the clip is then not opened.
    """

    clip: Clip
    procedure: str | PathLike[str] | ProcedureBank
    action: str
    id: str | None = None
    narration: str | None = None


class Exchange(_Value):
    """One prompt and what came back, kept word for word."""

    stage: str
    prompt: str
    reply: str
    finish_reason: str = "stop"
    model: str = ""
    frames: int = 0
    cached: bool = False


class StageUse(_Value):
    """What one stage cost this sample. ``seconds`` of a batch are shared out evenly among its samples."""

    stage: str
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Detection(_Value):
    """One result: the label with everything it rests on. JSON both ways.

    Attributes:
        status: ``ok``; ``unparsed`` (the model answered, no label could be read, see ``reason``);
            ``failed`` (no answer, see ``failure``).
        label: display name of the first label, None unless ``status`` is ``ok``.
        labels: all labels the reply named, the first is ``label``.
        is_error: False for ``correct``, True for the other labels, None unless ``status`` is ``ok``.
        route, route_reason: which route answered, and why it was taken.
        match: how the step was found; ``step``, ``previous_step``, ``next_step`` are the texts.
        narration: what was seen, in the model's words.
        evidence: the words or sentences the label was read from.
        probabilities: label -> probability, where the backend scored the labels; sums to 1.
        frame_times: seconds of the pictures that were looked at.
        warnings: everything that was noticed on the way, in words.
        stages: calls, tokens and seconds by stage.
        exchanges: every prompt and raw reply.
    """

    status: Status
    label: str | None = None
    labels: tuple[str, ...] = ()
    is_error: bool | None = None
    reason: str | None = None
    failure: Failure | None = None
    id: str | None = None
    video: str | None = None
    start: float | None = None
    end: float | None = None
    action: str = ""
    procedure: str | None = None
    route: str = ""
    route_reason: str = ""
    match: StepMatch | None = None
    step: str | None = None
    previous_step: str | None = None
    next_step: str | None = None
    narration: str | None = None
    evidence: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None
    frame_times: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    stages: tuple[StageUse, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    model: str = ""
    taxonomy: str = ""
    version: str = ""
