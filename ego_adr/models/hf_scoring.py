"""The log-likelihood of closed answers under a transformers model, with the prompt read once.

The prompt's keys and values are computed in one pass and shared by all answers, which follow as one padded
batch. What is scored are the tokens that the model itself would have to produce:

- An answer follows the prompt directly when the prompt ends in white space or a control token (as chat templates
  do), and after one space otherwise (``ASSISTANT:``).
- Prompt and answer are tokenised together. Where a tokenizer merges the prompt's end with an answer's beginning,
  the prompt is cut back to the last token that all answers leave as it is, and the rest counts to each answer.
- When one answer is the beginning of another in tokens ("1" and "12"), the token that ends a reply counts to each
  answer; without it the shorter one could never be less likely.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ego_adr.errors import InputError
from ego_adr.types import ChoiceScore

__all__ = ["Continuations", "continuations", "score_one_by_one", "score_shared"]

#: Tensors that hold one entry a token, cut and lengthened with the prompt.
PER_TOKEN = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")


@dataclass(frozen=True)
class Continuations:
    """How the answers follow a prompt.

    Attributes:
        cut: tokens that are taken off the end of the prompt.
        answers: the tokens of each answer after that.
    """

    cut: int
    answers: tuple[tuple[int, ...], ...]


def continuations(
    tokenizer: Any, prompt: str, choices: Sequence[str], *, end: int | None, add_special_tokens: bool
) -> Continuations:
    """The tokens of each answer after a prompt; see the module's text for the rules.

    Args:
        prompt: as rendered, with placeholders not yet expanded.
        end: the token that ends a reply.

    Raises:
        InputError: an answer that is empty.
    """
    if not all(choice.strip() for choice in choices):
        raise InputError(f"an answer among {list(choices)} is empty: there is nothing to score.")

    def encode(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"])

    base = encode(prompt)
    closing_ids = set(getattr(tokenizer, "all_special_ids", ())) | {
        i
        for i, t in (getattr(tokenizer, "added_tokens_decoder", None) or {}).items()
        if getattr(t, "special", False)
    }
    direct = not prompt or prompt[-1].isspace() or (bool(base) and base[-1] in closing_ids)
    whole = [encode(prompt + ("" if direct else " ") + choice.strip()) for choice in choices]
    shared = min(_common(base, tokens) for tokens in whole)
    answers = [tuple(tokens[shared:]) for tokens in whole]
    if end is not None and _one_begins_another(answers):
        answers = [(*tokens, end) for tokens in answers]
    return Continuations(len(base) - shared, tuple(answers))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _one_begins_another(answers: Sequence[tuple[int, ...]]) -> bool:
    distinct = sorted(set(answers))
    return any(after[: len(before)] == before for before, after in itertools.pairwise(distinct))


def score_shared(
    model: Any,
    inputs: Mapping[str, Any],
    choices: Sequence[str],
    following: Continuations,
    *,
    at_once: int | None = None,
) -> tuple[ChoiceScore, ...]:
    """Scores of all answers with one pass over the prompt.

    Args:
        inputs: the prompt's tensors, one row, without padding.
        at_once: answers in one batch; None takes them all.
    """
    import torch

    prompt = _cut(inputs, following.cut)
    length = prompt["input_ids"].shape[1]
    cache_name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    with _positions_of(model) as positions:
        read = model(**prompt, use_cache=True, **_only_the_last(model))
    first = torch.log_softmax(read.logits[0, -1].float(), dim=-1)
    sums = [float(first[tokens[0]]) for tokens in following.answers]
    places = [place for place, tokens in enumerate(following.answers) if len(tokens) > 1]
    if places:
        cache = read[cache_name]
        after = _place_after(positions, length)
        size = at_once or len(places)
        for begin in range(0, len(places), size):
            part = places[begin : begin + size]
            last = begin + size >= len(places)
            tails = [following.answers[place] for place in part]
            kept = cache if last else copy.deepcopy(cache)
            values = _tail_sums(model, kept, cache_name, tails, length, after)
            for place, value in zip(part, values, strict=True):
                sums[place] += value
    return tuple(
        ChoiceScore(choice=choice, logprob=value, tokens=len(tokens))
        for choice, value, tokens in zip(choices, sums, following.answers, strict=True)
    )


def _tail_sums(
    model: Any,
    cache: Any,
    cache_name: str,
    answers: Sequence[tuple[int, ...]],
    length: int,
    place: Any,
) -> list[float]:
    """Log-likelihood of all tokens after the first, of answers that follow one cached prompt."""
    import torch

    device = model.get_input_embeddings().weight.device
    width = max(map(len, answers)) - 1
    ids = torch.zeros((len(answers), width), dtype=torch.long)
    mask = torch.ones((len(answers), length + width), dtype=torch.long)
    for row, tokens in enumerate(answers):
        ids[row, : len(tokens) - 1] = torch.tensor(tokens[:-1])
        mask[row, length + len(tokens) - 1 :] = 0
    if len(answers) > 1:
        cache.batch_repeat_interleave(len(answers))
    more: dict[str, Any] = {}
    if "position_ids" in inspect.signature(model.forward).parameters:
        steps = torch.arange(width, device=device)
        first = place.to(device).expand(*place.shape[:-2], len(answers), 1)
        more["position_ids"] = first + steps
    read = model(
        input_ids=ids.to(device),
        attention_mask=mask.to(device),
        use_cache=True,
        **{cache_name: cache},
        **more,
    )
    chances = torch.log_softmax(read.logits.float(), dim=-1)
    sums = []
    for row, tokens in enumerate(answers):
        wanted = torch.tensor(tokens[1:], device=chances.device)
        sums.append(float(chances[row, : len(wanted)].gather(-1, wanted[:, None]).sum()))
    return sums


@contextmanager
def _positions_of(model: Any) -> Iterator[list[Any]]:
    """While it lasts, keeps the positions that the language model inside a larger one is given."""
    kept: list[Any] = []
    inside = getattr(getattr(model, "model", model), "language_model", None)
    if inside is None:
        yield kept
        return

    def keep(_module: Any, _arguments: Any, named: dict[str, Any]) -> None:
        kept.append(named.get("position_ids"))

    hook = inside.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        yield kept
    finally:
        hook.remove()


def _place_after(positions: Sequence[Any], length: int) -> Any:
    """The position of the token after a prompt, as a tensor of (axes x) 1 x 1.

    After pictures it is not the number of tokens: positions follow space and time there (M-RoPE), and text goes
    on from the last one.
    """
    import torch

    if not positions or positions[0] is None:
        return torch.full((1, 1), length)
    return positions[0][..., :1, -1:] + 1


def score_one_by_one(
    model: Any, inputs: Mapping[str, Any], choices: Sequence[str], following: Continuations
) -> tuple[ChoiceScore, ...]:
    """The same scores with a pass over prompt and answer for each: the slow and plain definition."""
    import torch

    prompt = _cut(inputs, following.cut)
    found = []
    for choice, tokens in zip(choices, following.answers, strict=True):
        whole = dict(prompt)
        for name in PER_TOKEN:
            if name in whole:
                fill = torch.zeros((1, len(tokens)), dtype=whole[name].dtype, device=whole[name].device)
                whole[name] = torch.cat([whole[name], fill], dim=1)
        whole["input_ids"][0, -len(tokens) :] = torch.tensor(tokens)
        whole["attention_mask"][0, -len(tokens) :] = 1
        read = model(**whole, use_cache=False)
        chances = torch.log_softmax(read.logits[0, -len(tokens) - 1 : -1].float(), dim=-1)
        wanted = torch.tensor(tokens, device=chances.device)
        value = float(chances.gather(-1, wanted[:, None]).sum())
        found.append(ChoiceScore(choice=choice, logprob=value, tokens=len(tokens)))
    return tuple(found)


def _cut(inputs: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    if tokens == 0:
        return dict(inputs)
    return {name: value[:, :-tokens] if name in PER_TOKEN else value for name, value in inputs.items()}


def _only_the_last(model: Any) -> dict[str, Any]:
    return {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
