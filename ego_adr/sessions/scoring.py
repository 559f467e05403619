"""How well session verdicts find the order errors and omissions that annotators tagged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ego_adr.session import Session
from ego_adr.sessions.captaincook4d import MISSING_TAG, ORDER_TAG, Recording
from ego_adr.sessions.naming import StepNamer
from ego_adr.sessions.reports import SessionReport
from ego_adr.sessions.verdicts import LABEL_OF_RULE
from ego_adr.types import ProcedureBank

__all__ = ["Counts", "RecordingScore", "bootstrap_f1", "rates", "score_recording", "total"]


@dataclass
class Counts:
    """Hits, false alarms and misses."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)


@dataclass
class RecordingScore:
    """One recording against its tags.

    Attributes:
        order: timed steps flagged as out of order against those tagged "Order Error".
        omission: steps said to be left out against those tagged "Missing Step".
        order_online, omission_online: the same with what a live assistant can know.
        clean: no step has an order tag. flagged: some step was flagged as out of order.
        by_rule: rule -> order errors it found, rightly and wrongly.
        later: order errors found that could be known only after the step itself.
        findings: for each flagged step whether it is tagged so, the rules that found it, and the evidence.
    """

    id: str
    recipe: str
    order: Counts = field(default_factory=Counts)
    omission: Counts = field(default_factory=Counts)
    order_online: Counts = field(default_factory=Counts)
    omission_online: Counts = field(default_factory=Counts)
    clean: bool = True
    flagged: bool = False
    by_rule: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    later: Counts = field(default_factory=Counts)
    findings: list[tuple[bool, str, str]] = field(default_factory=list)


def score_recording(recording: Recording, bank: ProcedureBank) -> RecordingScore:
    """Judge one recording offline and online and compare with its tags, which the verdicts never see."""
    session = Session(bank, recording.events)
    timed = [step for step in recording.steps if step.start >= 0]
    gold = [ORDER_TAG in step.tags for step in timed]
    score = RecordingScore(recording.id, recording.recipe, clean=not any(gold))
    offline, online = session.verdicts(), session.verdicts(online=True)
    flagged = _out_of_order(offline)
    score.flagged = bool(flagged)
    score.order = _compare(flagged, gold)
    score.order_online = _compare(_out_of_order(online), gold)
    for number in flagged:
        verdicts = flagged[number]
        name = " + ".join(sorted(verdicts))
        score.by_rule[name] += _hit(gold[number])
        score.findings.append((gold[number], name, next(iter(verdicts.values()))))
        if number not in _out_of_order(online):
            score.later += _hit(gold[number])
    namer = StepNamer(bank)
    score.omission = _omissions(offline, namer, recording)
    score.omission_online = _omissions(online, namer, recording)
    return score


def _hit(right: bool) -> Counts:
    return Counts(tp=int(right), fp=int(not right))


def _out_of_order(report: SessionReport) -> dict[int, dict[str, str]]:
    """Number of the event in the log -> the rules that flagged it, each with its evidence."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for verdict in report.verdicts:
        if LABEL_OF_RULE[verdict.rule] == "wrong-order" and verdict.event is not None:
            found[report.events[verdict.event].number][verdict.rule] = verdict.evidence
    return dict(found)


def _compare(flagged: Mapping[int, object], gold: Sequence[bool]) -> Counts:
    hits = sum(right for number, right in enumerate(gold) if number in flagged)
    return Counts(hits, len(flagged) - hits, sum(gold) - hits)


def _omissions(report: SessionReport, namer: StepNamer, recording: Recording) -> Counts:
    """A tag is met by an omission of any step that its words name; each omission meets one tag."""
    said = {v.step for v in report.verdicts if LABEL_OF_RULE[v.rule] == "omission" and v.step is not None}
    counts = Counts()
    for step in recording.steps:
        if MISSING_TAG in step.tags:
            met = next((i for i in namer.candidates(step.text) if i in said), None)
            counts += Counts(tp=1) if met is not None else Counts(fn=1)
            said.discard(met)
    return counts + Counts(fp=len(said))


def rates(counts: Counts) -> tuple[float, float, float]:
    """Precision, recall and F1; nothing to find and nothing found is 1, nothing found of something is 0."""
    if not counts.tp + counts.fp + counts.fn:
        return 1.0, 1.0, 1.0
    precision = counts.tp / (counts.tp + counts.fp) if counts.tp + counts.fp else 0.0
    recall = counts.tp / (counts.tp + counts.fn) if counts.tp + counts.fn else 0.0
    return precision, recall, 2 * counts.tp / (2 * counts.tp + counts.fp + counts.fn)


def total(counts: Iterable[Counts]) -> Counts:
    """The sum."""
    return sum(counts, Counts())


def bootstrap_f1(
    counts: Sequence[Counts], *, resamples: int = 2000, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """95 % intervals of precision, recall and F1, by recordings (percentiles); a rate without value is left out."""
    import numpy as np

    table = np.array([(c.tp, c.fp, c.fn) for c in counts], dtype=float)
    drawn = np.random.default_rng(seed).multinomial(
        len(counts), np.full(len(counts), 1 / len(counts)), size=resamples
    )
    tp, fp, fn = (drawn @ table).T
    with np.errstate(invalid="ignore"):
        values = {"precision": tp / (tp + fp), "recall": tp / (tp + fn), "f1": 2 * tp / (2 * tp + fp + fn)}
    found: dict[str, tuple[float, float]] = {}
    for name, resampled in values.items():
        real = resampled[~np.isnan(resampled)]
        if len(real) > resamples / 2:
            low, high = np.quantile(real, [0.025, 0.975])
            found[name] = float(low), float(high)
    return found
