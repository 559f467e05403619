"""A model that says what it was told to say, for tests of control flow: ours and our users'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ego_adr.errors import ScriptExhaustedError
from ego_adr.types import Reply, Request

__all__ = ["ScriptedModel"]

Line = str | Reply | Exception | Callable[[Request], "str | Reply"]


class ScriptedModel:
    """Answers from a list, records every request, and raises when the list is used up.

    Args:
        script: one entry a request, in order: a text, a `Reply`, an exception to raise, or a function of
            the request. A single function in place of a list answers every request.
        name: shown in results.

    Attributes:
        requests: every request so far.
        calls: how many times ``generate`` was called.

    Raises:
        ScriptExhaustedError: when asked more often than it has answers.
    """

    def __init__(
        self, script: Iterable[Line] | Callable[[Request], str | Reply], *, name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.calls = 0
        self._always = script if callable(script) else None
        self._lines = [] if callable(script) else list(script)
        self._next = 0

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.calls += 1
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        self.requests.append(request)
        line: Line
        if self._always is not None:
            line = self._always
        elif self._next < len(self._lines):
            line = self._lines[self._next]
            self._next += 1
        else:
            raise ScriptExhaustedError(
                f"ScriptedModel {self.name!r} holds {len(self._lines)} answers and was asked once more; "
                f"the prompt began {request.prompt[:80]!r}. Give it another answer, or a function."
            )
        if isinstance(line, Exception):
            raise line
        said = line(request) if callable(line) else line
        return said if isinstance(said, Reply) else Reply(text=said)
