from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ego_adr.errors import ModelError, OutOfMemoryError, PromptError, ServerError, TextOnlyUnsupportedError
from ego_adr.models.scripted import ScriptedModel
from ego_adr.probe import ProbeQuestion, probe_model, read_probe_sheet
from ego_adr.prompting import PromptLibrary
from ego_adr.types import Failure, Reply, Request


def right_answers(request: Request) -> str:
    for question in read_probe_sheet().questions:
        if question.prompt == request.prompt:
            return f"Answer: {question.answers[0]}"
    raise AssertionError(request.prompt)


class PicturesOnly:
    """Fails without pictures in a given way, answers with them."""

    name = "pictures-only"

    def __init__(self, exc: Exception, *, well_with_pictures: bool = True) -> None:
        self.exc = exc
        self.well = well_with_pictures
        self.calls = 0

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        replies = []
        for request in requests:
            self.calls += 1
            if not request.frames or not self.well:
                raise self.exc
            replies.append(Reply(text="a black picture"))
        return replies


def test_a_model_that_answers_right_goes_deep_with_its_transcript_in_at_most_eight_calls() -> None:
    model = ScriptedModel(right_answers)
    result = probe_model(model)
    assert (result.route, result.supports_text_only, result.reasons_over_text) == ("deep", True, True)
    assert result.right == result.asked == len(result.transcript) == len(model.requests) == result.calls <= 8
    assert not any(request.frames for request in model.requests)


@pytest.mark.parametrize("constant", ["yes", "no", "1", "2", "3", "A", "B", "I cannot say.", ""])
def test_a_constant_answer_never_reaches_the_pass_mark(constant: str) -> None:
    result = probe_model(ScriptedModel(lambda request: constant))
    assert (result.route, result.supports_text_only, result.reasons_over_text) == ("shallow", True, False)


@pytest.mark.parametrize(
    "exc",
    [
        AttributeError("'NoneType' object has no attribute 'dtype'"),
        TextOnlyUnsupportedError("needs a video"),
        ValueError("images must be given"),
        IndexError("list index out of range"),
        TypeError("'NoneType' object is not iterable"),
        RuntimeError("expected 8 frames"),
        KeyError("pixel_values"),
    ],
)
def test_any_exception_that_pictures_cure_means_no_text_only_input(exc: Exception) -> None:
    model = PicturesOnly(exc)
    result = probe_model(model)
    assert (result.route, result.supports_text_only, result.reasons_over_text) == ("shallow", False, None)
    assert result.calls == model.calls == 2
    assert str(exc) in result.reason


@pytest.mark.parametrize(
    "exc",
    [
        OutOfMemoryError("the GPU is full"),
        ServerError("connection refused"),
        ConnectionError("refused"),
        TimeoutError("no answer"),
        MemoryError(),
        ImportError("no module named flash_attn"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("CUDA error: device-side assert triggered"),
    ],
)
def test_memory_servers_and_missing_packages_are_errors_and_never_a_route(exc: Exception) -> None:
    with pytest.raises(type(exc)):
        probe_model(PicturesOnly(exc))


def test_a_wrapped_cause_counts_too() -> None:
    outer = ModelError("the call failed")
    outer.__cause__ = OutOfMemoryError("full")
    with pytest.raises(ModelError):
        probe_model(PicturesOnly(outer))


def test_a_model_that_fails_with_pictures_too_is_an_error() -> None:
    with pytest.raises(ModelError, match="itself does not work"):
        probe_model(PicturesOnly(ValueError("broken"), well_with_pictures=False))


def test_a_failed_reply_for_lack_of_memory_is_an_error() -> None:
    model = ScriptedModel(
        lambda request: Reply(text="", failure=Failure(cause="out of memory", message="full"))
    )
    with pytest.raises(ModelError, match="out of memory"):
        probe_model(model)


def test_a_result_is_kept_by_fingerprint_and_asked_again_when_the_model_changes(tmp_path: Path) -> None:
    model = ScriptedModel(right_answers)
    model.fingerprint = "v1"  # type: ignore[attr-defined]
    first = probe_model(model, cache_folder=tmp_path)
    again = probe_model(model, cache_folder=tmp_path)
    assert (first.cached, again.cached) == (False, True)
    assert again.transcript == first.transcript
    assert len(model.requests) == first.calls
    model.fingerprint = "v2"  # type: ignore[attr-defined]
    assert not probe_model(model, cache_folder=tmp_path).cached


def test_a_broken_cache_file_is_made_anew(tmp_path: Path) -> None:
    model = ScriptedModel(right_answers)
    model.fingerprint = "v1"  # type: ignore[attr-defined]
    probe_model(model, cache_folder=tmp_path)
    (kept,) = tmp_path.rglob("*.json")
    kept.write_text("{", encoding="utf-8")
    assert not probe_model(model, cache_folder=tmp_path).cached
    assert probe_model(model, cache_folder=tmp_path).cached


@pytest.mark.parametrize(
    ("choices", "answers", "reply", "right"),
    [
        (("1", "2", "3"), ("2",), "2", True),
        (("1", "2", "3"), ("2",), "Step 2.", True),
        (("1", "2", "3"), ("2",), "12", False),
        (("1", "2", "3"), ("2",), "Not 1 but 2", True),
        (("1", "2", "3"), ("2",), "<think>2 or 3? 3</think> 2", True),
        (("1", "2", "3"), ("2",), "3 is after it</think>2", True),
        (("1", "2", "3"), ("2",), "<think>it is 2", False),
        (("yes", "no"), ("no",), "No, it was not.", True),
        (("yes", "no"), ("no",), "nothing to say", False),
        (("A", "B"), ("A",), "A", True),
        (("A", "B"), ("A",), "a tool that failed", False),
        (("A", "B"), ("A",), "**A.** The handle snaps off.", True),
    ],
)
def test_a_reply_counts_by_the_last_choice_it_names(
    choices: tuple[str, ...], answers: tuple[str, ...], reply: str, right: bool
) -> None:
    assert ProbeQuestion(prompt="?", choices=choices, answers=answers).is_right(reply) is right


def test_the_sheet_has_at_least_six_questions_with_known_answers() -> None:
    sheet = read_probe_sheet()
    assert 6 <= len(sheet.questions) <= 8
    assert sheet.pass_mark <= len(sheet.questions)


def test_a_broken_sheet_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "probe" / "questions.yaml"
    path.parent.mkdir()
    path.write_text("pass_mark: 9\nquestions: []\n", encoding="utf-8")
    with pytest.raises(PromptError, match="at least 6"):
        read_probe_sheet(PromptLibrary(tmp_path))


def test_a_sheet_is_read_however_it_was_saved_and_what_is_no_text_is_an_error(tmp_path: Path) -> None:
    text = PromptLibrary().find("probe/questions.yaml").read_text(encoding="utf-8")
    own = tmp_path / "probe" / "questions.yaml"
    own.parent.mkdir()
    own.write_bytes(text.encode("utf-16"))
    library = PromptLibrary(tmp_path)
    assert read_probe_sheet(library) == read_probe_sheet()
    assert probe_model(ScriptedModel(right_answers), prompts=library).route == "deep"
    for broken in (b"\xff\xfa\xc3", b"pass_mark: 2024-13-45"):
        own.write_bytes(broken)
        with pytest.raises(PromptError, match=r"questions\.yaml (is no YAML|cannot be read: it is no text)"):
            read_probe_sheet(PromptLibrary(tmp_path))
