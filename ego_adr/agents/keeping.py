"""Finished tasks are kept for a while, not for ever."""

from __future__ import annotations

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Task

__all__ = ["KeptTasks"]


class KeptTasks(InMemoryTaskStore):  # type: ignore[misc]  # the SDK is not typed
    """A task store in memory that lets the oldest tasks go.

    Args:
        most: tasks that are kept.
    """

    def __init__(self, most: int = 512) -> None:
        super().__init__()
        self._most = most
        self._order: OrderedDict[str, ServerCallContext] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        await super().save(task, context)
        self._order[task.id] = context
        self._order.move_to_end(task.id)
        while len(self._order) > self._most:
            oldest, owner = self._order.popitem(last=False)
            await self.delete(oldest, owner)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        self._order.pop(task_id, None)
        await super().delete(task_id, context)
