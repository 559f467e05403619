"""The public cases about transformers, each on the real code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ego_adr.errors import ModelError
from ego_adr.models.hf_messages import PROMPT_FORMS
from ego_adr.models.hf_pictures import picture_size, pixel_limits, video_metadata
from ego_adr.models.hf_placement import choose_attention, choose_dtype
from ego_adr.models.registry import load_model
from ego_adr.probe import probe_model
from ego_adr.types import Frame, FrameSequence, Request

COVERED = {"60", "62", "64", "65", "66", "67", "68", "77"}
QWEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@pytest.fixture
def case(load_cases: Callable[[str], list[dict[str, Any]]]) -> Callable[[str], dict[str, Any]]:
    def find(number: str) -> dict[str, Any]:
        (found,) = [c for c in load_cases("transformers") if c["id"] == number]
        return found

    return find


def test_every_public_case_has_a_test_here(load_cases: Callable[[str], list[dict[str, Any]]]) -> None:
    assert {case["id"] for case in load_cases("transformers")} == COVERED


@pytest.mark.parametrize("numbered", [True, False])
def test_60_the_metadata_describes_the_clip(
    case: Callable[[str], dict[str, Any]],
    numbered: bool,
    tiny_model: Callable[[str], Any],
    library_log: list[Any],
) -> None:
    given, wanted = case("60")["input"], case("60")["expected"]
    start, end = given["clip"]
    n, rate = given["frames"], wanted["video_metadata"]["fps"]
    part = (end - start) / n
    frames = FrameSequence(
        Frame(np.zeros((56, 84, 3), np.uint8), time, round(time * rate) if numbered else None)
        for time in (start + part * (place + 0.5) for place in range(n))
    )
    for sequence in (frames, tuple(frames)):  # with and without the interval
        metadata = video_metadata(sequence)
        assert metadata["total_num_frames"] == wanted["video_metadata"]["total_num_frames"]
        assert metadata["fps"] == rate
        assert len(metadata["frames_indices"]) == n
        assert all(0 <= index < 480 for index in metadata["frames_indices"])
        assert n / metadata["total_num_frames"] * metadata["fps"] == wanted["sampled_fps"]
    inputs = tiny_model("qwen2_5_vl").builder.build([Request("What?", frames)], "video").inputs
    assert torch.as_tensor(inputs["second_per_grid_ts"]).tolist() == [wanted["second_per_grid_ts"]]
    assert not [record for record in library_log if wanted["no_warning"] in record.getMessage()]


def test_60_frame_times_are_written_into_the_prompt_of_models_that_read_them(
    tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model("qwen3_vl")
    inputs = model.builder.build([Request("What?", clip(8, start=100, end=116))], "video").inputs
    text = model.processor.decode(inputs["input_ids"][0])
    for seconds in (
        "<2.0 seconds>",
        "<6.0 seconds>",
        "<10.0 seconds>",
        "<14.0 seconds>",
    ):  # means of two pictures
        assert seconds in text


def test_62_a_model_that_trips_over_missing_pictures_goes_shallow_and_still_sees(
    case: Callable[[str], dict[str, Any]],
    tiny: Callable[[str], Path],
    clip: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = case("62")["expected"]
    model = load_model(tiny("llava_onevision"))
    real = model.model.generate  # type: ignore[attr-defined]

    def generate(**named: Any) -> Any:
        named.get("pixel_values_videos").dtype  # noqa: B018
        return real(**named)

    monkeypatch.setattr(model.model, "generate", generate)  # type: ignore[attr-defined]
    result = probe_model(model)
    assert result.supports_text_only is wanted["supports_text_only"]
    assert result.route == wanted["path"]
    assert result.calls <= wanted["probe_calls_max"]
    assert "'NoneType' object has no attribute 'dtype'" in result.reason
    (reply,) = model.generate([Request("What happens?", clip(), max_tokens=4)])
    assert reply.failure is None
    with pytest.raises(ModelError, match="without pictures: AttributeError"):
        model.generate([Request("Hello?")])


@pytest.mark.parametrize("option", ["auto", "flash_attention_2"])
def test_64_without_flash_attn_it_is_sdpa_and_one_line(
    case: Callable[[str], dict[str, Any]],
    option: str,
    tiny: Callable[[str], Path],
    library_log: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ego_adr.models.hf_placement as placement

    monkeypatch.setattr(placement, "find_spec", lambda name: None)
    model = load_model(tiny("qwen2_5_vl"), attention=option)
    assert model.model.config._attn_implementation == case("64")["expected"]["loads_with"]  # type: ignore[attr-defined]
    (said,) = [record.getMessage() for record in library_log if "attention" in record.getMessage()]
    assert "\n" not in said
    assert "flash-attn is not installed" in said


def test_65_old_gpus_get_float16_and_the_cpu_float32(case: Callable[[str], dict[str, Any]]) -> None:
    wanted = getattr(torch, case("65")["expected"]["dtype"])
    for capability in ((7, 0), (7, 5), (6, 1)):
        assert choose_dtype(None, torch.device("cuda"), capability=capability) is wanted
        assert choose_dtype("auto", torch.device("cuda"), capability=capability) is wanted
        assert choose_attention("auto", "cuda", installed=True, capability=capability)[0] == "sdpa"
    assert choose_dtype(None, torch.device("cuda"), capability=(8, 0)) is torch.bfloat16
    assert choose_dtype(None, torch.device("cpu")) is torch.float32


@pytest.mark.parametrize("architecture", [*QWEN, "video_llava", "llava_onevision", "llama"])
def test_66_sampling_settings_of_a_checkpoint_are_neither_used_nor_warned_of(
    architecture: str,
    tiny: Callable[[str], Path],
    clip: Callable[..., Any],
    library_log: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Any = load_model(tiny(architecture))
    request = Request("What happens?", () if architecture == "llama" else clip(), max_tokens=8)
    (wanted,) = model.generate([request])
    own = model.model.generation_config
    own.update(do_sample=True, temperature=0.01, top_p=0.001, top_k=1, repetition_penalty=1.5)
    library_log.clear()
    seen: list[dict[str, Any]] = []
    real = model.model.generate
    monkeypatch.setattr(model.model, "generate", lambda **named: (seen.append(named), real(**named))[1])
    assert model.generate([request]) == [wanted]
    assert seen[0]["do_sample"] is False
    assert not {"temperature", "top_p", "top_k"} & set(seen[0])
    assert not library_log, [record.getMessage() for record in library_log]
    assert model.model.generation_config is own
    assert own.temperature == 0.01


def test_67_batches_are_padded_on_the_left(
    tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    for architecture in (*QWEN, "video_llava", "llava_onevision"):
        model = tiny_model(architecture)
        requests = [
            Request("Short?", clip()),
            Request("A much longer prompt: " + "stir the pan, " * 9, clip()),
        ]
        mask = model.builder.build(requests, "video").inputs["attention_mask"]
        assert mask[0, 0] == 0
        assert mask[0, -1] == 1
        assert mask[1].all()


def test_68_one_heavy_clip_does_not_end_the_run(
    case: Callable[[str], dict[str, Any]],
    tiny: Callable[[str], Path],
    clip: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = case("68")["expected"]
    model: Any = load_model(tiny("qwen2_5_vl"), batch_size=1)
    real = model.model.generate
    calls: list[int] = []
    heavy = clip(seed=3)

    def generate(**named: Any) -> Any:
        calls.append(named["pixel_values_videos"].numel())
        is_third = named["input_ids"].shape[1] > 60
        if len(calls) == 1 or is_third:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nmore lines")
        return real(**named)

    monkeypatch.setattr(model.model, "generate", generate)
    requests = [
        Request("What happens?", clip(seed=1, size=(112, 84)), max_tokens=4),
        Request("What happens?", clip(seed=2), max_tokens=4),
        Request("What happens? " + "Say it in many words. " * 12, heavy, max_tokens=4),
        Request("What happens?", clip(seed=4), max_tokens=4),
    ]
    one, two, three, four = model.generate(requests)
    assert one.failure is None
    assert one.notes == ("pixels reduced",)
    assert calls[1] < calls[0]
    assert three.failure is not None
    assert f"error: {three.failure.cause}" == wanted["sample3"]
    assert "lower max_pixels" in three.failure.message
    for other in (two, four):
        assert other.failure is None
        assert other.notes == ()


def test_77_video_llava_is_asked_in_its_own_form(
    case: Callable[[str], dict[str, Any]], tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    head, tail = case("77")["expected"]["prompt"].replace("\\n", "\n").split("...")
    builder = tiny_model("video_llava").builder
    assert builder.render(Request("What happens?", clip()), "video") == f"{head}What happens?{tail}"
    assert builder.render(Request("What happens?"), "none") == "USER: What happens? ASSISTANT:"


def test_77_an_unknown_model_without_a_template_is_an_error_that_says_what_to_set(
    tiny_model: Callable[[str], Any], clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tiny_model("video_llava")
    monkeypatch.delitem(PROMPT_FORMS, "video_llava")
    with pytest.raises(ModelError, match=r"VideoLlavaForConditionalGeneration .* prompt_form="):
        known.generate([Request("What?", clip())])
    asked = load_model(known.model, processor=known.processor, prompt_form="Q: {pictures}{prompt} A:")
    assert asked.builder.render(Request("What {is} it?", clip()), "video") == "Q: <video>\nWhat {is} it? A:"  # type: ignore[attr-defined]
    assert asked.generate([Request("What {is} it?", clip(), max_tokens=2)])[0].failure is None


SMALL = [(12, 16), (1, 1), (3, 3), (2, 500), (500, 2), (27, 29), (1, 300)]


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("architecture", [*QWEN, "video_llava", "llava_onevision"])
def test_12_pictures_smaller_than_a_patch_are_seen(
    architecture: str, size: tuple[int, int], tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    replies = model.generate([Request("What?", clip(n, size=size), max_tokens=2) for n in (8, 3, 2, 1)])
    assert [reply.failure for reply in replies] == [None] * 4


@pytest.mark.parametrize("architecture", QWEN)
def test_12_each_side_is_at_least_a_merged_patch(architecture: str, tiny_model: Callable[[str], Any]) -> None:
    for part in ("video_processor", "image_processor"):
        processor = getattr(tiny_model(architecture).processor, part)
        limits = pixel_limits(processor, 8)
        assert limits.factor in (28, 32)
        for size in SMALL[:3]:
            height, width = picture_size(*size, limits)
            assert min(height, width) >= limits.factor
            assert height % limits.factor == width % limits.factor == 0


def test_nothing_of_this_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, ego_adr.models.registry, ego_adr.models.hf, ego_adr.models.hf_model, ego_adr.models.cached\n"
        "import ego_adr.models.callable, ego_adr.models.hf_scoring, ego_adr.models.hf_placement\n"
        "print([m for m in ('torch', 'transformers', 'numpy', 'openai', 'diskcache') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
