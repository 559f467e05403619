"""Reads a step's sentence without a model: which verb, which things, where from and where to.

It is no parser of English: it cuts imperatives ("Add 1 tsp salt to the bowl") at verbs and prepositions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ego_adr.procedure.ordering_phrases import NUMBER, NounPhrase, phrases_in, tokens
from ego_adr.procedure.ordering_words import base_verb, reading_words, singular, step_words

__all__ = ["Act", "read_acts"]


@dataclass
class Act:
    """One verb of a step and the things around it, in reading order."""

    verb: str
    kind: str
    things: list[NounPhrase] = field(default_factory=list)
    places: list[tuple[str, NounPhrase]] = field(default_factory=list)
    sources: list[NounPhrase] = field(default_factory=list)
    along: list[NounPhrase] = field(default_factory=list)
    needs: list[NounPhrase] = field(default_factory=list)
    during: list[str] = field(default_factory=list)
    made: list[NounPhrase] = field(default_factory=list)
    means: list[NounPhrase] = field(default_factory=list)
    particle: str = ""
    aside: bool = False


def read_acts(text: str) -> list[Act]:
    """What a step asks for, verb by verb. Remarks in brackets and warnings are passed over."""
    plain = re.sub(r"\([^)]*\)?", " ", step_words(text).casefold())
    plain = re.sub(r"\b(oz|tsp|tbsp|min|sec|lb|approx)\.", r"\1", plain)
    plain = re.sub(r"(?<=\d)-(?=[a-z])", " ", plain)
    plain = re.sub(r"([a-z])[’']s\b", r"\1 's", plain)
    acts: list[Act] = []
    pending_needs: list[NounPhrase] = []
    pending_during: list[str] = []
    for sentence in re.split(r"[.;!](?=\s|$)", plain):
        main, needs, during, made = _clauses(sentence)
        pending_needs += needs
        pending_during += during
        found = _acts_of(main, first=not acts)
        if not found:
            continue
        found[0].needs += pending_needs
        found[0].during += pending_during
        found[-1].made += made
        pending_needs, pending_during = [], []
        acts += found
    return acts


def _opener(words: Sequence[str], at: int, phrases: Sequence[str]) -> int:
    """How many words of the longest phrase stand at this place, 0 for none."""
    best = 0
    for phrase in phrases:
        parts = phrase.split()
        if list(words[at : at + len(parts)]) == parts:
            best = max(best, len(parts))
    return best


def _clauses(sentence: str) -> tuple[list[str], list[NounPhrase], list[str], list[NounPhrase]]:
    """(words of the main clause, things that "when" clauses name, verbs that "while" clauses name, things made)."""
    lists = reading_words()
    words = tokens(sentence)
    main: list[str] = []
    needs: list[NounPhrase] = []
    during: list[str] = []
    made: list[NounPhrase] = []
    i = 0
    while i < len(words):
        opened, kind = 0, ""
        for kind_, phrases in (("when", lists.when), ("during", lists.during), ("ignored", lists.ignored)):
            length = _opener(words, i, phrases)
            if length > opened:
                opened, kind = length, kind_
        if not opened and words[i] == "," and _aside(words, i + 1):
            opened, kind = 1, "ignored"
        # "use a knife to scoop", "allow to cool", "continue to stir": the act itself follows.
        led_by_use = (
            bool(main)
            and main[0] in lists.led_by_to
            and "to" not in main
            and (len(main) == 1 or main[0] not in lists.kind_of)
        )
        purpose = words[i] == "to" and i + 1 < len(words) and not led_by_use and _is_purpose(words, i)
        if not opened and not purpose:
            main.append(words[i])
            i += 1
            continue
        begin = i + (opened or 1)
        end = begin
        while end < len(words) and not _clause_ends(words, end):
            if purpose and end > begin and words[end] in lists.into:
                break  # "to release the cake | onto a plate": the place belongs to the act
            end += 1
        inside = [word for word in words[begin:end] if word not in ";."]
        if purpose and inside:
            (made if inside[0] in lists.purpose_makers else needs).extend(phrases_in(inside[1:]))
        elif kind == "when":
            needs += _subjects(inside)
        elif kind == "during":
            during += [verb for word in inside if (verb := base_verb(word)) is not None]
            needs += [] if during else _subjects(inside)
        elif words[i] == "until":
            made += _subjects(inside)
        i = max(end, begin)
    return main, needs, during, made


def _aside(words: Sequence[str], at: int) -> bool:
    """ ", stirring often" and ", often stirring": told beside the act, no act of their own."""
    lists = reading_words()
    return any(
        word.endswith("ing") and base_verb(word) is not None and word not in lists.ing_nouns
        for word in words[at : at + 2]
    )


def _subjects(words: Sequence[str]) -> list[NounPhrase]:
    """What a clause is about: the things before its verb ("the pan is hot": the pan)."""
    lists = reading_words()
    upto = next((i for i, word in enumerate(words) if word in lists.auxiliaries or _finite(word)), len(words))
    return phrases_in(words[:upto])


def _finite(word: str) -> bool:
    base = base_verb(word)
    return base is not None and base not in reading_words().vessels and word not in (base, base + "ing")


def _is_purpose(words: Sequence[str], at: int) -> bool:
    """Whether "to" opens a purpose ("to wet the grounds"), not a place ("to the bowl", "to low heat", "to plate")."""
    lists = reading_words()
    word = words[at + 1]
    following = words[at + 2] if at + 2 < len(words) else ""
    if word in lists.determiners or word in lists.indefinite or NUMBER.match(word) or word in lists.vessels:
        return False
    if word in lists.purpose_makers or word in lists.purposes:
        return True
    if base_verb(word) == word:
        return (
            following not in lists.prepositions
            and following not in ("and", ",")
            and word not in lists.heat_words
        )
    return following in lists.determiners and word not in lists.prepositions and not word.endswith("ly")


def _clause_ends(words: Sequence[str], at: int) -> bool:
    if words[at] in (",", ";", "."):
        after = at + 1
        if after < len(words) and words[after] in ("and", "then"):
            after += 1
        return after < len(words) and (
            words[after] == "then" or base_verb(words[after]) == words[after] or words[after].endswith("ly")
        )
    if words[at] == "and":
        return (
            at + 2 < len(words) and base_verb(words[at + 1]) == words[at + 1] and _opens_object(words[at + 2])
        )
    return False


def _opens_object(word: str) -> bool:
    lists = reading_words()
    return (
        word in lists.determiners
        or word in lists.indefinite
        or word in lists.pronouns
        or bool(NUMBER.match(word))
        or word in ("with", "to")
    )


def _acts_of(words: Sequence[str], *, first: bool) -> list[Act]:
    """Cut the main clause at its verbs."""
    lists = reading_words()
    found: list[tuple[list[str], list[str]]] = []  # verbs, the words that follow
    lead: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        verb = base_verb(word) if (word in lists.kind_of or word.endswith("ing")) else None
        begins = verb is not None and _begins_act(words, i, bool(found))
        if begins and verb in ("continue", "keep", "stop", "use", "begin", "start") and i + 1 < len(words):
            later = next(
                (k for k in range(i + 1, min(i + 3, len(words))) if words[k] != "to" and base_verb(words[k])),
                None,
            )
            if later is not None:
                i = later
                verb = base_verb(words[later])
        if begins and verb is not None:
            if found and not found[-1][1]:
                found[-1][0].append(verb)
            else:
                found.append(([verb], []))
        elif found:
            if found[-1][1] or word not in ("and", "or", ","):
                found[-1][1].append(word)
        else:
            lead.append(word)
        i += 1
    if not found:
        return _verbless(lead, first)
    acts: list[Act] = []
    for n, (verbs, rest) in enumerate(found):
        while rest and rest[-1] in ("and", "then", ",", "or"):
            rest.pop()
        if n == 0 and lead and (lead[0] in lists.no_act and lead[0] != "use"):
            return acts
        acts += [_act(verb, (lead if n == 0 else []), rest) for verb in verbs]
    return acts


def _begins_act(words: Sequence[str], at: int, inside: bool) -> bool:
    """Whether the verb form here opens an act, rather than naming a thing ("the cut tomatoes", "a puree")."""
    lists = reading_words()
    word = words[at]
    before = next((words[k] for k in range(at - 1, -1, -1) if not words[k].endswith("ly")), "")
    if before in lists.determiners or before in lists.indefinite or NUMBER.match(before or "x"):
        return False
    if not inside:
        lead_is_free = at == 0 or before in (",", "then", "and", "or", "by", "to") or all(
            w.endswith("ly") or w in ("then", "also", "now", "next", "finally", "use") for w in words[:at]
        )  # fmt: skip
        return lead_is_free or _led_by_use(words, at)
    if word.endswith("ing") and before in (",", "and"):
        return False
    if before not in ("and", "then", ",", "or"):
        return False
    following = words[at + 1] if at + 1 < len(words) else ""
    if before == "," and at >= 2 and following not in lists.determiners and following not in ("it", "them"):
        return False
    return (
        not following
        or _opens_object(following)
        or following in ("into", "in", "on", "onto", "well", "thoroughly", ",", "and", "or", "from")
        or (at >= 2 and base_verb(words[at - 2]) is not None and words[at - 2] in lists.kind_of)
    )


def _led_by_use(words: Sequence[str], at: int) -> bool:
    return bool(words) and words[0] == "use" and words[at - 1] == "to"


def _verbless(words: list[str], first: bool) -> list[Act]:
    """An imperative whose verb is not in the table: its first word is taken for a verb that handles a thing."""
    lists = reading_words()
    content = [word for word in words if not word.endswith("ly")]
    if not first or len(content) < 2 or content[0] in lists.no_act or content[0] in lists.prepositions:
        return []
    puts = any(word in ("into", "onto", "in", "on", "to", "inside") for word in content)
    act = _act(content[0], [], content[1:])
    act.kind = "add" if puts else "handle"
    return [act]


def _act(verb: str, lead: Sequence[str], rest: Sequence[str]) -> Act:
    lists = reading_words()
    act = Act(verb, lists.kind_of.get(verb, "handle"))
    rest = list(rest)
    if act.kind == "wait" and verb in ("let", "allow", "leave"):
        # "let the noodles sit", "allow to cool": what is let happen is the act.
        at = next(
            (
                i
                for i, word in enumerate(rest)
                if base_verb(word) == word and (i or len(rest) == 1 or word != rest[0])
            ),
            None,
        )
        if at is not None:
            act.verb = rest[at]
            rest = [word for word in rest[:at] if word != "to"] + rest[at + 1 :]
    act.aside = any(word in ("aside", "apart", "away") for word in rest)
    if lead[:1] == ["use"]:
        act.along += phrases_in([w for w in lead[1:] if w != "to"])
    else:
        _segments(act, [w for w in lead if w != ","])
    if (
        rest
        and rest[0] in ("in", "on", "off", "out", "up", "down", "over")
        and len(rest) > 1
        and _opens_particle(act.kind, rest)
    ):
        act.particle = rest.pop(0)
    _segments(act, rest)
    return act


def _opens_particle(kind: str, rest: Sequence[str]) -> bool:
    """ "mix in the packet", "turn on the heat", "pull out the stems": no place follows, or another one does."""
    if rest[0] in ("out", "up", "down", "off", "over"):
        return True
    lists = reading_words()
    later = rest[1:]
    if rest[0] == "in" and kind in ("mix", "prepare", "add"):
        # "fold in the nuts", but not "whisk in the mug, ..." or "cut in half".
        named = next(
            (i for i, word in enumerate(later) if word in lists.prepositions or word == ","), len(later)
        )
        last = singular(later[named - 1]) if named else ""
        if last and last not in lists.vessels | lists.appliances | lists.parts:
            return True
    return rest[0] in ("in", "on") and (
        any(w in ("to", "into", "onto") for w in later)
        or later[-1] in lists.heat_words
        or (len(later) <= 3 and rest[0] == "on")
    )


def _segments(act: Act, words: Sequence[str]) -> None:
    """Sort the words round a verb into things, places, sources and company, at the prepositions."""
    lists = reading_words()
    preposition, chunk = "", list[str]()
    pieces: list[tuple[str, list[str]]] = []
    k = 0
    while k < len(words):
        word = words[k]
        if words[k : k + 3] == ["on", "top", "of"]:
            pieces.append((preposition, chunk))
            preposition, chunk = "on", []
            k += 3
            continue
        if word in lists.prepositions and word != "of":
            pieces.append((preposition, chunk))
            preposition, chunk = word, []
        elif word in lists.by:
            pieces.append((preposition, chunk))
            preposition, chunk = "by", []
        else:
            chunk.append(word)
        k += 1
    pieces.append((preposition, chunk))
    pieces = [part for piece in pieces for part in _forgotten_to(*piece)]
    means = False
    for preposition, chunk in pieces:
        means = means or preposition == "by"
        if not chunk:
            continue
        if means and preposition == "by" and chunk[0].endswith("ing"):
            chunk = chunk[1:]
        found = phrases_in(chunk)
        if means:
            # "by folding the filter in half": what is named is acted upon, where is no matter.
            act.means += found if preposition == "by" else []
        elif preposition == "":
            act.things += found
        elif preposition in ("from", "off", "out"):
            act.sources += found
        elif preposition == "with":
            act.along += found
        elif preposition in lists.into:
            act.places += [(preposition, phrase) for phrase in found]


def _forgotten_to(preposition: str, chunk: list[str]) -> list[tuple[str, list[str]]]:
    """ "add 1 cup water the bowl" lacks its "to": a vessel that follows a thing is a place."""
    lists = reading_words()
    at = next(
        (i for i in range(1, len(chunk)) if chunk[i] in ("the", "a", "an") and chunk[i - 1].isalpha()), None
    )
    if (
        preposition
        or at is None
        or chunk[at - 1] in ("of", "all", "and", "or", "both", "half")
        or chunk[at - 1] in lists.adjectives
    ):
        return [(preposition, chunk)]
    return (
        [(preposition, chunk[:at]), ("to", chunk[at:])]
        if singular(chunk[-1]) in lists.vessels
        else [(preposition, chunk)]
    )
