"""Predictions of any make are read, and nothing about them is guessed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.samples import Sample, Shown, Truth
from ego_adr.errors import DataError
from ego_adr.evaluation.comparing import RunScore, comparison_table, short_names
from ego_adr.evaluation.metrics import Score, score_outcomes
from ego_adr.evaluation.outcomes import Outcome
from ego_adr.evaluation.paired import paired_difference
from ego_adr.evaluation.predictions import find_logs, read_predictions
from ego_adr.evaluation.results import LogWriter, mend_log, read_log, seal
from ego_adr.evaluation.scoring import score_runs
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Detection, Exchange

TAXONOMY = Taxonomy.load()


def write(folder: Path, name: str, held: Any) -> Path:
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(line) + "\n" for line in held), encoding="utf-8")
    else:
        path.write_text(json.dumps(held), encoding="utf-8")
    return path


def score(path: Path, **more: Any) -> Score:
    read = read_predictions(path, TAXONOMY, **more)
    return score_outcomes(read.outcomes, TAXONOMY, resamples=0, notes=read.notes)


def test_failed_rows_are_counted_by_cause_and_both_accuracies_are_given(
    cases_dir: Path, load_cases: Callable[[str], list[dict[str, Any]]]
) -> None:
    case = next(c for c in load_cases("evaluation") if str(c["input"].get("file")).startswith("29"))
    found = score(cases_dir / case["input"]["file"])
    expected = case["expected"]
    assert found.rates.rows == expected["n"]
    assert found.rates.answered == expected["n_ok"]
    assert sum(found.failed.values()) == expected["n_error"]
    assert found.rates.accuracy == expected["accuracy_ok_only"]
    assert found.rates.accuracy_of_all == pytest.approx(expected["accuracy_errors_wrong"])
    assert found.failed == expected["errors_by_cause"]


def test_the_files_of_the_published_evaluator_are_scored_though_their_ids_repeat(tmp_path: Path) -> None:
    def row(truth: Any, said: str) -> dict[str, Any]:
        return {
            "sample_id": "28_7_-1.0_captaincook4d",
            "dataset": "captaincook4d",
            "ground_truth": truth,
            "white_agent_raw_answer": said,
            "white_agent_cleaned_answer": said.strip("."),
            "is_correct": False,
        }

    rows = [
        row(["Omission"], "Omission."),
        row("correct", "correct"),
        row(["Wrong action", "Wrong order"], "wrong order"),
        row("correct", "The step is correct because nothing is wrong"),
        {"sample_id": "unknown_captaincook4d_4", "error": "Video not found: a.mp4", "is_correct": False},
    ]
    for held in (rows, {"summary": {}, "detailed_results": {"captaincook4d": rows}}):
        found = score(write(tmp_path, "results.json", held))
        assert (found.rates.rows, found.rates.answered) == (5, 3)
        assert (found.rates.tp, found.rates.tn) == (2, 1)
        assert found.unparsed == {"not a label": 1}
        assert found.failed == {"Video not found: a.mp4": 1}
        assert any("kept apart" in note for note in found.warnings)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_predictions_are_read_however_they_were_saved(
    tmp_path: Path, encoding: str, packed: bool, listed: bool
) -> None:
    rows = [
        {"id": "a", "truth": "Omission", "prediction": "Omission", "group": 3},
        {"id": "b", "truth": "correct", "prediction": "correct", "group": 3},
    ]
    text = json.dumps(rows, indent=1) if listed else "\r\n".join(map(json.dumps, rows))
    raw = text.encode(encoding)
    path = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    read = read_predictions(path, TAXONOMY)
    assert [(o.id, o.hit, o.group) for o in read.outcomes] == [("a", True, "3"), ("b", True, "3")]
    assert not read.notes


def test_a_log_that_was_packed_is_written_out_before_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(gzip.compress((seal({"id": "a", "status": "ok"}) + "\n").encode()))
    assert not mend_log(path).clean
    with LogWriter(path) as log:
        log.write([{"id": "b", "status": "ok"}])
    assert list(read_log(path).lines) == ["a", "b"]
    assert read_log(path).clean


@pytest.mark.parametrize("value", [1.5, -0.1, "high", True, float("nan")])
def test_a_probability_that_is_none_is_left_out_and_told(tmp_path: Path, value: Any) -> None:
    rows = [
        {"id": "a", "truth": "Omission", "prediction": "Omission", "p_error": value},
        {"id": "b", "truth": "correct", "prediction": "correct", "p_error": 0.25},
    ]
    read = read_predictions(write(tmp_path, "rows.jsonl", rows), TAXONOMY)
    assert [o.p_error for o in read.outcomes] == [None, 0.25]
    assert any("1 rows have a p_error" in note for note in read.notes)


def test_a_detection_whose_label_is_none_of_the_taxonomy_is_unparsed(tmp_path: Path) -> None:
    def line(name: str, label: str | None) -> dict[str, Any]:
        made = Detection(status="ok", id=name, label="Omission", labels=("Omission",), route="deep")
        held = made.model_dump(mode="json")
        return {
            "detection": {**held, "label": label, "labels": [label] if label else []},
            "id": name,
            "truth": "Omission",
        }

    path = write(tmp_path, "d.jsonl", [line("a", "wrong_object"), line("b", "Burnt"), line("c", None)])
    read = read_predictions(path, TAXONOMY).outcomes
    assert [(o.status, o.label, o.labels, o.cause) for o in read] == [
        ("ok", "Wrong object", ("Wrong object",), None),
        ("unparsed", None, (), "not a label"),
        ("unparsed", None, (), "no prediction"),
    ]


def test_a_detection_of_another_version_is_read_or_told_where_it_differs(tmp_path: Path) -> None:
    made = Detection(status="ok", id="a", label="Omission", labels=("Omission",), route="deep").model_dump(
        mode="json"
    )
    newer = {**made, "mood": "sure", "narration": "half a pair \ud83d"}
    (outcome,) = read_predictions(
        write(tmp_path, "new.jsonl", [{"id": "a", "truth": "Omission", "detection": newer}]), TAXONOMY
    ).outcomes
    assert outcome.label == "Omission"
    odd = {**made, "exchanges": "none"}
    path = write(tmp_path, "odd.jsonl", [{"id": "a", "truth": "Omission", "detection": odd}])
    with pytest.raises(DataError, match=r"the detection of 'a' cannot be read: exchanges: .*another version"):
        read_predictions(path, TAXONOMY)


def test_a_log_counts_each_id_once_and_says_so(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "truth": "Omission", "prediction": None, "status": "failed", "cause": "server"},
        {"id": "a", "truth": "Omission", "prediction": "Omission", "status": "ok"},
        {"id": "b", "truth": "correct", "prediction": "correct"},
    ]
    found = score(write(tmp_path, "log.jsonl", lines))
    assert (found.rates.rows, found.rates.answered, found.rates.accuracy) == (2, 2, 1.0)
    assert any("repeat an id" in note for note in found.warnings)


def test_the_benchmark_gives_the_truth_to_rows_that_carry_none(tmp_path: Path) -> None:
    samples = [
        Sample(
            n,
            "d",
            f"video {n}",
            Shown("v.mp4", 0, 1, "p", "a"),
            Truth(labels=("Omission",)),
            ("negative start",),
        )
        for n in ("a", "b", "c")
    ]
    path = write(tmp_path, "mine.json", {"a": "omission", "b": "Wrong_object", "stranger": "correct"})
    read = read_predictions(path, TAXONOMY, samples=samples)
    assert [(o.id, o.hit, o.group, o.giveaways) for o in read.outcomes] == [
        ("a", True, "video a", ("negative start",)),
        ("b", False, "video b", ("negative start",)),
    ]
    assert any("1 rows have ids that the benchmark does not know" in note for note in read.notes)
    assert any("1 of the benchmark's 3 rows have no prediction" in note for note in read.notes)


def test_a_row_without_truth_is_an_error_that_says_where_to_put_it(tmp_path: Path) -> None:
    path = write(tmp_path, "mine.jsonl", [{"id": "a", "prediction": "correct"}])
    with pytest.raises(DataError, match=r"'a' has no truth.*--data"):
        read_predictions(path, TAXONOMY)


def test_a_truth_that_is_no_label_is_an_error_and_a_prediction_that_is_none_is_unparsed(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match="'no such' is no label"):
        score(write(tmp_path, "a.jsonl", [{"id": "a", "prediction": "correct", "truth": "no such"}]))
    found = score(write(tmp_path, "b.jsonl", [{"id": "a", "prediction": "no such", "truth": "correct"}]))
    assert found.unparsed == {"not a label": 1}


def test_detections_as_lines_are_read_with_their_probabilities(tmp_path: Path) -> None:
    made = Detection(
        status="ok",
        id="a",
        label="Omission",
        labels=("Omission",),
        route="deep",
        probabilities={"correct": 0.25, "Omission": 0.75},
        exchanges=(Exchange(stage="classify", prompt="?", reply="It is an Omission"),),
    )
    path = write(tmp_path, "d.jsonl", [{**made.model_dump(mode="json"), "truth": ["Omission"]}])
    (outcome,) = read_predictions(path, TAXONOMY).outcomes
    assert (outcome.label, outcome.p_error, outcome.reply) == ("Omission", 0.75, "It is an Omission")


def test_a_path_without_runs_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no results\.jsonl"):
        find_logs(tmp_path)
    with pytest.raises(DataError, match="is not there"):
        find_logs(tmp_path / "gone")


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder / "run").mkdir(parents=True)
        write(
            tmp_path / folder / "run",
            "results.jsonl",
            [{"id": "a", "prediction": "correct", "truth": "correct"}],
        )
    scored, _ = score_runs([tmp_path / "one", tmp_path / "two"], TAXONOMY, resamples=0)
    assert [run.name for run, _ in scored] == ["run", "run (2)"]


def test_published_rows_with_a_prediction_added_are_scored_and_their_conflicts_are_told(
    cases_dir: Path, tmp_path: Path
) -> None:
    rows = json.loads((cases_dir / "24_tent_rows.json").read_text(encoding="utf-8"))
    path = write(tmp_path, "tent.json", [{**row, "prediction": "correct"} for row in rows])
    found = score(path)
    assert found.rates.rows == 4
    assert found.subsets["only negative start"].rows == 1
    assert any("conflicting labels: 1 group" in note for note in found.warnings)
    assert read_predictions(path, TAXONOMY).outcomes[0].dataset == "epic_tent"


def outcomes(labels: list[str], truth: list[str]) -> list[Outcome]:
    return [
        Outcome(str(i), (t,), "ok", said, (said,), group=str(i // 2))
        for i, (said, t) in enumerate(zip(labels, truth, strict=True))
    ]


def test_paired_differences_use_the_rows_that_both_answered() -> None:
    truth = ["correct", "Omission"] * 20
    first = outcomes(["correct"] * 40, truth)
    second = outcomes(truth, truth)
    second[0] = Outcome("0", ("correct",), "unparsed", cause="refusal")
    found = paired_difference(first, second, TAXONOMY, resamples=300)
    assert (found.rows, found.left_out) == (39, 1)
    accuracy = found.metrics["accuracy"]
    assert (accuracy.first, accuracy.second) == (pytest.approx(19 / 39), 1.0)
    assert accuracy.interval is not None
    assert accuracy.interval[0] > 0
    assert (found.only_first, found.only_second) == (0, 20)
    assert found.p_value < 1e-4


def test_a_run_does_not_differ_from_itself() -> None:
    run = outcomes(["correct", "Omission", "Omission", "correct"] * 5, ["correct", "Omission"] * 10)
    found = paired_difference(run, run, TAXONOMY, resamples=100)
    assert all(d.difference == 0 and d.interval == (0, 0) for d in found.metrics.values())
    assert found.p_value == 1.0


def test_runs_of_different_data_are_not_compared() -> None:
    with pytest.raises(DataError, match="disagree on the truth"):
        paired_difference(outcomes(["correct"], ["correct"]), outcomes(["correct"], ["Omission"]), TAXONOMY)


def test_labels_get_short_names_that_differ() -> None:
    short = short_names(TAXONOMY.names)
    assert len(set(short.values())) == 9
    assert (short["Wrong object"], short["Wrong order"], short["Wrong action"]) == ("WOb", "WOr", "WA")


def test_a_table_has_a_row_a_run_and_the_blind_predictors_below() -> None:
    run = score_outcomes(outcomes(["correct", "Omission"], ["correct", "Omission"]), TAXONOMY, resamples=50)
    table = comparison_table([RunScore("mine", run)])
    assert [kind for _, kind, _ in table.rows] == ["run", "blind", "blind"]
    assert all(len(cells) == len(table.headings) for _, _, cells in table.rows)
    values = dict(zip(table.headings, (cell.text for cell in table.rows[0][2]), strict=True))
    assert (values["Acc"], values["TP"], values["Om"]) == ("100.0", "1", "100.0")
