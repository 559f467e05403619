"""How often does a matcher find the right step? Measured on gold spans in procedure texts.

    python examples/step_match.py --data DIR [--cut sentence|clause|phrase] [--json]

DIR holds ``steps/step_spans.jsonl`` and ``egoerrorvqa/procedure.json``. A match is right when the chosen step covers
at least half of a gold span. Coarse steps make that easy, so the number of steps a procedure stands beside every
figure. "No such step" is how well the score tells pairs with a step from pairs without one (area under the ROC
curve, for pairs whose action the procedure does not mention).
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ego_adr import ProcedureBank, match_step, read_procedure
from ego_adr.procedure.splitting import Granularity

GRANULARITIES: tuple[Granularity, ...] = ("sentence", "clause", "phrase")


def covers(step: tuple[int, int], span: Sequence[int]) -> bool:
    """Whether a step covers at least half of a gold span."""
    return 2 * (min(step[1], span[1]) - max(step[0], span[0])) >= span[1] - span[0]


def measure(
    pairs: Sequence[Mapping[str, Any]], banks: Mapping[str, ProcedureBank], method: str
) -> dict[str, Any]:
    """Top-1, its ceiling, and the no-such-step area for one matcher."""
    from sklearn.metrics import roc_auc_score

    hits: dict[str, list[bool]] = defaultdict(list)
    ceiling: list[bool] = []
    scores: list[float] = []
    present: list[bool] = []
    for pair in pairs:
        bank = banks[pair["task_id"]]
        match = match_step(pair["action"], bank, method=method)
        scores.append(match.score or 0.0)
        present.append(bool(pair["spans"]))
        if not pair["spans"]:
            continue
        right = [
            i
            for i, step in enumerate(bank.steps)
            if step.span and any(covers(step.span, s) for s in pair["spans"])
        ]
        ceiling.append(bool(right))
        hits[pair["task_id"]].append(match.index in right)
    every = [hit for task in hits.values() for hit in task]
    by_task = {task: sum(found) / len(found) for task, found in hits.items()}
    tasks = sorted(by_task)
    halves = [[hit for task in tasks[k::2] for hit in hits[task]] for k in (0, 1)]
    return {
        "method": method,
        "pairs": len(every),
        "top1": sum(every) / len(every),
        "ceiling": sum(ceiling) / len(ceiling),
        "halves": [sum(half) / len(half) for half in halves],
        "worst_task": min(by_task.items(), key=lambda item: item[1]),
        "no_step_auc": roc_auc_score(present, scores) if len(set(present)) == 2 else None,
        "no_step_pairs": present.count(False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("EGO_ADR_DATA"), required="EGO_ADR_DATA" not in os.environ
    )
    parser.add_argument(
        "--cut", choices=GRANULARITIES, action="append", help="how finely to cut; all by default"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    lines = (arguments.data / "steps" / "step_spans.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines if line.strip()]
    texts = json.loads((arguments.data / "egoerrorvqa" / "procedure.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = []
    for granularity in arguments.cut or GRANULARITIES:
        banks = {
            task: read_procedure(texts[task], granularity=granularity)
            for task in {pair["task_id"] for pair in pairs}
        }
        steps = sum(len(bank.steps) for bank in banks.values()) / len(banks)
        found += (
            {"granularity": granularity, "steps": steps} | measure(pairs, banks, method)
            for method in ("published", "recommended")
        )
    if arguments.json:
        print(json.dumps({"tasks": len(banks), "results": found}))
        return
    print(f"{len(pairs)} actions of {len(banks)} tasks")
    heads = f"{'top-1':>7}{'ceiling':>9}{'halves of tasks':>18}  {'no-step AUC':>12}"
    print(f"{'cut':<10}{'steps':>6}  {'matcher':<12}{heads}  worst task")
    for row in found:
        halves = " / ".join(f"{half:.3f}" for half in row["halves"])
        task, share = row["worst_task"]
        auc = "-" if row["no_step_auc"] is None else f"{row['no_step_auc']:.3f} ({row['no_step_pairs']})"
        print(
            f"{row['granularity']:<10}{row['steps']:>6.1f}  {row['method']:<12}{row['top1']:>7.3f}{row['ceiling']:>9.3f}"
            f"{halves:>18}  {auc:>12}  {share:.2f} {task}"
        )


if __name__ == "__main__":
    main()
