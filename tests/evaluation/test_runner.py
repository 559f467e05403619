"""A run survives whatever ends it: nothing is lost and nothing counts twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ego_adr.benchmarks.narrations import Narrations
from ego_adr.benchmarks.samples import Sample, Shown, Truth
from ego_adr.errors import DataError, ServerError
from ego_adr.evaluation.merging import merge_runs
from ego_adr.evaluation.metrics import score_outcomes
from ego_adr.evaluation.predictions import read_predictions
from ego_adr.evaluation.results import LogWriter, mend_log, plan, read_log, seal
from ego_adr.evaluation.runner import choose_samples, evaluate, parse_shard
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Detection, Failure, Query

Cases = Callable[[str], list[dict[str, Any]]]
TAXONOMY = Taxonomy.load()


def samples(count: int, **more: Any) -> list[Sample]:
    return [
        Sample(
            id=f"s{i}",
            dataset=f"d{i % 4}",
            group=f"v{i % 7}",
            shown=Shown(f"v{i % 7}.mp4", float(i), i + 1.0, "Chop. Stir.", f"action {i % 5}"),
            truth=Truth(labels=(TAXONOMY.names[i % 3],)),
            narration="she stirs",
            **more,
        )
        for i in range(count)
    ]


class Fixed:
    """A detector whose answer depends on the query alone."""

    pause = 0.0

    def __init__(self, failing: Sequence[str] = (), stops_at: int | None = None) -> None:
        self.asked: list[str] = []
        self.failing = set(failing)
        self.stops_at = stops_at

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
        if self.stops_at is not None and len(self.asked) >= self.stops_at:
            raise ServerError("the server is gone")
        time.sleep(self.pause)
        self.asked += [str(query.id) for query in queries]
        return [self._one(query) for query in queries]

    def _one(self, query: Query) -> Detection:
        if query.id in self.failing:
            return Detection(status="failed", id=query.id, failure=Failure(cause="server", message="timeout"))
        label = TAXONOMY.names[len(str(query.id)) % 9]
        return Detection(status="ok", id=query.id, label=label, labels=(label,), narration=query.narration)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_sample_gets_one_line_with_its_truth_and_its_detection(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    result = evaluate(samples(10), Fixed(), tmp_path / "run", chunk=4, progress=lambda *n: seen.append(n))
    assert seen == [(0, 10), (4, 10), (8, 10), (10, 10)]
    assert (result.total, result.before, result.done) == (10, 0, 10)
    found = lines(tmp_path / "run")
    assert sorted(line["id"] for line in found) == sorted(f"s{i}" for i in range(10))
    for line in found:
        assert line["truth"] == list(samples(10)[int(line["id"][1:])].truth.labels)
        assert Detection.model_validate_json(json.dumps(line["detection"])).narration == "she stirs"


def test_a_second_start_asks_nothing_again(tmp_path: Path) -> None:
    evaluate(samples(10), Fixed(), tmp_path)
    before = (tmp_path / "results.jsonl").read_bytes()
    again = Fixed()
    result = evaluate(samples(10), again, tmp_path)
    assert again.asked == []
    assert (result.before, result.done) == (10, 0)
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_failed_samples_are_asked_again_unless_told_not_to(tmp_path: Path) -> None:
    evaluate(samples(6), Fixed(failing=["s1", "s4"]), tmp_path)
    kept = Fixed()
    assert evaluate(samples(6), kept, tmp_path, retry_failed=False).statuses["failed"] == 2
    assert kept.asked == []
    retried = Fixed()
    assert evaluate(samples(6), retried, tmp_path).statuses == {"ok": 6, "unparsed": 0, "failed": 0}
    assert sorted(retried.asked) == ["s1", "s4"]
    assert len(lines(tmp_path)) == 6


def test_a_model_that_stops_keeps_what_was_done(tmp_path: Path) -> None:
    with pytest.raises(ServerError):
        evaluate(samples(10), Fixed(stops_at=6), tmp_path, chunk=3)
    assert len(lines(tmp_path)) == 6
    assert evaluate(samples(10), Fixed(), tmp_path).before == 6


def test_half_a_line_a_repeated_id_and_a_failed_sample_are_put_right(
    cases_dir: Path, load_cases: Cases, tmp_path: Path
) -> None:
    case = next(found for found in load_cases("evaluation") if "samples" in found["input"])
    path = tmp_path / "results.jsonl"
    shutil.copyfile(cases_dir / case["input"]["file"], path)
    path.chmod(0o644)
    log = mend_log(path)
    todo = plan(log, case["input"]["samples"])
    assert todo == case["expected"]["run"]
    assert [name for name in case["input"]["samples"] if name not in todo] == case["expected"]["skip"]
    after = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    ids = [line["sample_id"] for line in after]
    assert all(ids.count(name) == 1 for name in case["expected"]["counted_once"])
    assert len(ids) == len(set(ids))


def test_a_line_whose_bytes_changed_is_found_by_its_checksum(tmp_path: Path) -> None:
    evaluate(samples(3), Fixed(), tmp_path)
    path = tmp_path / "results.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"id": "s1"', '"id": "s9"', 1), encoding="utf-8")
    log = read_log(path)
    assert len(log.broken) == 1
    assert "checksum" in log.broken[0]
    assert evaluate(samples(3), Fixed(), tmp_path).done == 1


def test_whatever_byte_a_kill_cuts_at_the_log_can_be_read_and_finished(tmp_path: Path) -> None:
    evaluate(samples(4), Fixed(), tmp_path / "whole")
    raw = (tmp_path / "whole" / "results.jsonl").read_bytes()
    manifest = (tmp_path / "whole" / "run.json").read_text(encoding="utf-8").replace('"whole"', '"cut"')
    ends = [place for place, byte in enumerate(raw) if byte == ord("\n")]
    folder = tmp_path / "cut"
    folder.mkdir()
    for length in range(0, len(raw), 97):
        (folder / "results.jsonl").write_bytes(raw[:length])
        (folder / "run.json").write_text(manifest, encoding="utf-8")
        result = evaluate(samples(4), Fixed(), folder)
        assert result.before == sum(end <= length for end in ends)
        assert sorted(line["id"] for line in lines(folder)) == ["s0", "s1", "s2", "s3"]


def test_a_log_line_keeps_any_text(tmp_path: Path) -> None:
    said = {"id": "x", "reply": "é 手順 \u2028 \ud800 \x00 \n", "value": 0.1 + 0.2}
    with LogWriter(tmp_path / "log.jsonl") as writer:
        writer.write([said])
    held = read_log(tmp_path / "log.jsonl").lines["x"]
    assert {name: held[name] for name in said} == said
    assert json.loads(seal(said))["checksum"] == held["checksum"]


def test_a_folder_of_other_settings_is_refused_with_the_difference(tmp_path: Path) -> None:
    evaluate(samples(4), Fixed(), tmp_path, settings={"frames": 8})
    with pytest.raises(DataError, match="frames: 8 then, 16 now"):
        evaluate(samples(4), Fixed(), tmp_path, settings={"frames": 16})
    with pytest.raises(DataError, match="already holds a run"):
        evaluate(samples(4), Fixed(), tmp_path, settings={"frames": 8}, resume=False)


def test_two_runs_cannot_write_to_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")

    class Nested(Fixed):
        def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
            with pytest.raises(DataError, match="another run is writing"):
                evaluate(samples(2), Fixed(), tmp_path)
            return super().detect_many(queries)

    assert evaluate(samples(2), Nested(), tmp_path).done == 2


def test_the_same_limit_and_seed_give_the_same_subset(load_cases: Cases) -> None:
    case = next(found for found in load_cases("evaluation") if "options" in found["input"])
    assert case["expected"]["same_subset_each_time"]
    everything = samples(400)
    first = {s.id for s in choose_samples(everything, 5, 0)}
    shuffled = random.Random(1).sample(everything, len(everything))
    assert {s.id for s in choose_samples(shuffled, 5, 0)} == first
    assert len(first) == 5
    assert {s.id for s in choose_samples(everything, 5, 1)} != first
    assert first < {s.id for s in choose_samples(everything, 50, 0)}
    with pytest.raises(DataError, match="at least 1"):
        choose_samples(everything, 0)


def test_a_limit_can_grow_and_the_run_goes_on(tmp_path: Path) -> None:
    evaluate(samples(40), Fixed(), tmp_path, limit=10)
    assert evaluate(samples(40), Fixed(), tmp_path, limit=20).before == 10
    with pytest.raises(DataError, match="does not ask"):
        evaluate(samples(40), Fixed(), tmp_path, limit=5)


def test_shards_are_disjoint_complete_and_merge_to_the_whole(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        evaluate(samples(20), Fixed(), tmp_path / f"part{part}", shard=(part, 3))
    evaluate(samples(20), Fixed(), tmp_path / "whole")
    count, notes = merge_runs([tmp_path / f"part{part}" for part in (1, 2, 3)], tmp_path / "merged")
    assert (count, notes) == (20, [])
    answers = {line["id"]: line["prediction"] for line in lines(tmp_path / "whole")}
    assert {line["id"]: line["prediction"] for line in lines(tmp_path / "merged")} == answers
    count, notes = merge_runs([tmp_path / "part1", tmp_path / "part3"], tmp_path / "partly")
    assert count < 20
    assert notes == ["shards are missing: 2/3"]


def test_runs_of_other_settings_do_not_merge(tmp_path: Path) -> None:
    evaluate(samples(4), Fixed(), tmp_path / "a", settings={"frames": 8}, shard=(1, 2))
    evaluate(samples(4), Fixed(), tmp_path / "b", settings={"frames": 16}, shard=(2, 2))
    with pytest.raises(DataError, match="frames"):
        merge_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "c")


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "-1/4", "1/0"])
def test_a_shard_that_is_none_says_how_to_write_one(text: str) -> None:
    with pytest.raises(DataError, match="write 1/4"):
        parse_shard(text)


def test_samples_that_cannot_be_asked_fail_by_name_without_the_model(tmp_path: Path) -> None:
    from dataclasses import replace

    (first, second, third) = samples(3)
    broken = replace(first, problem=Failure(cause="procedure", message="no procedure for 'Unknown Dish'"))
    silent = replace(second, narration=None)
    detector = Fixed()
    evaluate([broken, silent, third], detector, tmp_path)
    causes = {line["id"]: line["cause"] for line in lines(tmp_path)}
    assert detector.asked == ["s2"]
    assert causes == {"s0": "procedure", "s1": "video", "s2": None}
    message = next(line for line in lines(tmp_path) if line["id"] == "s1")["detection"]["failure"]["message"]
    assert "v1.mp4" in message


def test_given_narrations_go_to_the_detector(tmp_path: Path) -> None:
    evaluate(samples(2), Fixed(), tmp_path, narrations=Narrations({"s0": "given"}, {}))
    said = {line["id"]: line["detection"]["narration"] for line in lines(tmp_path)}
    assert said == {"s0": "given", "s1": "she stirs"}


def test_a_detector_that_loses_an_answer_is_named(tmp_path: Path) -> None:
    class Losing(Fixed):
        def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
            return super().detect_many(queries)[1:]

    with pytest.raises(DataError, match="one each"):
        evaluate(samples(2), Losing(), tmp_path)


SCRIPT = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    import {module} as here
    from ego_adr.evaluation.runner import evaluate

    here.Fixed.pause = 0.01
    evaluate(here.samples(300), here.Fixed(), Path({folder!r}), name="run", chunk=3)
"""


def test_a_run_killed_many_times_ends_with_the_same_report_as_an_unbroken_one(tmp_path: Path) -> None:
    here = Path(__file__)
    folder = tmp_path / "killed"
    script = textwrap.dedent(SCRIPT).format(tests=str(here.parent), module=here.stem, folder=str(folder))
    log = folder / "results.jsonl"
    rng = random.Random(4)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    kills = 0
    for _ in range(5):
        had = log.stat().st_size if log.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE)
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) == had:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.12)
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
    assert kills >= 2
    evaluate(samples(300), Fixed(), folder, name="run", chunk=3)
    evaluate(samples(300), Fixed(), tmp_path / "unbroken", name="run")
    assert len(lines(folder)) == 300
    reports = [
        score_outcomes(
            sorted(read_predictions(place / "results.jsonl", TAXONOMY).outcomes, key=lambda o: o.id),
            TAXONOMY,
            resamples=50,
        )
        for place in (folder, tmp_path / "unbroken")
    ]
    assert reports[0] == reports[1]
