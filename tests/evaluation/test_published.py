"""The published figures: carried over right, and never taken for runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ego_adr.cli_scoring import add_score_commands
from ego_adr.evaluation.comparing import published_table
from ego_adr.evaluation.published import PublishedRow, PublishedTable, published_figures
from ego_adr.taxonomies import Taxonomy

TABLES = {table.number: table for table in published_figures().tables}
ROWS = [(number, row) for number, table in TABLES.items() for row in table.figures]


@pytest.mark.parametrize(("number", "row"), ROWS, ids=lambda value: getattr(value, "method", str(value)))
def test_every_row_agrees_with_itself(number: int, row: PublishedRow) -> None:
    # F1 of precision and recall as they were rounded: a digit carried over wrong shows here.
    f1 = 2 * row.precision * row.recall / (row.precision + row.recall)
    assert row.f1 == pytest.approx(f1, abs=0.16), (number, row.method)


def test_the_three_tables_are_whole() -> None:
    assert {number: len(table.figures) for number, table in TABLES.items()} == {4: 32, 5: 9, 6: 4}
    assert published_figures().rows == 1857
    taxonomy = Taxonomy.load()
    assert all(taxonomy.find(label) is not None for label in TABLES[4].labels)
    names = [(row.method, row.frames) for row in TABLES[4].figures]
    assert len(set(names)) == len(names)
    # rows that tables share say the same
    deep = next(row for row in TABLES[5].figures if row.method == "Qwen2.5-VL, deep")
    ours = next(row for row in TABLES[4].figures if row.method == "Ego-ADR (Qwen2.5-VL)")
    both = next(row for row in TABLES[6].figures if row.method == "match=on, narration=on")
    assert {(row.precision, row.recall, row.f1) for row in (deep, ours, both)} == {(11.3, 80.3, 19.8)}


def test_accuracy_by_label_adds_up_to_the_accuracy_of_all(data_dir: Path) -> None:
    """(TP + TN) / all from the accuracies by label. A row of several labels that is right counts for each of them."""
    from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa

    taxonomy = Taxonomy.load()
    truths = [set(sample.truth.labels) for sample in load_egoerrorvqa(data_dir)]
    names = [taxonomy.require(label).name for label in TABLES[4].labels]
    counts = [sum(name in truth for truth in truths) for name in names]
    surplus = 100 * sum(len(truth) - 1 for truth in truths) / len(truths)
    for row in TABLES[4].figures:
        if row.labels and row.accuracy is not None:
            found = sum(rate * count for rate, count in zip(row.labels, counts, strict=True)) / len(truths)
            assert -0.1 <= found - row.accuracy <= surplus + 0.1, (row.method, row.frames, found)


def test_a_column_without_figures_is_left_out() -> None:
    found = published_table(TABLES[6], Taxonomy.load())
    assert found.headings == ("Frames", "Pre", "Rec", "F1")
    assert published_table(TABLES[5], Taxonomy.load()).headings[-1] == "TP"
    four = published_table(TABLES[4], Taxonomy.load())
    assert four.headings[:5] == ("Frames", "Acc", "Pre", "Rec", "F1")
    assert len(set(four.headings)) == 11
    assert {kind for _, kind, _ in four.rows} == {"published"}
    human = next(cells for name, _, cells in four.rows if name == "Human")
    assert human[0].text == human[-1].text == "–"


def test_a_row_of_too_few_labels_is_no_table() -> None:
    row = {"method": "m", "precision": 1, "recall": 1, "f1": 1, "labels": (1.0,)}
    with pytest.raises(ValueError, match="m has 1 labels, the table 2"):
        PublishedTable.model_validate({"number": 4, "title": "t", "labels": ("a", "b"), "figures": [row]})


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    rows = [
        {
            "id": f"r{i}",
            "group": f"v{i}",
            "truth": ["correct" if i % 2 else "Omission"],
            "prediction": "correct",
        }
        for i in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def compare(*arguments: Any, columns: int = 160) -> Any:
    app = typer.Typer()
    add_score_commands(app)
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result


def test_compare_shows_them_below_the_runs_and_marked(predictions: Path, tmp_path: Path) -> None:
    base = (predictions, "--out", tmp_path / "c.html", "--resamples", 0)
    plain = compare(*base).stdout
    assert "Published, not measured here" not in plain
    shown = compare(*base, "--published").stdout
    below = shown.index("Published, not measured here")
    assert shown.index("mine") < below
    assert shown.index("always 'correct'") < below  # the constant predictors, on the run's own rows
    assert below < shown.index("GPT-4o-mini")
    assert all(f"table {number}" in shown for number in (4, 5, 6))
    assert "6 rows; the published figures are of 1,857" in " ".join(shown.split())


def test_the_report_shows_them_too_where_they_are_asked_for(predictions: Path, tmp_path: Path) -> None:
    base = (predictions, "--out", tmp_path / "c.html", "--resamples", 0)
    compare(*base)
    assert "Published, not measured here" not in (tmp_path / "c.html").read_text(encoding="utf-8")
    compare(*base, "--published")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    figures, below = page.split('<section id="published">')
    assert "GPT-4o-mini" not in figures
    assert 'id="confusion"' in figures
    below = below.split("</section>")[0]
    assert all(f"Table {number} of EgoErrorVQA, arXiv 2608.24134" in below for number in (4, 5, 6))
    assert below.count("<tr") == sum(1 + len(t.figures) for t in published_figures().tables)
    assert "mine: 6 rows; the published figures are of 1,857" in below


def test_on_a_narrow_terminal_every_method_keeps_its_name(predictions: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "c.html", "--resamples", 0)
    shown = compare(predictions, *out, "--published", columns=80).stdout
    assert shown.count("InternVL3.5-38B-Instruct") == 4
    assert max(map(len, shown.splitlines())) <= 80


def test_the_json_holds_them_apart_from_the_scores(predictions: Path, tmp_path: Path) -> None:
    base = (predictions, "--out", tmp_path / "c.html", "--resamples", 0, "--json")
    found = json.loads(compare(*base, "--published").stdout)
    assert [score["name"] for score in found["scores"]] == ["mine"]
    assert found["published"]["rows"] == 1857
    assert len(found["published"]["tables"]) == 3
    assert "published" not in json.loads(compare(*base).stdout)
