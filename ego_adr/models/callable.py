"""Any function of pictures and a prompt is a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ego_adr.errors import InputError, ModelError
from ego_adr.models.failing import answer_each
from ego_adr.types import Frame, Reply, Request

__all__ = ["CallableModel"]


class CallableModel:
    """Wraps ``f(frames, prompt) -> str``.

    Args:
        function: takes a list of `Frame` (``.array`` H x W x 3 uint8, ``.time`` in seconds; the list is empty
            for a text-only question) and the prompt; returns the text, or a `Reply`.
        name: shown in results; the function's own name when it has one.
        fingerprint: a text that changes whenever the answers could. With it, replies may be cached.

    A function that raises for one of several requests fails that one alone.

    Raises:
        InputError: when the function cannot be called with two arguments, or is asynchronous.
    """

    def __init__(
        self,
        function: Callable[[list[Frame], str], Any],
        *,
        name: str | None = None,
        fingerprint: str | None = None,
    ) -> None:
        _check_signature(function)
        self.name = name or _name_of(function)
        self.fingerprint = fingerprint
        self.batch_size = 1
        self._function = function

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return answer_each(requests, self._answer)

    def _answer(self, request: Request) -> Reply:
        said = self._function(list(request.frames), request.prompt)
        if isinstance(said, Reply):
            return said
        if not isinstance(said, str):
            raise ModelError(
                f"{self.name} returned {type(said).__name__} where a text (str) or a Reply is needed."
            )
        return Reply(text=said.strip())

    def __repr__(self) -> str:
        return f"CallableModel({self.name})"


def _name_of(function: Callable[..., Any]) -> str:
    given = getattr(function, "__name__", None)
    if given is None:
        return type(function).__name__
    return "function" if given == "<lambda>" else str(given)


def _check_signature(function: Callable[..., Any]) -> None:
    if any(inspect.iscoroutinefunction(f) for f in (function, function.__call__)):  # type: ignore[operator]
        raise InputError(
            f"{_name_of(function)} is asynchronous: give a plain function f(frames, prompt) -> str, for instance "
            "lambda frames, prompt: asyncio.run(your_function(frames, prompt))."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some built-in callables have none: they are taken at their word
    try:
        signature.bind([], "")
    except TypeError as exc:
        raise InputError(
            f"{_name_of(function)}{signature} cannot be called as f(frames, prompt): {exc}. A model function takes "
            "the pictures and the prompt, in this order."
        ) from exc
