"""What holds of the objects before and after a step, and which steps depend on which: EgoTaskQA's Algorithm 1.

Attributes, their values and the changes that verbs make are data (``taxonomy/object-states.yaml``). States may
come from the verb table (`states_from_text`) or from a model (`ego_adr.procedure.ordering_model`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from ego_adr.errors import TaxonomyError
from ego_adr.procedure.ordering_sentences import read_acts
from ego_adr.procedure.ordering_words import content_words
from ego_adr.resources import taxonomy_folder
from ego_adr.types import Step, StepEdge

__all__ = [
    "Dependency",
    "ObjectState",
    "StateTable",
    "causal_dependency",
    "dependencies",
    "state_edges",
    "state_table",
    "states_from_text",
]

Dependency = Literal["dependent", "related", "unrelated"]
UNKNOWN = "unknown"
ANY = "any"
SOURCE = "object states"


@dataclass(frozen=True)
class ObjectState:
    """One attribute of one object, before and after a step. Equal values: the step leaves it as it is."""

    object: str
    attribute: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class StateTable:
    """The attributes with their values, and what each verb changes: attribute -> (before, after)."""

    attributes: Mapping[str, tuple[str, ...]]
    verbs: Mapping[str, Mapping[str, tuple[str, str]]]


@functools.lru_cache(maxsize=1)
def state_table() -> StateTable:
    """The table of the package.

    Raises:
        TaxonomyError: when the file names an attribute or a value that it does not list.
    """
    path = taxonomy_folder() / "object-states.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        attributes = {str(name): tuple(map(str, values)) for name, values in data["attributes"].items()}
        verbs = {
            str(verb): {str(a): (str(b), str(c)) for a, (b, c) in changes.items()}
            for verb, changes in data["verbs"].items()
        }
    except (
        OSError,
        UnicodeDecodeError,
        yaml.YAMLError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as exc:
        raise TaxonomyError(f"{path} cannot be read as a table of object states: {exc!r}.") from exc
    for verb, changes in verbs.items():
        for attribute, (before, after) in changes.items():
            allowed = attributes.get(attribute, ())
            if after not in allowed or before not in (*allowed, ANY):
                raise TaxonomyError(
                    f"{path}: {verb!r} changes {attribute!r} from {before!r} to {after!r}; allowed are {allowed}."
                )
    return StateTable(attributes, verbs)


def states_from_text(steps: Sequence[Step]) -> list[list[ObjectState]]:
    """What the verb table says of each step's objects, carried on from step to step in written order.

    A step also lists, unchanged, what is known of the objects it touches. Objects are nouns (singular).
    """
    table = state_table()
    known: dict[str, dict[str, str]] = {}
    found: list[list[ObjectState]] = []
    for step in steps:
        said: dict[tuple[str, str], ObjectState] = {}
        touched = content_words(step.text)
        for act in read_acts(step.text):
            objects = sorted({phrase.head for phrase in (*act.things, *act.sources) if phrase.head})
            for attribute, (before, after) in table.verbs.get(act.verb, {}).items():
                for name in objects:
                    was = known.get(name, {}).get(attribute, UNKNOWN if before == ANY else before)
                    said[name, attribute] = ObjectState(name, attribute, was, after)
        for name in sorted(touched):
            for attribute, value in known.get(name, {}).items():
                said.setdefault((name, attribute), ObjectState(name, attribute, value, value))
        for state in said.values():
            known.setdefault(state.object, {})[state.attribute] = state.after
        found.append(list(said.values()))
    return found


def causal_dependency(first: Sequence[ObjectState], second: Sequence[ObjectState]) -> Dependency:
    """EgoTaskQA, Algorithm 1: does the second action depend on the first?

    ``dependent`` when the first changes an attribute of a shared object to the value that the second changes
    in its turn; ``related`` when the second finds that value and leaves it; else ``unrelated``. (As printed the
    algorithm returns at the first pair that fits; here dependent wins over related whatever the order of states.)
    """
    related = False
    before = {(state.object, state.attribute): state for state in second}
    for state in first:
        other = before.get((state.object, state.attribute))
        if other is None or not state.changed or state.after == UNKNOWN or state.after != other.before:
            continue
        if other.changed:
            return "dependent"
        related = True
    return "related" if related else "unrelated"


def dependencies(states: Sequence[Sequence[ObjectState]]) -> dict[tuple[int, int], Dependency]:
    """Algorithm 1 over all pairs (i, j) with i < j, then recursively along the chains.

    A step depends on all that its dependants depend on; where a link of the path is only ``related``, so is
    the whole path. Unrelated pairs are left out.
    """
    count = len(states)
    direct: dict[int, dict[int, Dependency]] = {i: {} for i in range(count)}
    touching: dict[str, list[int]] = {}
    for i, listed in enumerate(states):
        for name in {state.object for state in listed}:
            touching.setdefault(name, []).append(i)
    pairs = sorted(
        {(i, j) for listed in touching.values() for n, i in enumerate(listed) for j in listed[n + 1 :]}
    )
    for i, j in pairs:
        verdict = causal_dependency(states[i], states[j])
        if verdict != "unrelated":
            direct[i][j] = verdict
    reached: dict[int, dict[int, Dependency]] = {}
    for i in reversed(range(count)):
        mine = dict(direct[i])
        for j, link in direct[i].items():
            for k, further in reached[j].items():
                verdict = "dependent" if link == further == "dependent" else "related"
                if mine.get(k) != "dependent":
                    mine[k] = verdict
        reached[i] = mine
    return {(i, j): verdict for i, found in sorted(reached.items()) for j, verdict in sorted(found.items())}


def state_edges(states: Sequence[Sequence[ObjectState]]) -> list[StepEdge]:
    """An edge for each pair that Algorithm 1 finds dependent (related ones prove nothing), with the state as source."""
    edges: list[StepEdge] = []
    for (i, j), verdict in dependencies(states).items():
        if verdict == "dependent":
            edges.append(StepEdge(before=i, after=j, sources=(_source(states[i], states[j]),)))
    return edges


def _source(first: Sequence[ObjectState], second: Sequence[ObjectState]) -> str:
    needed: dict[Any, ObjectState] = {
        (state.object, state.attribute): state for state in second if state.changed
    }
    for state in first:
        other = needed.get((state.object, state.attribute))
        if state.changed and other is not None and other.before == state.after:
            return f"{SOURCE}: {state.object} {state.attribute} {state.after}"
    return SOURCE
