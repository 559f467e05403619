"""Tiny checkpoints with random weights of real architectures, built once a session and loaded by the real code."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ego_adr.types import Frame, FrameSequence


@pytest.fixture(scope="session")
def tiny_checkpoint(repository: Path) -> ModuleType:
    """The example that builds tiny checkpoints, as a module."""
    spec = importlib.util.spec_from_file_location(
        "tiny_checkpoint", repository / "examples" / "tiny_checkpoint.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny(tiny_checkpoint: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """From an architecture to the folder of its tiny checkpoint."""
    root = tmp_path_factory.mktemp("tiny")
    made: dict[str, Path] = {}

    def folder(architecture: str) -> Path:
        if architecture not in made:
            made[architecture] = tiny_checkpoint.build(architecture, root / architecture)
        return made[architecture]

    return folder


@pytest.fixture(scope="session")
def tiny_model(tiny: Callable[[str], Path]) -> Callable[[str], Any]:
    """From an architecture to its tiny model, loaded once; tests leave it as it was."""
    from ego_adr.models.registry import load_model

    made: dict[str, Any] = {}

    def model(architecture: str) -> Any:
        if architecture not in made:
            made[architecture] = load_model(tiny(architecture))
        return made[architecture]

    return model


@pytest.fixture(scope="session")
def clip() -> Callable[..., FrameSequence]:
    """Makes a clip of noise: pictures in the middles of equal parts of an interval, as the sampler takes them."""

    def make(
        n: int = 8,
        *,
        start: float = 100.0,
        end: float = 116.0,
        size: tuple[int, int] = (56, 84),
        seed: int = 0,
    ) -> FrameSequence:
        rng = np.random.default_rng(seed)
        part = (end - start) / n
        frames = FrameSequence(
            Frame(rng.integers(0, 256, (*size, 3), dtype=np.uint8), start + part * (place + 0.5))
            for place in range(n)
        )
        frames.start, frames.end = start, end
        return frames

    return make


@pytest.fixture
def library_log() -> Iterator[list[logging.LogRecord]]:
    """What transformers and this library log at WARNING and above while a test runs."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Keep(level=logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("transformers", "ego_adr")]
    for logger in loggers:
        logger.addHandler(handler)
    yield records
    for logger in loggers:
        logger.removeHandler(handler)
