"""Talking to an agent: its card at the new place or the old one, messages, tasks that finish later, and patience."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientTimeoutError, AgentCardResolutionError
from a2a.helpers import get_data_parts, get_text_parts, new_message, new_raw_part, new_text_part
from a2a.types import AgentCard, GetTaskRequest, Message, Role, SendMessageRequest, Task, TaskState
from a2a.utils.errors import A2AError

from ego_adr.agents.keys import ClientKey
from ego_adr.agents.serving import CARD_PATHS
from ego_adr.errors import ServerError
from ego_adr.types import Failure

__all__ = ["Said", "ask_agent", "fetch_card", "fetch_card_name"]

_DONE = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_INPUT_REQUIRED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
    TaskState.TASK_STATE_UNSPECIFIED,  # 0.3's "unknown": nothing says that it will ever be another
}
_BINDINGS = ("JSONRPC", "HTTP+JSON")
#: Keys under which the data of an agent may hold its answer, the plainest first.
_ANSWERS = (
    "label",
    "answer",
    "verdict",
    "prediction",
    "predicted_label",
    "classification",
    "error_type",
    "response",
    "result",
)
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Said:
    """What an agent said to one message: text and data parts, or why there are none.

    Attributes:
        text: the first part that holds any, which is the answer: agents put details behind it.
        more: the other texts in order, and the answer that the data hold.
    """

    text: str = ""
    more: tuple[str, ...] = ()
    data: tuple[Any, ...] = ()
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


async def fetch_card(http: httpx.AsyncClient, url: str, key: ClientKey) -> AgentCard:
    """The card of the agent at an address: at its place since 0.3, else at the one before.

    From then on the key is sent as the card says.

    Raises:
        ServerError: there is none; the message says what answered.
    """
    tried: list[str] = []
    for path in CARD_PATHS:
        try:
            card = await A2ACardResolver(http, url, path).get_agent_card()
        except AgentCardResolutionError as exc:
            tried.append(f"{path}: {key.hide(str(exc.message))}")
            if exc.status_code in (401, 403):
                raise ServerError(
                    f"the agent at {url} answered HTTP {exc.status_code} when asked for its card. {key.remedy(url)}"
                ) from exc
            if exc.status_code in (404, 405, 410):
                continue
            break
        if not card.supported_interfaces:
            raise ServerError(f"the agent at {url} has a card without an address: it cannot be asked.")
        key.follow(card)
        return card
    raise ServerError(f"there is no agent at {url}. Is it running? ({'; '.join(tried)})")


async def fetch_card_name(url: str, timeout: float, key_variable: str | None) -> str:
    """The name on an agent's card."""
    key = ClientKey(key_variable, url)
    async with _http(url, timeout, key) as http:
        return str((await fetch_card(http, url, key)).name)


async def ask_agent(
    url: str,
    sent: Sequence[tuple[str, tuple[bytes, ...]]],
    *,
    timeout: float,
    patience: float,
    concurrency: int,
    key_variable: str | None,
) -> list[Said]:
    """Send messages, each of its own context, and return what was said in their order.

    Args:
        sent: text and JPEG files of each message.
        timeout: seconds an answer may take.
        patience: seconds to wait, all in all, for an agent that says it is busy.
        concurrency: most messages under way at once.
        key_variable: environment variable of the key that is sent; None for none.
    """
    gate = asyncio.Semaphore(concurrency)
    key = ClientKey(key_variable, url)
    async with _http(url, timeout, key) as http:
        try:
            card = await fetch_card(http, url, key)
            client = await _client(http, card, url)
        except (ServerError, ValueError) as exc:
            gone = Failure(cause="agent unreachable", message=str(exc))
            return [Said(failure=gone) for _ in sent]

        async def one(text: str, files: tuple[bytes, ...]) -> Said:
            async with gate:
                begin = time.perf_counter()
                said = await _patiently(client, text, files, timeout, patience, key)
                return replace(said, seconds=time.perf_counter() - begin)

        return list(await asyncio.gather(*(one(text, files) for text, files in sent)))


async def _patiently(
    client: Client,
    text: str,
    files: tuple[bytes, ...],
    timeout: float,
    patience: float,
    key: ClientKey,
) -> Said:
    waited, pause = 0.0, 1.0
    while True:
        try:
            return await asyncio.wait_for(_once(client, text, files), timeout)
        except (asyncio.TimeoutError, A2AClientTimeoutError):
            message = f"the agent gave no answer within {timeout:g} s (timeout=...)."
            return Said(failure=Failure(cause="timeout", message=message))
        except A2AError as exc:
            cause, wait, message = _cause(exc, key)
            if cause == "busy" and waited + (wait or pause) <= patience:
                waited += wait or pause
                await asyncio.sleep(wait or pause)
                pause = min(2 * pause, 15.0)
                continue
            return Said(failure=Failure(cause=cause, message=key.hide(message)))
        except Exception as exc:
            # a stranger may send anything; what breaks the reading of it is that sample's failure
            message = f"the agent's answer cannot be read ({type(exc).__name__}: {str(exc)[:300]})."
            return Said(failure=Failure(cause="agent", message=message))


async def _once(client: Client, text: str, files: tuple[bytes, ...]) -> Said:
    parts = [new_text_part(text), *(new_raw_part(data, media_type="image/jpeg") for data in files)]
    request = SendMessageRequest(message=new_message(parts, role=Role.ROLE_USER))
    task: Task | None = None
    async for event in client.send_message(request):
        if event.HasField("message"):
            return _of_message(event.message)
        if event.HasField("task"):
            task = event.task
    if task is None:
        return Said(
            failure=Failure(cause="agent", message="the agent's answer holds neither a message nor a task.")
        )
    pause = 0.5
    while task.status.state not in _DONE:
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, 5.0)
        task = await client.get_task(GetTaskRequest(id=task.id))
    return _of_task(task)


def _of_message(message: Message) -> Said:
    texts, data = get_text_parts(message.parts), get_data_parts(message.parts)
    if not texts and not data:
        return Said(
            failure=Failure(cause="agent", message="the agent's message holds neither text nor data.")
        )
    return _told(texts, tuple(data))


def _told(texts: Sequence[str], data: tuple[Any, ...]) -> Said:
    """What was said by the texts, and by the answer in the data."""
    objects = [held for held in data if isinstance(held, dict)]
    given = [held[key] for key in _ANSWERS for held in objects if isinstance(held.get(key), str)]
    plain = [text.strip() for text in (*texts, *given[:1]) if text.strip()]
    return Said(text=plain[0] if plain else "", more=tuple(plain[1:]), data=data)


def _of_task(task: Task) -> Said:
    """The text of a finished task: of its artifacts, else of its status, else of the agent's last message."""
    places = [artifact.parts for artifact in task.artifacts]
    places.append(task.status.message.parts)
    places += [message.parts for message in reversed(task.history) if message.role == Role.ROLE_AGENT]
    texts = [text for parts in places for text in get_text_parts(parts) if text.strip()]
    data = tuple(held for parts in places for held in get_data_parts(parts))
    if task.status.state == TaskState.TASK_STATE_COMPLETED:
        if not texts and not data:
            return Said(
                failure=Failure(
                    cause="agent", message="the agent's task is done and holds neither text nor data."
                )
            )
        return _told(texts, data)
    state = TaskState.Name(task.status.state).removeprefix("TASK_STATE_").replace("_", " ").lower()
    told = get_text_parts(task.status.message.parts)
    cause = next((h["cause"] for h in data if isinstance(h, dict) and isinstance(h.get("cause"), str)), None)
    if cause is None:
        failure: dict[str, Any] = next(
            (h["failure"] for h in data if isinstance(h, dict) and isinstance(h.get("failure"), dict)), {}
        )
        cause = failure.get("cause") if isinstance(failure.get("cause"), str) else None
    message = f"the agent's task is {state}: {told[0] if told else 'it does not say why'}"
    return Said(failure=Failure(cause=cause or f"agent: task {state}", message=message), data=data)


def _cause(exc: A2AError, key: ClientKey) -> tuple[str, float | None, str]:
    """The word a refusal is counted under, the seconds it asks to wait, and what to tell."""
    data = exc.data if isinstance(exc.data, dict) else {}
    given, wait = data.get("cause"), data.get("retry_after_s")
    text = str(exc.message)
    root = exc.__cause__
    if isinstance(given, str) and given:
        return given, _seconds(wait), text
    if isinstance(root, httpx.HTTPStatusError):
        return _of_status(root.response, key)
    if isinstance(root, httpx.RequestError):
        return "agent unreachable", None, text
    if isinstance(root, json.JSONDecodeError):
        return "agent", None, f"the agent's answer is no JSON: {root.doc[:200]!r}"
    if text.casefold().startswith("busy"):
        return "busy", _seconds(wait), text
    return "agent refused", None, text


def _of_status(answer: httpx.Response, key: ClientKey) -> tuple[str, float | None, str]:
    """The same of an HTTP status in place of an answer."""
    status = answer.status_code
    try:
        body = answer.text[:200]
    except httpx.ResponseNotRead:  # a stream that nobody has read
        body = ""
    told = f"the agent answered HTTP {status}" + (f": {body!r}" if body else ".")
    if status in (429, 503):
        return "busy", _seconds(answer.headers.get("retry-after")), told
    if status == 502:  # of a proxy that finds nobody behind it
        return "agent unreachable", None, told
    if status in (408, 504):
        return "timeout", None, told
    if status in (401, 403):
        return "agent refused", None, f"{told} {key.remedy(str(answer.url))}"
    return ("agent refused" if 400 <= status < 500 else "agent"), None, told


def _seconds(wait: Any) -> float | None:
    try:
        seconds = float(wait)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < 3600 else None


async def _client(http: httpx.AsyncClient, card: AgentCard, url: str) -> Client:
    """A client of the agent, at the address of its card where that can be reached from here.

    Raises:
        ValueError: it speaks in no way that is known here.
    """
    for interface in card.supported_interfaces:
        interface.url = await _reachable(interface.url, url)
        if interface.protocol_version.startswith("0."):
            interface.protocol_version = "0.3"  # 0.2 asks and answers the same
    config = ClientConfig(
        streaming=False,
        httpx_client=http,
        supported_protocol_bindings=list(_BINDINGS),
        accepted_output_modes=["text/plain", "application/json"],
    )
    try:
        return ClientFactory(config).create(card)
    except ValueError as exc:
        offered = ", ".join(
            dict.fromkeys(f"{i.protocol_binding} {i.protocol_version}" for i in card.supported_interfaces)
        )
        raise ValueError(f"the agent speaks {offered}; ego-adr speaks {' and '.join(_BINDINGS)}.") from exc


async def _reachable(told: str, asked: str) -> str:
    """The address on a card, as it is from here: containers tell their own loopback, or a name of their network."""
    here, there = urlsplit(asked), urlsplit(urljoin(asked.rstrip("/") + "/", told.strip()))
    moved = there.hostname == "0.0.0.0" or (there.hostname in _HERE and here.hostname not in _HERE)
    if not moved and there.hostname != here.hostname:
        try:
            await asyncio.get_running_loop().getaddrinfo(there.hostname or "", None)
        except (OSError, UnicodeError):
            moved = True
    if moved:
        there = there._replace(scheme=here.scheme, netloc=here.netloc)
    return urlunsplit(there._replace(path=there.path or "/", fragment=""))


def _http(url: str, timeout: float, key: ClientKey) -> httpx.AsyncClient:
    # httpx gives up after 5 s by itself; video takes longer. Proxies have no business on one machine.
    here = urlsplit(url).hostname in _HERE
    return httpx.AsyncClient(
        timeout=httpx.Timeout(timeout, connect=min(timeout, 15.0)),
        trust_env=not here,
        follow_redirects=True,
        event_hooks={"request": [key.attach]},
    )
