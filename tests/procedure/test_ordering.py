"""Which step needs which: from texts, graphs, examples and models."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from ego_adr.errors import DataError, ProcedureError
from ego_adr.models.scripted import ScriptedModel
from ego_adr.procedure.object_states import (
    ObjectState,
    causal_dependency,
    dependencies,
    state_edges,
    states_from_text,
)
from ego_adr.procedure.ordering import (
    StepOrder,
    attach_task_graph,
    drop_contradicted,
    join_orders,
    order_from_text,
    order_with_model,
    read_task_graph,
    with_edges,
    written_chain,
)
from ego_adr.procedure.ordering_model import states_from_reply
from ego_adr.types import Failure, ProcedureBank, Reply, Step, StepEdge


def bank(*texts: str) -> ProcedureBank:
    return ProcedureBank(
        text="\n".join(texts), steps=tuple(Step(index=i, text=text) for i, text in enumerate(texts))
    )


def needs(*texts: str, heat_last: bool = True) -> set[tuple[int, int]]:
    return {(edge.before, edge.after) for edge in order_from_text(bank(*texts), heat_last=heat_last).edges}


def pairs(made: ProcedureBank) -> set[tuple[int, int]]:
    return {(edge.before, edge.after) for edge in made.edges}


# ------------------------------------------------------------------------------------------ from the texts


def test_steps_that_share_nothing_stay_free() -> None:
    assert needs("Wash the spinach", "Grind the almonds", "Peel two parsnips") == set()


def test_treatments_of_one_thing_follow_one_another_and_are_free_until_it_is_used() -> None:
    found = needs(
        "Peel the parsnip",
        "Rinse the leek",
        "Dice the parsnip",
        "Add the diced parsnip to the pot",
        "Slice the leek",
    )
    assert found == {(0, 2), (2, 3), (1, 4)}


def test_what_goes_into_one_vessel_may_change_places_until_a_barrier() -> None:
    found = needs(
        "Add 2 cups flour to the bowl",
        "Add 1 tsp yeast to the bowl",
        "Stir the contents of the bowl",
        "Add 1 cup milk to the bowl",
        "Add 1 egg to the bowl",
        "Whisk until smooth",
    )
    assert found == {(0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5)}


def test_a_transfer_carries_the_contents_along() -> None:
    found = needs(
        "Add yoghurt to a bowl",
        "Mix 1 tsp honey and 2 tbsp oats in the bowl",
        "Grease a tin",
        "Pour the mixture into the tin",
        "Bake for 30 minutes",
    )
    assert found == {(0, 1), (1, 3), (2, 3), (3, 4)}


def test_two_things_that_share_a_word_are_told_apart() -> None:
    found = needs(
        "Chop the bell pepper", "Add 1/2 tsp black pepper to the bowl", "Add the bell pepper to the skillet"
    )
    assert found == {(0, 2)}


def test_colours_and_sides_tell_things_of_one_name_apart() -> None:
    found = needs(
        "Put the red ring on the yellow ring",
        "Put the green ball beside the white cube",
        "Put the blue ring on the black ring",
        "Attach the left wheel to the axle",
        "Attach the right wheel to the axle",
        "Put the green ball on the grey cone",
    )
    assert found == {(1, 5)}


def test_what_is_folded_in_comes_before_the_next_barrier() -> None:
    found = needs(
        "Whisk 2 eggs in a bowl", "Rinse the berries", "Fold in the berries", "Pour the batter into a tin"
    )
    assert found == {(0, 2), (1, 2), (2, 3)}


def test_a_second_pan_is_its_own() -> None:
    found = needs(
        "Boil water in a large pot", "Heat oil in a skillet", "Add the bacon to the skillet", "Salt the water"
    )
    assert found == {(1, 2), (0, 3)}


def test_two_bowls_are_told_apart() -> None:
    found = needs(
        "Add 1 egg to the mixing bowl",
        "Mix 1 tbsp soy sauce and 1 tsp sugar in a small bowl",
        "Beat the contents of the mixing bowl",
    )
    assert found == {(0, 2)}


def test_the_first_thing_on_a_plate_is_the_ground_for_the_rest() -> None:
    found = needs("Place the toast on a plate", "Add 1 tsp jam to the plate", "Sprinkle almonds on the plate")
    assert found == {(0, 1), (0, 2)}


def test_a_layer_comes_after_what_lies_below() -> None:
    found = needs(
        "Place the cracker on a plate", "Spread cheese on the cracker", "Spread chutney over the cheese"
    )
    assert found == {(0, 1), (1, 2)}


def test_a_pan_is_heated_last_and_the_convention_can_be_switched_off() -> None:
    texts = (
        "Slice the leek",
        "Heat 1 tbsp oil in a pan",
        "Add the leek to the pan",
        "Cook for 5 minutes",
        "Serve on a plate",
    )
    assert (0, 1) in needs(*texts)
    without = needs(*texts, heat_last=False)
    assert (0, 1) not in without
    assert {(0, 2), (1, 2), (2, 3), (3, 4)} <= without
    made = order_from_text(bank(*texts))
    assert [e.sources for e in made.edges if (e.before, e.after) == (0, 1)] == [("convention: heat last",)]


def test_words_of_time_name_what_must_have_been_done_or_begun() -> None:
    texts = (
        "Heat a skillet",
        "Boil the eggs",
        "Once the skillet is hot, add the bacon",
        "While the eggs are boiling, slice the bread",
    )
    made = order_from_text(bank(*texts))
    why = {(e.before, e.after): e.sources for e in made.edges}
    assert any(source.startswith("words") for source in why[0, 2])
    assert why[1, 3] == ("words: while boil",)


def test_a_linear_text_is_no_chain() -> None:
    texts = ("Chop the dill", "Rinse the radish", "Slice the radish", "Toast the bread")
    assert pairs(order_from_text(bank(*texts))) < pairs(written_chain(bank(*texts)))


def test_the_graph_of_any_texts_runs_forward_only() -> None:
    words = re.findall(
        r"\S+",
        "add mix the a bowl pan egg it with to and , . salt chop heat while once until 1/2 cup of top 's 手順 (x",
    )
    chance = random.Random(0)
    for _ in range(150):
        texts = [" ".join(chance.choices(words, k=chance.randrange(12))) for _ in range(chance.randrange(12))]
        assert all(
            e.before < e.after for e in order_from_text(bank(*texts), sources=("flow", "states")).edges
        )


def test_a_source_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ProcedureError, match="flow, states"):
        order_from_text(bank("Stir"), sources=("magic",))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- object states


def state(name: str, attribute: str, before: str, after: str) -> ObjectState:
    return ObjectState(name, attribute, before, after)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (state("cup", "emptiness", "empty", "full"), state("cup", "emptiness", "full", "empty"), "dependent"),
        (state("cup", "emptiness", "empty", "full"), state("cup", "emptiness", "full", "full"), "related"),
        (state("cup", "emptiness", "empty", "full"), state("cup", "emptiness", "empty", "full"), "unrelated"),
        (state("cup", "emptiness", "full", "full"), state("cup", "emptiness", "full", "empty"), "unrelated"),
        (state("cup", "emptiness", "empty", "full"), state("jug", "emptiness", "full", "empty"), "unrelated"),
        (
            state("cup", "emptiness", "empty", "full"),
            state("cup", "cleanliness", "full", "empty"),
            "unrelated",
        ),
        (state("cup", "shape", "whole", "unknown"), state("cup", "shape", "unknown", "diced"), "unrelated"),
    ],
)
def test_algorithm_1_tells_dependent_related_and_unrelated(
    first: ObjectState, second: ObjectState, verdict: str
) -> None:
    assert causal_dependency([first], [second]) == verdict


def test_a_path_with_a_related_link_is_only_related() -> None:
    chain = [
        [state("a", "shape", "whole", "part")],
        [state("a", "shape", "part", "diced"), state("b", "cleanliness", "dirty", "clean")],
        [state("b", "cleanliness", "clean", "clean"), state("c", "cookedness", "raw", "cooked")],
        [state("c", "cookedness", "cooked", "raw")],
    ]
    found = dependencies(chain)
    assert (found[0, 1], found[1, 2], found[2, 3]) == ("dependent", "related", "dependent")
    assert (found[0, 2], found[1, 3], found[0, 3]) == ("related", "related", "related")
    assert pairs(with_edges(bank("1", "2", "3", "4"), state_edges(chain))) == {(0, 1), (2, 3)}


def test_the_verb_table_gives_states_and_their_edges_name_them() -> None:
    steps = bank("Cut the leek", "Rinse the leek", "Chop the leek").steps
    assert state("leek", "shape", "whole", "part") in states_from_text(steps)[0]
    assert state("leek", "shape", "part", "part") in states_from_text(steps)[1]
    edges = state_edges(states_from_text(steps))
    assert [(e.before, e.after, e.sources) for e in edges] == [(0, 2, ("object states: leek shape part",))]


# -------------------------------------------------------------------------------------------------- graphs

GRAPH = {
    "steps": {"0": "START", "7": "Eat", "3": "Add-Add salt", "5": "END"},
    "edges": [[0, 3], [3, 7], [7, 5]],
}


def test_a_captaincook4d_graph_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH), encoding="utf-8")
    found = read_task_graph(path)
    assert [step.text for step in found.steps] == ["Add salt", "Eat"]
    assert [(e.before, e.after, e.sources) for e in found.edges] == [(0, 1, ("given graph",))]


def test_a_graph_is_laid_onto_a_bank_by_its_texts_and_unknown_nodes_pass_their_needs_on() -> None:
    graph = {
        "steps": ["Boil water", "Fetch the tea", "Pour", "Stir", "Stir"],
        "edges": [[0, 1], [1, 2], [2, 3], [3, 4]],
    }
    made = attach_task_graph(bank("Stir", "Boil water.", "pour", "Stir"), graph)
    assert pairs(made) == {(1, 2), (2, 0), (0, 3)}
    assert any("Fetch the tea" in note for note in made.notes)


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        ({"steps": {"1": "a", "2": "b"}, "edges": [[1, 2], [2, 1]]}, "in a circle: .*'a'.*'b'"),
        ({"steps": {"1": "a"}, "edges": [[1, 9]]}, "names 9; the ids are 1"),
        ({"steps": {"1": "a"}, "edges": [[1]]}, "no pair"),
        ({"steps": {"1": 4}, "edges": []}, "must map ids to texts"),
        ({"edges": []}, "must map ids to texts"),
        ({"steps": ["a"], "edges": "none"}, "must be a list of pairs"),
    ],
)
def test_a_broken_graph_is_an_error_that_says_which_part(graph: dict[str, object], says: str) -> None:
    with pytest.raises(ProcedureError, match=says):
        read_task_graph(graph)


def test_a_graph_of_another_procedure_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProcedureError, match="none of the 2 nodes"):
        attach_task_graph(bank("Tie a knot"), GRAPH)
    with pytest.raises(ProcedureError, match="cannot be read"):
        read_task_graph(tmp_path / "absent.json")


def test_edges_are_checked_repaired_and_joined() -> None:
    edges = [
        StepEdge(before=0, after=1, sources=("x",)),
        StepEdge(before=0, after=1, sources=("y",)),
        StepEdge(before=1, after=0),
    ]
    with pytest.raises(ProcedureError, match="circle"):
        with_edges(bank("a", "b"), edges)
    made = with_edges(bank("a", "b"), [*edges, StepEdge(before=0, after=5)], repair=True)
    assert [(e.before, e.after, e.sources) for e in made.edges] == [(0, 1, ("x", "y"))]
    assert len(made.notes) == 2
    joined = join_orders(made, written_chain(bank("a", "b")))
    assert joined.edges[0].sources == ("x", "y", "written order")
    with pytest.raises(ProcedureError, match="same steps"):
        join_orders(made, bank("c"))


def test_an_order_answers_questions() -> None:
    made = with_edges(
        bank(*"abcd"), [StepEdge(before=a, after=b) for a, b in [(0, 1), (1, 3), (0, 3), (2, 3)]]
    )
    order = StepOrder.of(made)
    assert order.topological == [0, 1, 2, 3]
    assert (order.all_needs(3), order.all_needs(0), order.all_needed_by(0)) == ([0, 1, 2], [], [1, 3])
    assert order.reduced() == [(0, 1), (1, 3), (2, 3)]
    assert order.must_precede(0, 3)
    assert not order.must_precede(2, 1)


# ------------------------------------------------------------------------------------------------ examples


def run(*order: int) -> list[tuple[int, float, float]]:
    return [(step, float(t), t + 1.0) for t, step in enumerate(order)]


def test_examples_drop_what_they_contradict_and_keep_what_follows() -> None:
    made = drop_contradicted(written_chain(bank(*"abcd")), [run(0, 2, 1, 3)])
    assert pairs(made) == {(0, 1), (0, 2), (1, 3), (2, 3)}
    assert any("1 needs were dropped" in note for note in made.notes)


def test_no_example_breaks_what_is_left() -> None:
    chance = random.Random(5)
    for _ in range(40):
        examples = [run(*chance.sample(range(7), chance.randint(3, 7))) for _ in range(3)]
        order = StepOrder.of(drop_contradicted(written_chain(bank(*"abcdefg")), examples))
        for example in examples:
            for late, (step, _, _) in enumerate(example):
                assert not any(order.must_precede(step, earlier) for earlier, _, _ in example[:late])


def test_an_example_with_a_step_that_is_not_there_is_an_error() -> None:
    with pytest.raises(DataError, match="steps 0 to 1"):
        drop_contradicted(written_chain(bank("a", "b")), [[(4, 0.0, 1.0)]])


# -------------------------------------------------------------------------------------------------- models

STEPS = ("Peel the leek", "Heat the pan", "Fry the leek")


@pytest.mark.parametrize(
    "said",
    [
        '{"1": [], "2": [1], "3": [1, 2]}',
        'Here it is:\n```json\n{"1": [], "2": ["1"], "3": ["step 1", 2]}\n```\nDone.',
        '<think>{"3": [9]}</think>{"steps": [{"step": 2, "needs": [1]}, {"step": 3, "needs": [1, 2]}]}',
        '{"edges": [[1, 2], [1, 3], [2, 3]]}',
        '{"1": [], "2": [1], "3": [1, 2',
        "{'1': '', '2': '1', '3': '1, 2'}",
    ],
)
def test_a_model_writes_the_graph_in_the_forms_that_models_use(said: str) -> None:
    model = ScriptedModel([said])
    made = order_with_model(bank(*STEPS), model)
    assert pairs(made) == {(0, 1), (0, 2), (1, 2)}
    assert {e.sources for e in made.edges} == {("model",)}
    assert "may be put in in any order" in model.requests[0].prompt
    assert all(text in model.requests[0].prompt for text in STEPS)


def test_cycles_and_unknown_steps_of_a_model_are_mended_and_noted() -> None:
    made = order_with_model(bank(*STEPS), ScriptedModel(['{"1": [3, 1], "2": [1, 8], "3": [2]}']))
    assert pairs(made) == {(0, 1), (1, 2)}
    assert any("not there: 8" in note for note in made.notes)
    assert any("closed a circle" in note for note in made.notes)


def test_a_silent_or_cut_model_is_noted() -> None:
    made = order_with_model(bank(*STEPS), ScriptedModel([Reply(text='{"2": [1]', finish_reason="length")]))
    assert pairs(made) == {(0, 1)}
    assert any("said nothing of 2 steps" in note for note in made.notes)
    assert any("cut at its token limit" in note for note in made.notes)


RUNAWAY = {
    "lists": "[" * 5000,
    "objects": '{"1":' * 5000,
    "texts": '{"' * 5000,
    "a number that no float holds": "{" + "9" * 400 + ": [1]}",
}


@pytest.mark.parametrize("said", RUNAWAY.values(), ids=RUNAWAY)
def test_a_reply_that_runs_away_is_one_without_a_graph_and_without_states(said: str) -> None:
    with pytest.raises(ProcedureError, match="no order of steps"):
        order_with_model(bank(*STEPS), ScriptedModel([said]))
    with pytest.raises(ProcedureError, match="no object states"):
        states_from_reply(said, bank(*STEPS))


@pytest.mark.parametrize("said", ["", "I cannot tell.", "[]", '{"9": [1]}', "7"])
def test_a_reply_without_a_graph_is_an_error_that_shows_it(said: str) -> None:
    with pytest.raises(ProcedureError, match="no order of steps"):
        order_with_model(bank(*STEPS), ScriptedModel([said]))


def test_a_model_that_fails_is_an_error_with_its_cause() -> None:
    reply = Reply(text="", failure=Failure(cause="server", message="the server is gone"))
    with pytest.raises(ProcedureError, match="the server is gone"):
        order_with_model(bank(*STEPS), ScriptedModel([reply]))


def test_states_of_a_model_outside_the_vocabulary_are_left_out() -> None:
    rows: Sequence[object] = [
        {"step": 1, "object": "Leek", "attribute": "Wrappedness", "before": "wrapped", "after": "unwrapped"},
        {"step": 1, "object": "leek", "attribute": "mood", "before": "sad", "after": "glad"},
        {"step": 3, "object": "leek", "attribute": "cookedness", "before": "raw", "after": "burnt"},
        {"step": 3, "object": "leek", "attribute": "cookedness", "before": "unknown", "after": "cooked"},
        {"step": 12, "object": "leek", "attribute": "shape", "before": "whole", "after": "part"},
        "nonsense",
    ]
    found = states_from_reply(json.dumps(rows), bank(*STEPS))
    assert found[0] == [state("leek", "wrappedness", "wrapped", "unwrapped")]
    assert found[1] == []
    assert found[2] == [state("leek", "cookedness", "unknown", "cooked")]
    with pytest.raises(ProcedureError, match="no object states"):
        states_from_reply("none", bank(*STEPS))
