"""100 requests at once to the agent under test, 30 of them hostile: what came of each kind, and what was opened.

    python examples/agents/hostile_load.py [--requests 100] [--model tabletop] [--strace]

Starts the agent in a process of its own on a folder of clips, watches every file that it opens (the auditing
hook of Python; strace below it), and sends good questions, paths that lead out
of the folder, links, broken and huge bodies, deeply nested JSON, bombs of tags, and senders that never finish.
Prints one JSON object; the exit code is 1 when a good request was lost or a file outside was opened.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx

Sender = Callable[[httpx.AsyncClient, str], Awaitable[str]]
#: What the agent runs: the server, with every opening of a file noted.
SERVER = """
import os, sys
log = os.open(sys.argv[4], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        os.write(log, os.fsencode(args[0]) + b"\\n")
sys.addaudithook(note)
from ego_adr import EgoADR, ScriptedModel
from ego_adr.agents import serve
from ego_adr.agents.limits import Limits
model = sys.argv[1]
if model == "scripted":
    model = ScriptedModel(lambda request: "Wrong order")
detector = EgoADR(model, route="single-pass", cache=False)
serve(detector, video_root=sys.argv[2], port=int(sys.argv[3]), limits=Limits(body_seconds=3.0))
"""


def write_clip(path: Path) -> None:
    """Two seconds of grey becoming lighter."""
    import av
    import numpy as np

    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 112, 112, "yuv420p"
        for number in range(20):
            picture = np.full((112, 112, 3), 10 * number, dtype=np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(stream.encode())


def lay_out(base: Path) -> Path:
    """A root with clips and links out of it, and a secret beside it."""
    root = base / "videos"
    root.mkdir()
    for number in range(5):
        write_clip(root / f"clip{number}.mp4")
    shutil.copy(root / "clip0.mp4", base / "secret.mp4")
    (root / "link.mp4").symlink_to(base / "secret.mp4")
    (root / "up").symlink_to(base)
    return root


def question(video: str, step: str = "put the red cube on the blue ball") -> str:
    asked = f'Definitions.\n\nTask Procedure: 1. {step}. 2. stop.\n\nCurrent Step: "{step}"\n\n'
    return f"<video_path>{video}</video_path><question>{asked}</question><start_ts>0</start_ts><end_ts>1.5</end_ts>"


def message(text: str) -> dict[str, Any]:
    held = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": held}}


async def ask(http: httpx.AsyncClient, url: str, text: str) -> str:
    """What kind of answer a question gets: its label, ``refused``, or what else."""
    reply = (await http.post(url, json=message(text))).json()
    if "error" in reply:
        return "refused"
    result = reply["result"]
    return (
        str(result["parts"][0]["text"])
        if result["kind"] == "message"
        else f"task {result['status']['state']}"
    )


async def ask_path(path: str, http: httpx.AsyncClient, url: str) -> str:
    return await ask(http, url, question(path))


async def post(body: bytes, http: httpx.AsyncClient, url: str) -> str:
    try:
        reply = await http.post(url, content=body, headers={"Content-Type": "application/json"})
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        return "cut off"  # the agent answered and hung up before the last byte was sent
    return "refused" if reply.status_code >= 400 or "error" in reply.json() else "answered"


async def dawdle(opening: bytes, _: httpx.AsyncClient, url: str) -> str:
    """A sender that begins and never ends; the agent must hang up."""
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(opening)
    await writer.drain()
    try:
        await asyncio.wait_for(reader.read(), 30)
    except asyncio.TimeoutError:
        return "kept waiting"
    finally:
        writer.close()
    return "hung up on"


def hostile(base: Path) -> list[tuple[str, Sender]]:
    """Names and makers of hostile requests, taken in turn."""
    paths = {
        "parent folder": "../secret.mp4",
        "absolute path": "/etc/passwd",
        "absolute path beside the root": str(base / "secret.mp4"),
        "link to a file outside": "link.mp4",
        "link to a folder outside": "up/secret.mp4",
        "address": "file:///etc/passwd",
        "kernel file": "/proc/self/environ",
    }
    bodies = {
        "huge body": b"x" * (3 << 20),
        "half a JSON": json.dumps(message(question("clip0.mp4"))).encode()[:-40],
        "no JSON": b"\xff\xfe\x00\x01" * 100,
        "nested JSON": b'{"a":' * 100_000,
        "nested lists": b"[" * 500_000,
        "tag bomb": json.dumps(message("<question>" * 9_000)).encode(),
        "no question": json.dumps(message("open the pod bay doors")).encode(),
    }
    slow = {
        "silent sender": b"",
        "half a head": b"POST / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        "half a body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{",
    }
    made: list[tuple[str, Sender]] = []
    made += [(name, partial(ask_path, path)) for name, path in paths.items()]
    made += [(name, partial(post, body)) for name, body in bodies.items()]
    made += [(name, partial(dawdle, opening)) for name, opening in slow.items()]
    return made


async def load(url: str, base: Path, count: int) -> dict[str, Any]:
    """Send everything at once."""
    bad = hostile(base)
    number_bad = round(0.3 * count)
    limits = httpx.Limits(max_connections=count + 10)
    async with httpx.AsyncClient(timeout=600, trust_env=False, limits=limits) as http:

        async def timed(work: Awaitable[str]) -> tuple[str, float]:
            begin = time.perf_counter()
            try:
                return await work, time.perf_counter() - begin
            except (httpx.HTTPError, OSError) as exc:
                return f"{type(exc).__name__}", time.perf_counter() - begin

        jobs: list[tuple[str, Awaitable[tuple[str, float]]]] = []
        for number in range(count):
            if number * number_bad // count != (number + 1) * number_bad // count:
                name, make = bad[len([1 for kind, _ in jobs if kind != "good"]) % len(bad)]
                jobs.append((name, timed(make(http, url))))
            else:
                jobs.append(("good", timed(ask(http, url, question(f"clip{number % 5}.mp4")))))
        begin = time.perf_counter()
        came = await asyncio.gather(*(job for _, job in jobs))
        seconds = time.perf_counter() - begin
        alive = (await http.get(f"{url}/ready")).json()
    kinds: dict[str, Counter[str]] = {}
    for (name, _), (outcome, _) in zip(jobs, came, strict=True):
        kinds.setdefault(name, Counter())[outcome] += 1
    good = sorted(t for (name, _), (_, t) in zip(jobs, came, strict=True) if name == "good")
    answered = sum(n for outcome, n in kinds["good"].items() if outcome in LABELS)
    turned_away = sum(
        n for name, found in kinds.items() if name != "good" for o, n in found.items() if o in TURNED_AWAY
    )
    return {
        "requests": count,
        "good": len(good),
        "good_answered": answered,
        "hostile": number_bad,
        "hostile_turned_away": turned_away,
        "seconds": round(seconds, 1),
        "good_median_seconds": round(good[len(good) // 2], 2),
        "good_slowest_seconds": round(good[-1], 2),
        "kinds": {name: dict(found) for name, found in kinds.items()},
        "after": alive,
    }


def labels() -> set[str]:
    from ego_adr.taxonomies import load_taxonomy

    return set(load_taxonomy().names)


LABELS = labels()
TURNED_AWAY = ("refused", "hung up on", "cut off")


def opened_outside(log: Path, base: Path, root: Path) -> list[str]:
    """Files below ``base`` but not below ``root`` that were opened, and system files that were asked for."""
    found = set()
    for line in log.read_text(errors="replace").splitlines():
        path = Path(os.path.realpath(line))
        secret = path.is_relative_to(base) and not path.is_relative_to(root) and path != log
        if secret or str(path) in ("/etc/passwd",) or str(path).endswith("/environ"):
            found.add(line)
    return sorted(found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument(
        "--model", default="scripted", help="scripted (default), tabletop, or any model's name"
    )
    parser.add_argument(
        "--strace", action="store_true", help="also watch what libraries open below Python (slow)"
    )
    given = parser.parse_args()
    if given.strace and not shutil.which("strace"):
        parser.error("strace is not installed")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        root = lay_out(base)
        log = base / "opened.log"
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-c", SERVER, given.model, str(root), str(port), str(log)]
        strace = shutil.which("strace") if given.strace else None
        trace = base / "trace.log"
        if strace:  # sees what libraries open below Python, too
            command = [strace, "-D", "-f", "-e", "trace=open,openat", "-o", str(trace), *command]
        server = subprocess.Popen(command)
        try:
            until = time.monotonic() + 180
            while time.monotonic() < until:
                try:
                    if httpx.get(f"{url}/ready", trust_env=False).status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.2)
            log.write_text("")  # what the start opened is of no interest
            found = asyncio.run(load(url, base, given.requests))
        finally:
            server.send_signal(signal.SIGTERM)
            found_exit = server.wait(60)
        found["opened_outside_root"] = opened_outside(log, base, root)
        found["watched_by"] = "Python's audit hook" + (" and strace" if strace else "")
        if strace:
            text = trace.read_text(errors="replace")
            found["opened_outside_root"] += [
                name for name in ("secret.mp4", "/etc/passwd") if f'{name}"' in text
            ]
        found["exit_code_of_agent"] = found_exit
    print(json.dumps(found, indent=2))
    lost = found["good"] - found["good_answered"]
    return 1 if lost or found["opened_outside_root"] else 0


if __name__ == "__main__":
    sys.exit(main())
