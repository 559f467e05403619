"""Lists and Markdown read as step banks."""

from __future__ import annotations

import pytest

from ego_adr import read_procedure
from ego_adr.errors import ProcedureError
from ego_adr.procedure.bank import is_structured


def steps(text: str) -> list[str]:
    bank = read_procedure(text)
    assert bank.method == "list"
    assert is_structured(bank)
    for step in bank.steps:
        assert step.span is not None
        assert text[step.span[0] :].startswith(step.text.split()[0].rstrip(";")) or "**" in text
    return [step.text for step in bank.steps]


@pytest.mark.parametrize(
    "text",
    [
        "1. Cut wire\n2. Strip wire\n3. Crimp wire",
        "1) Cut wire\n2) Strip wire\n3) Crimp wire",
        "(1) Cut wire\n(2) Strip wire\n(3) Crimp wire",
        "1: Cut wire\n2: Strip wire\n3: Crimp wire",
        "Step 1: Cut wire\nStep 2: Strip wire\nStep 3: Crimp wire",
        "STEP 1 - Cut wire\nSTEP 2 - Strip wire\nSTEP 3 - Crimp wire",
        "a) Cut wire\nb) Strip wire\nc) Crimp wire",
        "i. Cut wire\nii. Strip wire\niii. Crimp wire",
        "- Cut wire\n- Strip wire\n- Crimp wire",
        "* Cut wire\n* Strip wire\n* Crimp wire",
        "• Cut wire\n• Strip wire\n• Crimp wire",
        "– Cut wire\n– Strip wire\n– Crimp wire",
        "- [ ] Cut wire\n- [x] Strip wire\n- [X] Crimp wire",
        "1. [ ] Cut wire\n2. [ ] Strip wire\n3. [ ] Crimp wire",
        "1️⃣ Cut wire\n2️⃣ Strip wire\n3️⃣ Crimp wire",
        "0:10 Cut wire\n0:45 - Strip wire\n[1:20] Crimp wire",
        "1. Cut wire\r\n\r\n2. Strip wire\r\n\r\n3. Crimp wire\r\n",
        "   1. Cut wire\n   2. Strip wire\n   3. Crimp wire",
        "```\n1. Cut wire\n2. Strip wire\n3. Crimp wire\n```",
        "1. Cut wire 2. Strip wire 3. Crimp wire",
        "| # | What |\n|---|:---|\n| 1 | Cut wire |\n| 2 | Strip wire |\n| 3 | Crimp wire |",
    ],
)
def test_every_kind_of_list_is_read(text: str) -> None:
    assert steps(text) == ["Cut wire", "Strip wire", "Crimp wire"]


def test_an_item_keeps_its_sentences_its_lines_and_its_bullets() -> None:
    text = "1. Weigh the beans.\n   Use a scale.\n2. Grind them:\n   - coarse for a press\n   - fine for espresso\n3. Brew"
    assert steps(text) == [
        "Weigh the beans. Use a scale.",
        "Grind them: coarse for a press; fine for espresso",
        "Brew",
    ]


def test_an_item_that_only_announces_things_to_do_gives_way_to_them() -> None:
    assert steps("1. Wash rice\n2. Cook:\n   1. Boil rice\n   2. Fry onion") == [
        "Wash rice",
        "Boil rice",
        "Fry onion",
    ]


def test_sections_that_are_no_steps_are_left_out() -> None:
    text = (
        "# Coffee\n\nA good cup.\n\n## Ingredients\n- 12 oz water\n\n### For the foam\n- milk\n\n"
        "## Equipment (for two)\n- dripper\n\n## Method\n1. Boil water\n2. Pour it\n\n## Notes\n- Enjoy hot\n"
    )
    assert steps(text) == ["Boil water", "Pour it"]
    assert read_procedure(text).title == "Coffee"


@pytest.mark.parametrize(
    "heads",
    [
        ("Ingredients:", "Directions:"),
        ("**Ingredients**", "**Directions**"),
        ("**Ingredients:**", "**Instructions:**"),
        ("INGREDIENTS", "METHOD"),
        ("Tools\n-----", "Steps\n-----"),
        ("You will need:", "What to do:"),
    ],
)
def test_headings_come_in_many_forms(heads: tuple[str, str]) -> None:
    text = f"{heads[0]}\n- drill\n- 4 screws\n\n{heads[1]}\n- Drill four holes\n- Insert the screws\n"
    assert steps(text) == ["Drill four holes", "Insert the screws"]


def test_prose_under_a_heading_is_cut_by_rules() -> None:
    bank = read_procedure("Ingredients:\n2 eggs\n1 tsp. salt\n\nMethod:\nCrack the eggs. Add salt.")
    assert bank.method == "rules"
    assert [step.text for step in bank.steps] == ["Crack the eggs", "Add salt"]


@pytest.mark.parametrize(
    "text", ["# Only a heading", "Ingredients:\n- egg\n- salt", "## Notes\nEnjoy it hot."]
)
def test_a_text_without_steps_is_an_error(text: str) -> None:
    with pytest.raises(ProcedureError, match="holds no step"):
        read_procedure(text)


def test_marks_of_markdown_do_not_stay_in_a_step() -> None:
    bank = read_procedure("1. **Crack** the egg\n2. Add salt")
    assert [step.text for step in bank.steps] == ["Crack the egg", "Add salt"]


def test_a_title_given_wins_over_a_heading() -> None:
    assert read_procedure("# Tea\n- Boil water\n- Steep", title="Green tea").title == "Green tea"
