"""Build a tiny checkpoint with random weights of a real architecture: to try the machinery, never to judge by.

    python examples/tiny_checkpoint.py qwen2_5_vl FOLDER
    ego-adr detect VIDEO --procedure FILE --action TEXT --model FOLDER

The folder is what `save_pretrained` writes, so every line that loads a model of billions of parameters loads this
one too. Its answers are noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HIDDEN = 64
PICTURE = 56
"""Sides in pixels of what the two LLaVA models see."""

CORPUS = (
    "Was the step of the procedure done right? The person picks up the bowl, cracks two eggs and stirs the pan.",
    "The wrong object was used, the wrong action was done, in the wrong order; nothing was left out. correct yes no",
    "Answer with one word. What happens in the clip? Which step is this? Describe the object, the tool, the action.",
)

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'video' %}VIDEO{% elif part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
QWEN_CHAT = CHATML.replace("VIDEO", "<|vision_start|><|video_pad|><|vision_end|>").replace(
    "IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"
)
LLAVA_CHAT = CHATML.replace("VIDEO", "<video>").replace("IMAGE", "<image>")

SPECIAL = (
    "<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>",
    "<|image_pad|>", "<image>", "<video>",
)  # fmt: skip


def build_tokenizer(**options: Any) -> Any:
    """Byte-level BPE with a few hundred merges, as the tokenizers of the real models are."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    core.train_from_iterator(CORPUS, trainer)
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    core.add_tokens([AddedToken(token, normalized=False) for token in ("<think>", "</think>")])
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", model_max_length=4096, clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        **{"eos_token": "<|im_end|>", **options},
    )  # fmt: skip


def text_config(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """A language model of two layers; four heads of sixteen channels."""
    return {
        "vocab_size": (len(tokenizer) + 15) // 16 * 16,
        "hidden_size": HIDDEN,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def _ids(tokenizer: Any, image: str, video: str) -> dict[str, int]:
    return {
        "image_token_id": tokenizer.convert_tokens_to_ids(image),
        "video_token_id": tokenizer.convert_tokens_to_ids(video),
    }


def _vision_marks(tokenizer: Any) -> dict[str, int]:
    return {
        "vision_start_token_id": tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        "vision_end_token_id": tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        **_ids(tokenizer, "<|image_pad|>", "<|video_pad|>"),
    }


MROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}


def _qwen_processor(kind: Any, patch: int, video_kind: Any, tokenizer: Any, budget: tuple[int, int]) -> Any:
    size = {"shortest_edge": budget[0], "longest_edge": budget[1]}
    common: dict[str, Any] = {"size": size, "patch_size": patch, "merge_size": 2, "temporal_patch_size": 2}
    return kind(
        image_processor=tf.Qwen2VLImageProcessor(**common),
        tokenizer=tokenizer,
        video_processor=video_kind(**common),
        chat_template=QWEN_CHAT,
    )


def qwen2_vl() -> tuple[Any, Any]:
    tokenizer = build_tokenizer()
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 14,
        "hidden_size": HIDDEN,
    }
    config = tf.Qwen2VLConfig(
        text_config=text_config(tokenizer, rope_parameters=MROPE),
        vision_config=vision,
        **_vision_marks(tokenizer),
    )
    # the checkpoints of this family were published with limits for single pictures
    processor = _qwen_processor(
        tf.Qwen2VLProcessor, 14, tf.Qwen2VLVideoProcessor, tokenizer, (4 * 28 * 28, 16 * 28 * 28)
    )
    return tf.Qwen2VLForConditionalGeneration(config), processor


def qwen2_5_vl() -> tuple[Any, Any]:
    tokenizer = build_tokenizer()
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 14, "window_size": 56,
        "fullatt_block_indexes": [1], "out_hidden_size": HIDDEN, "tokens_per_second": 4,
    }  # fmt: skip
    config = tf.Qwen2_5_VLConfig(
        text_config=text_config(tokenizer, rope_parameters=MROPE),
        vision_config=vision,
        **_vision_marks(tokenizer),
    )
    processor = _qwen_processor(
        tf.Qwen2_5_VLProcessor, 14, tf.Qwen2VLVideoProcessor, tokenizer, (4 * 28 * 28, 16 * 28 * 28)
    )
    return tf.Qwen2_5_VLForConditionalGeneration(config), processor


def qwen3_vl() -> tuple[Any, Any]:
    tokenizer = build_tokenizer()
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 16,
        "out_hidden_size": HIDDEN, "deepstack_visual_indexes": [0], "num_position_embeddings": 64,
    }  # fmt: skip
    config = tf.Qwen3VLConfig(
        text_config=text_config(tokenizer, head_dim=16, rope_parameters=MROPE),
        vision_config=vision,
        **_vision_marks(tokenizer),
    )
    # limits of this family are for the whole video
    processor = _qwen_processor(
        tf.Qwen3VLProcessor, 16, tf.Qwen3VLVideoProcessor, tokenizer, (4 * 32 * 32, 8 * 16 * 32 * 32)
    )
    return tf.Qwen3VLForConditionalGeneration(config), processor


def _tower(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2,
        "image_size": PICTURE, "patch_size": 14, **more,
    }  # fmt: skip


def video_llava() -> tuple[Any, Any]:
    tokenizer = build_tokenizer(bos_token="<s>", eos_token="</s>")
    ids = _ids(tokenizer, "<image>", "<video>")
    config = tf.VideoLlavaConfig(
        text_config=tf.LlamaConfig(**text_config(tokenizer)),
        vision_config=tf.CLIPVisionConfig(**_tower(projection_dim=32)),
        image_token_index=ids["image_token_id"],
        video_token_index=ids["video_token_id"],
        image_seq_length=16,
        video_seq_length=17 * 8,
    )
    crop = {"height": PICTURE, "width": PICTURE}
    processor = tf.VideoLlavaProcessor(
        image_processor=tf.VideoLlavaImageProcessor(size={"shortest_edge": PICTURE}, crop_size=crop),
        video_processor=tf.VideoLlavaVideoProcessor(size={"shortest_edge": PICTURE}, crop_size=crop),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )  # as published: without a chat template
    return tf.VideoLlavaForConditionalGeneration(config), processor


def llava_onevision() -> tuple[Any, Any]:
    tokenizer = build_tokenizer()
    ids = _ids(tokenizer, "<image>", "<video>")
    pinpoints = [[PICTURE, PICTURE], [PICTURE, 2 * PICTURE], [2 * PICTURE, PICTURE]]
    config = tf.LlavaOnevisionConfig(
        text_config=tf.Qwen2Config(**text_config(tokenizer)),
        vision_config=tf.SiglipVisionConfig(**_tower(vision_use_head=False)),
        image_token_index=ids["image_token_id"],
        video_token_index=ids["video_token_id"],
        image_grid_pinpoints=pinpoints,
        vision_aspect_ratio="anyres_max_9",
    )
    square = {"height": PICTURE, "width": PICTURE}
    processor = tf.LlavaOnevisionProcessor(
        image_processor=tf.LlavaOnevisionImageProcessor(size=square, image_grid_pinpoints=pinpoints),
        tokenizer=tokenizer,
        video_processor=tf.LlavaOnevisionVideoProcessor(size=square),
        num_image_tokens=(PICTURE // 14) ** 2,
        vision_feature_select_strategy="full",
        chat_template=LLAVA_CHAT,
    )
    return tf.LlavaOnevisionForConditionalGeneration(config), processor


def llava() -> tuple[Any, Any]:
    """A model of single images, without videos: a clip is so many images."""
    tokenizer = build_tokenizer(bos_token="<s>", eos_token="</s>")
    config = tf.LlavaConfig(
        text_config=tf.LlamaConfig(**text_config(tokenizer)),
        vision_config=tf.CLIPVisionConfig(**_tower(projection_dim=32)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=16,
    )
    crop = {"height": PICTURE, "width": PICTURE}
    processor = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessor(size={"shortest_edge": PICTURE}, crop_size=crop),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    return tf.LlavaForConditionalGeneration(config), processor


def llama() -> tuple[Any, Any]:
    """A language model alone, for the stages that need no pictures."""
    tokenizer = build_tokenizer(bos_token="<s>")
    tokenizer.chat_template = CHATML
    return tf.LlamaForCausalLM(tf.LlamaConfig(**text_config(tokenizer))), tokenizer


ARCHITECTURES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "video_llava": video_llava,
    "llava_onevision": llava_onevision,
    "llava": llava,
    "llama": llama,
}


def build(architecture: str, folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint with random weights that `from_pretrained` loads; a few hundred kilobytes."""
    torch.manual_seed(seed)
    model, processor = ARCHITECTURES[architecture]()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # the usual .02 gives answers that hardly depend on the input
            if parameter.ndim > 1 and "embed" not in name:
                parameter.mul_(4.0)
    model.eval()
    model.generation_config.eos_token_id = getattr(processor, "tokenizer", processor).eos_token_id
    model.generation_config.pad_token_id = getattr(processor, "tokenizer", processor).pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("architecture", choices=sorted(ARCHITECTURES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = build(arguments.architecture, arguments.folder, arguments.seed)
    print(f"a checkpoint with random weights is in {folder}")


if __name__ == "__main__":
    main()
