from __future__ import annotations

import pytest

from ego_adr.errors import OutOfMemoryError, ScriptExhaustedError
from ego_adr.models.base import VideoLLM
from ego_adr.models.failing import answer_each, failed, is_out_of_memory
from ego_adr.models.scripted import ScriptedModel
from ego_adr.types import Reply, Request


def test_a_script_is_spoken_in_order_and_every_request_is_kept() -> None:
    said = Reply(text="full", finish_reason="length")
    model = ScriptedModel(["one", said, lambda request: request.prompt.upper()])
    assert isinstance(model, VideoLLM)
    assert model.generate([Request("a"), Request("b")]) == [Reply(text="one"), said]
    assert model.generate([Request("c")]) == [Reply(text="C")]
    assert [request.prompt for request in model.requests] == ["a", "b", "c"]
    assert model.calls == 2


def test_a_script_that_is_used_up_says_what_was_asked() -> None:
    model = ScriptedModel(["one"], name="short")
    model.generate([Request("a")])
    with pytest.raises(ScriptExhaustedError, match=r"'short' holds 1 answers .* began 'what now"):
        model.generate([Request("what now?")])


def test_an_exception_in_a_script_is_raised() -> None:
    with pytest.raises(OutOfMemoryError, match="full"):
        ScriptedModel([OutOfMemoryError("full")]).generate([Request("a")])


@pytest.mark.parametrize(
    ("exc", "memory"),
    [
        (MemoryError(), True),
        (OutOfMemoryError("full"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
            True,
        ),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("a story about running out of memory"), False),
    ],
)
def test_spent_memory_is_told_from_other_trouble(exc: Exception, memory: bool) -> None:
    assert is_out_of_memory(exc) is memory
    outer = ValueError("the call failed")
    outer.__cause__ = exc
    assert is_out_of_memory(outer) is memory
    reply = failed(exc)
    assert reply.failure is not None
    assert (reply.failure.cause == "out of memory") is memory


def test_a_script_that_ends_is_never_a_failed_sample() -> None:
    model = ScriptedModel(["one"])
    with pytest.raises(ScriptExhaustedError):
        answer_each([Request("a"), Request("b")], lambda request: model.generate([request])[0])
