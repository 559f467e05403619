"""A loaded transformers model behind the model protocol."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ego_adr.errors import EgoADRError, InputError, ModelError, OutOfMemoryError
from ego_adr.models.failing import failed, is_out_of_memory
from ego_adr.models.hf_greedy import end_ids, generate_replies
from ego_adr.models.hf_inputs import Batch, InputBuilder
from ego_adr.models.hf_messages import Form
from ego_adr.models.hf_pictures import check_frames
from ego_adr.models.hf_scoring import continuations, score_one_by_one, score_shared
from ego_adr.types import ChoiceScore, Reply, Request

__all__ = ["TransformersModel"]

log = logging.getLogger(__name__)

#: Shares of its pixels that a picture keeps, one after another, when one question alone does not fit.
SCALES = (0.5, 0.25)
REDUCED = "pixels reduced"


class TransformersModel:
    """Answers with a transformers model; made by `ego_adr.models.hf.load_transformers`.

    Args:
        model: the model, in evaluation mode, where it is to run.
        builder: its processor and how it wants to be asked.
        name: shown in results.
        fingerprint: a text that changes whenever its answers could; None when that cannot be known.
        prompts: a folder of prompt overrides that came with the checkpoint.
        notice: what the checkpoint says of itself; every result repeats it.
        batch_size: requests a batch.

    Decoding is greedy. Out of memory: the batch is halved, a request that does not fit alone is asked with
    fewer pixels (noted as ``pixels reduced``), and one that does not fit even so fails by itself.
    """

    def __init__(
        self,
        model: Any,
        builder: InputBuilder,
        *,
        name: str,
        fingerprint: str | None = None,
        prompts: Path | None = None,
        notice: str | None = None,
        batch_size: int = 8,
    ) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size={batch_size!r} is not allowed: it is a whole number from 1.")
        self.name = name
        self.model = model
        self.builder = builder
        self.fingerprint = fingerprint
        self.prompts = prompts
        self.notice = notice
        self.batch_size = batch_size
        self._fits = batch_size  # with pictures; lowered when memory was short
        self._shared_prompt: dict[Form, bool] = {}
        self._lock = threading.Lock()  # positions and settings are kept on the model while it works

    @property
    def processor(self) -> Any:
        """The checkpoint's processor, or its tokenizer for a language model."""
        return self.builder.processor

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Replies in the order of the requests.

        Raises:
            ModelError: when not one of the requests could be answered, for another reason than memory.
        """
        import torch

        replies: dict[int, Reply] = {}
        errors: list[EgoADRError] = []
        with self._lock, torch.inference_mode():
            for places, form in self._batches(requests, errors, replies):
                self._answer_places(requests, places, form, errors, replies)
        if errors and len(errors) == len(requests):
            raise errors[0]
        return [replies[place] for place in range(len(requests))]

    def _batches(
        self, requests: Sequence[Request], errors: list[EgoADRError], replies: dict[int, Reply]
    ) -> list[tuple[list[int], Form]]:
        """Places of requests that may go together.

        They are of one form and have as many pictures (several processors stack clips into one tensor).
        Requests with choices are scored one by one.
        """
        groups: dict[tuple[Form, int, bool], list[int]] = {}
        for place, request in enumerate(requests):
            try:
                _check_limit(request)
                check_frames(request.frames)
                form = self.builder.form(request)
            except EgoADRError as exc:
                errors.append(exc)
                replies[place] = failed(exc)
                continue
            groups.setdefault((form, len(request.frames), bool(request.choices)), []).append(place)
        batches = []
        for (form, _, scored), places in groups.items():
            size = 1 if scored else self.batch_size if form == "none" else min(self.batch_size, self._fits)
            batches += [(places[begin : begin + size], form) for begin in range(0, len(places), size)]
        return batches

    def _answer_places(
        self,
        requests: Sequence[Request],
        places: Sequence[int],
        form: Form,
        errors: list[EgoADRError],
        replies: dict[int, Reply],
    ) -> None:
        """A batch that fails is asked one request at a time, so that a bad one does not take the others along."""
        try:
            found = self._answer([requests[place] for place in places], form)
        except EgoADRError as exc:
            if len(places) == 1:
                errors.append(exc)
                replies[places[0]] = failed(exc)
                return
        else:
            replies.update(zip(places, found, strict=True))
            return
        for place in places:
            self._answer_places(requests, [place], form, errors, replies)

    def _answer(self, requests: Sequence[Request], form: Form) -> list[Reply]:
        """One batch, smaller and smaller while memory is short."""
        found = self._attempt(requests, form)
        if not isinstance(found, _Short):
            return found
        if len(requests) > 1:
            half = (len(requests) + 1) // 2
            self._fits = min(self._fits, half)
            log.warning(
                "%s: out of memory with %d requests at once; going on with %d", self.name, len(requests), half
            )
            return self._answer(requests[:half], form) + self._answer(requests[half:], form)
        tried = ""
        for scale in SCALES if form != "none" else ():
            smaller = self._attempt(requests, form, scale, fewer_than=found.values)
            if not isinstance(smaller, _Short):
                return [replace(reply, notes=(*reply.notes, REDUCED)) for reply in smaller]
            if smaller.said is None:
                tried = ", whose size is fixed by its processor"
                break
            tried = ", even with fewer pixels"
        pictures = f" with {len(requests[0].frames)} pictures{tried}" if form != "none" else ""
        return [
            failed(
                OutOfMemoryError(
                    f"{self.name} ran out of memory on this one request{pictures}. Use fewer frames, a lower max_pixels, "
                    f"a smaller dtype or a larger device. It said: {found.said}"
                )
            )
        ]

    def _attempt(
        self, requests: Sequence[Request], form: Form, scale: float = 1.0, *, fewer_than: int | None = None
    ) -> list[Reply] | _Short:
        """Answers, or that memory was short. Nothing of the failed attempt is held when it returns."""
        batch: Batch | None = None
        try:
            batch = self.builder.build(requests, form, scale)
            if fewer_than is not None and batch.values >= fewer_than:
                return _Short(batch.values, None)
            return self._run(requests, batch, form)
        except EgoADRError:
            raise
        except Exception as exc:
            # Any type: processors and models are written elsewhere. TypeErrors of ours would show in the tests.
            if is_out_of_memory(exc):
                short = _Short(
                    batch.values if batch is not None else sys.maxsize, str(exc).splitlines()[0][:200]
                )
            else:
                asked = f"with {len(requests[0].frames)} pictures" if form != "none" else "without pictures"
                raise ModelError(
                    f"{self.name} failed when asked {asked}: {type(exc).__name__}: {exc}"
                ) from exc
        batch = None
        _free()
        return short

    def _run(self, requests: Sequence[Request], batch: Batch, form: Form) -> list[Reply]:
        inputs = self._placed(batch)
        limits = [request.max_tokens for request in requests]
        if not requests[0].choices or getattr(self.model.config, "is_encoder_decoder", False):
            replies = generate_replies(self.model, self.builder.tokenizer, inputs, limits)
            return [self._noted(reply) for reply in replies]
        (request,), (text,) = requests, batch.texts
        scores = self._score(inputs, text, request.choices, form)
        best = max(scores, key=lambda score: score.logprob)
        count = int(inputs["attention_mask"].sum())
        return [self._noted(Reply(text=best.choice, prompt_tokens=count, completion_tokens=0, scores=scores))]

    def _noted(self, reply: Reply) -> Reply:
        """The reply, with a note where it went beyond what the model was made for."""
        room = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        used = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
        if not isinstance(room, int) or used <= room:
            return reply
        return replace(reply, notes=(*reply.notes, f"{used} tokens where the model was made for {room}"))

    def _score(
        self, inputs: dict[str, Any], text: str, choices: Sequence[str], form: Form
    ) -> tuple[ChoiceScore, ...]:
        tokenizer = self.builder.tokenizer
        ends = end_ids(self.model, tokenizer)
        following = continuations(
            tokenizer,
            text,
            choices,
            end=ends[0] if ends else None,
            add_special_tokens=self.builder.adds_special_tokens(text),
        )
        if form not in self._shared_prompt:
            self._shared_prompt[form] = self._prompt_can_be_shared(inputs, choices, following)
        if not self._shared_prompt[form]:
            return score_one_by_one(self.model, inputs, choices, following)
        try:
            return score_shared(self.model, inputs, choices, following)
        except Exception as exc:
            # Only memory is tried again, with one answer at a time; the rest goes to the caller.
            if not is_out_of_memory(exc):
                raise
        _free()
        return score_shared(self.model, inputs, choices, following, at_once=1)

    def _prompt_can_be_shared(self, inputs: dict[str, Any], choices: Sequence[str], following: Any) -> bool:
        """Checked once a form: positions after a cached prompt are each architecture's own business."""
        longest = max(range(len(choices)), key=lambda place: len(following.answers[place]))
        one = replace(following, answers=(following.answers[longest],))
        (plain,) = score_one_by_one(self.model, inputs, [choices[longest]], one)
        try:
            (shared,) = score_shared(self.model, inputs, [choices[longest]], one)
        except (RuntimeError, TypeError, ValueError, AttributeError, KeyError, IndexError) as exc:
            # Some models keep no such cache, or another one. They are scored the slow way.
            if is_out_of_memory(exc):
                raise
            log.warning(
                "%s: the prompt cannot be shared among answers (%s); scoring is slower", self.name, exc
            )
            return False
        allowed = 1e-3 if str(self.model.dtype) == "torch.float32" else 0.25
        if abs(plain.logprob - shared.logprob) <= allowed * plain.tokens:
            return True
        log.warning(
            "%s: scores with a shared prompt are off, so it is read anew for each answer; slower", self.name
        )
        return False

    def _placed(self, batch: Batch) -> dict[str, Any]:
        """The tensors where the model's first layer is; pictures in its dtype, times and places as they are."""
        device = self.model.get_input_embeddings().weight.device
        placed = {}
        for name, value in self.builder.accepted(self.model, batch.inputs).items():
            if not hasattr(value, "to"):
                placed[name] = value
            elif name.startswith("pixel_values"):
                placed[name] = value.to(device=device, dtype=self.model.dtype)
            else:
                placed[name] = value.to(device)
        return placed

    def __repr__(self) -> str:
        return f"TransformersModel({self.name}, {self.builder.class_name})"


def _check_limit(request: Request) -> None:
    if request.max_tokens < 1:
        raise InputError(f"max_tokens={request.max_tokens} is not allowed: a reply has at least one token.")


class _Short:
    """Memory was not enough for so many numbers of pictures; ``said`` is None when it was not even tried."""

    def __init__(self, values: int, said: str | None) -> None:
        self.values = values
        self.said = said


def _free() -> None:
    gc.collect()
    torch: Any = sys.modules.get("torch")
    release: Callable[[], None] | None = (
        torch.cuda.empty_cache if torch and torch.cuda.is_available() else None
    )
    if release is not None:
        release()
