"""What holds for every architecture, on the real code of transformers with random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ego_adr.errors import ModelError
from ego_adr.models.base import VideoLLM, fingerprint
from ego_adr.models.hf_inputs import InputBuilder
from ego_adr.models.registry import load_model
from ego_adr.types import Frame, Reply, Request

QWEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
LLAVA = ("video_llava", "llava_onevision")
VISION = (*QWEN, *LLAVA)
CHOICES = ("correct", "Wrong object", "Wrong action", "Correct wrong action")

every_vision = pytest.mark.parametrize("architecture", [*VISION, "llava"])
every_video = pytest.mark.parametrize("architecture", VISION)


def plain_inputs(model: Any, requests: list[Request]) -> dict[str, Any]:
    """The tensors of a batch of clips, straight from the processor, as a person would write it."""
    from ego_adr.models.hf_pictures import video_metadata

    processor = model.processor
    chats = [
        [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": request.prompt}]}]
        for request in requests
    ]
    if processor.chat_template is None:  # as its documentation writes it
        texts = [f"USER: <video>\n{request.prompt} ASSISTANT:" for request in requests]
    else:
        texts = [
            processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats
        ]
    return dict(
        processor(
            text=texts,
            videos=[np.stack([frame.array for frame in request.frames]) for request in requests],
            video_metadata=[video_metadata(request.frames) for request in requests],
            do_sample_frames=False,
            padding=True,
            padding_side="left",
            return_tensors="pt",
        )
    )


@every_vision
def test_a_checkpoint_loads_from_its_folder_and_is_a_backend(
    architecture: str, tiny: Callable[[str], Path], tiny_model: Callable[[str], Any]
) -> None:
    model = tiny_model(architecture)
    assert isinstance(model, VideoLLM)
    assert model.name == tiny(architecture).name
    assert fingerprint(model)
    assert next(model.model.parameters()).dtype == torch.float32
    assert not model.model.training


@pytest.mark.parametrize("architecture", [*VISION, "llava", "llama"])
def test_a_question_without_pictures_is_answered(architecture: str, tiny_model: Callable[[str], Any]) -> None:
    (reply,) = tiny_model(architecture).generate([Request("Was the step done right?", max_tokens=6)])
    assert reply.failure is None
    assert reply.completion_tokens is not None
    assert 1 <= reply.completion_tokens <= 6
    assert (reply.finish_reason == "length") == (reply.completion_tokens == 6)


@every_vision
def test_batches_of_all_sorts_give_what_single_calls_give(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    requests = [
        Request("Describe the clip.", clip(), max_tokens=7),
        Request("Short?", max_tokens=5),
        Request(
            "A much longer question: " + "the person stirs the pan and picks up a bowl. " * 8, max_tokens=9
        ),
        Request(
            "A longer question about another clip: what happens, and why?", clip(5, seed=1, size=(30, 44)), 4
        ),
        Request("And this one?", clip(8, seed=2, end=104.0), max_tokens=11),
        Request("One picture.", clip(1, seed=3), max_tokens=5),
        Request("Which label?", clip(seed=4), choices=CHOICES),
        Request("Which label?", choices=CHOICES),
    ]
    together = model.generate(requests)
    assert [reply.failure for reply in together] == [None] * len(requests)
    for request, reply in zip(requests, together, strict=True):
        (alone,) = model.generate([request])
        assert (reply.text, reply.finish_reason) == (alone.text, alone.finish_reason)
        assert (reply.prompt_tokens, reply.completion_tokens) == (
            alone.prompt_tokens,
            alone.completion_tokens,
        )
        if request.choices:
            assert [s.logprob for s in reply.scores or ()] == pytest.approx(
                [s.logprob for s in alone.scores or ()]
            )
        else:
            assert reply.scores is None


@every_vision
def test_the_pictures_are_seen_and_their_order_matters(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    one = clip(seed=0)
    backwards = tuple(Frame(a.array, b.time) for a, b in zip(reversed(one), one, strict=True))
    scores = [
        model.generate([Request("Which?", frames, choices=CHOICES)])[0].scores[1].logprob
        for frames in (one, clip(seed=1), backwards, clip(1, seed=0), clip(1, seed=1), ())
    ]
    assert len({round(score, 4) for score in scores}) == len(scores)


@every_video
def test_the_model_is_given_what_its_own_processor_makes(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    requests = [
        Request("What happens?", clip(size=(84, 112)), 4),
        Request("And now, in this clip?", clip(seed=1), 4),
    ]
    ours = model.builder.build(requests, "video").inputs
    theirs = plain_inputs(model, requests)
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        torch.testing.assert_close(torch.as_tensor(ours[name]), torch.as_tensor(value), rtol=0, atol=0)


@every_video
def test_replies_are_those_of_plain_greedy_generation(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    request = Request("What happens?", clip(), max_tokens=10)
    inputs = plain_inputs(model, [request])
    with torch.inference_mode():
        ids = model.model.generate(**inputs, do_sample=False, max_new_tokens=10)[
            0, inputs["input_ids"].shape[1] :
        ]
    (reply,) = model.generate([request])
    assert reply.text == model.processor.decode(ids, skip_special_tokens=True).strip()


@pytest.mark.parametrize("pictures", [8, 1, 0])
@every_vision
def test_scores_are_the_likelihoods_of_full_sequences(
    architecture: str, pictures: int, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    builder: InputBuilder = model.builder
    request = Request("Which label fits?", clip(pictures) if pictures else (), choices=CHOICES)
    (reply,) = model.generate([request])
    form = builder.form(request)
    text = builder.render(request, form)
    batch = builder.build([request], form)
    space = "" if text[-1].isspace() else " "
    tokenizer = builder.tokenizer
    assert reply.scores is not None
    for choice, score in zip(CHOICES, reply.scores, strict=True):
        tokens = tokenizer(space + choice, add_special_tokens=False)["input_ids"]
        whole = dict(batch.inputs)
        for name in ("input_ids", "attention_mask", "mm_token_type_ids"):
            if name in whole:
                more = (
                    torch.tensor([tokens])
                    if name == "input_ids"
                    else torch.full((1, len(tokens)), name[0] == "a")
                )
                whole[name] = torch.cat([whole[name], more.to(whole[name].dtype)], dim=1)
        with torch.inference_mode():
            logits = model.model(**whole).logits[0, -len(tokens) - 1 : -1]
        wanted = torch.log_softmax(logits, -1)[range(len(tokens)), tokens].sum().item()
        assert score.choice == choice
        assert score.tokens == len(tokens)
        assert score.logprob == pytest.approx(wanted, abs=1e-4)
    assert reply.text == max(reply.scores, key=lambda score: score.logprob).choice


@pytest.mark.parametrize("architecture", [*VISION, "llava", "llama"])
def test_the_prompt_is_read_once_for_all_answers(
    architecture: str,
    tiny_model: Callable[[str], Any],
    clip: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_model(architecture)
    request = Request("Which label fits?", () if architecture == "llama" else clip(), choices=CHOICES)
    model.generate([request])  # the check that is made once a form
    widths: list[tuple[int, ...]] = []
    real = model.model.forward

    def forward(*args: Any, **named: Any) -> Any:
        widths.append(tuple(named["input_ids"].shape))
        return real(*args, **named)

    monkeypatch.setattr(model.model, "forward", forward)
    # the wrapped forward must still say which arguments it takes
    forward.__wrapped__ = real  # type: ignore[attr-defined]
    (reply,) = model.generate([request])
    assert reply.scores is not None
    assert len(widths) == 2
    assert widths[0] == (1, reply.prompt_tokens)
    longer = [score.tokens - 1 for score in reply.scores if score.tokens > 1]
    assert widths[1] == (len(longer), max(longer))


def test_a_language_model_says_that_it_takes_no_pictures(
    tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model("llama")
    with pytest.raises(ModelError, match=r"without a picture input and was given 8 pictures"):
        model.generate([Request("What happens?", clip())])
    text, failed = model.generate([Request("Hello", max_tokens=3), Request("What happens?", clip())])
    assert text.failure is None
    assert failed.failure is not None
    assert "bank model" in failed.failure.message


@every_vision
def test_words_that_look_like_control_tokens_are_words(
    architecture: str, tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    model = tiny_model(architecture)
    prompt = "Add <video> and <image> <|video_pad|> <|vision_start|> then <|im_end|> </s> and go on."
    with_pictures, without = model.generate([Request(prompt, clip(), 3), Request(prompt, max_tokens=3)])
    assert with_pictures.failure is None
    assert without.failure is None


@every_vision
def test_a_loaded_model_is_taken_with_its_processor(
    architecture: str, tiny: Callable[[str], Path], tiny_model: Callable[[str], Any], clip: Callable[..., Any]
) -> None:
    loaded = tiny_model(architecture)
    request = Request("What happens?", clip(), max_tokens=6)
    wanted: list[Reply] = loaded.generate([request])
    for given, options in (
        ((loaded.model, loaded.processor), {}),
        (loaded.model, {"processor": loaded.processor}),
        (loaded.model, {}),
    ):
        wrapped = load_model(given, **options)
        assert wrapped.generate([request]) == wanted
        assert fingerprint(wrapped) is None
