"""How long it takes to get 8 frames of a clip, and whether they are the right ones: ego_adr against other readers.

    python examples/bench/frames.py [--minutes 5] [--clips 24] [--only long-gop ...] [--videos FOLDER]

It makes its own videos, with the number of each picture painted into it, and lets every reader that is installed
(decord, torchcodec, OpenCV) take 8 frames, spread evenly over the same random clips of 5 to 40 s and scaled so that
the longer side is 448. One interleaved run: for each clip every reader has its turn, in random order. Printed are the
ratios of the median times to decord's, the share of wrong pictures (off by more than one), and the memory above an
idle process, measured in a process of its own for each reader.

The other readers pick by index (time x average rate), as is usual, and open the file for each clip, as the published
evaluator does; "decord, kept open" opens it once. ego_adr keeps the last videos open by itself.
"""

from __future__ import annotations

import argparse
import bisect
import multiprocessing
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from ego_adr.video import close_videos, sample_frames

Array = NDArray[np.uint8]
Reader = Callable[[Path, float, float], Sequence[Array]]
COUNT, LONGER_SIDE, BITS = 8, 448, 16


# ------------------------------------------------------------------------------------------------ videos


@dataclass(frozen=True)
class Kind:
    """One kind of video; ``rates`` change every two seconds."""

    name: str
    size: tuple[int, int]
    minutes: float
    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    gop: int = 250
    rates: tuple[int, ...] = (30,)
    rotation: int = 0
    options: dict[str, str] = field(default_factory=dict)

    def times(self) -> list[float]:
        """When each picture is shown, in seconds."""
        shown, now = [], 0.0
        while now < 60 * self.minutes - 1e-6:
            shown.append(round(now, 6))
            now += 1 / self.rates[int(now / 2 + 1e-6) % len(self.rates)]
        return shown


def kinds(minutes: float) -> list[Kind]:
    x265 = {"x265-params": "log-level=none", "preset": "superfast", "crf": "24", "bf": "3"}
    x264 = {"preset": "veryfast", "crf": "24", "bf": "3"}
    return [
        Kind("long-gop", (640, 360), minutes, options=x264),
        Kind("hevc-10bit", (640, 480), minutes / 4, "libx265", "yuv420p10le", options=x265),
        Kind("1080p60", (1920, 1080), minutes / 10, gop=60, rates=(60,), options=x264),
        Kind("variable-rate", (640, 360), minutes / 2, rates=(30, 15, 10), options=x264),
        Kind("rotated-90", (640, 360), minutes / 4, rotation=90, options=x264),
    ]


def draw(kind: Kind, count: int) -> Iterator[Array]:
    """A slow pan over a textured room, with sensor noise, and the picture's number in bars along the top."""
    rng = np.random.default_rng(0)
    width, height = kind.size
    coarse = rng.integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8)
    room = np.asarray(
        av.VideoFrame.from_ndarray(coarse)
        .reformat(2 * width, 2 * height, interpolation="BICUBIC")
        .to_ndarray()
    )
    noise = rng.integers(0, 16, (height + 64, width + 64, 1), dtype=np.uint8)
    for number in range(count):
        x = int((0.5 + 0.5 * np.sin(number / 97)) * width)
        y = int((0.5 + 0.5 * np.sin(number / 71)) * height)
        dx, dy = rng.integers(0, 64, 2)
        picture = room[y : y + height, x : x + width] // 2 + noise[dy : dy + height, dx : dx + width] + 40
        for bit in range(BITS):
            bar = picture[: height // 6, width * bit // BITS : width * (bit + 1) // BITS]
            bar[:] = 235 if number >> (BITS - 1 - bit) & 1 else 16
        yield picture


def painted_number(picture: Array) -> int:
    height, width = picture.shape[:2]
    rows = picture[height // 24 : height // 8]
    bars = [
        rows[:, int(width * (b + 0.3) / BITS) : int(width * (b + 0.7) / BITS)].mean() for b in range(BITS)
    ]
    return sum(1 << (BITS - 1 - b) for b, value in enumerate(bars) if value > 126)


def write(kind: Kind, path: Path) -> list[float]:
    """Encode the video unless it is there; when its pictures are shown."""
    shown = kind.times()
    if path.exists():
        return shown
    part = path.with_suffix(".part.mp4")
    base = Fraction(1, 90000)
    with av.open(str(part), "w") as out:
        stream: Any = out.add_stream(kind.codec, rate=max(kind.rates), options=dict(kind.options))
        stream.width, stream.height = kind.size
        stream.pix_fmt = kind.pix_fmt
        stream.codec_context.gop_size = kind.gop
        stream.codec_context.time_base = base
        if kind.rotation:
            stream.set_display_rotation(kind.rotation)
        for seconds, picture in zip(shown, draw(kind, len(shown)), strict=True):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = round(seconds / base), base
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    part.rename(path)
    return shown


# ----------------------------------------------------------------------------------------------- readers


def instants(start: float, end: float) -> list[float]:
    return [start + (end - start) * (part + 0.5) / COUNT for part in range(COUNT)]


def target(width: int, height: int) -> tuple[int, int]:
    scale = LONGER_SIDE / max(width, height)
    return round(width * scale), round(height * scale)


def by_ego_adr(path: Path, start: float, end: float) -> Sequence[Array]:
    return [frame.array for frame in sample_frames(path, start, end, COUNT, longer_side=LONGER_SIDE)]


def by_ego_adr_anew(path: Path, start: float, end: float) -> Sequence[Array]:
    close_videos()
    try:
        return by_ego_adr(path, start, end)
    finally:
        close_videos()


_kept: dict[Path, Any] = {}


@cache
def _upright_size(path: Path) -> tuple[int, int]:
    """Of the scaled picture; decord turns pictures upright but wants to be told their size beforehand."""
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    width, height = target(frame.width, frame.height)
    return (height, width) if frame.rotation % 180 else (width, height)


def _decord(path: Path) -> Any:
    import decord

    width, height = _upright_size(path)
    return decord.VideoReader(str(path), width=width, height=height)


def _take_decord(video: Any, start: float, end: float) -> Sequence[Array]:
    rate, last = video.get_avg_fps(), len(video) - 1
    pictures: Array = video.get_batch([min(int(t * rate), last) for t in instants(start, end)]).asnumpy()
    return list(pictures)


def by_decord(path: Path, start: float, end: float) -> Sequence[Array]:
    return _take_decord(_decord(path), start, end)


def by_decord_kept(path: Path, start: float, end: float) -> Sequence[Array]:
    if path not in _kept:
        _kept.clear()
        _kept[path] = _decord(path)
    return _take_decord(_kept[path], start, end)


def by_opencv(path: Path, start: float, end: float) -> Sequence[Array]:
    import cv2

    video = cv2.VideoCapture(str(path))
    rate, found = video.get(cv2.CAP_PROP_FPS), []
    for instant in instants(start, end):
        video.set(cv2.CAP_PROP_POS_FRAMES, int(instant * rate))
        picture = video.read()[1]
        size = target(picture.shape[1], picture.shape[0])
        found.append(cv2.cvtColor(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2RGB))
    video.release()
    return found


def by_torchcodec(path: Path, start: float, end: float) -> Sequence[Array]:
    from torch.nn.functional import interpolate
    from torchcodec.decoders import VideoDecoder

    batch = VideoDecoder(str(path)).get_frames_played_at(instants(start, end)).data
    width, height = target(batch.shape[3], batch.shape[2])
    small = interpolate(batch.float(), (height, width), mode="area").byte()
    return list(small.permute(0, 2, 3, 1).numpy())


def readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {"ego_adr": by_ego_adr, "ego_adr, opened anew": by_ego_adr_anew}
    if find_spec("decord"):
        found |= {"decord": by_decord, "decord, kept open": by_decord_kept}
    if find_spec("torchcodec"):
        found["torchcodec"] = by_torchcodec
    if find_spec("cv2"):
        found["OpenCV"] = by_opencv
    return found


# ------------------------------------------------------------------------------------------- measurement


def wrong(pictures: Sequence[Array], shown: Sequence[float], start: float, end: float, rotation: int) -> int:
    """Pictures whose painted number is off by more than one from the one that is shown at the instant."""
    count = COUNT - len(pictures)
    for picture, instant in zip(pictures, instants(start, end), strict=False):
        upright = np.rot90(picture, -rotation // 90) if picture.shape[0] > picture.shape[1] else picture
        number = painted_number(np.ascontiguousarray(upright))
        count += abs(number - (bisect.bisect_right(shown, instant + 1e-6) - 1)) > 1
    return count


def clips(shown: Sequence[float], count: int, seed: int) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    whole = shown[-1]
    found = []
    for _ in range(count):
        length = min(rng.uniform(5, 40), 0.9 * whole)
        start = rng.uniform(0, whole - length)
        found.append((start, start + length))
    return found


def _peak_above_idle(name: str, path: Path, spans: list[tuple[float, float]], answer: Any) -> None:
    """Runs in a process of its own: the peak of resident memory above that after the imports, in MB."""
    read = readers()[name]
    for module in ("decord", "torchcodec.decoders", "cv2"):
        if name.lower().startswith(module[:6]) and find_spec(module.split(".")[0]):
            __import__(module)
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    idle = _status(status, "VmRSS")
    for start, end in spans:
        read(path, start, end)
    answer.put((_status(status, "VmHWM") - idle) / 1024)


def _status(path: Path, key: str) -> int:
    return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(key))


def memory(name: str, path: Path, spans: list[tuple[float, float]]) -> float | None:
    """None where the system has no /proc."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=_peak_above_idle, args=(name, path, spans, answer))
    process.start()
    process.join()
    return float(answer.get(timeout=1)) if process.exitcode == 0 else None


def measure(kind: Kind, path: Path, shown: Sequence[float], count: int) -> None:
    """One kind of video: an interleaved run, then memory; prints a row for each reader."""
    spans = clips(shown, count, seed=1)
    taken: dict[str, list[float]] = {name: [] for name in readers()}
    errors = dict.fromkeys(taken, 0)
    shuffle = random.Random(2)
    for number, (start, end) in enumerate([spans[0], *spans]):
        turns = list(readers().items())
        shuffle.shuffle(turns)
        for name, read in turns:
            begin = time.perf_counter()
            pictures = read(path, start, end)
            seconds = time.perf_counter() - begin
            if number:  # the first clip only warms up
                taken[name].append(seconds)
                errors[name] += wrong(pictures, shown, start, end, kind.rotation)
    close_videos()
    _kept.clear()
    base = statistics.median(taken.get("decord", taken["ego_adr"]))
    against = "of decord" if "decord" in taken else "of ours"
    print(
        f"\n{kind.name}: {kind.codec} {kind.size[0]}x{kind.size[1]}, {kind.minutes * 60:.0f} s, {count} clips"
    )
    print(f"  {'reader':22} {'median ms':>9} {against:>9} {'wrong':>7} {'memory MB':>9}")
    for name, all_seconds in taken.items():
        middle = statistics.median(all_seconds)
        share = errors[name] / (COUNT * count)
        above = memory(name, path, spans[:6])
        said = "-" if above is None else f"{above:.0f}"
        print(f"  {name:22} {1000 * middle:9.1f} {middle / base:9.2f} {share:7.1%} {said:>9}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the longest video")
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--only", nargs="*", default=[], help="kinds of video, by name")
    parser.add_argument(
        "--videos", type=Path, help="keep the videos in this folder, and use those that are there"
    )
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.videos or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in kinds(chosen.minutes):
            if not chosen.only or kind.name in chosen.only:
                path = folder / f"{kind.name}-{kind.minutes:g}.mp4"
                measure(kind, path, write(kind, path), chosen.clips)


if __name__ == "__main__":
    main()
