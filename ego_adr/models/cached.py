"""Replies that are already known are not asked for again."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from ego_adr.errors import InputError
from ego_adr.models.base import VideoLLM, fingerprint
from ego_adr.types import ChoiceScore, Reply, Request

__all__ = ["CachedModel"]

log = logging.getLogger(__name__)

_FORMAT = 1


class CachedModel:
    """Wraps a model; a request whose reply is known is answered from the cache, with the note ``cached``.

    The key is the hash of all that determines a reply: the model's fingerprint, the prompt, the pictures with
    their times, the token limit and the choices. Failed replies are never kept. Equal requests of one call are
    asked once. Several processes may share a folder.

    Args:
        model: any backend.
        folder: where replies are kept (JSON in an SQLite file, ``replies/`` below it); None keeps them in
            memory for as long as this object lives, which needs no fingerprint.

    Attributes:
        hits, misses: requests answered from the cache, and asked.

    Raises:
        InputError: a folder for a model without a fingerprint: nobody could tell whose replies they are.
    """

    def __init__(self, model: VideoLLM, folder: str | PathLike[str] | None = None) -> None:
        mark = fingerprint(model)
        if folder is not None and mark is None:
            raise InputError(
                f"{model.name} has no fingerprint, so its replies cannot be kept in {folder}: give the backend a "
                "fingerprint (a text that changes whenever its answers could), or folder=None."
            )
        self.model = model
        self.folder = None if folder is None else Path(folder) / "replies"
        self.hits = 0
        self.misses = 0
        self._memory: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def fingerprint(self) -> str | None:
        return fingerprint(self.model)

    @property
    def batch_size(self) -> int | None:
        return getattr(self.model, "batch_size", None)

    @property
    def notice(self) -> str | None:
        return getattr(self.model, "notice", None)

    @property
    def prompts(self) -> Any:
        return getattr(self.model, "prompts", None)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        keys = [request_key(request, self.fingerprint) for request in requests]
        known = self._look_up(set(keys))
        unknown: dict[str, Request] = {}
        for key, request in zip(keys, requests, strict=True):
            if key not in known:
                unknown.setdefault(key, request)
        fresh: dict[str, Reply] = {}
        if unknown:
            replies = list(self.model.generate(list(unknown.values())))
            if len(replies) != len(unknown):
                raise ValueError(f"{self.name} gave {len(replies)} replies to {len(unknown)} requests")
            fresh = dict(zip(unknown, replies, strict=True))
            self._keep({key: _dump(reply) for key, reply in fresh.items() if reply.failure is None})
        with self._lock:
            self.misses += len(fresh)
            self.hits += len(requests) - len(fresh)
        return [self._reply(key, known, fresh) for key in keys]

    def _reply(self, key: str, known: dict[str, Reply], fresh: dict[str, Reply]) -> Reply:
        """The first that asks gets the reply as it came, the others and the known ones are marked."""
        if key in fresh:
            reply = fresh.pop(key)
            known[key] = reply
            return reply
        reply = known[key]
        return reply if "cached" in reply.notes else replace(reply, notes=(*reply.notes, "cached"))

    # ------------------------------------------------------------------------------------------------

    def _look_up(self, keys: set[str]) -> dict[str, Reply]:
        found: dict[str, str] = {}
        if self.folder is None:
            with self._lock:
                found = {key: self._memory[key] for key in keys if key in self._memory}
        elif self.folder.is_dir():
            found = self._on_disk(lambda cache: {key: cache[key] for key in keys if key in cache}) or {}
        replies: dict[str, Reply] = {}
        for key, text in found.items():
            try:
                replies[key] = _load(text)
            except (ValueError, TypeError, KeyError):
                log.debug("an entry of the cache cannot be read and is asked for again")
        return replies

    def _keep(self, entries: dict[str, str]) -> None:
        if self.folder is None:
            with self._lock:
                self._memory.update(entries)
            return

        def write(cache: Any) -> None:
            for key, text in entries.items():
                cache.set(key, text)

        self._on_disk(write)

    def _on_disk(self, use: Any) -> Any:
        """Opens the cache, uses it and closes it: a kept connection would outlive its thread."""
        import diskcache

        try:
            # JSONDisk: what lies in a shared folder is read as text, never unpickled
            with diskcache.Cache(str(self.folder), disk=diskcache.JSONDisk) as cache:
                return use(cache)
        except (OSError, sqlite3.Error, diskcache.Timeout, ValueError) as exc:
            # a cache that cannot be used costs time, never the run
            log.warning("the cache at %s is not used: %s: %s", self.folder, type(exc).__name__, exc)
            return None

    def __repr__(self) -> str:
        return f"CachedModel({self.name}, {self.hits} hits, {self.misses} misses)"


def request_key(request: Request, mark: str | None) -> str:
    """Hex SHA-256 over a model's fingerprint and all of a request that can change its reply."""
    digest = hashlib.sha256()
    frames = [
        [list(frame.array.shape), str(frame.array.dtype), frame.time, frame.number]
        for frame in request.frames
    ]
    interval = [getattr(request.frames, name, None) for name in ("start", "end", "rate")]
    head = [_FORMAT, mark, request.prompt, request.max_tokens, list(request.choices), interval, frames]
    digest.update(json.dumps(head, default=float).encode())
    for frame in request.frames:
        digest.update(frame.array.tobytes())
    return digest.hexdigest()


def _dump(reply: Reply) -> str:
    return json.dumps(
        {
            "text": reply.text,
            "finish_reason": reply.finish_reason,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "scores": None
            if reply.scores is None
            else [[s.choice, s.logprob, s.tokens] for s in reply.scores],
            "notes": list(reply.notes),
        }
    )


def _load(text: str) -> Reply:
    entry = json.loads(text)
    scores = entry["scores"]
    return Reply(
        text=entry["text"],
        finish_reason=entry["finish_reason"],
        prompt_tokens=entry["prompt_tokens"],
        completion_tokens=entry["completion_tokens"],
        scores=None
        if scores is None
        else tuple(
            ChoiceScore(choice=choice, logprob=logprob, tokens=tokens) for choice, logprob, tokens in scores
        ),
        notes=tuple(entry["notes"]),
    )
