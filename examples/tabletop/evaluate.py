"""Measures the shipped tabletop checkpoints on the frozen test set, through the library as any user would.

    python examples/tabletop/evaluate.py [--clips 400] [--folder DIR] [--json FILE]

The test set has its own seed, holds the same number of clips of every kind, and only pairs of blocks that
training never saw together. Shares come with 95 % Wilson intervals. It measures a toy: a rendered world and a
micro model trained on it. Which route wins on such a model is decided by its training mix and is no evidence
for or against any method.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ego_adr import Clip, Detection, EgoADR, Query, load_model
from ego_adr.tabletop.episodes import Episode, case_labels, draw_case
from ego_adr.tabletop.language import GIVEN_AWAY, KINDS, LABELS

SEED = 40_000_000
AIMS = {"narration": 0.90, "narration of one kind": 0.75, "text": 0.97, "deep": 0.85, "deep, one label": 0.60}


def test_set(clips: int, folder: Path) -> list[Episode]:
    """`clips` one-step recordings, every kind equally often, the possible labels of a kind in turn."""
    cases = []
    for number in range(clips):
        kind = KINDS[number % len(KINDS)]
        labels = case_labels(kind)
        label = labels[number // len(KINDS) % len(labels)]
        cases.append(draw_case(SEED + number, kind, label, folder, unseen=True))
    return cases


def query(case: Episode, narration: str | None = None) -> Query:
    """The question that a user would ask about this clip; a narration spares the model the clip."""
    (segment,) = case.segments
    return Query(
        clip=Clip(case.video, segment.start, segment.end),
        procedure=case.procedure,
        action=case.step_log()[0]["action"],
        id=case.name,
        narration=narration,
    )


def wilson(right: int, asked: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share after E. B. Wilson (1927)."""
    if asked == 0:
        return (0.0, 1.0)
    share = right / asked
    centre = share + z * z / (2 * asked)
    reach = z * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    scale = 1 + z * z / asked
    return ((centre - reach) / scale, (centre + reach) / scale)


def told(right: int, asked: int) -> str:
    """`.95 [.92, .97] 380/400`."""
    low, high = wilson(right, asked)
    return f"{right / max(asked, 1):.3f} [{low:.3f}, {high:.3f}] {right}/{asked}"


def words(text: str | None) -> str:
    """A narration without punctuation, for comparison word by word."""
    return " ".join((text or "").lower().replace(",", " ").replace(".", " ").split())


Judge = Callable[[Episode, Detection], bool]


def narrated(case: Episode, found: Detection) -> bool:
    """Whether the narration is the exact sentence: object, action and place."""
    return words(found.narration) == words(case.segments[0].narration)


def labelled(case: Episode, found: Detection) -> bool:
    """Whether the label is the one that the world's rule gives."""
    return found.label == case.segments[0].label


def matched(case: Episode, found: Detection) -> bool:
    """Whether the match stage found the step that was asked for."""
    return found.match is not None and found.match.index == case.segments[0].index


class Table:
    """Prints shares, and keeps them for the JSON file."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def share(self, name: str, cases: Sequence[Episode], found: Sequence[Detection], judge: Judge) -> float:
        """Prints one share with its interval and returns it."""
        right = sum(judge(case, detection) for case, detection in zip(cases, found, strict=True))
        print(f"  {name:<44} {told(right, len(cases))}")
        self.kept[name] = {"right": right, "asked": len(cases), "interval": wilson(right, len(cases))}
        return right / max(len(cases), 1)

    def split(
        self,
        name: str,
        cases: Sequence[Episode],
        found: Sequence[Detection],
        judge: Judge,
        key: Callable[[Episode], str],
        order: Iterable[str],
    ) -> dict[str, float]:
        """Prints the share of every group and returns them."""
        groups: dict[str, list[int]] = defaultdict(list)
        for index, case in enumerate(cases):
            groups[key(case)].append(index)
        return {
            group: self.share(
                f"{name}: {group}",
                [cases[i] for i in groups[group]],
                [found[i] for i in groups[group]],
                judge,
            )
            for group in order
            if group in groups
        }


def kind_of(case: Episode) -> str:
    """What is seen in the clip."""
    return case.segments[0].event.kind


def label_of_case(case: Episode) -> str:
    """The label that the rule gives."""
    return case.segments[0].label


def latency(name: str, found: Sequence[Detection]) -> dict[str, float]:
    """Prints and returns seconds a clip for every stage."""
    spent: dict[str, float] = defaultdict(float)
    for detection in found:
        for use in detection.stages:
            spent[use.stage] += use.seconds
    shares = {stage: seconds / len(found) for stage, seconds in spent.items()}
    print(f"  {name}: " + ", ".join(f"{stage} {seconds:.3f} s" for stage, seconds in shares.items()))
    return shares


def main() -> None:
    """Runs everything and prints it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clips", type=int, default=400)
    parser.add_argument("--model", default="tabletop", help="name or folder of the checkpoint that goes deep")
    parser.add_argument(
        "--vision", default="tabletop-vision", help="name or folder of the one that goes shallow"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the clips are rendered; a temporary folder otherwise"
    )
    parser.add_argument("--json", type=Path, help="write all figures there, too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        evaluate(args.model, args.vision, args.clips, args.folder or Path(spare), args.json)


def evaluate(model_name: str, vision_name: str, clips: int, folder: Path, json_file: Path | None) -> None:
    """Renders the test set and measures both checkpoints on it."""
    begun = time.monotonic()
    cases = test_set(clips, folder)
    print(f"{len(cases)} clips of unseen pairs rendered in {time.monotonic() - begun:.0f} s")
    model, vision = load_model(model_name), load_model(vision_name)
    table = Table()

    def run(which: Any, route: str, narrations: Sequence[str | None] | None = None) -> list[Detection]:
        said = narrations or [None] * len(cases)
        detector = EgoADR(which, route=route, cache=False)
        return detector.detect_many([query(case, text) for case, text in zip(cases, said, strict=True)])

    print("\nprobe (which route by itself)")
    for name, which in ((model_name, model), (vision_name, vision)):
        probe = EgoADR(which, cache=False).probe()
        print(f"  {name:<44} {probe.route} ({probe.right} of {probe.asked} right)")
        table.kept[f"probe {name}"] = {"route": probe.route, "right": probe.right, "asked": probe.asked}

    print(f"\n{model_name}, deep route")
    deep = run(model, "deep")
    table.share("narration, exact sentence", cases, deep, narrated)
    table.split("narration", cases, deep, narrated, kind_of, KINDS)
    table.share("match", cases, deep, matched)
    table.share("label", cases, deep, labelled)
    table.split("label", cases, deep, labelled, label_of_case, LABELS)

    print(f"\n{model_name}, text-only stages, the true sentence as narration")
    text = run(model, "deep", [case.segments[0].narration for case in cases])
    table.share("text: match", cases, text, matched)
    table.share("text: label", cases, text, labelled)
    table.split("text: label", cases, text, labelled, label_of_case, LABELS)

    print(f"\n{model_name}, deep route, clips as images with their times (what a chat server is sent)")
    served = run(load_model(model_name, clip_form="timed images"), "deep")
    table.share("images: narration, exact sentence", cases, served, narrated)
    table.split("images: narration", cases, served, narrated, kind_of, KINDS)
    table.share("images: label", cases, served, labelled)
    same = [a.narration == b.narration and a.label == b.label for a, b in zip(deep, served, strict=True)]
    print(f"  {'images: same narration and label as a video':<44} {told(sum(same), len(same))}")
    table.kept["images: same"] = {"right": sum(same), "asked": len(same)}

    print(f"\n{vision_name}, shallow route")
    shallow = run(vision, "shallow")
    table.share("shallow: narration, exact sentence", cases, shallow, narrated)
    table.share("shallow: label", cases, shallow, labelled)
    given = [i for i, case in enumerate(cases) if kind_of(case) in GIVEN_AWAY]
    some = [cases[i] for i in given]
    table.share("shallow: labels the narration gives away", some, [shallow[i] for i in given], labelled)
    table.split("shallow", cases, shallow, labelled, label_of_case, LABELS)

    print(f"\n{vision_name}, deep route by force (worse, as it should be)")
    forced = run(vision, "deep", [found.narration for found in shallow])
    table.share("forced deep: label", cases, forced, labelled)

    print(f"\n{model_name}, routes to compare (decided by the training mix, no evidence for any method)")
    table.share("shallow: label", cases, run(model, "shallow", [found.narration for found in deep]), labelled)
    for route in ("single-pass", "cot"):
        table.share(f"{route}: label", cases, run(model, route), labelled)

    print("\nseconds a clip on this CPU, batches as the library makes them")
    table.kept["latency"] = {"deep": latency("deep", deep), "shallow": latency("shallow", shallow)}
    print(f"\nall in {time.monotonic() - begun:.0f} s")
    if json_file is not None:
        json_file.write_text(json.dumps(table.kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
