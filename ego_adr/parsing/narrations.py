"""The shallow route's last stage: error-specific vocabularies over a narration (papers/002, section 5.2)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ego_adr.parsing.cleaning import plain
from ego_adr.parsing.mentions import sentences
from ego_adr.parsing.names import names_of, unique
from ego_adr.parsing.reading import KeywordVerdict
from ego_adr.parsing.scopes import scopes
from ego_adr.taxonomies import Label, Taxonomy, default_taxonomy
from ego_adr.vocabularies import english

__all__ = ["classify_narration"]


def classify_narration(text: str, taxonomy: Taxonomy | None = None) -> KeywordVerdict:
    """Which errors a narration speaks of, by the phrases of the taxonomy.

    A phrase that is denied ("nothing spills", "without dropping it"), only supposed ("so that it does not
    break") or asked does not count. A mistake with a repair behind it is the label that holds the repairs. Where
    nothing is found the label is the one for a step done right: a narration that tells of nothing amiss is all
    that the method has to go by. An empty narration is no narration and gives no label.

    Args:
        text: what was seen, in plain English.
        taxonomy: whose vocabularies; None takes those of the package.
    """
    labels = taxonomy or default_taxonomy()
    narration = plain(text)
    if not re.search(r"[^\W_]", narration):
        return KeywordVerdict(status="unparsed", label=None, reason="empty")
    findings = _findings(narration, labels)
    repaired = _repair(narration, labels, findings)
    if repaired is not None:
        findings = [f for f in findings if f.label.id == repaired.label.id or not f.label.repairable] + [
            repaired
        ]
    if not findings:
        return KeywordVerdict(label=labels.correct.name, labels=(labels.correct.name,))
    rank = {label.id: place for place, label in enumerate(_by_priority(labels))}
    findings.sort(key=lambda f: (rank[f.label.id], f.start))
    found = unique(finding.label for finding in findings)
    return KeywordVerdict(
        label=found[0].name,
        labels=tuple(label.name for label in found),
        evidence=tuple(dict.fromkeys(finding.words for finding in findings)),
    )


@dataclass(frozen=True)
class _Finding:
    label: Label
    start: int
    end: int
    words: str


def _by_priority(taxonomy: Taxonomy) -> list[Label]:
    known = {label.id: label for label in taxonomy.labels}
    first = [known[name] for name in taxonomy.narration_priority]
    return [*first, *(label for label in taxonomy.labels if label.id not in taxonomy.narration_priority)]


def _findings(narration: str, taxonomy: Taxonomy) -> list[_Finding]:
    """Every phrase of a vocabulary, and every label's own name, that the narration states."""
    names = names_of(taxonomy)
    found: list[_Finding] = []
    for sentence in sentences(narration):
        if sentence.asks:
            continue
        spans = [
            (match.start(), match.end(), label)
            for label in taxonomy.labels
            for phrase in label.vocabulary
            for match in phrase.finditer(sentence.text)
        ]
        spans += [(m.start(), m.end(), names.owner(m.group())) for m in names.in_prose(sentence.text)]
        found += [
            _Finding(label, sentence.start + start, sentence.start + end, sentence.text[start:end].strip())
            for start, end, label in spans
            if label.is_error and _stated(sentence.text, start, end)
        ]
    return found


def _stated(sentence: str, start: int, end: int) -> bool:
    reach = scopes()
    if reach.denied(sentence, start, end) or reach.unreal(sentence, start):
        return False
    return not _assured(sentence, start, end)


def _assured(sentence: str, start: int, end: int) -> bool:
    """Whether the clause says that this is as it was asked for ("upside down, as the recipe says")."""
    stop = re.search(r"[.;!?]", sentence[end:])
    clause = sentence[start : end + stop.start() if stop else len(sentence)]
    return _as_told().search(clause) is not None


@functools.lru_cache(maxsize=1)
def _as_told() -> re.Pattern[str]:
    return re.compile(english().pattern("as-told"), re.IGNORECASE)


def _repair(narration: str, taxonomy: Taxonomy, findings: list[_Finding]) -> _Finding | None:
    """The first repair that stands behind a mistake which can be repaired, as a finding of the repair's label."""
    mistakes = [f for f in findings if f.label.repairable and not f.label.repairs]
    if not mistakes:
        return None
    for sentence in sentences(narration):
        for label in taxonomy.labels:
            for phrase in label.repairs:
                for match in phrase.finditer(sentence.text):
                    start, end = sentence.start + match.start(), sentence.start + match.end()
                    behind = any(end > m.end for m in mistakes)
                    if behind and _stated(sentence.text, match.start(), match.end()):
                        return _Finding(label, start, end, match.group().strip())
    return None
