"""Keys: one that is sent to the agent that was named and to nobody else, and one that askers have to bring."""

from __future__ import annotations

import base64
import hmac
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ego_adr.agents.guarding import App, Receive, Scope, Send, answer_json, rpc_error

if TYPE_CHECKING:
    import httpx
    from a2a.types import AgentCard

__all__ = ["CLIENT_KEY", "OPEN_PATHS", "SERVER_KEY", "ClientKey", "KeyGuard", "key_from"]

#: The environment variable of the key that agents are asked with.
CLIENT_KEY = "EGO_ADR_A2A_KEY"
#: The environment variable of the key that our agents ask for.
SERVER_KEY = "EGO_ADR_SERVE_KEY"
#: What is answered without a key besides the cards: probes of platforms have none.
OPEN_PATHS = ("/health", "/ready")


def key_from(variable: str | None) -> str:
    """The key in an environment variable; none where it is not set, or no variable is named."""
    return os.environ.get(variable, "").strip() if variable else ""


class ClientKey:
    """The key for one agent: sent the way its card says, a bearer token before and without one.

    It goes to the origin that was named and to no other: neither a redirect nor the address on a card can lead it
    astray. From http to https of the same host is the same origin.

    Args:
        variable: the environment variable that holds it; None for no key.
        url: the address of the agent.
    """

    def __init__(self, variable: str | None, url: str) -> None:
        self._variable = variable
        self._key = key_from(variable)
        self._origin = _origin(url)
        self._header = "Authorization"
        self._value = f"Bearer {self._key}"
        self._beyond: str | None = None

    def follow(self, card: AgentCard) -> None:
        """Send it as a card asks: by bearer token, by name and password (``NAME:PASSWORD``), or in a header."""
        wanted = [
            card.security_schemes[name]
            for requirement in card.security_requirements
            for name in requirement.schemes
            if name in card.security_schemes
        ]
        unknown = []
        for scheme in wanted or card.security_schemes.values():
            kind = scheme.WhichOneof("scheme")
            if kind == "http_auth_security_scheme":
                way = scheme.http_auth_security_scheme.scheme.casefold()
                if way == "basic":
                    coded = base64.b64encode(self._key.encode()).decode() if ":" in self._key else self._key
                    self._header, self._value = "Authorization", f"Basic {coded}"
                    return
                if way == "bearer":
                    return
                unknown.append(f"http {way}")
            elif kind in ("oauth2_security_scheme", "open_id_connect_security_scheme"):
                return
            elif kind == "api_key_security_scheme":
                place = scheme.api_key_security_scheme
                if place.location.casefold() == "header" and place.name:
                    self._header, self._value = place.name, self._key
                    return
                unknown.append(f"a key in the {place.location or 'unknown place'}")
            else:
                unknown.append("a certificate")
        if unknown:
            self._beyond = ", ".join(dict.fromkeys(unknown))

    async def attach(self, request: httpx.Request) -> None:
        """A hook of httpx: puts the key on a request to its agent, and takes it off any other."""
        if not self._key:
            return
        if self._is_ours(str(request.url)):
            request.headers[self._header] = self._value
        elif self._header in request.headers:
            del request.headers[self._header]

    def hide(self, text: str) -> str:
        """Agents like to repeat a key in their complaints."""
        for secret in (self._value.partition(" ")[2], self._key):
            if len(secret) > 3:
                text = text.replace(secret, "<key>")
        return text

    def remedy(self, url: str) -> str:
        """What to do about an answer of 401 or 403 that came from an address."""
        if self._beyond:
            return f"Its card asks for {self._beyond}, which ego-adr does not send."
        if not self._variable:
            return "It wants a login, and this program sends no key."
        if not self._key:
            return f"It wants a login: set its key in the environment variable {self._variable}."
        if not self._is_ours(url):
            there = urlsplit(url)
            return (
                f"The key in {self._variable} was not sent, since {there.scheme}://{there.netloc} is not the address "
                "that was named; name that one if it may have the key."
            )
        return f"The key in {self._variable} was sent and not accepted."

    def _is_ours(self, url: str) -> bool:
        scheme, host, port = _origin(url)
        mine = self._origin
        upgraded = (mine[0], mine[2], scheme, port) == ("http", 80, "https", 443)
        return host == mine[1] and ((scheme, port) == (mine[0], mine[2]) or upgraded)


class KeyGuard:
    """ASGI middleware: what comes without the key is answered 401 before anything of it is read.

    Args:
        key: what ``Authorization: Bearer`` has to hold.
        open_paths: what is answered to everybody.
    """

    def __init__(self, app: App, key: str, open_paths: tuple[str, ...]) -> None:
        self._app = app
        self._key = key.encode()
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open or self._holds_key(scope):
            await self._app(scope, receive, send)
            return
        told = rpc_error(-32600, "this agent wants a key, as `Authorization: Bearer KEY`.")
        await answer_json(send, 401, told, [(b"www-authenticate", b"Bearer")])

    def _holds_key(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].strip().partition(b" ")
        return bool(scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._key))


def _origin(url: str) -> tuple[str, str, int | None]:
    parts: Any = urlsplit(url)
    return (
        parts.scheme.casefold(),
        parts.hostname or "",
        parts.port or {"http": 80, "https": 443}.get(parts.scheme.casefold()),
    )
