"""Asks a model for many cases at once: equal text prompts once, clips in batches, failures one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from ego_adr.errors import InputError, ModelNotFoundError, ScriptExhaustedError
from ego_adr.models.base import VideoLLM
from ego_adr.models.failing import failed
from ego_adr.routes.base import Case
from ego_adr.types import Exchange, Failure, FrameSequence, Reply, Request

__all__ = ["Asker"]

#: Called after each batch with the stage, how many of its cases are done, and how many there are.
Progress = Callable[[str, int, int], None]
Loader = Callable[[Case], FrameSequence]

DEFAULT_BATCH = 8
_T = TypeVar("_T")


class Asker:
    """Runs one stage over many cases.

    Args:
        load: from a case to its pictures.
        batch_size: requests handed to the model at once; None takes the model's own wish, or 8.
        progress: called as batches finish.
        black_image: text prompts go with one black picture, for models without a text-only mode.
    """

    def __init__(
        self,
        load: Loader,
        *,
        batch_size: int | None = None,
        progress: Progress | None = None,
        black_image: bool = False,
    ) -> None:
        self._load = load
        self._batch_size = batch_size
        self._progress = progress
        self._black_image = black_image

    def text(
        self,
        stage: str,
        model: VideoLLM,
        cases: Sequence[Case],
        build: Callable[[Case], Request],
        take: Callable[[Case, Reply], None],
    ) -> None:
        """Ask without pictures. Equal requests are asked once; each reply is handed to all its cases."""
        groups: dict[tuple[str, int, tuple[str, ...]], list[Case]] = {}
        requests: list[Request] = []
        for case in cases:
            request = build(case)
            key = (request.prompt, request.max_tokens, request.choices)
            if key not in groups:
                requests.append(self._with_black_image(request))
            groups.setdefault(key, []).append(case)
        members = list(groups.values())
        done = 0
        for part in _parts(range(len(requests)), self._batch(model)):
            replies, seconds = self._ask(model, [requests[i] for i in part])
            for i, reply in zip(part, replies, strict=True):
                for place, case in enumerate(members[i]):
                    self._book(stage, model, case, requests[i], reply, seconds, repeated=place > 0)
                    if case.failure is None:
                        take(case, reply)
                done += len(members[i])
            self._report(stage, done, len(cases))

    def pictures(
        self,
        stage: str,
        model: VideoLLM,
        cases: Sequence[Case],
        build: Callable[[Case], Request],
        take: Callable[[Case, Reply], None],
    ) -> None:
        """Ask with each case's pictures. They are read while the model works, and let go after their batch.

        ``build`` is called when the pictures are known, so that a prompt may tell their times.
        """
        done = 0
        for loaded in self._loaded(cases, self._batch(model)):
            batch: list[tuple[Case, Request]] = []
            for case, frames in loaded:
                if isinstance(frames, FrameSequence):
                    case.saw(frames)
                    batch.append((case, replace(build(case), frames=frames)))
                else:
                    case.failure = frames
            if batch:
                replies, seconds = self._ask(model, [request for _, request in batch])
                for (case, request), reply in zip(batch, replies, strict=True):
                    self._book(stage, model, case, request, reply, seconds, repeated=False)
                    if case.failure is None:
                        take(case, reply)
            done += len(loaded)
            self._report(stage, done, len(cases))

    # ------------------------------------------------------------------------------------------------

    def _batch(self, model: VideoLLM) -> int:
        wish = self._batch_size or getattr(model, "batch_size", None)
        return wish if isinstance(wish, int) and wish > 0 else DEFAULT_BATCH

    def _with_black_image(self, request: Request) -> Request:
        if not self._black_image:
            return request
        import numpy as np

        from ego_adr.types import Frame

        return replace(request, frames=(Frame(array=np.zeros((224, 224, 3), dtype=np.uint8), time=0.0),))

    def _loaded(
        self, cases: Sequence[Case], size: int
    ) -> Iterator[list[tuple[Case, FrameSequence | Failure]]]:
        parts = list(_parts(cases, size))
        if not parts:
            return
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ego-adr-frames") as pool:
            coming = pool.submit(self._load_part, parts[0])
            for following in [*parts[1:], None]:
                ready = coming.result()
                if following is not None:
                    coming = pool.submit(self._load_part, following)
                yield ready

    def _load_part(self, part: Sequence[Case]) -> list[tuple[Case, FrameSequence | Failure]]:
        found: list[tuple[Case, FrameSequence | Failure]] = []
        for case in part:
            try:
                found.append((case, self._load(case)))
            except InputError as exc:
                found.append((case, Failure(cause=exc.cause, message=str(exc))))
        return found

    def _ask(self, model: VideoLLM, requests: Sequence[Request]) -> tuple[list[Reply], float]:
        """Replies in order and the seconds that each of them took on average."""
        begin = time.perf_counter()
        try:
            replies = _generate(model, requests)
        except (ScriptExhaustedError, ModelNotFoundError):
            raise
        except Exception as exc:
            # A backend may raise anything for one bad sample; the others must not be lost with it.
            replies = [failed(exc)] if len(requests) == 1 else [self._ask(model, [r])[0][0] for r in requests]
        return replies, (time.perf_counter() - begin) / len(requests)

    def _book(
        self,
        stage: str,
        model: VideoLLM,
        case: Case,
        request: Request,
        reply: Reply,
        seconds: float,
        *,
        repeated: bool,
    ) -> None:
        known = repeated or "cached" in reply.notes
        case.spend(stage, reply, seconds=0.0 if repeated else seconds, cached=known)
        case.exchanges.append(
            Exchange(
                stage=stage,
                prompt=request.prompt,
                reply=reply.text if reply.failure is None else reply.failure.message,
                finish_reason=reply.finish_reason if reply.failure is None else "failed",
                model=model.name,
                frames=len(request.frames),
                cached=known,
            )
        )
        for note in reply.notes:
            if note != "cached":
                case.warn(f"{stage}: {note}")
        if reply.failure is not None:
            case.failure = reply.failure

    def _report(self, stage: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(stage, done, total)


def _generate(model: VideoLLM, requests: Sequence[Request]) -> list[Reply]:
    replies = list(model.generate(requests))
    if len(replies) != len(requests):
        raise ValueError(f"{model.name} gave {len(replies)} replies to {len(requests)} requests")
    return replies


def _parts(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
