"""The text-only probe: may this model be asked without pictures, and does it reason over text?

Two kinds of evidence are kept apart (papers/002, section 5.1, names the probe; its questions are ours):

- *ability*: does a call without pictures work at all? A model that takes no text-only input fails in its own
  way, so any failure there is checked by asking the same with a black clip. If that works, the text-only
  call was at fault and the route is shallow. If that fails too, the model itself is unwell: an error.
- *reasoning*: how many simple questions about procedures does it answer right (``prompts/probe/questions.yaml``)?

Memory that is spent, a server that does not answer and a missing package are errors, never a route.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ego_adr.errors import (
    DataError,
    ModelError,
    OutOfMemoryError,
    PromptError,
    ScriptExhaustedError,
    ServerError,
)
from ego_adr.models.base import VideoLLM, fingerprint
from ego_adr.prompting import PromptLibrary
from ego_adr.reading import read_text, yaml_value
from ego_adr.types import Exchange, Frame, Reply, Request

__all__ = ["ProbeQuestion", "ProbeResult", "ProbeSheet", "probe_model", "read_probe_sheet"]

MAX_CALLS = 8


class ProbeQuestion(BaseModel):
    """One question with a known answer. ``choices`` is what a reply is searched for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    answers: tuple[str, ...] = Field(min_length=1)
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _answers_are_choices(self) -> ProbeQuestion:
        if self.choices and not set(self.answers) <= set(self.choices):
            raise ValueError(f"the answers {self.answers} are not among the choices {self.choices}")
        return self

    def is_right(self, reply: str) -> bool:
        """Whether the last choice that a reply names, outside its thinking, is one of the answers."""
        said = re.sub(r"<think>.*?(</think>|$)|^.*</think>", " ", reply, flags=re.DOTALL)
        wanted = sorted(self.choices or self.answers, key=len, reverse=True)
        # single letters count only as capitals: "a" is an article
        flags = 0 if any(len(choice) == 1 and choice.isalpha() for choice in wanted) else re.IGNORECASE
        pattern = r"(?<!\w)(?:" + "|".join(re.escape(choice) for choice in wanted) + r")(?!\w)"
        found = re.findall(pattern, said, flags)
        return bool(found) and found[-1].casefold() in {answer.casefold() for answer in self.answers}


class ProbeSheet(BaseModel):
    """The questions and the pass mark of ``probe/questions.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pass_mark: int = Field(ge=1)
    max_tokens: int = Field(default=32, ge=1)
    questions: tuple[ProbeQuestion, ...] = Field(min_length=6, max_length=MAX_CALLS)

    @model_validator(mode="after")
    def _mark_can_be_reached(self) -> ProbeSheet:
        if self.pass_mark > len(self.questions):
            raise ValueError(
                f"pass_mark {self.pass_mark} cannot be reached with {len(self.questions)} questions"
            )
        return self


class ProbeResult(BaseModel):
    """What the probe found.

    Attributes:
        supports_text_only: a call without pictures works.
        reasons_over_text: the pass mark was reached; None when the questions could not be asked.
        route: ``deep`` when both hold, else ``shallow``.
        right, asked, pass_mark: the score.
        calls: how many calls to the model this took (at most eight).
        reason: why this route, in a sentence.
        transcript: every prompt and reply.
        cached: read from an earlier probe of the same model and questions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    supports_text_only: bool
    reasons_over_text: bool | None
    route: Literal["deep", "shallow"]
    right: int = 0
    asked: int = 0
    pass_mark: int
    calls: int
    reason: str
    transcript: tuple[Exchange, ...] = ()
    cached: bool = False


def read_probe_sheet(prompts: PromptLibrary | None = None) -> ProbeSheet:
    """The probe's questions.

    Raises:
        PromptError: when the file breaks a rule; the message names each.
    """
    return _read_sheet((prompts or PromptLibrary()).find("probe/questions.yaml"))


def _read_sheet(path: Path) -> ProbeSheet:
    try:
        return ProbeSheet.model_validate(yaml_value(read_text(path), str(path)))
    except DataError as exc:
        raise PromptError(str(exc)) from exc
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in exc.errors())
        raise PromptError(f"{path} is no probe: {problems}.") from exc


def probe_model(
    model: VideoLLM | Any,
    *,
    prompts: PromptLibrary | None = None,
    cache_folder: Path | None = None,
) -> ProbeResult:
    """Ask a model at most eight short questions without pictures and say which route suits it.

    Args:
        model: a backend, or anything `load_model` takes.
        prompts: where ``probe/questions.yaml`` is looked for.
        cache_folder: where results are kept by model fingerprint; None keeps nothing.

    Raises:
        ModelError: when the model fails for a reason that says nothing about text-only input (memory, a server,
            a missing package), or fails with pictures too.
    """
    from ego_adr.models.registry import load_model

    llm = load_model(model)
    library = prompts or PromptLibrary(getattr(llm, "prompts", None))
    path = library.find("probe/questions.yaml")
    sheet = _read_sheet(path)
    kept = _kept_at(cache_folder, llm, path)
    if kept is not None and kept.is_file():
        try:
            return ProbeResult.model_validate_json(kept.read_text(encoding="utf-8")).model_copy(
                update={"cached": True}
            )
        except (OSError, ValueError):
            pass  # a broken file of the cache is made anew below
    result = _probe(llm, sheet)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        part.write_text(result.model_dump_json(), encoding="utf-8")
        part.replace(kept)
    return result


def _kept_at(folder: Path | None, model: VideoLLM, sheet: Path) -> Path | None:
    mark = fingerprint(model)
    if folder is None or mark is None:
        return None
    key = hashlib.sha256(json.dumps([mark, read_text(sheet)]).encode()).hexdigest()
    return folder / "probes" / f"{key[:32]}.json"


def _probe(model: VideoLLM, sheet: ProbeSheet) -> ProbeResult:
    first, *rest = [Request(prompt=q.prompt, max_tokens=sheet.max_tokens) for q in sheet.questions]
    try:
        replies = [_ask(model, first)]
    except _TextOnlyError as exc:
        return _without_text_only(model, sheet, first, str(exc))
    replies += [_checked(reply) for reply in model.generate(rest)]
    asked = list(zip(sheet.questions, replies, strict=True))
    right = sum(question.is_right(reply.text) for question, reply in asked)
    passed = right >= sheet.pass_mark
    return ProbeResult(
        model=model.name,
        supports_text_only=True,
        reasons_over_text=passed,
        route="deep" if passed else "shallow",
        right=right,
        asked=len(asked),
        pass_mark=sheet.pass_mark,
        calls=len(asked),
        reason=f"text-only calls work and {right} of {len(asked)} reasoning questions were answered right "
        f"(pass mark {sheet.pass_mark})",
        transcript=tuple(_exchange(model, q.prompt, r) for q, r in asked),
    )


class _TextOnlyError(Exception):
    """The text-only call failed in a way that may mean 'no text-only input'."""


def _ask(model: VideoLLM, request: Request) -> Reply:
    try:
        (reply,) = model.generate([request])
    except Exception as exc:
        # Any type can mean "no text-only input": models meet a missing picture wherever they first use it.
        if _is_another_trouble(exc):
            raise
        raise _TextOnlyError(f"{type(exc).__name__}: {exc}") from exc
    if reply.failure is not None:
        if reply.failure.cause in _TROUBLES:
            raise ModelError(
                f"the probe of {model.name} failed: {reply.failure.cause}: {reply.failure.message}"
            )
        raise _TextOnlyError(reply.failure.message)
    return reply


_TROUBLES = {OutOfMemoryError.cause, ServerError.cause, "timeout", "model not found", "missing package"}
_TROUBLE_TYPES = (
    OutOfMemoryError,
    ServerError,
    ScriptExhaustedError,
    MemoryError,
    ImportError,
    OSError,
    EOFError,
)
_TROUBLE_NAMES = (
    "OutOfMemory",
    "OutOfMemoryError",
    "AcceleratorError",
    "APIError",
    "APIConnectionError",
    "HTTPError",
)
_TROUBLE_WORDS = ("out of memory", "cuda error", "cublas", "cudnn", "no kernel image", "hip error")


def _is_another_trouble(exc: BaseException) -> bool:
    """Memory, a server or a missing package: says nothing about text-only input."""
    seen: BaseException | None = exc
    while seen is not None:
        names = {cls.__name__ for cls in type(seen).__mro__}
        text = str(seen).casefold()
        if (
            isinstance(seen, _TROUBLE_TYPES)
            or names & set(_TROUBLE_NAMES)
            or any(w in text for w in _TROUBLE_WORDS)
        ):
            return True
        seen = seen.__cause__
    return False


def _without_text_only(model: VideoLLM, sheet: ProbeSheet, first: Request, why: str) -> ProbeResult:
    import numpy as np

    black = np.zeros((224, 224, 3), dtype=np.uint8)
    frames = tuple(Frame(array=black, time=index / 2) for index in range(8))
    try:
        (control,) = model.generate(
            [Request(prompt=first.prompt, frames=frames, max_tokens=first.max_tokens)]
        )
        _checked(control)
    except Exception as exc:
        # Without this check a broken model would be sent down the shallow route and fail there sample by sample.
        raise ModelError(
            f"{model.name} failed without pictures ({why}) and with pictures ({type(exc).__name__}: {exc}): the model "
            "itself does not work. Run `ego-adr doctor`, or try the model by hand."
        ) from exc
    return ProbeResult(
        model=model.name,
        supports_text_only=False,
        reasons_over_text=None,
        route="shallow",
        pass_mark=sheet.pass_mark,
        calls=2,
        reason=f"the model takes no text-only input ({why}); the same question with pictures works",
        transcript=(
            Exchange(stage="probe", prompt=first.prompt, reply=why, finish_reason="failed", model=model.name),
            _exchange(model, first.prompt, control, frames=len(frames)),
        ),
    )


def _checked(reply: Reply) -> Reply:
    if reply.failure is not None:
        raise ModelError(f"the probe could not be finished: {reply.failure.cause}: {reply.failure.message}")
    return reply


def _exchange(model: VideoLLM, prompt: str, reply: Reply, frames: int = 0) -> Exchange:
    return Exchange(
        stage="probe",
        prompt=prompt,
        reply=reply.text,
        finish_reason=reply.finish_reason,
        model=model.name,
        frames=frames,
    )
