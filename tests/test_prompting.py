from __future__ import annotations

from pathlib import Path

import pytest

from ego_adr.errors import PromptError
from ego_adr.prompting import PromptLibrary


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_prompt_of_the_package_has_a_purpose_and_a_body_that_uses_only_what_it_declares() -> None:
    library = PromptLibrary()
    names = sorted(name[:-3] for name in library.known_files() if name.endswith(".md"))
    assert {
        "deep/match",
        "deep/narrate",
        "deep/classify",
        "shallow/narrate",
        "single-pass/answer",
        "cot/answer",
    } <= set(names)
    for name in names:
        prompt = library.file(name)
        assert prompt.purpose
        library._template(prompt)


def test_an_override_replaces_one_file_and_leaves_the_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        "deep/match.md",
        "---\npurpose: p\nvariables: [action]\nmax_tokens: 3\n---\nWhich? {{ action }}\n",
    )
    library = PromptLibrary(tmp_path)
    rendered = library.render("deep/match", action="stir", steps=())
    assert (rendered.text, rendered.max_tokens) == ("Which? stir", 3)
    assert library.file("deep/narrate").path == PromptLibrary().file("deep/narrate").path


def test_the_first_override_folder_wins(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "deep/match.md", f"---\npurpose: p\n---\n{name}\n")
    assert PromptLibrary(tmp_path / "one", None, tmp_path / "two").render("deep/match").text == "one"


def test_a_variable_that_the_stage_does_not_offer_is_an_error_that_lists_both_sides(tmp_path: Path) -> None:
    write(
        tmp_path,
        "deep/match.md",
        "---\npurpose: p\nvariables: [action, weather]\n---\n{{ action }} {{ weather }}\n",
    )
    with pytest.raises(PromptError, match=r"weather.*offers.*action, steps"):
        PromptLibrary(tmp_path).render("deep/match", action="stir", steps=())


def test_a_variable_used_but_not_declared_is_an_error_that_lists_both_sides(tmp_path: Path) -> None:
    write(tmp_path, "deep/match.md", "---\npurpose: p\nvariables: [steps]\n---\n{{ action }}\n")
    with pytest.raises(PromptError, match=r"uses action but declares steps"):
        PromptLibrary(tmp_path).render("deep/match", action="stir", steps=())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no header at all", "no header"),
        ("---\npurpose: p\n---\n   \n", "no text"),
        ("---\npurpose: [\n---\nx", "not YAML"),
        ("---\nvariables: []\n---\nx", "purpose"),
        ("---\npurpose: p\ncolour: red\n---\nx", "colour"),
        ("---\npurpose: p\nmax_tokens: 0\n---\nx", "whole number"),
        ("---\npurpose: p\nvariables: steps\n---\nx", "list of names"),
        ("---\npurpose: p\n---\n{% if %}", "line 1"),
    ],
)
def test_a_broken_prompt_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, "deep/match.md", text)
    with pytest.raises(PromptError, match=said) as caught:
        PromptLibrary(tmp_path).render("deep/match")
    assert str(path) in str(caught.value)


def test_an_override_that_no_stage_asks_for_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "deep/mach.md", "---\npurpose: p\n---\nx")
    with pytest.raises(PromptError, match=r"deep/mach\.md.*deep/match\.md"):
        PromptLibrary(tmp_path)


def test_a_missing_override_folder_is_an_error() -> None:
    with pytest.raises(PromptError, match="does not exist"):
        PromptLibrary("no/such/folder")


def test_values_are_never_read_as_templates(tmp_path: Path) -> None:
    write(tmp_path, "deep/match.md", "---\npurpose: p\nvariables: [action]\n---\n{{ action }}\n")
    assert PromptLibrary(tmp_path).render("deep/match", action="{{ 1 + 1 }} <b>").text == "{{ 1 + 1 }} <b>"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_prompt_is_read_however_an_editor_saved_it(tmp_path: Path, encoding: str) -> None:
    text = "---\r\npurpose: p\r\nvariables: [action]\r\n---\r\nWhich é? {{ action }}\r\n"
    write(tmp_path, "deep/match.md", "").write_bytes(text.encode(encoding))
    assert PromptLibrary(tmp_path).render("deep/match", action="cut").text.strip() == "Which é? cut"


@pytest.mark.parametrize(
    "header", ["purpose: 2024-13-45", "max_tokens: " + "9" * 5000, "purpose: " + "[" * 5000]
)
def test_a_header_that_runs_away_is_an_error_by_name(tmp_path: Path, header: str) -> None:
    write(tmp_path, "deep/match.md", f"---\n{header}\n---\nWhich? {{{{ action }}}}\n")
    with pytest.raises(PromptError, match=r"the header of .*match\.md is not YAML"):
        PromptLibrary(tmp_path).file("deep/match")


def test_a_prompt_that_is_no_text_is_an_error_by_name(tmp_path: Path) -> None:
    write(tmp_path, "deep/match.md", "").write_bytes(b"---\npurpose: \xff\xfa\n---\nx\n")
    with pytest.raises(PromptError, match=r"match\.md cannot be read: it is no text in UTF-8"):
        PromptLibrary(tmp_path).file("deep/match")
