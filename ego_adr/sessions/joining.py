"""How the verdict on a clip and the recording it comes from are joined.

The policy: what only a recording can show, the recording decides; what only the clip can show, the clip decides.

1. The recording finds the step out of order (from the past alone): the label is that, whatever the clip said; the
   clip's own labels follow as further ones.
2. The clip says "wrong order" or "omission" of a step that was done, and the recording, whose order is known,
   finds it in its place: that label is dropped. What is left is the clip's next label, or ``correct``.
3. Everything else stays as the clip said it.

A clip that failed or could not be read stays failed or unparsed unless the recording finds it out of order. Of the
other steps of the recording only their words and times are used, never their labels.
"""

from __future__ import annotations

from collections.abc import Iterable

from ego_adr.session import Session
from ego_adr.sessions.logs import LogEntry, StepEvent, as_events
from ego_adr.sessions.reports import SessionVerdict
from ego_adr.sessions.verdicts import LABEL_OF_RULE
from ego_adr.taxonomies import Taxonomy, default_taxonomy
from ego_adr.types import Detection, ProcedureBank

__all__ = ["history_verdicts", "join_with_history"]

#: Labels (by id) that a clip alone cannot show.
RECORDING_DECIDES = ("wrong-order", "omission")


def history_verdicts(
    bank: ProcedureBank,
    earlier: Iterable[LogEntry],
    action: str,
    start: float,
    end: float,
    *,
    taxonomy: Taxonomy | None = None,
) -> tuple[SessionVerdict, ...] | None:
    """What the past of a recording says about one step.

    Args:
        bank: with edges.
        earlier: steps of the same recording (words and times). Those that do not begin before ``start`` and
            those that were not done are passed over.
        action, start, end: the step in question.

    Returns:
        The verdicts on it; None when nothing can be said: its times are no times in the recording, its words name
        no step, or the bank knows no order.

    Raises:
        DataError: for entries that are no events.
    """
    if start < 0 or end < start or not bank.edges:
        return None
    past = [event for event in as_events(earlier) if 0 <= event.start < start and event.end >= event.start]
    session = Session(bank, [*past, StepEvent(action, start, end)], taxonomy=taxonomy)
    own = next((i for i, event in enumerate(session.events) if event.number == len(past)), None)
    if own is None or session.events[own].step is None:
        return None
    return session.verdicts(online=True).for_event(own)


def join_with_history(
    detection: Detection,
    bank: ProcedureBank,
    earlier: Iterable[LogEntry],
    *,
    taxonomy: Taxonomy | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Detection:
    """A clip's detection with what the earlier steps of its recording say (the policy is stated above).

    Args:
        detection: the clip's own.
        bank: the procedure with its order (`ego_adr.procedure.ordering`).
        earlier: (words, start, end) of the recording's other steps; their labels are never given.
        start, end: times of the step; the detection's own by default.

    Returns:
        The same detection, or a copy with another label and a warning that says why.
    """
    names = taxonomy or default_taxonomy()
    first = detection.start if start is None else start
    last = detection.end if end is None else end
    if first is None or last is None:
        return detection
    verdicts = history_verdicts(bank, earlier, detection.action, first, last, taxonomy=names)
    if verdicts is None:
        return detection
    order = names.require("wrong-order").name
    late = next((verdict for verdict in verdicts if LABEL_OF_RULE[verdict.rule] == "wrong-order"), None)
    if late is not None:
        others = tuple(label for label in detection.labels if label not in (order, names.correct.name))
        return _relabelled(
            detection, (order, *others), True, late.evidence, "the recording shows it out of order"
        )
    dropped = [names.require(label).name for label in RECORDING_DECIDES]
    kept = tuple(label for label in detection.labels if label not in dropped)
    if detection.status != "ok" or kept == detection.labels:
        return detection
    labels = kept or (names.correct.name,)
    return _relabelled(detection, labels, bool(kept), None, "the recording shows it in its place")


def _relabelled(
    detection: Detection, labels: tuple[str, ...], is_error: bool, evidence: str | None, why: str
) -> Detection:
    was = (
        detection.label
        or detection.reason
        or (detection.failure.message if detection.failure else "no verdict")
    )
    changed = () if labels == detection.labels else (f"history: {why}; the clip alone said {was!r}",)
    return detection.model_copy(
        update={
            "status": "ok",
            "label": labels[0],
            "labels": labels,
            "is_error": is_error,
            "reason": None,
            "failure": None,
            "evidence": detection.evidence if evidence is None else (evidence, *detection.evidence),
            "warnings": (*detection.warnings, *changed),
        }
    )
