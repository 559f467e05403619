"""Open-end questions: answers by any route, two judges, and how far they agree with people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.samples import Sample, Shown, Truth
from ego_adr.detector import EgoADR
from ego_adr.errors import DataError
from ego_adr.evaluation.agreement import agreement, read_ratings
from ego_adr.evaluation.open_end import OPEN_END_ROUTES, OpenEndAnswerer
from ego_adr.evaluation.open_scores import judge_run, score_open_run
from ego_adr.evaluation.runner import evaluate
from ego_adr.models.scripted import ScriptedModel
from ego_adr.prompting import PromptLibrary
from ego_adr.types import Reply, Request

REFERENCE = "No, I used a fork."


def questions(count: int = 4) -> list[Sample]:
    return [
        Sample(
            id=f"r{i // 2}/q{i % 2}",
            row=f"r{i // 2}",
            dataset="captaincook4d" if i < 2 else "egooops",
            group=f"v{i // 2}",
            shown=Shown(
                "v.mp4",
                0.0,
                1.0,
                "1. Chop the onion.\n2. Whisk the eggs.",
                "whisk",
                question=f"Question {i}?",
            ),
            truth=Truth(answer=REFERENCE),
            narration="a fork goes round in a bowl",
        )
        for i in range(count)
    ]


def say(request: Request) -> Reply:
    if "Question 3?" in request.prompt:
        return Reply(text="")
    if "Question" in request.prompt:
        return Reply(text="I used a fork instead of a whisk.")
    return Reply(text="2")


def answered(folder: Path, model: ScriptedModel | None = None) -> Path:
    samples = questions()
    detector = EgoADR(model or ScriptedModel(say), route="deep", cache=False)
    evaluate(samples, OpenEndAnswerer(detector, samples), folder)
    return folder


def test_the_deep_route_answers_from_the_narration_and_never_sees_the_reference(tmp_path: Path) -> None:
    model = ScriptedModel(say)
    answered(tmp_path, model)
    asked = [request for request in model.requests if "Question" in request.prompt]
    assert len(asked) == 4
    assert all("a fork goes round in a bowl" in request.prompt and not request.frames for request in asked)
    assert not [request for request in model.requests if REFERENCE in request.prompt]
    lines = [
        json.loads(line) for line in (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {line["id"]: line["answer"] for line in lines}["r0/q0"] == "I used a fork instead of a whisk."
    assert {line["id"]: line["cause"] for line in lines}["r1/q1"] == "empty"


@pytest.mark.parametrize("route", sorted(OPEN_END_ROUTES))
def test_every_route_answers_over_a_real_video(route: str, cases_dir: Path) -> None:
    from dataclasses import replace

    def reply(request: Request) -> str:
        if "Think step by step" in request.prompt:
            return "The fork is no whisk. So: yes or no?\n**Answer:** I used a fork."
        return "I used a fork." if "Question" in request.prompt else "2"

    sample = questions(1)[0]
    sample = replace(
        sample,
        narration=None,
        shown=replace(sample.shown, video=str(cases_dir / "14_five_frames.mp4"), end=0.1),
    )
    model = ScriptedModel(reply)
    found = OpenEndAnswerer(EgoADR(model, route=route, frames=2, cache=False), [sample]).detect_many(
        [sample.query()]
    )
    assert (found[0].status, found[0].evidence) == ("ok", ("I used a fork.",)), found[0]
    last = model.requests[-1]
    assert bool(last.frames) is (route != "deep")


def test_samples_without_a_question_are_refused() -> None:
    from dataclasses import replace

    sample = questions(1)[0]
    with pytest.raises(DataError, match="no question"):
        OpenEndAnswerer(
            EgoADR(ScriptedModel(say), route="deep", cache=False),
            [replace(sample, shown=replace(sample.shown, question=None))],
        )


def test_two_judges_give_a_mean_and_an_unreadable_reply_is_never_a_zero(tmp_path: Path) -> None:
    answered(tmp_path)
    strict = ScriptedModel(['{"score": 4, "reason": "close"}', "I cannot rate this."], name="strict")
    kind = ScriptedModel(['{"score": 5, "reason": "same"}', '{"score": 2, "reason": "half"}'], name="kind")

    def by_question(scores: dict[str, str], name: str) -> ScriptedModel:
        return ScriptedModel(lambda r: next(text for q, text in scores.items() if q in r.prompt), name=name)

    four, two, five = ('{"score": 4}', '{"score": 2}', '{"score": 5}')
    strict = by_question(
        {"Question 0": four, "Question 1": "I cannot rate this.", "Question 2": two}, "strict"
    )
    kind = by_question({"Question 0": five, "Question 1": four, "Question 2": '{"score": 9}'}, "kind")
    assert judge_run(tmp_path, [strict, kind], PromptLibrary()) == 6
    found = score_open_run(tmp_path, resamples=50)
    assert found.judges == {"strict": 3.0, "kind": 4.5}
    # row 0: questions 4.5 and 4.0; row 1: 2.0, and a question without an answer
    assert found.avg_sim == pytest.approx((4.25 + 2.0) / 2)
    assert found.avg_sim_unanswered_zero == pytest.approx((4.25 + 1.0) / 2)
    assert found.judge_errors == {"strict": {"no score": 1}, "kind": {"out of 0-5 (9)": 1}}
    assert (found.questions, found.answered, found.rows) == (4, 3, 2)
    assert found.unparsed == {"empty": 1}
    assert found.datasets["captaincook4d"] == {"scene": "Cook", "rows": 1, "mean": 4.25}


def test_judging_goes_on_where_it_stopped_and_asks_errors_again(tmp_path: Path) -> None:
    answered(tmp_path)
    replies = iter(["?", '{"score": 3}', '{"score": 3}'])
    judge_run(tmp_path, [ScriptedModel(lambda _: next(replies), name="j")], PromptLibrary())
    again = ScriptedModel(lambda _: '{"score": 1}', name="j")
    assert judge_run(tmp_path, [again], PromptLibrary()) == 1
    assert score_open_run(tmp_path, resamples=0).judge_errors == {}
    assert judge_run(tmp_path, [again], PromptLibrary()) == 0


def test_an_answer_that_was_asked_again_is_judged_again(tmp_path: Path) -> None:
    answered(tmp_path)
    judge_run(tmp_path, [ScriptedModel(lambda _: '{"score": 5}', name="j")], PromptLibrary())
    (tmp_path / "results.jsonl").unlink()
    answered(tmp_path, ScriptedModel(lambda r: "Something else." if "Question" in r.prompt else "2"))
    assert score_open_run(tmp_path, resamples=0).rows == 0
    assert judge_run(tmp_path, [ScriptedModel(lambda _: '{"score": 2}', name="j")], PromptLibrary()) == 4
    assert score_open_run(tmp_path, resamples=0).avg_sim == 2.0


def test_a_folder_without_answers_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no open-end answer"):
        judge_run(tmp_path, [ScriptedModel([])], PromptLibrary())


def test_kappa_and_pearson_are_those_of_scikit_learn_and_scipy() -> None:
    from scipy.stats import pearsonr
    from sklearn.metrics import cohen_kappa_score

    ann = [0, 1, 2, 3, 4, 5, 5, 3]
    ben = [0, 1, 2, 3, 4, 4, 5, 2]
    cat = [1, 1, 2, 3, 5, 5, 5, 3]
    judge = [0.5, 1, 2, 3, 4.5, 5, 5, 3]
    ratings = {
        name: {str(i): float(score) for i, score in enumerate(scores)}
        for name, scores in (("ann", ann), ("ben", ben), ("cat", cat), ("judge", judge))
    }
    found = agreement(ratings, people=["ann", "ben", "cat"])
    kappas = [cohen_kappa_score(a, b) for a, b in ((ann, ben), (ann, cat), (ben, cat))]
    assert found.mean_kappa == pytest.approx(sum(kappas) / 3)
    majority = [0, 1, 2, 3, 4, 5, 5, 3]
    assert found.consensus["judge"].pearson == pytest.approx(pearsonr(majority, judge).statistic)


def test_a_rater_who_always_says_the_same_has_no_correlation() -> None:
    found = agreement({"a": {"1": 3.0, "2": 3.0}, "b": {"1": 3.0, "2": 3.0}}, people=[])
    assert found.pairs[0].pearson is None
    assert found.pairs[0].kappa is None


def test_ratings_are_read_from_judgements_tables_and_lines(tmp_path: Path) -> None:
    answered(tmp_path)
    judge_run(tmp_path, [ScriptedModel(lambda _: '{"score": 4}', name="j")], PromptLibrary())
    table = tmp_path / "people.csv"
    table.write_text("id,question,ann,ben\nr0/q0,Question 0?,4,5\nr0/q1,Question 1?,3,\n", encoding="utf-8")
    lines = tmp_path / "cat.jsonl"
    lines.write_text('{"id": "r0/q0", "rater": "cat", "score": 2}\n', encoding="utf-8")
    found: dict[str, Any] = read_ratings([tmp_path, table, lines])
    assert set(found) == {"j", "ann", "ben", "cat"}
    assert (found["ann"], found["ben"], found["cat"]) == (
        {"r0/q0": 4, "r0/q1": 3},
        {"r0/q0": 5},
        {"r0/q0": 2},
    )
    table.write_text("id,ann\nr0/q0,good\n", encoding="utf-8")
    with pytest.raises(DataError, match="'good', no number"):
        read_ratings([table])
