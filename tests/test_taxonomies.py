"""Labels as data: names, aliases, tags of data sets, and files of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ego_adr.errors import LabelError, TaxonomyError
from ego_adr.taxonomies import Taxonomy, default_taxonomy, label_key, load_taxonomy
from ego_adr.vocabularies import Phrase, english, inflections, phrase_pattern

NINE = (
    "correct",
    "Wrong object",
    "Wrong action",
    "Wrong order",
    "Omission",
    "Unintended and unnecessary action",
    "Correct wrong action",
    "Equipment failure",
    "Others",
)


def two_labels(**changes: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "labels": [
            {"id": "ok", "name": "done right", "is_error": False, "definition": "as written"},
            {"id": "late", "name": "late", "definition": "after its time", "aliases": ["too late"]},
        ],
        **changes,
    }


def test_the_nine_labels_have_the_names_of_the_paper_and_say_what_they_mean() -> None:
    taxonomy = Taxonomy.load()
    assert taxonomy.names == NINE
    assert taxonomy.correct.name == "correct"
    assert tuple(label.name for label in taxonomy.errors) == NINE[1:]
    for label in taxonomy.labels:
        assert label.definition.endswith(".")
        assert len(label.examples) >= 2
        assert label.aliases
    assert all(label.vocabulary for label in taxonomy.errors)


def test_the_default_is_read_once() -> None:
    assert default_taxonomy() is default_taxonomy() is load_taxonomy()


@pytest.mark.parametrize("name", NINE)
def test_a_label_is_found_in_every_spelling_of_its_name(name: str) -> None:
    taxonomy = default_taxonomy()
    spellings = [
        name,
        name.upper(),
        name.lower(),
        name.replace(" ", "_"),
        name.replace(" ", "-"),
        f"  {name}. ",
    ]
    for written in [*spellings, taxonomy.require(name).id]:
        found = taxonomy.find(written)
        assert found is not None, written
        assert found.name == name, written


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Order Error", "Wrong order"),
        ("Missing Step", "Omission"),
        ("Technique Error", "Wrong action"),
        ("Measurement Error", "Wrong action"),
        ("Timing Error", "Wrong action"),
        ("Temperature Error", "Wrong action"),
        ("Preparation Error", "Wrong object"),
        ("Other", "Others"),
        ("working in the wrong way or moving", "Wrong action"),
        ("unintended actions", "Unintended and unnecessary action"),
        ("correction of mistake actions", "Correct wrong action"),
        ("Unintended & unnecessary action", "Unintended and unnecessary action"),
        ("no error", "correct"),
        ("correction", "Correct wrong action"),
    ],
)
def test_other_names_lead_to_their_label(written: str, name: str) -> None:
    assert default_taxonomy().require(written).name == name


@pytest.mark.parametrize(
    "written", ["incorrect", "not correct", "wrong", "", "  ", "Wrong object and action", "correctly"]
)
def test_what_is_no_name_finds_nothing(written: str) -> None:
    assert default_taxonomy().find(written) is None


def test_an_unknown_name_is_an_error_that_lists_the_labels_and_the_remedy() -> None:
    with pytest.raises(LabelError, match="'wrong thing' is not a label of procedural-errors") as caught:
        default_taxonomy().require("wrong thing")
    assert all(name in str(caught.value) for name in NINE)
    assert "alias" in str(caught.value)


def test_tags_of_a_data_set_mean_labels() -> None:
    taxonomy = default_taxonomy()
    assert taxonomy.tag_to_label("CaptainCook4D", "Order Error").name == "Wrong order"
    assert taxonomy.tag_to_label("captaincook4d", "Missing Step").name == "Omission"
    assert taxonomy.tag_to_label("EgoOops", "working with wrong objects").name == "Wrong object"
    assert taxonomy.tag_to_label("epic_tent", "failure").name == "Equipment failure"
    assert taxonomy.tag_to_label("assembly101", "correct").name == "correct"
    with pytest.raises(LabelError, match="is not a tag of captaincook4d"):
        taxonomy.tag_to_label("captaincook4d", "banana")
    with pytest.raises(LabelError, match=r"no tags of a data set 'nowhere'.*captaincook4d"):
        taxonomy.tag_to_label("nowhere", "Order")


def test_every_tag_of_the_published_recordings_has_a_label(data_dir: Path) -> None:
    recordings = json.loads(
        (data_dir / "captaincook4d" / "recordings_16_recipes.json").read_text(encoding="utf-8")
    )
    tags = set(re.findall(r'"tag": "([^"]+)"', json.dumps(recordings)))
    assert tags
    for tag in tags:
        assert default_taxonomy().tag_to_label("captaincook4d", tag).is_error


def test_a_file_of_ones_own_is_read_from_yaml_and_json(tmp_path: Path) -> None:
    as_json, as_yaml = tmp_path / "own.json", tmp_path / "own.yaml"
    as_json.write_text(json.dumps(two_labels()), encoding="utf-8")
    as_yaml.write_text(
        "name: own\nlabels:\n"
        "  - {id: ok, name: done right, is_error: false, definition: as written}\n"
        "  - {id: late, name: late, definition: after its time, aliases: [too late]}\n",
        encoding="utf-8",
    )
    first, second = Taxonomy.load(as_json), load_taxonomy(str(as_yaml))
    assert first == second
    assert first.fingerprint == second.fingerprint
    assert first.names == ("done right", "late")
    assert first.correct.id == "ok"
    assert first.require("Too Late").id == "late"


def test_the_fingerprint_changes_with_a_definition() -> None:
    changed = two_labels()
    changed["labels"][1]["definition"] = "another"
    assert Taxonomy.from_data(two_labels()).fingerprint != Taxonomy.from_data(changed).fingerprint


def test_one_error_names_everything_that_is_wrong_with_a_file() -> None:
    broken = {
        "name": "own",
        "colour": "red",
        "labels": [
            {"id": "Not An Id", "name": "a", "definition": ""},
            {"id": "b", "name": "b", "vocabulary": ["(lid|cap", "the <nonsense>"]},
        ],
    }
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.from_data(broken, source="my file")
    message = str(caught.value)
    for part in (
        "my file",
        "colour",
        "'Not An Id'",
        "label 'b'.definition",
        "lacks a ')'",
        "no list <nonsense>",
    ):
        assert part in message


def test_one_error_names_every_rule_that_the_labels_break_together() -> None:
    broken = two_labels(narration_priority=["soon"], source_tags={"mine": {"tardy": "tarde"}})
    broken["labels"][0]["is_error"] = True
    broken["labels"][1]["aliases"] = ["DONE_RIGHT", "--"]
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.from_data(broken)
    message = str(caught.value)
    for part in (
        "exactly one",
        "already a name of label 'ok'",
        "no letter or digit",
        "'soon' is no label",
        "'tarde'",
    ):
        assert part in message
    assert "5 to put right" in message


@pytest.mark.parametrize("number_right", [0, 2])
def test_exactly_one_label_says_that_the_step_was_done_right(number_right: int) -> None:
    data = two_labels()
    for label in data["labels"]:
        label["is_error"] = number_right == 0
    with pytest.raises(TaxonomyError, match="exactly one needs 'is_error: false'"):
        Taxonomy.from_data(data)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="there is no taxonomy file"):
        Taxonomy.load(tmp_path / "absent.yaml")
    (tmp_path / "broken.yaml").write_text("labels: [", encoding="utf-8")
    with pytest.raises(TaxonomyError, match="is no YAML"):
        Taxonomy.load(tmp_path / "broken.yaml")
    (tmp_path / "list.yaml").write_text("- a\n- b\n", encoding="utf-8")
    with pytest.raises(TaxonomyError, match="holds list; expected a mapping"):
        Taxonomy.load(tmp_path / "list.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(TaxonomyError, match=r"cannot be read|is no YAML"):
        Taxonomy.load(tmp_path / "bytes.yaml")
    with pytest.raises(TaxonomyError, match="cannot be read"):
        Taxonomy.load(tmp_path)


def test_a_tag_that_means_two_things_in_two_data_sets_is_no_name() -> None:
    data = two_labels(source_tags={"a": {"x": "ok"}, "b": {"x": "late"}})
    taxonomy = Taxonomy.from_data(data)
    assert taxonomy.find("x") is None
    assert taxonomy.tag_to_label("a", "x").id == "ok"
    assert taxonomy.tag_to_label("b", "x").id == "late"


def test_a_taxonomy_travels_as_json() -> None:
    taxonomy = default_taxonomy()
    again = Taxonomy.model_validate_json(taxonomy.model_dump_json())
    assert again == taxonomy
    assert again.fingerprint == taxonomy.fingerprint


def test_names_are_compared_without_case_marks_and_width() -> None:
    assert label_key(" Wrong_Object! ") == label_key("ｗｒｏｎｇ－ｏｂｊｅｃｔ") == "wrong object"
    assert label_key("A & B") == "a and b"


# ---------------------------------------------------------------------------------------- phrases


def found(phrase: str, text: str) -> bool:
    return re.search(phrase_pattern(phrase), text, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("phrase", "says", "says_not"),
    [
        ("{spill}", ["spills", "Spilled it", "spilling", "spilt"], ["spillage", "overspill"]),
        ("{put} ... back", ["puts the red peg back", "put it back"], ["puts it, looks back", "background"]),
        ("(lid|screw cap) {fall} off", ["the lid falls off", "screw cap fell off"], ["cap falls off"]),
        ("[red] cube", ["red cube", "cube"], ["recube"]),
        (
            "[the|a] [big] lid {fall}",
            ["the big lid falls", "lid fell", "big lid falls", "a lid falls"],
            ["the falls"],
        ),
        ("out of order", ["out-of-order", "out  of order"], ["out of orders"]),
        ("wrong !(way|side) *", ["wrong peg"], ["wrong way", "wrong side", "wrong"]),
        ("{snap} |", ["the pole snaps.", "it snapped, then", "snaps"], ["snaps the lid on"]),
        ("^ overall", ["Overall it is", "so, overall yes"], ["the overall is"]),
        ("without *ing", ["without looking"], ["without a look"]),
        ("answer :", ["Answer: x", "answer :x", "答案Answer:x"], ["answer x"]),
        (", not {do}", ["it moved, not done"], ["not done"]),
    ],
)
def test_a_phrase_means_what_its_signs_say(phrase: str, says: list[str], says_not: list[str]) -> None:
    assert all(found(phrase, text) for text in says)
    assert not any(found(phrase, text) for text in says_not)


def test_guards_take_the_force_from_a_phrase() -> None:
    phrase = Phrase(say="{drop}", not_before=("the subject",), not_after=("lemon",), unless=("into the pan",))
    assert list(phrase.finditer("she drops the cup"))
    assert not list(phrase.finditer("she drops the subject"))
    assert not list(phrase.finditer("two lemon drops"))
    assert not list(phrase.finditer("she drops the onion into the pan"))


@pytest.mark.parametrize("phrase", ["", "(a", "a)", "[a", "{put back}", "<nonsense>", "a !", "{}"])
def test_a_phrase_that_cannot_be_read_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match=r"phrase|lacks|alone|list|verb"):
        phrase_pattern(phrase)


def test_inflections_are_made_by_rule_and_by_the_table() -> None:
    assert {"drop", "drops", "dropped", "dropping"} <= set(inflections("drop"))
    assert {"carry", "carries", "carried", "carrying"} <= set(inflections("carry"))
    assert {"tie", "ties", "tied", "tying"} <= set(inflections("tie"))
    assert {"miss", "misses", "missed", "missing"} <= set(inflections("miss"))
    assert {"break", "breaks", "broke", "broken", "breaking"} <= set(
        inflections("break", english().verbs["break"])
    )
    assert "breaked" not in inflections("break", english().verbs["break"])


def test_every_list_of_the_language_file_can_be_searched_for() -> None:
    for name in english().patterns:
        re.compile(english().pattern(name))
    with pytest.raises(TaxonomyError, match="no list 'nonsense'"):
        english().pattern("nonsense")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_is_read_however_an_editor_saved_it(tmp_path: Path, encoding: str) -> None:
    text = yaml.safe_dump(two_labels(), allow_unicode=True)
    path = tmp_path / "own.yaml"
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert Taxonomy.load(path) == Taxonomy.from_data(two_labels())


@pytest.mark.parametrize(
    "text",
    ["name: 2024-13-45", "name: " + "9" * 5000, "name: " + "[" * 5000, "name: \x00", "name: [", "a: *b"],
)
def test_yaml_that_runs_away_is_an_error_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TaxonomyError, match=r"own\.yaml is no YAML"):
        Taxonomy.load(path)
