"""Users' own data, and what is said about it before a run."""

from __future__ import annotations

import gzip
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
    assert len(report.bad_times) == len(report.no_times) == 1
    assert len(report.conflicts) == len(report.duplicates) == len(report.no_label) == 1


def test_sound_data_is_ok(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").touch()
    report = check_data(load_own(write(tmp_path, {"label": "correct"})))
    assert report.ok
    assert report.labels == {"correct": 1}


def test_times_that_are_none_are_not_called_sound(tmp_path: Path) -> None:
    (tmp_path / "one.mp4").touch()
    report = check_data(load_own(write(tmp_path, {"label": "correct", "start": "NaN", "end": 3})))
    assert len(report.no_times) == 1
    assert not report.ok


ROW = {"id": "a", "video": "one.mp4", "procedure": "Chop. Stir.", "action": "stir é", "label": "correct"}
PLAIN = json.dumps(ROW, ensure_ascii=False)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("rows.jsonl", PLAIN.encode()),
        ("rows.jsonl", f"\n\n{PLAIN}\n  \n".replace("\n", "\r\n").encode("utf-8-sig")),
        ("rows.jsonl", f"{PLAIN}\n".encode("utf-16")),
        ("rows.jsonl.gz", gzip.compress(PLAIN.encode())),
        ("rows.jsonl", f"[{PLAIN}]".encode()),
        ("rows.json", json.dumps([ROW], indent=2).encode()),
        ("rows.json", json.dumps({"a": {key: value for key, value in ROW.items() if key != "id"}}).encode()),
        ("rows.json", json.dumps({"version": 2, "rows": [ROW]}).encode()),
        ("rows.json", f"{PLAIN}\n{json.dumps({**ROW, 'id': 'b'})}\n".encode()),
    ],
    ids=["plain", "windows", "utf-16", "gzip", "list", "indented", "by id", "wrapped", "lines"],
)
def test_rows_are_read_however_they_were_saved(tmp_path: Path, name: str, held: bytes) -> None:
    (tmp_path / name).write_bytes(held)
    sample = load_samples(tmp_path / name)[0]
    assert (sample.id, sample.shown.action, sample.truth.labels) == ("a", "stir é", ("correct",))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "holds no rows"),
        (b"\n \n", "holds no rows"),
        (b"[]", "holds no rows"),
        (b"id,video\na,one.mp4\n", "begins with 'id,video'.*one JSON object a line"),
        (b"\xff\xfe\xfd", "no text in UTF-8"),
        (PLAIN.encode("latin-1"), "Save it as UTF-8"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], "cannot be read"),
        (b'{"id": ' + b"9" * 5000 + b"}", "line 1 is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"7", "begins with '7'"),
    ],
)
def test_a_file_of_something_else_is_an_error_that_says_what_to_write(
    tmp_path: Path, held: bytes, said: str
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(held)
    with pytest.raises(DataError, match=said):
        load_samples(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("given", [True, 7.5, [1], "", " "])
def test_an_id_is_a_text_or_a_whole_number(tmp_path: Path, given: Any) -> None:
    with pytest.raises(DataError, match="'id' must be a text or a whole number"):
        load_own(write(tmp_path, {"id": given}))


def test_a_video_is_found_however_another_system_writes_its_name(tmp_path: Path) -> None:
    (tmp_path / "küche").mkdir()
    (tmp_path / "küche" / "é.mp4").touch()
    for name in ("küche/é.mp4", "ku\u0308che/e\u0301.mp4", "küche\\é.mp4"):
        (sample,) = load_own(write(tmp_path, {"video": name}))
        assert Path(sample.shown.video).is_file(), name
    with pytest.raises(DataError, match="address"):
        load_own(write(tmp_path, {"video": "https://example.org/a.mp4"}))


def test_long_texts_are_no_paths(tmp_path: Path) -> None:
    recipe = "Chop the onions and " * 20
    (sample,) = load_own(write(tmp_path, {"procedure": recipe, "label": "correct", "video": "v" * 300}))
    assert sample.shown.procedure == recipe
    assert len(check_data([sample]).missing_videos) == 1


def test_an_empty_procedure_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "soup.md").write_text(" \n", encoding="utf-8")
    with pytest.raises(DataError, match=r"soup\.md is empty"):
        load_own(write(tmp_path, {"procedure": "soup.md"}))


def test_an_unknown_benchmark_lists_those_there_are() -> None:
    with pytest.raises(DataError, match="egoerrorvqa, egoerrorvqa-open"):
        load_samples("no-such-benchmark")
