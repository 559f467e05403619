"""Models behind servers, against a real server on this machine."""

from __future__ import annotations

import base64
import io
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ego_adr.errors import InputError, ModelError, ModelNotFoundError, ServerError
from ego_adr.models.endpoint import EndpointModel, load_endpoint
from ego_adr.types import Frame, Reply, Request

pytest.importorskip("openai")

Said = tuple[int, dict[str, str], Any]


def chat(content: Any, *, finish: str | None = "stop", **message: Any) -> Said:
    body = {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 3},
    }
    return 200, {}, body


def refused(message: str, status: int = 400) -> Said:
    return status, {}, {"object": "error", "message": message, "code": status}


class Server:
    """Answers posts with what `answer` makes of their body, and remembers them."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], Said] = lambda body: chat("correct")
        self.models: Said = (200, {}, {"data": [{"id": "m"}]})
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.say(outer.models)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.bodies.append(body)
                    outer.headers.append({name.title(): value for name, value in self.headers.items()})
                    outer.times.append(time.monotonic())
                    outer._now += 1
                    outer.most = max(outer.most, outer._now)
                try:
                    self.say(outer.answer(body))
                finally:
                    with outer._lock:
                        outer._now -= 1

            def say(self, said: Said) -> None:
                status, headers, body = said
                text = body if isinstance(body, str) else json.dumps(body)
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self._thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def script(self, *said: Said) -> None:
        """Answer with these, in order; the last one again and again."""
        left = list(said)
        self.answer = lambda body: left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def load(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., EndpointModel]]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EGO_ADR_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    opened: list[EndpointModel] = []

    def make(name: str | None = None, **options: Any) -> EndpointModel:
        model = load_endpoint(name or f"{server.url}#m", **options)
        opened.append(model)
        return model

    yield make
    for model in opened:
        model.close()


def frames(count: int = 8) -> tuple[Frame, ...]:
    return tuple(
        Frame(array=np.full((12, 16, 3), 20 * i, dtype=np.uint8), time=i * 0.5) for i in range(count)
    )


def ask(model: EndpointModel, prompt: str = "Was it right?", **more: Any) -> Reply:
    (reply,) = model.generate([Request(prompt=prompt, **more)])
    return reply


# --------------------------------------------------------------------------------------------- what is sent


def test_pictures_go_in_order_each_after_its_time_and_the_prompt_comes_last(
    server: Server, load: Any
) -> None:
    from PIL import Image

    ask(load(), frames=frames(3), max_tokens=40)
    (body,) = server.bodies
    assert body["model"] == "m"
    assert body["max_tokens"] == 40
    content = body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"] * 3 + ["text"]
    assert [part["text"] for part in content if part["type"] == "text"] == [
        "0.00 s",
        "0.50 s",
        "1.00 s",
        "Was it right?",
    ]
    for number, part in enumerate(content[1:6:2]):
        head, _, data = part["image_url"]["url"].partition(",")
        assert head == "data:image/jpeg;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            assert picture.format == "JPEG"
            assert picture.size == (16, 12)
            assert abs(int(np.asarray(picture).mean()) - 20 * number) <= 2


def test_a_request_without_pictures_is_text_alone(server: Server, load: Any) -> None:
    model = load()
    assert ask(model).text == "correct"
    assert server.bodies[0]["messages"][0]["content"] == "Was it right?"
    assert model.abilities.text_only is True


def test_replies_keep_the_order_of_the_requests_and_the_bound_is_kept(server: Server, load: Any) -> None:
    def answer(body: dict[str, Any]) -> Said:
        number = int(body["messages"][0]["content"])
        time.sleep(0.002 * (19 - number))
        return chat(str(number))

    server.answer = answer
    replies = load(concurrency=3).generate([Request(prompt=str(i)) for i in range(20)])
    assert [reply.text for reply in replies] == [str(i) for i in range(20)]
    assert 1 < server.most <= 3


# ------------------------------------------------------------------------------------------ public cases


@pytest.mark.parametrize("case", ["71a", "71b", "71c", "71d"])
def test_the_public_cases_of_servers(case: str, server: Server, load: Any, load_cases: Any) -> None:
    from ego_adr.parsing import Unparsed, parse_label
    from ego_adr.taxonomies import Taxonomy

    (given,) = [held for held in load_cases("http back end") if held["id"] == case]
    response, expected = given["input"]["response"], given["expected"]
    said = [response] + ([response["then"]] if "then" in response else [])
    server.script(*[(held["status"], held.get("headers", {}), held.get("body", {})) for held in said])
    begin = time.monotonic()
    reply = ask(load(), frames=frames(8))
    if case == "71b":
        assert reply.failure is not None
        assert expected["message_mentions"] in reply.failure.message
        assert len(server.bodies) - 1 == expected["retries"]
        return
    assert reply.failure is None
    verdict = parse_label(reply.text, Taxonomy.load(), finish_reason=reply.finish_reason)
    if case == "71c":
        assert time.monotonic() - begin >= 2
        assert not isinstance(verdict, Unparsed)
        assert verdict.label == expected["answer"]
    else:
        assert isinstance(verdict, Unparsed)
        assert ("truncated" if case == "71d" else "empty") in verdict.reason


# --------------------------------------------------------------------------------- replies that are none


def test_reasoning_is_the_answer_only_when_that_is_asked_for(server: Server, load: Any) -> None:
    for name in ("reasoning_content", "reasoning"):
        server.script(chat(None, **{name: "Wrong order"}))
        reply = ask(load())
        assert (reply.text, reply.finish_reason) == ("", "stop")
        assert any("reasoning only" in note for note in reply.notes)
        assert ask(load(use_reasoning=True)).text == "Wrong order"


def test_reasoning_beside_an_answer_is_left_out(server: Server, load: Any) -> None:
    server.script(chat("correct", reasoning_content="Is it Wrong order? No."))
    assert ask(load(use_reasoning=True)).text == "correct"


def test_a_limit_that_was_spent_on_reasoning_is_truncated_and_says_so(server: Server, load: Any) -> None:
    server.script(chat("", finish="length", reasoning_content="Let me see, the person"))
    reply = ask(load())
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert any("token limit" in note for note in reply.notes)


@pytest.mark.parametrize(
    ("said", "text", "note"),
    [
        (chat(None), "", "empty content"),
        (chat("  "), "  ", "empty content"),
        (chat(None, refusal="I cannot look at people."), "", "I cannot look at people."),
        (chat(None, tool_calls=[{"id": "1"}]), "", "tool"),
        (chat([{"type": "text", "text": "corr"}, {"type": "text", "text": "ect"}]), "correct", None),
        (chat("correct", finish=None), "correct", None),
        (chat("<|assistant|>correct"), "correct", None),
        (chat("<|im_start|>assistant\nWrong order<|im_end|>\n<|endoftext|>"), "Wrong order", None),
        (chat("<|start_header_id|>assistant<|end_header_id|>\n\ncorrect<|eot_id|>"), "correct", None),
        (
            chat("<think>so</think>assistants are <|assistant|> marked"),
            "<think>so</think>assistants are <|assistant|> marked",
            None,
        ),
        (chat("corr", finish="content_filter"), "corr", "content filter"),
    ],
)
def test_odd_replies_are_read_and_told_apart(
    server: Server, load: Any, said: Said, text: str, note: str | None
) -> None:
    server.script(said)
    reply = ask(load())
    assert reply.failure is None
    assert reply.text == text
    assert (note is None and not reply.notes) or any(str(note) in line for line in reply.notes)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {},
        "<html>Welcome</html>",
        {"error": {"message": "upstream is gone"}},
        [1],
        {"choices": [{"message": None}]},
        {"choices": [{"finish_reason": "stop"}]},
    ],
)
def test_an_answer_that_is_no_completion_fails_that_request(server: Server, load: Any, body: Any) -> None:
    server.script((200, {}, body))
    reply = ask(load())
    assert reply.failure is not None
    assert reply.failure.cause == "server"
    if isinstance(body, dict) and "error" in body:
        assert "upstream is gone" in reply.failure.message


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("message", "cause", "remedy"),
    [
        ("At most 4 image(s) may be provided in one prompt.", "too many pictures", "--limit-mm-per-prompt"),
        (
            "You set image=1 in --limit-mm-per-prompt, 8 were given",
            "too many pictures",
            "--limit-mm-per-prompt",
        ),
        ("Too many images in request: 8", "too many pictures", "--limit-mm-per-prompt"),
        ("This model's maximum context length is 4096 tokens, you sent 9000.", "context length", "num_ctx"),
        ("the input length exceeds the context length", "context length", "num_ctx"),
        (
            "request (9000 tokens) exceeds the available context size (4096 tokens)",
            "context length",
            "--ctx-size",
        ),
        ("The model does not support image input", "pictures refused", "--mmproj"),
        ("unknown variant `image_url`, expected `text`", "pictures refused", "--limit-mm-per-prompt"),
        ("m is not a multimodal model", "pictures refused", "--limit-mm-per-prompt"),
    ],
)
def test_a_refusal_of_the_input_is_final_and_names_the_switch(
    server: Server, load: Any, message: str, cause: str, remedy: str
) -> None:
    server.script(refused(message))
    reply = ask(load(), frames=frames(8))
    assert reply.failure is not None
    assert reply.failure.cause == cause
    assert message in reply.failure.message
    assert remedy in reply.failure.message
    assert len(server.bodies) == 1


def test_the_most_pictures_a_server_takes_are_remembered(server: Server, load: Any) -> None:
    server.answer = lambda body: (
        refused("At most 2 image(s) may be provided in one request.")
        if len(body["messages"][0]["content"]) > 5
        else chat("correct")
    )
    model = load()
    assert ask(model, frames=frames(8)).failure is not None
    again = ask(model, frames=frames(8))
    assert again.failure is not None
    assert "--limit-mm-per-prompt" in again.failure.message
    assert len(server.bodies) == 1, "what is known is not asked again"
    assert ask(model, frames=frames(2)).text == "correct"
    assert model.abilities.images == 2


def test_a_text_prompt_that_needs_a_picture_says_so_by_its_own_cause(server: Server, load: Any) -> None:
    server.script(refused("an image is required", 422))
    model = load()
    reply = ask(model)
    assert reply.failure is not None
    assert reply.failure.cause == "no text-only input"
    assert model.abilities.text_only is False


def test_fields_that_a_server_refuses_are_left_out_from_then_on(server: Server, load: Any) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if "seed" in body:
            said = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
            return 422, {}, said
        return chat("correct")

    server.answer = answer
    model = load()
    assert [ask(model).text, ask(model).text] == ["correct", "correct"]
    assert ["seed" in body for body in server.bodies] == [True, False, False]
    assert all(body["temperature"] == 0 for body in server.bodies)


def test_a_server_that_does_not_say_what_it_refuses_is_asked_with_the_least(
    server: Server, load: Any
) -> None:
    server.answer = lambda body: refused("bad request") if "temperature" in body else chat("correct")
    model = load()
    assert [ask(model).text, ask(model).text] == ["correct", "correct"]
    assert set(server.bodies[-1]) == {"model", "messages", "max_tokens"}
    assert len(server.bodies) == 3


def test_the_renamed_token_limit_is_learnt(server: Server, load: Any) -> None:
    server.answer = lambda body: (
        refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "max_tokens" in body
        else chat("correct")
    )
    model = load()
    assert ask(model, max_tokens=7).text == "correct"
    assert server.bodies[-1]["max_completion_tokens"] == 7


def test_a_refusal_that_stays_is_a_failure_of_that_request(server: Server, load: Any) -> None:
    server.script(refused("no such thing"))
    reply = ask(load(), frames=frames(2))
    assert reply.failure is not None
    assert reply.failure.cause == "refused"
    assert "no such thing" in reply.failure.message
    assert len(server.bodies) == 2


# ------------------------------------------------------------------------------------------ busy and dead


def test_a_date_in_retry_after_is_waited_for(server: Server, load: Any) -> None:
    from email.utils import formatdate

    busy: Said = (503, {"Retry-After": formatdate(time.time() + 2, usegmt=True)}, {"error": "loading"})
    server.script(busy, chat("correct"))
    assert ask(load()).text == "correct"
    assert server.times[1] - server.times[0] >= 0.9


def test_a_server_that_asks_for_more_patience_than_there_is_fails_at_once(server: Server, load: Any) -> None:
    server.script((429, {"Retry-After": "3600"}, {"error": {"message": "slow down"}}))
    reply = ask(load(patience=10))
    assert reply.failure is not None
    assert reply.failure.cause == "rate limit"
    assert "3600 s" in reply.failure.message
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_waiting_for_a_busy_server_has_an_end(server: Server, load: Any, status: int) -> None:
    server.script((status, {"Retry-After": "0.01"}, {"error": "busy"}))
    reply = ask(load())
    assert reply.failure is not None
    assert reply.failure.cause == ("rate limit" if status == 429 else "server")
    assert 2 <= len(server.bodies) <= 6


def test_one_request_that_breaks_the_server_does_not_take_the_others_with_it(
    server: Server, load: Any
) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if body["messages"][0]["content"] == "bad":
            return 500, {"Retry-After": "0.01"}, {"error": "CUDA out of memory"}
        return chat("correct")

    server.answer = answer
    replies = load().generate([Request(prompt=text) for text in ("good", "bad", "good")])
    assert [reply.failure is None for reply in replies] == [True, False, True]


def test_a_spent_quota_is_not_waited_for(server: Server, load: Any) -> None:
    server.script((429, {}, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}))
    reply = ask(load())
    assert reply.failure is not None
    assert len(server.bodies) == 1


def test_an_answer_that_takes_too_long_is_a_timeout_of_that_request(server: Server, load: Any) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if body["messages"][0]["content"] == "slow":
            time.sleep(0.6)
        return chat("correct")

    server.answer = answer
    slow, quick = load(timeout=0.25).generate([Request(prompt="slow"), Request(prompt="quick")])
    assert slow.failure is not None
    assert slow.failure.cause == "timeout"
    assert quick.text == "correct"


def test_a_dead_server_is_an_error_that_names_the_address(server: Server, load: Any) -> None:
    model = load()
    server.close()
    begin = time.monotonic()
    with pytest.raises(ServerError, match=r"127\.0\.0\.1.*Is the server running"):
        ask(model)
    assert time.monotonic() - begin < 5
    server.http.shutdown = lambda: None  # type: ignore[method-assign]


def test_an_unknown_model_is_an_error_that_lists_those_there_are(server: Server, load: Any) -> None:
    server.script((404, {}, {"error": {"message": "The model `x` does not exist"}}))
    server.models = (200, {}, {"data": [{"id": "qwen"}, {"id": "llava"}]})
    with pytest.raises(ModelNotFoundError, match="qwen, llava"):
        ask(load(f"{server.url}#x"))


def test_an_address_without_a_model_takes_the_only_one(server: Server, load: Any) -> None:
    assert load(server.url).name == f"{server.url}#m"
    server.models = (200, {}, {"data": [{"id": "a"}, {"id": "b"}]})
    with pytest.raises(ModelNotFoundError, match="several: a, b"):
        load(server.url)


# ------------------------------------------------------------------------------------------ closed answers

LABELS = ("correct", "Wrong object", "Wrong order")


def scored(text: str, *tokens: tuple[str, dict[str, float]]) -> Said:
    status, headers, body = chat(text)
    body["choices"][0]["logprobs"] = {
        "content": [
            {
                "token": said,
                "logprob": math.log(listed[said]),
                "top_logprobs": [{"token": other, "logprob": math.log(p)} for other, p in listed.items()],
            }
            for said, listed in tokens
        ]
    }
    return status, headers, body


def test_closed_answers_are_scored_and_open_branches_asked_for(server: Server, load: Any) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if body["structured_outputs"]["choice"] == list(LABELS):
            return scored("correct", ("correct", {"correct": 0.6, "Wrong": 0.4}))
        return scored("Wrong order", ("Wrong", {"Wrong": 1.0}), (" order", {" order": 0.75, " object": 0.25}))

    server.answer = answer
    model = load()
    reply = ask(model, choices=LABELS)
    assert reply.text == "correct"
    assert reply.scores is not None
    assert [score.choice for score in reply.scores] == list(LABELS)
    assert [math.exp(score.logprob) for score in reply.scores] == [pytest.approx(p) for p in (0.6, 0.1, 0.3)]
    assert server.bodies[1]["structured_outputs"]["choice"] == ["Wrong object", "Wrong order"]
    assert model.abilities.choices == "structured_outputs"


def test_a_server_that_only_knows_schemas_is_found_out_once(server: Server, load: Any) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if "structured_outputs" in body:
            return refused("unknown field: structured_outputs", 422)
        if "logprobs" in body:
            return refused("logprobs is not supported by this model")
        assert body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == list(
            LABELS
        )
        return chat('{"answer": "Wrong order"}')

    server.answer = answer
    model = load()
    for _ in range(2):
        reply = ask(model, choices=LABELS)
        assert (reply.text, reply.scores, reply.failure) == ("Wrong order", None, None)
    assert len(server.bodies) == 4, "three to find out, one that knows"


def test_a_server_that_ignores_the_extras_is_not_trusted(server: Server, load: Any) -> None:
    server.script(chat("The step was done in the wrong order."))
    model = load()
    reply = ask(model, choices=LABELS)
    assert reply.text == "The step was done in the wrong order."
    assert reply.scores is None
    assert model.abilities.choices == "none"
    assert model.abilities.logprobs is False
    asked = len(server.bodies)
    ask(model, choices=LABELS)
    assert len(server.bodies) == asked + 1
    assert set(server.bodies[-1]) == {"model", "messages", "max_tokens", "temperature", "seed"}


def test_a_server_that_breaks_over_the_extras_is_asked_without(server: Server, load: Any) -> None:
    server.answer = lambda body: (
        (500, {}, {"error": "KeyError"})
        if {"structured_outputs", "response_format", "logprobs"} & set(body)
        else chat("Wrong order.")
    )
    begin = time.monotonic()
    reply = ask(load(), choices=LABELS)
    assert reply.failure is None
    assert reply.text == "Wrong order"
    assert time.monotonic() - begin < 2


def test_many_closed_questions_at_once_find_out_once(server: Server, load: Any) -> None:
    server.answer = lambda body: (
        refused("structured_outputs: unknown", 400)
        if "structured_outputs" in body
        else chat('{"answer": "correct"}')
    )
    replies = load().generate([Request(prompt=str(i), choices=LABELS) for i in range(12)])
    assert {reply.text for reply in replies} == {"correct"}
    assert sum("structured_outputs" in body for body in server.bodies) == 1


# ---------------------------------------------------------------------------------------- keys and names


def test_a_key_comes_from_the_environment_and_shows_nowhere(
    server: Server, load: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("EGO_ADR_API_KEY", "sk-very-secret")
    server.script(refused("the key sk-very-secret may not do this"))
    model = load()
    before = model.fingerprint
    reply = ask(model)
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"
    assert reply.failure is not None
    shown = repr([reply, model, model.name, model.fingerprint, vars(model)]) + caplog.text
    assert "sk-very-secret" not in shown
    monkeypatch.setenv("EGO_ADR_API_KEY", "sk-another-one")
    assert load().fingerprint == before, "another key is not another model"
    server.script((401, {}, {"error": {"message": "Incorrect API key: sk-another-one"}}))
    with pytest.raises(ServerError, match="EGO_ADR_API_KEY") as caught:
        ask(load())
    assert "sk-another-one" not in str(caught.value)


def test_the_key_of_another_service_is_not_sent_to_an_address(
    server: Server, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    ask(load())
    assert "sk-openai" not in str(server.headers[0])
    assert "org-mine" not in str(server.headers[0])
    ask(load(key_variable="OPENAI_API_KEY"))
    assert server.headers[1]["Authorization"] == "Bearer sk-openai"


def test_openai_names_follow_the_environment(
    server: Server, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        load("openai:gpt-4o")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    model = load("openai:gpt-4o")
    assert model.name == "openai:gpt-4o"
    assert ask(model).text == "correct"
    assert server.bodies[0]["model"] == "gpt-4o"


@pytest.mark.parametrize(
    "name",
    [
        "openai:",
        "http://",
        "http://:8000/v1#m",
        "http://host:port/v1#m",
        "http://me:secret@host/v1#m",
        "http://host/v1?api-key=secret#m",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_what_is_in_it(
    load: Any, name: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(name)
    assert "secret" not in str(caught.value)


def test_the_fingerprint_changes_with_what_changes_answers(load: Any, server: Server) -> None:
    made = [
        load(),
        load(f"{server.url}#other"),
        load(jpeg_quality=50),
        load(use_reasoning=True),
        load(extra={"top_k": 1}),
    ]
    assert len({model.fingerprint for model in made}) == len(made)
    assert load(concurrency=2, timeout=9).fingerprint == made[0].fingerprint


def test_a_prompt_that_the_server_cut_is_told(server: Server, load: Any) -> None:
    status, headers, body = chat("correct")
    body["usage"]["prompt_tokens"] = 20
    server.script((status, headers, body))
    reply = ask(load(), prompt="word " * 500)
    assert any("num_ctx" in note for note in reply.notes)
    assert not ask(load(), prompt="short").notes


def test_prompts_that_came_with_a_checkpoint_are_used_where_it_lies_on_this_machine(
    server: Server, load: Any, tmp_path: Path
) -> None:
    (tmp_path / "prompts").mkdir()
    assert load(f"{server.url}#{tmp_path}").prompts == tmp_path / "prompts"
    assert load(f"{server.url}#some/model").prompts is None
    assert load().prompts is None
