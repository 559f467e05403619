"""The micro model's own code: tokenizer, training samples, and the batched forward pass."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ego_adr.prompting import PromptLibrary
from ego_adr.tabletop.language import LABELS, narrate
from ego_adr.tabletop.world import draw_event

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def examples_can_be_imported() -> Iterator[None]:
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


def test_labels_are_single_tokens_and_unknown_words_are_spelled() -> None:
    from examples.tabletop.model import build_tokenizer

    tokenizer = build_tokenizer()
    for label in LABELS:
        ids = tokenizer(label).input_ids
        assert len(ids) == 1
        assert tokenizer.decode(ids) == label
    assert tokenizer.decode(tokenizer("Zebra crossing!").input_ids) == "zebra crossing!"
    rng = random.Random(1)
    for _ in range(50):
        sentence = narrate(draw_event(rng))
        assert tokenizer.decode(tokenizer(sentence).input_ids) == sentence.replace(" ,", ",")


def test_training_samples_are_what_the_processor_makes_of_the_librarys_prompts() -> None:
    from examples.tabletop.model import build_processor
    from examples.tabletop.samples import PROMPTS, context_for, prompt, text_sample

    processor = build_processor()
    library = PromptLibrary(PROMPTS)
    rng = random.Random(2)
    for _ in range(20):
        event = draw_event(rng)
        context = context_for(rng, event)
        known: dict[str, Any] = {
            "narration": narrate(event),
            "steps": [],
            "procedure": "",
            "labels": [],
            **context.values(),
        }
        words = prompt("deep/classify", **known)
        rendered = library.render("deep/classify", **known).text
        assert processor.tokenizer(rendered).input_ids == processor.tokenizer(" ".join(words)).input_ids
        sample = text_sample(rng)
        text = processor.tokenizer.decode(sample.ids[1 : sample.answer_from - 2])
        again = processor.apply_chat_template(
            [{"role": "user", "content": [{"type": "text", "text": text}]}],
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
        )
        assert tuple(again["input_ids"][0]) == sample.ids[: sample.answer_from]


def test_contexts_give_the_label_that_was_asked_for() -> None:
    from examples.tabletop.samples import COMPARED, context_for

    rng = random.Random(3)
    for wanted in COMPARED * 10:
        context = context_for(rng, draw_event(rng, "on"), wanted)
        assert context.label == wanted


def test_dense_targets_are_shares_of_every_cell() -> None:
    from examples.tabletop.samples import draw_clip

    clip = draw_clip(random.Random(4), "on")
    for table in (clip.colours, clip.shapes, clip.roles):
        assert table.shape[:2] == (8, 16)
        assert abs(table.sum(-1) - 1).max() < 1e-5
    assert clip.roles[7, :, 1].sum() > 0.3


def test_batched_forward_gives_the_numbers_of_transformers() -> None:
    import torch
    from torch.nn import functional

    from ego_adr.tabletop.language import KINDS
    from examples.tabletop.fast import hidden
    from examples.tabletop.model import build_model, build_processor
    from examples.tabletop.samples import draw_clip

    model, processor = build_model(0).eval(), build_processor()
    clip = draw_clip(random.Random(5), KINDS[0])
    text = processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "watch"}]}],
        tokenize=False,
        add_generation_prompt=True,
    )
    batch = processor(
        text=[text],
        videos=[torch.from_numpy(clip.pixels).permute(0, 3, 1, 2)],
        video_metadata=[{"total_num_frames": 8, "fps": 2 / clip.interval}],
        return_tensors="pt",
    )
    with torch.no_grad():
        expected = model(**batch).logits
        states = hidden(
            model, batch["input_ids"], torch.from_numpy(clip.pixels)[None], torch.tensor([clip.interval])
        )
        found = functional.linear(states.final, model.model.language_model.embed_tokens.weight)
    assert (expected - found).abs().max() < 1e-4


def test_a_clip_in_pictures_is_what_a_chat_server_makes_of_it() -> None:
    import torch
    from PIL import Image
    from torch.nn import functional

    from examples.tabletop.fast import begin_of_text, hidden, seen_at
    from examples.tabletop.model import build_model, build_processor
    from examples.tabletop.samples import draw_clip, narrate_sample

    model, processor = build_model(0).eval(), build_processor()
    clip = draw_clip(random.Random(6), "slow")
    content: list[dict[str, Any]] = []
    for seconds, pixels in zip(clip.seconds, clip.pixels, strict=True):
        content.append({"type": "text", "text": f"{1234.5 + seconds:.2f} s"})
        content.append({"type": "image", "image": Image.fromarray(pixels)})
    content.append({"type": "text", "text": "watch"})
    batch = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        tokenize=True,
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
    )
    sample = narrate_sample(clip, as_pictures=True)
    ids = batch["input_ids"]
    found_ids = torch.tensor(sample.ids[: sample.answer_from])
    # times are rounded twice on their way to a server and once here: a last digit may differ
    rounded = (ids[0] != found_ids).sum()
    assert ids.shape[1] == sample.answer_from
    assert rounded <= 8
    entries = processor.tokenizer.convert_ids_to_tokens(ids[0])
    assert all(entries[i] == "<|image_pad|>" for i in seen_at(as_pictures=True))
    assert entries.count("<|image_pad|>") == len(seen_at(as_pictures=True))
    assert entries[begin_of_text(as_pictures=True)] == "<|vision_end|>"
    assert entries[1:5] == ["0", "##0", ".", "0"]
    with torch.no_grad():
        expected = model(**batch).logits
        states = hidden(model, ids, torch.from_numpy(clip.pixels)[None], None, as_pictures=True)
        found = functional.linear(states.final, model.model.language_model.embed_tokens.weight)
    assert (expected - found).abs().max() < 1e-4


def test_only_a_time_before_a_picture_is_counted_from_the_first() -> None:
    from examples.tabletop.model import build_processor

    def rendered(*content: dict[str, str]) -> str:
        message = [{"role": "user", "content": list(content)}]
        text: str = build_processor().apply_chat_template(message, tokenize=False)
        return text.replace("<|vision_start|><|image_pad|><|vision_end|>", "#")

    def text(words: str) -> dict[str, str]:
        return {"type": "text", "text": words}

    image = {"type": "image"}
    assert rendered(text("61.25 s"), image, text("63.00 s"), image, text("watch")) == (
        "<|im_start|>00.0#01.8#watch<|im_end|>"
    )
    assert rendered(text("first the glass"), image, text("2.00 s")) == (
        "<|im_start|>first the glass#2.00 s<|im_end|>"
    )


def test_muon_makes_updates_orthogonal() -> None:
    import torch

    from examples.tabletop.muon import orthogonalise

    made = orthogonalise(torch.randn(3, 32, 48, generator=torch.Generator().manual_seed(0)))
    values = torch.linalg.svdvals(made)
    assert values.min() > 0.5
    assert values.max() < 1.5


def test_a_saved_checkpoint_is_half_on_disk_and_full_in_memory(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from examples.tabletop.model import build_model, save_checkpoint

    save_checkpoint(build_model(1), tmp_path / "made")
    assert (tmp_path / "made" / "model.safetensors").stat().st_size < 6_000_000
    model = AutoModelForImageTextToText.from_pretrained(tmp_path / "made")
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert AutoProcessor.from_pretrained(tmp_path / "made").tokenizer.eos_token == "<|im_end|>"
