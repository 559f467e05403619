"""Sources that do not wait: a sender on this machine, with real packets."""

from __future__ import annotations

import itertools
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction

import av
import numpy as np
import pytest

from ego_adr import EgoADR, ScriptedModel
from ego_adr.console import stop_on_interrupt
from ego_adr.errors import InputError, VideoError
from ego_adr.sessions.live import WAITING, is_live, live_windows
from ego_adr.sessions.streams import stream_windows
from ego_adr.sessions.windows import watch
from ego_adr.types import Clip, ProcedureBank, Step

RATE = 20


class Sender(threading.Thread):
    """Sends pictures as they happen, over UDP, until it is told to stop."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.stopped = threading.Event()

    def run(self) -> None:
        with av.open(self.address, "w", format="mpegts") as made:
            stream = made.add_stream("mpeg2video", rate=RATE)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            stream.gop_size = 4
            begun = time.monotonic()
            for number in itertools.count():
                if self.stopped.is_set():
                    return
                time.sleep(max(0.0, begun + number / RATE - time.monotonic()))
                picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), number % 200, np.uint8), "rgb24")
                picture.pts, picture.time_base = number, Fraction(1, RATE)
                for packet in stream.encode(picture):
                    made.mux(packet)

    def stop(self) -> None:
        self.stopped.set()
        self.join(5)


@pytest.fixture
def camera() -> Iterator[tuple[str, Callable[[], Sender]]]:
    """The address to listen at, and a way to switch a camera on that sends there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    on: list[Sender] = []

    def switch_on() -> Sender:
        on.append(Sender(f"udp://127.0.0.1:{port}?pkt_size=1316"))
        on[-1].start()
        return on[-1]

    yield f"udp://127.0.0.1:{port}", switch_on
    for sender in on:
        sender.stop()


def bank() -> ProcedureBank:
    steps = tuple(Step(index=i, text=text) for i, text in enumerate(("Whisk the eggs", "Pour the eggs")))
    return ProcedureBank(text="1. Whisk the eggs. 2. Pour the eggs.", steps=steps)


@pytest.mark.parametrize(
    ("source", "live"),
    [
        ("rtsp://camera/1", True),
        ("RTMP://host/app", True),
        ("udp://127.0.0.1:9000", True),
        ("/dev/video0", True),
        ("kitchen.mp4", False),
        ("https://host/kitchen.mp4", False),
        ("rtsp-notes.mp4", False),
    ],
)
def test_what_is_live_is_told_by_its_name(source: str, live: bool) -> None:
    assert is_live(source) is live


def test_a_camera_gives_windows_as_they_end_until_it_is_stopped(
    camera: tuple[str, Callable[[], Sender]],
) -> None:
    address, switch_on = camera
    switch_on()
    stop = threading.Event()
    seen = []
    for clip in stream_windows(address, window=0.5, frames=4, patience=5, stop=stop):
        seen.append(clip)
        if len(seen) == 2:
            stop.set()
    assert [(clip.start, clip.end) for clip in seen[:2]] == [(0.0, 0.5), (0.5, 1.0)]
    for clip in seen[:2]:
        assert clip.times is not None
        assert 2 <= len(clip.times) <= 4
        assert all(float(clip.start or 0) <= moment < float(clip.end or 0) for moment in clip.times)


def test_a_model_that_is_too_slow_misses_windows_and_is_told_so(
    camera: tuple[str, Callable[[], Sender]],
) -> None:
    address, switch_on = camera
    switch_on()
    stop = threading.Event()

    def says(request: object) -> str:
        time.sleep(0.6)
        asked.append(request)
        if len(asked) == 3:
            stop.set()
        return "The person whisks the eggs."

    asked: list[object] = []
    detector = EgoADR(ScriptedModel(says), route="shallow", cache=False, frames=2)
    clips = stream_windows(address, window=0.2, frames=2, patience=5, stop=stop)
    lines = list(watch(detector, clips, bank(), window=0.2))
    gaps = [line.text for line in lines if line.kind == "note"]
    assert gaps
    assert gaps[0].startswith("nothing was looked at from 0.2 to ")
    assert len(asked) <= 3 + WAITING + 1
    assert lines[-1].kind == "error"  # stopped on purpose: what was never seen was left out
    assert lines[-1].verdict is not None
    assert lines[-1].verdict.rule == "never-done"


def test_a_camera_that_comes_back_goes_on_and_one_that_does_not_is_no_end(
    camera: tuple[str, Callable[[], Sender]],
) -> None:
    address, switch_on = camera
    first = switch_on()
    switched_on: list[Sender] = []
    seen: list[Clip] = []

    def look() -> None:
        for clip in live_windows(address, window=0.5, frames=2, patience=1.0):
            seen.append(clip)
            if len(seen) == 1:
                first.stop()
                time.sleep(0.6)
                switched_on.append(switch_on())
            if len(seen) == 4:
                switched_on[-1].stop()

    with pytest.raises(VideoError, match=r"sent nothing after .* the recording is not over"):
        look()
    assert len(seen) >= 4
    starts = [float(clip.start or 0) for clip in seen]
    assert starts == sorted(starts)
    assert starts[-1] >= 1.5


def test_a_camera_that_is_not_there_is_an_error_at_once() -> None:
    begun = time.monotonic()
    with pytest.raises(VideoError, match="cannot be opened as a stream"):
        list(stream_windows("rtsp://127.0.0.1:9/none", patience=20))
    assert time.monotonic() - begun < 10
    with pytest.raises(VideoError, match="cannot be opened as a stream"):
        list(stream_windows("/dev/video99"))
    with pytest.raises(InputError, match="runs at its own speed"):
        list(stream_windows("rtsp://127.0.0.1:9/none", speed=2.0))
    with pytest.raises(InputError, match="patience must be positive"):
        list(stream_windows("rtsp://127.0.0.1:9/none", patience=0))


def test_the_first_interrupt_asks_for_the_end_and_the_second_leaves() -> None:
    with stop_on_interrupt() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop_on_interrupt(wanted=False):
        signal.raise_signal(signal.SIGINT)
