"""The state of reading a procedure's flow: things, places, what is at hand, and the edges found so far."""

from __future__ import annotations

from collections import defaultdict

from ego_adr.procedure.ordering_phrases import NounPhrase
from ego_adr.procedure.ordering_sentences import Act
from ego_adr.procedure.ordering_things import Thing, Things
from ego_adr.types import StepEdge

__all__ = ["FLOW", "HEAT", "WORDS", "FlowState"]

FLOW, HEAT, WORDS = "flow", "convention: heat last", "words"


class FlowState:
    """What is known while the steps are read one after the other. `ego_adr.procedure.ordering_flow` moves it on.

    Args:
        heat_last: a pan is heated after what goes into it was made ready.
    """

    def __init__(self, heat_last: bool) -> None:
        self._things = Things()
        self._words = self._things.words
        self._why: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
        self._verbs: dict[str, int] = {}  # verb -> the last step that had it
        self._focus: Thing | None = None  # the place at hand
        self._last: Thing | None = None  # the thing at hand
        self._heat_last = heat_last
        self._heats: dict[int, Thing] = {}  # step -> the vessel it heats
        self._fed: list[tuple[Thing, int, set[int]]] = []  # (vessel, step, what the step's things rest on)
        self._step = 0
        self._tool: Thing | None = None
        self._verb = ""

    def _need(self, steps: set[int], why: str) -> None:
        for step in steps:
            if step != self._step:
                self._why[step, self._step][why] = None

    def edges(self) -> list[StepEdge]:
        if self._heat_last:
            for heating, vessel in self._heats.items():
                for place, step, ready in self._fed:
                    if place.root is vessel.root and step > heating:
                        for made in ready:
                            if made < heating:
                                self._why[made, heating][HEAT] = None
        return [StepEdge(before=a, after=b, sources=tuple(why)) for (a, b), why in sorted(self._why.items())]

    def _known_vessel(self, phrase: NounPhrase) -> Thing | None:
        return next(
            (
                t
                for t in reversed(self._things.all)
                if t.vessel and any(n and n[-1] == phrase.head for n in t.names)
            ),
            None,
        )

    def _thing(self, phrase: NounPhrase, *, loose: bool = True) -> Thing | None:
        """The thing that a phrase names among those seen."""
        if phrase.pronoun:
            return self._last
        if phrase.everything and not phrase.words:
            return self._focus
        if self._things.is_vessel(phrase) or self._things.is_tool(phrase):
            return self._things.vessel(phrase)
        return self._things.find(phrase, loose=loose)

    def _portion(self, phrase: NounPhrase) -> Thing:
        """What a step takes to put it somewhere: a thing seen before, or one from the cupboard."""
        found = self._thing(phrase, loose=not phrase.quantified)
        if found is not None and phrase.quantified and phrase.words and phrase.words not in found.names:
            named = {word for name in found.names for word in name}
            if not named <= set(phrase.words):
                found = None
        if found is not None and found.inside is not None and not phrase.definite and not found.ready:
            # Salt that already is in a bowl is not taken out of it for the pan.
            found = (
                None
                if phrase.quantified or phrase.head in self._words.raw or len(found.root.held) > 1
                else found
            )
        return found or self._new(phrase)

    def _new(self, phrase: NounPhrase) -> Thing:
        thing = self._things.new(phrase)
        if phrase.held_in is not None:
            holder = self._things.vessel(NounPhrase((phrase.held_in,)))
            thing.put_into(holder, self._step)
        return thing

    def _speak_of(self, thing: Thing, phrase: NounPhrase) -> None:
        for part in phrase.parts:
            thing.parts[part] = self._step
        self._things.touch(thing)

    def _place(self, act: Act, *, instead: bool = True) -> tuple[str, Thing, NounPhrase | None] | None:
        """Where an act puts things: (preposition, thing, its phrase). ``instead``: where we are, when it does not say."""
        unknown: tuple[str, NounPhrase] | None = None
        for word, phrase in act.places:
            if phrase.pronoun and self._last is not None:
                return word, self._last, phrase
            if self._things.is_vessel(phrase) or self._things.is_tool(phrase):
                return word, self._things.vessel(phrase), phrase
            if phrase.words or (phrase.parts and word != "in"):
                found = self._things.find(phrase, loose=True)
                if found is not None:
                    return word, found, phrase
                if phrase.words and unknown is None:
                    unknown = word, phrase
            elif phrase.everything and self._focus is not None:
                return word, self._focus, phrase
        if unknown is not None and (unknown[1].definite or unknown[1].head in self._words.products):
            # "onto the bread", when it lies sliced on a plate: a word for what is in a place seen before.
            sources = {self._things.vessel(p).root for p in act.sources if self._things.is_vessel(p)}
            known = [
                t
                for t in reversed(self._things.all)
                if t.vessel and not t.tool and t.inside is None and t.held
            ]
            meant = next((t for t in known if t not in sources), None)
            if meant is not None:
                meant.call(unknown[1])
                return unknown[0], meant, unknown[1]
        if unknown is not None:
            return unknown[0], self._new(unknown[1]), unknown[1]
        if not instead:
            return None
        if self._focus is None:
            self._focus = self._things.new(NounPhrase(()), vessel=True)
        return "", self._focus, None

    def _fire(self, act: Act) -> Thing | None:
        """The vessel on the fire, when a thing that lies in none is to be cooked."""
        things = [self._thing(phrase) for phrase in act.things]
        if any(thing is not None and thing.inside is None and not thing.vessel for thing in things):
            return next((t for t in reversed(self._things.all) if t.heated and t.inside is None), None)
        return None

    def _here(self, act: Act) -> Thing | None:
        """The place that an act without an object works on: for cooking the one on the fire."""
        if act.kind == "cook" or act.verb in ("flip",):
            on_fire = next((t for t in reversed(self._things.all) if t.heated and t.inside is None), None)
            if (
                on_fire is not None
                and act.verb not in self._words.off_the_fire
                and (self._focus is None or not self._focus.root.held)
            ):
                return on_fire
        return self._focus or self._last

    def _work_on(self, thing: Thing) -> None:
        """A barrier: needs all that was done to it, and everything later needs this step."""
        root = thing.root
        self._need(root.frontier, f"{FLOW}: {root.name}")
        if thing is not root:
            self._need(thing.joined, f"{FLOW}: {thing.name}")
        root.base, root.added = {self._step}, []
        root.ground = None

    def _feed(self, place: Thing, ready: set[int], thing: Thing) -> None:
        self._need(ready, f"{FLOW}: {thing.name}")
        if self._verb not in self._words.uncooked:
            self._fed.append((place, self._step, set(ready)))

    def _mixture(self, but: Thing) -> Thing | None:
        """The place that last held several things, other than this one."""
        return next(
            (
                t
                for t in reversed(self._things.all)
                if t.vessel and t.inside is None and t.held and t is not but.root
            ),
            None,
        )

    def _carry(self, source: Thing, place: Thing, *, only: Thing | None = None) -> None:
        """The contents of one place go to another (or one of them)."""
        root = source.root
        if root is place.root:
            return
        self._feed(place, root.frontier, root)
        moved = (
            [only]
            if only is not None and len(root.held) > 1 and not root.tool and not root.base
            else list(root.held)
        )
        for thing in moved:
            thing.put_into(place.root, self._step)
        if not root.vessel:
            root.put_into(place.root, self._step)
        else:
            contents = [name for name in root.names[1:] if name and name[-1] not in self._words.vessels]
            place.root.names += contents
            root.names = [name for name in root.names if name not in contents]
        if not place.root.names[0]:
            place.root.names = place.root.names[1:] or [()]
        root.base, root.added = {self._step}, []
