"""Between the protocol and an assessment: a task that tells its progress and ends with an artifact."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from a2a.helpers import (
    get_data_parts,
    get_text_parts,
    new_data_part,
    new_task_from_user_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, SendMessageRequest, Task, TaskState
from a2a.utils.errors import InternalError, InvalidParamsError

from ego_adr.agents.assessments import Assessment, read_assessment
from ego_adr.agents.limits import Limits
from ego_adr.errors import EgoADRError, InputError

if TYPE_CHECKING:
    from ego_adr.agents.assessing import Bench

__all__ = ["AssessmentExecutor", "AssessmentHandler"]

log = logging.getLogger(__name__)


class _StoppedError(Exception):
    """The assessment was cancelled, or the evaluator is stopping; what was asked is kept."""


class AssessmentExecutor(AgentExecutor):  # type: ignore[misc]  # the SDK is not typed
    """Runs one assessment at a time, in a thread, and tells how far it is."""

    def __init__(self, bench: Bench, limits: Limits, *, every: float = 1.0) -> None:
        self._bench = bench
        self._limits = limits
        self._every = every
        self._at_work: dict[str, threading.Event] = {}
        self._open = False

    @property
    def at_work(self) -> int:
        """Assessments under way."""
        return len(self._at_work)

    async def start(self) -> None:
        self._open = True

    async def stop(self) -> None:
        """End what is under way after the samples that are being asked."""
        self._open = False
        for stop in self._at_work.values():
            stop.set()
        while self._at_work:
            await asyncio.sleep(0.02)

    def read(self, message: Message) -> Assessment:
        """The assessment of a message.

        Raises:
            InvalidParamsError: it asks for none; the text says how to ask.
        """
        try:
            return read_assessment(
                get_text_parts(message.parts), get_data_parts(message.parts), most_letters=self._limits.text
            )
        except InputError as exc:
            raise InvalidParamsError(f"{exc.cause}: {exc}", {"cause": exc.cause}) from exc

    def check(self, message: Message) -> None:
        """Refuse before a task is made of it."""
        self.read(message)
        if self._at_work or not self._open:
            raise InternalError(
                "busy: an assessment is under way; ask again when it is done.", {"cause": "busy"}
            )

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        if message is None:
            raise InvalidParamsError("there is no message.")
        assessment = self.read(message)
        task_id = str(context.task_id)
        stop = self._at_work[task_id] = threading.Event()
        try:
            message.task_id, message.context_id = task_id, str(context.context_id)
            await event_queue.enqueue_event(new_task_from_user_message(message))
            updater = TaskUpdater(event_queue, task_id, context.context_id)
            await self._carry_out(assessment, updater, stop)
        finally:
            self._at_work.pop(task_id, None)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        stop = self._at_work.get(str(context.task_id))
        if stop is not None:
            stop.set()
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    # ------------------------------------------------------------------------------------------------

    async def _carry_out(self, assessment: Assessment, updater: TaskUpdater, stop: threading.Event) -> None:
        loop = asyncio.get_running_loop()
        told = _Telling(self._every)

        async def say(text: str) -> None:
            await updater.update_status(
                TaskState.TASK_STATE_WORKING, updater.new_agent_message([new_text_part(text)])
            )

        def progress(done: int, total: int) -> None:
            if stop.is_set():
                raise _StoppedError(f"{done} of {total}")
            if told.due(done == total):
                asyncio.run_coroutine_threadsafe(say(f"{done} of {total} samples"), loop).result(30)

        await say(f"assessing {assessment.agent_url} ({assessment.task}), run {assessment.run}")
        try:
            findings = await asyncio.to_thread(self._bench.run, assessment, progress)
        except _StoppedError as exc:
            await _fail(
                updater, "stopped", f"stopped after {exc} samples; send the same request again to go on."
            )
        except EgoADRError as exc:
            await _fail(updater, exc.cause, str(exc))
        except Exception as exc:
            # whoever asked must hear of it; a task left at work would be waited for without end
            log.exception("an assessment broke")
            await _fail(updater, "evaluator", f"{type(exc).__name__} inside the evaluator; see its log.")
        else:
            parts = [
                new_text_part(findings.text),
                new_data_part(findings.data, media_type="application/json"),
            ]
            await updater.add_artifact(parts, name="EgoErrorVQA scores")
            counts = ", ".join(f"{count} {status}" for status, count in findings.data["statuses"].items())
            await updater.complete(updater.new_agent_message([new_text_part(f"assessed: {counts}")]))


class AssessmentHandler(DefaultRequestHandler):  # type: ignore[misc]  # the SDK is not typed
    """Refuses what is no assessment, and a second one at a time, with a plain JSON-RPC error."""

    def __init__(self, executor: AssessmentExecutor, **more: Any) -> None:
        super().__init__(agent_executor=executor, **more)
        self._assessments = executor

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        self._assessments.check(params.message)
        return await super().on_message_send(params, context)

    def on_message_send_stream(self, params: SendMessageRequest, context: ServerCallContext) -> Any:
        self._assessments.check(params.message)
        return super().on_message_send_stream(params, context)


class _Telling:
    """Not every sample is news."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._last = -every

    def due(self, last: bool) -> bool:
        now = time.monotonic()
        if not last and now - self._last < self._every:
            return False
        self._last = now
        return True


async def _fail(updater: TaskUpdater, cause: str, message: str) -> None:
    parts = [
        new_text_part(f"{cause}: {message}"),
        new_data_part({"cause": cause}, media_type="application/json"),
    ]
    with contextlib.suppress(RuntimeError):  # a cancelled task has ended already
        await updater.failed(updater.new_agent_message(parts))
