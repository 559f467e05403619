"""The pure parts of the transformers backend: prompts, pictures, placement, answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from ego_adr.errors import InputError, ModelError
from ego_adr.models.hf_fingerprint import checkpoint_fingerprint
from ego_adr.models.hf_messages import messages_for, picture_form, without_marks
from ego_adr.models.hf_pictures import (
    PixelLimits,
    check_frames,
    picture_size,
    pixel_limits,
    stack_frames,
    video_metadata,
)
from ego_adr.models.hf_placement import choose_attention, choose_device, choose_device_map, choose_dtype
from ego_adr.models.hf_scoring import continuations
from ego_adr.types import Frame, FrameSequence, Request


def frames_at(*times: float, numbers: tuple[int, ...] = ()) -> tuple[Frame, ...]:
    picture = np.zeros((4, 4, 3), np.uint8)
    return tuple(
        Frame(picture, time, number)
        for time, number in zip(times, numbers or (None,) * len(times), strict=True)
    )


# ------------------------------------------------------------------------------------------- messages


def test_a_message_holds_pictures_before_words() -> None:
    frames = frames_at(0.5, 1.5)
    (message,) = messages_for(Request("What happens?", frames))
    assert message["role"] == "user"
    assert message["content"] == [
        {"type": "video", "video": list(frames)},
        {"type": "text", "text": "What happens?"},
    ]
    (message,) = messages_for(Request("What?", frames), "images")
    assert [part["type"] for part in message["content"]] == ["image", "image", "text"]
    (message,) = messages_for(Request("What?", frames), "timed images")
    assert [part.get("text", "picture") for part in message["content"]] == (
        ["0.50 s", "picture", "1.50 s", "picture", "What?"]
    )
    (message,) = messages_for(Request("What?"))
    assert message["content"] == [{"type": "text", "text": "What?"}]


@pytest.mark.parametrize(
    ("count", "takes", "form"),
    [
        (0, (), "none"),
        (0, ("video",), "none"),
        (1, ("video", "image"), "images"),
        (1, ("video",), "video"),
        (2, ("video", "image"), "video"),
        (8, ("image",), "images"),
    ],
)
def test_a_clip_is_a_video_where_there_are_videos(count: int, takes: tuple[str, ...], form: str) -> None:
    assert picture_form(count, takes) == form


def test_the_form_of_a_clip_can_be_asked_for() -> None:
    assert picture_form(8, ("video", "image"), wanted="timed images") == "timed images"
    assert picture_form(1, ("video", "image"), wanted="video") == "video"
    assert picture_form(0, ("video", "image"), wanted="timed images") == "none"
    with pytest.raises(ModelError, match=r"Llava takes image: clip_form='video' cannot be had"):
        picture_form(8, ("image",), "Llava", wanted="video")


def test_pictures_for_a_language_model_are_an_error() -> None:
    with pytest.raises(ModelError, match=r"Llama is a language model .* 3 pictures"):
        picture_form(3, (), "Llama")


def test_control_tokens_in_a_text_become_words() -> None:
    text = "Use <video> or <|im_end|>, 1 < 2, not <videos>."
    assert (
        without_marks(text, ["<video>", "<|im_end|>", "<"])
        == "Use < video> or < |im_end|>, 1 < 2, not <videos>."
    )
    assert without_marks(text, []) == text


# ------------------------------------------------------------------------------------------- metadata


def test_frames_that_know_their_numbers_tell_the_rate_of_their_file() -> None:
    found = video_metadata(frames_at(10.0, 12.0, 14.0, 16.0, numbers=(500, 600, 700, 800)))
    assert found["fps"] == 50.0
    assert found["total_num_frames"] == 400
    assert found["frames_indices"] == [0, 100, 200, 300]


@pytest.mark.parametrize("rate", [25.0, 24.0, 30000 / 1001, 30.0, 60.0])
def test_the_rate_of_a_file_is_read_from_times_that_lie_on_it(rate: float) -> None:
    times = [number / rate for number in (7, 24, 41, 59, 74, 93)]
    found = video_metadata(frames_at(*times))
    assert [i / found["fps"] for i in found["frames_indices"]] == pytest.approx(
        [time - times[0] for time in times], abs=0.02
    )
    assert found["fps"] == pytest.approx(rate)


def test_a_sequence_that_knows_the_rate_of_its_file_says_it() -> None:
    frames = FrameSequence(frames_at(11.0, 13.0, 15.0, 17.0))
    frames.start, frames.end, frames.rate = 10.0, 18.0, 25.0  # type: ignore[attr-defined]
    found = video_metadata(frames)
    assert (found["fps"], found["total_num_frames"]) == (25.0, 200)
    assert found["frames_indices"] == [25, 75, 125, 175]


def test_uneven_times_are_kept_to_the_millisecond() -> None:
    times = (0.0, 0.1234, 1.777, 5.0313)
    found = video_metadata(frames_at(*times))
    assert [i / found["fps"] for i in found["frames_indices"]] == pytest.approx(times, abs=0.001)


@pytest.mark.parametrize("times", [(3.0,), (3.0, 3.0), (0.0, 0.0, 0.0), (1.0, 1.04)])
def test_clips_of_an_instant_still_have_a_length(times: tuple[float, ...]) -> None:
    found = video_metadata(frames_at(*times))
    assert found["total_num_frames"] >= 1
    assert all(0 <= index < found["total_num_frames"] for index in found["frames_indices"])


def test_the_interval_of_a_sequence_counts_and_not_the_first_frame() -> None:
    frames = FrameSequence(frames_at(4.0, 6.0))
    frames.start, frames.end = 2.0, 10.0
    found = video_metadata(frames)
    assert found["duration"] == pytest.approx(8.0)
    assert [i / found["fps"] for i in found["frames_indices"]] == pytest.approx([2.0, 4.0])


# ------------------------------------------------------------------------------------------- pictures


class Qwen2VLVideoProcessor(SimpleNamespace):
    """Only what the sizing reads, with the numbers of a published checkpoint."""


class Qwen3VLVideoProcessor(SimpleNamespace):
    """Only what the sizing reads, with the numbers of a published checkpoint."""


PUBLISHED = {
    "Qwen2.5-VL": Qwen2VLVideoProcessor(
        patch_size=14,
        merge_size=2,
        temporal_patch_size=2,
        size={"shortest_edge": 3136, "longest_edge": 12845056},
    ),
    "Qwen3-VL": Qwen3VLVideoProcessor(
        patch_size=16,
        merge_size=2,
        temporal_patch_size=2,
        size={"shortest_edge": 4096, "longest_edge": 25165824},
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("size", [(1080, 1920), (2160, 3840), (360, 640), (12, 16)])
def test_pictures_of_published_checkpoints_have_the_tokens_of_qwen_vl_utils(
    name: str, size: tuple[int, int]
) -> None:
    limits = pixel_limits(PUBLISHED[name], 8)
    height, width = picture_size(*size, limits)
    assert limits.factor is not None
    assert 128 <= height * width / limits.factor**2 <= 768
    assert height / width == pytest.approx(size[0] / size[1], rel=0.2)


def test_many_pictures_share_the_context() -> None:
    few, many = (pixel_limits(PUBLISHED["Qwen2.5-VL"], count).max_pixels for count in (8, 768))
    assert few == 768 * 28 * 28
    assert many is not None
    assert many * 768 / 2 <= 128_000 * 28 * 28 * 0.9


def test_limits_of_the_caller_come_first() -> None:
    limits = pixel_limits(PUBLISHED["Qwen2.5-VL"], 8, min_pixels=784, max_pixels=4 * 784)
    assert (limits.min_pixels, limits.max_pixels) == (784, 3136)
    height, width = picture_size(1080, 1920, limits)
    assert height * width <= 3136
    assert pixel_limits(object(), 8, max_pixels=1000) == PixelLimits(None, 1000, None)
    height, width = picture_size(100, 200, PixelLimits(None, 5000))
    assert height * width <= 5100


@pytest.mark.parametrize(("low", "high"), [(0, None), (None, -1), (2.5, None), (200, 100), (True, None)])
def test_limits_that_make_no_sense_are_refused(low: Any, high: Any) -> None:
    with pytest.raises(InputError, match="pixels"):
        PixelLimits(low, high)


def test_a_processor_with_another_kind_of_size_is_left_to_itself() -> None:
    for size in ({"height": 224, "width": 224}, {"shortest_edge": 224, "longest_edge": None}):
        odd = Qwen2VLVideoProcessor(patch_size=14, merge_size=2, temporal_patch_size=2, size=size)
        assert pixel_limits(odd, 8) == PixelLimits(None, None, None)


def test_fewer_pixels_are_fewer() -> None:
    limits = pixel_limits(PUBLISHED["Qwen2.5-VL"], 8)
    areas = [np.prod(picture_size(480, 640, limits, scale)) for scale in (1.0, 0.5, 0.25)]
    assert areas[0] > areas[1] > areas[2] > 0


def test_pictures_of_different_sizes_take_the_first_ones() -> None:
    frames = [Frame(np.full((h, w, 3), 7, np.uint8), 0.0) for h, w in ((40, 60), (20, 20), (80, 60))]
    stacked = stack_frames(frames, PixelLimits())
    assert stacked.shape == (3, 3, 40, 60)
    assert stacked.dtype == torch.uint8
    assert (stacked == 7).all()


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (4, 4, 1), (0, 4, 3)])
def test_what_is_no_picture_is_named(shape: tuple[int, ...]) -> None:
    good = Frame(np.zeros((4, 4, 3), np.uint8), 0.0)
    with pytest.raises(InputError, match="picture 1 is"):
        check_frames([good, Frame(np.zeros(shape, np.uint8), 1.0)])
    with pytest.raises(InputError, match="float64"):
        check_frames([Frame(np.zeros((4, 4, 3)), 0.0)])


# ------------------------------------------------------------------------------------------ placement


def test_names_of_dtypes_are_read_and_others_refused() -> None:
    for name, dtype in (
        ("bf16", torch.bfloat16),
        ("float16", torch.float16),
        ("torch.float32", torch.float32),
    ):
        assert choose_dtype(name, "cpu") is dtype
    assert choose_dtype(torch.float16, "cpu") is torch.float16
    with pytest.raises(InputError, match=r"int8.*bfloat16"):
        choose_dtype("int8", "cpu")


def test_a_device_that_is_not_there_is_an_error() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(InputError, match="tpu"):
        choose_device("tpu")
    with pytest.raises(InputError, match="no such device"):
        choose_device("cuda:64")


@pytest.mark.parametrize(
    ("wanted", "device", "installed", "capability", "dtype", "chosen"),
    [
        ("auto", "cuda", True, (9, 0), torch.bfloat16, "flash_attention_2"),
        (None, "cuda", True, (8, 0), torch.float16, "flash_attention_2"),
        ("auto", "cuda", True, (9, 0), torch.float32, "sdpa"),
        ("auto", "cuda", False, (9, 0), torch.bfloat16, "sdpa"),
        ("flash_attention_2", "cpu", True, None, torch.float32, "sdpa"),
        ("sdpa", "cuda", True, (9, 0), torch.bfloat16, "sdpa"),
        ("eager", "cpu", False, None, torch.float32, "eager"),
    ],
)
def test_attention_follows_what_is_there(
    wanted: Any, device: str, installed: bool, capability: Any, dtype: Any, chosen: str
) -> None:
    name, line = choose_attention(wanted, device, dtype=dtype, installed=installed, capability=capability)
    assert name == chosen
    fell_back = wanted in ("auto", None, "flash_attention_2") and chosen == "sdpa"
    assert (line is not None) == fell_back


def test_several_gpus_are_used_unless_one_is_named() -> None:
    cuda = torch.device("cuda")
    assert choose_device_map(None, torch.device("cpu"), pinned=False, gpus=0) is None
    assert choose_device_map(None, cuda, pinned=False, gpus=1) == {"": "cuda"}
    assert choose_device_map(None, cuda, pinned=False, gpus=4) == "auto"
    assert choose_device_map(None, torch.device("cuda:1"), pinned=True, gpus=4) == {"": "cuda:1"}
    assert choose_device_map("balanced", cuda, pinned=True, gpus=4) == "balanced"


# -------------------------------------------------------------------------------------------- answers


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Any) -> Any:
    return tiny_checkpoint.build_tokenizer()


def test_answers_follow_a_template_directly_and_words_after_a_space(tokenizer: Any) -> None:
    for prompt, answer in (("a<|im_start|>", "yes"), ("a\n", "yes"), ("USER: a ASSISTANT:", " yes")):
        found = continuations(tokenizer, prompt, ["yes", " yes "], end=None, add_special_tokens=False)
        assert found.cut == 0
        assert found.answers[0] == found.answers[1] == tuple(tokenizer(answer)["input_ids"])


def test_where_prompt_and_answer_merge_the_prompt_is_cut_back(tokenizer: Any) -> None:
    # a prompt that ends in a space: the space belongs to the token of the word that follows
    prompt, choices = "the ", ["person", "pan", "zebra"]
    found = continuations(tokenizer, prompt, choices, end=None, add_special_tokens=False)
    base = tokenizer(prompt)["input_ids"]
    assert found.cut == 1
    for choice, answer in zip(choices, found.answers, strict=True):
        assert [*base[: -found.cut], *answer] == tokenizer(prompt + choice)["input_ids"]


def test_the_end_of_the_reply_counts_when_one_answer_begins_another(tokenizer: Any) -> None:
    end = tokenizer.eos_token_id
    numbers = continuations(tokenizer, "which?\n", ["1", "12", "2"], end=end, add_special_tokens=False)
    assert all(answer[-1] == end for answer in numbers.answers)
    words = continuations(tokenizer, "which?\n", ["yes", "no"], end=end, add_special_tokens=False)
    assert not any(answer[-1] == end for answer in words.answers)
    same = continuations(tokenizer, "which?\n", ["yes", "yes"], end=end, add_special_tokens=False)
    assert same.answers[0] == same.answers[1]


def test_an_empty_answer_cannot_be_scored(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="empty"):
        continuations(tokenizer, "which?", ["yes", " "], end=None, add_special_tokens=False)


# ---------------------------------------------------------------------------------------- fingerprint


def test_the_fingerprint_changes_with_weights_settings_and_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(bytes(1000))
    seen = {checkpoint_fingerprint(tmp_path, {"dtype": "float32"})}
    assert checkpoint_fingerprint(tmp_path, {"dtype": "float32"}) in seen
    seen.add(checkpoint_fingerprint(tmp_path, {"dtype": "bfloat16"}))
    weights.write_bytes(bytes(999) + b"\x01")  # retrained: same name, same size
    seen.add(checkpoint_fingerprint(tmp_path, {"dtype": "float32"}))
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    seen.add(checkpoint_fingerprint(tmp_path, {"dtype": "float32"}))
    assert len(seen) == 4


def test_large_weights_are_sampled_all_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ego_adr.models.hf_fingerprint as module

    monkeypatch.setattr(module, "WHOLE", 1000)
    monkeypatch.setattr(module, "BLOCK", 64)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(bytes(100_000))
    before = checkpoint_fingerprint(tmp_path, {})
    weights.write_bytes(b"\x01" * 100_000)
    assert checkpoint_fingerprint(tmp_path, {}) != before
    weights.write_bytes(bytes(99_999) + b"\x01")
    assert checkpoint_fingerprint(tmp_path, {}) != before


def test_two_loads_of_a_checkpoint_agree_and_other_pixels_do_not(tiny: Callable[[str], Path]) -> None:
    from ego_adr.models.registry import load_model

    marks = [
        load_model(tiny("qwen2_vl"), **options).fingerprint  # type: ignore[attr-defined]
        for options in ({}, {"batch_size": 3}, {"max_pixels": 3136})
    ]
    assert marks[0] == marks[1] != marks[2]
