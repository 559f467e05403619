"""What a person sees of a run while it goes on: the total first, then rate and time left, on stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ego_adr.evaluation.runner import choose_samples

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    from ego_adr.benchmarks.samples import Sample

__all__ = ["run_progress", "said_before"]


def said_before(
    samples: Sequence[Sample],
    benchmark: str,
    runs: Sequence[str],
    *,
    limit: int | None = None,
    seed: int = 0,
    shard: tuple[int, int] | None = None,
    **_: Any,
) -> list[str]:
    """What a run will do, in lines: how many samples of which data sets, and how they were chosen."""
    chosen = choose_samples(samples, limit, seed)
    counts = Counter(sample.dataset or "no data set named" for sample in chosen)
    sets = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    lines = [
        f"{benchmark}: {len(chosen):,} samples ({sets}) x {len(runs)} run{'' if len(runs) == 1 else 's'}"
    ]
    if limit is not None and len(chosen) < len(samples):
        lines.append(f"limit {limit:,} of {len(samples):,}, over all data sets together, seed {seed}")
    if shard is not None:
        count = len(range(shard[0] - 1, len(chosen), shard[1]))
        lines.append(f"shard {shard[0]} of {shard[1]}: {count:,} samples")
    unasked = Counter(sample.problem.cause for sample in chosen if sample.problem is not None)
    lines += [f"{count:,} of them cannot be asked: {cause}" for cause, count in unasked.items()]
    return lines


@contextmanager
def run_progress() -> Iterator[tuple[Callable[[str, int, int], None], Callable[[str, Any], None]]]:
    """Two callbacks for `run_plans`: one for samples that are done, one for a run that starts.

    A detector that tells of its stages gets a line for them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        _rate(),
        TextColumn("left", style="dim"),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
    ) as shown:
        runs: dict[str, Any] = {}
        stages: dict[str, Any] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in runs:
                # Samples of earlier starts are no measure of this start's rate.
                runs[name] = shown.add_task(name, total=total, completed=done, before=done)
            shown.update(runs[name], completed=done, total=total)

        def stage(name: str, done: int, total: int) -> None:
            if name not in stages:
                stages[name] = shown.add_task(f"  {name}", total=total)
            shown.reset(stages[name], total=total) if done == 0 else None
            shown.update(stages[name], completed=done, total=total, visible=done < total)

        def started(_: str, detector: Any) -> None:
            if getattr(detector, "progress", stage) is None:
                detector.progress = stage

        yield progress, started


def _rate() -> ProgressColumn:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Samples a second, or seconds a sample where that is the larger number."""

        def render(self, task: Task) -> Text:
            done = task.completed - float(task.fields.get("before", 0))
            if not task.elapsed or done <= 0:
                return Text("")
            rate = done / task.elapsed
            return Text(f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s each", style="dim")

    return Rate()
