"""A real server on this machine: ``transformers serve`` with the checkpoint that comes with the package.

It needs FastAPI, which the development extra brings.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ego_adr import Clip, EgoADR, Query
from ego_adr.cli import app
from ego_adr.models.endpoint import EndpointModel, load_endpoint
from ego_adr.testing import tabletop_checkpoint, tabletop_model
from ego_adr.types import Request


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("fastapi", reason="transformers serve needs FastAPI")
    program = Path(sys.executable).parent / "transformers"
    checkpoint = str(tabletop_checkpoint())
    if not program.is_file() or not (Path(checkpoint) / "config.json").is_file():
        pytest.skip("there is no transformers program, or no checkpoint, beside this Python")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    command = [
        str(program),
        "serve",
        checkpoint,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, **quiet)
    try:
        end = time.monotonic() + 240
        while time.monotonic() < end and server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1#{checkpoint}"
    finally:
        server.terminate()
        server.wait(60)


@pytest.fixture(scope="module")
def served(address: str) -> Iterator[EndpointModel]:
    with load_endpoint(address, concurrency=2) as model:
        yield model


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> list[Query]:
    """The demo's questions, on its clips."""
    from ego_adr.tabletop.episodes import demo_episode

    rows = demo_episode(0, tmp_path_factory.mktemp("demo")).rows
    return [
        Query(Clip(r["video"], r["start"], r["end"]), r["procedure"], r["action"], id=r["id"]) for r in rows
    ]


def test_text_is_answered_as_by_the_same_checkpoint_in_this_process(
    served: EndpointModel, queries: list[Query]
) -> None:
    detections = EgoADR(tabletop_model(), route="deep", cache=False).detect_many(queries)
    asked = [
        (exchange.prompt, exchange.reply)
        for found in detections
        for exchange in found.exchanges
        if not exchange.frames
    ]
    assert asked
    replies = served.generate([Request(prompt=prompt, max_tokens=64) for prompt, _ in asked])
    assert [reply.failure for reply in replies] == [None] * len(asked)
    assert [reply.text for reply in replies] == [text for _, text in asked]
    assert served.abilities.text_only is True


def test_eight_pictures_a_request_are_taken(served: EndpointModel, queries: list[Query]) -> None:
    from ego_adr.video import sample_clip

    frames = tuple(sample_clip(queries[0].clip, 8, warn=False))
    (reply,) = served.generate([Request(prompt="what happens", frames=frames, max_tokens=32)])
    assert reply.failure is None
    assert reply.text
    assert reply.prompt_tokens is not None
    assert reply.prompt_tokens > 8


def test_extras_that_it_ignores_are_found_out(served: EndpointModel) -> None:
    request = Request(prompt="is it right ?", choices=("correct", "Wrong order"), max_tokens=16)
    (reply,) = served.generate([request])
    assert reply.failure is None
    assert reply.scores is None
    assert served.prompts == tabletop_checkpoint() / "prompts"
    assert served.abilities.logprobs is False


def test_the_demo_clips_are_narrated_and_labelled_as_in_this_process(
    served: EndpointModel, queries: list[Query]
) -> None:
    here = EgoADR(tabletop_model(), route="deep", cache=False).detect_many(queries)
    there = EgoADR(served, route="deep", cache=False).detect_many(queries)
    assert [(d.label, d.narration) for d in there] == [(d.label, d.narration) for d in here]


def test_detect_asks_the_server_and_says_the_same(address: str, queries: list[Query], tmp_path: Path) -> None:
    here = EgoADR(tabletop_model(), cache=False).detect_many(queries)
    for query, expected in zip(queries, here, strict=True):
        procedure = tmp_path / "procedure.md"
        procedure.write_text(str(query.procedure))
        clip = query.clip
        asked = [
            str(clip.source),
            "--start",
            str(clip.start),
            "--end",
            str(clip.end),
            "--action",
            query.action,
        ]
        told = CliRunner().invoke(
            app, ["detect", *asked, "--procedure", str(procedure), "--model", address, "--no-cache", "--json"]
        )
        assert told.exit_code == 0, told.output
        found = json.loads(told.stdout)
        assert (found["route"], found["label"], found["narration"]) == (
            "deep",
            expected.label,
            expected.narration,
        )
