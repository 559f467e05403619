"""`EgoADR`, the facade: a model, a route that suits it, and detections."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ego_adr.errors import InputError, ModelError, ProcedureError, ServerError
from ego_adr.models.base import VideoLLM
from ego_adr.models.cached import CachedModel
from ego_adr.models.registry import load_model
from ego_adr.probe import ProbeResult, probe_model
from ego_adr.prompting import PromptLibrary
from ego_adr.routes import find_route, route_names
from ego_adr.routes.asking import Asker, Progress
from ego_adr.routes.base import Case, Decision, Kit, Settings
from ego_adr.routes.steps import find_banks, match_by_model
from ego_adr.taxonomies import Taxonomy, load_taxonomy
from ego_adr.types import Clip, Detection, FrameSequence, ProcedureBank, Query, Source, StepMatch

__all__ = ["EgoADR", "cache_folder"]


def cache_folder() -> Path | None:
    """Where stage results and probes are kept: ``EGO_ADR_CACHE``, or the user's cache folder; ``off`` is None."""
    given = os.environ.get("EGO_ADR_CACHE")
    if given is not None:
        return None if given.strip().casefold() in ("", "off", "0", "no") else Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("ego_adr")


class EgoADR:
    """Tells whether a step of a procedure was done right in a clip.

    Args:
        model: a name (``hf:Qwen/Qwen2.5-VL-7B-Instruct``, ``tabletop``, ``http://host:port/v1#model`` ...), a
            backend, a loaded ``transformers`` model, or any ``f(frames, prompt) -> str``.
        route: ``auto`` lets the probe choose between ``deep`` and ``shallow``, and an agent (``a2a:``) judge by itself;
            ``single-pass`` and ``cot`` are there to compare with.
        bank_model: another model that cuts prose into steps (text only).
        prompts: a folder that overrides single prompt files.
        taxonomy: a taxonomy, or the path of one.
        frames: pictures a clip, uniform over its interval.
        longer_side: pictures are scaled down to this many pixels; None keeps their size.
        match: ``auto`` (by the route), ``published``, ``recommended``, or ``off``.
        narrate: False leaves the narration out (an ablation).
        black_image: text-only prompts go with a black picture (the paper's ablation for models without a
            text-only mode).
        decide: ``text`` reads the reply; ``score`` compares the likelihoods of the labels; ``two-step`` decides
            "correct or not" first and the type second.
        calibrate: with scores, subtract what the model says to no evidence.
        batch_size: requests a batch; None takes the model's own wish.
        cache: a folder, True for the default one (see `cache_folder`), False for none.
        progress: called as ``progress(stage, done, total)`` while `detect_many` works.
        model_options: of the loader, for a model that is given by name (`ego_adr.load_model`).

    Raises:
        InputError: for a switch that is not allowed; the message lists what is.
        ModelNotFoundError: when the model cannot be found.
    """

    def __init__(
        self,
        model: str | VideoLLM | Any,
        *,
        route: str = "auto",
        bank_model: str | VideoLLM | Any | None = None,
        prompts: str | PathLike[str] | None = None,
        taxonomy: Taxonomy | str | PathLike[str] | None = None,
        frames: int = 8,
        longer_side: int | None = 768,
        match: Literal["auto", "published", "recommended", "off"] = "auto",
        narrate: bool = True,
        black_image: bool = False,
        decide: Decision = "text",
        calibrate: bool = False,
        batch_size: int | None = None,
        cache: bool | str | PathLike[str] = True,
        progress: Progress | None = None,
        model_options: Mapping[str, Any] | None = None,
    ) -> None:
        _check("route", route, ["auto", *route_names()])
        _check("match", match, ["auto", "published", "recommended", "off"])
        _check("decide", decide, ["text", "score", "two-step"])
        if isinstance(frames, bool) or not isinstance(frames, int) or frames < 1:
            raise InputError(f"frames must be a whole number from 1, not {frames!r}.")
        if calibrate and decide == "text":
            raise InputError("calibrate works on likelihoods: use it with decide='score' or 'two-step'.")
        folder = cache_folder() if cache is True else (Path(cache) if cache else None)
        self.cache: Path | None = folder
        self.model = _with_cache(load_model(model, **(model_options or {})), folder)
        self.bank_model = None if bank_model is None else _with_cache(load_model(bank_model), folder)
        self.prompts = PromptLibrary(prompts, getattr(self.model, "prompts", None))
        self.taxonomy = taxonomy if isinstance(taxonomy, Taxonomy) else load_taxonomy(taxonomy)
        self.route = route
        self.settings = Settings(
            frames=frames,
            longer_side=longer_side,
            match=match,
            narrate=narrate,
            decide=decide,
            calibrate=calibrate,
        )
        #: What is asked for whole verdicts, where the model judges steps by itself and no route is named.
        self.judge: Any = None
        if route == "auto" and hasattr(self.model, "judging"):
            self.judge = self._whole_judge(None if taxonomy is None else self.taxonomy, prompts, black_image)
            self.taxonomy = self.judge.taxonomy
        self._black_image = black_image
        self._batch_size = batch_size
        self.progress = progress
        self._probe: ProbeResult | None = None

    def probe(self) -> ProbeResult:
        """The model's probe, asked once (and kept on disk for models with a fingerprint)."""
        if self._probe is None:
            try:
                self._probe = probe_model(self.model, prompts=self.prompts, cache_folder=self.cache)
            except ServerError:
                raise
            except ModelError as exc:
                if self.judge is None:
                    raise
                raise ModelError(
                    f"{self.model.name} judges steps as a whole and does not answer the probe's questions; it needs none: "
                    f"`ego-adr detect` and `evaluate` ask it as it is. ({exc})"
                ) from exc
        return self._probe

    def detect(
        self,
        video: Source | Clip,
        procedure: str | PathLike[str] | ProcedureBank,
        action: str,
        *,
        start: float | str | None = None,
        end: float | str | None = None,
        id: str | None = None,
    ) -> Detection:
        """One clip, one step, one verdict.

        Args:
            video: a path, pictures, or a `Clip` (then ``start`` and ``end`` stay None).
            procedure: its text, the path of a file (``pathlib.Path``), or a bank.
            action: the step in question, in words.
            start, end: the interval in seconds.

        A sample that cannot be judged comes back with ``status`` ``failed`` or ``unparsed``; exceptions are for
        mistakes in the call and for a model that does not work at all.
        """
        if isinstance(video, Clip):
            if start is not None or end is not None:
                raise InputError("a Clip has its own start and end: give the times there.")
            clip = video
        else:
            clip = Clip(video, start, end)
        return self.detect_many([Query(clip=clip, procedure=procedure, action=action, id=id)])[0]

    def detect_many(self, queries: Sequence[Query]) -> list[Detection]:
        """Many verdicts, stage by stage, in the order of the queries.

        Banks are made once per distinct procedure, steps matched once per distinct (procedure, action), clips
        narrated in batches. One bad sample never ends the run.
        """
        for query in queries:
            if not isinstance(query, Query):
                raise InputError(f"detect_many takes Query values, not {type(query).__name__}.")
        if not queries:
            return []
        if self.judge is not None:
            found: list[Detection] = self.judge.detect_many(queries)
            return found
        name, reason = self.choose_route()
        cases = [Case(query=query) for query in queries]
        kit = self.kit()
        notice = getattr(self.model, "notice", None)
        for case in cases:
            if notice:
                case.warn(f"model: {notice}")
            if not case.query.action.strip():
                case.fail("input", "the action is empty: say in words which step is in question.")
        find_route(name).run([case for case in cases if case.open], kit)
        return [self._detection(case, name, reason) for case in cases]

    def make_bank(self, procedure: str | PathLike[str] | ProcedureBank) -> ProcedureBank:
        """The step bank of a procedure, cut by the bank model (or the model) where it is prose.

        Raises:
            ProcedureError: when the procedure cannot be read.
        """
        case = Case(Query(clip=Clip(()), procedure=procedure, action=""))
        find_banks([case], self.kit(), by_model=True)
        if case.bank is None:
            raise ProcedureError(case.failure.message if case.failure else "the procedure could not be read.")
        return case.bank

    def match(self, action: str, bank: ProcedureBank) -> StepMatch:
        """The step of a bank that the model says an action names (the match stage of the deep route).

        Raises:
            ModelError: when the model fails.
        """
        case = Case(Query(clip=Clip(()), procedure=bank, action=action), bank=bank)
        match_by_model([case], self.kit())
        if case.match is None:
            raise ModelError(case.failure.message if case.failure else "the model gave no reply.")
        return case.match

    def choose_route(self) -> tuple[str, str]:
        """The route that will be taken, and why."""
        if self.route != "auto":
            return self.route, "asked for"
        if self.judge is not None:
            return "agent", "it judges steps as a whole"
        found = self.probe()
        return found.route, f"probe: {found.reason}"

    # ------------------------------------------------------------------------------------------------

    def kit(self) -> Kit:
        """What routes and sessions work with: the model, prompts, taxonomy and settings of this detector."""
        asker = Asker(
            self._load, batch_size=self._batch_size, progress=self.progress, black_image=self._black_image
        )
        return Kit(self.model, self.bank_model, self.prompts, self.taxonomy, asker, self.settings)

    def _whole_judge(
        self, taxonomy: Taxonomy | None, prompts: str | PathLike[str] | None, black_image: bool
    ) -> Any:
        """What is asked of a model that judges whole steps by itself: its route is its own affair.

        Raises:
            InputError: switches that it cannot be told.
        """
        changed = [name for name, value in vars(self.settings).items() if value != getattr(Settings(), name)]
        changed += ["black_image"] if black_image else []
        changed += ["bank_model"] if self.bank_model is not None else []
        if changed:
            raise InputError(
                f"{self.model.name} judges steps as a whole, in its own way: {', '.join(changed)} cannot be set from here. "
                "Leave that out, or name a route (deep, shallow, single-pass, cot) to send it this library's prompts."
            )
        model: Any = self.model
        return model.judging(taxonomy=taxonomy, prompts=prompts)

    def _load(self, case: Case) -> FrameSequence:
        from ego_adr.video import sample_clip

        return sample_clip(
            case.query.clip, self.settings.frames, longer_side=self.settings.longer_side, warn=False
        )

    def _detection(self, case: Case, route: str, reason: str) -> Detection:
        from ego_adr import __version__

        if case.open:
            case.unparsed = "no verdict"
        source = case.query.clip.source
        ok = case.failure is None and case.unparsed is None
        match = case.match
        return Detection(
            status="ok" if ok else ("failed" if case.failure else "unparsed"),
            label=case.label if ok else None,
            labels=case.labels if ok else (),
            is_error=self.taxonomy.require(case.label).is_error if ok and case.label else None,
            reason=None if case.failure else case.unparsed,
            failure=case.failure,
            id=case.query.id,
            video=os.fspath(source) if isinstance(source, (str, PathLike)) else None,
            start=case.start,
            end=case.end,
            action=case.query.action,
            procedure=case.bank.title if case.bank else None,
            route=route,
            route_reason=reason,
            match=match,
            step=case.step_text(match.index if match else None) or None,
            previous_step=case.step_text(match.previous if match else None) or None,
            next_step=case.step_text(match.next if match else None) or None,
            narration=case.narration,
            evidence=case.evidence if ok else (),
            probabilities=case.probabilities,
            frame_times=case.frame_times,
            warnings=tuple(case.warnings),
            stages=tuple(case.uses.values()),
            exchanges=tuple(case.exchanges),
            model=self.model.name,
            taxonomy=self.taxonomy.name,
            version=__version__,
        )


def _with_cache(model: VideoLLM, folder: Path | None) -> VideoLLM:
    from ego_adr.models.base import fingerprint

    if folder is None or fingerprint(model) is None or isinstance(model, CachedModel):
        return model
    return CachedModel(model, folder)


def _check(what: str, given: object, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise InputError(f"{what}={given!r} is not allowed; it is one of {', '.join(allowed)}.")
