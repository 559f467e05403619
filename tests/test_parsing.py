"""From replies to labels: what counts as a verdict, and what only looks like one."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ego_adr.errors import LabelError
from ego_adr.parsing import Parsed, Unparsed, is_refusal, parse_label, without_thinking
from ego_adr.taxonomies import Taxonomy, default_taxonomy

OBJECT, ACTION, ORDER = "Wrong object", "Wrong action", "Wrong order"
OMISSION, UNINTENDED = "Omission", "Unintended and unnecessary action"
REPAIRED, FAILURE, OTHERS = "Correct wrong action", "Equipment failure", "Others"
CORRECT = "correct"
EVERY = (CORRECT, OBJECT, ACTION, ORDER, OMISSION, UNINTENDED, REPAIRED, FAILURE, OTHERS)

NO_LABEL, REFUSAL, TRUNCATED = "? no label found", "? refusal", "? truncated"
LISTED, EMPTY, CONTRADICTORY, OPEN = "? all options listed", "? empty", "? contradictory", "? not committed"

LIST = "\n".join(f"{n}. {name}" for n, name in enumerate(EVERY, start=1))
BULLETS = "\n".join(f"- {name}" for name in EVERY)
COMMAS = ", ".join(EVERY)

BARE = [
    ("Wrong object", OBJECT),
    ("wrong object.", OBJECT),
    ("WRONG ACTION", ACTION),
    ("  Omission\n", OMISSION),
    ("'Wrong order'", ORDER),
    ('"Equipment failure"', FAILURE),
    ("**Omission**", OMISSION),
    ("*Wrong action*", ACTION),
    ("__Wrong action__", ACTION),
    ("`equipment_failure`", FAILURE),
    ("### Wrong order", ORDER),
    ("> Omission", OMISSION),
    ("- Wrong object", OBJECT),
    ("3. Wrong action", ACTION),
    ("(C) Wrong action", ACTION),
    ("wrong-object", OBJECT),
    ("WrongObject", OBJECT),
    ("wrong_action", ACTION),
    ("UNINTENDED_AND_UNNECESSARY_ACTION", UNINTENDED),
    ("Unintended & unnecessary action", UNINTENDED),
    ("unintended/unnecessary action", UNINTENDED),
    ("correct_wrong_action", REPAIRED),
    ("Correct Wrong Action.", REPAIRED),
    ("Correct", CORRECT),
    ("correct.", CORRECT),
    ("Correct!", CORRECT),
    ("Others", OTHERS),
    ("others.", OTHERS),
    ("Other", OTHERS),
    ("Wrong objects", OBJECT),
    ("Equipement failure", FAILURE),
    ("Unintented and unnecessary action", UNINTENDED),
    ("Ommission", OMISSION),
    ("✅ correct", CORRECT),
    ("No error", CORRECT),
    ("Order Error", ORDER),
    ("Technique Error", ACTION),
    ("Measurement error", ACTION),
    ("Preparation Error", OBJECT),
    ("missing step", OMISSION),
    ("Wrong tool", OBJECT),
    ("Wrong sequence", ORDER),
    ("Corrected mistake", REPAIRED),
    ("working in the wrong way or moving", ACTION),
    ("correction of mistake actions", REPAIRED),
]

TRAPS_AROUND_CORRECT = [
    ("incorrect", NO_LABEL),
    ("Incorrect.", NO_LABEL),
    ("Not correct.", NO_LABEL),
    ("The step was not done correctly.", NO_LABEL),
    ("The action wasn't performed correctly.", NO_LABEL),
    ("The action was incorrectly performed.", NO_LABEL),
    ("The person holds the correct bowl.", NO_LABEL),
    ("The correct tool is the whisk.", NO_LABEL),
    ("The correct whisk is taken, but in the wrong order.", ORDER),
    ("The correct answer is Omission.", OMISSION),
    ("The correct label: Wrong order", ORDER),
    ("The correct answer is: correct", CORRECT),
    ("The correct choice is **Equipment failure**.", FAILURE),
    ("The step was performed correctly.", CORRECT),
    ("Yes, the step was done correctly.", CORRECT),
    ("The action is correct.", CORRECT),
    ("The step was carried out as written.", CORRECT),
    ("No, there is no error.", CORRECT),
    ("There are no errors in this step.", CORRECT),
    ("I see no mistake.", CORRECT),
    ("I don't see any errors in the execution.", CORRECT),
    ("The person completed the step without any mistakes.", CORRECT),
    ("The action was executed exactly as described.", CORRECT),
    ("Nothing is wrong with this step.", CORRECT),
    ("The verdict is correct.", CORRECT),
    ("This step is correct because the whisk is used as the text says.", CORRECT),
    ("It is correct that the whisk is used, yet the eggs are missing. Omission.", OMISSION),
    ("The action would be correct if the water had been hot.", NO_LABEL),
    ("The object is correct, the action is correct, but it comes too late: Wrong order", ORDER),
    ("The person corrects the wrong action.", REPAIRED),
    ("Correct wrong action: the peg is exchanged for the right one.", REPAIRED),
    ("It is not correct; it is Correct wrong action.", REPAIRED),
    ("Correct action", CORRECT),
    ("Otherwise correct.", NO_LABEL),
    ("Correct, all as it should be.", CORRECT),
]

MARKERS = [
    ("Answer: Wrong object", OBJECT),
    ("answer:wrong order", ORDER),
    ("Final answer: Omission.", OMISSION),
    ("Answer:\nOmission", OMISSION),
    ("**Answer:** Wrong action", ACTION),
    ("**Final Answer**: *Wrong action*", ACTION),
    ("Label = Wrong order", ORDER),
    ("Verdict - Omission", OMISSION),
    ("Error type: Equipment failure", FAILURE),
    ("Error type: none", CORRECT),
    ("Errors: None.", CORRECT),
    ("The error type is Wrong action.", ACTION),
    ("The most likely label is Wrong order.", ORDER),
    ('My answer is "Omission".', OMISSION),
    ("I would classify this as Wrong action.", ACTION),
    ("I'd say Wrong object.", OBJECT),
    ("This should be classified as an Omission.", OMISSION),
    ("This falls under the category of Others.", OTHERS),
    ("This step belongs to the category 'Others'.", OTHERS),
    ("This constitutes an Omission.", OMISSION),
    ("Therefore, this is a Wrong order.", ORDER),
    ("Classification: correct", CORRECT),
    ("Answer: correct bowl, wrong order", ORDER),
    ("Answer: not Wrong object but Wrong action", ACTION),
    ("Answer: Wrong object, not Wrong action.", OBJECT),
    ("Answer: it is a case of Equipment failure", FAILURE),
    ("Answer: The person used the wrong object.", OBJECT),
    ("Answer: Wrong object\n\nOn second thought, the final answer is Omission.", OMISSION),
    ("Wrong object\n\nWait, that is not right.\n\nAnswer: Omission", OMISSION),
    ("Answer: Wrong action\nExplanation: no wrong object was used and nothing was omitted.", ACTION),
    ("Answer: Omission. (Wrong order might apply too, but the step never happens.)", OMISSION),
    ("Step 3 of 7.\nObjects: whisk, bowl\nVerdict: correct\n", CORRECT),
    ("The label is Wrong object. Others would be too vague.", OBJECT),
    ("Answer: Others", OTHERS),
    ("Answer:", TRUNCATED),
    ("The final answer is", TRUNCATED),
    ("Answer: Equip", TRUNCATED),
    ("Answer: yes", NO_LABEL),
    ("Answer: 3", NO_LABEL),
]

EXPLANATIONS = [
    ("Wrong action. The onion is cut into rings instead of cubes.", ACTION),
    ("Wrong object: a fork is used.", OBJECT),
    ("Omission - the lid was never put on, so this is not Wrong order.", OMISSION),
    ("Wrong order\n\nThe salt goes in before the water. No wrong object was used.", ORDER),
    ("Omission\nThe correct tool lies on the table, and the step would have been correct with it.", OMISSION),
    ("correct\n\nThe person does not commit a wrong action or an omission.", CORRECT),
    (
        "Wrong object would need another tool, Omission would need a missing step. So it is Wrong action.",
        ACTION,
    ),
    ("It could be Wrong object, but I conclude Omission.", OMISSION),
    ("This is Wrong action rather than Wrong object.", ACTION),
    ("Instead of Wrong object, this is Wrong action.", ACTION),
    ("It isn't a wrong action. It is an omission.", OMISSION),
    ("Neither Wrong object nor Wrong action fits; it is Wrong order.", ORDER),
    ("Wrong object is ruled out. Wrong order is what happens.", ORDER),
    ("Wrong object does not apply. The person commits an omission.", OMISSION),
    ("Wrong object? No. Wrong order? Yes.", ORDER),
    ("Wrong object means that another thing is used. Here the whisk is missing: Omission.", OMISSION),
    ("The jug, among others, is empty. The tent pole snaps. Equipment failure.", FAILURE),
    ("Among other things the cook stirs. There is no error.", CORRECT),
    ("The person used the wrong object.", OBJECT),
    ("The wrong ingredient was added to the bowl.", OBJECT),
    ("The step was performed in the wrong order.", ORDER),
    ("The step was skipped.", OMISSION),
    ("No wrong object was used, no step was omitted, and nothing was done in the wrong order.", NO_LABEL),
    ("There was no omission.", NO_LABEL),
    ("This is not an omission.", NO_LABEL),
    ("The action is free of errors.", CORRECT),
    ("If the person had skipped it, it would be an Omission.", OPEN),
    ("It might be Wrong action.", OPEN),
    ("Possibly Wrong object or Wrong action.", OPEN),
    ("Either Wrong object or Wrong action.", OPEN),
    ("Wrong object or Wrong action", OPEN),
    ("It could be an omission, perhaps a wrong order.", OPEN),
    ("The hand stirs the soup with a red spoon.", NO_LABEL),
    ("The others watch.", NO_LABEL),
    ("Yes.", NO_LABEL),
    ("No", NO_LABEL),
    ("None", NO_LABEL),
    ("7", NO_LABEL),
]

SEVERAL = [
    ("Wrong action and Wrong order", [ACTION, ORDER]),
    ("Wrong action, Wrong object", [ACTION, OBJECT]),
    ("Wrong object / Omission", [OBJECT, OMISSION]),
    ("Wrong action\nWrong order", [ACTION, ORDER]),
    ("- Wrong action\n- Omission", [ACTION, OMISSION]),
    ("Answer: Wrong action and Wrong order.", [ACTION, ORDER]),
    ("Labels: Omission; Wrong order", [OMISSION, ORDER]),
    ('{"labels": ["Omission", "Wrong object"]}', [OMISSION, OBJECT]),
    ('["Wrong action", "Wrong order"]', [ACTION, ORDER]),
    ('{"label": "Wrong action, Wrong order"}', [ACTION, ORDER]),
    ("The person used the wrong object and did it in the wrong order.", [OBJECT, ORDER]),
    ("It is not only a wrong object but also an omission.", [OBJECT, OMISSION]),
    ("The person used the wrong object. The step was also done in the wrong order.", [OBJECT, ORDER]),
    ("Wrong action, Wrong action", [ACTION]),
    ("correct, Wrong object", CONTRADICTORY),
    ('{"label": ["correct", "Omission"]}', CONTRADICTORY),
    ('{"is_error": false, "label": "Wrong action"}', CONTRADICTORY),
]

STRUCTURED = [
    ('{"label": "Wrong object"}', OBJECT),
    ('```json\n{"label": "wrong_order"}\n```', ORDER),
    ("```\nWrong order\n```", ORDER),
    ("```json\n{'label': 'Omission', 'why': 'no spray',}\n```", OMISSION),
    ('{"label": "Omission", "evidence": "the lid', OMISSION),
    ("{label: Wrong object}", OBJECT),
    ('{"Label": "Correct wrong action"}', REPAIRED),
    ('{"error_type": "Equipment Failure", "confidence": 0.8}', FAILURE),
    ('{"error_type": null}', CORRECT),
    ('{"error": "none"}', CORRECT),
    ('{"is_error": false}', CORRECT),
    ('{"has_error": true}', NO_LABEL),
    ('{"correct": true}', CORRECT),
    ('{"result": {"label": "Omission", "score": 0.9}}', OMISSION),
    ('{"answer": "Wrong action: the lid is turned the other way"}', ACTION),
    ('{"answer": "The person used the wrong object."}', OBJECT),
    ('{"reasoning": "It is not Wrong object.", "final_answer": "Omission"}', OMISSION),
    ('{"evidence": ["Wrong object might fit"], "label": "Wrong action"}', ACTION),
    ('Here you are:\n{"label": "Omission"}\nI hope this helps!', OMISSION),
    ('{"label": "Wrong object"}\nWait. The final answer is Omission.', OMISSION),
    ('**Note**: see below.\n**Answer: Wrong object**\n{"label": "Omission"}', OMISSION),
    ('{"label": "<label>"}\n{"label": "Wrong order"}', ORDER),
    ('{"label": "..."}\nWrong action', ACTION),
    ('{"label": "correct | Wrong object | Wrong action | Wrong order | Omission | Others"}', LISTED),
    ('Format: {"label": "one of the labels"}\n{"label": "Omission"}', OMISSION),
    ('{"label": "Wrong', TRUNCATED),
    ('{"evidence": "the salt was', TRUNCATED),
    ('{"label": "Correct', TRUNCATED),
    ('{"label": "banana"}', NO_LABEL),
    ('{"label": ""}', NO_LABEL),
    ("{}", NO_LABEL),
    ('{"Wrong object": 0.1, "Omission": 0.7, "correct": 0.2}', OMISSION),
    ('{"Wrong object": "no", "Omission": "yes", "Wrong order": "no"}', OMISSION),
    ("<answer>Wrong order</answer>", ORDER),
    ("<answer>\nomission\n</answer>", OMISSION),
    ("<Answer>Wrong order", ORDER),
    ("Reasons ... <answer>Wrong object</answer> no wait <answer>Omission</answer>", OMISSION),
    ("<label>Correct wrong action</label>", REPAIRED),
    ('<answer>{"label": "Omission"}</answer>', OMISSION),
    (r"The result is $\boxed{\text{Wrong action}}$.", ACTION),
    (r"\boxed{Omission}", OMISSION),
    ("<|begin_of_box|>Wrong order<|end_of_box|>", ORDER),
    ("label: Wrong object\nevidence: a fork is used", OBJECT),
    ("| step | label |\n|---|---|\n| 3 | Wrong object |", OBJECT),
]

THINKING = [
    ("<think>Wrong object? no.</think>Omission", OMISSION),
    ("<think>\n\n</think>\n\nWrong order", ORDER),
    ("<thinking>could be Omission</thinking>\n\n**Wrong action**", ACTION),
    ("<reasoning>Omission</reasoning>\nAnswer: correct", CORRECT),
    ("It may be Omission.</think>Wrong object", OBJECT),
    ("<think>a</think> Omission <think>b</think> Wrong order", ORDER),
    ("<think>This is Omission", TRUNCATED),
    ("<think>", TRUNCATED),
    ("<think>This is Omission</think>", EMPTY),
    ("[THINK]hm[/THINK]Omission", OMISSION),
    ("◁think▷Wrong object◁/think▷Omission", OMISSION),
    (
        "<|channel|>analysis<|message|>Wrong object?<|end|><|start|>assistant<|channel|>final<|message|>Omission",
        OMISSION,
    ),
    ("<|channel|>analysis<|message|>Wrong object?", TRUNCATED),
]

ECHOES = [
    (LIST, LISTED),
    (BULLETS, LISTED),
    (COMMAS, LISTED),
    (", ".join(EVERY[1:]), LISTED),
    (" / ".join(EVERY), LISTED),
    (f"Choose one: {COMMAS}.", LISTED),
    (f"The options are: {COMMAS}. Answer: Omission", OMISSION),
    (f"{LIST}\n\nAnswer: 4", ORDER),
    (f"{LIST}\n\nI choose option 5.", OMISSION),
    (f"{LIST}\n\n8", FAILURE),
    (f"{LIST}\n\nThe answer is (3).", ACTION),
    (LIST.replace("1. ", "A. ").replace("2. ", "B. ").replace("3. ", "C. ") + "\nAnswer: B", OBJECT),
    (f"{LIST}\n\nWrong order", ORDER),
    (f"{BULLETS}\n\nThe step was performed correctly.", CORRECT),
    ("\n".join(f"- [ ] {name}" for name in EVERY).replace("[ ] Omission", "[x] Omission"), OMISSION),
    ("\n".join(f"{name}: {'yes' if name == ORDER else 'no'}" for name in EVERY), ORDER),
    ("\n".join(f"- {name}: no" for name in EVERY[1:]), CORRECT),
    ("\n".join(f"- {name}: what this means." for name in EVERY), LISTED),
    ("\n".join(f"- {name}: what this means." for name in EVERY) + "\n\nOmission", OMISSION),
    ("1. Wrong object\n2. Wrong action\n3. Wrong order", LISTED),
    (f'{{"label": {list(EVERY)!r}}}'.replace("'", '"'), LISTED),
]

REFUSALS = [
    ("I cannot determine this from the images.", REFUSAL),
    ("I'm unable to tell whether the wrong object was used.", REFUSAL),
    ("Sorry, I can't help with that.", REFUSAL),
    ("As an AI language model, I cannot view videos.", REFUSAL),
    ("There is not enough information to decide.", REFUSAL),
    ("It is impossible to say if the step was done correctly.", REFUSAL),
    ("It's unclear from the frames whether this is Wrong object or Wrong action.", REFUSAL),
    ("No frames were provided.", REFUSAL),
    ("The images do not show the step.", REFUSAL),
    ("Insufficient evidence.", REFUSAL),
    ("I apologize, but the frames are too blurry.", REFUSAL),
    ("无法判断。", REFUSAL),
    ("抱歉，我看不出来。", REFUSAL),
    ("Lo siento, no puedo determinarlo.", REFUSAL),
    ("I can't see the lid being put on. Omission", OMISSION),
    ("I cannot be certain, but the most likely label is Wrong action.", ACTION),
]

LANGUAGES = [
    ("答案：Wrong object", OBJECT),
    ("这一步的错误类型是Wrong action。", ACTION),
    ("标签：「Omission」", OMISSION),
    ("結論：Ｗｒｏｎｇ　ｏｒｄｅｒ", ORDER),
    ("回答は「Wrong object」です。", OBJECT),
    ("정답은 Omission 입니다.", OMISSION),
    ("La respuesta es: Wrong action.", ACTION),
    ("Die Antwort lautet: Omission", OMISSION),
    ("La réponse est « Equipment failure ».", FAILURE),
    ("Ответ: Wrong object", OBJECT),
    ("这不是Wrong object，而是Wrong order。", ORDER),
    ("不是Omission。", NO_LABEL),
    ("答案是 correct。", CORRECT),
]

WRITTEN = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))

TABLE = [
    *map(tuple, WRITTEN),
    *BARE,
    *TRAPS_AROUND_CORRECT,
    *MARKERS,
    *EXPLANATIONS,
    *SEVERAL,
    *STRUCTURED,
    *THINKING,
    *ECHOES,
    *REFUSALS,
    *LANGUAGES,
    ("", EMPTY),
    ("  \n\t", EMPTY),
    ("\u200b", EMPTY),
    ("...", NO_LABEL),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[ascii(text[:60]) for text, _ in TABLE])
def test_a_reply_is_read_as_a_person_would_read_it(text: str, expected: str | list[str]) -> None:
    read = parse_label(text)
    if isinstance(expected, str) and expected.startswith("? "):
        assert isinstance(read, Unparsed), read
        assert (read.status, read.label, read.labels, read.reason) == ("unparsed", None, (), expected[2:])
    else:
        labels = tuple([expected] if isinstance(expected, str) else expected)
        assert isinstance(read, Parsed), read
        assert (read.status, read.label, read.labels, read.reason) == ("ok", labels[0], labels, None)
        assert read.evidence


def test_the_public_cases_are_read_as_they_say(load_cases: Callable[[str], list[dict[str, Any]]]) -> None:
    wrong = []
    for case in load_cases("model output"):
        read, expected = parse_label(case["input"]["text"]), case["expected"]
        same = (read.label or "unparsed") == expected["label"]
        same = same and read.reason == expected.get("reason", read.reason)
        same = same and list(read.labels) == expected.get("labels", list(read.labels))
        if not same:
            wrong.append((case["id"], read))
    assert not wrong


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}.",
        "**{}**",
        "Answer: {}",
        "The answer is {}.",
        "<think>hm</think>{}",
        '{{"label": "{}"}}',
        '```json\n{{"label": "{}"}}\n```',
        "<answer>{}</answer>",
        "答案：{}。",
        "{}: because the video shows it",
        'I would label this step as "{}".',
        "Explanation: the hand stirs.\n\n{}",
    ],
)
def test_every_label_is_read_in_every_plain_form(name: str, form: str) -> None:
    for written in (name, name.upper(), name.lower(), name.replace(" ", "_")):
        assert parse_label(form.format(written)).labels == (name,)


def test_a_cut_reply_counts_only_where_the_verdict_stood_before_the_cut() -> None:
    def cut(text: str) -> str | None:
        return parse_label(text, finish_reason="length").label

    assert cut("Wrong object. The person takes a fork and") == OBJECT
    assert cut("Answer: Omission. The lid is") == OMISSION
    assert cut('{"label": "Wrong order", "evidence": "the sal') == ORDER
    for text in (
        "The wrong object was used at first, and",
        "Correct",
        "Answer: Correct",
        "",
        "<think>so",
        "Wrong",
    ):
        read = parse_label(text, finish_reason="length")
        assert (read.label, read.reason) == (None, "truncated"), text


def test_a_withheld_reply_is_a_refusal() -> None:
    assert parse_label("", finish_reason="content_filter").reason == "refusal"


def test_numbers_and_letters_count_only_where_the_options_are_known() -> None:
    options = [OBJECT, ACTION, ORDER]
    assert parse_label("2").reason == "no label found"
    assert parse_label("2", options=options).label == ACTION
    assert parse_label("C", options=options).label == ORDER
    assert parse_label("(B)", options=options).label == ACTION
    assert parse_label("Answer: C", options=options).label == ORDER
    assert parse_label("Option 1 is correct.", options=options).label == OBJECT
    assert parse_label('{"answer": "B"}', options=options).label == ACTION
    assert parse_label('{"answer": 2}', options=options).label == ACTION
    assert parse_label(r"\boxed{C}", options=options).label == ORDER
    assert parse_label("C. Wrong object", options=options).label == OBJECT, "the name goes before its letter"
    assert parse_label("9", options=options).reason == "no label found"
    assert parse_label("A bowl is on the table.", options=options).reason == "no label found"
    with pytest.raises(LabelError, match="banana"):
        parse_label("1", options=["banana"])


def test_a_taxonomy_of_ones_own_is_read_by_its_own_names() -> None:
    own = Taxonomy.from_data(
        {
            "name": "soldering",
            "labels": [
                {
                    "id": "ok",
                    "name": "good joint",
                    "is_error": False,
                    "definition": "shiny",
                    "aliases": ["fine"],
                },
                {"id": "cold", "name": "cold joint", "definition": "dull", "aliases": ["dry joint"]},
                {"id": "bridge", "name": "bridge", "definition": "two pads in one", "common_word": True},
            ],
        }
    )
    assert parse_label("Verdict: dry joint", own).label == "cold joint"
    assert parse_label("This is no cold joint.", own).reason == "no label found"
    assert parse_label("The bridge of the violin is near.", own).reason == "no label found"
    assert parse_label("Bridge", own).label == "bridge"
    assert parse_label("good joint", own).label == "good joint"
    assert parse_label("Wrong object", own).reason == "no label found"


def test_the_evidence_is_the_place_that_was_read() -> None:
    read = parse_label("The salt goes in first.\nTherefore the verdict is Wrong order.\nRegards")
    assert read.evidence == ("the verdict is Wrong order.",)


def test_readings_are_frozen_values_that_travel_as_json() -> None:
    for read in (parse_label("Omission"), parse_label("")):
        assert type(read).model_validate_json(read.model_dump_json()) == read
        assert pickle.loads(pickle.dumps(read)) == read
        with pytest.raises(ValueError, match="frozen"):
            read.reason = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    "loop", ["Answer: ", "not wrong object ", "the wrong object is not used. ", "{", "<answer>", "no, "]
)
def test_a_reply_that_loops_is_read_in_good_time(loop: str) -> None:
    text = loop * (8000 // len(loop))
    begin = time.process_time()
    parse_label(text)
    assert parse_label(text + "\nAnswer: Omission").label == OMISSION or loop in ("{", "<answer>")
    assert time.process_time() - begin < 15


def test_brackets_and_quotes_that_do_not_match_do_no_harm() -> None:
    for text in (
        "{" * 500,
        "[" * 500,
        "[" * 9000,
        '{"label":' * 2000,
        '{"label": ' + "9" * 5000 + "}",
        "字" * 5000,
        "٣" * 5000,
        '{"label": ' * 100,
        "<answer>" * 100,
        "\\boxed{" * 50,
        '"' * 999,
        "}{][)(",
        "```" * 99,
    ):
        assert isinstance(parse_label(text), Unparsed)


_PIECES = [
    *EVERY, "no", "not", "or", "and", "correctly", "Answer:", "the label is", "<think>", "</think>", "<answer>",
    "</answer>", "{", "}", "[", "]", '"label":', '"', ",", ".", ":", "?", "\n", "1.", "(b)", "- ", "**", "```json",
    "```", "\\boxed{", "答案", "。", "is ruled out", "I cannot tell", "might be", "s", "_", "/", "&", "error",
]  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(_PIECES), max_size=14), st.sampled_from(["stop", "length"]))
def test_no_reply_however_odd_breaks_the_reading(pieces: list[str], finish_reason: str) -> None:
    for text in (" ".join(pieces), "".join(pieces)):
        read = parse_label(text, finish_reason=finish_reason)
        assert set(read.labels) <= set(EVERY)
        assert (read.label is None) == (read.status == "unparsed") == (not read.labels)
        assert (read.reason is None) == (read.status == "ok")
        assert not (CORRECT in read.labels and len(read.labels) > 1)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_no_text_at_all_breaks_the_reading(text: str) -> None:
    parse_label(text)
    is_refusal(text)
    without_thinking(text)


def test_thinking_is_taken_off_and_known_to_be_cut() -> None:
    assert without_thinking("<think>a</think>b") == "b"
    assert without_thinking("a</think>b") == "b"
    assert without_thinking("b") == "b"
    assert without_thinking("<think>a") is None


def test_refusals_are_told_from_narrations() -> None:
    assert is_refusal("I'm sorry, I cannot tell.")
    assert not is_refusal("The person cannot open the jar and takes another one.")
    assert not is_refusal("The hand puts the lid on the pot.")
    assert not is_refusal("The images do not show the lid being put on. The hand stirs the soup.")
    assert not is_refusal(
        "I cannot see the label. The hand takes a bottle, pours oil into the pan, and closes it. Then it stirs."
    )
    assert is_refusal("I'm sorry, but I can't tell what happens here. The frames are too dark.")
    assert is_refusal("As an AI, I cannot view videos. Please provide a description.")


def test_the_default_taxonomy_has_the_nine_labels_of_the_paper() -> None:
    assert default_taxonomy().names == EVERY
