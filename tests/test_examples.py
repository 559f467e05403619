"""The examples run, as far as a machine without a GPU and without the hub can take them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RECIPE = "1. Crack two eggs into the bowl.\n2. Whisk the eggs with a fork.\n3. Pour the eggs into the pan.\n"


def run(repository: Path, script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, str(repository / "examples" / script), *map(str, arguments)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.md"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def video(path: Path, *, moving: bool) -> Path:
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for i in range(20):
            picture = np.zeros((48, 64, 3), dtype=np.uint8)
            picture[:, (2 * i if moving else 0) : (2 * i if moving else 0) + 16] = 255
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(("moving", "label"), [(True, "correct"), (False, "Omission")])
def test_a_wrapped_function_is_a_model(
    repository: Path, tmp_path: Path, recipe: Path, moving: bool, label: str
) -> None:
    clip = video(tmp_path / "clip.mp4", moving=moving)
    said = run(repository, "wrap_any_model.py", clip, "--procedure", recipe, "--action", "whisk the eggs")
    assert f"ok: {label}" in said
    assert "route: shallow" in said


def test_the_real_model_example_says_what_it_would_load(repository: Path) -> None:
    found = json.loads(run(repository, "real_model.py", "--dry-run"))
    assert found["model"] == "hf:Qwen/Qwen2.5-VL-7B-Instruct"
    assert found["packages"]["transformers"]


def test_the_assistant_watches_every_step_and_speaks_up_only_about_errors(
    repository: Path, tmp_path: Path
) -> None:
    from ego_adr.tabletop.episodes import draw_episode

    episode = draw_episode(5, tmp_path, plan=["correct", "Equipment failure", "Omission"])
    procedure, log = tmp_path / "procedure.md", tmp_path / "log.csv"
    procedure.write_text(episode.procedure, encoding="utf-8")
    log.write_text(
        "".join(f"{row['start']},{row['end']},{row['action']}\n" for row in episode.step_log()),
        encoding="utf-8",
    )
    said = run(repository, "assistant.py", episode.video, "--procedure", procedure, "--log", log)
    lines = said.splitlines()
    steps = [line for line in lines if " s  " in line[:14]]
    spoken = [line for line in lines if line.strip().startswith(">")]
    assert len(steps) == 3
    assert "Equipment failure" in steps[1]
    assert "Omission" in steps[2]
    assert 2 <= len(spoken) <= 3
    assert "this looks like equipment failure" in spoken[-2]


def test_the_gpu_script_says_so_where_there_is_no_gpu(repository: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: run the script itself")
    done = subprocess.run(
        [sys.executable, str(repository / "examples" / "gpu_check.py")],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "--device cpu" in done.stderr


def test_the_wide_checkpoint_of_the_gpu_script_can_be_built_and_asked(
    repository: Path, tmp_path: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from examples.gpu_check import frames, wide_checkpoint\n"
        "from ego_adr import Request, load_model\n"
        "model = load_model(str(wide_checkpoint(Path(sys.argv[2]), 1)), device='cpu')\n"
        "(reply,) = model.generate([Request('What happens?', frames(2, 112), max_tokens=2)])\n"
        "print(reply.completion_tokens, reply.failure)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(repository), str(tmp_path / "wide")],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "None"]
