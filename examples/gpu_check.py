"""Checks on a GPU, as one script that builds what it needs: placement, same answers, speed, memory.

    python examples/gpu_check.py                 # on a machine with a GPU
    python examples/gpu_check.py --device cpu    # the same on the CPU, to see that the script runs

Prints one table. No weights are downloaded: answers are compared on the shipped tabletop checkpoint, speed and memory
are measured on a Qwen2.5-VL with random weights and the layer sizes of the 3B model (fewer layers).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the tiny checkpoints beside this file

from ego_adr import Clip, EgoADR, Frame, Query, Request, load_model
from ego_adr.tabletop.episodes import demo_episode
from examples.tiny_checkpoint import build, qwen2_5_vl

Row = tuple[str, str, str]


def frames(count: int = 8, side: int = 448, seed: int = 0) -> tuple[Frame, ...]:
    pictures = np.random.default_rng(seed).integers(0, 255, (count, side, side, 3), dtype=np.uint8)
    return tuple(Frame(array=picture, time=index * 0.5) for index, picture in enumerate(pictures))


def timed(work: Callable[[], Any], device: str, runs: int = 3) -> float:
    """Median seconds of a few runs after one that is not counted."""
    seconds = []
    for run in range(runs + 1):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        if run:
            seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def wide_checkpoint(folder: Path, layers: int) -> Path:
    """Random weights in the layer sizes of Qwen2.5-VL-3B, with few layers and the tests' small vocabulary."""
    import transformers

    model, processor = qwen2_5_vl()
    config = model.config
    text, vision = config.text_config, config.vision_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = 2048, 11008, layers
    text.num_attention_heads, text.num_key_value_heads, text.head_dim = 16, 2, 128
    text.layer_types = None
    text.rope_parameters = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
    vision.out_hidden_size = 2048
    torch.manual_seed(0)
    wide = transformers.Qwen2_5_VLForConditionalGeneration(type(config)(**config.to_dict()))
    wide.generation_config = model.generation_config
    wide.generation_config.eos_token_id = wide.generation_config.pad_token_id = (
        processor.tokenizer.eos_token_id
    )
    wide.to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def same_answers(device: str, folder: Path) -> list[Row]:
    """The shipped checkpoint gives the same labels on this device as on the CPU, one by one and in batches."""
    rows = demo_episode(0, folder).rows
    queries = [
        Query(Clip(r["video"], r["start"], r["end"]), r["procedure"], r["action"], id=r["id"]) for r in rows
    ]

    def labels(where: str, size: int) -> list[tuple[str | None, str | None]]:
        model = load_model("tabletop", device=where, dtype="fp32")
        found = EgoADR(model, route="deep", cache=False, batch_size=size).detect_many(queries)
        return [(d.label, d.narration) for d in found]

    cpu, one, many = labels("cpu", 8), labels(device, 1), labels(device, 8)
    right = sum(label == row["label"] for (label, _), row in zip(many, rows, strict=True))
    return [
        (
            "tabletop fp32, labels and narrations equal to the CPU",
            f"{_equal(cpu, many)} of {len(rows)}",
            "all",
        ),
        ("tabletop fp32, batches of 8 equal to single calls", f"{_equal(one, many)} of {len(rows)}", "all"),
        ("tabletop fp32, labels as expected", f"{right} of {len(rows)}", "most"),
    ]


def _equal(a: Sequence[Any], b: Sequence[Any]) -> int:
    return sum(x == y for x, y in zip(a, b, strict=True))


def speed(device: str, checkpoint: Path, *, tokens: int) -> list[Row]:
    """Narrations a second alone and in batches, and a closed list scored over a shared prefix."""
    model = load_model(str(checkpoint), device=device)
    clips = [Request("What happens?", frames(seed=i), max_tokens=tokens) for i in range(8)]
    alone = timed(lambda: [model.generate([request]) for request in clips], device)
    batch = timed(lambda: model.generate(clips), device)
    choices = tuple(f"verdict number {i}" for i in range(9))
    long = "The procedure and what was seen. " * 40
    shared = timed(lambda: model.generate([Request(long, choices=choices)]), device)
    apart = timed(lambda: [model.generate([Request(long, choices=(c,))]) for c in choices], device)
    return [
        ("8 clips of 8 pictures, batch of 8 against single calls", f"{alone / batch:.2f} x", "> 1 on a GPU"),
        ("clips a second in batches", f"{len(clips) / batch:.2f}", ""),
        ("9 choices over a shared prefix against one by one", f"{apart / shared:.2f} x", "> 1"),
    ]


def memory(device: str, checkpoint: Path) -> list[Row]:
    """A batch that does not fit is answered in parts, and only what never fits fails."""
    if device != "cuda":
        return [("memory that is spent", "not asked without a GPU", "")]
    model = load_model(str(checkpoint), device=device)
    free, total = torch.cuda.mem_get_info()
    held = torch.cuda.memory_allocated()
    torch.cuda.set_per_process_memory_fraction(min(1.0, (held + 1.2 * 2**30) / total))
    requests = [Request("What happens?", frames(16, 896, seed=i), max_tokens=4) for i in range(8)]
    replies = model.generate(requests)
    torch.cuda.set_per_process_memory_fraction(1.0)
    answered = sum(reply.failure is None for reply in replies)
    notes = sorted({note for reply in replies for note in reply.notes})
    causes = sorted({reply.failure.cause for reply in replies if reply.failure})
    return [
        ("8 large clips in 1.2 GiB", f"{answered} answered, {8 - answered} failed {causes}", "no exception"),
        ("what had to be done", ", ".join(notes) or "nothing", ""),
        ("free before", f"{free / 2**30:.1f} GiB", ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument(
        "--tiny", action="store_true", help="the tests' tiny checkpoint in place of the wide one"
    )
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("there is no CUDA device here; --device cpu runs the same script on the CPU")
    from ego_adr.doctor import examine

    hardware = examine()["hardware"]
    table: list[Row] = [(key, str(value), "") for key, value in hardware.items() if key != "gpus"]
    table += [
        ("GPU", f"{g['name']}, {g['memory_gb']} GB, {g['capability']}", "") for g in hardware.get("gpus", [])
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        table += same_answers(arguments.device, folder / "clips")
        if arguments.tiny:
            checkpoint = build("qwen2_5_vl", folder / "tiny")
        else:
            checkpoint = wide_checkpoint(folder / "wide", arguments.layers)
        table += speed(arguments.device, checkpoint, tokens=8 if arguments.tiny else 64)
        table += memory(arguments.device, checkpoint)
    width = max(len(name) for name, _, _ in table)
    for name, value, wanted in table:
        print(f"{name:<{width}}  {value}" + (f"   (wanted: {wanted})" if wanted else ""))


if __name__ == "__main__":
    main()
