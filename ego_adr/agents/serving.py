"""The agent under test as a server: `serve`, and the pieces that any agent of ours is served with."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ego_adr.agents.keys import OPEN_PATHS, SERVER_KEY, KeyGuard, key_from
from ego_adr.agents.limits import Limits
from ego_adr.agents.roots import check_root
from ego_adr.agents.sdk import require_sdk
from ego_adr.errors import InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ego_adr.detector import EgoADR

__all__ = ["CARD_PATHS", "build_agent", "build_app", "card_address", "checked_address", "run_app", "serve"]

log = logging.getLogger(__name__)

#: Where cards were before 0.3 and where they are since.
CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
#: Loggers of the SDK that tell of requests of the wrong form.
_ASKERS_FAULTS = ("a2a.server.routes.jsonrpc_dispatcher", "a2a.compat.v0_3.jsonrpc_adapter")
Health = Callable[[], tuple[bool, dict[str, Any]]]


def serve(
    model: Any,
    *,
    video_root: str | PathLike[str],
    host: str = "127.0.0.1",
    port: int = 9010,
    card_url: str | None = None,
    limits: Limits | None = None,
    batch: int = 8,
    key_variable: str | None = SERVER_KEY,
    **detector_options: Any,
) -> None:
    """Serve a model as an agent under test until the process is told to stop (Ctrl-C or SIGTERM).

    Args:
        model: anything `ego_adr.EgoADR` takes, or a ready `EgoADR`.
        video_root: the only folder whose files are opened.
        host, port: where to listen.
        card_url: the address that the card tells, where it is not the one listened at (containers).
        limits: what is taken from outside.
        batch: questions answered together.
        key_variable: environment variable of the key that askers have to bring (``Authorization: Bearer KEY``).
            Everybody is answered where it is not set.
        detector_options: switches of `ego_adr.EgoADR`, such as ``route`` and ``frames``.

    Raises:
        InputError: a folder, port or switch that cannot be used.
        ResourceError: the A2A packages are missing or of another range.
        ModelNotFoundError: there is no such model.
    """
    require_sdk()
    from ego_adr.detector import EgoADR

    if isinstance(model, EgoADR) and detector_options:
        raise InputError("a ready EgoADR has its switches already: leave them out here.")
    root = check_root(video_root)
    address = checked_address(card_url) if card_url else card_address(host, port)
    detector = model if isinstance(model, EgoADR) else EgoADR(model, **detector_options)
    app = build_agent(
        detector, video_root=root, url=address, limits=limits, batch=batch, key_variable=key_variable
    )
    run_app(app, host=host, port=port, limits=limits)


def build_agent(
    detector: EgoADR,
    *,
    video_root: str | PathLike[str],
    url: str,
    limits: Limits | None = None,
    batch: int = 8,
    key_variable: str | None = SERVER_KEY,
) -> Starlette:
    """The agent under test as an ASGI application, for servers of your own.

    Args:
        url: the address that its card tells.
        video_root, limits, batch, key_variable: see `serve`.
    """
    require_sdk()
    from ego_adr.agents.cards import detector_card
    from ego_adr.agents.desk import Desk
    from ego_adr.agents.executor import DetectorExecutor, QuestionHandler
    from ego_adr.agents.keeping import KeptTasks

    bounds = limits or Limits()
    desk = Desk(detector, bounds, batch=batch)
    card = detector_card(url, detector)
    handler = QuestionHandler(
        DetectorExecutor(desk, check_root(video_root)), task_store=KeptTasks(), agent_card=card
    )

    def health() -> tuple[bool, dict[str, Any]]:
        state = {
            "model": detector.model.name,
            "waiting": desk.pending,
            "answered": desk.answered,
            "refused": desk.refused,
        }
        return desk.ready, state | ({"fault": desk.fault} if desk.fault else {})

    return build_app(
        card, handler, health, bounds, start=desk.start, stop=desk.stop, key_variable=key_variable
    )


def build_app(
    card: Any,
    handler: Any,
    health: Health,
    limits: Limits,
    *,
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
    key_variable: str | None = SERVER_KEY,
) -> Starlette:
    """Routes that every agent has: both versions as JSON-RPC and HTTP+JSON, both cards, ``/health`` and ``/ready``.

    A plain GET of the address says what is there: platforms look at it to see whether a server is up.
    Where there is a key, the cards, ``/health`` and ``/ready`` are answered without it and nothing else is.
    """
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from ego_adr.agents.cards import ask_for_key
    from ego_adr.agents.guarding import BodyGuard

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await start()
        try:
            yield
        finally:
            await stop()
            await handler.aclose()

    async def hello(_: Request) -> JSONResponse:
        about = {"name": card.name, "description": card.description, "version": card.version}
        return JSONResponse({**about, "card": CARD_PATHS[0], "health": "/health", "ready": "/ready"})

    async def alive(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> JSONResponse:
        yes, state = health()
        return JSONResponse({"ready": yes, **state}, status_code=200 if yes else 503)

    middleware = [Middleware(BodyGuard, limits=limits)]
    if key := key_from(key_variable):
        ask_for_key(card)
        middleware.insert(0, Middleware(KeyGuard, key=key, open_paths=(*CARD_PATHS, *OPEN_PATHS)))
    routes = [route for path in CARD_PATHS for route in create_agent_card_routes(card, card_url=path)]
    routes += create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)
    routes += [Route("/", hello), Route("/health", alive), Route("/ready", ready)]
    routes += create_rest_routes(
        handler, enable_v0_3_compat=True
    )  # last: it takes any first folder for a tenant
    return Starlette(routes=routes, lifespan=lifespan, middleware=middleware)


def run_app(app: Starlette, *, host: str, port: int, limits: Limits | None = None) -> None:
    """Run an application until SIGINT or SIGTERM; what has been taken in is answered before it ends."""
    import uvicorn

    from ego_adr.agents.connections import patient_protocol

    for name in _ASKERS_FAULTS:
        logging.getLogger(name).addFilter(_without_traceback)
    bounds = limits or Limits()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        http=patient_protocol(bounds.body_seconds),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        server_header=False,
    )
    log.info("listening at http://%s:%s", host, port)
    uvicorn.Server(config).run()


def _without_traceback(record: logging.LogRecord) -> bool:
    """A request of the wrong form is one line in the log: what is wrong lies with the asker."""
    if str(record.msg).startswith("Failed to validate"):
        record.exc_info = record.exc_text = None
    return True


def card_address(host: str, port: int) -> str:
    """The address that a card tells when none is given.

    Raises:
        InputError: a port that is none.
    """
    if not 0 < port < 65536:
        raise InputError(f"port {port} is none; it is from 1 to 65535.")
    shown = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(
        host, f"[{host}]" if ":" in host else host
    )
    return f"http://{shown}:{port}/"


def checked_address(url: str, option: str = "--card-url") -> str:
    """An http address, ending in a slash.

    Raises:
        InputError: it is none.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError(f"{option} {url!r} is no address; it looks like http://host:port/.")
    return url.strip().rstrip("/") + "/"
