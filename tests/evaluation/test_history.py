"""The earlier steps of a recording, joined to the verdicts on its clips."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa
from ego_adr.benchmarks.samples import NEGATIVE_START, NO_ACTION, Sample, Shown, Truth
from ego_adr.cli_evaluation import add_run_commands
from ego_adr.detector import EgoADR
from ego_adr.errors import DataError, ProcedureError
from ego_adr.evaluation import history as subject
from ego_adr.evaluation.history import RecordingHistory, read_recording_logs
from ego_adr.evaluation.runner import evaluate
from ego_adr.models.scripted import ScriptedModel
from ego_adr.types import Detection, Failure, Reply, Request

RECIPE = "1. Crack two eggs into the bowl.\n2. Whisk the eggs in the bowl.\n3. Pour the eggs from the bowl into the pan.\n"
CRACK, WHISK, POUR = (
    "crack two eggs into the bowl",
    "whisk the eggs in the bowl",
    "pour the eggs into the pan",
)
GRAPH = {
    "steps": {"0": "START", "7": "Crack eggs", "8": "Whisk eggs", "9": "Pour eggs", "1": "END"},
    "edges": [[0, 7], [7, 8], [8, 9], [9, 1]],
}


def row(name: str, action: str, start: float, end: float, video: str = "a.mp4", **more: Any) -> Sample:
    shown = {"procedure": RECIPE, "task": "Fried Egg", **more.pop("shown", {})}
    return Sample(
        id=name,
        dataset="kitchen",
        group=video,
        shown=Shown(video=video, start=start, end=end, action=action, **shown),
        **{"truth": Truth(labels=("correct",)), "narration": "SECRET narration", **more},
    )


def early_pour() -> list[Sample]:
    """Poured, and only then whisked; in another video all is well."""
    return [
        row("pour", POUR, 10, 20, truth=Truth(labels=("Wrong order",))),
        row("whisk", WHISK, 20, 30, truth=Truth(labels=("Wrong order",))),
        row("crack", CRACK, 0, 10),
        row("crack b", CRACK, 0, 10, "b.mp4"),
        row("whisk b", WHISK, 10, 20, "b.mp4"),
    ]


def detector(said: str = "correct") -> EgoADR:
    return EgoADR(ScriptedModel(lambda _: said), route="deep", match="off", cache=False)


def run(samples: list[Sample], out: Path, said: str = "correct", **how: Any) -> dict[str, dict[str, Any]]:
    history = how.pop("history", None) or RecordingHistory.of(samples)
    evaluate(samples, detector(said), out, history=history, **how)
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


def predictions(lines: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: line["prediction"] for name, line in lines.items()}


def test_what_the_recording_shows_is_joined_and_both_answers_are_kept(tmp_path: Path) -> None:
    lines = run(early_pour(), tmp_path)
    assert predictions(lines) == {
        "pour": "correct",  # nobody can know it yet
        "whisk": "Wrong order",
        "crack": "correct",
        "crack b": "correct",
        "whisk b": "correct",
    }
    whisk = lines["whisk"]
    assert (whisk["clip_status"], whisk["clip_prediction"]) == ("ok", "correct")
    assert "10.0 s" in whisk["detection"]["evidence"][0]
    assert whisk["detection"]["warnings"][-1].startswith("history: the recording shows it out of order")
    assert lines["whisk b"]["detection"]["warnings"] == []


def test_without_a_history_the_lines_are_as_before(tmp_path: Path) -> None:
    evaluate(early_pour(), detector(), tmp_path)
    lines = [json.loads(t) for t in (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["prediction"] for line in lines} == {"correct"}
    assert not any("clip_prediction" in line for line in lines)


@pytest.mark.parametrize(
    "how", [{"limit": 1, "seed": seed} for seed in range(8)] + [{"shard": (n, 5)} for n in range(1, 6)]
)
def test_the_history_is_the_same_whatever_limit_or_shard_is_run(tmp_path: Path, how: dict[str, Any]) -> None:
    whole = predictions(run(early_pour(), tmp_path / "whole"))
    part = predictions(run(early_pour(), tmp_path / "part", **how))
    assert len(part) == 1
    assert part.items() <= whole.items()


def test_labels_do_not_depend_on_the_truths_of_any_row(tmp_path: Path) -> None:
    samples = early_pour()
    plain = predictions(run(samples, tmp_path / "plain"))
    for seed in range(5):
        truths = [sample.truth for sample in samples]
        random.Random(seed).shuffle(truths)
        shuffled = [replace(sample, truth=truth) for sample, truth in zip(samples, truths, strict=True)]
        assert RecordingHistory.of(shuffled) == RecordingHistory.of(samples)
        assert predictions(run(shuffled, tmp_path / str(seed))) == plain
    bare = [replace(sample, truth=Truth(), narration="something else") for sample in samples]
    assert RecordingHistory.of(bare) == RecordingHistory.of(samples)


def test_no_truth_of_any_row_reaches_the_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        replace(
            sample,
            truth=Truth(labels=(f"SECRET label {n}",), answer="SECRET answer"),
            notes=("SECRET note",),
            giveaways=("SECRET giveaway",),
        )
        for n, sample in enumerate(early_pour())
    ]
    given: list[str] = []
    real = subject.join_with_history

    def spy(detection: Detection, *rest: Any, **more: Any) -> Detection:
        given.append(repr((rest, more)))
        return real(detection, *rest, **more)

    monkeypatch.setattr(subject, "join_with_history", spy)
    run(samples, tmp_path)
    assert len(given) == len(samples)
    assert any(POUR in text for text in given)
    assert not [text for text in given if "SECRET" in text]


def test_a_run_never_goes_on_with_another_history(tmp_path: Path) -> None:
    samples = early_pour()
    history = RecordingHistory.of(samples)
    evaluate(samples, detector(), tmp_path / "on", history=history, limit=2)
    with pytest.raises(DataError, match="history: 'text' then, None now"):
        evaluate(samples, detector(), tmp_path / "on")
    moved = [replace(s, shown=replace(s.shown, start=(s.shown.start or 0) + 1)) for s in samples]
    with pytest.raises(DataError, match="history_fingerprint"):
        evaluate(moved, detector(), tmp_path / "on", history=RecordingHistory.of(moved))
    evaluate(samples, detector(), tmp_path / "off", limit=2)
    with pytest.raises(DataError, match="history: None then, 'text' now"):
        evaluate(samples, detector(), tmp_path / "off", history=history)
    done = evaluate(samples, detector(), tmp_path / "on", history=history)
    assert (done.before, done.done, done.relabelled) == (2, 3, 1)


def test_a_failed_sample_stays_failed_and_is_asked_again(tmp_path: Path) -> None:
    samples = early_pour()
    history = RecordingHistory.of(samples)

    def down(request: Request) -> Reply:
        return Reply(text="", failure=Failure(cause="server", message="it is down"))

    failing = EgoADR(ScriptedModel(down), route="deep", match="off", cache=False)
    first = evaluate(samples, failing, tmp_path, history=history)
    assert first.statuses == {"ok": 0, "unparsed": 0, "failed": 5}
    again = evaluate(samples, detector(), tmp_path, history=history)
    assert (again.before, again.statuses["ok"], again.relabelled) == (0, 5, 1)


def test_a_reply_without_a_label_is_left_unless_the_recording_decides(tmp_path: Path) -> None:
    lines = run(early_pour(), tmp_path, said="It is hard to say.")
    assert {name: line["status"] for name, line in lines.items() if line["status"] == "ok"} == {"whisk": "ok"}
    assert lines["whisk"]["clip_status"] == "unparsed"


@pytest.mark.parametrize(
    "odd",
    [
        row("odd", POUR, -1, -1, giveaways=(NEGATIVE_START,)),
        row("odd", POUR, 9, 5),
        replace(row("odd", POUR, 0, 5), shown=Shown("a.mp4", None, None, RECIPE, POUR, "Fried Egg")),
        row("odd", "the step that this clip shows", 0, 5, giveaways=(NO_ACTION,)),
        row("odd", "dance on the table", 0, 5),
        row("odd", POUR, 15, 25, "b.mp4"),
        row("odd", POUR, 15, 25, shown={"procedure": "1. Pour the eggs into the pan.\n2. Serve."}),
    ],
    ids=["not done", "backwards", "no times", "no words", "no step", "another video", "another procedure"],
)
def test_rows_that_say_nothing_of_the_past_change_no_verdict(tmp_path: Path, odd: Sample) -> None:
    samples = [row("crack", CRACK, 2, 10), row("whisk", WHISK, 20, 30), odd]
    assert set(predictions(run(samples, tmp_path)).values()) == {"correct"}


def test_a_task_graph_gives_the_order_and_other_tasks_stand_alone(tmp_path: Path) -> None:
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    (graphs / "friedegg.json").write_text(json.dumps(GRAPH), encoding="utf-8")
    prose = {"procedure": "Crack, whisk and pour the eggs.", "task": "Fried-Egg"}
    samples = [
        row("pour", "Pour eggs", 0, 9, shown=prose),
        row("whisk", "Whisk eggs", 10, 19, shown=prose),
        row("other pour", POUR, 0, 9, "c.mp4", shown={"task": "Tea"}),
        row("other whisk", WHISK, 10, 19, "c.mp4", shown={"task": "Tea"}),
    ]
    history = RecordingHistory.of(samples, graphs=graphs)
    assert history.notes[0] == "history: task graphs of 1 of 2 tasks"
    found = predictions(run(samples, tmp_path / "run", history=history))
    assert found == {
        "pour": "correct",
        "whisk": "Wrong order",
        "other pour": "correct",
        "other whisk": "correct",
    }
    assert history.settings()["history"] == "graphs"
    assert history.fingerprint != RecordingHistory.of(samples).fingerprint


def test_the_log_of_a_whole_recording_tells_more_than_its_rows(tmp_path: Path) -> None:
    samples = [row("crack", CRACK, 0, 10), row("whisk", WHISK, 20, 30)]
    log = [(CRACK, 0, 10), (POUR, 10, 20), (WHISK, 20, 30), ("serve the eggs", 40, 50)]
    history = RecordingHistory.of(samples, logs={"a.mp4": log})
    found = predictions(run(samples, tmp_path / "log", history=history))
    assert found == {"crack": "correct", "whisk": "Wrong order"}
    assert set(predictions(run(samples, tmp_path / "rows")).values()) == {"correct"}
    assert set(
        predictions(
            run(samples, tmp_path / "b", history=RecordingHistory.of(samples, logs={"b": log}))
        ).values()
    ) == {"correct"}
    assert history.fingerprint != RecordingHistory.of(samples).fingerprint


def test_logs_of_recordings_are_found_by_the_names_of_their_videos(tmp_path: Path) -> None:
    samples = [row("one", CRACK, 0, 10, "day 1/28_7"), row("two", CRACK, 0, 10, "b.mp4")]
    (tmp_path / "28_7.csv").write_text(f"step,start,end\n{POUR},0,5\n", encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps([{"step": CRACK, "start": 0, "end": 5}]), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no log", encoding="utf-8")
    found = read_recording_logs(tmp_path, samples)
    assert {name: [event.step for event in log] for name, log in found.items()} == {
        "day 1/28_7": [POUR],
        "b.mp4": [CRACK],
    }
    (tmp_path / "b.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="both the log of 'b'"):
        read_recording_logs(tmp_path, samples)
    with pytest.raises(DataError, match=r"28_7\.csv"):
        read_recording_logs(tmp_path / "none", samples)


def test_graphs_that_cannot_be_used_are_said_before_a_run(tmp_path: Path) -> None:
    samples = early_pour()
    with pytest.raises(DataError, match="no folder of task graphs"):
        RecordingHistory.of(samples, graphs=tmp_path / "none")
    with pytest.raises(DataError, match=r"friedegg\.json"):
        RecordingHistory.of(samples, graphs=tmp_path)
    circle = {"steps": ["Crack eggs", "Whisk eggs"], "edges": [[0, 1], [1, 0]]}
    (tmp_path / "friedegg.json").write_text(json.dumps(circle), encoding="utf-8")
    with pytest.raises(ProcedureError):
        RecordingHistory.of(samples, graphs=tmp_path)


def test_prose_is_warned_of_and_open_questions_have_no_history() -> None:
    prose = "Crack two eggs into the bowl, then whisk the eggs in the bowl, and pour the eggs into the pan."
    history = RecordingHistory.of([row("a", CRACK, 0, 1, shown={"procedure": prose})])
    assert any("prose" in note for note in history.notes)
    with pytest.raises(DataError, match="open-end"):
        RecordingHistory.of([row("a", CRACK, 0, 1, shown={"question": "What happened?"})])


def test_the_command_line_joins_and_says_how_many_labels_it_changed(tmp_path: Path) -> None:
    app = typer.Typer()
    add_run_commands(app)
    rows = [
        {
            "id": sample.id,
            "video": sample.shown.video,
            "start": sample.shown.start,
            "end": sample.shown.end,
            "procedure": RECIPE,
            "action": sample.shown.action,
            "label": sample.truth.labels[0],
            "narration": "The person cooks.",
        }
        for sample in early_pour()
    ]
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    base = ["evaluate", str(own), "--out", str(tmp_path / "out"), "--routes", "shallow", "--resamples", "0"]
    result = CliRunner().invoke(app, [*base, "--with-history", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["scores"][0]["rates"]["tp"] == 1
    assert "the history changed 1 labels" in " ".join(result.stderr.split())
    refused = CliRunner().invoke(app, base)
    assert refused.exit_code == 1
    assert "history" in refused.stderr
    for option in ("--graphs", "--logs"):
        wrong = CliRunner().invoke(app, [*base, option, str(tmp_path)])
        assert wrong.exit_code == 1
        assert "--with-history" in wrong.stderr
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "b.csv").write_text(f"step,start,end\n{POUR},1,2\n", encoding="utf-8")
    base[3] = str(tmp_path / "with logs")
    result = CliRunner().invoke(app, [*base, "--with-history", "--logs", str(logs), "--json"])
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert "whole recordings of 1 of 2 videos" in said
    assert "the history changed 2 labels" in said


def test_real_rows_give_no_word_of_their_annotators_to_the_history(data_dir: Path) -> None:
    path = data_dir / "egoerrorvqa" / "captaincook4d_answer.json"
    samples = load_egoerrorvqa(path)
    history = RecordingHistory.of(samples)
    kept = " ".join(str(event.step) for events in history.events.values() for event in events).casefold()
    assert sum(map(len, history.events.values())) == 947  # of 1,000 rows 53 have no time of their own
    rows = json.loads(path.read_text(encoding="utf-8"))
    remarks = [
        remark.casefold()
        for row in rows
        for remark in [row.get("error_caption"), *(error["description"] for error in row.get("errors", []))]
        if isinstance(remark, str) and len(remark.split()) > 2
    ]
    # what a remark shares word for word with the action that is shown anyway is no word of the annotators alone
    shown = "\n".join(str(row["action_annotation"]) for row in rows).casefold()
    remarks = [remark for remark in remarks if remark not in shown]
    assert len(remarks) > 200
    assert not [remark for remark in remarks if remark in kept]
    random.Random(0).shuffle(truths := [sample.truth for sample in samples])
    shuffled = [replace(sample, truth=truth) for sample, truth in zip(samples, truths, strict=True)]
    assert RecordingHistory.of(shuffled) == history
