"""Order errors and omissions in CaptainCook4D's recordings, with gold step times: how well are they found?

    python examples/captaincook4d_order.py --data DIR [--graph gold|text|model|chain|none] [--examples N]
    python examples/captaincook4d_order.py --data DIR --graph text --prose procedure.json

DIR holds CaptainCook4D's files (or a folder ``captaincook4d`` with them): ``recordings*.json`` and ``task_graphs/``.
Graphs other than gold start from a bank in written order: the steps of the recipe's first error-free recording.
That recording, and the N error-free recordings of ``--examples`` that drop what they contradict, are not scored.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ego_adr.errors import DataError, EgoADRError
from ego_adr.models.base import VideoLLM
from ego_adr.procedure.bank import read_procedure
from ego_adr.procedure.ordering import drop_contradicted, order_from_text, order_with_model, written_chain
from ego_adr.session import Session
from ego_adr.sessions.captaincook4d import (
    Recording,
    error_free_recordings,
    read_recordings,
    task_graph_bank,
    written_bank,
)
from ego_adr.sessions.scoring import Counts, RecordingScore, bootstrap_f1, rates, score_recording, total
from ego_adr.types import ProcedureBank


def find_data(folder: Path) -> tuple[list[Path], Path]:
    """The files of recordings and the folder of task graphs.

    Raises:
        DataError: when they are not there.
    """
    for place in (folder, folder / "captaincook4d"):
        recordings = sorted(place.glob("*recordings*.json"))
        if recordings:
            return recordings, place / "task_graphs"
    raise DataError(
        f"no recordings*.json in {str(folder)!r} or its folder captaincook4d; give --data the right folder."
    )


PROSE_WARNING = """
Warning: these procedures are prose. A text that sums a recipe up does not keep the order of its steps, and a clause
of it holds several of them: order errors are found much worse than from a step list. Prefer a list of steps.
"""


def read_prose(path: Path) -> dict[str, str]:
    """Texts of procedures by title.

    Raises:
        DataError: when the file is no such JSON.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise DataError(f"{path} cannot be read as procedures by title: {exc}.") from exc
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise DataError(f"{path} must map titles to texts.")
    return data


def example_log(bank: ProcedureBank, recording: Recording) -> list[tuple[int, float, float]]:
    """A recording as (step, start, end), for dropping what it contradicts."""
    return [(e.step, e.start, e.end) for e in Session(bank, recording.events).events if e.step is not None]


def make_bank(
    recordings: Sequence[Recording],
    recipe: str,
    graph: str,
    graphs: Path,
    examples: int,
    model: VideoLLM | None,
    heat_last: bool,
    written: int,
    prose: dict[str, str] | None,
) -> tuple[ProcedureBank, set[str]]:
    """The bank of a recipe, and the ids of the recordings that it was made of."""
    if graph == "gold" and not examples:
        return task_graph_bank(graphs, recipe), set()
    if prose is not None:
        # The text is cut by rules; each event is matched to the clause it resembles most.
        return order_from_text(read_procedure(prose[recipe], title=recipe), heat_last=heat_last), set()
    clean = error_free_recordings(recordings, recipe)
    if not clean:
        raise DataError(
            f"{recipe} has no error-free recording to take the written order from; use --graph gold."
        )
    source = clean[written % len(clean)]
    bank = task_graph_bank(graphs, recipe) if graph == "gold" else written_bank(source)
    if graph == "text":
        bank = order_from_text(bank, heat_last=heat_last)
    elif graph == "chain":
        bank = written_chain(bank)
    elif graph == "model":
        assert model is not None
        bank = order_with_model(bank, model)
    shown = [recording for recording in clean if recording is not source][:examples]
    bank = drop_contradicted(bank, [example_log(bank, recording) for recording in shown])
    used = {recording.id for recording in shown} | (set() if graph == "gold" else {source.id})
    return bank, used


def line(name: str, counts: Counts, intervals: bool = False, parts: Sequence[Counts] = ()) -> str:
    """One row of the table."""
    precision, recall, f1 = rates(counts)
    counted = f"({counts.tp} right, {counts.fp} false, {counts.fn} missed)"
    text = f"{name:<34} P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}   {counted}"
    if intervals and parts:
        found = bootstrap_f1(parts)
        text += "   95 %: " + "  ".join(f"{key} {low:.3f}..{high:.3f}" for key, (low, high) in found.items())
    return text


def report(scores: Sequence[RecordingScore]) -> None:
    """Print everything."""
    recipes: dict[str, list[RecordingScore]] = defaultdict(list)
    for score in scores:
        recipes[score.recipe].append(score)
    print(f"{len(scores)} recordings of {len(recipes)} recipes\n")
    print("Order errors by recipe")
    f1: dict[str, float] = {}
    for recipe, found in sorted(recipes.items()):
        counts = total(score.order for score in found)
        f1[recipe] = rates(counts)[2]
        print("  " + line(recipe, counts))
    worst = min(f1, key=lambda recipe: f1[recipe])
    print(f"  mean F1 over recipes {sum(f1.values()) / len(f1):.3f}, worst {worst} {f1[worst]:.3f}")
    left = {r: rates(total(s.order for s in scores if s.recipe != r))[2] for r in recipes}
    low, high = min(left, key=lambda r: left[r]), max(left, key=lambda r: left[r])
    print(
        "  all recipes but one: "
        + f"F1 {left[low]:.3f} (without {low}) to {left[high]:.3f} (without {high})\n"
    )
    print(line("order, offline", total(s.order for s in scores), True, [s.order for s in scores]))
    print(
        line("order, online", total(s.order_online for s in scores), True, [s.order_online for s in scores])
    )
    print(line("omission, offline", total(s.omission for s in scores), True, [s.omission for s in scores]))
    print(
        line(
            "omission, online",
            total(s.omission_online for s in scores),
            True,
            [s.omission_online for s in scores],
        )
    )
    clean = [score for score in scores if score.clean]
    print(f"\n{sum(s.flagged for s in clean)} of {len(clean)} recordings without an order error are flagged")
    later = total(s.later for s in scores)
    print(
        f"{later.tp + later.fp} flagged steps ({later.tp} rightly) can be known only later: they began before a step that "
        "they need, and only its beginning shows that it was late and not left out"
    )
    print("\nWhich rule found them")
    rules = sorted({rule for score in scores for rule in score.by_rule})
    for rule in rules:
        counts = total(score.by_rule[rule] for score in scores if rule in score.by_rule)
        print(
            f"  {rule:<30} {counts.tp:4d} right {counts.fp:4d} false   P {counts.tp / (counts.tp + counts.fp):.3f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--graph", choices=["gold", "text", "model", "chain", "none"], default="gold")
    parser.add_argument(
        "--examples",
        type=int,
        default=0,
        metavar="N",
        help="error-free recordings that drop edges they contradict",
    )
    parser.add_argument("--model", help="for --graph model: a name as ego-adr takes it")
    parser.add_argument(
        "--no-heat-last", action="store_true", help="without the convention that a pan is heated last"
    )
    parser.add_argument(
        "--written",
        type=int,
        default=0,
        metavar="K",
        help="take the K-th error-free recording for the written order",
    )
    parser.add_argument("--recipes", nargs="*", help="only these recipes")
    parser.add_argument(
        "--prose", type=Path, metavar="FILE", help="procedure.json: texts by recipe, in place of step lists"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="print every flagged step with the rule and the pair that found it",
    )
    given = parser.parse_args()
    try:
        places, graphs = find_data(given.data)
        recordings = list({r.id: r for place in places for r in read_recordings(place)}.values())
        prose = read_prose(given.prose) if given.prose is not None else None
        if prose is not None and given.graph != "text":
            raise DataError("--prose goes with --graph text.")
        model: VideoLLM | None = None
        if given.graph == "model":
            from ego_adr.models.registry import load_model

            if not given.model:
                raise DataError("--graph model needs --model NAME (hf:..., http://.../v1#name, a path).")
            model = load_model(given.model)
        scores: list[RecordingScore] = []
        for recipe in sorted({recording.recipe for recording in recordings}):
            if (given.recipes and recipe not in given.recipes) or (prose is not None and recipe not in prose):
                continue
            try:
                bank, used = make_bank(
                    recordings,
                    recipe,
                    given.graph,
                    graphs,
                    given.examples,
                    model,
                    not given.no_heat_last,
                    given.written,
                    prose,
                )
            except EgoADRError as exc:
                print(f"left out: {recipe}: {exc}", file=sys.stderr)
                continue
            scores += [
                score_recording(r, bank) for r in recordings if r.recipe == recipe and r.id not in used
            ]
        if not scores:
            raise DataError("nothing was scored; see the lines above.")
        print(f"graph: {given.graph}" + (f", {given.examples} error-free examples" if given.examples else ""))
        if prose is not None:
            print(PROSE_WARNING)
        report(scores)
        if given.list:
            print("\nEvery flagged step (+ tagged as an order error, - not)")
            for score in scores:
                for right, rule, evidence in score.findings:
                    print(f"  {score.id:<8} {'+' if right else '-'} {rule}: {evidence}")
    except EgoADRError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
