"""From a request to the text that a processor is given. Pure functions: no model, no pixels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from ego_adr.errors import ModelError
from ego_adr.models.base import caption
from ego_adr.types import Request

__all__ = ["PROMPT_FORMS", "ClipForm", "Form", "messages_for", "picture_form", "render", "without_marks"]

Form = Literal["none", "images", "timed images", "video"]

#: How a clip may be wanted: as the model's video, or as images with the time before each, which is what a chat
#: server is sent.
ClipForm = Literal["video", "timed images"]

#: How models that come without a chat template were trained to be asked, by ``model_type``. ``{pictures}`` is
#: where the placeholders of the pictures go (empty for a text-only question), ``{prompt}`` where the words go.
PROMPT_FORMS: dict[str, str] = {
    "video_llava": "USER: {pictures}{prompt} ASSISTANT:",
    "llava": "USER: {pictures}{prompt} ASSISTANT:",
    "vipllava": "USER: {pictures}{prompt} ASSISTANT:",
    "llava_next_video": "USER: {pictures}{prompt} ASSISTANT:",
    "instructblip": "{pictures}{prompt}",
    "instructblipvideo": "{pictures}{prompt}",
}


def picture_form(
    count: int, takes: Collection[str], name: str = "this model", wanted: ClipForm | None = None
) -> Form:
    """How so many pictures are given to a model: as a video, as images, or not at all.

    Args:
        count: number of pictures.
        takes: ``video`` and ``image``, those that the model's processor has.
        wanted: the form that the caller asks for; None takes what follows.

    A single picture is an image where there are images: it has no time. Models without a video input get the
    pictures of a clip as images, in order of time.

    Raises:
        ModelError: pictures for a model that takes none, or not in the form that is wanted.
    """
    if count == 0:
        return "none"
    if wanted is not None:
        if {"video": "video", "timed images": "image"}[wanted] not in takes:
            raise ModelError(
                f"{name} takes {' and '.join(sorted(takes)) or 'no pictures'}: clip_form={wanted!r} cannot be had of it."
            )
        return wanted
    if "image" in takes and (count == 1 or "video" not in takes):
        return "images"
    if "video" in takes:
        return "video"
    raise ModelError(
        f"{name} is a language model without a picture input and was given {count} pictures. Use a vision-language "
        "model here; a language model can serve as the bank model, which is asked in text only."
    )


def messages_for(request: Request, form: Form | None = None) -> list[dict[str, Any]]:
    """The chat that asks a request: one message of the user, pictures before words.

    Args:
        request: the question.
        form: from `picture_form`; None takes a video when there are pictures.

    Returns:
        messages in the shape that ``apply_chat_template`` reads. A video part holds the frames with their
        times under ``video``; image parts hold one frame each under ``image``, with a text part ``12.50 s``
        before each where the images are timed.
    """
    form = form or ("video" if request.frames else "none")
    content: list[dict[str, Any]] = []
    if form == "video":
        content.append({"type": "video", "video": list(request.frames)})
    else:
        for frame in request.frames if form != "none" else ():
            if form == "timed images":
                content.append({"type": "text", "text": caption(frame)})
            content.append({"type": "image", "image": frame})
    content.append({"type": "text", "text": request.prompt})
    return [{"role": "user", "content": content}]


def without_marks(text: str, marks: Iterable[str]) -> str:
    """A text in which a model's control tokens are plain words: ``<video>`` becomes ``< video>``.

    Procedures and replies may hold anything; written out, a placeholder would stand for a picture that is not
    there and an end mark would end the user's turn.
    """
    for mark in sorted(marks, key=len, reverse=True):
        if len(mark) > 1 and mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def render(
    request: Request,
    form: Form,
    processor: Any,
    *,
    model_type: str,
    class_name: str,
    chat_template: str | None = None,
    prompt_form: str | None = None,
    template_options: Mapping[str, Any] | None = None,
) -> str:
    """The prompt as a model's processor (or tokenizer) wants it, with one placeholder a picture or video.

    Args:
        model_type: of the model's config; finds its form in `PROMPT_FORMS` when there is no chat template.
        class_name: of the model, for messages.
        chat_template: a Jinja template instead of the checkpoint's own.
        prompt_form: a form as in `PROMPT_FORMS` instead of a template.
        template_options: further variables of the template, such as ``enable_thinking``.

    Raises:
        ModelError: neither a template nor a form is known, or the template leaves the pictures out.
    """
    tokenizer = getattr(processor, "tokenizer", processor)
    marks = {
        "image": getattr(processor, "image_token", None),
        "video": getattr(processor, "video_token", None),
    }
    specials = {*special_tokens(tokenizer), *(mark for mark in marks.values() if mark)}
    asked = Request(prompt=without_marks(request.prompt, specials), frames=request.frames)
    template = chat_template or (None if prompt_form else _template_of(processor, tokenizer))
    if template is None:
        known = prompt_form or PROMPT_FORMS.get(model_type)
        if known is None:
            raise ModelError(
                f"{class_name} ({model_type}) has no chat template and no prompt form is known for it. Load it with "
                "prompt_form='USER: {pictures}{prompt} ASSISTANT:' in the words that it was trained with, or with "
                f"chat_template=...; forms are known for {', '.join(PROMPT_FORMS)}."
            )
        return _fill(known, asked, form, marks, class_name)
    chat: list[dict[str, Any]] = messages_for(asked, form)
    if processor is tokenizer:  # templates of language models expect words, not parts
        chat = [{"role": "user", "content": asked.prompt}]
    text = str(
        processor.apply_chat_template(
            chat,
            chat_template=template,
            tokenize=False,
            add_generation_prompt=True,
            **(template_options or {}),
        )
    )
    _check_placeholders(text, asked, form, marks, class_name)
    return text


def special_tokens(tokenizer: Any) -> set[str]:
    """The control tokens of a tokenizer, as they would stand in a text."""
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    found = {token.content for token in added.values() if getattr(token, "special", False)}
    return found | set(getattr(tokenizer, "all_special_tokens", ()))


def _template_of(processor: Any, tokenizer: Any) -> str | None:
    for holder in (processor, tokenizer):
        template = getattr(holder, "chat_template", None)
        if isinstance(template, Mapping):
            template = template.get("default")
        if isinstance(template, str) and template.strip():
            return template
    return None


def _fill(known: str, request: Request, form: Form, marks: Mapping[str, str | None], class_name: str) -> str:
    mark = "" if form == "none" else marks["video" if form == "video" else "image"]
    if mark is None:
        raise ModelError(f"the processor of {class_name} names no token that stands for a picture.")
    shown = "" if form == "none" else mark
    if form == "images":
        shown = mark * len(request.frames)
    elif form == "timed images":
        shown = "\n".join(f"{caption(frame)} {mark}" for frame in request.frames)
    pictures = f"{shown}\n" if shown else ""
    # not str.format: prompts hold braces
    head, middle, tail = known.partition("{pictures}")
    return (
        head.replace("{prompt}", request.prompt)
        + pictures * bool(middle)
        + tail.replace("{prompt}", request.prompt)
    )


def _check_placeholders(
    text: str, request: Request, form: Form, marks: Mapping[str, str | None], class_name: str
) -> None:
    if form == "none":
        return
    mark = marks["video"] if form == "video" else marks["image"]
    wanted = 1 if form == "video" else len(request.frames)
    if mark is not None and text.count(mark) != wanted:
        raise ModelError(
            f"the chat template of {class_name} writes {text.count(mark)} of the {wanted} placeholders {mark} that the "
            "pictures need. Load the model with another chat_template, or with prompt_form=..."
        )
