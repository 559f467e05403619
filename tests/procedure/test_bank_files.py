"""Banks as data and as files: what a user wrote, what was written back."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ego_adr import ProcedureBank, read_procedure
from ego_adr.errors import ProcedureError
from ego_adr.procedure.bank import write_bank
from ego_adr.types import Step, StepEdge

BANK = ProcedureBank(
    text="Cut the wire: 3 cm. Strip it, “gently”.",
    steps=(
        Step(index=0, text="Cut the wire: 3 cm", objects=("wire",), span=(0, 18)),
        Step(index=1, text="Strip it, “gently”", span=(20, 38)),
        Step(index=2, text="yes # no: {x}"),
    ),
    title="Wire: part 1",
    method="rules",
    edges=(StepEdge(before=0, after=1, sources=("text",)), StepEdge(before=1, after=2)),
    notes=("a note",),
)


@pytest.mark.parametrize("ending", [".yaml", ".yml", ".json", ".JSON"])
def test_a_written_bank_reads_back_equal(tmp_path: Path, ending: str) -> None:
    path = write_bank(BANK, tmp_path / "deep" / f"bank{ending}")
    assert read_procedure(path) == BANK


@pytest.mark.parametrize(
    "text",
    [
        "Cut the wire, then strip it. Finally crimp it.",
        "# Tea\n1. Boil water\n2. Steep the leaves\n   for 3 min\n",
        "首先打鸡蛋。\r\n然后加盐。",
    ],
)
def test_banks_that_were_read_are_written_and_read_equal(tmp_path: Path, text: str) -> None:
    bank = read_procedure(text)
    for ending in ("yaml", "json"):
        assert read_procedure(write_bank(bank, tmp_path / f"bank.{ending}")) == bank


def test_a_bank_dumped_as_json_is_read_as_it_was(tmp_path: Path) -> None:
    assert read_procedure(BANK.model_dump_json()) == BANK
    path = tmp_path / "dump.json"
    path.write_text(BANK.model_dump_json(), encoding="utf-8")
    assert read_procedure(path) == BANK
    assert read_procedure(BANK.model_dump()) == BANK
    assert read_procedure(BANK) is BANK


def test_the_written_file_is_one_that_a_person_edits(tmp_path: Path) -> None:
    path = write_bank(BANK, tmp_path / "bank.yaml")
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert data["steps"][0] == {"text": "Cut the wire: 3 cm", "objects": ["wire"], "span": [0, 18]}
    assert data["edges"][0] == {"before": 1, "after": 2, "sources": ["text"]}
    assert "“gently”" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["txt", "md", ""])
def test_a_bank_is_written_as_yaml_or_json_alone(tmp_path: Path, ending: str) -> None:
    with pytest.raises(ProcedureError, match=r"\.yaml or \.json"):
        write_bank(BANK, tmp_path / f"bank.{ending}".rstrip("."))


@pytest.mark.parametrize(
    "text",
    [
        "- Cut wire\n- Strip wire\n",
        "steps:\n  - Cut wire\n  - Strip wire\n",
        "steps:\n  - text: Cut wire\n  - {text: Strip wire, objects: [wire, knife]}\nedges: [[1, 2]]\n",
        "title: Wire\nsteps:\n- Cut wire\n- text: Strip wire\nedges:\n- before: 1\n  after: 2\n",
    ],
)
def test_yaml_that_a_user_wrote_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    bank = read_procedure(path)
    assert [step.text for step in bank.steps] == ["Cut wire", "Strip wire"]
    assert bank.method == "file"
    assert bank.edges in ((), (StepEdge(before=0, after=1),))
    if "steps" in text:  # the same words given as text, as an editor's buffer would be
        assert [step.text for step in read_procedure(text).steps] == ["Cut wire", "Strip wire"]


def test_data_can_be_given_as_it_is() -> None:
    for data in (
        ["Cut wire", "Strip wire"],
        ("Cut wire", {"text": "Strip wire"}),
        {"steps": ["Cut wire", "Strip wire"]},
    ):
        assert [step.text for step in read_procedure(data).steps] == ["Cut wire", "Strip wire"]
    assert [step.text for step in read_procedure('["Cut wire", "Strip wire"]').steps] == [
        "Cut wire",
        "Strip wire",
    ]


def test_a_task_graph_becomes_a_bank_in_an_order_that_can_be_done() -> None:
    graph = {
        "steps": {"0": "START", "1": "Serve-Serve it", "2": "Add-1/2 tsp salt", "3": "END"},
        "edges": [[0, 2], [2, 1], [1, 3]],
    }
    bank = read_procedure(json.dumps(graph), title="Soup")
    assert [step.text for step in bank.steps] == ["Add 1/2 tsp salt", "Serve it"]
    assert [(edge.before, edge.after) for edge in bank.edges] == [(0, 1)]
    assert bank.title == "Soup"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "an empty list"),
        ({}, "nothing"),
        ({"title": "x"}, "a bank is"),
        ({"steps": "Cut wire"}, "a bank is"),
        ({"steps": []}, "a bank is"),
        (["Cut wire", ""], "step 2"),
        (["Cut wire", None], "step 2"),
        (["Cut wire", {"txt": "Strip"}], "step 2"),
        ([{"text": "Cut", "tools": ["knife"]}], "tools"),
        ([{"text": "Cut", "objects": "knife"}], "objects"),
        ([{"text": "Cut", "span": [3]}], "span"),
        ([{"text": "Cut", "span": [5, 3]}], "span"),
        ({"steps": ["a", "b"], "color": 1}, "color"),
        ({"steps": ["a", "b"], "edges": [[1, 3]]}, "from 1 to 2"),
        ({"steps": ["a", "b"], "edges": [[0, 1]]}, "from 1 to 2"),
        ({"steps": ["a", "b"], "edges": ["12"]}, "from 1 to 2"),
        ({"steps": ["a", "b"], "edges": [[1, 1]]}, "circle"),
        ({"steps": ["a", "b"], "edges": [[1, 2], [2, 1]]}, r"circle \(1 -> 2 -> 1\)"),
        ({"steps": ["a"], "title": ["x"]}, "title"),
    ],
)
def test_data_that_breaks_the_form_is_an_error_that_says_where(data: Any, said: str) -> None:
    with pytest.raises(ProcedureError, match=said):
        read_procedure(data)


@pytest.mark.parametrize("source", [None, 3, b"Cut wire", 1.5])
def test_what_is_no_procedure_at_all_is_an_error(source: Any) -> None:
    with pytest.raises(ProcedureError, match="a procedure is a text, a path or a list"):
        read_procedure(source)


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.yaml", b"steps:\n  - Cut\n bad: [", "line 3"),
        ("a.json", b'{"steps": [\n"Cut",\n]}', "line 3"),
        ("a.json", b"", "line 1"),
        ("a.yaml", b"", "nothing|NoneType"),
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\x00\x01\x02\x03binary", "is no text"),
        ("a.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF", "is no text"),
        ("a.md", "Sauté".encode("latin-1"), "UTF-8"),
    ],
)
def test_files_that_cannot_be_read_say_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    with pytest.raises(ProcedureError, match=said) as caught:
        read_procedure(_file(tmp_path, name, content))
    assert name in str(caught.value)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.md", tmp_path):
        with pytest.raises(ProcedureError, match="cannot be read"):
            read_procedure(path)


@pytest.mark.parametrize("name", ["soup.md", "of my own/soup.TXT", "soup.json"])
def test_a_text_that_is_a_files_name_is_an_error_and_opens_nothing(tmp_path: Path, name: str) -> None:
    for given in (name.replace(" ", "-"), f"{tmp_path}/{name}\n", f"./{name}", f"C:\\{name}"):
        with pytest.raises(ProcedureError, match=r"pathlib\.Path"):
            read_procedure(given)
    path = _file(tmp_path, "soup.md", b"- Boil\n- Serve")
    assert len(read_procedure(path).steps) == 2
    assert read_procedure("Open the file soup.md").method == "rules"


_HOSTILE = {
    "deep JSON": '{"steps":' * 20_000,
    "many digits": '{"steps": ' + "9" * 50_000 + "}",
    "deep YAML": "steps:\n- " + "[" * 5_000,
    "empty list": "-  \n- !\n- ?\n",
}


@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE)
def test_data_that_cannot_be_read_is_an_error_of_procedures(tmp_path: Path, text: str) -> None:
    with pytest.raises(ProcedureError):
        read_procedure(text)
    for ending in (".json", ".yaml"):
        with pytest.raises(ProcedureError):
            read_procedure(_file(tmp_path, f"soup{ending}", text.encode()))


_LONG = {
    "blanks": "Cut it" + "\t" * 90_000 + "and fry it",
    "commas": "Cut it, " * 12_000,
    "ands": "cut it and " * 9_000,
    "open links": "[x](" * 22_000,
    "one word": "a" * 90_000 + " b",
    "sentences": "Cut it. " * 12_000,
}


@pytest.mark.parametrize("text", _LONG.values(), ids=_LONG)
def test_the_time_grows_with_the_text_and_not_with_its_square(text: str) -> None:
    # what grows with the square takes from 10 s to minutes here
    begin = time.process_time()
    read_procedure(text)
    assert time.process_time() - begin < 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_of_common_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    path = _file(tmp_path, "soup.txt", "Sauté the onions. Serve them.".encode(encoding))
    assert [step.text for step in read_procedure(path).steps] == ["Sauté the onions", "Serve them"]
