"""Agents that run on this machine for a test, and videos for them to look at."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("a2a")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="session")
def video_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``good/clip.mp4`` (2 s), ``broken.mp4``, links out of it, and a secret beside it."""
    import av

    base = tmp_path_factory.mktemp("agents").resolve()
    root = base / "videos"
    (root / "good").mkdir(parents=True)
    with av.open(str(root / "good" / "clip.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(20):
            picture = av.VideoFrame.from_ndarray(
                np.full((48, 64, 3), 10 * number, dtype=np.uint8), format="rgb24"
            )
            out.mux(stream.encode(picture))
        out.mux(stream.encode())
    (root / "broken.mp4").write_bytes(b"no video at all")
    (base / "secret.mp4").write_bytes((root / "good" / "clip.mp4").read_bytes())
    (root / "link.mp4").symlink_to(base / "secret.mp4")
    (root / "up").symlink_to(base)
    (root / "inside.mp4").symlink_to(root / "good" / "clip.mp4")
    (root / "loop.mp4").symlink_to(root / "loop.mp4")
    return root


class Running:
    """A server in a thread."""

    def __init__(self, app: Any, sock: socket.socket, seconds: float) -> None:
        import uvicorn

        from ego_adr.agents.connections import patient_protocol

        self.url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        config = uvicorn.Config(
            app, log_level="error", http=patient_protocol(seconds), timeout_graceful_shutdown=10, ws="none"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [sock]}, daemon=True)
        self.thread.start()
        end = time.monotonic() + 20
        while not self.server.started and time.monotonic() < end:
            time.sleep(0.01)
        assert self.server.started

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def run_agent() -> Iterator[Callable[..., Running]]:
    """A function from (address -> application) to a running server; it ends with the test."""
    running: list[Running] = []

    def start(build: Callable[[str], Any], *, port: int = 0, seconds: float = 5.0) -> Running:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        address = f"http://127.0.0.1:{sock.getsockname()[1]}/"
        running.append(Running(build(address), sock, seconds))
        return running[-1]

    yield start
    for one in running:
        if one.thread.is_alive():
            one.stop()


@pytest.fixture
def serve_model(run_agent: Any, video_root: Path) -> Callable[..., Running]:
    """A function from a model to a running agent under test."""

    def start(
        model: Any, *, port: int = 0, seconds: float = 5.0, limits: Any = None, **options: Any
    ) -> Running:
        from ego_adr.agents.serving import build_agent
        from ego_adr.detector import EgoADR

        detector = EgoADR(model, cache=False, **{"route": "single-pass", **options})
        running: Running = run_agent(
            lambda url: build_agent(detector, video_root=video_root, url=url, limits=limits),
            port=port,
            seconds=seconds,
        )
        return running

    return start


@pytest.fixture(scope="session")
def published() -> Callable[..., str]:
    """The message of the published evaluator."""

    def make(
        video: str,
        *,
        step: str | None = "Cut the tomato",
        question: str = "",
        start: Any = 0.0,
        end: Any = 1.5,
    ) -> str:
        asked = f'Current Step: "{step}"\n\n' if step is not None else f"Question: {question}"
        held = f"Some definitions, <b>1</b>. a < b.\n\nTask Procedure: Wash it. Cut it.\n\n{asked}"
        tags = {"video_path": video, "question": held, "start_ts": start, "end_ts": end}
        return "\n                 ".join(f"<{name}>{value}</{name}>" for name, value in tags.items())

    return make
