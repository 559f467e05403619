"""How long scoring takes: python examples/bench/scoring.py [ROWS]

Makes rows of nine labels over videos of four rows each, then times reading a log, scoring it with intervals, and
comparing it with a second run. Needs no model and no data.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ego_adr.evaluation.metrics import score_outcomes
from ego_adr.evaluation.paired import paired_difference
from ego_adr.evaluation.predictions import read_predictions
from ego_adr.evaluation.results import LogWriter
from ego_adr.taxonomies import Taxonomy

T = TypeVar("T")


def timed(what: str, work: Callable[[], T]) -> T:
    begin = time.perf_counter()
    result = work()
    print(f"{what:<58}{time.perf_counter() - begin:8.2f} s")
    return result


def write_log(path: Path, rows: int, seed: int, labels: tuple[str, ...]) -> None:
    random_truth, said = random.Random(0), random.Random(seed)
    with LogWriter(path) as log:
        log.write(
            [
                {
                    "id": f"row {i}",
                    "group": f"video {i // 4}",
                    "dataset": f"set {i % 4}",
                    "truth": [random_truth.choice(labels)],
                    "status": "ok",
                    "prediction": said.choice(labels),
                    "p_error": said.random(),
                }
                for i in range(rows)
            ]
        )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    taxonomy = Taxonomy.load()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{seed}.jsonl" for seed in (1, 2)]
        for seed, path in enumerate(paths, 1):
            write_log(path, rows, seed, taxonomy.names)
        print(f"{rows:,} rows, {rows // 4:,} videos, 2,000 resamples")
        runs = timed(
            "read two logs with checksums", lambda: [read_predictions(path, taxonomy) for path in paths]
        )
    timed("score without intervals", lambda: score_outcomes(runs[0].outcomes, taxonomy, resamples=0))
    timed("score with intervals", lambda: score_outcomes(runs[0].outcomes, taxonomy))
    timed(
        "paired difference of two runs",
        lambda: paired_difference(runs[0].outcomes, runs[1].outcomes, taxonomy),
    )


if __name__ == "__main__":
    main()
