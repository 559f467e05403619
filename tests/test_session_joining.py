"""A clip's verdict joined with the past of its recording."""

from __future__ import annotations

import pytest

from ego_adr.sessions.joining import history_verdicts, join_with_history
from ego_adr.types import Detection, Failure, ProcedureBank, Step, StepEdge

TEXTS = ("Peel the onion", "Slice the onion", "Fry the onion")
BANK = ProcedureBank(
    text="",
    steps=tuple(Step(index=i, text=text) for i, text in enumerate(TEXTS)),
    edges=(StepEdge(before=0, after=1), StepEdge(before=1, after=2)),
)


def clip(*labels: str, action: str = "Slice the onion") -> Detection:
    return Detection(
        status="ok",
        label=labels[0],
        labels=labels,
        is_error=labels[0] != "correct",
        action=action,
        start=10,
        end=15,
    )


def test_a_step_that_the_past_shows_out_of_order_is_wrong_order_whatever_the_clip_said() -> None:
    joined = join_with_history(clip("correct"), BANK, [("Fry the onion", 2, 6)])
    assert (joined.label, joined.is_error, joined.status) == ("Wrong order", True, "ok")
    assert "had begun at 2.0 s" in joined.evidence[0]
    assert joined.warnings == ("history: the recording shows it out of order; the clip alone said 'correct'",)
    assert join_with_history(clip("Wrong object"), BANK, [("Fry the onion", 2, 6)]).labels == (
        "Wrong order",
        "Wrong object",
    )


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (("Wrong order",), ("correct",)),
        (("Omission",), ("correct",)),
        (("Wrong order", "Wrong object"), ("Wrong object",)),
        (("Wrong object",), ("Wrong object",)),
        (("correct",), ("correct",)),
    ],
)
def test_what_only_a_recording_can_show_the_recording_decides(
    said: tuple[str, ...], left: tuple[str, ...]
) -> None:
    joined = join_with_history(clip(*said), BANK, [("Peel the onion", 2, 6)])
    assert joined.labels == left
    assert joined.is_error is (left[0] != "correct")
    assert bool(joined.warnings) is (said != left)


def test_what_comes_later_is_not_looked_at() -> None:
    # Peeling after slicing makes slicing wrong, but nobody can know it while the onion is sliced.
    joined = join_with_history(clip("correct"), BANK, [("Peel the onion", 20, 25), ("Fry the onion", 30, 35)])
    assert joined == clip("correct")


def test_labels_of_other_steps_are_never_read() -> None:
    rows = [
        {
            "step": "Fry the onion",
            "start": 2,
            "end": 6,
            "label": "Wrong order",
            "errors": [{"tag": "Order Error"}],
        }
    ]
    plain = [{"step": "Fry the onion", "start": 2, "end": 6}]
    assert join_with_history(clip("correct"), BANK, rows) == join_with_history(clip("correct"), BANK, plain)


def test_nothing_is_said_without_times_an_order_or_a_step() -> None:
    free = BANK.model_copy(update={"edges": ()})
    assert join_with_history(clip("Wrong order"), free, [("Peel the onion", 2, 6)]) == clip("Wrong order")
    skipped = clip("Omission").model_copy(update={"start": -1.0, "end": -1.0})
    assert join_with_history(skipped, BANK, [("Fry the onion", 2, 6)]) == skipped
    assert history_verdicts(BANK, [], "answers the telephone", 1, 2) is None
    assert history_verdicts(BANK, [("Fry the onion", -1, -1)], "Slice the onion", 1, 2) == ()


def test_a_clip_that_failed_is_still_out_of_order() -> None:
    failed = Detection(
        status="failed",
        failure=Failure(cause="video", message="gone"),
        action="Slice the onion",
        start=10,
        end=15,
    )
    joined = join_with_history(failed, BANK, [("Fry the onion", 2, 6)])
    assert (joined.status, joined.label, joined.failure) == ("ok", "Wrong order", None)
    assert join_with_history(failed, BANK, [("Peel the onion", 2, 6)]) == failed
