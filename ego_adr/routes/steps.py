"""The first stages, shared by routes: the step bank, and which of its steps is in question."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath

from ego_adr.errors import ProcedureError
from ego_adr.procedure.bank import bank_from_reply, is_structured, read_procedure
from ego_adr.procedure.matching import clean_action, match_step, read_step_reply, step_match_at
from ego_adr.routes.base import Case, Kit
from ego_adr.types import ProcedureBank, Reply, Request, StepMatch

__all__ = ["find_banks", "match_by_model", "match_by_text", "match_off"]


def find_banks(cases: Sequence[Case], kit: Kit, *, by_model: bool) -> None:
    """Give every case its bank: read once per distinct procedure.

    A list, a Markdown document or a file is cut by its own structure. Prose is cut by the bank model (or by
    the model itself with ``by_model``), and by rules when there is no model for text.
    """
    made: dict[object, ProcedureBank | ProcedureError] = {}
    for case in cases:
        source = case.query.procedure
        if isinstance(source, ProcedureBank):
            case.bank = source
            continue
        key = (type(source).__name__, fspath(source))
        if key not in made:
            made[key] = _bank(source, kit, case, by_model=by_model)
        bank = made[key]
        if isinstance(bank, ProcedureError):
            case.fail(bank.cause, str(bank))
            continue
        case.bank = bank
        for note in bank.notes:
            case.warn(f"bank: {note}")


def _bank(
    source: str | PathLike[str], kit: Kit, case: Case, *, by_model: bool
) -> ProcedureBank | ProcedureError:
    model = kit.bank_model or (kit.model if by_model else None)
    try:
        read = read_procedure(source)
        if model is None or is_structured(read):
            return read
        found: list[ProcedureBank] = []

        def build(_: Case) -> Request:
            prompt = kit.prompts.render("bank/segment", procedure=read.text)
            return Request(prompt=prompt.text, max_tokens=prompt.max_tokens)

        def take(_: Case, reply: Reply) -> None:
            found.append(bank_from_reply(read, reply))

        kit.asker.text("bank", model, [case], build, take)
    except ProcedureError as exc:
        return exc
    if case.failure is not None:
        # The model could not cut it; rules can. The failure is said, and does not cost the sample.
        note = f"the model could not cut the procedure ({case.failure.message}); rules did"
        case.failure = None
        return read.model_copy(update={"notes": (*read.notes, note)})
    return found[0]


def match_off(cases: Sequence[Case]) -> None:
    """The ablation without key-step matching: the whole procedure stays the context."""
    for case in cases:
        case.match = StepMatch(index=None, method="off")


def match_by_text(cases: Sequence[Case], *, method: str) -> None:
    """Match by words, once per distinct (bank, action)."""
    known: dict[tuple[tuple[str, ...], str], StepMatch] = {}
    for case in cases:
        assert case.bank is not None
        key = (tuple(step.text for step in case.bank.steps), case.query.action)
        if key not in known:
            known[key] = match_step(case.query.action, case.bank, method=method)
        case.match = known[key]
        _say_doubts(case)


def match_by_model(cases: Sequence[Case], kit: Kit) -> None:
    """Let the model choose among the numbered steps, text only; "none of them" is an answer."""

    def build(case: Case) -> Request:
        offered = case.variables(kit.taxonomy) | {"action": clean_action(case.query.action)}
        prompt = kit.prompts.render("deep/match", **offered)
        return Request(prompt=prompt.text, max_tokens=prompt.max_tokens)

    def take(case: Case, reply: Reply) -> None:
        assert case.bank is not None
        choice = read_step_reply(reply.text, len(case.bank.steps))
        if choice.reason is not None:
            case.warn(
                f"match: the reply {reply.text[:60]!r} names no step ({choice.reason}); the whole procedure is kept"
            )
        case.match = step_match_at(choice.index, case.bank, method="model")
        _say_doubts(case)

    kit.asker.text("match", kit.model, cases, build, take)


def _say_doubts(case: Case) -> None:
    match = case.match
    assert match is not None
    if match.index is None and case.bank is not None and case.bank.steps:
        case.warn("match: no step of the procedure fits the action")
    if match.ambiguous:
        numbers = ", ".join(str(index + 1) for index in match.duplicates)
        case.warn(f"match: steps {numbers} fit equally well; the first is taken")
