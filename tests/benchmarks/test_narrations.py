"""Narrations from files of several kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ego_adr.benchmarks.narrations import read_narrations
from ego_adr.benchmarks.samples import Sample, Shown
from ego_adr.errors import DataError


def sample(
    name: str = "s", video: str = "videos/28_7_360p.mp4", start: float = 10.0, end: float = 20.0
) -> Sample:
    return Sample(id=name, dataset="d", group="captaincook4d/28_7", shown=Shown(video, start, end, "p", "a"))


TIMED = [
    (5.0, "#C C takes a knife"),
    (10.0, "#C C cuts the onion"),
    (19.9, "#O A man watches"),
    (20.0, "#C C rests"),
]
INSIDE = "C cuts the onion\nA man watches"


def ego4d() -> str:
    spoken = [{"timestamp_sec": t, "narration_text": text, "annotation_uid": "x"} for t, text in TIMED]
    return json.dumps(
        {"videos": {"28_7": {"status": "complete", "narration_pass_1": {"narrations": spoken}}}}
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ego4d.json", ego4d()),
        ("list.json", json.dumps([{"video_id": "28_7", "time": t, "text": text} for t, text in TIMED])),
        (
            "lines.jsonl",
            "\n".join(json.dumps({"video": "28_7_360p.mp4", "start": t, "narration": x}) for t, x in TIMED),
        ),
        ("table.csv", "video,time,narration\n" + "\n".join(f'28_7,{t},"{text}"' for t, text in TIMED)),
        ("table.tsv", "video\ttime\tnarration\n" + "\n".join(f"28_7\t{t}\t{text}" for t, text in TIMED)),
        ("plain.txt", "\n".join(f"28_7 {t} {text}" for t, text in TIMED)),
        (
            "clock.txt",
            "28_7 0:00:05 #C C takes a knife\n28_7 0:10 #C C cuts the onion\n28_7 0:19.9-0:21 #O A man watches",
        ),
    ],
)
def test_timed_narrations_go_to_the_clip_they_fall_into(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_narrations(path).of(sample()) == INSIDE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("object.json", '{"s": "she stirs", "t": "she rests"}'),
        ("list.json", '[{"id": "s", "narration": "she stirs"}]'),
        ("one.jsonl", '{"id": "s", "narration": "she stirs"}'),
        ("table.csv", "id,narration\ns,she stirs\n"),
    ],
)
def test_narrations_by_id_go_to_their_sample(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read_narrations(path)
    assert found.of(sample()) == "she stirs"
    assert found.of(sample("other", video="x.mp4")) is None


def test_a_sample_of_the_whole_video_gets_everything(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    path.write_text(ego4d(), encoding="utf-8")
    told = read_narrations(path).of(sample(start=-1, end=-1))
    assert told is not None
    assert told.count("\n") == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("n.json", '[{"id": "s"}]', "entry 0: no text"),
        ("n.jsonl", '{"narration": "x"}\n{"narration": "y"}', "line 1: it must say whose it is"),
        ("n.txt", "just words", "line 1: expected VIDEO TIME"),
        ("n.csv", "a,b\n1,2\n", "columns"),
        ("n.json", "[1]", "entry 0 is int"),
        ("n.json", "", "empty"),
    ],
)
def test_a_file_that_says_too_little_is_an_error_that_names_the_place(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_narrations(path)
