"""The report is one file that shows everything and needs nothing."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ego_adr.errors import DataError
from ego_adr.evaluation.report import write_report
from ego_adr.types import Detection, Exchange, Failure, Frame, StageUse


def detection(name: str, label: str | None, **more: Any) -> Detection:
    fields: dict[str, Any] = {
        "status": "ok" if label else "unparsed",
        "label": label,
        "labels": (label,) if label else (),
        "id": name,
        "action": f"do {name}",
        "video": f"{name}.mp4",
        "route": "deep",
        "model": "scripted",
        "narration": f"the person does {name}",
        "exchanges": (Exchange(stage="classify", prompt="Which label?", reply=str(label)),),
        "stages": (StageUse(stage="classify", calls=1, prompt_tokens=5, completion_tokens=2, seconds=0.5),),
        "reason": None if label else "refusal",
    }
    return Detection(**{**fields, **more})


class Page(HTMLParser):
    """Collects what a browser would fetch, the embedded data and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.data = ""
        self.text = ""
        self.open: list[str] = []
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.fetched += [str(found[name]) for name in ("src", "href") if found.get(name)]
        self.scripts += tag == "script"
        self.open.append(f"{tag}#{found.get('id')}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script#data":
            self.data += data
        else:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        while self.open and not self.open.pop().startswith(tag):
            pass


def page(path: Path) -> tuple[Page, dict[str, Any]]:
    read = Page(path.read_text(encoding="utf-8"))
    return read, json.loads(read.data)


def test_every_prompt_and_reply_and_outcome_is_in_the_page(tmp_path: Path) -> None:
    runs = {
        "first": [detection("a", "Omission"), detection("b", "correct"), detection("c", None)],
        "second": [
            detection("a", "Wrong object"),
            detection("b", "Omission"),
            detection(
                "c",
                None,
                status="failed",
                reason=None,
                failure=Failure(cause="video", message="no file c.mp4"),
            ),
        ],
    }
    path = write_report(
        runs, tmp_path / "deep" / "report.html", truths={"a": ["Omission"], "b": "correct", "c": "Others"}
    )
    read, data = page(path)
    kinds = {
        (sample["id"], data["runs"][v["run"]]): v["kind"]
        for sample in data["samples"]
        for v in sample["runs"]
    }
    assert kinds == {
        ("a", "first"): "right",
        ("b", "first"): "right",
        ("c", "first"): "unparsed",
        ("a", "second"): "wrong type",
        ("b", "second"): "false alarm",
        ("c", "second"): "failed",
    }
    exchange = data["samples"][0]["runs"][0]["exchanges"][0]
    assert (data["texts"][exchange[1]], data["texts"][exchange[2]]) == ("Which label?", "Omission")
    assert "no file c.mp4" in read.data
    assert "always 'correct'" in read.text
    assert "1 failed: video" in read.text


def test_nothing_is_fetched_from_outside_the_file(tmp_path: Path) -> None:
    picture = np.zeros((40, 60, 3), dtype=np.uint8)
    path = write_report(
        [detection("a", "correct")],
        tmp_path / "r.html",
        truths={"a": "correct"},
        frames={"a": [Frame(array=picture, time=1.5), picture]},
    )
    text = path.read_text(encoding="utf-8")
    read, data = page(path)
    assert [link for link in read.fetched if not link.startswith(("#", "data:"))] == []
    assert not re.search(r"(@import|url\(|https?://)", text)
    (sample,) = data["samples"]
    assert [uri[:23] for uri in sample["frames"]] == ["data:image/jpeg;base64,"] * 2
    assert sample["times"] == [1.5, None]


@pytest.mark.parametrize(
    "said", ["</script><script>alert(1)</script>", "<!-- <b>", "\u2028&amp;", "lone \ud800 half"]
)
def test_whatever_a_model_says_stays_data(tmp_path: Path, said: str) -> None:
    found = detection(
        "a", "correct", narration=said, exchanges=(Exchange(stage="narrate", prompt="p", reply=said),)
    )
    path = write_report(
        {f"run {said[:9]!a}": [found]}, tmp_path / "r.html", truths={"a": "correct"}, title="<i>x</i>"
    )
    read, data = page(path)
    assert read.scripts == 2
    assert data["texts"][data["samples"][0]["runs"][0]["narration"]] == said.replace("\ud800", "?")
    assert "<i>x</i>" not in path.read_text(encoding="utf-8")


def test_without_truths_samples_are_shown_and_no_figure_is_made_up(tmp_path: Path) -> None:
    read, data = page(write_report([detection("a", "Omission")], tmp_path / "r.html"))
    assert data["samples"][0]["runs"][0]["kind"] == "no truth"
    assert "always" not in read.text
    assert "Confusion" not in read.text


def test_no_sample_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sample to report"):
        write_report({"empty": []}, tmp_path / "r.html")


def test_a_truth_that_is_no_label_is_an_error_that_lists_the_labels(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'wrong colour'.*Equipment failure"):
        write_report([detection("a", "correct")], tmp_path / "r.html", truths={"a": "wrong colour"})


def test_long_texts_stand_in_the_file_once(tmp_path: Path) -> None:
    prompt = "the whole procedure " * 500
    found = [
        detection(str(i), "correct", exchanges=(Exchange(stage="classify", prompt=prompt, reply="correct"),))
        for i in range(50)
    ]
    path = write_report({"run": found}, tmp_path / "r.html", truths={str(i): "correct" for i in range(50)})
    assert path.read_text(encoding="utf-8").count("the whole procedure the whole procedure") == 250
    assert len(path.read_bytes()) < 150_000
