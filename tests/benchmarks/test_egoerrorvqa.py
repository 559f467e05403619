"""The published files as they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.checking import check_data
from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa, samples_of_rows
from ego_adr.benchmarks.samples import NEGATIVE_START, NO_ACTION, Sample
from ego_adr.benchmarks.sources import find_video
from ego_adr.errors import DataError

Cases = Callable[[str], list[dict[str, Any]]]
PROCEDURES = {
    "Demo Cup Cake": "Coat a cup. Add 1 can drained beans.",
    "tent assembly": "Open the bag.",
    "Demo": "Tie.",
}


def case(load_cases: Cases, name: str, kind: str = "annotation") -> dict[str, Any]:
    return next(found for found in load_cases(kind) if found["id"] == name)


def rows_of(cases_dir: Path, found: dict[str, Any]) -> list[dict[str, Any]]:
    rows = json.loads((cases_dir / found["input"]["file"]).read_text(encoding="utf-8"))
    wanted = found["input"].get("rows", [found["input"].get("row")])
    return [rows[number] for number in wanted]


def everything_shown(sample: Sample) -> str:
    """All text that can reach a prompt."""
    query = sample.query()
    return "\n".join(
        [str(query.action), str(query.procedure), sample.shown.task, sample.shown.question or ""]
    )


def test_a_skipped_step_is_loaded_and_shows_the_whole_video(cases_dir: Path, load_cases: Cases) -> None:
    found = case(load_cases, "23a")
    (sample,) = samples_of_rows(rows_of(cases_dir, found), procedures=PROCEDURES)
    assert list(sample.truth.labels) == found["expected"]["label"]
    assert sample.shown.whole_video
    assert sample.giveaways == (NEGATIVE_START,)
    assert (sample.query().clip.start, sample.query().clip.end) == (-1.0, -1.0)


@pytest.mark.parametrize("name", ["23b", "24c"])
def test_rows_that_share_video_and_start_have_ids_of_their_own(
    name: str, cases_dir: Path, load_cases: Cases
) -> None:
    found = case(load_cases, name)
    samples = samples_of_rows(rows_of(cases_dir, found), procedures=PROCEDURES)
    assert len({sample.id for sample in samples}) == found["expected"]["distinct_sample_ids"]


def test_the_answer_fields_never_reach_what_is_shown(cases_dir: Path, load_cases: Cases) -> None:
    found = case(load_cases, "23c")
    rows = json.loads((cases_dir / found["input"]["file"]).read_text(encoding="utf-8"))
    samples = samples_of_rows(rows, procedures=PROCEDURES)
    shown = everything_shown(samples[found["input"]["row"]])
    assert found["expected"]["prompt_contains"] in shown
    assert not [text for text in found["expected"]["prompt_must_not_contain"] if text in shown]
    assert found["expected"]["row0_prompt_must_not_contain"] not in everything_shown(samples[0])


def test_an_end_before_the_start_is_noted_and_the_camera_codes_give_the_time(
    cases_dir: Path, load_cases: Cases
) -> None:
    found = case(load_cases, "24a")
    rows = rows_of(cases_dir, found)
    (sample,) = samples_of_rows(rows, procedures=PROCEDURES)
    assert any(found["expected"]["warning"] in note for note in sample.notes)
    (again,) = samples_of_rows(rows, procedures=PROCEDURES, tent_times="gopro")
    assert (again.shown.start, again.shown.end) == pytest.approx((2 + 46 / 60, 3 + 10 / 60))
    assert again.notes == ()


@pytest.mark.parametrize("times", ["published", "gopro"])
def test_the_sentinel_time_means_the_whole_video(times: Any, cases_dir: Path, load_cases: Cases) -> None:
    rows = rows_of(cases_dir, case(load_cases, "24b"))
    (sample,) = samples_of_rows(rows, procedures=PROCEDURES, tent_times=times)
    assert sample.shown.whole_video
    assert sample.giveaways == (NEGATIVE_START,)


def test_one_clip_with_two_labels_is_reported_and_both_rows_are_kept(
    cases_dir: Path, load_cases: Cases
) -> None:
    samples = samples_of_rows(rows_of(cases_dir, case(load_cases, "24c")), procedures=PROCEDURES)
    report = check_data(samples, videos=False)
    assert len(samples) == 2
    assert len(report.conflicts) == 1
    assert report.duplicates == ()


def test_an_object_of_rows_is_read_like_a_list(cases_dir: Path, load_cases: Cases) -> None:
    found = case(load_cases, "25")
    samples = load_egoerrorvqa(cases_dir / found["input"]["file"], procedures=PROCEDURES)
    assert len(samples) == found["expected"]["rows"]
    assert [list(sample.truth.labels) for sample in samples] == found["expected"]["truth"]


def test_a_missing_procedure_is_said_and_counted_and_nothing_stands_in_for_it(load_cases: Cases) -> None:
    found = case(load_cases, "26")
    (sample,) = samples_of_rows([found["input"]["row"]], procedures=found["input"]["procedures"])
    assert sample.problem is not None
    assert sample.problem.cause == "procedure"
    assert found["expected"]["error_or_warning"] in sample.problem.message
    assert sample.shown.procedure == ""
    assert len(check_data([sample], videos=False).no_procedure) == 1


def test_another_head_camera_is_taken_where_the_usual_ones_are_missing(
    cases_dir: Path, load_cases: Cases
) -> None:
    found = case(load_cases, "27", "file lookup")
    given = found["input"]
    path = find_video(cases_dir, given["dataset"], {"video_id": given["video_id"]})
    assert path.name == found["expected"]["found"]
    assert path.is_file()


@pytest.mark.parametrize("given", ["one", "one.mp4", "one.MOV", "parts/two", "parts/two.webm", 7])
def test_a_video_of_another_data_set_is_found_by_its_id_or_its_file_name(tmp_path: Path, given: Any) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "one").mkdir()  # a folder of that name is no video
    for name in ("one.MOV", "parts/two.webm", "7.mp4"):
        (tmp_path / name).touch()
    found = find_video(tmp_path, "", {"video_id": given})
    assert found.is_file()
    assert found.stem == Path(str(given)).stem


def test_an_instruction_that_is_no_number_does_not_stop_the_others() -> None:
    base = {"video_id": "v", "task_id": "Demo", "start_time": 0, "end_time": 2, "close_end_answer": "correct"}
    rows = [
        {**base, "instruction": [1], "instruction_label": "stir"},
        {**base, "instruction": 2, "action_annotation": None, "instruction_label": None},
    ]
    assert len(samples_of_rows(rows, procedures=PROCEDURES, dataset="egooops")) == 2


def test_rows_that_are_wrapped_are_found_and_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    row = {"video_id": "v", "task_id": "Demo", "start_time": 0, "end_time": 2, "close_end_answer": "correct"}
    path = tmp_path / "rows.json"
    for held in ([row], {"a": row}, {"version": 1, "rows": [row]}, {"version": 1, "rows": {"a": row}}):
        path.write_text(json.dumps(held), encoding="utf-8")
        assert len(load_egoerrorvqa(path, procedures=PROCEDURES)) == 1
    for held in ([], {}, {"rows": []}):
        path.write_text(json.dumps(held), encoding="utf-8")
        with pytest.raises(DataError, match=r"rows\.json"):
            load_egoerrorvqa(path, procedures=PROCEDURES)


def test_the_first_head_camera_is_taken_and_never_a_fixed_one(tmp_path: Path) -> None:
    folder = tmp_path / "assembly101" / "rec [1]"
    folder.mkdir(parents=True)
    for name in ("C10095_rgb.mp4", "HMC_2_mono10bit.mp4", "HMC_1_mono10bit.mp4"):
        (folder / name).touch()
    assert find_video(tmp_path, "assembly101", {"video_id": "rec [1]"}).name == "HMC_1_mono10bit.mp4"
    missing = find_video(tmp_path, "captaincook4d", {"video_id": "1_2"})
    assert missing == tmp_path / "captaincook4d" / "1_2_360p.mp4"
    assert not missing.exists()


@pytest.mark.parametrize(
    ("dataset", "row", "path"),
    [
        ("captaincook4d", {"video_id": "28_7"}, "captaincook4d/28_7_360p.mp4"),
        ("captaincook4d", {"video_id": "28_7"}, "28_7_360p.MP4"),
        ("epic_tent", {"video_id": "5"}, "epic-tent/05.tent.gopro.MP4"),
        ("epic_tent", {"video_id": "5"}, "epic-tent/05.tent.gopro.mp4"),
        ("egooops", {"video_id": "S1", "task_id": "ion"}, "egooops/ion/S1.MP4"),
        ("egooops", {"video_id": "S1", "task_id": "ion"}, "ion/S1.mp4"),
        ("", {"video_id": "mine"}, "mine.mp4"),
    ],
)
def test_videos_are_found_where_the_data_sets_keep_them(
    dataset: str, row: dict[str, Any], path: str, tmp_path: Path
) -> None:
    place = tmp_path / "root *" / path
    place.parent.mkdir(parents=True)
    place.touch()
    assert find_video(tmp_path / "root *", dataset, row) == place


def test_rows_under_one_name_of_an_object_are_read(tmp_path: Path) -> None:
    row = {"video_id": "v", "task_id": "Demo", "start_time": 0, "end_time": 2, "close_end_answer": "correct"}
    path = tmp_path / "rows.json"
    path.write_text(
        json.dumps({"version": 1, "annotations": [row, {**row, "end_time": 3}]}), encoding="utf-8"
    )
    assert len(load_egoerrorvqa(path, procedures=PROCEDURES)) == 2


def test_the_real_multiple_choice_files_give_1857_samples(data_dir: Path) -> None:
    samples = load_egoerrorvqa(data_dir)
    report = check_data(samples, videos=False)
    assert report.datasets == {"captaincook4d": 1000, "epic_tent": 182, "assembly101": 460, "egooops": 215}
    assert len({sample.id for sample in samples}) == 1857
    assert report.negative_start == 54
    assert len(report.no_action) == 40
    assert len(report.conflicts) == 21
    assert len(report.bad_times) == 1
    assert report.labels["Wrong action"] == 209
    assert not report.no_procedure
    assert len({(s.shown.task, s.shown.action) for s in samples}) < 600


def test_the_real_open_end_files_give_1805_rows_and_3560_questions(data_dir: Path) -> None:
    samples = load_egoerrorvqa(data_dir, task="open-end")
    assert len(samples) == len({sample.id for sample in samples}) == 3560
    assert len({sample.row for sample in samples}) == 1805
    assert Counter(s.dataset for s in samples) == {
        "captaincook4d": 1857,
        "epic_tent": 426,
        "assembly101": 859,
        "egooops": 418,
    }
    assert all(sample.shown.question and sample.truth.answer for sample in samples)


def test_ids_do_not_depend_on_the_order_or_the_part_that_is_read(data_dir: Path) -> None:
    everything = {sample.id: sample for sample in load_egoerrorvqa(data_dir)}
    part = load_egoerrorvqa(data_dir, datasets=["egooops"])
    assert len(part) == 215
    assert all(everything[sample.id] == sample for sample in part)


def test_no_answer_field_of_any_real_row_is_shown(data_dir: Path) -> None:
    """What only the annotators know of a row stands in none of its texts, word for word."""
    secrets = 0
    for name in ("captaincook4d_answer", "egooops_answer", "epic_tent_answer_sec", "assembly101_answers"):
        path = data_dir / "egoerrorvqa" / f"{name}.json"
        rows = json.loads(path.read_text(encoding="utf-8"))
        samples = load_egoerrorvqa(path)
        for row, sample in zip(rows, samples, strict=True):
            shown = everything_shown(sample).casefold()
            hidden = [row.get("error_caption"), row.get("error_annotation"), row.get("error_annotation_main")]
            hidden += [error["description"] for error in row.get("errors", [])]
            if row.get("modified_description") != row.get("original_description"):
                hidden.append(row.get("modified_description"))
            for text in hidden:
                if isinstance(text, str) and text.strip():
                    secrets += 1
                    assert text.casefold().strip() not in shown
            assert sample.query().action.strip() not in ("", "None")
    assert secrets > 500


def test_a_row_without_action_text_is_asked_with_its_instruction(data_dir: Path) -> None:
    samples = load_egoerrorvqa(data_dir, datasets=["egooops"])
    nameless = [sample for sample in samples if NO_ACTION in sample.giveaways]
    texts = {sample.shown.action for sample in samples if NO_ACTION not in sample.giveaways}
    assert len(nameless) == 40
    assert sum(sample.shown.action in texts for sample in nameless) == 25
    assert len({s.shown.action for s in nameless if s.shown.action not in texts}) == 1


def test_the_verb_before_the_hyphen_is_taken_off(data_dir: Path) -> None:
    actions = {sample.shown.action for sample in load_egoerrorvqa(data_dir, datasets=["captaincook4d"])}
    assert "Add 1 can drained tuna to the bowl" in actions
    assert "Coat a 6-oz. ramekin cup with cooking spray" in actions


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"close_end_answer": "correct"}, "has no video_id"),
        ({"video_id": "v", "close_end_answer": "no such label"}, "'no such label' is no label"),
        ({"video_id": "v", "close_end_answer": 3}, "label or a list of labels"),
        ({"video_id": "v", "action_annotation": 3, "close_end_answer": "correct"}, "must be a text, not 3"),
        ("text", "is str"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(row: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        samples_of_rows([row], procedures=PROCEDURES, source="rows.json")
    assert "rows.json, row 0" in str(caught.value)
    faults: list[str] = []
    assert samples_of_rows([row], procedures=PROCEDURES, faults=faults) == []
    assert len(faults) == 1


@pytest.mark.parametrize("start", [float("nan"), "soon", None, True])
def test_a_time_that_is_no_number_fails_its_row_alone(start: Any) -> None:
    row = {
        "video_id": "v",
        "task_id": "Demo",
        "start_time": start,
        "end_time": 2,
        "close_end_answer": "correct",
    }
    (sample,) = samples_of_rows([row], procedures=PROCEDURES)
    assert sample.problem is not None
    assert sample.problem.cause == "times"
    assert "start_time" in sample.problem.message


def test_a_folder_without_the_files_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"captaincook4d_answer\.json"):
        load_egoerrorvqa(tmp_path)
