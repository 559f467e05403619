"""CaptainCook4D's recordings, with gold step times: how well order errors and omissions are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ego_adr.errors import DataError
from ego_adr.procedure.ordering import order_from_text
from ego_adr.sessions.captaincook4d import (
    Recording,
    error_free_recordings,
    read_recordings,
    task_graph_bank,
    written_bank,
)
from ego_adr.sessions.scoring import Counts, bootstrap_f1, rates, score_recording, total


@pytest.fixture(scope="module")
def folder(data_dir: Path) -> Path:
    place = data_dir / "captaincook4d"
    if not (place / "recordings_16_recipes.json").is_file():
        pytest.skip(f"CaptainCook4D's recordings are not at {place}")
    return place


@pytest.fixture(scope="module")
def recordings(folder: Path) -> list[Recording]:
    return read_recordings(folder / "recordings_16_recipes.json")


def test_gold_times_and_gold_graphs_find_nearly_all(folder: Path, recordings: list[Recording]) -> None:
    banks = {
        recipe: task_graph_bank(folder / "task_graphs", recipe) for recipe in {r.recipe for r in recordings}
    }
    scores = [score_recording(recording, banks[recording.recipe]) for recording in recordings]
    assert len(scores) == 254
    precision, _, f1 = rates(total(score.order for score in scores))
    assert precision >= 0.84
    assert f1 >= 0.89
    assert rates(total(score.omission for score in scores))[2] >= 0.97
    clean = [score for score in scores if score.clean]
    assert len(clean) == 179
    assert sum(score.flagged for score in clean) <= 10
    # Half of what is found can be known only once the late step begins.
    later, online = total(s.later for s in scores), total(s.order_online for s in scores)
    assert later.tp + online.tp == total(s.order for s in scores).tp
    low, high = bootstrap_f1([score.order for score in scores])["f1"]
    assert low < f1 < high


def test_the_step_texts_alone_come_near_the_gold_graphs(recordings: list[Recording]) -> None:
    found: dict[str, float] = {}
    for recipe in sorted({recording.recipe for recording in recordings}):
        source = error_free_recordings(recordings, recipe)[0]
        bank = order_from_text(written_bank(source))
        scores = [score_recording(r, bank) for r in recordings if r.recipe == recipe and r is not source]
        found[recipe] = rates(total(score.order for score in scores))[2]
    assert sum(found.values()) / len(found) >= 0.80, found


def test_the_example_prints_its_figures(repository: Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(repository / "examples" / "captaincook4d_order.py"), "--data", str(folder.parent),
         "--graph", "text", "--examples", "3", "--recipes", "Coffee", "Zoodles"],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for part in (
        "mean F1 over recipes",
        "worst",
        "all recipes but one",
        "95 %",
        "order, online",
        "needed-earlier",
        "are flagged",
    ):
        assert part in done.stdout


def test_a_file_that_holds_no_recordings_is_an_error_that_names_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "recordings.json"
    path.write_text('[{"recording_id": "1_1", "activity_name": "Tea"}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"recording 0: .*step_annotations"):
        read_recordings(path)
    path.write_text("[", encoding="utf-8")
    with pytest.raises(DataError, match="no JSON"):
        read_recordings(path)


def test_rates_of_nothing() -> None:
    assert rates(Counts()) == (1.0, 1.0, 1.0)
    assert rates(Counts(fn=3)) == (0.0, 0.0, 0.0)
    assert "precision" not in bootstrap_f1([Counts(fn=3)])
