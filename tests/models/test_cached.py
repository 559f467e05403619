from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ego_adr.errors import InputError
from ego_adr.models.base import VideoLLM, fingerprint
from ego_adr.models.cached import CachedModel, request_key
from ego_adr.models.scripted import ScriptedModel
from ego_adr.types import ChoiceScore, Failure, Frame, FrameSequence, Reply, Request

FULL = Reply(
    text='né "quoted"\n',
    finish_reason="length",
    prompt_tokens=12,
    completion_tokens=3,
    scores=(
        ChoiceScore(choice="yes", logprob=-0.25, tokens=1),
        ChoiceScore(choice="no", logprob=-1.5, tokens=2),
    ),
    notes=("pixels reduced",),
)


def scripted(mark: str | None = "v1", answer: Any = None) -> ScriptedModel:
    model = ScriptedModel(answer or (lambda request: replace(FULL, text=request.prompt)))
    model.fingerprint = mark  # type: ignore[attr-defined]
    return model


def frames(value: int = 0, time: float = 0.0) -> tuple[Frame, ...]:
    return (
        Frame(np.full((4, 6, 3), value, np.uint8), time),
        Frame(np.full((4, 6, 3), value, np.uint8), time + 1),
    )


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path if request.param == "disk" else None


def test_a_known_reply_comes_back_whole_and_marked(folder: Path | None) -> None:
    inner = scripted()
    model = CachedModel(inner, folder)
    request = Request("né?", frames(), 20, ("yes", "no"))
    (first,), (again,) = model.generate([request]), model.generate([request])
    assert first == replace(FULL, text="né?")
    assert again == replace(first, notes=("pixels reduced", "cached"))
    assert (inner.calls, model.hits, model.misses) == (1, 1, 1)


def test_a_wrapped_model_is_the_model_to_the_outside(tmp_path: Path) -> None:
    inner = scripted()
    inner.batch_size, inner.prompts = 5, tmp_path  # type: ignore[attr-defined]
    model = CachedModel(inner, tmp_path)
    assert isinstance(model, VideoLLM)
    assert (model.name, model.batch_size, model.prompts) == ("scripted", 5, tmp_path)
    assert fingerprint(model) == "v1"


def test_everything_that_could_change_a_reply_is_in_the_key() -> None:
    one = Request("what?", frames(), 20, ("yes", "no"))
    clip = FrameSequence(frames())
    clip.start, clip.end = 0.0, 9.0
    others = [
        replace(one, prompt="who?"),
        replace(one, frames=()),
        replace(one, frames=frames(1)),
        replace(one, frames=frames(0, time=2.0)),
        replace(one, frames=frames()[:1]),
        replace(one, frames=clip),
        replace(one, frames=tuple(Frame(f.array.reshape(6, 4, 3), f.time) for f in frames())),
        replace(one, max_tokens=21),
        replace(one, choices=("no", "yes")),
        replace(one, choices=()),
    ]
    keys = {request_key(request, "v1") for request in [one, *others]} | {request_key(one, "v2")}
    assert len(keys) == len(others) + 2
    assert request_key(replace(one, frames=frames()), "v1") == request_key(one, "v1")


def test_equal_requests_of_one_call_are_asked_once_in_order(folder: Path | None) -> None:
    inner = scripted()
    model = CachedModel(inner, folder)
    replies = model.generate([Request(prompt) for prompt in ("a", "b", "a", "c", "b")])
    assert [reply.text for reply in replies] == ["a", "b", "a", "c", "b"]
    assert ["cached" in reply.notes for reply in replies] == [False, False, True, False, True]
    assert [request.prompt for request in inner.requests] == ["a", "b", "c"]
    assert (model.hits, model.misses) == (2, 3)


def test_failures_are_asked_again(folder: Path | None) -> None:
    bad = Reply(text="", failure=Failure(cause="out of memory", message="full"))
    inner = scripted(answer=[bad, "well", "never"])
    model = CachedModel(inner, folder)
    assert model.generate([Request("a")]) == [bad]
    assert model.generate([Request("a")])[0].text == "well"
    assert model.generate([Request("a")])[0].text == "well"
    assert len(inner.requests) == 2


def test_replies_outlive_the_process_and_follow_the_fingerprint(tmp_path: Path) -> None:
    CachedModel(scripted(), tmp_path).generate([Request("a")])
    known = scripted()
    assert CachedModel(known, tmp_path).generate([Request("a")])[0].notes == ("pixels reduced", "cached")
    assert known.calls == 0
    other = scripted("v2")
    assert CachedModel(other, tmp_path).generate([Request("a")])[0].notes == ("pixels reduced",)
    assert other.calls == 1


def test_a_model_without_a_fingerprint_is_not_kept_on_disk(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="scripted has no fingerprint"):
        CachedModel(scripted(None), tmp_path)
    model = CachedModel(scripted(None))
    model.generate([Request("a")])
    assert "cached" in model.generate([Request("a")])[0].notes


def test_what_lies_in_the_folder_is_never_unpickled(tmp_path: Path) -> None:
    import pickletools
    import sqlite3

    CachedModel(scripted(), tmp_path).generate([Request("a", frames())])
    with sqlite3.connect(tmp_path / "replies" / "cache.db") as database:
        rows = database.execute("select key, mode, value from Cache").fetchall()
    database.close()
    assert rows
    for key, _, value in rows:
        for entry in (key, value):
            with pytest.raises(Exception, match=r"."):
                list(pickletools.genops(entry if isinstance(entry, bytes) else str(entry).encode()))


def test_a_broken_cache_costs_time_and_not_the_run(tmp_path: Path, library_log: list[Any]) -> None:
    inner = scripted()
    model = CachedModel(inner, tmp_path)
    model.generate([Request("a")])
    for path in (tmp_path / "replies").glob("cache.db*"):
        path.write_bytes(b"this is no database" * 100)
    assert model.generate([Request("a")])[0].text == "a"
    assert inner.calls == 2
    assert any("is not used" in record.getMessage() for record in library_log)
    (tmp_path / "file").write_text("")
    assert CachedModel(scripted(), tmp_path / "file").generate([Request("b")])[0].text == "b"


def test_an_entry_that_cannot_be_read_is_asked_again(tmp_path: Path) -> None:
    import diskcache

    inner = scripted()
    model = CachedModel(inner, tmp_path)
    model.generate([Request("a")])
    with diskcache.Cache(str(tmp_path / "replies"), disk=diskcache.JSONDisk) as cache:
        cache[request_key(Request("a"), "v1")] = '{"text": 1}'
    assert model.generate([Request("a")])[0].text == "a"
    assert inner.calls == 2


def test_threads_and_several_wrappers_share_a_folder(tmp_path: Path) -> None:
    def work(worker: int) -> list[str]:
        model = CachedModel(scripted(), tmp_path)
        return [model.generate([Request(f"{i % 5}")])[0].text for i in range(10)]

    with ThreadPoolExecutor(4) as pool:
        for texts in pool.map(work, range(4)):
            assert texts == [str(i % 5) for i in range(10)]
    last = scripted()
    CachedModel(last, tmp_path).generate([Request(str(i)) for i in range(5)])
    assert last.calls == 0


def test_a_backend_that_loses_replies_is_noticed(tmp_path: Path) -> None:
    class Lossy:
        name = "lossy"
        fingerprint = "v1"

        def generate(self, requests: Any) -> list[Reply]:
            return []

    with pytest.raises(ValueError, match="gave 0 replies to 1 requests"):
        CachedModel(Lossy(), tmp_path).generate([Request("a")])
