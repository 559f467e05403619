"""The whole way over the real rows, without video: nothing of an answer is asked, nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path

from ego_adr.benchmarks.egoerrorvqa import load_egoerrorvqa
from ego_adr.benchmarks.narrations import Narrations
from ego_adr.benchmarks.samples import NO_ACTION
from ego_adr.detector import EgoADR
from ego_adr.evaluation.metrics import score_outcomes
from ego_adr.evaluation.predictions import read_predictions
from ego_adr.evaluation.runner import evaluate
from ego_adr.models.scripted import ScriptedModel
from ego_adr.taxonomies import Taxonomy
from ego_adr.types import Request


class Reader(ScriptedModel):
    """Matches step 1, and finds an error where the narration tells of one. Its replies may be kept."""

    fingerprint = "reader 1"

    def __init__(self) -> None:
        super().__init__(self._say, name="reader")

    def _say(self, request: Request) -> str:
        if "spilled" in request.prompt:
            return "Wrong action"
        return "correct" if "narrated row" in request.prompt else "1"


def narrated(data_dir: Path) -> tuple[list, Narrations]:  # type: ignore[type-arg]
    samples = load_egoerrorvqa(data_dir)
    texts = {
        sample.id: f"narrated row {number}: something is {'spilled' if number % 3 == 0 else 'done'}"
        for number, sample in enumerate(samples)
    }
    return samples, Narrations(texts, {})


def hidden_texts(data_dir: Path) -> dict[str, list[str]]:
    """Video and start of a row -> what only its annotators know, word for word."""
    found: dict[str, list[str]] = {}
    for name in ("captaincook4d_answer", "egooops_answer", "epic_tent_answer_sec"):
        path = data_dir / "egoerrorvqa" / f"{name}.json"
        rows = json.loads(path.read_text(encoding="utf-8"))
        for row, sample in zip(rows, load_egoerrorvqa(path), strict=True):
            texts = [row.get("error_caption"), *(error["description"] for error in row.get("errors", []))]
            if row.get("modified_description") != row.get("original_description"):
                texts.append(row.get("modified_description"))
            # tags such as "motor error" may stand in a definition; a whole remark may not stand anywhere
            found[sample.id] = [text for text in texts if isinstance(text, str) and len(text.split()) > 2]
    return found


def test_no_prompt_of_any_row_holds_what_only_the_annotators_know(data_dir: Path, tmp_path: Path) -> None:
    samples, narrations = narrated(data_dir)
    model = Reader()
    result = evaluate(
        samples, EgoADR(model, route="deep", cache=False), tmp_path, narrations=narrations, chunk=256
    )
    assert result.statuses == {"ok": 1857, "unparsed": 0, "failed": 0}
    hidden = hidden_texts(data_dir)
    by_id = read_predictions(tmp_path / "results.jsonl", Taxonomy.load()).lines
    looked = 0
    for name, texts in hidden.items():
        prompts = "\n".join(e["prompt"] for e in by_id[name]["detection"]["exchanges"]).casefold()
        assert prompts
        looked += len(texts)
        assert not [text for text in texts if text.casefold() in prompts], name
    assert looked > 300
    every = "\n".join(request.prompt for request in model.requests)
    assert "None" not in every
    assert not any(request.frames for request in model.requests)


def test_a_second_run_of_the_same_work_calls_no_model(data_dir: Path, tmp_path: Path) -> None:
    samples, narrations = narrated(data_dir)
    samples = samples[::20]
    first, second = Reader(), Reader()
    cache = tmp_path / "cache"
    evaluate(samples, EgoADR(first, route="deep", cache=cache), tmp_path / "one", narrations=narrations)
    evaluate(samples, EgoADR(second, route="deep", cache=cache), tmp_path / "two", narrations=narrations)
    assert first.requests
    assert second.requests == []
    scores = [
        score_outcomes(
            read_predictions(tmp_path / name / "results.jsonl", Taxonomy.load()).outcomes,
            Taxonomy.load(),
            resamples=0,
        )
        for name in ("one", "two")
    ]
    assert scores[0].rates == scores[1].rates
    assert scores[0].rates.answered == len(samples)
    assert (scores[0].cost.calls > 0, scores[1].cost.calls) == (True, 0)


def test_rows_without_action_text_are_asked_and_counted(data_dir: Path, tmp_path: Path) -> None:
    samples, narrations = narrated(data_dir)
    nameless = [sample for sample in samples if NO_ACTION in sample.giveaways]
    evaluate(nameless, EgoADR(Reader(), route="deep", cache=False), tmp_path, narrations=narrations)
    found = score_outcomes(
        read_predictions(tmp_path / "results.jsonl", Taxonomy.load()).outcomes, Taxonomy.load(), resamples=0
    )
    assert found.rates.answered == 40
    assert found.subsets[f"only {NO_ACTION}"].rows == 40
