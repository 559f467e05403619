"""What is let in: bounded bodies, read in bounded time, of one JSON object that is not nested without end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ego_adr.agents.limits import Limits

__all__ = ["App", "BodyGuard", "Receive", "Scope", "Send", "answer_json", "json_depth", "rpc_error"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# the closing quote is optional so that a string without an end is matched once and never tried again
_STRINGS = re.compile(rb'"(?:[^"\\]+|\\.)*"?', re.DOTALL)
_VERSION = b"a2a-version"
_UNREAD = (401, 408, 413)
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

    Answers 413 to a body that is too large, 408 to one that comes too slowly, and a JSON-RPC error to one that is
    no JSON, nested too deep, or no single request. A request is handed on in the version of the protocol that its
    method belongs to.
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
            await answer_json(
                send, 413, rpc_error(-32600, f"the body is larger than {self._limits.body} bytes.")
            )
            return
        except asyncio.TimeoutError:
            await answer_json(
                send, 408, rpc_error(-32600, f"the body took longer than {self._limits.body_seconds:g} s.")
            )
            return
        if body is None:  # the sender went away
            return
        try:
            method = self._method(body)
        except _RefusedError as exc:
            await answer_json(send, 200, rpc_error(exc.code, str(exc)))
            return
        handed = False

        async def replay() -> MutableMapping[str, Any]:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(_in_its_version(scope, method), replay, send)

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

    def _method(self, body: bytes) -> str:
        """The method that a body calls.

        Raises:
            _RefusedError: the body is not handed on.
        """
        if json_depth(body, self._limits.depth) > self._limits.depth:
            raise _RefusedError(-32700, f"the JSON is nested deeper than {self._limits.depth}.")
        try:
            held = json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise _RefusedError(-32700, f"the body is no JSON ({str(exc)[:200]}).") from exc
        if not isinstance(held, dict):
            what = "a batch" if isinstance(held, list) else "no object"
            raise _RefusedError(
                -32600, f"the body is {what}; send one JSON-RPC request, an object, at a time."
            )
        method = held.get("method")
        return method if isinstance(method, str) else ""


def _in_its_version(scope: Scope, method: str) -> Scope:
    """The scope with the version of the protocol that a method belongs to, where the header says another or none.

    The names tell them apart (``message/send``, ``SendMessage``), and the paths of HTTP+JSON (``/v1/message:send``,
    ``/message:send``). Askers by hand and proxies leave the header out,
    which means 0.3. A version that is neither stays, to be refused by name.
    """
    path = str(scope["path"])
    if "/" in method or path.startswith("/v1/"):
        wanted = b"0.3"
    else:
        wanted = b"1.0" if method[:1].isupper() or ":" in path else b""
    told = next((value for name, value in scope["headers"] if name.lower() == _VERSION), b"").strip()
    known = told == b"" or told.split(b".")[0] in (b"0", b"1")
    if not wanted or not known or told.split(b".")[0] == wanted[:1]:
        return scope
    others = [pair for pair in scope["headers"] if pair[0].lower() != _VERSION]
    return {**scope, "headers": [*others, (_VERSION, wanted)]}


class _TooLargeError(Exception):
    """More bytes than are taken."""


class _RefusedError(Exception):
    """A body that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def rpc_error(code: int, message: str) -> dict[str, Any]:
    """The body of a JSON-RPC error that answers no request in particular."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


async def answer_json(
    send: Send, status: int, body: dict[str, Any], headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole JSON response; the connection ends with it where the request was not read to its end."""
    data = json.dumps(body).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), *headers]
    if status in _UNREAD:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": data})
