"""The things of a procedure while its steps are read: what they are called, what they are in, who touched them last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ego_adr.procedure.ordering_phrases import NounPhrase
from ego_adr.procedure.ordering_words import ReadingWords, reading_words

__all__ = ["Thing", "Things"]


@dataclass(eq=False)
class Thing:
    """An ingredient, a vessel or a tool.

    Attributes:
        names: what it was called, each a tuple of nouns, the head last.
        vessel: it holds other things. tool: it only helps.
        inside: the thing it was put in or on; None for one that stands by itself.
        base: the steps that everything later rests on (the last that worked on all of it).
        added: the steps that put something in since then; among themselves they may change places.
        joined: the steps that put this thing where it is.
        ready: what had to be done before it was put there.
        ground: the step that first put something in, when that makes it the ground for the rest.
        parts: words for its parts and forms -> the step that last spoke of them.
        marks: adjectives that tell it from other vessels.
        heated: it is, or was, on the fire.
    """

    names: list[tuple[str, ...]]
    vessel: bool = False
    tool: bool = False
    inside: Thing | None = None
    base: set[int] = field(default_factory=set)
    added: list[int] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)
    ready: set[int] = field(default_factory=set)
    ground: int | None = None
    parts: dict[str, int] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    heated: bool = False
    held: list[Thing] = field(default_factory=list)

    @property
    def root(self) -> Thing:
        """The outermost thing it is in."""
        thing = self
        while thing.inside is not None:
            thing = thing.inside
        return thing

    @property
    def frontier(self) -> set[int]:
        """The steps that have to be done before all of this is touched again."""
        root = self.root
        return root.base | set(root.added)

    @property
    def name(self) -> str:
        return " ".join(self.names[0]) if self.names and self.names[0] else "dish"

    def call(self, phrase: NounPhrase) -> None:
        """One more name for it."""
        if phrase.words not in self.names:
            self.names.append(phrase.words)

    def put_into(self, place: Thing, step: int) -> None:
        """Lies in the place from this step on."""
        if place.root is self:
            return  # a bowl is not put into what lies in it
        self.ready = self.frontier if self.inside is None else set(self.ready)
        if self.inside is not None and self in self.inside.held:
            self.inside.held.remove(self)
        self.inside = place
        place.held.append(self)
        self.joined = {step}

    def take_out(self, step: int) -> None:
        """Stands by itself from this step on."""
        if self.inside is not None and self in self.inside.held:
            self.inside.held.remove(self)
        self.inside = None
        self.base, self.added = {step}, []


class Things:
    """All things seen so far, the most recently touched last."""

    def __init__(self) -> None:
        self.words: ReadingWords = reading_words()
        self.all: list[Thing] = []

    def touch(self, thing: Thing) -> None:
        """Makes it the most recent."""
        if thing in self.all:
            self.all.remove(thing)
        self.all.append(thing)

    def new(self, phrase: NounPhrase, *, vessel: bool = False, tool: bool = False) -> Thing:
        """A thing not seen before."""
        thing = Thing([phrase.words], vessel=vessel, tool=tool, marks=phrase.marks)
        self.all.append(thing)
        return thing

    def is_vessel(self, phrase: NounPhrase) -> bool:
        return phrase.head in self.words.vessels

    def is_tool(self, phrase: NounPhrase) -> bool:
        return phrase.head in self.words.tools

    def is_heat(self, phrase: NounPhrase) -> bool:
        """The heat itself, or an appliance: nothing is in it for long."""
        return phrase.head in self.words.heat_words or phrase.head in self.words.appliances

    def is_cookware(self, thing: Thing) -> bool:
        return any(name and name[-1] in self.words.heated_vessels for name in thing.names)

    def is_plate(self, thing: Thing) -> bool:
        return any(name and name[-1] in self.words.plates for name in thing.names)

    def is_surface(self, thing: Thing) -> bool:
        return any(name and name[-1] in self.words.surfaces for name in thing.names)

    def vessel(self, phrase: NounPhrase) -> Thing:
        """The vessel (or tool) a phrase names; a new one when it names another than those seen."""
        known = [thing for thing in reversed(self.all) if self._same_vessel(thing, phrase)]
        exact = [
            t for t in known if phrase.words in t.names and (t.marks == phrase.marks or not phrase.marks)
        ]
        # "a small bowl" after "the mixing bowl" is another one; "the bowl" is the one last touched.
        another = (
            phrase.indefinite and (phrase.marks or len(phrase.words) > 1)
        ) or phrase.marks & self.words.separate
        if another:
            same = [t for t in known if phrase.words in t.names and t.marks == phrase.marks]
            if same and not phrase.marks & self.words.separate:
                return same[0]
        elif exact or known:
            marked = [t for t in known if phrase.marks and t.marks == phrase.marks]
            return (marked or exact or known)[0] if phrase.marks else known[0]
        elif not phrase.quantified and not phrase.indefinite:
            # "the pan" after "a large skillet": another word for a vessel of the same family.
            for family in (self.words.heated_vessels, self.words.plates):
                if phrase.head in family:
                    kin = [
                        t
                        for t in reversed(self.all)
                        if t.vessel and any(n and n[-1] in family for n in t.names)
                    ]
                    if kin and not (phrase.marks - kin[0].marks):
                        return kin[0]
        return self.new(phrase, vessel=True, tool=self.is_tool(phrase))

    def _same_vessel(self, thing: Thing, phrase: NounPhrase) -> bool:
        if not thing.vessel or self._other_colour(thing, phrase):
            return False
        return any(name and name[-1] in phrase.words for name in thing.names)

    def find(self, phrase: NounPhrase, *, loose: bool) -> Thing | None:
        """The thing a phrase names, None when it is none of those seen.

        The same nouns come first; then a name that holds the other and shares its head ("sauce", "soy sauce").
        ``loose`` also takes what is made of a thing for the thing ("tofu cubes", "tomato puree", "coffee").
        """
        if not phrase.words:
            return self._by_part(phrase.parts)
        said = set(phrase.words)
        near: Thing | None = None
        far: Thing | None = None
        for thing in reversed(self.all):
            for name in thing.names:
                if not name or self._other_colour(thing, phrase):
                    continue
                if name == phrase.words:
                    return thing
                called = set(name)
                if name[-1] == phrase.head and (called <= said or said <= called):
                    near = near or thing
                elif (called <= said and (loose or phrase.head in self.words.products)) or (
                    loose and (said <= called or (name[-1] in said and name[-1] != phrase.head))
                ):
                    far = far or thing
        return near or far

    def _other_colour(self, thing: Thing, phrase: NounPhrase) -> bool:
        """Whether both have a colour, and not the same."""
        colours = self.words.colours
        return bool(
            thing.marks & colours and phrase.marks & colours and not thing.marks & phrase.marks & colours
        )

    def _by_part(self, parts: Iterable[str]) -> Thing | None:
        wanted = set(parts)
        for thing in reversed(self.all):
            if wanted & thing.parts.keys():
                return thing
        return None

    def of_category(self, phrase: NounPhrase) -> list[Thing]:
        """Things of a kind ("all the vegetables") that stand ready and have not been put anywhere."""
        members = self.words.categories.get(phrase.head)
        if members is None:
            return []
        return [
            thing for thing in self.all
            if thing.inside is None and not thing.vessel and thing.base and any(set(name) & members for name in thing.names)
        ]  # fmt: skip

    def waiting(self) -> list[Thing]:
        """Things that were made ready and have not been put anywhere."""
        return [t for t in self.all if t.inside is None and not t.vessel and t.base]
