"""What is let in: bounded bodies, read in bounded time, of JSON that is not nested without end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ego_adr.agents.limits import Limits

__all__ = ["BodyGuard", "json_depth"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# the closing quote is optional so that a string without an end is matched once and never tried again
_STRINGS = re.compile(rb'"(?:[^"\\]+|\\.)*"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def json_depth(body: bytes, most: int) -> int:
    """How deep a JSON text is nested; counting stops above ``most``. Brackets inside strings do not count."""
    depth = deepest = 0
    for byte in _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        if depth > deepest:
            deepest = depth
            if deepest > most:
                break
    return deepest


class BodyGuard:
    """ASGI middleware: reads a posted body whole before the application sees it.

    Answers 413 to a body that is too large, 408 to one that comes too slowly, and a JSON-RPC parse error to one
    that is no JSON or nested too deep.
    """

    def __init__(self, app: App, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT", "PATCH"):
            await self._app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self._limits.body_seconds)
        except _TooLargeError:
            await _answer(send, 413, _error(-32600, f"the body is larger than {self._limits.body} bytes."))
            return
        except asyncio.TimeoutError:
            await _answer(
                send, 408, _error(-32600, f"the body took longer than {self._limits.body_seconds:g} s.")
            )
            return
        if body is None:  # the sender went away
            return
        fault = self._fault(body)
        if fault:
            await _answer(send, 200, _error(-32700, fault))
            return
        handed = False

        async def replay() -> MutableMapping[str, Any]:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > self._limits.body:
            raise _TooLargeError
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self._limits.body:
                raise _TooLargeError
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)

    def _fault(self, body: bytes) -> str:
        """Why a body is not handed on, else nothing."""
        if json_depth(body, self._limits.depth) > self._limits.depth:
            return f"the JSON is nested deeper than {self._limits.depth}."
        try:
            json.loads(body)
        except (ValueError, RecursionError) as exc:
            return f"the body is no JSON ({str(exc)[:200]})."
        return ""


class _TooLargeError(Exception):
    """More bytes than are taken."""


def _error(code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


async def _answer(send: Send, status: int, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
