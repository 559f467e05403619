"""The shallow route's vocabularies: what a narration says outright, and what only sounds like it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ego_adr.parsing import KeywordVerdict, classify_narration
from ego_adr.tabletop.language import BLOCKS, GIVEN_AWAY, Event, narrate
from ego_adr.taxonomies import Taxonomy

CORRECT, OBJECT, ACTION, ORDER = "correct", "Wrong object", "Wrong action", "Wrong order"
OMISSION, UNINTENDED = "Omission", "Unintended and unnecessary action"
REPAIRED, FAILURE, OTHERS = "Correct wrong action", "Equipment failure", "Others"

NOTHING_AMISS = [
    "The person pours the water before adding salt, as written.",
    "The cook breaks the egg into the bowl.",
    "The person breaks two eggs into the pan and stirs them.",
    "She drops the diced onion into the pan.",
    "He drops the tablet into the beaker of water.",
    "The person adds three drops of dye to the tube.",
    "A drop of oil is put on the hinge.",
    "The person spills nothing.",
    "The hand pours the milk without spilling any of it.",
    "No water is spilled and no tool breaks.",
    "Nothing goes wrong.",
    "No anomaly.",
    "1. Object or tool: a whisk. 2. Action: it beats the eggs. 3. Anomaly: none.",
    "Object: screwdriver. Action: tightens two screws. Anomaly: no anomaly is seen.",
    "There is no wrong object, no wrong action and no omission.",
    "The child skips rope.",
    "The worker snaps the cover into place.",
    "The camper snaps the buckle shut.",
    "The person spreads the jam on the bread.",
    "The cook cracks an egg on the rim of the bowl.",
    "The person tears the lettuce into small pieces.",
    "The person tears open the bag of rice.",
    "The tape is torn along the line.",
    "The person carefully pours the acid so that nothing spills.",
    "The person holds the bowl firmly so it does not tip over.",
    "The person is careful not to drop the glass.",
    "The person avoids spilling the solution.",
    "The person checks whether the valve leaks.",
    "The person checks the pipe for leaks.",
    "The person almost drops the cup.",
    "The lid could fall off, but it stays in place.",
    "The person never drops the screw, never rushes and never skips a step.",
    "The person pours neither too much nor too little.",
    "The person does not spill, drop or break anything.",
    "No tool breaks, jams or slips.",
    "The pan is not too hot.",
    "The person does not use the wrong spoon.",
    "The person does not add anything extra.",
    "The person puts the spoon back on the table after stirring.",
    "The person puts the lid back on the pot.",
    "The person picks up the lid and puts it on the pot.",
    "The person picks up the spoon, stirs the soup and puts it back.",
    "The person takes the pan off the heat and sets it down on the rack.",
    "The person turns the jar upside down, as the recipe says.",
    "The person stirs the mixture again, as described in the step.",
    "The person rinses the beaker a second time as required.",
    "The person waits until the kettle stops and pours the water.",
    "The person leaves the butter out of the fridge to soften.",
    "The person leaves the dough to rest.",
    "The person cuts the rope with the knife and ties a knot.",
    "The person stops stirring and takes the spoon out.",
    "The person turns the knob to the right and then to the left.",
    "The person takes the right glove and puts it on.",
    "The person removes the cap, fills the bottle and closes it.",
    "The person corrects the height of the shelf to the mark.",
    "The person takes a short break.",
    "The hands insert the pole into the sleeve and push it through.",
    "The person hammers the stake into the ground.",
    "The person adds salt, then adds pepper, then stirs.",
    "The person pours the water slowly.",
    "The person stirs slowly and evenly.",
    "The hand puts the red cube on the blue ball.",
    "The zip opens easily, and the tent is taken out of the bag.",
    "The person wipes the table.",
    "The person mixes the two colours until they are different from the start.",
    "The person uses a fork, as the recipe asks for a fork.",
    "The person measures two cups of flour. Nothing is left out.",
    "The step is carried out as written, with the right tool and in the right order.",
]

SPOKEN_OF = [
    # a tool or a part gives way
    ("The handle of the pan comes off in the hand.", FAILURE),
    ("The tent pole snaps while it is being bent.", FAILURE),
    ("The pole breaks in two.", FAILURE),
    ("The rope tears and the tent falls down.", FAILURE),
    ("The blender won't turn on.", FAILURE),
    ("The lamp does not light up although the circuit is closed.", FAILURE),
    ("The motor stalls.", FAILURE),
    ("The drill suddenly stops working.", FAILURE),
    ("The hose leaks at the joint.", FAILURE),
    ("The lid is stuck and cannot be opened.", FAILURE),
    ("The battery is dead.", FAILURE),
    ("The person presses the button, but nothing happens.", FAILURE),
    ("The strap is torn.", FAILURE),
    ("The glass shatters on the bench.", FAILURE),
    ("The stake bends out of shape.", FAILURE),
    ("The zipper no longer closes.", FAILURE),
    ("The nozzle is clogged.", FAILURE),
    ("The screwdriver's tip breaks off.", FAILURE),
    ("The scale malfunctions.", FAILURE),
    ("The red cube breaks in the hand.", FAILURE),
    ("The microwave fails to start.", FAILURE),
    ("The pump loses pressure.", FAILURE),
    ("The string frays and gives way.", FAILURE),
    ("The seal of the bag bursts.", FAILURE),
    # nobody asked for it
    ("The person plays with the spoon.", UNINTENDED),
    ("The person opens the drawer for no apparent reason.", UNINTENDED),
    ("The person stirs the soup again although it is already mixed.", UNINTENDED),
    ("The person adds pepper, which is not asked for.", UNINTENDED),
    ("The person unnecessarily washes the clean cup.", UNINTENDED),
    ("The person accidentally touches the lamp.", UNINTENDED),
    ("The person picks up the knife and puts it back without using it.", UNINTENDED),
    ("The hand picks up the red cube and puts it back.", UNINTENDED),
    ("The person takes the tape and lays it down again unused.", UNINTENDED),
    ("The person fiddles with the buckle.", UNINTENDED),
    ("An extra step is done: the tray is turned around.", UNINTENDED),
    ("The person looks at his phone.", UNINTENDED),
    ("No step asks for the second rinse.", UNINTENDED),
    # not done
    ("The person skips the step of adding salt.", OMISSION),
    ("The person forgets to close the valve.", OMISSION),
    ("The salt is never added.", OMISSION),
    ("The person never adds the vinegar.", OMISSION),
    ("The person leaves out the garlic.", OMISSION),
    ("No spray is used.", OMISSION),
    ("The bolt is not tightened.", OMISSION),
    ("The person does not put the lid on.", OMISSION),
    ("The person doesn't stir the soup.", OMISSION),
    ("The person closes the jar without adding the label.", OMISSION),
    ("Nothing moves.", OMISSION),
    ("Nothing happens, no movement.", OMISSION),
    ("The hands stay still.", OMISSION),
    ("The step is not performed.", OMISSION),
    ("The guy line is left out.", OMISSION),
    ("One of the screws is omitted.", OMISSION),
    ("The person fails to add the catalyst.", OMISSION),
    # another thing
    ("The person takes the wrong bottle.", OBJECT),
    ("The person uses a fork instead of the whisk.", OBJECT),
    ("Sugar is added in place of the salt.", OBJECT),
    ("A different tool is used: a knife.", OBJECT),
    ("A fork is used where the recipe asks for a whisk.", OBJECT),
    ("The person uses a screwdriver other than the one named in the step.", OBJECT),
    ("The person uses something else than the funnel.", OBJECT),
    ("The person mistakes the sugar for the salt.", OBJECT),
    ("The person grabs an incorrect part.", OBJECT),
    ("The person uses a spoon rather than the ladle.", OBJECT),
    ("The wrong peg was taken.", OBJECT),
    # another way
    ("The person spills the milk.", ACTION),
    ("Some water spills over the table.", ACTION),
    ("The person drops the spoon.", ACTION),
    ("The nut falls to the floor.", ACTION),
    ("The person pours too much water.", ACTION),
    ("The person stirs too fast.", ACTION),
    ("The person turns the screw the wrong way.", ACTION),
    ("The label is put on upside down.", ACTION),
    ("The person shakes the bottle instead of stirring it.", ACTION),
    ("The lid is not closed properly.", ACTION),
    ("The person does not close the lid fully.", ACTION),
    ("The person cuts the onion unevenly.", ACTION),
    ("The person knocks over the beaker.", ACTION),
    ("The person adds two spoons instead of three.", ACTION),
    ("The screw slips out of the fingers.", ACTION),
    ("The yolk breaks.", ACTION),
    ("The person does it wrong.", ACTION),
    ("The person burns the toast, which is left too long in the pan.", ACTION),
    ("The milk boils over.", ACTION),
    # another moment
    ("The salt is added too early.", ORDER),
    ("The person closes the lid before the jar should be closed.", ORDER),
    ("The steps are done in the wrong order.", ORDER),
    ("The person adds the salt although the water has not been poured yet.", ORDER),
    ("The water should have been added first.", ORDER),
    ("The person inserts the pole ahead of time.", ORDER),
    ("The order of the two steps is reversed.", ORDER),
    ("The wheel is attached too late.", ORDER),
    # put right
    ("The person takes the wrong screw, notices it and takes the right one.", REPAIRED),
    ("The person puts in too much flour and takes some out again.", REPAIRED),
    ("By mistake the hand puts the red cube on the blue ball, then moves it onto the green cone.", REPAIRED),
    ("The label is put on upside down, then the person turns it around.", REPAIRED),
    ("The person notices the mistake and redoes the step.", REPAIRED),
    ("The person corrects the mistake.", REPAIRED),
    ("The person grabs the wrong bottle. She puts it back and takes the correct one.", REPAIRED),
    ("The person forgets the washer, then adds it.", REPAIRED),
    ("The wrong peg is swapped for the right one.", REPAIRED),
    ("The person inserts the rod the wrong way round, pulls it out and inserts it correctly.", REPAIRED),
    # odd in another way
    ("Very slowly the hand moves the red cube.", OTHERS),
    ("The person is interrupted by a visitor.", OTHERS),
    ("Something unusual happens.", OTHERS),
]

NOT_PUT_RIGHT = [
    ("The person takes the wrong screw and does not put it back.", OBJECT),
    ("The person notices the mistake but never corrects it.", ACTION),
    ("The person spills the milk without correcting anything.", ACTION),
]

WRITTEN = yaml.safe_load(Path(__file__).with_name("narrations.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("narration", "label"), WRITTEN)
def test_a_narration_gets_the_label_that_a_reader_would_give_it(narration: str, label: str) -> None:
    assert classify_narration(narration).label == label


@pytest.mark.parametrize("narration", NOTHING_AMISS)
def test_a_narration_without_anything_amiss_is_correct(narration: str) -> None:
    verdict = classify_narration(narration)
    assert (verdict.label, verdict.labels, verdict.evidence) == (CORRECT, (CORRECT,), ()), verdict


@pytest.mark.parametrize(("narration", "label"), [*SPOKEN_OF, *NOT_PUT_RIGHT])
def test_an_error_that_a_narration_speaks_of_is_found(narration: str, label: str) -> None:
    verdict = classify_narration(narration)
    assert verdict.status == "ok"
    assert verdict.label == label == verdict.labels[0], verdict
    assert verdict.evidence
    assert all(words.casefold() in narration.casefold() for words in verdict.evidence)


def test_the_public_cases_are_judged_as_they_say(load_cases: Callable[[str], list[dict[str, Any]]]) -> None:
    for case in load_cases("narration keywords"):
        assert classify_narration(case["input"]["narration"]).label == case["expected"]["label"], case["id"]


@pytest.mark.parametrize("kind", GIVEN_AWAY)
def test_what_the_tabletop_world_gives_away_is_heard(kind: str) -> None:
    for mover in BLOCKS[::5]:
        said = narrate(Event(kind, mover, BLOCKS[1], BLOCKS[2]))
        assert classify_narration(said).label == GIVEN_AWAY[kind], said


def test_plain_acts_of_the_tabletop_world_are_correct_by_themselves() -> None:
    for kind in ("on", "beside", "off"):
        assert classify_narration(narrate(Event(kind, BLOCKS[0], BLOCKS[7]))).label == CORRECT


@pytest.mark.parametrize("narration", ["", "   \n", "...", "\u200b"])
def test_a_narration_that_says_nothing_gives_no_label(narration: str) -> None:
    assert classify_narration(narration) == KeywordVerdict(status="unparsed", label=None, reason="empty")


def test_all_that_is_found_is_named_and_the_priority_of_the_taxonomy_leads() -> None:
    verdict = classify_narration("The person takes the wrong bowl and spills the milk.")
    assert verdict.labels == (OBJECT, ACTION)
    assert verdict.evidence == ("wrong bowl", "spills")


def test_words_are_found_in_any_inflection_and_case() -> None:
    for said in ("SPILLS THE MILK", "spilled the milk", "is spilling the milk", "spilt the milk"):
        assert classify_narration(f"The person {said}.").label == ACTION


def test_a_failing_tool_is_not_a_mistake_that_one_puts_right() -> None:
    assert classify_narration("The zip jams, and the person turns it around.").label == FAILURE


def test_a_taxonomy_of_ones_own_brings_its_own_vocabularies() -> None:
    own = Taxonomy.from_data(
        {
            "name": "soldering",
            "labels": [
                {"id": "ok", "name": "good joint", "is_error": False, "definition": "shiny"},
                {
                    "id": "cold",
                    "name": "cold joint",
                    "definition": "dull",
                    "vocabulary": ["solder {stay} dull"],
                },
                {
                    "id": "bridge",
                    "name": "bridge",
                    "definition": "two pads in one",
                    "vocabulary": [{"say": "solder {bridge}", "unless": "on purpose"}],
                },
            ],
        }
    )
    assert classify_narration("The solder stays dull.", own).label == "cold joint"
    assert classify_narration("The solder bridges two pads.", own).label == "bridge"
    assert classify_narration("The solder bridges two pads on purpose.", own).label == "good joint"
    assert classify_narration("The person spills the flux.", own).label == "good joint"
