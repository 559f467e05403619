"""Predictors that look at nothing, on the same rows: what a number must beat before it means something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ego_adr.evaluation.outcomes import Outcome

if TYPE_CHECKING:
    from ego_adr.taxonomies import Taxonomy

__all__ = ["GIVEAWAY_RULES", "blind_predictors"]

#: Giveaway of a row -> id of the label it gives away. A start before second 0 marks a step that was skipped.
GIVEAWAY_RULES = {"negative start": "omission"}


def blind_predictors(outcomes: Sequence[Outcome], taxonomy: Taxonomy) -> list[tuple[str, list[Outcome]]]:
    """Named predictors and their outcomes: every label all the time, and the rules that read a giveaway.

    They answer every row whose truth is known, those too that the model did not.
    """
    outcomes = [outcome for outcome in outcomes if outcome.truth]
    found: list[tuple[str, Callable[[Outcome], str]]] = [
        (f"always {label!r}", _always(label)) for label in taxonomy.names
    ]
    for giveaway, label in GIVEAWAY_RULES.items():
        if not any(giveaway in outcome.giveaways for outcome in outcomes):
            continue
        known = taxonomy.find(label)
        if known is None:
            continue  # a taxonomy of the user's own need not have it
        name = known.name
        rule = _by_giveaway(giveaway, name, taxonomy.correct.name)
        found.append((f"{name!r} when {giveaway}, else {taxonomy.correct.name!r}", rule))
    return [(name, [_answer(outcome, rule(outcome)) for outcome in outcomes]) for name, rule in found]


def _always(label: str) -> Callable[[Outcome], str]:
    return lambda _: label


def _by_giveaway(giveaway: str, label: str, otherwise: str) -> Callable[[Outcome], str]:
    return lambda outcome: label if giveaway in outcome.giveaways else otherwise


def _answer(outcome: Outcome, label: str) -> Outcome:
    return Outcome(
        id=outcome.id,
        truth=outcome.truth,
        status="ok",
        label=label,
        labels=(label,),
        group=outcome.group,
        dataset=outcome.dataset,
        giveaways=outcome.giveaways,
    )
