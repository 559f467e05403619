"""A model behind a server that speaks the chat completions protocol: vLLM, SGLang, Ollama, LM Studio, a cloud."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.errors import InputError, ModelError, ModelNotFoundError
from ego_adr.models.endpoint_abilities import Abilities, ChoiceWay
from ego_adr.models.endpoint_address import parse_address
from ego_adr.models.endpoint_answers import (
    Answer,
    image_limit,
    is_about_the_input,
    read_answer,
    refusal,
)
from ego_adr.models.endpoint_payload import ANSWER_FIELD, TOP_LOGPROBS, build_payload, choice_fields
from ego_adr.models.endpoint_scores import score_choices
from ego_adr.models.endpoint_wire import OPENAI_URL, GaveUpError, RefusedError, Wire
from ego_adr.resources import checkpoint_folder
from ego_adr.types import ChoiceScore, Failure, Reply, Request

if TYPE_CHECKING:
    pass

__all__ = ["EndpointModel", "load_endpoint"]

#: Greedy and seeded, where a server lets us say so.
_REPEATABLE: Mapping[str, Any] = {"temperature": 0, "seed": 0}
#: Room for the JSON around a closed answer.
_JSON_TOKENS = 24


def load_endpoint(
    name: str,
    *,
    concurrency: int = 8,
    timeout: float = 300.0,
    patience: float = 120.0,
    key_variable: str | None = None,
    use_reasoning: bool = False,
    max_images: int | None = None,
    jpeg_quality: int = 92,
    extra: Mapping[str, Any] | None = None,
) -> EndpointModel:
    """A backend for ``openai:MODEL`` or ``http://host:port/v1#MODEL``.

    Args:
        name: ``openai:MODEL`` asks the address in ``OPENAI_BASE_URL`` (default: the OpenAI API). An address without
            ``#MODEL`` asks the server which model it has.
        concurrency: most requests under way at once.
        timeout: seconds that one answer may take.
        patience: most seconds to wait, all in all, for a server that says it is busy (429) or unwell (5xx).
        key_variable: environment variable that holds the key; default ``OPENAI_API_KEY`` for ``openai:`` and
            ``EGO_ADR_API_KEY`` for addresses. There is no option for the key itself.
        use_reasoning: take a reply that holds reasoning only for the answer.
        max_images: most pictures a request; None finds it out from the server's refusal.
        jpeg_quality: 1 to 100.
        extra: further fields of every request (``{"chat_template_kwargs": {"enable_thinking": False}}``).

    Raises:
        InputError: an address or option that cannot be used.
        ModelError: ``openai:`` without a key in the environment.
        ModelNotFoundError: no model is named and the server has none or several.
        ServerError: the server that is asked for its models does not answer.
    """
    base_url, model, variable, own = parse_address(name)
    variable = key_variable or variable
    key = os.environ.get(variable, "").strip()
    if not key and base_url == OPENAI_URL:
        raise ModelError(
            f"{name} needs a key: set the environment variable {variable}. Keys are read from there alone."
        )
    if concurrency < 1 or timeout <= 0 or patience < 0 or not 1 <= jpeg_quality <= 100:
        raise InputError(
            f"{name}: concurrency must be 1 or more, timeout above 0, patience 0 or more and jpeg_quality 1 to 100, not "
            f"{concurrency}, {timeout}, {patience} and {jpeg_quality}."
        )
    endpoint = EndpointModel(
        base_url,
        model,
        key=key,
        key_variable=variable,
        concurrency=concurrency,
        timeout=timeout,
        patience=patience,
        use_reasoning=use_reasoning,
        jpeg_quality=jpeg_quality,
        extra=extra,
        label=name if own else None,
    )
    endpoint.abilities.images = max_images
    if not model:
        endpoint.model = endpoint.only_model()
    return endpoint


class EndpointModel:
    """See `load_endpoint`. A context manager; `close` lets go of the connections.

    Attributes:
        abilities: what was found out about the server so far.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        key_variable: str = "EGO_ADR_API_KEY",
        concurrency: int = 8,
        timeout: float = 300.0,
        patience: float = 120.0,
        use_reasoning: bool = False,
        jpeg_quality: int = 92,
        extra: Mapping[str, Any] | None = None,
        label: str | None = None,
    ) -> None:
        self.base_url = base_url
        self.model = model
        self.abilities = Abilities()
        if base_url == OPENAI_URL:
            # these two are known; everything else is found out from answers
            self.abilities.limit_field = "max_completion_tokens"
            self.abilities.candidates = ("response_format",)
        self.batch_size = 2 * concurrency
        self._label = label
        self._concurrency = concurrency
        self._use_reasoning = use_reasoning
        self._jpeg_quality = jpeg_quality
        self._extra = dict(extra or {})
        self._finding = threading.Lock()
        self._wire = Wire(
            base_url,
            self.name,
            key=key,
            key_variable=key_variable,
            timeout=timeout,
            patience=patience,
        )
        self._finalizer = weakref.finalize(self, self._wire.close)

    @property
    def name(self) -> str:
        return self._label or f"{self.base_url}#{self.model}"

    @property
    def prompts(self) -> Path | None:
        """The prompts that came with the checkpoint, where the server's model is one that lies on this machine too."""
        folder = checkpoint_folder(self.model) or Path(self.model)
        place = folder / "prompts"
        return place if folder.is_absolute() and place.is_dir() else None

    @property
    def fingerprint(self) -> str:
        """Changes with the address, the model and every option that may change an answer; holds no key."""
        told = [self.base_url, self.model, self._use_reasoning, self._jpeg_quality, self._extra]
        text = json.dumps(told, sort_keys=True, default=str)
        return "endpoint:" + hashlib.sha256(text.encode()).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"EndpointModel({self.name!r})"

    def __enter__(self) -> EndpointModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The model cannot be asked afterwards."""
        self._finalizer()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Replies in the order of the requests, at most ``concurrency`` of them under way at once.

        Raises:
            ServerError: the server cannot be reached, or refuses the key.
            ModelNotFoundError: it has no such model.
        """
        if len(requests) == 1:
            return [self._reply(requests[0])]
        pool = ThreadPoolExecutor(max_workers=self._concurrency, thread_name_prefix="ego-adr-endpoint")
        try:
            return list(pool.map(self._reply, requests))
        finally:
            # after an error (or Ctrl-C) what has not begun is not begun
            pool.shutdown(wait=True, cancel_futures=True)

    def only_model(self) -> str:
        """The name of the model that the server has, when it has one.

        Raises:
            ModelNotFoundError: it has none or several; the message lists them.
            ServerError: it does not answer.
        """
        names = self._wire.served()
        if len(names) != 1:
            there = f"several: {', '.join(names[:20])}" if names else "none"
            raise ModelNotFoundError(
                f"which model of {self.base_url}? It has {there}. Say {self.base_url}#NAME."
            )
        return names[0]

    # ------------------------------------------------------------------------------------------- one request

    def _reply(self, request: Request) -> Reply:
        limit = self.abilities.images
        try:
            if limit is not None and len(request.frames) > limit:
                known = f"At most {limit} image(s) may be provided in one request."
                return _failed(refusal(400, known, request, self.name))
            if not request.choices:
                return self._plain(request)
            with self._until_known():
                return self._closed(request)
        except RefusedError as exc:
            return _failed(self._refusal(exc, request))
        except GaveUpError as exc:
            return _failed(exc.failure)

    @contextmanager
    def _until_known(self) -> Iterator[None]:
        """One request alone finds out how closed lists are asked for; the others wait for what it finds."""
        if self.abilities.choices is not None:
            yield
            return
        with self._finding:
            yield

    def _plain(self, request: Request) -> Reply:
        return self._noted(self._answer(request, {}).reply, request)

    def _closed(self, request: Request) -> Reply:
        """The reply to a closed list, scored where the server sends likelihoods."""
        unheld: Answer | None = None
        tried: set[ChoiceWay] = set()
        while True:
            ways: tuple[ChoiceWay, ...] = (*self.abilities.ways(), "none")
            way = next(way for way in ways if way not in tried)
            tried.add(way)
            if way == "none" and unheld is not None and self.abilities.logprobs is False:
                # a server that ignores the field has answered as if it had not been there
                self.abilities.choices = "none"
                return self._noted(unheld.reply, request)
            try:
                answer = self._answer_in(way, request)
            except RefusedError as exc:
                if way == "none" or self._concerns_input(exc, request):
                    raise
                self.abilities.rule_out(way)
                continue
            reply = answer.reply
            choice = _said_choice(way, reply.text, request.choices)
            if choice is not None or way == "none":
                self.abilities.choices = way
                return self._scored(way, request, answer, choice)
            if reply.failure is not None or reply.finish_reason != "stop" or not reply.text.strip():
                return self._noted(reply, request)  # cut off or empty: says nothing of what the server can do
            self.abilities.rule_out(way)  # it took the field and did not keep to it
            unheld = answer

    def _answer_in(self, way: ChoiceWay, request: Request) -> Answer:
        """Ask in one way, with likelihoods unless the server is known to send none."""
        fields: dict[str, Any] = choice_fields(way, request.choices)
        if way == "response_format":
            request = replace(request, max_tokens=request.max_tokens + _JSON_TOKENS)
        sure = self.abilities.choices == way
        if self.abilities.logprobs is not False:
            scored = {**fields, "logprobs": True, "top_logprobs": TOP_LOGPROBS}
            try:
                answer = self._answer(request, scored, wait=sure and self.abilities.logprobs is True)
            except RefusedError as exc:
                if self._concerns_input(exc, request) or any(name in exc.message for name in fields):
                    raise
            else:
                # a server that does not know the field says nothing of it: what counts is what it sent
                if answer.reply.text and answer.reply.failure is None:
                    self.abilities.logprobs = bool(answer.tokens)
                return answer
            answer = self._answer(request, fields, wait=sure)
            self.abilities.logprobs = False
            return answer
        return self._answer(request, fields, wait=sure)

    def _scored(self, way: ChoiceWay, request: Request, answer: Answer, choice: str | None) -> Reply:
        reply = answer.reply if choice is None else replace(answer.reply, text=choice)
        if choice is None or not answer.tokens or len(set(request.choices)) < len(request.choices):
            return self._noted(reply, request)
        raw = answer.reply.text
        lead = (
            raw.index('"', raw.index(":")) + 1 if way == "response_format" else len(raw) - len(raw.lstrip())
        )
        found = score_choices(request.choices, answer.tokens, lead=lead, fold=way == "none")
        if found is None:
            return self._noted(reply, request)
        notes = list(reply.notes)
        if found.bounded:
            notes.append(
                f"{len(found.bounded)} of {len(request.choices)} answers lay below the {TOP_LOGPROBS} alternatives that "
                "the server lists: their scores are upper bounds"
            )
        scores = dict(found.known)
        tokens = [reply.prompt_tokens, reply.completion_tokens]
        for branch in found.open:
            if way == "none":  # nothing would hold the reply to the branch
                return self._noted(reply, request)
            deeper = self._closed(replace(request, choices=branch.choices))
            if deeper.scores is None:
                return self._noted(reply, request)
            for score in deeper.scores:
                scores[score.choice] = ChoiceScore(
                    choice=score.choice,
                    logprob=branch.logprob + score.logprob,
                    tokens=branch.partings + score.tokens,
                )
            tokens = [_sum(tokens[0], deeper.prompt_tokens), _sum(tokens[1], deeper.completion_tokens)]
        ordered = tuple(scores[name] for name in request.choices)
        best = max(ordered, key=lambda score: score.logprob)
        return replace(
            reply,
            text=best.choice,
            scores=ordered,
            notes=tuple(notes),
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
        )

    def _answer(self, request: Request, fields: Mapping[str, Any], *, wait: bool = True) -> Answer:
        """Ask, and ask again without what the server refused.

        Raises:
            RefusedError: it refuses the request as such, or (while ``fields`` are still being tried) breaks over it.
        """
        while True:
            optional = {
                name: value for name, value in _REPEATABLE.items() if name not in self.abilities.refused
            }
            try:
                answer = self._post(request, {**optional, **fields}, wait=wait or not fields)
            except RefusedError as exc:
                if self._concerns_input(exc, request):
                    raise
                if self.abilities.learn_from_refusal(exc.message, set(optional)):
                    continue
                if fields or not optional:
                    raise
                # it does not say what displeases it: once more with what every server knows
                answer = self._post(request, {})
                self.abilities.refused |= set(optional)
            if not request.frames and answer.reply.failure is None:
                self.abilities.text_only = True
            return answer

    def _concerns_input(self, exc: RefusedError, request: Request) -> bool:
        return is_about_the_input(exc.message, request, exc.status)

    def _refusal(self, exc: RefusedError, request: Request) -> Failure:
        failure = refusal(exc.status, exc.message, request, self.name)
        if failure.cause == "too many pictures":
            limit = image_limit(exc.message)
            if limit is not None and limit < len(request.frames):
                self.abilities.images = limit
        elif not request.frames and is_about_the_input(exc.message, request, exc.status):
            self.abilities.text_only = False
        return failure

    def _noted(self, reply: Reply, request: Request) -> Reply:
        """Say so when the server counted fewer tokens than the prompt can have."""
        least = len(request.frames) + len(request.prompt) // 12
        if reply.failure is None and reply.prompt_tokens and reply.prompt_tokens < least:
            note = (
                f"the server counted {reply.prompt_tokens} prompt tokens for {len(request.prompt)} letters and "
                f"{len(request.frames)} pictures: it seems to have cut the prompt (num_ctx of Ollama) or left pictures out"
            )
            return replace(reply, notes=(*reply.notes, note))
        return reply

    # --------------------------------------------------------------------------------------------- the wire

    def _post(self, request: Request, fields: Mapping[str, Any], *, wait: bool = True) -> Answer:
        payload = build_payload(
            request,
            model=self.model,
            limit_field=self.abilities.limit_field,
            jpeg_quality=self._jpeg_quality,
            extras={**fields, **self._extra},
        )
        body = self._wire.send(payload, wait=wait)
        return read_answer(body, use_reasoning=self._use_reasoning)


# ------------------------------------------------------------------------------------------------- inside


def _failed(failure: Failure) -> Reply:
    return Reply(text="", finish_reason="failed", failure=failure)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _said_choice(way: ChoiceWay, text: str, choices: Sequence[str]) -> str | None:
    """The answer of the closed list that a reply is, or None."""
    said = text.strip()
    if way == "response_format":
        try:
            held = json.loads(said)
        except ValueError:
            return None
        value = held.get(ANSWER_FIELD) if isinstance(held, dict) else None
        return value if value in choices else None
    if said in choices:
        return said
    if way == "none":
        return next((choice for choice in choices if choice.casefold() == said.rstrip(".").casefold()), None)
    return None
