from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ego_adr.errors import InputError, ModelError
from ego_adr.models.base import VideoLLM, fingerprint
from ego_adr.models.callable import CallableModel
from ego_adr.types import Frame, Reply, Request

PICTURE = Frame(np.zeros((2, 2, 3), np.uint8), 1.5)


def test_frames_come_as_a_list_with_their_times_and_prompts_as_text() -> None:
    seen: list[Any] = []

    def look(frames: Sequence[Frame], prompt: str) -> str:
        seen.append((frames, prompt))
        return "  a pan \n"

    model = CallableModel(look)
    assert isinstance(model, VideoLLM)
    assert model.generate([Request("what?", (PICTURE,)), Request("who?")]) == [Reply(text="a pan")] * 2
    assert seen == [([PICTURE], "what?"), ([], "who?")]


def test_a_lambda_a_method_and_a_callable_object_will_do() -> None:
    class Model:
        def __call__(self, frames: Sequence[Frame], prompt: str, temperature: float = 0.0) -> str:
            return "object"

        def ask(self, frames: Sequence[Frame], prompt: str) -> str:
            return "method"

    for function, name in (
        (lambda f, p: "x", "function"),
        (Model().ask, "ask"),
        (Model(), "Model"),
        (min, "min"),
    ):
        assert CallableModel(function).name == name  # type: ignore[arg-type]
    assert CallableModel(Model()).generate([Request("?")])[0].text == "object"


def test_a_reply_may_be_given_in_full() -> None:
    said = Reply(text="a", finish_reason="length", completion_tokens=1)
    assert CallableModel(lambda frames, prompt: said).generate([Request("?")]) == [said]


def test_one_request_that_fails_leaves_the_others_alone() -> None:
    def look(frames: Sequence[Frame], prompt: str) -> str:
        if prompt == "bad":
            raise ValueError("no such thing")
        if prompt == "big":
            raise MemoryError
        return prompt

    replies = CallableModel(look).generate([Request("a"), Request("bad"), Request("big"), Request("b")])
    assert [reply.text for reply in replies] == ["a", "", "", "b"]
    assert replies[1].failure is not None
    assert (replies[1].failure.cause, replies[1].failure.message) == ("model", "ValueError: no such thing")
    assert replies[2].failure is not None
    assert replies[2].failure.cause == "out of memory"


def test_what_fails_for_all_is_raised_as_it_is() -> None:
    def look(frames: Sequence[Frame], prompt: str) -> str:
        raise AttributeError("'NoneType' object has no attribute 'dtype'")

    with pytest.raises(AttributeError, match="dtype"):
        CallableModel(look).generate([Request("a"), Request("b")])
    assert CallableModel(look).generate([]) == []


@pytest.mark.parametrize("said", [None, 3, ["text"], b"text"])
def test_what_is_no_text_is_an_error(said: Any) -> None:
    with pytest.raises(ModelError, match=f"returned {type(said).__name__} where a text"):
        CallableModel(lambda frames, prompt: said).generate([Request("?")])


def test_functions_that_cannot_be_called_so_are_refused_at_once() -> None:
    async def later(frames: Sequence[Frame], prompt: str) -> str:
        return ""

    with pytest.raises(InputError, match=r"f\(frames, prompt\)"):
        CallableModel(lambda prompt: "x")  # type: ignore[arg-type,misc]
    with pytest.raises(InputError, match="later is asynchronous"):
        CallableModel(later)
    with pytest.raises(InputError):
        CallableModel(lambda frames, prompt, third: "x")  # type: ignore[arg-type,misc]


def test_a_function_has_a_fingerprint_only_when_it_is_given_one() -> None:
    assert fingerprint(CallableModel(lambda frames, prompt: "x")) is None
    assert fingerprint(CallableModel(lambda frames, prompt: "x", fingerprint="v1")) == "v1"
