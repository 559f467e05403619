"""What a score says, and that it says the published figures on the published rows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa, samples_of_rows
from ego_adr.errors import DataError
from ego_adr.evaluation.metrics import Rates, Score, score_outcomes
from ego_adr.evaluation.outcomes import Outcome
from ego_adr.taxonomies import Taxonomy

TAXONOMY = Taxonomy.load()
LABELS = TAXONOMY.names


def answered(truths: Sequence[Any], said: Sequence[str], **more: Any) -> list[Outcome]:
    return [
        Outcome(
            id=str(i),
            truth=(truth,) if isinstance(truth, str) else tuple(truth),
            status="ok",
            label=label,
            labels=(label,),
            **more,
        )
        for i, (truth, label) in enumerate(zip(truths, said, strict=True))
    ]


def score(outcomes: Sequence[Outcome], **more: Any) -> Score:
    return score_outcomes(outcomes, TAXONOMY, **{"resamples": 0, **more})


def percent(rates: Rates) -> tuple[float, ...]:
    values = (rates.accuracy, rates.precision, rates.recall, rates.f1)
    return tuple(round(100 * (value or 0.0), 1) for value in values)


def test_blind_predictors_score_as_published_on_the_real_rows(data_dir: Path) -> None:
    samples = load_egoerrorvqa(data_dir)
    outcomes = [
        Outcome(s.id, s.truth.labels, "ok", "correct", ("correct",), group=s.group, giveaways=s.giveaways)
        for s in samples
    ]
    found = score(outcomes)
    blind = {entry.name: entry.rates for entry in found.blind}
    assert len(samples) == 1857
    assert percent(found.rates) == (70.5, 0.0, 0.0, 0.0)
    assert percent(blind["always 'correct'"]) == (70.5, 0.0, 0.0, 0.0)
    assert percent(blind["always 'Wrong action'"]) == (11.3, 11.3, 100.0, 20.2)
    assert (blind["always 'Wrong action'"].tp, blind["always 'Wrong action'"].fp) == (209, 1648)
    assert percent(blind["'Omission' when negative start, else 'correct'"]) == (73.1, 94.4, 9.3, 17.0)
    assert {label: entry.occurrences for label, entry in found.labels.items()} == {
        "correct": 1310,
        "Wrong object": 90,
        "Wrong action": 209,
        "Wrong order": 177,
        "Omission": 56,
        "Unintended and unnecessary action": 63,
        "Correct wrong action": 33,
        "Equipment failure": 6,
        "Others": 6,
    }
    assert found.subsets["only negative start"].rows == 54
    assert found.subsets["without negative start"].rows == 1803


def test_the_published_counts_give_the_published_rates() -> None:
    """TP 183, FN 45, TN 182 over 1,857 answered rows: 19.7/11.2/80.3/19.7.

    The published F1 of 19.8 belongs to a precision of 11.3, that is to fewer false positives: the published
    evaluator drops failed rows from precision and recall. Both readings are checked.
    """
    rows = [("Wrong object", "Wrong object")] * 183 + [("Wrong order", "correct")] * 45
    rows += [("correct", "correct")] * 182
    rows += [("correct", "Wrong action")] * (1310 - 182) + [("Omission", "Wrong action")] * (547 - 183 - 45)
    found = score(answered(*zip(*rows, strict=True))).rates
    assert (found.tp, found.fn, found.tn, found.fp) == (183, 45, 182, 1447)
    assert percent(found) == (19.7, 11.2, 80.3, 19.7)
    lost = [Outcome(f"lost {i}", ("correct",), "failed", cause="model") for i in range(10)]
    paper = score([*answered(*zip(*rows[:-10], strict=True)), *lost], paper_counting=True).rates
    assert percent(paper) == (19.7, 11.3, 80.3, 19.8)


def test_an_error_of_the_wrong_type_is_a_false_positive_and_never_a_false_negative() -> None:
    found = score(answered(["Omission", "correct"], ["Wrong object", "correct"])).rates
    assert (found.tp, found.fp, found.tn, found.fn) == (0, 1, 1, 0)
    assert found.error_recall == 1.0
    assert found.balanced_accuracy == 1.0


def test_all_correct_does_not_look_good(load_cases: Callable[[str], list[dict[str, Any]]]) -> None:
    case = next(case for case in load_cases("evaluation") if "pred" in case["input"])
    found = score(answered(case["input"]["truth"], case["input"]["pred"]))
    expected = case["expected"]
    assert found.rates.accuracy == pytest.approx(expected["accuracy"])
    assert found.rates.balanced_accuracy == pytest.approx(expected["balanced_accuracy"])
    assert found.rates.error_recall == expected["error_recall"]
    assert (found.rates.precision, found.rates.f1) == (expected["precision"], expected["f1"])
    assert any("no error was predicted" in text and "shown as 0" in text for text in found.warnings)


def test_a_row_with_several_labels_is_met_by_any_and_strictly_by_all(
    load_cases: Callable[[str], list[dict[str, Any]]], cases_dir: Path
) -> None:
    import json

    (case,) = load_cases("scoring")
    rows = json.loads((cases_dir / case["input"]["file"]).read_text())
    sample = samples_of_rows([rows[case["input"]["row"]]], procedures={})[0]
    for said, met, strict in zip(
        case["input"]["predictions"],
        case["expected"]["any_match"],
        case["expected"]["strict_set_match"],
        strict=True,
    ):
        found = score(answered([sample.truth.labels], [said])).rates
        assert (found.accuracy == 1.0) is met
        assert (found.strict_accuracy == 1.0) is strict
    both = [Outcome("0", sample.truth.labels, "ok", "Wrong order", ("Wrong order", "Wrong action"))]
    assert score(both).rates.strict_accuracy == 1.0


def test_accuracy_of_a_label_counts_occurrences_met_by_any_label_of_their_row() -> None:
    found = score(
        answered([("Wrong action", "Wrong order"), "Wrong order"], ["Wrong action", "correct"])
    ).labels
    assert found["Wrong order"].occurrences == 2
    assert found["Wrong order"].accuracy == 0.5
    assert found["Wrong order"].recall == 0.0
    assert found["Wrong action"].accuracy == 1.0


def test_unanswered_rows_leave_the_rates_and_are_counted_by_cause() -> None:
    rows = answered(["correct"] * 3 + ["Omission"], ["correct"] * 3 + ["Omission"])
    rows += [
        Outcome("u", ("Wrong order",), "unparsed", cause="refusal"),
        Outcome("f", ("correct",), "failed", cause="video"),
        Outcome("g", ("correct",), "failed", cause="video"),
    ]
    found = score(rows)
    assert (found.rates.rows, found.rates.answered, found.rates.accuracy) == (7, 4, 1.0)
    assert found.rates.accuracy_of_all == pytest.approx(4 / 7)
    assert (dict(found.unparsed), dict(found.failed)) == ({"refusal": 1}, {"video": 2})
    assert sum(map(sum, found.confusion.counts)) == 7


def test_paper_counting_adds_the_three_habits_of_the_published_evaluator() -> None:
    rows = answered(["correct", "Omission"], ["correct", "Omission"])
    rows += [
        Outcome("chatty", ("correct",), "ok", "correct", ("correct",), reply="The step is correct."),
        Outcome("refused", ("Wrong order",), "unparsed", cause="refusal", reply="I cannot tell."),
        Outcome("video", ("correct",), "failed", cause="video"),
        Outcome("crash", ("correct",), "failed", cause="model"),
    ]
    found = score(rows, paper_counting=True).rates
    assert (found.tp, found.tn, found.fn) == (1, 1, 0)
    assert found.fp == 3  # the chatty reply, the refusal and the video error
    assert found.accuracy == pytest.approx(2 / 6)
    strict = score(rows).rates
    assert (strict.fp, strict.accuracy) == (0, 1.0)


def test_rates_agree_with_scikit_learn_on_single_labels() -> None:
    from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, roc_auc_score

    rng = random.Random(3)
    truth = [rng.choice(LABELS) for _ in range(400)]
    said = [t if rng.random() < 0.4 else rng.choice(LABELS) for t in truth]
    scores = [rng.random() * 0.5 + 0.3 * (t != "correct") for t in truth]
    outcomes = [
        Outcome(str(i), (t,), "ok", s, (s,), p_error=p, group=str(i % 20))
        for i, (t, s, p) in enumerate(zip(truth, said, scores, strict=True))
    ]
    found = score(outcomes, resamples=300)
    is_error, flagged = [t != "correct" for t in truth], [s != "correct" for s in said]
    assert found.rates.balanced_accuracy == pytest.approx(balanced_accuracy_score(is_error, flagged))
    assert found.rates.macro_f1 == pytest.approx(
        f1_score(truth, said, average="macro", labels=sorted(set(truth)))
    )
    assert found.auroc is not None
    assert found.auroc.value == pytest.approx(roc_auc_score(is_error, scores))
    assert found.auroc.interval is not None
    assert found.auroc.interval[0] < found.auroc.value < found.auroc.interval[1]
    order = found.confusion.rows
    expected = confusion_matrix(truth, said, labels=order)
    assert [row[:9] for row in found.confusion.counts] == [tuple(row) for row in expected.tolist()]
    for name, (low, high) in found.intervals.items():
        assert low <= getattr(found.rates, name) <= high


def test_intervals_resample_videos_so_copies_of_a_row_add_no_certainty() -> None:
    rng = random.Random(1)
    base = [
        ("Omission" if rng.random() < 0.5 else "correct", rng.choice(["Omission", "correct"]))
        for _ in range(40)
    ]

    def width(copies: int) -> float:
        outcomes = [
            Outcome(f"{i}-{k}", (t,), "ok", s, (s,), group=str(i))
            for i, (t, s) in enumerate(base)
            for k in range(copies)
        ]
        low, high = score(outcomes, resamples=1000).intervals["accuracy"]
        return high - low

    assert width(10) == pytest.approx(width(1), rel=0.05)


def test_weighted_auroc_agrees_with_scikit_learn_on_ties_and_weights() -> None:
    import numpy as np
    from sklearn.metrics import roc_auc_score

    from ego_adr.evaluation.intervals import weighted_auroc

    rng = np.random.default_rng(5)
    scores = rng.integers(0, 6, 200) / 5
    is_error = rng.random(200) < 0.3
    weights = rng.integers(0, 4, (7, 200))
    found = weighted_auroc(scores, is_error, weights)
    expected = [roc_auc_score(is_error, scores, sample_weight=w) for w in weights]
    assert found == pytest.approx(expected)


def test_an_id_that_comes_twice_is_refused() -> None:
    row = answered(["correct"], ["correct"])[0]
    with pytest.raises(DataError, match="more than once"):
        score([row, row])


def test_ten_thousand_rows_are_scored_in_seconds() -> None:
    rng = random.Random(0)
    rows = [
        Outcome(
            str(i),
            (rng.choice(LABELS),),
            "ok",
            label,
            (label,),
            p_error=rng.random(),
            group=str(i // 4),
            dataset=str(i % 4),
        )
        for i, label in enumerate(rng.choices(LABELS, k=10_000))
    ]
    begin = time.process_time()
    score(rows, resamples=1000)
    assert time.process_time() - begin < 10
