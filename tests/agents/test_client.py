"""Other agents as models: our own, and strangers of several kinds."""

from __future__ import annotations

import contextlib
import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ego_adr import EgoADR, ScriptedModel
from ego_adr.agents.client import load_agent
from ego_adr.cli import app
from ego_adr.errors import InputError, ModelError, ServerError
from ego_adr.taxonomies import load_taxonomy
from ego_adr.types import Clip, Frame, Query, Reply, Request


def query(video: Path | str, step: str = "Cut the tomato", **more: Any) -> Query:
    return Query(clip=Clip(video, 0.0, 1.5), procedure="Wash it. Cut it.", action=step, id=step, **more)


class Stranger:
    """An agent of another make: a card at some paths, and a function from a request's body to an answer's."""

    def __init__(self) -> None:
        self.card_paths = {"/.well-known/agent-card.json"}
        self.version = "0.3.0"
        self.card_url: str | None = None
        self.result: Callable[[dict[str, Any]], Any] = lambda body: message("correct")
        self.bodies: list[dict[str, Any]] = []
        self.got: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.got.append(self.path)
                if self.path in outer.card_paths:
                    self.say(200, outer.card())
                else:
                    self.say(404, {"detail": "Not Found"})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                said = outer.result(body)
                if isinstance(said, tuple):
                    self.say(*said)
                elif "error" in said:
                    self.say(200, {"jsonrpc": "2.0", "id": body["id"], "error": said["error"]})
                else:
                    self.say(200, {"jsonrpc": "2.0", "id": body["id"], "result": said})

            def say(self, status: int, held: Any, headers: dict[str, str] | None = None) -> None:
                data = held if isinstance(held, bytes) else json.dumps(held).encode()
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it hung up
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self._thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def card(self) -> dict[str, Any]:
        url = self.card_url or self.url
        card: dict[str, Any] = {
            "name": "Stranger", "description": "d", "version": "1", "skills": [], "capabilities": {},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        }  # fmt: skip
        if self.version.startswith("0."):
            return card | {"url": url, "preferredTransport": "JSONRPC", "protocolVersion": self.version}
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": self.version}
        return card | {"supportedInterfaces": [interface]}

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join()


def message(*texts: str) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text} for text in texts]
    return {"kind": "message", "messageId": "a", "role": "agent", "parts": parts}


def data(*held: dict[str, Any]) -> dict[str, Any]:
    return message() | {"parts": [{"kind": "data", "data": one} for one in held]}


def task(state: str, *, text: str | None = None, artifact: str | None = None) -> dict[str, Any]:
    status: dict[str, Any] = {"state": state}
    if text is not None:
        status["message"] = message(text)
    held: dict[str, Any] = {"kind": "task", "id": "t1", "contextId": "c1", "status": status}
    if artifact is not None:
        held["artifacts"] = [
            {"artifactId": "a1", "name": "answer", "parts": [{"kind": "text", "text": artifact}]}
        ]
    return held


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    running = Stranger()
    yield running
    running.close()


# ------------------------------------------------------------------------------------------------ our own


def test_the_detector_lets_an_agent_judge_by_itself(serve_model: Any) -> None:
    running = serve_model(ScriptedModel(lambda r: "Wrong order"))
    detector = EgoADR(f"a2a:{running.url}")
    assert detector.choose_route()[0] == "agent"
    found = detector.detect("good/clip.mp4", "Wash it. Cut it.", "Cut it", start=0, end="00:01.5", id="7")
    assert (found.label, found.id, found.model) == ("Wrong order", "7", f"a2a:{running.url}")
    assert "path refused" in str(detector.detect("/etc/passwd", "Wash it.", "Wash it").failure)


def test_the_command_asks_an_agent(serve_model: Any, stranger: Stranger) -> None:
    running = serve_model(ScriptedModel(lambda r: "Wrong order"))
    for url, said in ((running.url, "Wrong order"), (stranger.url, "correct")):
        asked = [
            "detect",
            "good/clip.mp4",
            "-p",
            "Wash it. Cut it.",
            "-a",
            "Cut it",
            "--end",
            "1.5",
            "-m",
            f"a2a:{url}",
        ]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        assert said in done.output
        assert "None" not in done.output


def test_an_agent_is_asked_for_the_labels_of_ones_own_taxonomy(stranger: Stranger, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "name: own\nlabels:\n"
        "  - {id: correct, name: correct, definition: as it should be, is_error: false}\n"
        "  - {id: spilled, name: Spilled, definition: something was spilled}\n",
        encoding="utf-8",
    )
    prompts = tmp_path / "prompts"
    (prompts / "a2a").mkdir(parents=True)
    (prompts / "a2a" / "multiple-choice.md").write_text(
        "---\npurpose: p\nvariables: [labels, procedure, action]\nmax_tokens: 8\n---\n"
        "Of {% for l in labels %}{{ l.name }},{% endfor %} which? {{ action }} {{ procedure }}",
        encoding="utf-8",
    )
    stranger.result = lambda body: message("Spilled")
    detector = EgoADR(f"a2a:{stranger.url}", taxonomy=own, prompts=prompts)
    found = detector.detect("v.mp4", "Pour it.", "Pour it")
    assert (found.label, found.taxonomy, found.is_error) == ("Spilled", "own", True)
    sent = stranger.bodies[-1]["params"]["message"]["parts"][0]["text"]
    assert "Of correct,Spilled, which? Pour it Pour it." in sent
    assert detector.taxonomy == load_taxonomy(own)
    assert EgoADR(load_agent(f"a2a:{stranger.url}", taxonomy=own)).taxonomy == load_taxonomy(own)


def test_a_run_of_an_agent_keeps_the_labels_of_ones_own_taxonomy(stranger: Stranger, tmp_path: Path) -> None:
    from ego_adr.benchmarks.samples import Sample, Shown, Truth
    from ego_adr.evaluation.running import RunPlan, run_plans

    kept = [label for label in load_taxonomy().labels if label.name in ("correct", "Omission")]
    own = load_taxonomy().model_copy(update={"name": "two", "labels": tuple(kept), "narration_priority": ()})
    sample = Sample(
        "1", "d", "g", Shown("v.mp4", 0.0, 1.5, "Wash it.", "Wash it"), truth=Truth(("Omission",))
    )
    stranger.result = lambda body: message("Omission")
    plan = RunPlan("a", f"a2a:{stranger.url}", {"route": "auto", "taxonomy": own, "frames": 8})
    (result,) = run_plans([plan], [sample], tmp_path)
    assert result.statuses["ok"] == 1
    sent = stranger.bodies[-1]["params"]["message"]["parts"][0]["text"]
    assert "- Omission:" in sent
    assert "Wrong order" not in sent


def test_a_named_route_sends_our_prompts_to_the_agent(stranger: Stranger, video_root: Path) -> None:
    detector = EgoADR(f"a2a:{stranger.url}", route="single-pass", frames=2)
    found = detector.detect(video_root / "good" / "clip.mp4", "Wash it. Cut it.", "Cut it")
    assert (found.label, found.route) == ("correct", "single-pass")
    kinds = [part["kind"] for part in stranger.bodies[-1]["params"]["message"]["parts"]]
    assert kinds == ["text", "file", "file"]


def test_an_agent_can_stand_before_another(serve_model: Any, stranger: Stranger, video_root: Path) -> None:
    """`ego-adr serve -m a2a:...`: labels and sentences both come from the agent behind."""
    from ego_adr.benchmarks.samples import Sample, Shown

    def answer(body: dict[str, Any]) -> Any:
        text = body["params"]["message"]["parts"][0]["text"]
        return message("Wrong order" if "Current Step" in text else "A red cube.")

    stranger.result = answer
    running = serve_model(f"a2a:{stranger.url}", route="auto")
    agent = load_agent(f"a2a:{running.url}")
    assert agent.detect_many([query("good/clip.mp4")])[0].label == "Wrong order"
    shown = Shown("good/clip.mp4", 0.0, 1.5, "Wash it.", "Wash it", question="What is on the table?")
    sample = Sample(id="1", dataset="d", group="g", shown=shown)
    (found,) = agent.answerer([sample]).detect_many([sample.query()])
    assert found.evidence == ("A red cube.",)


def test_the_probe_says_that_an_agent_needs_none(serve_model: Any) -> None:
    running = serve_model(ScriptedModel(lambda r: "correct"))
    with pytest.raises(ModelError, match=r"does not answer the probe's questions; it needs none"):
        EgoADR(f"a2a:{running.url}").probe()


def test_switches_that_an_agent_cannot_be_told_are_refused(stranger: Stranger) -> None:
    with pytest.raises(InputError, match="frames, narrate, black_image cannot be set from here"):
        EgoADR(f"a2a:{stranger.url}", frames=4, narrate=False, black_image=True)


def test_our_agent_is_asked_and_its_whole_detection_comes_back(serve_model: Any, video_root: Path) -> None:
    running = serve_model(ScriptedModel(lambda r: "Wrong order" if "tomato" in r.prompt else "correct"))
    agent = load_agent(f"a2a:{running.url}")
    assert agent.name == f"a2a:{running.url}"
    found = agent.detect_many([query("good/clip.mp4"), query(video_root / "good" / "clip.mp4", "Wash")])
    assert [(d.status, d.label) for d in found] == [("ok", "Wrong order"), ("ok", "correct")]
    assert [d.id for d in found] == ["Cut the tomato", "Wash"]
    assert all(len(d.frame_times) == 8 and d.model == agent.name for d in found)
    assert [exchange.stage for exchange in found[0].exchanges] == ["classify", "classify"]


def test_failures_of_our_agent_keep_their_cause(serve_model: Any) -> None:
    running = serve_model(ScriptedModel(lambda r: "" if "tomato" in r.prompt else "correct"))
    agent = load_agent(f"a2a:{running.url}")
    paths = ("broken.mp4", "/etc/passwd", "good/clip.mp4")
    found = agent.detect_many([*map(query, paths), query("good/clip.mp4", "Wash")])
    assert [d.status for d in found] == ["failed", "failed", "unparsed", "ok"]
    assert [d.failure and d.failure.cause for d in found[:2]] == ["video", "path refused"]
    assert (found[2].reason, found[3].label) == ("empty", "correct")


def test_a_busy_agent_is_waited_for(serve_model: Any) -> None:
    from ego_adr.agents.limits import Limits

    def slow(request: Request) -> str:
        time.sleep(0.3)
        return "correct"

    running = serve_model(ScriptedModel(slow), limits=Limits(waiting=1))
    agent = load_agent(f"a2a:{running.url}", concurrency=3, patience=60)
    assert [d.label for d in agent.detect_many([query("good/clip.mp4", f"s{i}") for i in range(3)])] == [
        "correct"
    ] * 3
    hasty = load_agent(f"a2a:{running.url}", concurrency=3, patience=0)
    causes = [
        d.failure.cause
        for d in hasty.detect_many([query("good/clip.mp4", f"s{i}") for i in range(3)])
        if d.failure
    ]
    assert causes == ["busy"] * 2


def test_open_end_questions_get_sentences(serve_model: Any) -> None:
    from ego_adr.benchmarks.samples import Sample, Shown

    running = serve_model(ScriptedModel(lambda r: "You used a spoon."))
    shown = Shown(
        video="good/clip.mp4", start=0.0, end=1.0, procedure="Cut it.", action="", question="With what?"
    )
    sample = Sample(id="q1", dataset="d", group="g", shown=shown)
    (found,) = load_agent(f"a2a:{running.url}").answerer([sample]).detect_many([sample.query()])
    assert (found.status, found.evidence, found.label) == ("ok", ("You used a spoon.",), None)


# ---------------------------------------------------------------------------------------------- strangers


@pytest.mark.parametrize("paths", [{"/.well-known/agent-card.json"}, {"/.well-known/agent.json"}])
def test_the_card_is_looked_for_at_the_new_place_then_at_the_old_one(
    stranger: Stranger, paths: set[str]
) -> None:
    stranger.card_paths = paths
    assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "correct"
    assert stranger.got[0] == "/.well-known/agent-card.json"
    assert ("/.well-known/agent.json" in stranger.got) == ("/.well-known/agent.json" in paths)


def test_an_old_agent_is_sent_the_published_tags(stranger: Stranger) -> None:
    load_agent(f"a2a:{stranger.url}").detect_many([query("/videos/v.mp4")])
    (body,) = stranger.bodies
    assert body["method"] == "message/send"
    (part,) = body["params"]["message"]["parts"]
    text = part["text"]
    for wanted in (
        "<video_path>/videos/v.mp4</video_path>",
        "Task Procedure: Wash it. Cut it.",
        'Current Step: "Cut the tomato"',
        "<start_ts>0.0</start_ts>",
        "<end_ts>1.5</end_ts>",
        "Unintended and unnecessary action",
    ):
        assert wanted in text


def test_what_we_ask_is_what_we_would_understand(stranger: Stranger) -> None:
    from ego_adr.agents.questions import read_question

    agent = load_agent(f"a2a:{stranger.url}")
    question = read_question([agent.question(query("/videos/v.mp4"))])
    assert (question.video, question.start, question.end) == ("/videos/v.mp4", 0.0, 1.5)
    assert (question.procedure, question.action, question.kind) == (
        "Wash it. Cut it.",
        "Cut the tomato",
        "multiple-choice",
    )


def test_a_new_agent_is_asked_in_its_own_version(stranger: Stranger) -> None:
    stranger.version = "1.0"
    stranger.result = lambda body: {
        "message": {"messageId": "a", "role": "ROLE_AGENT", "parts": [{"text": "Omission"}]}
    }
    assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "Omission"
    assert stranger.bodies[0]["method"] == "SendMessage"


@pytest.mark.parametrize(
    ("result", "label"),
    [
        (task("completed", artifact="Wrong order"), "Wrong order"),
        (task("completed", text="Wrong order"), "Wrong order"),
        (task("completed", text="All done.", artifact="Omission"), "Omission"),
        (message("Wrong order."), "Wrong order"),
        (message("  wrong ORDER\n", "and a second part about an Omission"), "Wrong order"),
        (message("", "Wrong order"), "Wrong order"),
        (message("Let me think about it.", "They look alike.", "Wrong order"), "Wrong order"),
        (data({"label": "Wrong order", "confidence": 0.3}), "Wrong order"),
        (
            message() | {"parts": message("I looked at it.")["parts"] + data({"label": "Omission"})["parts"]},
            "Omission",
        ),
        (data({"sample": 3}, {"answer": "wrong order"}), "Wrong order"),
        (data({"result": "done", "prediction": "Omission"}), "Omission"),
    ],
)
def test_an_answer_may_be_a_message_or_a_task(
    stranger: Stranger, load_cases: Any, result: Any, label: str
) -> None:
    assert [held["expected"]["answer"] for held in load_cases("a2a") if held["id"] == "74a"] == [
        "text of the artifact"
    ]
    stranger.result = lambda body: result
    (found,) = load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])
    assert (found.status, found.label) == ("ok", label)


def test_a_task_that_is_still_at_work_is_asked_for_until_it_is_done(stranger: Stranger) -> None:
    left = [task("working"), task("working"), task("completed", artifact="Omission")]
    stranger.result = lambda body: task("submitted") if body["method"] == "message/send" else left.pop(0)
    (found,) = load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])
    assert found.label == "Omission"
    assert [body["method"] for body in stranger.bodies] == ["message/send", *["tasks/get"] * 3]


@pytest.mark.parametrize(
    ("result", "cause", "told"),
    [
        (task("failed", text="out of memory"), "agent: task failed", "out of memory"),
        (task("rejected"), "agent: task rejected", "does not say why"),
        (task("input-required", text="which step?"), "agent: task input required", "which step?"),
        (task("completed"), "agent", "neither text nor data"),
        (message(), "agent", "neither text nor data"),
        ({"error": {"code": -32603, "message": "it broke"}}, "agent refused", "it broke"),
        ({"kind": "surprise"}, "agent", "cannot be read"),
        (task("unknown", text="?"), "agent: task unspecified", "?"),
        ((500, b"<html>boom</html>"), "agent", "HTTP 500: '<html>boom</html>'"),
        ((502, b""), "agent unreachable", "HTTP 502"),
        ((503, b""), "busy", "HTTP 503"),
        ((504, b"gateway"), "timeout", "HTTP 504: 'gateway'"),
        ((401, {"detail": "who?"}), "agent refused", "wants a login"),
        ((404, {}), "agent refused", "HTTP 404"),
        ((200, b"<html>hello</html>"), "agent", "no JSON: '<html>hello</html>'"),
    ],
)
def test_what_is_no_answer_fails_by_its_cause(stranger: Stranger, result: Any, cause: str, told: str) -> None:
    stranger.result = lambda body: result
    (found,) = load_agent(f"a2a:{stranger.url}", patience=0).detect_many([query("v.mp4")])
    assert (found.status, found.label) == ("failed", None)
    assert found.failure is not None
    assert found.failure.cause == cause
    assert told in found.failure.message


def test_an_answer_without_a_label_is_unparsed(stranger: Stranger) -> None:
    stranger.result = lambda body: message("I do not know.")
    (found,) = load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])
    assert (found.status, found.label) == ("unparsed", None)
    assert found.reason


def test_a_slow_agent_is_waited_for_by_default_as_long_as_the_published_evaluator_does(
    stranger: Stranger, load_cases: Any
) -> None:
    (case,) = [held for held in load_cases("a2a") if held["id"] == "73c"]
    assert case["expected"]["default_timeout"].startswith(">=300 s")
    assert inspect.signature(load_agent).parameters["timeout"].default >= 300
    release = threading.Event()

    def late(body: dict[str, Any]) -> Any:
        release.wait(20)
        return message("correct")

    stranger.result = late
    agent = load_agent(f"a2a:{stranger.url}")
    assert agent._timeout >= 300
    timer = threading.Timer(6.0, release.set)  # httpx itself would give up after 5 s
    timer.start()
    assert agent.detect_many([query("v.mp4")])[0].label == "correct"
    release.clear()
    (found,) = load_agent(f"a2a:{stranger.url}", timeout=0.3).detect_many([query("v.mp4")])
    release.set()
    assert found.failure is not None
    assert found.failure.cause == "timeout"


def test_an_agent_that_dies_fails_what_is_asked_then_and_answers_again_when_it_is_back(
    serve_model: Any, video_root: Path
) -> None:
    model = ScriptedModel(lambda r: "correct")
    running = serve_model(model)
    agent = load_agent(f"a2a:{running.url}")
    running.stop()
    found = agent.detect_many([query("good/clip.mp4", f"s{i}") for i in range(3)])
    assert [d.failure and d.failure.cause for d in found] == ["agent unreachable"] * 3
    serve_model(model, port=int(running.url.rpartition(":")[2]))
    assert agent.detect_many([query("good/clip.mp4")])[0].label == "correct"


def test_a_card_that_tells_an_address_of_its_own_container_is_still_reached(stranger: Stranger) -> None:
    stranger.card_url = stranger.url.replace("127.0.0.1", "0.0.0.0")
    assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "correct"


@pytest.mark.parametrize("told", ["/", "a2a/", "", " ", "http://no-such-host.invalid:9/"])
def test_a_card_with_an_address_that_leads_nowhere_from_here_is_still_reached(
    stranger: Stranger, told: str
) -> None:
    stranger.card_url = told or " "
    assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "correct"


def test_a_redirect_is_followed_with_the_question(stranger: Stranger) -> None:
    other = Stranger()
    try:
        stranger.result = lambda body: (307, b"", {"Location": f"{other.url}/a2a/"})
        assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "correct"
        assert other.bodies == stranger.bodies
    finally:
        other.close()


def test_an_agent_of_0_2_is_asked_as_one_of_0_3(stranger: Stranger) -> None:
    stranger.version = "0.2.5"
    assert load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])[0].label == "correct"


def test_an_agent_without_json_rpc_is_asked_over_http_json(serve_model: Any, stranger: Stranger) -> None:
    import httpx

    running = serve_model(ScriptedModel(lambda r: "Wrong order"))
    card = httpx.get(f"{running.url}/.well-known/agent-card.json").json()
    for version in ("1.0", "0.3"):
        kept = [
            i for i in card["supportedInterfaces"]
            if (i["protocolBinding"], i["protocolVersion"]) == ("HTTP+JSON", version)
        ]  # fmt: skip
        named = {key: card[key] for key in ("name", "description", "version", "skills", "capabilities")}
        modes = {"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]}
        stranger.card = lambda: named | modes | {"supportedInterfaces": kept}  # type: ignore[method-assign]  # noqa: B023
        agent = load_agent(f"a2a:{stranger.url}")
        found = agent.detect_many([query("good/clip.mp4"), query("broken.mp4"), query("/etc/passwd")])
        assert [d.label for d in found] == ["Wrong order", None, None]
        assert [d.failure and d.failure.cause for d in found[:2]] == [None, "video"]
        assert "path refused" in str(found[2].failure)


def test_an_agent_that_speaks_otherwise_is_named_with_what_it_speaks(stranger: Stranger) -> None:
    card = stranger.card() | {"preferredTransport": "GRPC"}
    stranger.card = lambda: card  # type: ignore[method-assign]
    (found,) = load_agent(f"a2a:{stranger.url}").detect_many([query("v.mp4")])
    assert found.failure is not None
    assert "GRPC" in found.failure.message
    assert "JSONRPC and HTTP+JSON" in found.failure.message


def test_prompts_with_pictures_go_to_agents_that_take_any_question(stranger: Stranger) -> None:
    import numpy as np

    stranger.result = lambda body: message("two frames")
    frames = tuple(Frame(array=np.zeros((8, 8, 3), dtype=np.uint8), time=t) for t in (0.0, 1.0))
    replies = load_agent(f"a2a:{stranger.url}").generate([Request(prompt="How many?", frames=frames)])
    assert replies == [Reply(text="two frames")]
    kinds = [part["kind"] for part in stranger.bodies[0]["params"]["message"]["parts"]]
    assert kinds == ["text", "file", "file"]


def test_pictures_cannot_be_asked_about_and_fail_by_name(stranger: Stranger) -> None:
    agent = load_agent(f"a2a:{stranger.url}")
    asked = [Query(clip=Clip(()), procedure="p", action="a", id="1"), query("v.mp4")]
    first, second = agent.detect_many(asked)
    assert first.failure is not None
    assert "video file" in first.failure.message
    assert second.label == "correct"


def test_it_works_inside_a_running_loop(stranger: Stranger) -> None:
    import asyncio

    agent = load_agent(f"a2a:{stranger.url}")

    async def inside() -> str | None:
        return agent.detect_many([query("v.mp4")])[0].label

    assert asyncio.run(inside()) == "correct"


@pytest.mark.parametrize("name", ["a2a:", "a2a:host:9010", "a2a:ftp://host", "a2a:http://me:secret@host"])
def test_an_address_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="a2a:http://host:port"):
        load_agent(name)


def test_no_agent_at_an_address_is_an_error_at_once(stranger: Stranger) -> None:
    stranger.card_paths = set()
    with pytest.raises(ServerError, match="no agent at") as caught:
        load_agent(f"a2a:{stranger.url}")
    assert "agent.json" in str(caught.value)
    stranger.card_paths = {"/.well-known/agent-card.json"}
    stranger.close()
    with pytest.raises(ServerError, match="Is it running"):
        load_agent(f"a2a:{stranger.url}")
    stranger.close = lambda: None  # type: ignore[method-assign]
