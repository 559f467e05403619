"""The command line as a person or a script uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ego_adr.cli import app
from ego_adr.cli_options import model_options
from ego_adr.errors import InputError
from ego_adr.types import Detection, ProcedureBank

RECIPE = "# Omelette\n\n1. Crack two eggs into the bowl.\n2. Whisk the eggs with a fork.\n3. Pour the eggs into the pan.\n"


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> dict[str, Any]:
    """The one JSON object on stdout."""
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.md"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Two seconds of grey that grows lighter."""
    import av
    import numpy as np

    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for i in range(20):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 10 * i, dtype=np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_labels_prints_the_nine() -> None:
    result = run("labels", "--json")
    assert result.exit_code == 0
    assert [label["name"] for label in said(result)["labels"]] == [
        "correct", "Wrong object", "Wrong action", "Wrong order", "Omission", "Unintended and unnecessary action",
        "Correct wrong action", "Equipment failure", "Others",
    ]  # fmt: skip
    assert "Equipment" in run("labels").stdout


def test_bank_writes_a_file_that_can_be_read_back(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "bank.yaml"
    result = run("bank", recipe, "--out", out, "--json")
    assert result.exit_code == 0
    first = ProcedureBank.model_validate(said(result))
    again = ProcedureBank.model_validate(said(run("bank", out, "--json")))
    assert [step.text for step in first.steps] == [step.text for step in again.steps]
    assert len(first.steps) == 3


def test_match_needs_no_model(recipe: Path) -> None:
    result = run("match", "whisk eggs", "--procedure", recipe, "--json")
    assert result.exit_code == 0
    assert said(result)["index"] == 1
    assert "Whisk" in run("match", "whisk eggs", "-p", recipe).stdout


def test_a_procedure_may_be_its_text() -> None:
    assert said(run("match", "stir it", "-p", "1. Add salt.\n2. Stir it.", "--json"))["index"] == 1


def test_frames_writes_a_contact_sheet_with_times(video: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    result = run("frames", video, "--start", "0.5", "--end", "1.5", "-n", 4, "--out", sheet, "--json")
    assert result.exit_code == 0, result.stderr
    assert len(said(result)["times"]) == 4
    assert all(0.4 <= time <= 1.5 for time in said(result)["times"])
    from PIL import Image

    with Image.open(sheet) as picture:
        assert picture.format == "PNG"


def test_doctor_says_what_is_there() -> None:
    found = said(run("doctor", "--json"))
    assert found["packages"]["transformers"]
    assert {"device", "dtype", "attention"} <= set(found["hardware"])


def test_a_missing_procedure_file_is_exit_1_with_a_message_and_json(video: Path) -> None:
    result = run("detect", video, "-p", "no-such-recipe.md", "-a", "whisk", "--json")
    assert result.exit_code == 1
    assert "no-such-recipe.md" in said(result)["failure"]["message"]
    assert "no-such-recipe.md" in result.stderr


def test_an_unknown_model_is_exit_1_and_says_what_names_look_like(video: Path, recipe: Path) -> None:
    result = run("detect", video, "-p", recipe, "-a", "whisk", "-m", "nope:model")
    assert result.exit_code == 1
    assert "hf:" in result.stderr
    assert result.stdout == ""


def test_an_unknown_option_is_exit_2() -> None:
    assert run("detect", "--colour", "red").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_an_unreadable_video_is_exit_1_with_a_failed_detection(tmp_path: Path, recipe: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"\0" * 100)
    result = run("detect", broken, "-p", recipe, "-a", "whisk", "-m", "tabletop", "-r", "shallow", "--json")
    assert result.exit_code == 1
    found = Detection.model_validate(said(result))
    assert (found.status, found.label) == ("failed", None)
    assert found.failure is not None
    assert "broken.mp4" in found.failure.message


@pytest.mark.parametrize("route", ["deep", "shallow", "single-pass", "cot"])
def test_detect_prints_one_whole_detection_on_every_route(video: Path, recipe: Path, route: str) -> None:
    result = run("detect", video, "-p", recipe, "-a", "whisk eggs", "-r", route, "--frames", 4, "--json")
    found = Detection.model_validate(said(result))
    assert found.status in ("ok", "unparsed"), found
    assert result.exit_code == 0
    assert found.route == route
    assert len(found.frame_times) == 4
    assert found.exchanges
    assert found.stages


def test_detect_shows_a_person_the_verdict_and_what_it_rests_on(video: Path, recipe: Path) -> None:
    result = run("detect", video, "-p", recipe, "-a", "whisk eggs", "-r", "shallow")
    assert result.exit_code == 0
    assert "narration" in result.stdout
    assert "2. Whisk the eggs" in result.stdout


def test_options_of_the_models_loader_are_read_as_yaml() -> None:
    given = [
        "dtype=bf16",
        "max-pixels=200704",
        "trust_remote_code=true",
        "extra={kwargs: {think: false}}",
        "a=",
    ]
    assert model_options(given) == {
        "dtype": "bf16",
        "max_pixels": 200704,
        "trust_remote_code": True,
        "extra": {"kwargs": {"think": False}},
        "a": None,
    }
    assert model_options(None) == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["dtype"], "write it as KEY=VALUE"),
        (["=bf16"], "write it as KEY=VALUE"),
        (["a b=1"], "write it as KEY=VALUE"),
        (["extra={a"], "is no YAML"),
        (["dtype=bf16", "dtype=fp16"], "dtype is given twice"),
    ],
)
def test_an_option_of_the_loader_that_cannot_be_read_is_an_error(given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model_options(given)


def test_a_clip_as_images_is_one_option_away(video: Path, recipe: Path) -> None:
    asked = ("detect", video, "-p", recipe, "-a", "whisk eggs", "-r", "shallow", "--no-cache", "--json")
    tokens = []
    for more in ((), ("-M", "clip_form=timed images")):
        found = Detection.model_validate(said(run(*asked, *more)))
        tokens.append(sum(use.prompt_tokens for use in found.stages))
    wrong = run(*asked, "-M", "colour=red")
    assert wrong.exit_code == 1
    assert "unknown option colour; the options are" in json.dumps(said(wrong))
