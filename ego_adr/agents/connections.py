"""Connections that send nothing, or a request's head without end, are closed."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["patient_protocol"]


def patient_protocol(seconds: float) -> type[asyncio.Protocol]:
    """The HTTP protocol of uvicorn, with an end to its patience for a request's head.

    uvicorn bounds the time between two requests, and `BodyGuard` that of a body; in between a sender could hold
    a connection for ever.

    Args:
        seconds: from the opening of a connection, or the last response, to the end of the next request's head.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class PatientProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is not typed here
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def _watch(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self._close_if_silent)

        def _close_if_silent(self) -> None:
            waiting = self.cycle is None or self.cycle.response_complete
            if waiting and not self.transport.is_closing():
                self.transport.close()

    return PatientProtocol
