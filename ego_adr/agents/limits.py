"""What an agent takes from outside, and no more."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds of a server. Sizes in bytes, times in seconds.

    Attributes:
        body: of one HTTP request.
        body_seconds: from the first byte of a request to its last; slow senders are cut off then.
        depth: how deep JSON may be nested.
        text: letters of one message.
        video_bytes: of one video file.
        clip_seconds: length of the clip that is asked about (of the video, where no times are given).
        waiting: questions that may wait for the model; more are told that the agent is busy.
        answer_seconds: how long a question may take, its waiting included.
    """

    body: int = 1 << 20
    body_seconds: float = 20.0
    depth: int = 32
    text: int = 100_000
    video_bytes: int = 16 << 30
    clip_seconds: float = 4 * 3600.0
    waiting: int = 128
    answer_seconds: float = 3600.0
