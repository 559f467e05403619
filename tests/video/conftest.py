"""Videos that the tests make themselves: every picture carries its own number.

The top half is ten vertical bars, bit 9 leftmost, white for 1, as in the public cases; the bottom half is dark with a
red square in its left top corner (the upright mark).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ego_adr.video import close_videos

Array = NDArray[np.uint8]


def paint(number: int, width: int = 160, height: int = 96) -> Array:
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    for bit in range(10):
        if number >> (9 - bit) & 1:
            picture[: height // 2, width * bit // 10 : width * (bit + 1) // 10] = 255
    picture[height // 2 :] = 40
    picture[height // 2 : height // 2 + 24, :24] = (255, 0, 0)
    return picture


def read(picture: Array) -> int:
    height, width = picture.shape[:2]
    rows = picture[height // 8 : 3 * height // 8]
    bars = [
        rows[:, int(width * (bit + 0.25) / 10) : int(width * (bit + 0.75) / 10)].mean() for bit in range(10)
    ]
    return sum(1 << (9 - bit) for bit, value in enumerate(bars) if value > 126)


def encode(
    path: Path,
    count: int = 60,
    *,
    codec: str = "libx264",
    rate: int | Fraction = 30,
    ticks: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (160, 96),
    gop: int = 30,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    rotation: int = 0,
    picture: Callable[[int, int, int], Array] = paint,
    prepare: Callable[[Any, Any], None] | None = None,
    sound: float = 0.0,
    sound_first: bool = False,
) -> Path:
    """Encode pictures 0 .. count-1 at ``ticks`` of ``time_base`` (one a tick of 1/rate where not given)."""
    import av

    with av.open(str(path), "w", container_options=container or {}) as out:
        audio = out.add_stream("aac", rate=44100) if sound and sound_first else None
        stream: Any = out.add_stream(codec, rate=rate, options=options or {})
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.codec_context.time_base = time_base or 1 / Fraction(rate)
        stream.codec_context.gop_size = gop
        if rotation:
            stream.set_display_rotation(rotation)
        if prepare is not None:
            prepare(out, stream)
        if sound and audio is None:
            audio = out.add_stream("aac", rate=44100)
        if audio is not None:
            _hum(out, audio, sound)
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(picture(number, *size), format="rgb24")
            frame.pts = number if ticks is None else ticks[number]
            frame.time_base = time_base or 1 / Fraction(rate)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def _hum(out: Any, audio: Any, seconds: float) -> None:
    import av

    for part in range(int(seconds * 44100 / 1024)):
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 1024), dtype=np.float32), format="fltp", layout="mono"
        )
        frame.sample_rate, frame.pts = 44100, part * 1024
        out.mux(audio.encode(frame))
    out.mux(audio.encode(None))


@pytest.fixture
def make_video(tmp_path: Path) -> Callable[..., Path]:
    """A function that encodes a numbered video: ``make_video("name.mp4", 60, codec=..., ...)``."""

    def make(name: str, *args: Any, **options: Any) -> Path:
        return encode(tmp_path / name, *args, **options)

    return make


@pytest.fixture(scope="session")
def plain_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds, 30 pictures a second."""
    return encode(tmp_path_factory.mktemp("plain") / "plain.mp4", 60)


@pytest.fixture
def number_of() -> Callable[[Array], int]:
    """The number that is painted in a picture."""
    return read


@pytest.fixture
def painted() -> Callable[..., Array]:
    """The picture of a number, H x W x 3."""
    return paint


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    close_videos()
