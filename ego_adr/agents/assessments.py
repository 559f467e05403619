"""What an evaluator is asked to do, read from the published tags or from AgentBeats' JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ego_adr.agents.wording import QuestionError, outer_tags, unfenced
from ego_adr.benchmarks.sources import SOURCES

__all__ = ["Assessment", "AssessmentConfig", "read_assessment"]

_UNUSED = ("judge_model_path", "deepseek_model_path", "judge_device")
_HOW = (
    "Send text with <white_agent_url>http://host:port</white_agent_url> and <eval_config>{...}</eval_config>, or JSON "
    '{"participants": {"agent": "http://host:port"}, "config": {...}}.'
)


#: Tasks by their names here and in the command line, without case and hyphens.
_TASKS = {
    "multiplechoice": "multiple-choice", "choice": "multiple-choice", "mcq": "multiple-choice",
    "openend": "open-end", "openended": "open-end",
}  # fmt: skip


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


class AssessmentConfig(BaseModel):
    """What is assessed. Every field may be left out.

    Attributes:
        video_root, json_root, procedure_json_path: folders and file; they must lie below those that the operator
            opened up, which are also what is taken when they are left out.
        datasets: a part of the four.
        task_type: ``multiple-choice``, or ``open-end``. The published request means ``open-end`` when it does not
            say, AgentBeats' means ``multiple-choice``.
        limit, seed: a subset, the same for the same seed.
        run: name of the run's folder; default a name made of the request, so that the same request goes on with
            the same run.
        judge_model_path, deepseek_model_path, judge_device: of the published request; not used. Judges are the
            operator's choice, for a stranger does not say which models this machine loads.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    video_root: str | None = None
    json_root: str | None = None
    procedure_json_path: str | None = None
    datasets: tuple[str, ...] | None = Field(default=None, min_length=1)
    task_type: Literal["multiple-choice", "open-end"] | None = None
    limit: int | None = Field(default=None, ge=1)
    seed: int = 0
    run: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    judge_model_path: str | None = None
    deepseek_model_path: str | None = None
    judge_device: str | None = None

    @field_validator("datasets", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        held = [value] if isinstance(value, str) else value
        if not isinstance(held, (list, tuple)):
            return held
        names = {_plain(name): name for name in SOURCES}
        return [names.get(_plain(name), name) if isinstance(name, str) else name for name in held]

    @field_validator("task_type", mode="before")
    @classmethod
    def _as_it_is_spelled_elsewhere(cls, value: Any) -> Any:
        return _TASKS.get(_plain(value), value) if isinstance(value, str) else value

    @field_validator("datasets")
    @classmethod
    def _known(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        unknown = sorted(set(value or ()) - set(SOURCES))
        if unknown:
            raise ValueError(f"there is no data set {unknown[0]!r}; there are {', '.join(SOURCES)}")
        return value

    @property
    def unused(self) -> tuple[str, ...]:
        """Fields that were sent and do nothing here."""
        return tuple(name for name in _UNUSED if getattr(self, name) is not None)


@dataclass(frozen=True)
class Assessment:
    """One request to the evaluator: whom to ask, and what."""

    agent_url: str
    config: AssessmentConfig
    task: Literal["multiple-choice", "open-end"]

    @property
    def run(self) -> str:
        """Name of the run's folder: the same for the same request."""
        if self.config.run is not None:
            return self.config.run
        told = [
            self.agent_url,
            self.task,
            self.config.model_dump(mode="json", exclude=set(_UNUSED)),
        ]
        return "run-" + hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def read_assessment(
    texts: Sequence[str], data: Sequence[Any] = (), *, most_letters: int = 100_000
) -> Assessment:
    """The assessment that a message asks for.

    Raises:
        QuestionError: it asks for none, or with roles or keys that are not known; the message lists what is.
    """
    if sum(map(len, texts)) > most_letters:
        raise QuestionError(f"the message is too long; it may hold {most_letters} letters.")
    text = unfenced("\n".join(texts))
    objects = [held for held in data if isinstance(held, Mapping) and "participants" in held]
    if not objects and text.startswith("{"):
        held = _json(text, "the text")
        objects = [held] if isinstance(held, Mapping) else []
    if objects:
        return _of_agentbeats(objects[0])
    try:
        tags = outer_tags(text, ("white_agent_url", "eval_config"), wide="eval_config")
    except QuestionError as exc:
        raise QuestionError(f"{exc} {_HOW}") from exc
    if "white_agent_url" not in tags:
        raise QuestionError(f"the message names no agent. {_HOW}")
    given = _json(unfenced(tags["eval_config"]), "<eval_config>") if tags.get("eval_config") else {}
    config = _config(given)
    return Assessment(_url(tags["white_agent_url"]), config, config.task_type or "open-end")


def _of_agentbeats(held: Mapping[str, Any]) -> Assessment:
    strange = sorted(set(held) - {"participants", "config"})
    if strange:
        raise QuestionError(f"unknown key {strange[0]!r}; there are participants and config. {_HOW}")
    participants = held.get("participants")
    if not isinstance(participants, Mapping) or len(participants) != 1:
        count = len(participants) if isinstance(participants, Mapping) else "no"
        raise QuestionError(
            f"one participant is assessed at a time, in whatever role; there are {count}. {_HOW}"
        )
    (url,) = participants.values()
    if not isinstance(url, str):
        raise QuestionError(f"a participant is given by its address. {_HOW}")
    config = _config(held.get("config") or {})
    return Assessment(_url(url), config, config.task_type or "multiple-choice")


def _config(given: Any) -> AssessmentConfig:
    if not isinstance(given, Mapping):
        raise QuestionError(f"the config must be an object, not {type(given).__name__}. {_HOW}")
    try:
        return AssessmentConfig.model_validate(dict(given))
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors()[:5])
        known = ", ".join(AssessmentConfig.model_fields)
        raise QuestionError(f"the config cannot be used: {problems}. Its keys are {known}.") from exc


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise QuestionError(f"{what} is no JSON ({str(exc)[:200]}). {_HOW}") from exc


def _url(text: str) -> str:
    url = text.strip()
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise QuestionError(
            f"the agent's address looks like http://host:port, without a name or password. {_HOW}"
        )
    return url.rstrip("/")
