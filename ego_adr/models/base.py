"""The model protocol: everything above this room sees a model only through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ego_adr.types import Frame, Reply, Request

__all__ = ["VideoLLM", "caption", "fingerprint"]


@runtime_checkable
class VideoLLM(Protocol):
    """Anything that answers questions about pictures and text.

    ``generate`` answers in the order of the requests, greedily and repeatably: the same request gives the
    same reply, alone or in company. A request that fails by itself comes back as a reply with ``failure``;
    an exception (`ego_adr.errors.ModelError`) means that the model as a whole cannot go on.

    Optional attributes a backend may have: ``fingerprint`` (str: changes whenever its answers could),
    ``batch_size`` (int: how many requests it likes at once), ``prompts`` (path of a folder of prompt
    overrides that came with the checkpoint), ``notice`` (str: what users of it should know; every result repeats it),
    ``judging(taxonomy=..., prompts=...)`` (of models that judge whole steps themselves, such as agents). It returns what
    is asked where the route is ``auto``: something with a ``taxonomy``, the ``detect_many`` of `ego_adr.EgoADR`, and
    ``answerer(samples)`` for open-end questions.
    """

    @property
    def name(self) -> str: ...

    def generate(self, requests: Sequence[Request]) -> Sequence[Reply]: ...


def fingerprint(model: VideoLLM) -> str | None:
    """The text that identifies what a model would answer, or None when that cannot be known (no caching)."""
    value = getattr(model, "fingerprint", None)
    return value if isinstance(value, str) and value else None


def caption(frame: Frame) -> str:
    """The words before a picture that is shown with its time, in seconds of its video: ``12.50 s``."""
    return f"{frame.time:.2f} s"
