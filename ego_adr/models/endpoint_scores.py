"""Likelihoods of a closed list of answers from the token alternatives that a chat server sends.

A chat server gives, for each token it said, its most likely alternatives. Where the answers part (their first
different letters), the alternatives say how likely each branch was. What is computed is the probability of each
answer given that one of them is said: at every parting the listed mass is shared out among the branches, and the
logarithms are summed along the answer. A branch that was not taken and holds several answers is left open; the
caller asks again with these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ego_adr.types import ChoiceScore

__all__ = ["OpenBranch", "Scores", "Token", "score_choices"]


@dataclass(frozen=True)
class Token:
    """One token of a reply: its text, its natural log-probability, and alternatives (text, log-probability)."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class OpenBranch:
    """Answers that part later on, where the reply did not go, with the score of the branch itself."""

    choices: tuple[str, ...]
    logprob: float
    partings: int


@dataclass
class Scores:
    """What is known of each answer so far.

    Attributes:
        known: answer -> its score; ``tokens`` counts the partings the sum runs over.
        open: branches that have to be asked for.
        bounded: answers whose branch was not among the listed alternatives: their score is an upper bound.
    """

    known: dict[str, ChoiceScore] = field(default_factory=dict)
    open: list[OpenBranch] = field(default_factory=list)
    bounded: set[str] = field(default_factory=set)


def score_choices(
    choices: Sequence[str],
    tokens: Sequence[Token],
    *,
    lead: int = 0,
    fold: bool = False,
) -> Scores | None:
    """Score answers along a reply that is one of them.

    Args:
        choices: the closed list, each of them once.
        tokens: of the reply, joined they are its text.
        lead: where in the text the answer begins (blanks, or the JSON before it).
        fold: compare without case (for replies that were not held to the list).

    Returns:
        None when the tokens do not lead to one of the answers, or end where answers still part.
    """
    same: Callable[[str], str] = str.casefold if fold else str
    opening = "".join(token.text for token in tokens)[:lead]
    stems = {choice: same(opening + choice) for choice in choices}
    alive = list(choices)
    scores = Scores()
    said, total, partings = "", 0.0, 0
    for token in tokens:
        if len(alive) == 1:
            break
        masses, listed = _masses(same(said), token, alive, stems, same)
        said += token.text
        groups: dict[frozenset[str], list[str]] = {}
        for choice in alive:
            groups.setdefault(frozenset(masses[choice]), []).append(choice)
        if len(groups) == 1:
            if not next(iter(groups)):
                return None  # the reply went another way than any of the answers
            continue
        taken = next((members for members in groups.values() if same(token.text) in masses[members[0]]), None)
        if taken is None:
            return None
        shares = _shares(groups, listed)
        partings += 1
        for key, members in groups.items():
            value = total + shares[key]
            if not key:
                scores.bounded.update(members)
            if members is taken:
                continue
            if len(members) == 1:
                scores.known[members[0]] = ChoiceScore(choice=members[0], logprob=value, tokens=partings)
            else:
                scores.open.append(OpenBranch(tuple(members), value, partings))
        total += shares[frozenset(masses[taken[0]])]
        alive = taken
    if len(alive) != 1 or not _said(tokens, stems[alive[0]], same):
        return None
    scores.known[alive[0]] = ChoiceScore(choice=alive[0], logprob=total, tokens=max(partings, 1))
    return scores


def _said(tokens: Sequence[Token], stem: str, same: Callable[[str], str]) -> bool:
    """Whether the reply truly is the answer that was left over."""
    return same("".join(token.text for token in tokens)).startswith(stem)


def _masses(
    said: str, token: Token, alive: Sequence[str], stems: dict[str, str], same: Callable[[str], str]
) -> tuple[dict[str, set[str]], dict[str, float]]:
    """Which of the listed continuations each living answer agrees with, and the probability of each."""
    listed: dict[str, float] = {}
    alternatives = dict(token.alternatives)
    alternatives[token.text] = token.logprob
    for text, logprob in alternatives.items():
        if math.isfinite(logprob):
            listed[same(text)] = listed.get(same(text), 0.0) + math.exp(min(logprob, 0.0))
    found: dict[str, set[str]] = {}
    for choice in alive:
        stem = stems[choice]
        longer = [s for other, s in stems.items() if other in alive and s != stem and s.startswith(stem)]
        agreeing: set[str] = set()
        for text in listed:
            after = said + text
            if not text and said != stem:
                continue
            if stem.startswith(after) and after != said:
                agreeing.add(text)
            elif after.startswith(stem) and not any(
                s.startswith(after) or after.startswith(s) for s in longer
            ):
                agreeing.add(text)  # the answer has ended, and none that goes on from it agrees
        found[choice] = agreeing
    return found, listed


def _shares(groups: dict[frozenset[str], list[str]], listed: dict[str, float]) -> dict[frozenset[str], float]:
    """The logarithm of each branch's share. What several branches agree with is shared out by their own mass."""
    owners = {text: [key for key in groups if text in key] for text in set().union(*groups)}
    own = {key: sum(listed[text] for text in key if len(owners[text]) == 1) for key in groups}
    mass = dict(own)
    for text, keys in owners.items():
        if len(keys) > 1:
            known = sum(own[key] for key in keys)
            for key in keys:
                mass[key] += listed[text] * (own[key] / known if known else 1 / len(keys))
    floor = min((value for value in listed.values() if value > 0), default=1e-12)
    # a branch that is not listed is at most as likely as the least likely alternative that is
    mass = {key: value if value > 0 else floor for key, value in mass.items()}
    whole = sum(mass.values())
    return {key: math.log(value / whole) for key, value in mass.items()}
