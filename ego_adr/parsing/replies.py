"""A model's reply to a question over the labels, read: `parse_label`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ego_adr.parsing.cleaning import plain, without_thinking
from ego_adr.parsing.mentions import Sentence, Speech, longest_first, sentences
from ego_adr.parsing.names import Names, names_of, unique
from ego_adr.parsing.options import Lists, find_lists, numbers_of
from ego_adr.parsing.reading import Claim, Parsed, Reason, Unparsed
from ego_adr.parsing.scopes import scopes
from ego_adr.parsing.structured import Structured, read_structured
from ego_adr.taxonomies import Label, Taxonomy, default_taxonomy
from ego_adr.vocabularies import English, english

__all__ = ["is_refusal", "parse_label"]

_CUT = ("length", "max_tokens", "model_length", "token_limit", "MAX_TOKENS")
_WITHHELD = ("content_filter", "refusal", "safety", "SAFETY")
_MARKS = r"[\s\"'(\[{<>#*_|:=.,!\-–—→✅❌✓✔]*"
_BARE_NUMBER = re.compile(
    r"[\s\"'(\[#]*(?P<n>\d{1,2}|[A-Za-i])[\s\"')\].:]*(?=$|[.,;)]|\s[-–—(]|\s(?:and|because|since|as)\b)"
)
_SEPARATOR = re.compile(
    r"[\"')\]]*\s*(?:$|[:.,;!(\n\"]|[-–—→]+(?:\s|$)|(?:because|since|as)\b|[^\x00-\u024F])", re.IGNORECASE
)
_HEADING = 3
"""Words that a heading has at most."""
_LOOPS, _LONGEST = 8, 600
"""Announcements of one sentence that are tried, and characters behind each: a bound on replies that loop."""
_PLACE = "\ue000"
_NO = re.compile(r"\s*(?:no|none|nope)\b", re.IGNORECASE)
_YES = re.compile(r"\s*(?:yes|yeah|right|correct|true)\b", re.IGNORECASE)


def parse_label(
    text: str,
    taxonomy: Taxonomy | None = None,
    *,
    finish_reason: str = "stop",
    options: Sequence[str] | None = None,
) -> Parsed | Unparsed:
    """Read the verdict of a reply.

    The last verdict that the reply commits to counts: fields, tags and "Answer:" go before a label that opens a
    line, and that before a label in running text. What is denied, supposed, asked, explained or only listed is no
    verdict, nor is anything inside the model's thinking.

    Args:
        text: the reply, word for word.
        taxonomy: whose labels; None takes the nine of the package.
        finish_reason: ``length`` when the reply was cut at its token limit; then only what stood complete before
            the cut counts.
        options: the labels in the order in which the prompt numbered them. Bare numbers and letters are read
            only with it, or where the reply itself repeats the numbered list.

    Returns:
        `Parsed`, or `Unparsed` with its reason.
    """
    labels = taxonomy or default_taxonomy()
    cut = finish_reason in _CUT
    if finish_reason in _WITHHELD:
        return Unparsed(reason="refusal", evidence=(finish_reason,))
    answer = without_thinking(text)
    if answer is None:
        return Unparsed(reason="truncated")
    if not plain(answer).strip():
        return Unparsed(reason="truncated" if cut else "empty")
    return _Reader(labels, numbers_of(options, labels) if options else {}).read(answer, cut=cut)


def is_refusal(text: str) -> bool:
    """Whether a text does not do what was asked but says that its writer cannot or will not.

    A narration that also tells what is seen is none, whatever it cannot make out: the first sentence must refuse,
    and at least half of all sentences must.
    """
    said = [sentence.text for sentence in sentences(plain(text))]
    if not said or _language().refusals.search(said[0]) is None:
        return False
    return 2 * sum(_refusal(sentence) is not None for sentence in said) >= len(said)


def _refusal(text: str) -> str | None:
    words = _language()
    match = words.refusals.search(text) or words.doubts.search(text)
    return match.group() if match else None


class _Language:
    """The lists of the language that replies need, compiled."""

    def __init__(self, language: English) -> None:
        foreign = language.names
        self.refusals = _compiled(language.pattern("refusals"), *map(re.escape, foreign["foreign-refusals"]))
        self.doubts = _compiled(language.pattern("doubts"))

        marks = r"\s*(?:[:=：]|-(?=\s)|(?=[\"'(\[]))\s*"
        self.markers = _compiled(
            language.pattern("answer-markers"),
            language.pattern("error-markers"),
            rf"(?<![^\W\d_A-Za-z])(?:{longest_first(foreign['foreign-markers'])}){marks}",
            rf"(?:{longest_first(name for name in foreign['foreign-markers'] if not name.isascii())})",
        )
        self.error_markers = _compiled(language.pattern("error-markers"))
        self.error_questions = _compiled(language.pattern("error-questions"))
        self.conclusions = _compiled(language.pattern("conclusions"))
        self.corrections = _compiled(language.pattern("corrections"))
        self.leading_to = _compiled(language.pattern("leading-to"))
        self.lesser = _compiled(language.pattern("lesser"))
        self.additions = re.compile(rf"\W*(?:\w+\W+){{0,3}}?{language.pattern('additions')}", re.IGNORECASE)
        self.none = re.compile(rf"{_MARKS}{language.pattern('none-words')}\s*(?=[.,;)\n]|$)", re.IGNORECASE)
        self.numbered = re.compile(
            rf"{_MARKS}(?:the\s+)?(?:{language.pattern('numbered')}[\s:#.]*)*(?P<n>\d{{1,2}}|[A-Z]|[a-i](?=[\"')\].]*\s*$))"
            r"(?=[\"')\].:,;]*(?:\s|$))(?!\s+[a-z]+\s+(?!and\b|because\b))",
        )
        self.chosen = re.compile(
            rf"{language.pattern('numbered')}[\s:#.]*[\"'(\[]*(?P<n>\d{{1,2}}|[A-Za-z])[\"')\]]*\s*{language.pattern('chosen-after')}",
            re.IGNORECASE,
        )


@functools.lru_cache(maxsize=1)
def _language() -> _Language:
    return _Language(english())


class _Reader:
    def __init__(self, taxonomy: Taxonomy, given: Mapping[str, Label]) -> None:
        self._taxonomy = taxonomy
        self._given = given
        self._names: Names = names_of(taxonomy)
        self._speech = Speech(self._names, english(), scopes("reply-negators"))
        self._words = _language()

    def read(self, answer: str, *, cut: bool) -> Parsed | Unparsed:
        """The verdict of a reply without its thinking."""
        # numbers of an echoed list are needed before the fields that may hold one
        lists = find_lists(plain(answer), self._names, given=self._given)
        fields = read_structured(plain(answer, markdown=False), self._names, lists.by_number, self._sentence)
        text, placed = _prose_with_places(fields)
        lists = find_lists(text, self._names, given=self._given)
        claims = [*placed, *lists.claims, *self._prose(lists.rest, lists.by_number)]
        best = self._last(claims, cut=cut)
        if best is not None and best.labels:
            return Parsed(
                label=best.labels[0].name,
                labels=tuple(label.name for label in best.labels),
                evidence=(best.words,),
            )
        return self._why(best, lists, fields, cut=cut)

    def _last(self, claims: Sequence[Claim], *, cut: bool) -> Claim | None:
        firm = max((claim.firm for claim in claims), default=0)
        if cut and firm < 2:
            return None
        held = [claim for claim in claims if claim.firm == firm and not (cut and claim.open)]
        return max(held, key=lambda claim: claim.at, default=None)

    def _why(self, best: Claim | None, lists: Lists, fields: Structured, *, cut: bool) -> Unparsed:
        text = lists.rest
        refused = _refusal(text)
        reason: Reason
        evidence: tuple[str, ...] = ()
        if best is not None and not best.labels:
            reason, evidence = "contradictory", (best.words,)
        elif refused is not None:
            reason, evidence = "refusal", (refused,)
        elif cut or fields.cut or self._stops_short(text):
            reason = "truncated"
        elif lists.echoed or fields.echoed:
            reason = "all options listed"
        elif undecided := [s.text.strip() for s in sentences(text) if self._speech.commits(s.text).undecided]:
            reason, evidence = "not committed", tuple(undecided[-1:])
        else:
            reason = "no label found"
        return Unparsed(reason=reason, evidence=evidence)

    def _stops_short(self, text: str) -> bool:
        """The text ends at an announcement, or inside a name that it announces."""
        ends = [match.end() for match in self._words.markers.finditer(text)]
        if not ends:
            return False
        rest = text[ends[-1] :].strip(" \n:*_\"'")
        return not rest or (not re.search(r"[.!?\n]", rest) and self._names.starts_a_longer_name(rest))

    def _sentence(self, text: str) -> tuple[Label, ...] | None:
        """What a field's sentence commits to."""
        claims = self._prose(text, {})
        best = self._last(claims, cut=False)
        return best.labels if best is not None and best.labels else None

    # ----------------------------------------------------------------------------------------- prose

    def _prose(self, text: str, by_number: Mapping[str, Label]) -> list[Claim]:
        text = self._names.unwrapped(text)
        claims = self._lines(text, by_number)
        question: Sentence | None = None
        for sentence in sentences(text):
            if question is not None:
                answered = self._answered(question, sentence)
                if answered:
                    claims.append(
                        Claim(answered, sentence.end, 1, f"{question.text.strip()} {sentence.text.strip()}")
                    )
            question = sentence if sentence.asks else None
            if question is not None:
                continue
            claims += self._spoken(sentence, text, by_number, claims)
        return claims

    def _answered(self, question: Sentence, reply: Sentence) -> tuple[Label, ...]:
        """What a yes or a no makes of the question before it."""
        if _YES.match(reply.text):
            named = self._names.value(question.text.rstrip().rstrip("?"))
            return named if isinstance(named, tuple) else self._speech.commits(question.text).labels
        asks_for_error = self._words.error_questions.search(question.text) is not None
        if _NO.match(reply.text) and asks_for_error and not self._names.in_prose(question.text):
            return (self._taxonomy.correct,)
        return ()

    def _lines(self, text: str, by_number: Mapping[str, Label]) -> list[Claim]:
        """Lines that hold labels, or a known number, and nothing else."""
        claims: list[Claim] = []
        at, joined = 0, False
        for line in text.splitlines(keepends=True):
            end = at + len(line.rstrip())
            value = self._names.value(line) if line.strip() else None
            if value is not None and not self._names.is_proper(line) and text.strip() != line.strip():
                value = None
            number = _BARE_NUMBER.fullmatch(line.strip()) if by_number else None
            if number is not None and number.group("n").upper() in by_number:
                value = (by_number[number.group("n").upper()],)
            if isinstance(value, tuple):
                if joined:
                    last = claims.pop()
                    value = unique((*last.labels, *value))
                claims.append(self._claim(value, end, 3, line, text))
                joined = True
            elif line.strip():
                joined = False
            at += len(line)
        return claims

    def _spoken(
        self, sentence: Sentence, text: str, by_number: Mapping[str, Label], earlier: Sequence[Claim]
    ) -> list[Claim]:
        if earlier and self._words.lesser.match(sentence.text):
            return []
        announced = self._announced(sentence, text, by_number) or self._taken_back(sentence, text)
        if announced is not None:
            return [announced]
        chosen = self._words.chosen.search(sentence.text) if by_number else None
        if chosen is not None and chosen.group("n").upper() in by_number:
            return [Claim((by_number[chosen.group("n").upper()],), sentence.end, 3, sentence.text.strip())]
        lead = self._names.lead(sentence.text) if sentence.opens_line or not earlier else None
        if (
            lead is not None
            and lead.kind == "labels"
            and _SEPARATOR.match(sentence.text, lead.end)
            and not scopes("reply-negators").denied_after(sentence.text, lead.end)
        ):
            return [self._claim(lead.labels, sentence.start + lead.end, 2, sentence.text, text)]
        committed = self._speech.commits(sentence.text)
        if not committed.labels:
            return self._behind_colon(sentence, text)
        firm = 3 if self._words.conclusions.match(sentence.text) else 1
        labels = committed.labels
        if firm == 1 and self._words.additions.match(sentence.text):
            before = [c for c in earlier if c.firm == 1 and all(label.is_error for label in c.labels)]
            labels = unique((*(before[-1].labels if before else ()), *labels))
        return [Claim(labels, sentence.end, firm, sentence.text.strip())]

    def _taken_back(self, sentence: Sentence, text: str) -> Claim | None:
        """The labels behind "so" and the like, or behind a word that takes back what was said ("no, wait")."""
        for opening in reversed(list(self._words.leading_to.finditer(sentence.text))):
            lead = self._names.lead(sentence.text, opening.end())
            if lead is not None and lead.kind == "labels":
                return self._claim(lead.labels, sentence.start + lead.end, 3, sentence.text, text)
        for opening in self._words.corrections.finditer(sentence.text):
            labels = self._speech.commits(sentence.text[opening.end() :]).labels
            if labels:
                return Claim(labels, sentence.end, 3, sentence.text.strip())
        return None

    def _behind_colon(self, sentence: Sentence, text: str) -> list[Claim]:
        """ "Neither late nor incomplete: correct". A short heading before the colon is no such sum ("Object: correct")."""
        before, colon, behind = sentence.text.rpartition(":")
        value = self._names.value(behind) if colon and len(before.split()) > _HEADING else None
        return [self._claim(value, sentence.end, 1, sentence.text, text)] if isinstance(value, tuple) else []

    def _announced(self, sentence: Sentence, text: str, by_number: Mapping[str, Label]) -> Claim | None:
        """The labels behind the last announcement of a sentence ("Answer:", "the label is")."""
        for marker in reversed(list(self._words.markers.finditer(sentence.text))[-_LOOPS:]):
            if scopes("reply-negators").unreal(sentence.text, marker.start()) or scopes().denied_before(
                sentence.text, marker.start(), marker.end()
            ):
                continue
            rest, start = sentence.text[marker.end() : marker.end() + _LONGEST], sentence.start + marker.end()
            if not rest.strip(" :*\"'-") and sentence.opens_line:
                following = re.match(r"[\s:*\"'-]*", text[start:])
                start += following.end() if following else 0
                rest = text[start:].split("\n", 1)[0]
            words = (
                sentence.text[marker.start() :] if rest in sentence.text else marker.group() + " " + rest
            ).strip()
            lead = self._names.lead(rest, announced=True)
            if lead is not None and lead.kind == "labels" and not scopes().denied_after(rest, lead.end):
                return self._claim(lead.labels, start + lead.end, 3, words, text)
            if (
                lead is None
                and self._words.error_markers.fullmatch(marker.group())
                and self._words.none.match(rest)
            ):
                return Claim((self._taxonomy.correct,), start + len(rest), 3, words)
            number = self._words.numbered.match(rest) if by_number else None
            if number is not None and number.group("n").upper() in by_number:
                return Claim((by_number[number.group("n").upper()],), start + number.end(), 3, words)
            committed = self._speech.commits(rest)
            if committed.labels:
                return Claim(committed.labels, start + len(rest), 3, words)
        return None

    def _claim(self, labels: tuple[Label, ...], at: int, firm: int, words: str, text: str) -> Claim:
        """A claim, checked for labels that cannot stand together and for the end of the text."""
        contradictory = any(label.is_error for label in labels) and not all(
            label.is_error for label in labels
        )
        at_the_end = not text[at:].strip(" \n\"'*_)]") and self._names.starts_a_longer_name(labels[-1].name)
        return Claim(
            () if contradictory else labels, at, firm, " ".join(words.split())[:300], open=at_the_end
        )


def _prose_with_places(fields: Structured) -> tuple[str, list[Claim]]:
    """The text round the fields without markdown, and the fields' claims at their places in it.

    Taking markdown off shortens the text; a private character at each claim's end finds its place again.
    """
    characters = list(fields.rest.replace(_PLACE, " "))
    claims = sorted(fields.claims, key=lambda claim: claim.at)
    for claim in claims:
        characters[claim.at - 1] = _PLACE
    text = plain("".join(characters))
    places = dict(
        zip(sorted({claim.at for claim in claims}), (m.end() for m in re.finditer(_PLACE, text)), strict=True)
    )
    return text.replace(_PLACE, " "), [replace(claim, at=places[claim.at]) for claim in claims]


def _compiled(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)
