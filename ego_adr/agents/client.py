"""Other agents as models: ``a2a:http://host:port``, asked in the published way."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from ego_adr.agents.keys import CLIENT_KEY
from ego_adr.agents.sdk import require_sdk
from ego_adr.errors import EgoADRError, InputError
from ego_adr.parsing import Unparsed, parse_label
from ego_adr.prompting import PromptLibrary
from ego_adr.taxonomies import Taxonomy, load_taxonomy
from ego_adr.types import Detection, Exchange, Failure, ProcedureBank, Query, Reply, Request, StageUse

if TYPE_CHECKING:
    from ego_adr.agents.talking import Said
    from ego_adr.benchmarks.samples import Sample

__all__ = ["AgentAnswerer", "AgentModel", "load_agent"]

_T = TypeVar("_T")


def load_agent(
    name: str,
    *,
    timeout: float = 300.0,
    patience: float = 120.0,
    concurrency: int = 4,
    key_variable: str | None = CLIENT_KEY,
    prompts: str | PathLike[str] | None = None,
    taxonomy: Taxonomy | str | PathLike[str] | None = None,
) -> AgentModel:
    """The agent behind ``a2a:http://host:port``, of either version of the protocol.

    Args:
        timeout: seconds that an answer may take, polling included.
        patience: most seconds to wait for an agent that says it is busy.
        concurrency: most questions under way at once.
        key_variable: environment variable of the key that is sent, to this address alone, the way the agent's card
            asks for it; None sends none. There is no option for the key itself.
        prompts: a folder that overrides single prompt files (``a2a/multiple-choice.md``).
        taxonomy: labels that are asked for.

    Raises:
        InputError: the address cannot be used.
        ServerError: there is no agent at that address.
        ResourceError: the A2A packages are missing or of another range.
    """
    require_sdk()
    if timeout <= 0 or patience < 0 or concurrency < 1:
        raise InputError(f"{name}: timeout must be above 0, patience 0 or more, concurrency 1 or more.")
    url = name.strip()
    if url.casefold().startswith("a2a:"):
        url = url[4:].strip()
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise InputError(f"{name!r} is no agent's address; it looks like a2a:http://host:port.")
    agent = AgentModel(
        url.rstrip("/"),
        timeout=timeout,
        patience=patience,
        concurrency=concurrency,
        key_variable=key_variable,
        prompts=PromptLibrary(prompts),
        taxonomy=taxonomy if isinstance(taxonomy, Taxonomy) else load_taxonomy(taxonomy),
    )
    agent.connect()
    return agent


class AgentModel:
    """An agent under test. `detect_many` asks it what `ego_adr.EgoADR` would be asked; see `load_agent`.

    It has no fingerprint, since nobody can tell when its answers change: nothing of it is cached. The agent opens
    the videos, so their paths are sent as they are.
    """

    #: The evaluation need not find the videos: the agent opens them.
    opens_videos_itself = True

    def __init__(
        self,
        url: str,
        *,
        timeout: float,
        patience: float,
        concurrency: int,
        key_variable: str | None,
        prompts: PromptLibrary,
        taxonomy: Taxonomy,
    ) -> None:
        self.url = url
        self.name = f"a2a:{url}"
        self.batch_size = 2 * concurrency
        self.taxonomy = taxonomy
        self._timeout = timeout
        self._patience = patience
        self._concurrency = concurrency
        self._key_variable = key_variable
        self._library = prompts

    def connect(self) -> str:
        """Fetch the agent's card and return the name in it.

        Raises:
            ServerError: there is none.
        """
        from ego_adr.agents.talking import fetch_card_name

        return _run(fetch_card_name(self.url, min(self._timeout, 30.0), self._key_variable))

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
        """Ask about each step, at most ``concurrency`` at once; detections in the order of the queries.

        An agent that is gone, silent or refuses makes a failed detection by its cause, never an exception.
        """
        return [
            unasked if said is None else self._detection(query, said)
            for query, said, unasked in self._asked(queries, self.question)
        ]

    def judging(
        self,
        *,
        taxonomy: Taxonomy | str | PathLike[str] | None = None,
        prompts: str | PathLike[str] | None = None,
    ) -> AgentModel:
        """The same agent, asked for the labels of a taxonomy and with prompts of one's own; see `load_agent`."""
        asked = copy.copy(self)
        if taxonomy is not None:
            asked.taxonomy = taxonomy if isinstance(taxonomy, Taxonomy) else load_taxonomy(taxonomy)
        if prompts is not None:
            asked._library = PromptLibrary(prompts)
        return asked

    def answerer(self, samples: Sequence[Sample]) -> AgentAnswerer:
        """What asks this agent the open-end questions of a benchmark."""
        return AgentAnswerer(self, {sample.id: str(sample.shown.question) for sample in samples})

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Send prompts as they are, with their pictures as files: for agents that take any question."""
        from ego_adr.models.endpoint_payload import jpeg

        sent = [(request.prompt, tuple(jpeg(frame) for frame in request.frames)) for request in requests]
        return [
            Reply(text=said.text, notes=said.notes)
            if said.failure is None
            else Reply(text="", finish_reason="failed", failure=said.failure)
            for said in self._ask(sent)
        ]

    def question(self, query: Query) -> str:
        """What is sent for a step: the published tags, the question made of ``a2a/multiple-choice.md``.

        Raises:
            InputError: pictures in place of a video file, or a procedure that cannot be read.
        """
        labels = [label.model_dump() for label in self.taxonomy.labels]
        return self._tags(query, "a2a/multiple-choice", labels=labels, action=query.action)

    def open_question(self, query: Query, question: str) -> str:
        """What is sent for an open-end question; see `question`."""
        return self._tags(query, "a2a/open-end", question=question)

    def _tags(self, query: Query, prompt: str, **offered: Any) -> str:
        source = query.clip.source
        if not isinstance(source, (str, PathLike)):
            raise InputError("an agent is asked about a video file; this clip is a list of pictures.")
        asked = self._library.render(prompt, procedure=_procedure_text(query.procedure), **offered)
        start, end = query.clip.start, query.clip.end
        if start is None and end is None:
            start = end = -1  # the published mark for the whole video
        tags = {
            "video_path": os.fspath(source),
            "question": asked.text,
            "start_ts": 0 if start is None else start,
            "end_ts": "" if end is None else end,
        }
        return "\n".join(f"<{name}>{value}</{name}>" for name, value in tags.items())

    # ------------------------------------------------------------------------------------------------

    def _asked(
        self, queries: Sequence[Query], write: Callable[[Query], str]
    ) -> list[tuple[Query, _Heard | None, Detection]]:
        """Ask what is written for each query; where it cannot be written, its failed detection stands ready."""
        found: list[tuple[Query, str | None, Detection]] = []
        for query in queries:
            failure = None
            text = None
            try:
                text = write(query)
            except EgoADRError as exc:
                failure = Failure(cause=exc.cause, message=str(exc))
            found.append(
                (query, text, self._failed(query, failure or Failure(cause="agent", message="not asked")))
            )
        said = iter(self._ask([(text, ()) for _, text, _ in found if text is not None]))
        return [
            (query, None if text is None else _Heard(text, next(said)), unasked)
            for query, text, unasked in found
        ]

    def _ask(self, sent: Sequence[tuple[str, tuple[bytes, ...]]]) -> list[Said]:
        from ego_adr.agents.talking import ask_agent

        if not sent:
            return []
        return _run(
            ask_agent(
                self.url,
                sent,
                timeout=self._timeout,
                patience=self._patience,
                concurrency=self._concurrency,
                key_variable=self._key_variable,
            )
        )

    def _common(self, query: Query) -> dict[str, Any]:
        source = query.clip.source
        return {
            "id": query.id,
            "video": os.fspath(source) if isinstance(source, (str, PathLike)) else None,
            "action": query.action,
            "model": self.name,
            "taxonomy": self.taxonomy.name,
        }

    def _failed(self, query: Query, failure: Failure, exchanges: tuple[Exchange, ...] = ()) -> Detection:
        return Detection(
            status="failed", failure=failure, route="agent", exchanges=exchanges, **self._common(query)
        )

    def _heard(self, query: Query, heard: _Heard, stage: str, **found: Any) -> Detection:
        """A detection made of a reply: what was found in it, with what was sent and said."""
        said = heard.said
        warnings = list(said.notes)
        if query.narration is not None:
            warnings.append("the given narration was not sent: agents see the video themselves")
        return Detection(
            route="agent",
            warnings=tuple(warnings),
            stages=(StageUse(stage=stage, calls=1, seconds=said.seconds),),
            exchanges=(heard.exchange(stage, self.name),),
            **self._common(query),
            **found,
        )

    def _detection(self, query: Query, heard: _Heard) -> Detection:
        said = heard.said
        exchange = heard.exchange("classify", self.name)
        held = _whole_detection(said.data)
        if held is not None:  # also of a failed task: why there is no label is in it
            return held.model_copy(update={**self._common(query), "exchanges": (*held.exchanges, exchange)})
        if said.failure is not None:
            return self._failed(query, said.failure, (exchange,))
        verdict = parse_label(said.text, self.taxonomy)
        if isinstance(verdict, Unparsed) and said.more:  # thoughts may come first, in a part of their own
            last = parse_label(said.more[-1], self.taxonomy)
            verdict = verdict if isinstance(last, Unparsed) else last
        if isinstance(verdict, Unparsed):
            return self._heard(query, heard, "classify", status="unparsed", reason=verdict.reason)
        return self._heard(
            query,
            heard,
            "classify",
            status="ok",
            label=verdict.label,
            labels=verdict.labels,
            is_error=self.taxonomy.require(verdict.label).is_error,
            evidence=verdict.evidence,
        )


class AgentAnswerer:
    """Asks an agent open-end questions; the answer stands in the ``evidence`` of its detection.

    Args:
        agent: who is asked.
        questions: id of a query -> its question.
    """

    opens_videos_itself = True

    def __init__(self, agent: AgentModel, questions: Mapping[str, str]) -> None:
        self.model = agent
        self.taxonomy = agent.taxonomy
        self._questions = questions

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
        """One detection a query, in their order; see `AgentModel.detect_many`."""
        asked = self.model._asked(
            queries, lambda query: self.model.open_question(query, self._questions[str(query.id)])
        )
        return [unasked if heard is None else self._answer(query, heard) for query, heard, unasked in asked]

    def _answer(self, query: Query, heard: _Heard) -> Detection:
        said = heard.said
        if said.failure is not None:
            return self.model._failed(query, said.failure, (heard.exchange("answer", self.model.name),))
        if not said.text:
            return self.model._heard(query, heard, "answer", status="unparsed", reason="empty")
        return self.model._heard(query, heard, "answer", status="ok", evidence=(said.text,))


@dataclass(frozen=True)
class _Heard:
    """What was sent, and what came back."""

    sent: str
    said: Said

    def exchange(self, stage: str, name: str) -> Exchange:
        failure = self.said.failure
        return Exchange(
            stage=stage,
            prompt=self.sent,
            reply=self.said.text if failure is None else failure.message,
            finish_reason="stop" if failure is None else "failed",
            model=name,
        )


def _whole_detection(data: Sequence[Any]) -> Detection | None:
    """A detection that an agent of ours sent along."""
    for held in data:
        if isinstance(held, dict) and {"status", "exchanges", "route"} <= set(held):
            try:
                return Detection.model_validate(
                    {k: v for k, v in held.items() if k in Detection.model_fields}
                )
            except ValidationError:
                return None  # of another version: its text is read
    return None


def _procedure_text(procedure: str | PathLike[str] | ProcedureBank) -> str:
    if isinstance(procedure, ProcedureBank):
        return procedure.text
    if isinstance(procedure, str):
        return procedure
    from ego_adr.procedure.bank import read_procedure

    return read_procedure(procedure).text


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end, also where a loop is running already (notebooks, servers)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
