"""The micro video-LLM: its tokenizer, its chat template, its configuration and how it is saved.

A real architecture (`Qwen2_5_VLForConditionalGeneration`) with 2.3 million parameters, so that every line
that loads a 7B model loads this one too.
"""

from __future__ import annotations

import json
import shutil
import string
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from ego_adr.tabletop.language import LABELS, WORDS

SIZE = 112
"""Width and height in pixels that the model sees."""
FRAMES = 8
HIDDEN = 160
SPECIAL = (
    "<pad>",
    "<unk>",
    "<|im_start|>",
    "<|im_end|>",
    "<|assistant|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|video_pad|>",
    "<|image_pad|>",
)
CHAT_TEMPLATE = (
    "{% set clock = namespace(first=none) %}"
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}<|assistant|>{% else %}<|im_start|>{% endif %}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}"
    "{% set seconds = part['text'][:-2] | float(-1) %}"
    "{% if seconds >= 0 and part['text'][-2:] == ' s' and loop.nextitem is defined"
    " and loop.nextitem['type'] == 'image' %}"
    "{% if clock.first is none %}{% set clock.first = seconds %}{% endif %}"
    "{{ '%04.1f' | format(seconds - clock.first) }}"
    "{% else %}{{ part['text'] }}{% endif %}"
    "{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""A clip comes as one video, or as pictures with `12.50 s` before each (what a chat server is sent): such times
become seconds since the first picture, always four tokens.
"""


def vocabulary() -> list[str]:
    """All entries of the tokenizer in the order of their ids."""
    entries = [*SPECIAL, *LABELS, *dict.fromkeys(WORDS)]
    characters = [c for c in string.printable if not c.isspace() and not c.isupper()]
    entries += [c for c in characters if c not in entries]
    entries += ["##" + c for c in characters if c.isalnum()]
    return entries


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Words of the world and labels as single tokens, everything else by characters."""
    entries = vocabulary()
    ids = {entry: index for index, entry in enumerate(entries)}
    core = Tokenizer(models.WordPiece(ids, unk_token="<unk>", max_input_chars_per_word=64))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece(cleanup=True)
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    core.add_tokens([AddedToken(label, normalized=False, single_word=True) for label in LABELS])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="<|im_end|>",
        padding_side="left",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )


def build_config() -> Qwen2_5_VLConfig:
    """Five layers of text, three of vision; `dtype` float32 although the weights are stored in half."""
    ids = {entry: index for index, entry in enumerate(vocabulary())}
    text = {
        "vocab_size": (len(ids) + 15) // 16 * 16,
        "hidden_size": HIDDEN,
        "intermediate_size": 448,
        "num_hidden_layers": 5,
        "num_attention_heads": 5,
        "num_key_value_heads": 5,
        "max_position_embeddings": 1024,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6]},
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": ids["<|im_end|>"],
        "pad_token_id": ids["<pad>"],
    }
    vision = {
        "depth": 3,
        "hidden_size": 96,
        "intermediate_size": 256,
        "num_heads": 4,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "tokens_per_second": 4,
        "window_size": SIZE,
        "fullatt_block_indexes": [0, 1, 2],
        "out_hidden_size": HIDDEN,
    }
    return Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=True,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )


def build_model(seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """A freshly initialised model."""
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(build_config())
    return model.float()


def build_processor() -> Qwen2_5_VLProcessor:
    """Every video becomes 112 x 112 pixels; frames are taken as they come."""
    size = {"shortest_edge": SIZE * SIZE, "longest_edge": SIZE * SIZE}
    common: dict[str, Any] = {"size": size, "patch_size": 14, "merge_size": 2, "temporal_patch_size": 2}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**common),
        tokenizer=build_tokenizer(),
        video_processor=Qwen2VLVideoProcessor(**common, do_sample_frames=False, cap_pixels_per_frame=False),
        chat_template=CHAT_TEMPLATE,
    )


def save_checkpoint(
    model: Qwen2_5_VLForConditionalGeneration, folder: Path, prompts: Path | None = None
) -> None:
    """Writes a checkpoint that plain `from_pretrained` loads: weights in half, `dtype` float32; `prompts`
    are copied beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    eos = model.config.text_config.eos_token_id
    pad = model.config.text_config.pad_token_id
    model.generation_config = GenerationConfig(eos_token_id=eos, pad_token_id=pad, do_sample=False)
    half = {name: tensor.detach().to(torch.float16) for name, tensor in model.state_dict().items()}
    half.pop("lm_head.weight", None)
    model.save_pretrained(folder, state_dict=half)
    build_processor().save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for part in (config, config["text_config"], config["vision_config"]):
        part.pop("torch_dtype", None)
        part["dtype"] = "float32"
    path.write_text(json.dumps(config, indent=2) + "\n")
    if prompts is not None and prompts.resolve() != (folder / "prompts").resolve():
        shutil.copytree(prompts, folder / "prompts", dirs_exist_ok=True)
