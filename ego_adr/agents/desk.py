"""One model, many askers: questions wait in a bounded line and are answered in batches by one thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.agents.limits import Limits
from ego_adr.agents.questions import Question
from ego_adr.errors import EgoADRError
from ego_adr.types import Clip, Detection, Failure, Query

if TYPE_CHECKING:
    from ego_adr.detector import EgoADR

__all__ = ["Answer", "BusyError", "Desk"]

log = logging.getLogger(__name__)


class BusyError(EgoADRError):
    """The line is full, or the agent is stopping."""

    cause = "busy"


@dataclass(frozen=True)
class Answer:
    """What the agent says: ``text`` is the label or the sentence, empty when there is none."""

    text: str
    detection: Detection

    @property
    def problem(self) -> tuple[str, str] | None:
        """(cause, what to tell the asker) when there is no answer."""
        found = self.detection
        if found.failure is not None:
            return found.failure.cause, found.failure.message
        if not self.text:
            return "unparsed", f"the model's reply held no answer ({found.reason or 'it was empty'})."
        return None


@dataclass
class _Waiting:
    question: Question
    video: Path
    answer: asyncio.Future[Answer]


class Desk:
    """The line in front of the model.

    Args:
        detector: answers; used by one thread at a time.
        limits: how many may wait, and how long a clip may be.
        batch: questions handed to the detector at once.

    Attributes:
        ready: the model has been tried and answers.
        fault: why it does not, else empty.
        answered, refused: counts since the start.
    """

    def __init__(self, detector: EgoADR, limits: Limits | None = None, *, batch: int = 8) -> None:
        self.detector = detector
        self.limits = limits or Limits()
        self.ready = False
        self.fault = ""
        self.answered = 0
        self.refused = 0
        self._batch = batch
        self._line: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._pending = 0
        self._open = False
        self._worker: asyncio.Task[None] | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def pending(self) -> int:
        """Questions that wait or are being answered."""
        return self._pending

    async def start(self) -> None:
        """Begin to answer. The model is tried in the background; `ready` tells when."""
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ego-adr-model")
        self._open = True
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Take no more questions, answer those that wait, and let go of the thread."""
        self._open = False
        self.ready = False
        await self._line.join()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def check_room(self) -> None:
        """Raises:
        BusyError: the line is full, or the agent is stopping.
        """
        if not self._open:
            raise BusyError("busy: the agent is stopping; ask another one, or later.")
        if self._pending >= self.limits.waiting:
            self.refused += 1
            raise BusyError(
                f"busy: {self._pending} questions wait already, which is the most this agent takes; ask again later."
            )

    async def ask(self, question: Question, video: Path) -> Answer:
        """Wait in line and return the answer.

        Raises:
            BusyError: see `check_room`; or the answer took longer than it may.
        """
        self.check_room()
        waiting = _Waiting(question, video, asyncio.get_running_loop().create_future())
        self._pending += 1
        try:
            self._line.put_nowait(waiting)
            return await asyncio.wait_for(waiting.answer, self.limits.answer_seconds)
        except asyncio.TimeoutError as exc:
            raise BusyError(
                f"busy: no answer within {self.limits.answer_seconds:g} s; ask again later."
            ) from exc
        finally:
            self._pending -= 1

    # ------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._pool is not None
        try:
            await loop.run_in_executor(self._pool, self.detector.choose_route)
            self.ready = self._open
        except Exception as exc:
            # any backend's own trouble; the agent stays up to say what it is
            self.fault = f"{exc.cause if isinstance(exc, EgoADRError) else type(exc).__name__}: {exc}"
            log.error("the model does not answer: %s", self.fault)
        while True:
            batch = [await self._line.get()]
            while len(batch) < self._batch and not self._line.empty():
                batch.append(self._line.get_nowait())
            try:
                # those who went away or ran out of time are not asked for
                wanted = [waiting for waiting in batch if not waiting.answer.done()]
                if wanted:
                    answers = await loop.run_in_executor(self._pool, self._answer, wanted)
                    for waiting, answer in zip(wanted, answers, strict=True):
                        if not waiting.answer.done():
                            waiting.answer.set_result(answer)
                    self.answered += len(wanted)
            finally:
                for _ in batch:
                    self._line.task_done()

    def _answer(self, batch: Sequence[_Waiting]) -> list[Answer]:
        try:
            return self._answers(batch)
        except Exception as exc:
            # The asker must hear of it, and the thread must live on for the next question.
            if not isinstance(exc, EgoADRError):
                log.exception("a question broke the detector")
            if len(batch) > 1:
                return [self._answer([waiting])[0] for waiting in batch]
            cause = exc.cause if isinstance(exc, EgoADRError) else "agent"
            told = (
                str(exc)
                if isinstance(exc, EgoADRError)
                else f"{type(exc).__name__} inside the agent; see its log."
            )
            return [Answer("", _failed(batch[0], cause, told))]

    def _answers(self, batch: Sequence[_Waiting]) -> list[Answer]:
        found: dict[int, Answer] = {}
        steps: dict[int, Query] = {}
        questions: dict[int, Query] = {}
        for place, waiting in enumerate(batch):
            asked = waiting.question
            clip = Clip(waiting.video, asked.start, asked.end)
            too_long = self._too_long(clip)
            if too_long:
                found[place] = Answer("", _failed(waiting, "clip range", too_long))
            elif asked.kind == "open-end":
                # a question without a procedure stands alone: it is all that is known of the task
                text = asked.procedure or asked.action
                questions[place] = Query(clip=clip, procedure=text, action=asked.action, id=str(place))
            else:
                steps[place] = Query(clip=clip, procedure=asked.procedure, action=asked.action)
        if steps:
            detections = self.detector.detect_many(list(steps.values()))
            found |= {place: Answer(d.label or "", d) for place, d in zip(steps, detections, strict=True)}
        if questions:
            sentences = self._sentences(list(questions.values()))
            found |= {
                place: Answer(" ".join(d.evidence), d) for place, d in zip(questions, sentences, strict=True)
            }
        return [found[place] for place in range(len(batch))]

    def _sentences(self, queries: Sequence[Query]) -> list[Detection]:
        """Open-end questions, answered by the detector's route; a detection's evidence is the answer."""
        from ego_adr.benchmarks.samples import Sample, Shown
        from ego_adr.evaluation.open_end import OpenEndAnswerer

        samples = [
            Sample(
                id=str(query.id),
                dataset="",
                group="",
                shown=Shown(
                    video=str(query.clip.source),
                    start=None,
                    end=None,
                    procedure="",
                    action=query.action,
                    question=query.action,
                ),
            )
            for query in queries
        ]
        return OpenEndAnswerer(self.detector, samples).detect_many(queries)

    def _too_long(self, clip: Clip) -> str:
        """Why a clip is too long to be looked at, else nothing."""
        start, end, most = clip.start, clip.end, self.limits.clip_seconds
        if isinstance(start, float) and isinstance(end, float) and end >= 0:
            length: float | None = end - max(start, 0.0)
        else:
            length = _length(clip.source)
        if length is None or length <= most:
            return ""
        return f"the clip is {length:.0f} s long; this agent looks at no more than {most:.0f} s."


def _failed(waiting: _Waiting, cause: str, message: str) -> Detection:
    asked = waiting.question
    return Detection(
        status="failed",
        failure=Failure(cause=cause, message=message),
        video=str(waiting.video),
        action=asked.action,
    )


def _length(source: Any) -> float | None:
    """Seconds of a video by its header, where it says."""
    from ego_adr.errors import VideoError
    from ego_adr.video.opening import open_video

    try:
        container, _ = open_video(str(source))
    except VideoError:
        return None  # the detector says what is wrong with it
    with container:
        return container.duration / 1_000_000 if container.duration else None
