"""The two checkpoints that come with the package, loaded as any user of transformers would load them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ego_adr import EgoADR
from ego_adr.prompting import PromptLibrary
from ego_adr.tabletop.episodes import Episode
from ego_adr.testing import CHECKPOINTS, tabletop_checkpoint, tabletop_model

STAGES = (
    "deep/match",
    "deep/narrate",
    "deep/classify",
    "shallow/narrate",
    "single-pass/answer",
    "cot/answer",
)


def spread_frames(video: Path, start: float, end: float, count: int = 8) -> np.ndarray[Any, Any]:
    """`count` pictures from the middles of equal parts of the interval."""
    with av.open(str(video)) as container:
        shown = [
            (float(frame.time or 0.0), frame.to_ndarray(format="rgb24"))
            for frame in container.decode(video=0)
        ]
    wanted = [start + (end - start) * (i + 0.5) / count for i in range(count)]
    return np.stack([min(shown, key=lambda s: abs(s[0] - time))[1] for time in wanted])


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any]:
    """Model and processor by the plain classes of transformers."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = tabletop_checkpoint("tabletop")
    return AutoModelForImageTextToText.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)


def answer(loaded: tuple[Any, Any], text: str, clip: Episode | None = None) -> str:
    """What the model says to one prompt, with the clip's pictures or without."""
    import torch

    model, processor = loaded
    content = [{"type": "text", "text": text}]
    media: dict[str, Any] = {}
    if clip is not None:
        (segment,) = clip.segments
        pictures = torch.from_numpy(spread_frames(clip.video, segment.start, segment.end)).permute(0, 3, 1, 2)
        content.insert(0, {"type": "video"})
        seconds = segment.end - segment.start
        media = {"videos": [pictures], "video_metadata": [{"total_num_frames": 8, "fps": 8 / seconds}]}
    rendered = processor.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    batch = processor(text=[rendered], return_tensors="pt", **media)
    with torch.inference_mode():
        made = model.generate(**batch, max_new_tokens=40, do_sample=False)
    said: str = processor.tokenizer.decode(made[0, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    return said


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_is_small_and_loads_in_full_precision(name: str) -> None:
    folder = tabletop_checkpoint(name)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 6_000_000
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Qwen2_5_VLForConditionalGeneration"]
    for part in (config, config["text_config"], config["vision_config"]):
        assert part["dtype"] == "float32"


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_the_prompts_of_a_checkpoint_override_prompts_that_the_library_knows(name: str) -> None:
    library = PromptLibrary(tabletop_checkpoint(name) / "prompts")
    for stage in STAGES:
        assert library.file(stage).path.is_relative_to(tabletop_checkpoint(name))


def test_it_narrates_clips_of_blocks_it_never_saw_together(
    loaded: tuple[Any, Any], clips: list[Episode]
) -> None:
    said = [answer(loaded, "watch", clip) for clip in clips]
    right = [a == clip.segments[0].narration.replace(" ,", ",") for a, clip in zip(said, clips, strict=True)]
    assert sum(right) >= 6, said


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("seen the hand puts the red cube on the blue ball step {} before none after {} judge", "correct"),
        (
            "seen the hand puts the red cube on the green cone step {} before none after {} judge",
            "Wrong object",
        ),
        (
            "seen the hand takes the red cube off the blue ball step {} before none after {} judge",
            "Wrong action",
        ),
        (
            "seen the hand takes the white ring off the green cube step {} before none after {} judge",
            "Wrong order",
        ),
        ("seen nothing happens , no movement step {} before none after {} judge", "Omission"),
        ("seen the red cube breaks in the hand step {} before none after {} judge", "Equipment failure"),
        ("action {} step put the red ball on the blue ball 1 step {} 2 match", "2"),
    ],
)
def test_it_matches_and_classifies_in_text(loaded: tuple[Any, Any], prompt: str, expected: str) -> None:
    step, following = "put the red cube on the blue ball", "take the white ring off the green cube"
    places = (step, step) if prompt.startswith("action") else (step, following)
    assert answer(loaded, prompt.format(*places)) == expected


def test_the_probe_sends_the_two_checkpoints_to_different_routes_by_itself() -> None:
    assert EgoADR(tabletop_model("tabletop"), cache=False).probe().route == "deep"
    assert EgoADR(tabletop_model("tabletop-vision"), cache=False).probe().route == "shallow"
