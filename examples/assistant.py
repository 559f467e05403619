"""A prototype of an assistant: it watches the steps of a recording one after another and speaks up.

    python examples/assistant.py RECORDING.mp4 --procedure FILE --log STEPS.csv [--model tabletop]

STEPS.csv holds a line a step: start, end, action (seconds, seconds, words), as a cheap step detector or a person
with a button would write it. The assistant says nothing while all is well.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from ego_adr import Clip, Detection, EgoADR, Query, read_procedure


def watch(
    detector: EgoADR, recording: Path, procedure: Path, log: Path
) -> Iterator[tuple[Detection, str | None]]:
    """Judge the logged steps in order; beside each result what is to be said aloud, or None."""
    bank = read_procedure(procedure)
    with log.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, fieldnames=["start", "end", "action"]):
            query = Query(Clip(recording, row["start"], row["end"]), bank, row["action"].strip())
            detection = detector.detect_many([query])[0]
            yield detection, what_to_say(detection)


def what_to_say(detection: Detection) -> str | None:
    """A sentence for the person, only when there is something to say."""
    if detection.status != "ok":
        return None  # an assistant that isn't sure keeps silent; the log has the reason
    if not detection.is_error:
        return None
    step = detection.step or detection.action
    seen = f" I saw: {detection.narration}" if detection.narration else ""
    return f"Please check '{step}': this looks like {str(detection.label).lower()}.{seen}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recording", type=Path)
    parser.add_argument("--procedure", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--model", default="tabletop")
    arguments = parser.parse_args()
    detector = EgoADR(arguments.model)
    for detection, sentence in watch(detector, arguments.recording, arguments.procedure, arguments.log):
        when = f"{detection.start or 0:7.1f} s"
        state = detection.label or detection.status
        print(f"{when}  {detection.action:<48} {state}")
        if sentence:
            print(f"{'':9}  > {sentence}")


if __name__ == "__main__":
    main()
