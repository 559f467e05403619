"""From requests to the tensors of one batch, through the model's own processor."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ego_adr.models.hf_messages import ClipForm, Form, picture_form, render
from ego_adr.models.hf_pictures import pixel_limits, stack_frames, video_metadata
from ego_adr.types import Request

__all__ = ["Batch", "InputBuilder"]


@dataclass(frozen=True)
class Batch:
    """What a model is given.

    Attributes:
        inputs: tensors by name; ``input_ids`` and ``attention_mask`` are B x L, padded on the left.
        texts: the prompts as rendered, before placeholders were expanded.
        values: how many numbers the pictures are.
    """

    inputs: dict[str, Any]
    texts: tuple[str, ...]
    values: int


@dataclass(frozen=True)
class InputBuilder:
    """Knows how a checkpoint wants to be asked.

    Attributes:
        processor: its processor, or its tokenizer for a language model.
        model_type, class_name: of the model.
        min_pixels, max_pixels: of one picture, in place of the checkpoint's.
        chat_template, prompt_form, template_options: see `ego_adr.models.hf_messages.render`.
        clip_form: see `ego_adr.models.hf_messages.picture_form`.
    """

    processor: Any
    model_type: str
    class_name: str
    min_pixels: int | None = None
    max_pixels: int | None = None
    chat_template: str | None = None
    prompt_form: str | None = None
    template_options: Mapping[str, Any] = field(default_factory=dict)
    clip_form: ClipForm | None = None

    @property
    def tokenizer(self) -> Any:
        return getattr(self.processor, "tokenizer", self.processor)

    @property
    def takes(self) -> frozenset[str]:
        """``video`` and ``image``, those that the processor has a part for."""
        parts = {"image": "image_processor", "video": "video_processor"}
        return frozenset(
            kind for kind, part in parts.items() if getattr(self.processor, part, None) is not None
        )

    def form(self, request: Request) -> Form:
        """How the pictures of a request are given."""
        return picture_form(len(request.frames), self.takes, self.class_name, self.clip_form)

    def render(self, request: Request, form: Form) -> str:
        """The prompt of one request."""
        return render(
            request,
            form,
            self.processor,
            model_type=self.model_type,
            class_name=self.class_name,
            chat_template=self.chat_template,
            prompt_form=self.prompt_form,
            template_options=self.template_options,
        )

    def adds_special_tokens(self, text: str) -> bool:
        """Whether the tokenizer has still to put its beginning before a rendered prompt.

        Chat templates of language models write it themselves; those of processors do so or leave it to the
        processor (transformers' own rule in ``apply_chat_template``).
        """
        if self.processor is self.tokenizer:
            return self.prompt_form is not None
        bos = getattr(self.tokenizer, "bos_token", None)
        return not (bos and text.startswith(bos))

    def build(self, requests: Sequence[Request], form: Form, scale: float = 1.0) -> Batch:
        """One batch of requests of the same form.

        Args:
            scale: the share of its pixels that each picture keeps.
        """
        texts = [self.render(request, form) for request in requests]
        words: dict[str, Any] = {
            "padding": True,
            "padding_side": "left",
            "add_special_tokens": self.adds_special_tokens(texts[0]),
        }
        if form == "none" or self.processor is self.tokenizer:
            made = self.tokenizer(texts, return_tensors="pt", **words)
        else:
            pictures = self._videos(requests, scale) if form == "video" else self._images(requests, scale)
            made = self.processor(text=texts, return_tensors="pt", text_kwargs=words, **pictures)
        inputs = {name: value for name, value in made.items() if name != "video_metadata"}
        values = sum(value.numel() for name, value in inputs.items() if name.startswith("pixel_values"))
        return Batch(inputs, tuple(texts), values)

    def _videos(self, requests: Sequence[Request], scale: float) -> dict[str, Any]:
        processor = self.processor.video_processor
        videos, sized = [], False
        for request in requests:
            limits = pixel_limits(
                processor, len(request.frames), min_pixels=self.min_pixels, max_pixels=self.max_pixels
            )
            videos.append(stack_frames(request.frames, limits, scale))
            sized = limits.factor is not None
        options: dict[str, Any] = {
            "video_metadata": [[video_metadata(request.frames)] for request in requests],
            "do_sample_frames": False,
            "input_data_format": "channels_first",
        }
        if sized:
            options["do_resize"] = False
        if _knows(processor, "cap_pixels_per_frame"):
            options["cap_pixels_per_frame"] = False  # sized already; unset, the processor warns
        return {"videos": [[video] for video in videos], "videos_kwargs": options}

    def _images(self, requests: Sequence[Request], scale: float) -> dict[str, Any]:
        processor = self.processor.image_processor
        images, sized = [], False
        for request in requests:
            limits = pixel_limits(processor, 1, min_pixels=self.min_pixels, max_pixels=self.max_pixels)
            images.append([stack_frames([frame], limits, scale)[0] for frame in request.frames])
            sized = limits.factor is not None
        options: dict[str, Any] = {"input_data_format": "channels_first"}
        if sized:
            options["do_resize"] = False
        if _knows(processor, "return_legacy_image_output"):
            options["return_legacy_image_output"] = False  # the name that models read, without a warning
        return {"images": images, "images_kwargs": options}

    def accepted(self, model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs that a model's ``forward`` has a name for."""
        parameters = inspect.signature(model.forward).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return {k: v for k, v in inputs.items() if k != "token_type_ids" or k in parameters}
        return {name: value for name, value in inputs.items() if name in parameters}


def _knows(processor: Any, option: str) -> bool:
    """Whether a video or image processor has an option of this name."""
    return option in getattr(getattr(processor, "valid_kwargs", None), "__annotations__", {})
