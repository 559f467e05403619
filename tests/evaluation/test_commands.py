"""The commands of the evaluation, as a person or a script calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ego_adr.cli_evaluation import add_run_commands
from ego_adr.cli_scoring import add_score_commands

app = typer.Typer()
add_run_commands(app)
add_score_commands(app)


def call(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def as_json(*arguments: object, code: int = 0) -> Any:
    return json.loads(call(*arguments, "--json", code=code).stdout)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Eight rows of one's own, with narrations that speak of errors."""
    rows = [
        {
            "id": f"row{i}",
            "video": f"video{i // 2}.mp4",
            "start": i,
            "end": i + 1,
            "procedure": "1. Chop the onion.\n2. Whisk the eggs.\n",
            "action": "whisk the eggs",
            "label": "Omission" if i % 2 else "correct",
            "narration": "The person forgets to add the eggs."
            if i % 4 == 1
            else "The person whisks the eggs.",
        }
        for i in range(8)
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(own: Path, out: Path, *more: object, code: int = 0) -> Any:
    return as_json("evaluate", own, "--out", out, "--routes", "shallow", "--resamples", 20, *more, code=code)


def test_evaluate_runs_scores_and_reports(own: Path, tmp_path: Path) -> None:
    found = run(own, tmp_path / "out")
    (entry,) = found["runs"]
    assert (entry["total"], entry["done"]) == (8, 8)
    (score,) = found["scores"]
    assert (score["rates"]["rows"], score["rates"]["answered"]) == (8, 8)
    assert Path(found["report"]).is_file()
    again = run(own, tmp_path / "out")
    assert again["runs"][0]["before"] == 8
    assert again["scores"] == found["scores"]


def test_samples_without_labels_are_run_and_reported_and_nothing_is_scored(own: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in own.read_text(encoding="utf-8").splitlines()]
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(json.dumps({k: v for k, v in r.items() if k != "label"}) + "\n" for r in rows),
        encoding="utf-8",
    )
    found = run(bare, tmp_path / "bare-out")
    assert found["scores"] == []
    assert found["runs"][0]["statuses"]["ok"] == 8
    assert "The person whisks the eggs." in Path(found["report"]).read_text(encoding="utf-8")
    partly = tmp_path / "partly.jsonl"
    partly.write_text(
        bare.read_text(encoding="utf-8").replace('"row', '"bare') + own.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    (score,) = run(partly, tmp_path / "partly-out")["scores"]
    assert score["rates"]["rows"] == 8
    assert "8 rows have no known label and are not scored" in score["warnings"]


def test_the_total_is_said_before_the_start_and_stdout_holds_json_alone(own: Path, tmp_path: Path) -> None:
    result = call(
        "evaluate",
        own,
        "--out",
        tmp_path / "o",
        "--routes",
        "shallow",
        "--limit",
        3,
        "--resamples",
        0,
        "--json",
    )
    assert json.loads(result.stdout)["runs"][0]["total"] == 3
    said = " ".join(result.stderr.split())
    assert "3 samples" in said
    assert "limit 3 of 8, over all data sets together, seed 0" in said


def test_options_of_the_loader_are_kept_and_may_change_when_they_change_no_answer(
    own: Path, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    run(own, out, "--limit", 4, "-M", "batch_size=2")
    (manifest,) = out.glob("*/run.json")
    assert json.loads(manifest.read_text(encoding="utf-8"))["model_options"] == {"batch_size": 2}
    found = run(own, out, "-M", "batch_size=3")
    assert (found["runs"][0]["before"], found["runs"][0]["done"]) == (4, 4)
    other = run(own, out, "-M", "clip_form=timed images", code=1)
    assert "holds a run of other settings" in json.dumps(other)


def test_score_and_compare_need_no_model(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(own, tmp_path / "one")
    run(own, tmp_path / "two", "--match", "recommended")

    def no_model(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("ego_adr.models.registry.load_model", no_model)
    found = as_json("score", tmp_path / "one", "--resamples", 20)
    assert found["scores"][0]["rates"]["rows"] == 8
    assert "always 'correct'" in [entry["name"] for entry in found["scores"][0]["blind"]]
    compared = as_json(
        "compare", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "c.html", "--resamples", 20
    )
    assert len(compared["scores"]) == 2
    assert compared["differences"][0]["rows"] == 8
    assert (tmp_path / "c.html").stat().st_size > 10_000
    shown = call(
        "compare", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "c.html", "--resamples", 20
    )
    assert "always" in shown.stdout
    assert "exact McNemar" in shown.stdout


def test_shards_are_merged_by_their_parent_folders(own: Path, tmp_path: Path) -> None:
    for part in (1, 2):
        run(own, tmp_path / f"shard{part}", "--shard", f"{part}/2", "--no-report")
    found = as_json("merge", tmp_path / "shard1", tmp_path / "shard2", "--out", tmp_path / "merged")
    assert [(entry["samples"], entry["notes"]) for entry in found["runs"]] == [(8, [])]
    assert as_json("score", tmp_path / "merged", "--resamples", 0)["scores"][0]["rates"]["rows"] == 8


def test_paper_counting_is_a_switch(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    rows = [
        {"id": "a", "truth": "correct", "prediction": "I think it is fine."},
        {"id": "b", "truth": "Omission", "prediction": "omission"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    strict = as_json("score", path, "--resamples", 0)["scores"][0]
    paper = as_json("score", path, "--resamples", 0, "--paper-counting")["scores"][0]
    assert (strict["rates"]["fp"], strict["unparsed"]) == (0, {"not a label": 1})
    assert (paper["rates"]["fp"], paper["rates"]["tp"], paper["counting"]) == (1, 1, "paper")


def test_check_data_fails_where_samples_cannot_be_asked(own: Path) -> None:
    found = as_json("check-data", own, code=1)
    assert not found["ok"]
    assert len(found["missing_videos"]) == 4
    assert "missing videos" in call("check-data", own, code=1).stdout


def test_check_data_on_the_real_files(data_dir: Path, tmp_path: Path) -> None:
    found = as_json("check-data", "egoerrorvqa", "--data", data_dir, "--write", tmp_path / "shown.jsonl")
    assert (found["samples"], len(found["conflicts"])) == (1857, 21)
    lines = (tmp_path / "shown.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1857
    assert set(json.loads(lines[0])) == {"id", "video", "start", "end", "task", "action"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "no-such-file.jsonl"], "is not there"),
        (["evaluate", "no-such-benchmark", "--out", "x"], "there is no benchmark"),
        (["merge", "no-such-folder", "--out", "x"], "is not there"),
        (["ablate", "own.jsonl", "--out", "x", "-m", "tabletop", "--grid", "all"], "levels, stages or both"),
        (["agreement", "no-such-file.csv"], "no file of ratings"),
    ],
)
def test_what_cannot_be_done_exits_with_1_and_says_why(arguments: list[str], said: str) -> None:
    result = call(*arguments, "--json", code=1)
    assert said in json.loads(result.stdout)["failure"]["message"]


def test_a_wrong_option_exits_with_2() -> None:
    call("evaluate", "egoerrorvqa", "--out", "x", "--limit", "0", code=2)
    call("score", code=2)


def test_videos_or_narrations_must_be_given_for_the_benchmark(data_dir: Path, tmp_path: Path) -> None:
    result = call("evaluate", "egoerrorvqa", "--data", data_dir, "--out", tmp_path, "--json", code=1)
    assert "--videos ROOT, or --narrations FILE" in json.loads(result.stdout)["failure"]["message"]


def test_agreement_between_judges_and_people(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("id,ann,ben,judge\na,1,1,1\nb,3,3,2\nc,5,5,5\nd,0,1,0\n", encoding="utf-8")
    found = as_json("agreement", table, "--people", "ann,ben")
    assert found["consensus"]["judge"]["pearson"] > 0.9
    assert found["mean_kappa"] is not None
    assert "Pearson" in call("agreement", table, "--people", "ann,ben").stdout
