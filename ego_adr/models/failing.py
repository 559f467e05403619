"""What one bad request may do to the others: nothing. Shared by the backends that run on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ego_adr.errors import EgoADRError, OutOfMemoryError, ScriptExhaustedError, ServerError
from ego_adr.types import Failure, Reply, Request

__all__ = ["answer_each", "failed", "is_out_of_memory"]

_NAMES = ("OutOfMemoryError", "OutOfMemory")
_WORDS = (
    "out of memory",
    "cannot allocate memory",
    "can't allocate memory",
    "not enough memory",
    "std::bad_alloc",
    "status_alloc_failed",
)


def is_out_of_memory(exc: BaseException) -> bool:
    """Whether an exception, or one that it came from, means that memory is spent. Needs no torch to tell."""
    seen: BaseException | None = exc
    while seen is not None:
        if isinstance(seen, MemoryError | OutOfMemoryError):
            return True
        if any(cls.__name__ in _NAMES for cls in type(seen).__mro__):
            return True
        if isinstance(seen, RuntimeError) and any(words in str(seen).casefold() for words in _WORDS):
            return True
        seen = seen.__cause__
    return False


def failed(exc: Exception) -> Reply:
    """A reply that says how its request failed, under the word that it is counted by."""
    if is_out_of_memory(exc):
        cause = OutOfMemoryError.cause
    elif isinstance(exc, EgoADRError):
        cause = exc.cause
    elif isinstance(exc, ConnectionError | TimeoutError):
        cause = ServerError.cause
    elif isinstance(exc, ImportError):
        cause = "missing package"
    else:
        cause = "model"
    message = str(exc) if isinstance(exc, EgoADRError) else f"{type(exc).__name__}: {exc}"
    return Reply(text="", finish_reason="failed", failure=Failure(cause=cause, message=message))


def answer_each(requests: Sequence[Request], answer: Callable[[Request], Reply]) -> list[Reply]:
    """Answers one request after another; one that raises becomes a failed reply beside the others.

    Raises:
        Exception: what the first request raised, when none of them could be answered: then it is the model
            that fails, not a request.
    """
    replies: list[Reply] = []
    errors: list[Exception] = []
    for request in requests:
        try:
            replies.append(answer(request))
        except ScriptExhaustedError:
            raise
        except Exception as exc:
            # Any type: what is called here was written elsewhere, and the other requests must not be lost.
            errors.append(exc)
            replies.append(failed(exc))
    if errors and len(errors) == len(requests):
        raise errors[0]
    return replies
