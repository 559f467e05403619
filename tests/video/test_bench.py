"""The bench of frame readers: what it counts as wrong is wrong."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def bench(repository: Path) -> Any:
    spec = importlib.util.spec_from_file_location(
        "bench_frames", repository / "examples" / "bench" / "frames.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_frames"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["variable-rate", "rotated-90"])
def test_no_picture_of_ours_is_wrong_and_pictures_by_index_are(name: str, bench: Any, tmp_path: Path) -> None:
    (kind,) = (replace(kind, minutes=0.1) for kind in bench.kinds(1.0) if kind.name == name)
    path = tmp_path / "video.mp4"
    shown = bench.write(kind, path)
    assert bench.write(kind, path) == shown
    pictures = bench.by_ego_adr(path, 0.5, 5.5)
    assert max(pictures[0].shape) == bench.LONGER_SIDE
    assert bench.wrong(pictures, shown, 0.5, 5.5, kind.rotation) == 0
    assert bench.wrong(pictures, shown, 0.0, 4.0, kind.rotation) > 4
    assert bench.wrong(pictures[:5], shown, 0.5, 5.5, kind.rotation) == 3


def test_clips_lie_in_the_video_and_are_the_same_each_time(bench: Any) -> None:
    shown = [index / 30 for index in range(3000)]
    spans = bench.clips(shown, 50, seed=1)
    assert spans == bench.clips(shown, 50, seed=1)
    assert all(0 <= start < end <= shown[-1] and 5 <= end - start <= 40 for start, end in spans)


def test_a_run_prints_a_row_for_each_reader(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = replace(bench.kinds(1.0)[0], minutes=0.1)
    shown = bench.write(kind, tmp_path / "video.mp4")
    bench.measure(kind, tmp_path / "video.mp4", shown, 1)
    rows = capsys.readouterr().out
    assert "long-gop: libx264 640x360" in rows
    assert all(name in rows for name in bench.readers())
    assert " 0.0%" in rows
