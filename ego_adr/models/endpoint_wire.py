"""The way to a server and back: one request, waited for as the server says, with an end; errors told apart."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from ego_adr.errors import ModelNotFoundError, ServerError
from ego_adr.models.endpoint_answers import error_text, retry_after
from ego_adr.types import Failure

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

__all__ = ["OPENAI_URL", "GaveUpError", "RefusedError", "Wire"]

OPENAI_URL = "https://api.openai.com/v1"
_TRIES = 5
_CONNECT_TRIES = 3


class RefusedError(Exception):
    """The server refuses the request as it is (400, 413, 422 ...)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _BusyError(Exception):
    """Worth another try: busy, unwell or not reachable."""

    def __init__(
        self,
        message: str,
        *,
        cause: str = "server",
        retry_after: float | None = None,
        connection: bool = False,
        tries: int = _TRIES,
        pace: float = 1.0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.retry_after = retry_after
        self.connection = connection
        self.tries = tries
        self.pace = pace


class GaveUpError(Exception):
    """This request has no answer, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Wire:
    """Posts bodies to one server.

    Args:
        base_url: address of the API, without a slash at its end.
        name: what messages call the server.
        key: sent as bearer token; hidden in every message.
        key_variable: the environment variable the key comes from.
        timeout: seconds that one answer may take.
        patience: most seconds to wait, all in all, while the server is busy or unwell.
    """

    def __init__(
        self, base_url: str, name: str, *, key: str, key_variable: str, timeout: float, patience: float
    ) -> None:
        self.base_url = base_url
        self.name = name
        self._key = key
        self._key_variable = key_variable
        self._timeout = timeout
        self._patience = patience
        self._client = _client(base_url, key, timeout)
        self.close = self._client.close

    def send(self, payload: dict[str, Any], *, wait: bool) -> Any:
        """Post, and wait for a busy server as it says, with an end."""
        from tenacity import Retrying, retry_if_exception_type

        def pause(state: RetryCallState) -> float:
            busy = _busy(state)
            return (
                busy.pace * 2.0 ** (state.attempt_number - 1)
                if busy.retry_after is None
                else busy.retry_after
            )

        def stop(state: RetryCallState) -> bool:
            return (
                state.attempt_number >= _busy(state).tries or state.idle_for + pause(state) > self._patience
            )

        retrying = Retrying(retry=retry_if_exception_type(_BusyError), wait=pause, stop=stop, reraise=True)
        try:
            return retrying(self._send_once, payload, wait)
        except _BusyError as exc:
            if exc.connection:
                raise ServerError(self._hide(exc.message)) from exc.__cause__
            waited = f" It was asked {retrying.statistics.get('attempt_number', 1)} times"
            if exc.retry_after is not None and exc.retry_after > self._patience:
                waited += f"; it asks for {exc.retry_after:g} s more, the limit is {self._patience:g} s (patience=...)"
            raise GaveUpError(
                Failure(cause=exc.cause, message=f"{self._hide(exc.message)}{waited}.")
            ) from exc

    def _send_once(self, payload: dict[str, Any], wait: bool) -> Any:
        import openai

        fields = {name: value for name, value in payload.items() if name not in ("model", "messages")}
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=payload["model"], messages=payload["messages"], extra_body=fields
            )
            text = raw.http_response.text
        except openai.APITimeoutError as exc:
            if type(exc.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout"):
                raise _BusyError(
                    self._unreachable(exc), connection=True, tries=_CONNECT_TRIES, pace=0.25
                ) from exc
            message = f"{self.name} gave no answer within {self._timeout:g} s (timeout=...)."
            raise GaveUpError(Failure(cause="timeout", message=message)) from exc
        except openai.APIConnectionError as exc:
            raise _BusyError(
                self._unreachable(exc), connection=True, tries=_CONNECT_TRIES, pace=0.25
            ) from exc
        except openai.APIStatusError as exc:
            self._explain(exc, wait)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _explain(self, exc: Any, wait: bool) -> NoReturn:
        """What an HTTP error means for this request or for the model."""
        status: int = exc.status_code
        body = exc.body if exc.body is not None else exc.response.text
        message = self._hide(error_text(body))
        said = f"{self.name} answered {status}: {message or exc.response.reason_phrase}"
        if status in (401, 403):
            held = "the key in it was not accepted" if self._key else "it is not set"
            raise ServerError(
                f"{said}. Set the key in the environment variable {self._key_variable} ({held})."
            ) from exc
        if status == 404:
            if "model" in message.casefold():
                raise ModelNotFoundError(f"{said}. {self._served_text()}") from exc
            raise ServerError(
                f"{said}. Is {self.base_url} the address of the API? It mostly ends in /v1."
            ) from exc
        if status == 429 and "insufficient_quota" in json.dumps(body, default=str):
            raise GaveUpError(
                Failure(cause="rate limit", message=f"{said} Waiting does not help here.")
            ) from exc
        if status in (500, 501) and not wait:
            raise RefusedError(status, message) from exc
        if status in (408, 409, 425, 429) or status >= 500:
            seconds = retry_after({k.lower(): v for k, v in exc.response.headers.items()}, time.time())
            cause = "rate limit" if status == 429 else "server"
            raise _BusyError(said, cause=cause, retry_after=seconds) from exc
        raise RefusedError(status, message) from exc

    def _unreachable(self, exc: BaseException) -> str:
        reason = exc.__cause__ or exc
        return f"{self.base_url} cannot be reached ({type(reason).__name__}: {reason}). Is the server running there?"

    def _hide(self, text: str) -> str:
        """Servers like to repeat a key in their complaints."""
        return text.replace(self._key, "<key>") if len(self._key) > 3 else text

    def served(self) -> list[str]:
        """Names of the models that the server lists.

        Raises:
            ServerError: it does not answer, or not in the protocol.
        """
        import openai

        try:
            raw = self._client.models.with_raw_response.list(timeout=min(self._timeout, 30.0))
            held = json.loads(raw.http_response.text)
        except openai.APIConnectionError as exc:
            raise ServerError(self._unreachable(exc)) from exc
        except openai.APIStatusError as exc:
            said = self._hide(error_text(exc.body if exc.body is not None else exc.response.text))
            raise ServerError(f"{self.base_url}/models answered {exc.status_code}: {said}") from exc
        except ValueError as exc:
            raise ServerError(
                f"{self.base_url}/models is no JSON. Is it the address of an API? It mostly ends in /v1."
            ) from exc
        rows = held.get("data") if isinstance(held, Mapping) else None
        return [
            row["id"] for row in rows or () if isinstance(row, Mapping) and isinstance(row.get("id"), str)
        ]

    def _served_text(self) -> str:
        try:
            names = self.served()
        except ServerError:
            return "Say its name after the address: http://host:port/v1#NAME."
        return f"The server has: {', '.join(names[:20]) or 'none'}."


def _busy(state: RetryCallState) -> _BusyError:
    """What the last try came to; only such tries are tried again."""
    exc = state.outcome.exception() if state.outcome else None
    return exc if isinstance(exc, _BusyError) else _BusyError("", tries=1)


def _client(base_url: str, key: str, timeout: float) -> OpenAI:
    from openai import DefaultHttpxClient, OpenAI

    host = urlsplit(base_url).hostname or ""
    here = host in ("localhost", "127.0.0.1", "::1")
    client = OpenAI(
        base_url=base_url,
        api_key=key or "none",
        timeout=timeout,
        max_retries=0,  # waiting is done here, so that it is told and has an end
        # a proxy from the environment has no business between two programs of one machine
        http_client=DefaultHttpxClient(trust_env=not here, timeout=timeout),
    )
    if base_url != OPENAI_URL:
        client.organization = None  # of the environment, and none of another server's business
        client.project = None
    return client
