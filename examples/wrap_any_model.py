"""Wrap any model that you can call: a function of pictures and a prompt is enough.

    python examples/wrap_any_model.py VIDEO --procedure FILE --action TEXT

The "model" here is no model at all: it measures how much the pictures change and says so in words, so that the
example runs anywhere. Put your own call in the place of `look`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from ego_adr import EgoADR, Frame


def look(frames: Sequence[Frame], prompt: str) -> str:  # noqa: ARG001 - a real model would read it
    """Describe a clip by how much of it moves. ``frames[i].array`` is H x W x 3 uint8, ``.time`` in seconds."""
    if not frames:
        raise ValueError("this function needs pictures")  # the probe takes the shallow route then
    pairs = pairwise(frames)
    moved = [float(np.abs(a.array.astype(int) - b.array.astype(int)).mean()) for a, b in pairs]
    if not moved or max(moved) < 1.0:
        return "Nothing moves; the step is not performed."
    busiest = frames[int(np.argmax(moved))].time
    return f"The hands move most at {busiest:.1f} seconds. No anomaly."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("video", type=Path)
    parser.add_argument("--procedure", type=Path, required=True)
    parser.add_argument("--action", required=True)
    arguments = parser.parse_args()
    detection = EgoADR(look).detect(arguments.video, arguments.procedure, arguments.action)
    print(f"{detection.status}: {detection.label or detection.reason or detection.failure}")
    print(f"route: {detection.route} ({detection.route_reason})")
    print(f"narration: {detection.narration}")


if __name__ == "__main__":
    main()
