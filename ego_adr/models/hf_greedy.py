"""Greedy decoding with a transformers model, and the text that came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ego_adr.types import Reply

__all__ = ["control_ids", "end_ids", "generate_replies", "greedy"]

#: What is kept of a checkpoint's generation settings. Its sampling settings and penalties are left out: with
#: them the same question would not always get the same reply, or not the likeliest one, and a penalty on what
#: the prompt says is a penalty on the very labels that are asked for.
KEPT = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "suppress_tokens",
    "begin_suppress_tokens",
    "bad_words_ids",
)


def end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """The tokens that end a reply, the tokenizer's own first."""
    given = getattr(model.generation_config, "eos_token_id", None)
    ids = [] if given is None else [given] if isinstance(given, int) else [int(i) for i in given]
    own = tokenizer.eos_token_id
    if own is not None:
        ids = [own, *(i for i in ids if i != own)] if own in ids or not ids else ids
    return tuple(ids)


@contextmanager
def greedy(model: Any, tokenizer: Any) -> Iterator[None]:
    """While it lasts, the model decodes greedily whatever its checkpoint says; its settings come back after.

    ``generate`` fills what it is not told from the model's own settings, so that a temperature there would be
    warned of, or used.
    """
    from transformers import GenerationConfig

    own = model.generation_config
    clean = GenerationConfig()
    for name in KEPT:
        value = getattr(own, name, None)
        if value is not None:
            setattr(clean, name, value)
    ends = end_ids(model, tokenizer)
    clean.eos_token_id = list(ends) if len(ends) > 1 else (ends[0] if ends else None)
    if clean.pad_token_id is None:
        clean.pad_token_id = (
            tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (ends or (0,))[0]
        )
    clean.do_sample = False
    model.generation_config = clean
    try:
        yield
    finally:
        model.generation_config = own


def generate_replies(
    model: Any, tokenizer: Any, inputs: Mapping[str, Any], limits: Sequence[int], notes: tuple[str, ...] = ()
) -> list[Reply]:
    """One reply a row of a left-padded batch.

    Args:
        inputs: tensors for ``generate``, with ``input_ids`` and ``attention_mask`` (B x L).
        limits: token limit of each row; a greedy reply under a lower limit is the beginning of one under a
            higher one, so that rows with different limits go together.
    """
    width = inputs["input_ids"].shape[1]
    with greedy(model, tokenizer):
        produced = model.generate(**inputs, do_sample=False, max_new_tokens=max(limits))
    begin = width if _repeats_the_prompt(produced, inputs["input_ids"]) else 0
    ends = set(end_ids(model, tokenizer))
    drop = control_ids(tokenizer)
    replies = []
    for row, limit, mask in zip(produced, limits, inputs["attention_mask"], strict=True):
        ids = row[begin:].tolist()[:limit]
        stop = next((place for place, token in enumerate(ids) if token in ends), None)
        said = ids if stop is None else ids[:stop]
        replies.append(
            Reply(
                text=tokenizer.decode([i for i in said if i not in drop], skip_special_tokens=False).strip(),
                finish_reason="length" if stop is None else "stop",
                prompt_tokens=int(mask.sum()),
                completion_tokens=len(said) + (stop is not None),
                notes=notes,
            )
        )
    return replies


def _repeats_the_prompt(produced: Any, prompt: Any) -> bool:
    """Most models give the prompt and the reply; those with an encoder, or asked by embeddings, the reply alone."""
    width = prompt.shape[1]
    return bool(produced.shape[1] >= width and (produced[:, :width] == prompt.to(produced.device)).all())


def control_ids(tokenizer: Any) -> set[int]:
    """Tokens that are no part of a reply's text. Marks of thinking are kept: the reader must see where it ends."""
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    found = {i for i, token in added.items() if getattr(token, "special", False)}
    found |= set(getattr(tokenizer, "all_special_ids", ()))
    return {i for i in found if "think" not in str(tokenizer.convert_ids_to_tokens(i)).casefold()}
