from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import ego_adr.models.registry as registry
from ego_adr.errors import InputError, ModelError, ModelNotFoundError
from ego_adr.models.registry import load_model, model_forms
from ego_adr.models.scripted import ScriptedModel
from ego_adr.types import Frame, Reply, Request


def load_mine(name: str, *, loud: bool = False) -> ScriptedModel:
    return ScriptedModel(lambda request: "!" if loud else ".", name=name)


def load_nothing(name: str) -> object:
    return object()


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points of other packages, to be filled by a test."""
    points: list[EntryPoint] = []

    def find(*, group: str) -> list[EntryPoint]:
        assert group == "ego_adr.models"
        return points

    monkeypatch.setattr(registry, "entry_points", find)
    monkeypatch.setattr(EntryPoint, "load", lambda self: {"mine": load_mine, "odd": load_nothing}[self.value])
    return points


def test_a_backend_passes_through_and_takes_no_options() -> None:
    model = ScriptedModel(["yes"])
    assert load_model(model) is model
    with pytest.raises(InputError, match="scripted is ready to use: the options dtype"):
        load_model(model, dtype="bf16")


def test_a_function_is_a_model() -> None:
    def look(frames: Sequence[Frame], prompt: str) -> str:
        return f"{len(frames)} pictures: {prompt}"

    model = load_model(look)
    assert model.name == "look"
    assert model.generate([Request("what?")]) == [Reply(text="0 pictures: what?")]
    assert load_model(look, name="mine").name == "mine"
    with pytest.raises(InputError, match="unknown option dtype; the options are name, fingerprint"):
        load_model(look, dtype="bf16")


def test_a_scheme_of_another_package_is_loaded_with_its_whole_name_and_options(
    entry_points: list[EntryPoint],
) -> None:
    entry_points.append(EntryPoint("mine", "mine", "ego_adr.models"))
    model = load_model("mine:small:v2", loud=True)
    assert model.name == "mine:small:v2"
    assert model.generate([Request("?")])[0].text == "!"
    assert "mine:..." in model_forms()
    with pytest.raises(InputError, match="unknown option quiet; the options are loud"):
        load_model("mine:small", quiet=True)


def test_a_loader_that_gives_no_backend_is_an_error(entry_points: list[EntryPoint]) -> None:
    entry_points.append(EntryPoint("odd", "odd", "ego_adr.models"))
    with pytest.raises(ModelError, match="gave a object, which has no name"):
        load_model("odd:thing")


def test_a_scheme_whose_package_is_missing_says_what_to_install(
    entry_points: list[EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelNotFoundError, match=r"pip install 'ego-adr\[a2a\]'"):
        load_model("a2a:http://localhost:9999")
    entry_points.append(EntryPoint("a2a", "absent.module:load", "ego_adr.models"))

    def load(self: EntryPoint) -> Any:
        raise ModuleNotFoundError("No module named 'a2a'")

    monkeypatch.setattr(EntryPoint, "load", load)
    with pytest.raises(ModelNotFoundError, match=r"No module named 'a2a'; .*pip install 'ego-adr\[a2a\]'"):
        load_model("a2a:http://localhost:9999")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope:model", "there is no scheme 'nope'"),
        ("opnai:gpt-4o", "Did you mean 'openai'"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "say 'hf:Qwen/Qwen2.5-VL-7B-Instruct'"),
        ("./nowhere", "no such folder"),
        ("", "the model's name is empty"),
        ("   ", "the model's name is empty"),
        (None, "None is no model"),
        (3, "a int is no model"),
        (b"hf:x/y", "is no model"),
        ([], "a list is no model"),
        (ScriptedModel, "ScriptedModel is a class: give an instance"),
    ],
)
def test_what_is_no_model_is_an_error_that_lists_the_forms(name: Any, says: str) -> None:
    with pytest.raises(ModelNotFoundError) as found:
        load_model(name)
    assert says in str(found.value)
    for form in ("hf:ORG/NAME", "openai:NAME", "http://host:port/v1#NAME", "f(frames, prompt)"):
        assert form in str(found.value)


def test_a_shipped_checkpoint_goes_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "checkpoint_names", lambda: ["tabletop"])
    monkeypatch.setattr(registry, "checkpoint_folder", lambda name: tmp_path if name == "tabletop" else None)
    with pytest.raises(ModelNotFoundError, match="no checkpoint: it has no config"):
        load_model("tabletop")  # it looked there
    with pytest.raises(ModelNotFoundError, match="Did you mean 'tabletop'"):
        load_model("tabeltop")
    assert model_forms()[0] == "tabletop"


def test_servers_are_loaded_by_their_address() -> None:
    model = load_model("http://localhost:9/v1#some-model", timeout=1.0)
    assert "some-model" in model.name
    with pytest.raises(InputError, match="unknown option dtype"):
        load_model("http://localhost:9/v1#some-model", dtype="bf16")
