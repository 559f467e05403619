"""What only a GPU can show; skipped without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ego_adr.models.registry import load_model
from ego_adr.types import Request

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
ARCHITECTURES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "video_llava", "llava_onevision")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_goes_to_the_gpu_in_half_precision(
    architecture: str, tiny: Callable[[str], Path], clip: Callable[..., Any]
) -> None:
    model: Any = load_model(tiny(architecture))
    assert model.model.device.type == "cuda"
    assert model.model.dtype in (torch.bfloat16, torch.float16)
    request = Request("Which?", clip(), choices=("correct", "Wrong object", "Wrong action"))
    (said,), (scored,) = (
        model.generate([Request("What happens?", clip(), max_tokens=8)]),
        model.generate([request]),
    )
    assert said.failure is None
    assert scored.scores is not None
    assert model._shared_prompt == {"video": True}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_single_precision_on_the_gpu_agrees_with_the_cpu(
    architecture: str, tiny: Callable[[str], Path], tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    gpu = load_model(tiny(architecture), dtype="fp32", device="cuda")
    cpu = load_model(tiny(architecture), dtype="fp32", device="cpu")
    request = Request("Which?", clip(), choices=("correct", "Wrong object", "Wrong action"))
    (one,), (other,) = gpu.generate([request]), cpu.generate([request])
    wanted = [score.logprob for score in other.scores or ()]
    assert [score.logprob for score in one.scores or ()] == pytest.approx(wanted, abs=0.05)


def test_real_memory_that_is_spent_fails_one_sample(
    tiny: Callable[[str], Path], clip: Callable[..., Any]
) -> None:
    model: Any = load_model(tiny("qwen2_5_vl"))
    real = model.model.generate

    def generate(**named: Any) -> Any:
        if named["input_ids"].shape[1] > 60:
            torch.empty(2**50, dtype=torch.uint8, device="cuda")
        return real(**named)

    model.model.generate = generate
    light, heavy = model.generate(
        [Request("What?", clip(), 4), Request("What? " + "Say it in many words. " * 20, clip(), 4)]
    )
    assert light.failure is None
    assert heavy.failure is not None
    assert heavy.failure.cause == "out of memory"
