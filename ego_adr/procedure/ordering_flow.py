"""Which step needs which, from the texts alone: the flow of things through vessels.

The steps are read in written order, and each says what it does to which things:

- making a thing ready is free until the thing is used;
- what is put into one vessel may change places, until a barrier (mix, cook, wait, turn ...);
- a barrier needs everything put in since the last one, and everything later in the vessel needs the barrier;
- a transfer carries the contents along, and needs them finished;
- the first thing on a plate is the ground for the rest, and so is what goes into "a bowl" that later steps call
  "the bowl"; a layer ("spread over", "top with") comes after what lies there;
- words of time ("once the pan is hot", "while the cake cools") name what must have been done, or have begun;
- a pan is heated when what goes into it is ready (a convention of recipe graphs, not physics).
"""

from __future__ import annotations

from ego_adr.procedure.ordering_flow_state import FLOW, WORDS, FlowState
from ego_adr.procedure.ordering_phrases import NounPhrase
from ego_adr.procedure.ordering_sentences import Act, read_acts
from ego_adr.procedure.ordering_things import Thing
from ego_adr.procedure.ordering_words import base_verb
from ego_adr.types import Step, StepEdge

__all__ = ["flow_edges"]


def flow_edges(steps: tuple[Step, ...], *, heat_last: bool = True) -> list[StepEdge]:
    """Edges from the flow of things through the steps, in the order given. They always run forward.

    Args:
        heat_last: a pan is heated after what goes into it was made ready.
    """
    reader = _FlowReader(heat_last)
    for step in steps:
        reader.read(step.index, step.text)
    return reader.edges()


class _FlowReader(FlowState):
    """Moves the state on, act by act."""

    def read(self, index: int, text: str) -> None:
        self._step = index
        acts = read_acts(text)
        for act in acts:
            self._times(act)
            self._act(act)
        for act in acts:
            self._verbs[act.verb] = index

    def _times(self, act: Act) -> None:
        for phrase in act.needs:
            verb = base_verb(phrase.head) if phrase.head else None
            if self._things.is_heat(phrase) and verb in self._verbs:
                self._need({self._verbs[verb]}, f"{WORDS}: {phrase.head}")
                continue
            thing = None
            if self._things.is_vessel(phrase):
                thing = self._known_vessel(phrase)
            elif phrase.words:
                thing = self._things.find(phrase, loose=True)
            if thing is not None:
                self._need(
                    thing.joined if thing.inside is not None else thing.root.base, f"{WORDS}: {thing.name}"
                )
        for verb in act.during:
            if verb in self._verbs:
                self._need({self._verbs[verb]}, f"{WORDS}: while {verb}")

    def _act(self, act: Act) -> None:
        self._verb = act.verb
        hot = [p for p in act.things if self._things.is_heat(p)] or (
            act.kind == "move" and [p for _, p in act.places if self._things.is_heat(p)]
        )
        act.things = [p for p in act.things if not self._things.is_heat(p)]
        act.places = [(w, p) for w, p in act.places if not self._things.is_heat(p)]
        act.sources = [p for p in act.sources if not self._things.is_heat(p)]
        tools = [p for p in act.along if self._things.is_tool(p)]
        self._tool = self._things.vessel(tools[0]) if tools else None
        act.along = [
            p for p in act.along if not self._things.is_tool(p) and not (p.everything and not p.words)
        ]
        if hot and not act.things and act.kind in ("move", "cook", "handle", "prepare"):
            act.kind = "cook"
        if (
            act.kind == "add"
            and not act.places
            and not act.along
            and (act.aside or any(self._things.is_vessel(p) for p in act.things))
        ):
            act.kind = "handle"  # "set the mixture aside": nothing is put anywhere else
        self._turn_round(act)
        if act.particle == "in" and act.kind in ("mix", "cook", "prepare") and act.things:
            # "fold in the nuts": they are put in, then all is worked on.
            self._put(act)
            act.kind, act.things = "mix" if act.kind == "prepare" else act.kind, []
        {
            "prepare": self._prepare,
            "add": self._put,
            "cover": self._put,
            "move": self._move,
            "discard": self._discard,
        }.get(act.kind, self._barrier)(act)
        self._use(tools, act)

    def _turn_round(self, act: Act) -> None:
        """ "season the pan with salt" puts salt into the pan; "drizzle with oil" puts oil where we are."""
        if not act.along or act.kind not in ("add", "cover"):
            return
        places = [("over" if act.kind == "cover" else "on", phrase) for phrase in act.things]
        act.places = places + act.places
        act.things, act.along = act.along, []

    def _use(self, tools: list[NounPhrase], act: Act) -> None:
        for phrase in tools:
            tool = self._things.vessel(phrase)
            if act.kind == "move" and not act.places:
                continue  # what is scooped up lies on the tool: `_move` has seen to it
            self._need(tool.root.base, f"{FLOW}: {tool.name}")
            if tool.inside is None:
                tool.added.append(self._step)

    def _prepare(self, act: Act) -> None:
        targets: list[tuple[Thing, NounPhrase]] = []
        if not act.things:
            act.things = [p for _, p in act.places if p.words and not self._things.is_vessel(p)]
        sources = [p for p in act.sources if p.words]
        for phrase in act.things:
            found = self._thing(phrase)
            if found is None and sources:
                continue  # "slice two rounds from a baguette": the baguette is what is cut
            if (
                found is not None
                and found.inside is not None
                and phrase.quantified
                and not self._things.is_surface(found.root)
            ):
                found = found if found.inside.tool else None
            targets.append((found or self._new(phrase), phrase))
        if not targets:
            # "continue slicing with floss": the thing that stands by is what is worked on.
            targets = [(found, p) for p in act.along if (found := self._thing(p)) is not None]
            act.along = [] if targets else act.along
        if not targets or act.verb in ("drain", "extract", "juice", "squeeze"):
            for phrase in sources:
                source = self._thing(phrase) or self._new(phrase)
                targets = [(source, phrase)]
                source.names += [p.words for p in act.things if p.words and p.head not in self._words.raw]
        for phrase in act.means:
            if phrase.words and not self._things.is_tool(phrase):
                targets.append((self._thing(phrase) or self._new(phrase), phrase))
        for thing, phrase in targets:
            for extra in act.along:
                portion = self._portion(extra)
                self._need(portion.ready if portion.inside else portion.frontier, f"{FLOW}: {portion.name}")
                if portion.inside is None and portion is not thing.root:
                    portion.put_into(thing.root, self._step)
            self._work_on(thing)
            self._speak_of(thing, phrase)
            made = [p for p in act.made if p.words] + [
                p for _, p in act.places if p.words and not self._things.is_vessel(p)
            ]
            thing.names += [
                p.words
                for p in made
                if self._things.find(p, loose=False) is None and not self._things.is_tool(p)
            ]
            self._last = thing
            if thing.vessel and not thing.tool:
                self._focus = thing

    def _put(self, act: Act) -> None:
        where = self._place(act)
        if where is None:
            return
        word, place, phrase = where
        if self._things.is_surface(place) and not act.things:
            return
        if not act.things and act.sources:
            self._move(act)
            return
        covers = (act.kind == "cover") or (word == "over" and act.verb in self._words.covers_with_over)
        covers = covers or (phrase is not None and phrase.everything)
        needed = set(place.root.base)
        if place.inside is not None:
            needed |= place.joined
        if place.root.ground is not None and not (phrase is not None and phrase.indefinite):
            needed.add(place.root.ground)
        if place.ground is not None and not (phrase is not None and phrase.indefinite):
            needed.add(place.ground)
        if covers:
            needed |= place.frontier
        self._need(needed, f"{FLOW}: {place.name}")
        first = not place.root.held and not place.root.added
        for source in act.sources:
            if self._things.is_vessel(source):
                self._carry(self._things.vessel(source), place)
        for portion_phrase in act.things:
            self._put_one(portion_phrase, place, act)
        if not act.things and act.kind == "cover":
            self._work_on(place)
        elif covers:
            place.root.base, place.root.added, place.root.ground = {self._step}, [], None
        else:
            place.root.added.append(self._step)
            introduced = phrase is not None and phrase.indefinite
            # The ground of a pan is its heat: what is put in a cold one may change places.
            if (
                first
                and (introduced or self._things.is_plate(place))
                and not self._things.is_cookware(place.root)
            ):
                place.root.ground = self._step
        if not place.tool:
            self._focus = place.root
        self._things.touch(place)

    def _put_one(self, phrase: NounPhrase, place: Thing, act: Act) -> None:
        members = self._things.of_category(phrase) if phrase.everything or phrase.definite else []
        if phrase.everything and phrase.words and not members and self._thing(phrase) is None:
            members = self._things.waiting()
        for member in members:
            self._feed(place, member.frontier, member)
            member.put_into(place.root, self._step)
        if members:
            return
        if phrase.everything and not phrase.words:
            if self._focus is not None and self._focus.root is not place.root:
                self._carry(self._focus, place)
            return
        if phrase.head in self._words.products and self._things.find(phrase, loose=True) is None:
            mixture = self._mixture(place)
            if mixture is not None:
                mixture.call(phrase)
                self._carry(mixture, place)
                return
        thing = self._portion(phrase)
        self._speak_of(thing, phrase)
        if (thing.vessel and phrase.everything) or (thing.vessel and act.verb in ("pour", "ladle", "spoon")):
            self._carry(thing, place)
        elif thing.root is place.root:
            if thing is not place and phrase.definite:
                self._need(thing.joined, f"{FLOW}: {thing.name}")
                thing.joined = {self._step}
        elif thing.inside is not None and (
            len(thing.root.held) == 1 or not (phrase.quantified and thing.ready)
        ):
            # Alone in its vessel it can be taken out again; of a mixture no measured part of it can.
            self._carry(thing.root, place, only=thing)
        else:
            self._feed(place, thing.ready if thing.inside is not None else thing.frontier, thing)
            thing.put_into(place.root, self._step)
            if place is not place.root:
                thing.joined = {self._step}
        self._last = thing

    def _move(self, act: Act) -> None:
        where = self._place(act, instead=False)
        sources = [self._things.vessel(p) for p in act.sources if self._things.is_vessel(p)]
        tool = self._tool if not act.places else None
        things: list[tuple[NounPhrase, Thing | None]] = []
        for phrase in act.things:
            if self._things.is_vessel(phrase):
                sources.append(self._things.vessel(phrase))
            else:
                things.append((phrase, self._thing(phrase)))
        if where is None and act.verb in ("scoop", "spoon", "pick") and act.things and act.kind == "move":
            self._lift(things, sources, tool)
            return
        place = where[1] if where is not None else None
        focus = self._focus
        if place is None:
            for phrase, thing in things:
                if thing is None and focus is not None:
                    focus.root.call(phrase)
            target = next((thing for _, thing in things if thing is not None), None) or focus or self._last
            if target is None:
                return
            self._work_on(target)
            for extra in act.along:
                self._put_one(extra, target.root, act)
            self._last = target
            return
        self._need(
            place.root.base | ({place.root.ground} if place.root.ground is not None else set()),
            f"{FLOW}: {place.name}",
        )
        for source in sources:
            self._carry(source, place)
        for phrase, thing in things:
            if thing is not None and thing.root is not place.root:
                if thing.inside is not None or thing.vessel:
                    self._carry(thing.root, place, only=thing)
                else:
                    self._feed(place, thing.frontier, thing)
                    thing.put_into(place.root, self._step)
            elif thing is None and phrase.quantified:
                self._new(phrase).put_into(place.root, self._step)
            elif thing is None and not sources and focus is not None and focus.root is not place.root:
                focus.root.call(phrase)
                self._carry(focus, place)
        if not sources and not things and focus is not None:
            self._carry(focus, place)
        for extra in act.along:
            self._put_one(extra, place, act)
        if self._things.is_plate(place):
            place.root.ground = self._step
        place.root.added.append(self._step)
        self._focus = place.root
        self._last = place
        self._things.touch(place)

    def _lift(
        self,
        things: list[tuple[NounPhrase, Thing | None]],
        sources: list[Thing],
        tool: Thing | None,
    ) -> None:
        """Something is taken out of a place, and lies on a tool or by itself."""
        for phrase, thing in things:
            one = thing or self._new(phrase)
            self._need(one.frontier, f"{FLOW}: {one.name}")
            root = one.root
            if root.vessel and root is not one:
                root.base, root.added = {self._step}, []
            one.take_out(self._step)
            self._speak_of(one, phrase)
            self._last = one
            # What comes off the fire goes onto a plate, not onto a spoon.
            if tool is not None and not any(source.root.heated for source in sources):
                self._need(tool.frontier, f"{FLOW}: {tool.name}")
                tool.base, tool.added = {self._step}, []
                one.put_into(tool, self._step)

    def _discard(self, act: Act) -> None:
        for phrase in act.things:
            thing = self._thing(phrase)
            spoken = [thing.parts[part] for part in phrase.parts if thing is not None and part in thing.parts]
            if spoken:
                self._need({max(spoken)}, f"{FLOW}: {phrase.parts[-1]}")
            elif thing is not None:
                self._need(thing.frontier | thing.joined, f"{FLOW}: {thing.name}")

    def _barrier(self, act: Act) -> None:
        where = (
            self._place(act, instead=False)
            if act.kind in ("mix", "cook", "wait", "handle") and act.places
            else None
        )
        place = where[1] if where is not None and (where[1].vessel or where[1].inside is not None) else None
        if place is not None and self._things.is_surface(place):
            place = None
        for phrase in act.sources:
            if place is None and self._things.is_vessel(phrase):
                place = self._things.vessel(phrase)
        if place is None and act.kind == "cook" and act.verb not in self._words.off_the_fire:
            place = self._fire(act)
        roots: list[Thing] = []
        for phrase in [*act.things, *act.means]:
            if self._things.is_tool(phrase) and phrase in act.means:
                continue
            thing = self._thing(phrase)
            if thing is None and phrase in act.means:
                continue
            fresh = phrase.quantified or phrase.head in self._words.raw or act.kind == "prepare"
            if (
                thing is not None
                and phrase.quantified
                and thing.inside is not None
                and thing.root is not (place or thing).root
            ):
                thing = None
            here = self._here(act)
            if thing is None and not fresh and not act.sources and here is not None and here.root.held:
                # "flip the pancakes", "whisk the batter": a word for what is in the place at hand.
                thing = here
                if phrase.words:
                    thing.root.call(phrase)
            if thing is None:
                thing = self._new(phrase)
                on_fire = act.kind == "cook" and act.verb not in self._words.off_the_fire
                home = place or (here if on_fire and self._focus and self._focus.root.heated else None)
                if home is not None:
                    thing.put_into(home.root, self._step)
            elif place is not None and thing.root is not place.root and (act.kind in ("mix", "cook")):
                if thing.inside is not None:
                    self._carry(thing.root, place, only=thing)
                else:
                    self._feed(place, thing.frontier, thing)
                    thing.put_into(place.root, self._step)
            self._speak_of(thing, phrase)
            self._last = thing
            roots.append(thing)
        for extra in act.along:
            home = place or (roots[0] if roots else self._here(act))
            if home is not None:
                self._put_one(extra, home, act)
        if place is not None:
            roots.append(place)
        if not roots:
            here = self._here(act)
            if here is None:
                return
            roots = [here]
        need: set[int] = set()
        for thing in roots:
            need |= thing.frontier | thing.joined
        self._need(need, f"{FLOW}: {roots[0].root.name}")
        for thing in roots:
            root = thing.root
            if (
                act.kind == "cook"
                and act.verb in self._words.heating
                and self._things.is_cookware(root)
                and not root.heated
            ):
                self._heats[self._step] = root
            if act.kind == "cook" and self._things.is_cookware(root):
                root.heated = True
            root.base, root.added, root.ground = {self._step}, [], None
            for made in act.made:
                if made.words and self._things.find(made, loose=True) is None and not made.pronoun:
                    root.call(made)
        if not roots[0].root.tool:
            held = roots[0].root
            if (held.vessel or held.held) and not act.aside:
                self._focus = held
        self._things.touch(roots[0].root)
