"""An agent on a2a-sdk 0.3: answers every question with one label, as a message or as a task.

Usage: old_server.py PORT WAY, where WAY is ``message`` or ``task``.
"""

from __future__ import annotations

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_agent_text_message, new_task

PORT, WAY = int(sys.argv[1]), sys.argv[2]


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        label = "Wrong order" if "<video_path>" in text and "Current Step:" in text else "no question"
        if WAY == "message":
            await event_queue.enqueue_event(new_agent_text_message(label, context_id=context.context_id))
            return
        task = new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await updater.add_artifact([Part(root=TextPart(text=label))])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


card = AgentCard(
    name="old",
    description="an agent of 0.3",
    url=f"http://127.0.0.1:{PORT}/",
    version="1",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="s", name="s", description="s", tags=["s"])],
)
handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore())
uvicorn.run(A2AStarletteApplication(card, handler).build(), host="127.0.0.1", port=PORT, log_level="warning")
