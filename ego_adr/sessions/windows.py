"""A step log made by looking: a recording in windows, each narrated once, matched to a step, neighbours merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from ego_adr.errors import InputError, VideoError
from ego_adr.session import Session
from ego_adr.sessions.logs import StepEvent
from ego_adr.sessions.reports import SessionVerdict
from ego_adr.types import Clip, Failure, ProcedureBank, Query, Source

if TYPE_CHECKING:
    from ego_adr.detector import EgoADR

__all__ = [
    "LiveLine",
    "WindowLog",
    "WindowSeen",
    "log_windows",
    "merge_windows",
    "see_windows",
    "watch",
    "windows_of",
]

#: Narrates without being told what ought to happen: a window may show any step, or none.
PROMPT = "deep/narrate"


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WindowSeen(_Value):
    """One window.

    Attributes:
        start, end: seconds of the recording.
        narration: what was seen, None when the window could not be looked at.
        step: index of the step that the narration names, None for none.
        score: of the match.
        failure: why there is no narration.
    """

    start: float
    end: float
    narration: str | None = None
    step: int | None = None
    score: float | None = None
    failure: Failure | None = None


class WindowLog(_Value):
    """A log made of windows: ``events`` for `Session`, and every window with what was seen in it."""

    events: tuple[StepEvent, ...]
    windows: tuple[WindowSeen, ...]
    notes: tuple[str, ...] = ()


class LiveLine(_Value):
    """One line of a live session.

    Attributes:
        kind: ``step`` (another step has begun), ``error`` (a verdict, the moment it can be known), ``note``.
        time: seconds of the recording.
        text: what to show.
        verdict: for ``error``.
    """

    kind: Literal["step", "error", "note"]
    time: float
    text: str
    verdict: SessionVerdict | None = None


def windows_of(source: Source, window: float) -> list[Clip]:
    """A recording cut into clips of so many seconds; the last one may be shorter.

    Raises:
        InputError: when the window is no positive number of seconds.
        VideoError: when the recording cannot be read, or its length is not known.
    """
    from ego_adr.video import sample_frames

    if not window > 0:
        raise InputError(f"a window is a positive number of seconds, not {window!r}.")
    duration = sample_frames(source, n=1, warn=False).duration
    if duration is None:
        raise VideoError(
            "the length of the recording is not known; give a video file, or pictures with times."
        )
    count = max(1, int(-(-duration // window)))
    # A last sliver of a window holds next to nothing: it goes to the window before.
    if count > 1 and duration - (count - 1) * window < window / 4:
        count -= 1
    return [Clip(source, i * window, duration if i == count - 1 else (i + 1) * window) for i in range(count)]


def see_windows(detector: EgoADR, clips: Sequence[Clip], bank: ProcedureBank) -> list[WindowSeen]:
    """Narrate each clip once (in batches) and match what was seen to a step.

    A window that cannot be read or narrated comes back with its failure; it is no step and no error.
    """
    from ego_adr.procedure.matching import match_step
    from ego_adr.routes.base import Case
    from ego_adr.routes.narrating import narrate

    cases = [Case(query=Query(clip=clip, procedure=bank, action=""), bank=bank) for clip in clips]
    narrate(cases, detector.kit(), PROMPT)
    found: list[WindowSeen] = []
    for clip, case in zip(clips, cases, strict=True):
        start, end = float(clip.start or 0.0), float(clip.end or 0.0)
        if case.failure is not None or case.unparsed is not None or not case.narration:
            reason = case.failure or Failure(cause="unparsed", message=case.unparsed or "no narration")
            found.append(WindowSeen(start=start, end=end, failure=reason))
            continue
        match = match_step(case.narration, bank, method="recommended")
        step = None if match.low_confidence else match.index
        found.append(WindowSeen(start=start, end=end, narration=case.narration, step=step, score=match.score))
    return found


def merge_windows(windows: Sequence[WindowSeen], *, gap: float) -> list[StepEvent]:
    """One event for neighbouring windows of one step; windows without a step, no longer than ``gap``, do not part them."""
    events: list[StepEvent] = []
    for seen in windows:
        if seen.step is None:
            continue
        last = events[-1] if events else None
        if last is not None and last.step == seen.step and seen.start - last.end <= gap:
            events[-1] = StepEvent(seen.step, last.start, seen.end)
        else:
            events.append(StepEvent(seen.step, seen.start, seen.end))
    return events


def log_windows(detector: EgoADR, source: Source, bank: ProcedureBank, *, window: float = 10.0) -> WindowLog:
    """The step log of a recording.

    Args:
        detector: its model narrates.
        source: a video, or pictures with times.
        window: seconds a window.

    Raises:
        InputError, VideoError: as `windows_of`.
    """
    windows = see_windows(detector, windows_of(source, window), bank)
    failed = [seen for seen in windows if seen.failure is not None]
    unnamed = sum(seen.step is None and seen.failure is None for seen in windows)
    notes: list[str] = []
    if failed and failed[0].failure is not None:
        notes.append(
            f"{len(failed)} of {len(windows)} windows could not be narrated: {failed[0].failure.message}"
        )
    if unnamed:
        notes.append(f"{unnamed} of {len(windows)} windows show no step of the procedure that could be named")
    return WindowLog(
        events=tuple(merge_windows(windows, gap=window)), windows=tuple(windows), notes=tuple(notes)
    )


def watch(
    detector: EgoADR,
    clips: Source | Iterator[Clip],
    bank: ProcedureBank,
    *,
    window: float = 10.0,
) -> Iterator[LiveLine]:
    """The same live: one line a step, and one line an error, the moment it can be known.

    Args:
        detector: its model narrates.
        clips: a video (then cut into windows), or clips as they come (`ego_adr.sessions.streams`).
        window: seconds a window.

    Yields:
        lines in order of time; after the last clip, what only the end can tell.

    Raises:
        InputError, VideoError: as `windows_of`.
    """
    coming = clips if isinstance(clips, Iterator) else iter(windows_of(clips, window))
    seen: list[WindowSeen] = []
    told: set[tuple[str, int | None, int | None]] = set()
    events: list[StepEvent] = []
    reached = 0.0
    for clip in coming:
        latest = see_windows(detector, [clip], bank)[0]
        seen.append(latest)
        if latest.start > reached + 1e-6:
            gap = f"nothing was looked at from {reached:.1f} to {latest.start:.1f} s"
            why = "no pictures came, or the model was busy"
            yield LiveLine(kind="note", time=reached, text=f"{gap}: {why}")
        reached = max(reached, latest.end)
        if latest.failure is not None:
            text = f"this window could not be narrated: {latest.failure.message}"
            yield LiveLine(kind="note", time=latest.start, text=text)
        before = len(events)
        events = merge_windows(seen, gap=window)
        if len(events) > before:
            step = bank.steps[int(events[-1].step)]
            yield LiveLine(kind="step", time=events[-1].start, text=f"{step.number}. {step.text}")
        # Everything of the log so far is the past, so both kinds of verdict may be told; what is missing may yet come.
        session = Session(bank, events)
        known = [*session.verdicts(online=True).verdicts, *session.verdicts().verdicts]
        yield from _untold([v for v in known if v.rule not in ("never-done", "undone")], told, latest.end)
    yield from _untold(Session(bank, events).verdicts().verdicts, told, seen[-1].end if seen else 0.0)


def _untold(
    verdicts: Sequence[SessionVerdict], told: set[tuple[str, int | None, int | None]], now: float
) -> Iterator[LiveLine]:
    """The verdicts that have not been told yet, as lines."""
    for verdict in verdicts:
        key = (verdict.rule, verdict.step, verdict.event)
        if key not in told:
            told.add(key)
            line = f"{verdict.label}: {verdict.evidence}"
            yield LiveLine(kind="error", time=min(verdict.known_at, now), text=line, verdict=verdict)
