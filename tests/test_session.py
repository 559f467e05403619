"""Whole recordings: what a log of steps tells about order and omissions."""

from __future__ import annotations

import gzip
import json
import math
import random
import time
from pathlib import Path

import pytest

from ego_adr.errors import DataError, ProcedureError
from ego_adr.procedure.ordering import written_chain
from ego_adr.session import Session, SessionReport, StepEvent, read_log
from ego_adr.types import ProcedureBank, Step, StepEdge

TEXTS = (
    "Peel the onion",
    "Slice the onion",
    "Heat oil in a pan",
    "Add the onion to the pan",
    "Season with salt if desired",
)


def bank(
    texts: tuple[str, ...] = TEXTS, edges: tuple[tuple[int, int], ...] = ((0, 1), (1, 3), (2, 3))
) -> ProcedureBank:
    steps = tuple(Step(index=i, text=text) for i, text in enumerate(texts))
    return ProcedureBank(
        text="\n".join(texts), steps=steps, edges=tuple(StepEdge(before=a, after=b) for a, b in edges)
    )


def judge(*events: tuple[int | str, float, float], online: bool = False) -> SessionReport:
    return Session(bank(), events).verdicts(online=online)


def rules(report: SessionReport) -> list[tuple[str, int | None, int | None]]:
    return [(v.rule, v.step, v.other_step) for v in report.verdicts]


def test_a_recording_in_order_has_no_verdicts() -> None:
    assert rules(judge((0, 0, 5), (2, 3, 9), (1, 5, 8), (3, 10, 12))) == []


def test_a_swapped_pair_is_wrong_on_both_sides_with_the_pair_and_the_rule() -> None:
    report = judge((1, 0, 4), (0, 5, 9), (2, 10, 12), (3, 13, 15))
    assert sorted(rules(report)) == [("needed-earlier", 0, 1), ("needs-later", 1, 0)]
    assert {v.label for v in report.verdicts} == {"Wrong order"}
    assert all(
        "'Peel the onion'" in v.evidence and "'Slice the onion'" in v.evidence for v in report.verdicts
    )
    late = report.for_step(0)[0]
    assert late.event is not None
    assert report.events[late.event].start == 5


def test_a_need_through_another_step_counts_and_is_named() -> None:
    report = judge((3, 0, 4), (0, 5, 6), (1, 7, 8), (2, 9, 10))
    late = report.for_step(0)[0]
    assert (late.rule, late.other_step) == ("needed-earlier", 3)
    assert "through step 2" in late.evidence


@pytest.mark.parametrize(("end", "flagged"), [(11.0, True), (15.0, True), (15.1, False), (30.0, False)])
def test_a_pair_counts_when_the_intervals_share_at_most_half_of_the_shorter(
    end: float, flagged: bool
) -> None:
    # Slicing runs from 0; peeling from 10 to 20: half of it is 5 s.
    report = judge((1, 0, end), (0, 10, 20), (2, 31, 32), (3, 33, 34))
    assert bool(report.with_label("Wrong order")) is flagged


def test_steps_that_begin_together_are_in_order() -> None:
    assert not judge((1, 3, 3), (0, 3, 3), (2, 3, 4), (3, 5, 6)).with_label("Wrong order")


def test_a_moment_inside_a_step_that_needs_it_lies_in_it() -> None:
    assert not judge((1, 0, 10), (0, 4, 4), (2, 11, 12), (3, 13, 14)).with_label("Wrong order")
    assert judge((1, 0, 10), (0, 12, 12), (2, 13, 14), (3, 15, 16)).with_label("Wrong order")


def test_a_step_never_seen_is_an_omission_and_an_optional_one_is_not() -> None:
    report = judge((0, 0, 1), (2, 2, 3), (3, 4, 6))
    assert rules(report) == [("never-done", 1, 3)]
    assert report.verdicts[0].label == "Omission"
    assert report.verdicts[0].known_at == 6
    assert any("left to choice" in note for note in report.notes)


def test_the_first_occurrence_counts() -> None:
    report = judge((0, 0, 1), (1, 2, 3), (0, 4, 5), (2, 6, 7), (3, 8, 9))
    assert rules(report) == [("repeated", 0, 0)]
    assert report.verdicts[0].label == "Unintended and unnecessary action"


def test_a_step_that_came_too_early_and_is_done_again_right_is_a_corrected_mistake() -> None:
    report = judge((1, 0, 2), (0, 3, 5), (1, 6, 8), (2, 9, 10), (3, 11, 12))
    redone = [v for v in report.verdicts if v.rule == "redone"]
    assert [(v.label, v.step) for v in redone] == [("Correct wrong action", 1)]


def test_a_step_undone_and_redone_right_is_a_corrected_mistake_and_undone_alone_an_omission() -> None:
    words = bank(("Insert the battery", "Close the lid"), ((0, 1),))
    again = Session(
        words,
        [("Insert the battery", 0, 1), ("remove the battery", 2, 3), ("Insert the battery", 4, 5), (1, 6, 7)],
    )
    assert [(v.label, v.rule) for v in again.verdicts().verdicts] == [("Correct wrong action", "redone")]
    gone = Session(words, [("Insert the battery", 0, 1), (1, 2, 3), ("remove the battery", 4, 5)]).verdicts()
    assert [(v.label, v.rule, v.step) for v in gone.verdicts] == [("Omission", "undone", 0)]


def test_what_is_no_step_is_unintended() -> None:
    report = judge((0, 0, 1), (1, 1, 2), ("answers the telephone", 2, 3), (2, 3, 4), (3, 5, 6))
    assert [(v.label, v.rule, v.step) for v in report.verdicts] == [
        ("Unintended and unnecessary action", "unknown", None)
    ]


def test_words_name_steps_and_equal_texts_are_taken_one_after_the_other() -> None:
    texts = ("Stir the pot", "Wait a minute", "Stir the pot")
    session = Session(
        bank(texts, ((0, 1), (1, 2))),
        [("stir the pot.", 0, 1), ("Wait a minute", 2, 3), ("STIR the pot", 4, 5)],
    )
    assert [event.step for event in session.events] == [0, 1, 2]
    assert not session.verdicts().verdicts


def test_the_verb_before_a_hyphen_is_no_part_of_the_words() -> None:
    session = Session(bank(("Add 1 tsp salt to the bowl",), ()), [("Add-1 tsp salt to the bowl", 0, 1)])
    assert [event.step for event in session.events] == [0]


def test_online_knows_only_the_past() -> None:
    events = ((1, 0, 4), (0, 5, 9), (2, 10, 12), (3, 13, 15))
    online = judge(*events, online=True)
    assert rules(online) == [("not-yet-done", 0, 1), ("needed-earlier", 0, 1)]
    assert [v.known_at for v in online.verdicts] == [0, 5]
    offline = judge(*events)
    assert {v.rule: v.immediate for v in offline.verdicts} == {"needed-earlier": True, "needs-later": False}


def test_whatif_says_which_steps_lose_their_ground() -> None:
    session = Session(bank(), [(0, 0, 1), (3, 2, 3)])
    found = session.whatif(omit="peel the onion")
    assert (found.omitted, found.direct, found.lost, found.done) == (0, (1,), (1, 3), (3,))
    assert found.explanation[1].startswith("step 4 ('Add the onion to the pan') needs step 2")
    assert session.whatif(omit=4).lost == ()
    with pytest.raises(DataError, match="index from 0 to 4"):
        session.whatif(omit=9)


def test_a_report_is_json_both_ways() -> None:
    report = judge((1, 0, 4), (0, 5, 9), ("dances", 10, 11))
    assert SessionReport.model_validate_json(report.model_dump_json()) == report


# ------------------------------------------------------------------------------------------------ odd logs


def test_a_shuffled_log_with_doubles_gives_the_verdicts_of_the_clean_one() -> None:
    events = [(1, 0.0, 4.0), (0, 5.0, 9.0), (2, 10.0, 12.0), (3, 13.0, 15.0)]
    twice = [*events, *events]
    random.Random(3).shuffle(twice)
    report = Session(bank(), twice).verdicts()
    assert sorted(rules(report)) == sorted(rules(judge(*events)))
    assert any("4 exact doubles" in note for note in report.notes)
    assert any("not in order" in note for note in report.notes)


def test_neighbours_of_one_step_are_merged_within_the_gap() -> None:
    events = [(0, 0, 2), (0, 2, 4), (0, 9, 10), (1, 11, 12), (2, 13, 14), (3, 15, 16)]
    assert [v.rule for v in Session(bank(), events).verdicts().verdicts] == ["repeated"]
    merged = Session(bank(), events, merge_gap=5.0)
    assert merged.verdicts().verdicts == ()
    assert (merged.events[0].start, merged.events[0].end) == (0, 10)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ((0, math.nan, 1.0), "nan"),
        ((0, 0.0, math.inf), "inf"),
        ((0, -1.0, 4.0), "times count from 0"),
        ((0, 4.0, 1.0), "before it starts"),
        ((7, 0.0, 1.0), "steps 0 to 4"),
        ((-1, 0.0, 1.0), "steps 0 to 4"),
        ((True, 0.0, 1.0), r"index \(int\) or its words"),
        ((None, 0.0, 1.0), r"index \(int\) or its words"),
        ((0, "soon", 1.0), "'soon' is no time. A time is a number of seconds"),
        ((0, 1.0), "a start and an end"),
        ({"step": 0, "start": 1.0}, "has no end"),
    ],
)
def test_an_event_that_cannot_be_judged_is_an_error_that_says_which(event: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        Session(bank(), [(0, 0.0, 1.0), event])  # type: ignore[list-item]


def test_negative_times_on_both_sides_say_that_a_step_was_not_done() -> None:
    report = judge((0, -1, -1), (1, 0, 1), (2, 2, 3), (3, 4, 5))
    assert rules(report) == [("never-done", 0, 1)]
    assert any("not done" in note for note in report.notes)


def test_an_empty_log_leaves_everything_out_and_an_empty_procedure_is_an_error() -> None:
    assert [v.step for v in Session(bank(), []).verdicts().verdicts] == [0, 1, 2, 3]
    with pytest.raises(DataError, match="no steps"):
        Session(ProcedureBank(text="", steps=()), [])


def test_a_circle_in_the_graph_is_an_error_that_names_it() -> None:
    with pytest.raises(ProcedureError, match=r"'Peel the onion'.*'Slice the onion'"):
        Session(bank(edges=((0, 1), (1, 0))), [])


def test_any_log_of_numbers_gives_a_report_or_a_clear_error() -> None:
    chance = random.Random(7)
    for _ in range(300):
        log = [
            (
                chance.choice([0, 1, 2, 3, 4, "Peel the onion", "hums"]),
                start,
                start + chance.choice([0, 1, 5, 40]),
            )
            for start in (chance.choice([0, 1, 2, 3, 10, 20, 30]) for _ in range(chance.randrange(12)))
        ]
        session = Session(bank(), log, match=lambda _: None)
        for online in (False, True):
            report = session.verdicts(online=online)
            assert all(v.evidence and v.known_at <= report.end for v in report.verdicts)
        flagged = {(v.step, v.other_step) for v in session.verdicts().with_label("Wrong order")}
        assert {step for step, _ in flagged} == _flagged_by_definition(session)


def _flagged_by_definition(session: Session) -> set[int]:
    """Both steps of every required pair that ran the wrong way round: the rule, written down pair by pair."""
    first: dict[int, tuple[float, float]] = {}
    for event in session.events:
        if event.step is not None:
            first.setdefault(event.step, (event.start, event.end))
    found: set[int] = set()
    for before, after in ((0, 1), (0, 3), (1, 3), (2, 3)):
        if before not in first or after not in first or first[before][0] <= first[after][0]:
            continue
        (a0, a1), (b0, b1) = first[before], first[after]
        shorter, shared = min(a1 - a0, b1 - b0), min(a1, b1) - max(a0, b0)
        apart = shared <= shorter / 2 if shorter > 0 else not (b0 <= a0 < b1)
        found |= {before, after} if apart else set()
    return found


@pytest.mark.parametrize("overlapping", [False, True])
def test_ten_thousand_steps_take_seconds(overlapping: bool) -> None:
    count = 10_000
    order = list(range(count))
    random.Random(1).shuffle(order)
    steps = tuple(Step(index=i, text=f"turn wheel number {i}") for i in range(count))
    procedure = written_chain(ProcedureBank(text="", steps=steps))
    log = [StepEvent(step, t / 10, 1e5 if overlapping else t / 10 + 0.1) for t, step in enumerate(order)]
    begun = time.perf_counter()
    report = Session(procedure, log).verdicts()
    assert time.perf_counter() - begun < 60
    assert len(report.events) == count
    assert bool(report.with_label("Wrong order")) is not overlapping


# --------------------------------------------------------------------------------------------------- files


def test_a_log_is_read_from_json_lines_and_csv(tmp_path: Path) -> None:
    rows = [
        {"action": "Peel the onion", "start": 0, "end": 1.5},
        {"action": "Slice the onion", "start": 2, "end": 3},
    ]
    (tmp_path / "log.json").write_text(json.dumps({"events": rows}), encoding="utf-8")
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "log.csv").write_text(
        "step,start_time,end_time\nPeel the onion,0,1.5\n1,2,3\n", encoding="utf-8"
    )
    words = [StepEvent("Peel the onion", 0.0, 1.5), StepEvent("Slice the onion", 2.0, 3.0)]
    assert read_log(tmp_path / "log.json") == read_log(tmp_path / "log.jsonl") == words
    assert read_log(tmp_path / "log.csv") == [words[0], StepEvent(1, 2.0, 3.0)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", 'step;start;end\n"Peel; then wash";0;1.5\n1;2;3\n'),
        (
            "log.csv",
            'Step,Start Time,End Time,note\r\n"Peel; then wash",00:00,00:01.5\r\n\r\n1,0:02,0:03,"two\nlines"\r\n',
        ),
        ("log.tsv", "step\tstart\tend\nPeel; then wash\t0\t1.5\n1\t2\t3"),
        (
            "log.jsonl",
            '[{"step": "Peel; then wash", "start": 0, "end": 1.5}, {"step": "1", "start": 2, "end": 3}]',
        ),
        (
            "log.jsonl",
            '{"step": "Peel; then wash", "start": 0, "end": 1.5}\n\n{"step": 1, "start": "2", "end": 3}',
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_log_is_read_however_it_was_saved(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    expected = [StepEvent("Peel; then wash", 0.0, 1.5), StepEvent(1, 2.0, 3.0)]
    (tmp_path / name).write_bytes(text.encode(encoding))
    assert read_log(tmp_path / name) == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode(encoding)))
    assert read_log(tmp_path / f"{name}.gz") == expected


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("log.csv", "step,start,end\nPeel, then wash,0,1\n", "line 2 has 4 cells.*3 columns.*into quotes"),
        ("log.csv", 'step,start,end\n"Peel,0,1\n', "no row of a table"),
        ("log.csv", "step,start,end\n,0,1\n", "line 2 has no step"),
        ("log.json", "{", "no JSON"),
        ("log.json", "", "empty"),
        ("log.json", '{"a": 1}', "no list of events"),
        ("log.jsonl", '{"step": 1, "start": 0, "end": 1}\n{"step"', "line 2"),
        ("log.csv", "a,b\n1,2\n", "has no step"),
    ],
)
def test_a_broken_log_file_is_an_error_that_says_where(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_log(tmp_path / name)
    with pytest.raises(DataError, match="cannot be read"):
        read_log(tmp_path / "absent.json")
