"""Users' own data, and what is said about it before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks import load_samples
from ego_adr.benchmarks.checking import check_data
from ego_adr.benchmarks.own import load_own
from ego_adr.errors import DataError


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "mine.jsonl"
    base = {"video": "one.mp4", "procedure": "Chop. Stir.", "action": "stir"}
    path.write_text("".join(json.dumps({**base, **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def test_every_field_of_the_schema_is_read(tmp_path: Path) -> None:
    (tmp_path / "soup.md").write_text("1. Chop\n2. Stir\n", encoding="utf-8")
    row = {
        "id": "a",
        "start": "0:01:02.5",
        "end": 70,
        "procedure": "soup.md",
        "label": ["wrong_order", "Omission"],
        "dataset": "mine",
        "task": "soup",
        "group": "kitchen",
        "narration": "she stirs",
        "question": "Did I stir?",
        "answer": "No.",
        "meta": {"anything": 1},
    }
    (sample,) = load_own(write(tmp_path, row))
    assert (sample.id, sample.dataset, sample.group) == ("a", "mine", "kitchen")
    assert (sample.shown.start, sample.shown.end) == (62.5, 70.0)
    assert sample.shown.procedure == "1. Chop\n2. Stir\n"
    assert sample.shown.video == str(tmp_path / "one.mp4")
    assert sample.truth.labels == ("Wrong order", "Omission")
    assert (sample.shown.question, sample.truth.answer) == ("Did I stir?", "No.")
    assert sample.query().narration == "she stirs"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"lable": "correct"}, "'lable'.*the fields are id, video"),
        ({"label": "no such label"}, "the labels are correct"),
        ({"action": " "}, "'action' must be a text"),
        ({"procedure": "missing.md"}, "no procedure file"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_with_what_is_allowed(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        load_own(write(tmp_path, {}, row))
    assert "line 2" in str(caught.value)


def test_the_same_id_twice_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2: the id 'a' is already that of line 1"):
        load_own(write(tmp_path, {"id": "a"}, {"id": "a"}))


def test_check_data_reports_everything_before_hours_are_spent(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").touch()
    path = write(
        tmp_path,
        {"start": 1, "end": 2, "label": "correct"},
        {"start": 1, "end": 2, "label": "Omission"},
        {"start": 3, "end": 4, "label": "correct"},
        {"start": 3, "end": 4, "label": "correct"},
        {"start": 9, "end": 5, "label": "correct"},
        {"start": "later", "label": "correct"},
        {"video": "gone.mp4", "label": "correct"},
        {"start": 6, "end": 7},
        {"label": "no such label"},
    )
    faults: list[str] = []
    report = check_data(load_samples(path, faults=faults), faults=faults)
    assert not report.ok
    assert report.samples == 8
    assert len(report.unreadable) == 1
    assert [text.rpartition("/")[2] for text in report.missing_videos] == ["gone.mp4 (1 samples)"]
    assert len(report.bad_times) == 2
    assert len(report.conflicts) == len(report.duplicates) == len(report.no_label) == 1


def test_sound_data_is_ok(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").touch()
    report = check_data(load_own(write(tmp_path, {"label": "correct"})))
    assert report.ok
    assert report.labels == {"correct": 1}


def test_an_unknown_benchmark_lists_those_there_are() -> None:
    with pytest.raises(DataError, match="egoerrorvqa, egoerrorvqa-open"):
        load_samples("no-such-benchmark")
