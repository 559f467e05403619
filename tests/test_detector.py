"""The facade over scripted models and real frames: stages, batching, failures, ablations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ego_adr import Clip, Detection, EgoADR, Query, ScriptedModel
from ego_adr.errors import InputError, ScriptExhaustedError
from ego_adr.types import ChoiceScore, Failure, Reply, Request

PROCEDURE = "1. Crack two eggs into the bowl.\n2. Whisk the eggs with a fork.\n3. Pour the eggs into the pan."
STEPS = ("Crack two eggs into the bowl.", "Whisk the eggs with a fork.", "Pour the eggs into the pan.")


def clip(brightness: int = 0) -> Clip:
    return Clip([np.full((32, 32, 3), brightness, dtype=np.uint8)] * 4, times=(0.0, 1.0, 2.0, 3.0))


def answer(request: Request) -> str:
    """A model that reads its prompt: matches step 2, narrates by brightness, compares."""
    if request.frames:
        if "verdict" in request.prompt:
            return "Wrong action"
        return (
            "The person whisks with a spoon."
            if request.frames[0].array[0, 0, 0] > 100
            else "The person whisks with a fork."
        )
    if "number of the step" in request.prompt:
        return "2"
    return "Wrong object" if "with a spoon" in request.prompt else "correct"


def detector(script: Any = answer, **options: Any) -> tuple[EgoADR, ScriptedModel]:
    model = ScriptedModel(script)
    return EgoADR(model, **{"route": "deep"} | options), model


def query(brightness: int = 0, action: str = "whisk eggs", **more: Any) -> Query:
    return Query(clip(brightness), PROCEDURE, action, **more)


def stages(model: ScriptedModel) -> list[str]:
    def stage(request: Request) -> str:
        if "number of the step" in request.prompt:
            return "match"
        if "verdict" in request.prompt:
            return "classify"
        return "narrate"

    return [stage(request) for request in model.requests]


def test_the_deep_route_matches_narrates_and_classifies_and_tells_all_of_it() -> None:
    ego, model = detector()
    found = ego.detect(clip(255), PROCEDURE, "whisk eggs", id="a")
    assert (found.status, found.label, found.is_error, found.id) == ("ok", "Wrong object", True, "a")
    assert stages(model) == ["match", "narrate", "classify"]
    assert found.match is not None
    assert (found.match.index, found.match.previous, found.match.next, found.match.method) == (
        1,
        0,
        2,
        "model",
    )
    assert (found.previous_step, found.step, found.next_step) == STEPS
    assert found.narration == "The person whisks with a spoon."
    assert found.frame_times == (0.0, 1.0, 2.0, 3.0)
    assert [use.stage for use in found.stages] == ["match", "narrate", "classify"]
    assert [use.calls for use in found.stages] == [1, 1, 1]
    assert [exchange.stage for exchange in found.exchanges] == ["match", "narrate", "classify"]
    assert [exchange.frames for exchange in found.exchanges] == [0, 4, 0]
    assert (found.route, found.route_reason, found.model) == ("deep", "asked for", "scripted")


def test_a_detection_is_json_both_ways() -> None:
    ego, _ = detector()
    found = ego.detect(clip(255), PROCEDURE, "whisk eggs")
    assert Detection.model_validate_json(found.model_dump_json()) == found


def test_classification_sees_no_pictures_and_only_the_matched_part_of_the_procedure() -> None:
    long = PROCEDURE + "\n4. Season with pepper.\n5. Serve on a warm plate."
    ego, model = detector()
    ego.detect(clip(), long, "whisk eggs")
    classify = model.requests[-1]
    assert classify.frames == ()
    assert all(text in classify.prompt for text in STEPS)
    assert "warm plate" not in classify.prompt


def test_narration_is_asked_without_naming_the_step() -> None:
    ego, model = detector()
    ego.detect(clip(), PROCEDURE, "whisk eggs")
    assert "whisk" not in model.requests[1].prompt.casefold()


def test_detect_many_works_stage_by_stage_and_asks_equal_texts_once() -> None:
    ego, model = detector()
    found = ego.detect_many([query(255), query(0), query(255), query(0, action="whisk the eggs")])
    assert [detection.label for detection in found] == ["Wrong object", "correct", "Wrong object", "correct"]
    # two distinct actions are matched; four clips are narrated; three distinct cases are classified
    assert stages(model) == ["match"] * 2 + ["narrate"] * 4 + ["classify"] * 3
    assert [detection.stages[0].calls for detection in found] == [1, 0, 0, 1]
    assert [detection.stages[0].cached for detection in found] == [0, 1, 1, 0]


def test_batches_have_the_size_that_was_asked_for() -> None:
    ego, model = detector(batch_size=3)
    ego.detect_many([query(b) for b in range(7)])
    assert model.calls == 1 + 3 + 1


def test_one_bad_video_fails_its_sample_and_no_other(tmp_path: Path) -> None:
    ego, _ = detector()
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    found = ego.detect_many([query(), Query(Clip(broken), PROCEDURE, "whisk"), query(255)])
    assert [detection.status for detection in found] == ["ok", "failed", "ok"]
    assert found[1].failure is not None
    assert found[1].failure.cause == "video"
    assert "broken.mp4" in found[1].failure.message
    assert found[1].label is None


def test_an_exception_in_one_sample_of_a_batch_fails_that_sample_alone() -> None:
    def script(request: Request) -> str:
        if request.frames and request.frames[0].array[0, 0, 0] == 7:
            raise RuntimeError("boom")
        return answer(request)

    ego, _ = detector(script)
    found = ego.detect_many([query(255), query(7), query(0)])
    assert [detection.status for detection in found] == ["ok", "failed", "ok"]
    assert found[1].failure == Failure(cause="model", message="RuntimeError: boom")


def test_a_reply_that_carries_a_failure_fails_its_sample_by_that_cause() -> None:
    def script(request: Request) -> Reply | str:
        if request.frames and request.frames[0].array[0, 0, 0] == 7:
            return Reply(text="", failure=Failure(cause="out of memory", message="full"))
        return answer(request)

    ego, _ = detector(script)
    found = ego.detect_many([query(7), query(0)])
    assert [(d.status, d.failure.cause if d.failure else None) for d in found] == [
        ("failed", "out of memory"),
        ("ok", None),
    ]


def test_a_script_that_is_used_up_is_an_error_of_the_test_and_not_of_a_sample() -> None:
    ego, _ = detector(["2"])
    with pytest.raises(ScriptExhaustedError):
        ego.detect(clip(), PROCEDURE, "whisk")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("I'm sorry, I can't tell.", "refusal"),
        (Reply("The step was", finish_reason="length"), "truncated"),
    ],
)
def test_a_reply_without_a_label_is_unparsed_with_its_reason_and_never_a_label(
    reply: Any, reason: str
) -> None:
    ego, _ = detector(["2", "The person whisks.", reply])
    found = ego.detect(clip(), PROCEDURE, "whisk")
    assert (found.status, found.label, found.is_error, found.reason) == ("unparsed", None, None, reason)


@pytest.mark.parametrize("narration", ["", "   ", "<think>the hand moves"])
def test_a_narration_that_is_not_there_is_unparsed_on_both_routes(narration: str) -> None:
    deep = detector(["2", narration])[0].detect(clip(), PROCEDURE, "whisk")
    shallow = detector([narration], route="shallow")[0].detect(clip(), PROCEDURE, "whisk")
    for found in (deep, shallow):
        assert (found.status, found.label) == ("unparsed", None)
        assert "narration" in str(found.reason)


def test_a_refused_narration_is_never_read_as_correct() -> None:
    found = detector(["I'm sorry, but I can't describe this video."], route="shallow")[0].detect(
        clip(), PROCEDURE, "whisk"
    )
    assert (found.status, found.label) == ("unparsed", None)


def test_the_shallow_route_matches_by_words_and_classifies_by_vocabulary_in_one_call() -> None:
    ego, model = detector(["The person whisks the eggs. The fork snaps in two."], route="shallow")
    found = ego.detect(clip(), PROCEDURE, "whisk the eggs")
    assert (found.label, found.match.index if found.match else None) == ("Equipment failure", 1)
    assert found.match is not None
    assert found.match.method == "tfidf"
    assert len(model.requests) == 1
    assert found.evidence


def test_single_pass_and_cot_ask_once_with_pictures() -> None:
    for route, reply in (
        ("single-pass", "Wrong action"),
        ("cot", "The fork is right, the motion is not.\nAnswer: Wrong action"),
    ):
        ego, model = detector([reply], route=route)
        found = ego.detect(clip(), PROCEDURE, "whisk")
        assert (found.label, found.route, len(model.requests)) == ("Wrong action", route, 1)
        assert len(model.requests[0].frames) == 4
        assert PROCEDURE.splitlines()[2] in model.requests[0].prompt


def test_no_step_fits_keeps_the_whole_procedure_and_says_so() -> None:
    ego, model = detector(["none", "The person sings.", "Unintended and unnecessary action"])
    found = ego.detect(clip(), PROCEDURE, "sing")
    assert found.match is not None
    assert found.match.index is None
    assert found.step is None
    assert PROCEDURE in model.requests[-1].prompt
    assert any("no step" in text for text in found.warnings)


def test_match_off_and_narration_off_are_one_switch_each() -> None:
    ego, model = detector(match="off")
    found = ego.detect(clip(), PROCEDURE, "whisk")
    assert stages(model) == ["narrate", "classify"]
    assert found.match is not None
    assert found.match.method == "off"
    ego, model = detector(narrate=False)
    found = ego.detect(clip(), PROCEDURE, "whisk")
    assert stages(model) == ["match", "classify"]
    assert len(model.requests[-1].frames) == 4
    assert found.label == "Wrong action"


def test_black_image_goes_with_every_text_prompt() -> None:
    ego, model = detector(black_image=True)
    ego.detect(clip(), PROCEDURE, "whisk")
    assert [len(request.frames) for request in model.requests] == [1, 4, 1]
    assert not model.requests[0].frames[0].array.any()


def test_a_given_narration_replaces_the_model_and_the_clip_is_not_opened() -> None:
    ego, model = detector()
    found = ego.detect_many(
        [Query(Clip("no/such.mp4"), PROCEDURE, "whisk", narration="She whisks with a spoon.")]
    )[0]
    assert (found.status, found.label) == ("ok", "Wrong object")
    assert stages(model) == ["match", "classify"]


def scored(values: dict[str, float]) -> Callable[[Request], Reply | str]:
    def script(request: Request) -> Reply | str:
        if request.choices:
            scores = tuple(
                ChoiceScore(choice=c, logprob=values.get(c, -9.0), tokens=2) for c in request.choices
            )
            return Reply(text=max(scores, key=lambda s: s.logprob).choice, scores=scores)
        return answer(request)

    return script


def test_scores_give_probabilities_that_sum_to_one() -> None:
    ego, _ = detector(scored({"Wrong order": -1.0, "correct": -2.0}), decide="score")
    found = ego.detect(clip(), PROCEDURE, "whisk")
    assert found.label == "Wrong order"
    assert found.probabilities is not None
    assert sum(found.probabilities.values()) == pytest.approx(1.0)
    assert len(found.probabilities) == 9
    assert found.probabilities["Wrong order"] / found.probabilities["correct"] == pytest.approx(np.e)


def test_calibration_subtracts_what_is_said_to_no_evidence() -> None:
    def script(request: Request) -> Reply | str:
        blank = "N/A" in request.prompt
        return scored({"Wrong order": -1.0, "correct": -5.0 if blank else -2.0})(request)

    assert detector(script, decide="score")[0].detect(clip(), PROCEDURE, "whisk").label == "Wrong order"
    assert (
        detector(script, decide="score", calibrate=True)[0].detect(clip(), PROCEDURE, "whisk").label
        == "correct"
    )


def test_two_steps_decide_correct_first_and_the_type_second() -> None:
    ego, _ = detector(scored({"yes": -0.1, "no": -3.0}), decide="two-step")
    assert ego.detect(clip(), PROCEDURE, "whisk").label == "correct"
    ego, model = detector(scored({"yes": -3.0, "no": -0.1, "Omission": -1.0}), decide="two-step")
    found = ego.detect(clip(), PROCEDURE, "whisk")
    assert found.label == "Omission"
    assert "correct" not in model.requests[-1].choices
    assert found.probabilities is not None
    assert sum(found.probabilities.values()) == pytest.approx(1.0)


def test_a_backend_without_scores_is_read_instead_and_that_is_said() -> None:
    ego, _ = detector(decide="score")
    found = ego.detect(clip(255), PROCEDURE, "whisk")
    assert (found.label, found.probabilities) == ("Wrong object", None)
    assert any("no likelihoods" in text for text in found.warnings)


def test_the_probe_chooses_the_route_and_the_reason_is_kept() -> None:
    found = EgoADR(ScriptedModel(lambda request: "no")).detect(clip(), PROCEDURE, "whisk")
    assert found.route == "shallow"
    assert "pass mark" in found.route_reason


def test_a_function_is_a_model() -> None:
    seen: list[int] = []

    def look(frames: Sequence[Any], prompt: str) -> str:
        seen.append(len(frames))
        return "The person whisks; nothing goes wrong."

    found = EgoADR(look, route="shallow").detect(clip(), PROCEDURE, "whisk the eggs")
    assert (found.label, seen) == ("correct", [4])


def test_an_empty_action_fails_its_sample() -> None:
    found = detector()[0].detect_many([query(action="  "), query()])
    assert [detection.status for detection in found] == ["failed", "ok"]


def test_a_bad_procedure_fails_its_sample_and_no_other() -> None:
    found = detector()[0].detect_many([Query(clip(), "   ", "whisk"), query()])
    assert [detection.status for detection in found] == ["failed", "ok"]
    assert found[0].failure is not None
    assert found[0].failure.cause == "procedure"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"route": "deeper"}, "auto, deep, shallow, single-pass, cot"),
        ({"match": "maybe"}, "published"),
        ({"decide": "dice"}, "two-step"),
        ({"frames": 0}, "from 1"),
        ({"calibrate": True}, "decide='score'"),
    ],
)
def test_a_switch_that_is_not_allowed_is_an_error_that_lists_what_is(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        EgoADR(ScriptedModel([]), **options)


def test_a_model_with_a_fingerprint_is_not_asked_twice_for_the_same_work(tmp_path: Path) -> None:
    def make() -> ScriptedModel:
        model = ScriptedModel(answer)
        model.fingerprint = "v1"  # type: ignore[attr-defined]
        return model

    first, second = make(), make()
    one = EgoADR(first, route="deep", cache=tmp_path).detect_many([query(255), query(0)])
    two = EgoADR(second, route="deep", cache=tmp_path).detect_many([query(255), query(0)])
    assert [d.label for d in one] == [d.label for d in two] == ["Wrong object", "correct"]
    assert len(first.requests) == 5
    assert second.requests == []
    assert all(use.calls == 0 and use.cached == 1 for detection in two for use in detection.stages)


def test_prose_is_cut_by_the_model_on_the_deep_route_once_for_all_queries() -> None:
    prose = "First crack two eggs into the bowl. Then whisk the eggs with a fork. Finally pour the eggs into the pan."

    def script(request: Request) -> str:
        if "JSON" in request.prompt:
            return (
                '{"steps": [{"text": "crack two eggs into the bowl", "objects": ["eggs", "bowl"]},'
                ' {"text": "whisk the eggs with a fork", "objects": ["eggs", "fork"]},'
                ' {"text": "pour the eggs into the pan", "objects": ["eggs", "pan"]}]}'
            )
        return answer(request)

    ego, model = detector(script)
    found = ego.detect_many([Query(clip(255), prose, "whisk"), Query(clip(0), prose, "whisk")])
    assert [d.label for d in found] == ["Wrong object", "correct"]
    assert [d.step for d in found] == ["whisk the eggs with a fork"] * 2
    assert sum("JSON" in request.prompt for request in model.requests) == 1
    assert "objects: eggs, fork" in next(r.prompt for r in model.requests if "number of the step" in r.prompt)


def test_what_a_model_says_of_itself_stands_on_every_result() -> None:
    ego, model = detector()
    model.notice = "a toy"  # type: ignore[attr-defined]
    assert "model: a toy" in ego.detect(clip(), PROCEDURE, "whisk").warnings
