"""What do the earlier steps of a recording tell, when the clips tell nothing? EgoErrorVQA's CaptainCook4D rows.

    python examples/history_gain.py --data DIR [--graphs DIR/captaincook4d/task_graphs] [--recordings FILE]

Every clip is said to be correct, by a model that looks at nothing; what is found is found by the join alone. Without
--graphs the order is read from the procedures' texts. With --graphs the rows of tasks that have a graph are also
scored by themselves, for no other row can change. The rows are a few of each recording's steps; --recordings takes
the words and times of all of them from CaptainCook4D's own annotations (never their tags).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from ego_adr.benchmarks import load_samples
from ego_adr.benchmarks.narrations import Narrations
from ego_adr.benchmarks.samples import Sample
from ego_adr.detector import EgoADR
from ego_adr.errors import EgoADRError
from ego_adr.evaluation.history import RecordingHistory
from ego_adr.evaluation.metrics import score_outcomes
from ego_adr.evaluation.predictions import read_predictions
from ego_adr.evaluation.runner import evaluate
from ego_adr.models.scripted import ScriptedModel
from ego_adr.sessions.captaincook4d import read_recordings
from ego_adr.taxonomies import Taxonomy


def measure(name: str, samples: list[Sample], history: RecordingHistory | None, taxonomy: Taxonomy) -> None:
    """Run and print one line, and a line for each label that was predicted."""
    detector = EgoADR(
        ScriptedModel(lambda _: taxonomy.correct.name),
        route="deep",
        match="off",
        cache=False,
        taxonomy=taxonomy,
    )
    unseen = Narrations({sample.id: "not looked at" for sample in samples}, {})
    with tempfile.TemporaryDirectory() as folder:
        result = evaluate(samples, detector, folder, narrations=unseen, history=history, chunk=512)
        outcomes = read_predictions(Path(folder) / "results.jsonl", taxonomy).outcomes
    score = score_outcomes(outcomes, taxonomy, resamples=2000)
    rates = score.rates
    figures = [
        rates.accuracy,
        rates.precision,
        rates.recall,
        rates.f1,
        rates.balanced_accuracy,
        rates.macro_f1,
    ]
    shown = "  ".join("    –" if value is None else f"{100 * value:5.1f}" for value in figures)
    low, high = score.intervals.get("balanced_accuracy", (float("nan"), float("nan")))
    print(
        f"{name:<34} {rates.rows:5,}  {shown}  {100 * low:5.1f} to {100 * high:4.1f}  {result.relabelled:5,}"
    )
    for label in dict.fromkeys(outcome.label for outcome in outcomes if outcome.label is not None):
        if label == taxonomy.correct.name:
            continue
        said = [outcome for outcome in outcomes if outcome.label == label]
        right = sum(label in outcome.truth for outcome in said)
        other = sum(label not in o.truth and taxonomy.correct.name not in o.truth for o in said)
        there = sum(label in outcome.truth for outcome in outcomes)
        print(
            f"    {label}: {len(said)} said, {right} right, {other} on another error, "
            f"{len(said) - right - other} on correct rows; {there} rows carry it"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--graphs", type=Path, help="a folder of task graphs")
    parser.add_argument("--datasets", default="captaincook4d", help="by commas")
    parser.add_argument(
        "--recordings", type=Path, help="CaptainCook4D's annotations of whole recordings (JSON)"
    )
    given = parser.parse_args()
    try:
        taxonomy = Taxonomy.load()
        samples = load_samples("egoerrorvqa", data=given.data, datasets=given.datasets.split(","))
        logs = None
        if given.recordings is not None:
            logs = {f"captaincook4d/{r.id}": r.events for r in read_recordings(given.recordings)}
        history = RecordingHistory.of(samples, graphs=given.graphs, logs=logs, taxonomy=taxonomy)
        for note in history.notes:
            print(note)
        print(
            f"\n{'clips all correct':<34}  rows    Acc    Pre    Rec     F1  BalAcc  MacF1  BalAcc 95 %   changed"
        )
        measure("without history", samples, None, taxonomy)
        measure("with history", samples, history, taxonomy)
        if given.graphs is not None:
            tasks = {task for task, _ in history.banks}
            covered = [sample for sample in samples if sample.shown.task in tasks]
            measure("tasks with a graph, without", covered, None, taxonomy)
            measure("tasks with a graph, with history", covered, history, taxonomy)
    except EgoADRError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
