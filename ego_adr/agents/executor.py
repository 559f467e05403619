"""Between the protocol and the desk: a message in, a label, a sentence or a failed task out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from a2a.helpers import get_data_parts, get_text_parts, new_data_part, new_message, new_task, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, SendMessageConfiguration, SendMessageRequest, Task, TaskState
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError

from ego_adr.agents.desk import Answer, BusyError, Desk
from ego_adr.agents.questions import Question, read_question
from ego_adr.agents.roots import video_below
from ego_adr.errors import InputError

__all__ = ["DetectorExecutor", "QuestionHandler"]

_JSON = "application/json"


class DetectorExecutor(AgentExecutor):  # type: ignore[misc]  # the SDK is not typed
    """Answers questions about videos below one folder.

    A reply is a bare Message, since the published evaluator takes nothing else. A Task comes back when the asker
    wants one (``reply: task``), and always when there is no answer: a failed task is not an opinion.
    """

    def __init__(self, desk: Desk, root: Path) -> None:
        self._desk = desk
        self._root = root

    def read(self, message: Message) -> tuple[Question, Path]:
        """The question of a message, and its video.

        Raises:
            InvalidParamsError: it holds none, or names a path that is not opened; the text says what to send.
        """
        try:
            question = read_question(
                get_text_parts(message.parts),
                get_data_parts(message.parts),
                most_letters=self._desk.limits.text,
            )
            video = video_below(self._root, question.video, most_bytes=self._desk.limits.video_bytes)
        except InputError as exc:
            raise InvalidParamsError(f"{exc.cause}: {exc}", {"cause": exc.cause}) from exc
        return question, video

    def check(self, message: Message) -> None:
        """Refuse before anything is begun.

        Raises:
            A2AError: what cannot be answered, or one question too many.
        """
        self.read(message)
        try:
            self._desk.check_room()
        except BusyError as exc:
            raise _busy(exc) from exc

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        if message is None:
            raise InvalidParamsError("there is no message.")
        question, video = self.read(message)
        as_task = question.reply == "task"
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if as_task:
            await event_queue.enqueue_event(_task(context, TaskState.TASK_STATE_WORKING))
        try:
            answer = await self._desk.ask(question, video)
        except BusyError as exc:
            if not as_task:
                raise _busy(exc) from exc
            await updater.failed(
                self._message(context, [new_text_part(str(exc)), new_data_part({"cause": exc.cause})])
            )
            return
        detailed = question.typed or _takes_json(context.configuration)
        parts = _parts(answer, detailed=detailed, root=self._root)
        if answer.problem is not None:
            if not as_task:
                await event_queue.enqueue_event(_task(context, TaskState.TASK_STATE_SUBMITTED))
            await updater.failed(self._message(context, parts))
        elif as_task:
            await updater.add_artifact(parts, name="detection")
            await updater.complete(self._message(context, parts[:1]))
        else:
            await event_queue.enqueue_event(self._message(context, parts, bare=True))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()

    @staticmethod
    def _message(context: RequestContext, parts: list[Any], *, bare: bool = False) -> Message:
        # no history hangs on a context: evaluators use one for a whole run
        return new_message(parts, context_id=context.context_id, task_id=None if bare else context.task_id)


class QuestionHandler(DefaultRequestHandler):  # type: ignore[misc]  # the SDK is not typed
    """Refuses what cannot be answered with a plain JSON-RPC error, before a task is made of it."""

    def __init__(self, executor: DetectorExecutor, **more: Any) -> None:
        super().__init__(agent_executor=executor, **more)
        self._questions = executor

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        self._check(params)
        return await super().on_message_send(params, context)

    def on_message_send_stream(self, params: SendMessageRequest, context: ServerCallContext) -> Any:
        self._check(params)
        return super().on_message_send_stream(params, context)

    def _check(self, params: SendMessageRequest) -> None:
        try:
            self._questions.check(params.message)
        except (A2AError, asyncio.CancelledError):
            raise
        except Exception as exc:
            # whatever a hostile message breaks must not reach the asker as a traceback
            raise InvalidParamsError(f"the message cannot be read ({type(exc).__name__}).") from exc


def _task(context: RequestContext, state: Any) -> Task:
    return new_task(context.task_id, context.context_id, state)


def _busy(exc: BusyError) -> A2AError:
    return InternalError(str(exc), {"cause": exc.cause, "retry_after_s": 2})


def _takes_json(configuration: SendMessageConfiguration | None) -> bool:
    return configuration is not None and _JSON in list(configuration.accepted_output_modes)


def _parts(answer: Answer, *, detailed: bool, root: Path) -> list[Any]:
    """Text first: an asker that reads one part reads the label, or why there is none.

    Where the agent keeps its videos is nobody's business: paths are told from the root on.
    """
    problem = answer.problem
    prefix = f"{root}/"
    text = answer.text if problem is None else f"{problem[0]}: {problem[1]}".replace(prefix, "")
    parts = [new_text_part(text)]
    if detailed:
        # through JSON, so that every value is one that the protocol knows
        told = answer.detection.model_dump_json().replace(json.dumps(prefix, ensure_ascii=False)[1:-1], "")
        parts.append(new_data_part(json.loads(told), media_type=_JSON))
    elif problem is not None:
        parts.append(new_data_part({"cause": problem[0]}, media_type=_JSON))
    return parts
