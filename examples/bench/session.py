"""How the time of session verdicts grows with the length of the log.

    python examples/bench/session.py [--sizes 100 1000 10000]

Logs of n steps of a procedure with n steps (a chain, done in order, backwards, and shuffled), and of n steps of one
with 20 steps that are repeated over and over.
"""

from __future__ import annotations

import argparse
import random
import time

from ego_adr.procedure.ordering import written_chain
from ego_adr.session import Session, StepEvent
from ego_adr.types import ProcedureBank, Step


def bank_of(count: int) -> ProcedureBank:
    """A procedure of so many steps, each needing the one before."""
    steps = tuple(Step(index=i, text=f"turn wheel number {i}") for i in range(count))
    return written_chain(ProcedureBank(text="", steps=steps))


def logs(count: int, seed: int) -> dict[str, tuple[ProcedureBank, list[StepEvent]]]:
    """Name -> bank and log."""
    shuffled = list(range(count))
    random.Random(seed).shuffle(shuffled)
    long, short = bank_of(count), bank_of(20)
    orders = {"in order": range(count), "backwards": reversed(range(count)), "shuffled": shuffled}
    found = {
        name: (long, [StepEvent(step, t, t + 1.5) for t, step in enumerate(order)])
        for name, order in orders.items()
    }
    words = [StepEvent(short.steps[i % 20].text, float(i), i + 1.0) for i in range(count)]
    overlapping = [StepEvent(step, t / count, 1e6 + t) for t, step in enumerate(shuffled)]
    return found | {
        "all overlapping": (long, overlapping),
        "20 steps again and again, in words": (short, words),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    Session(bank_of(3), [StepEvent(0, 0.0, 1.0)]).verdicts()  # loads what is loaded once
    print(f"{'log':<36} {'steps':>7} {'seconds':>9} {'us a step':>10} {'verdicts':>9}")
    for size in given.sizes:
        for name, (bank, log) in logs(size, given.seed).items():
            begun = time.perf_counter()
            report = Session(bank, log).verdicts()
            taken = time.perf_counter() - begun
            print(f"{name:<36} {size:>7} {taken:>9.3f} {1e6 * taken / size:>10.1f} {len(report.verdicts):>9}")


if __name__ == "__main__":
    main()
