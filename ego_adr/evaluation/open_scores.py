"""Scores of open-end answers: judges over a run's log, means by judge and by data set, Avg-Sim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from ego_adr.benchmarks.sources import SOURCES
from ego_adr.errors import DataError
from ego_adr.evaluation.intervals import draws, interval
from ego_adr.evaluation.judging import judge_answers
from ego_adr.evaluation.results import LOG_NAME, LogWriter, alone_in, line_status, mend_log, read_log

if TYPE_CHECKING:
    from ego_adr.models.base import VideoLLM
    from ego_adr.prompting import PromptLibrary

__all__ = ["JUDGEMENTS", "OpenScore", "judge_run", "score_open_run"]

JUDGEMENTS = "judgements.jsonl"


class OpenScore(BaseModel):
    """Figures of one open-end run. Scores lie in 0..5.

    Attributes:
        questions: in the log; ``answered`` of them have an answer.
        rows: rows of the benchmark with at least one judged answer; a row holds one to three questions.
        avg_sim: mean over rows. A row's score is the mean over its questions, a question's that over the
            judges whose reply could be read.
        avg_sim_unanswered_zero: the same with unanswered questions as 0 ("no response" on the judges' scale).
        interval: of ``avg_sim``, 95 %, videos resampled.
        judges: judge -> mean over the answers it scored.
        datasets: data set -> (rows, mean); ``scene`` is the column of table 3 of papers/002.
        judge_errors: judge -> cause -> replies.
        unparsed, failed: cause -> questions without an answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int
    answered: int
    rows: int
    avg_sim: float | None
    avg_sim_unanswered_zero: float | None
    interval: tuple[float, float] | None
    judges: Mapping[str, float | None]
    datasets: Mapping[str, Mapping[str, Any]]
    judge_errors: Mapping[str, Mapping[str, int]]
    unparsed: Mapping[str, int]
    failed: Mapping[str, int]


def judge_run(
    folder: str | PathLike[str],
    judges: Sequence[VideoLLM],
    prompts: PromptLibrary,
    *,
    retry_errors: bool = True,
    chunk: int = 32,
    progress: Any = None,
) -> int:
    """Let every judge score every answer of a run that it has not scored yet.

    Judgements stand in ``judgements.jsonl`` beside the run's log, a line each, as safe against kills as it is.

    Returns:
        How many judgements were made now.
    """
    place = Path(folder)
    answers = {
        name: line for name, line in read_log(place / LOG_NAME).lines.items() if answer_of(line) is not None
    }
    if not answers:
        raise DataError(f"{place} holds no open-end answer that could be judged.")
    names = [judge.name for judge in judges]
    if len(set(names)) < len(names):
        raise DataError(f"two judges go by one name ({', '.join(names)}); give different models.")
    made = 0
    with alone_in(place):
        log = mend_log(place / JUDGEMENTS)
        done = {
            (line.get("answer_id"), line.get("judge"), line.get("answer"))
            for line in log.lines.values()
            if not (retry_errors and line_status(line) == "failed")
        }
        with LogWriter(place / JUDGEMENTS) as writer:
            for judge in judges:
                todo = [
                    (name, line)
                    for name, line in answers.items()
                    if (name, judge.name, answer_of(line)) not in done
                ]
                for begin in range(0, len(todo), chunk):
                    part = todo[begin : begin + chunk]
                    items = [
                        {
                            "question": str(line["question"]),
                            "reference": str(line["reference"]),
                            "answer": str(answer_of(line)),
                        }
                        for _, line in part
                    ]
                    scores = judge_answers(judge, items, prompts)
                    writer.write(
                        [
                            {
                                "id": f"{name} @ {judge.name}",
                                "answer_id": name,
                                "judge": judge.name,
                                "answer": answer_of(line),
                                "status": "ok" if score.error is None else "failed",
                                **score.model_dump(),
                            }
                            for (name, line), score in zip(part, scores, strict=True)
                        ]
                    )
                    made += len(part)
                    if progress is not None:
                        progress(f"judge {judge.name}", begin + len(part), len(todo))
        mend_log(place / JUDGEMENTS)
    return made


def answer_of(line: Mapping[str, Any]) -> str | None:
    """The answer of an open-end line, None when it has none."""
    held = line.get("answer")
    return (
        held if isinstance(held, str) and held and line_status(line) == "ok" and "reference" in line else None
    )


def score_open_run(folder: str | PathLike[str], *, resamples: int = 2000, seed: int = 0) -> OpenScore:
    """Figures of a judged run.

    Raises:
        DataError: when the folder holds no open-end run.
    """
    place = Path(folder)
    lines = read_log(place / LOG_NAME).lines
    if not lines or not all("question" in line for line in lines.values()):
        raise DataError(f"{place} holds no open-end run.")
    judged = read_log(place / JUDGEMENTS).lines.values()
    by_answer: dict[str, list[float]] = {}
    by_judge: dict[str, list[float]] = {}
    errors: dict[str, Counter[str]] = {}
    for line in judged:
        name, judge = str(line["answer_id"]), str(line["judge"])
        if name not in lines or answer_of(lines[name]) != line.get("answer"):
            continue  # of an answer that was asked for again since
        by_judge.setdefault(judge, [])
        if line.get("score") is None:
            errors.setdefault(judge, Counter())[str(line.get("error") or "no reason given")] += 1
        else:
            by_judge[judge].append(float(line["score"]))
            by_answer.setdefault(name, []).append(float(line["score"]))
    rows: dict[str, list[float]] = {}
    with_zeros: dict[str, list[float]] = {}
    row_line: dict[str, Mapping[str, Any]] = {}
    for name, line in lines.items():
        row = str(line.get("row") or name)
        row_line[row] = line
        if name in by_answer:
            score = sum(by_answer[name]) / len(by_answer[name])
            rows.setdefault(row, []).append(score)
            with_zeros.setdefault(row, []).append(score)
        elif answer_of(line) is None:
            with_zeros.setdefault(row, []).append(0.0)
    means = {row: sum(scores) / len(scores) for row, scores in rows.items()}
    datasets: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(str(line.get("dataset") or "") for line in row_line.values()):
        part = [mean for row, mean in means.items() if str(row_line[row].get("dataset") or "") == name]
        scene = SOURCES[name].scene if name in SOURCES else name
        datasets[name] = {"scene": scene, "rows": len(part), "mean": _mean(part)}
    groups = [str(row_line[row].get("group") or row) for row in means]
    return OpenScore(
        questions=len(lines),
        answered=sum(answer_of(line) is not None for line in lines.values()),
        rows=len(means),
        avg_sim=_mean(list(means.values())),
        avg_sim_unanswered_zero=_mean([sum(s) / len(s) for s in with_zeros.values()]) if by_answer else None,
        interval=_interval(list(means.values()), groups, resamples, seed),
        judges={judge: _mean(scores) for judge, scores in by_judge.items()},
        datasets=datasets,
        judge_errors={judge: dict(found) for judge, found in errors.items()},
        unparsed=_causes(lines.values(), "unparsed"),
        failed=_causes(lines.values(), "failed"),
    )


def _interval(means: list[float], groups: list[str], resamples: int, seed: int) -> tuple[float, float] | None:
    if not means or not resamples:
        return None
    import numpy as np

    _, number = np.unique(np.asarray(groups), return_inverse=True)
    count = int(number.max()) + 1
    sums = np.bincount(number, weights=np.asarray(means), minlength=count)
    sizes = np.bincount(number, minlength=count)
    return interval(
        np.concatenate([(d @ sums) / np.maximum(d @ sizes, 1) for d in draws(count, resamples, seed)])
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _causes(lines: Any, status: str) -> dict[str, int]:
    found = Counter(
        str(line.get("cause") or "no reason given") for line in lines if line_status(line) == status
    )
    return dict(found.most_common())
