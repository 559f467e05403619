"""Trains the tabletop model. Resumable, seeded, on CPU; the learning rate follows the wall clock, so that
its decay always completes.

    python examples/tabletop/train.py --out runs/tabletop --minutes 75
    python examples/tabletop/train.py --out runs/vision --minutes 12 --start runs/tabletop --no-text

Prints one line every 20 steps and validates on fresh clips every few minutes. The run folder holds
`state.pt` (to resume), `curve.jsonl` and `checkpoint/` (loadable by plain transformers).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.multiprocessing as multiprocessing
from torch import Tensor, nn
from torch.nn import functional
from transformers import Qwen2_5_VLForConditionalGeneration

from ego_adr.tabletop.language import COLOURS, KINDS, SHAPES
from examples.tabletop.fast import begin_of_text, hidden, seen_at
from examples.tabletop.model import FRAMES, HIDDEN, build_model, save_checkpoint, vocabulary
from examples.tabletop.muon import Muon
from examples.tabletop.samples import (
    ROLES,
    Clip,
    Sample,
    draw_clip,
    narrate_sample,
    text_sample,
    whole_sample,
)

CHUNK = 256
"""Clips rendered at a time."""
KEPT_CHUNKS = 12
REUSE = 3.0
"""How often a clip is used on average (mirrored half of the time)."""
NARRATED, WHOLE, TEXTS = 12, 3, 20
"""Clips with the question `watch` and with a step, each as often as a video and as pictures; texts."""
WARM_UP = 60
CONSTANT = 0.2
TEXT_WORDS = [
    "seen",
    "step",
    "before",
    "after",
    "judge",
    "match",
    "action",
    "same",
    "different",
    "agree",
    "yes",
    "answer",
    "think",
]
COMPARED_LAYERS = (1, 2)
ROLE_LAYERS = (2, 3)


class Heads(nn.Module):  # type: ignore[misc]
    """Auxiliary readers, used in training alone."""

    def __init__(self) -> None:
        super().__init__()
        self.colour = nn.Linear(HIDDEN, len(COLOURS) + 1)
        self.shape = nn.Linear(HIDDEN, len(SHAPES) + 1)
        self.role = nn.ModuleList(nn.Linear(HIDDEN, len(ROLES)) for _ in ROLE_LAYERS)
        self.equal = nn.ModuleList(nn.Linear(HIDDEN, 2) for _ in COMPARED_LAYERS)


class Group(NamedTuple):
    """Samples of one form that go through the model together."""

    name: str
    samples: list[Sample]
    clips: list[Clip] | None
    mirror: list[bool]
    weight: float
    as_pictures: bool = False


def render_forever(queue: Any, seed: int, first: int) -> None:
    """Worker: puts chunk after chunk of clips into the queue."""
    torch.set_num_threads(1)
    for number in range(first, 10**9):
        rng = random.Random(f"{seed}/{number}")
        queue.put([draw_clip(rng, KINDS[i % len(KINDS)]) for i in range(CHUNK)])


def weights_for_muon(model: nn.Module) -> list[Tensor]:
    """The two-dimensional matrices of layers, blocks and merger."""
    return [
        p
        for name, p in model.named_parameters()
        if p.ndim == 2 and "embed_tokens" not in name and "lm_head" not in name
    ]


def initialise(model: nn.Module, seed: int) -> None:
    """Larger first weights than the library's: this model is narrow."""
    generator = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if "embed_tokens" in name or "lm_head" in name:
            p.data.normal_(0, 0.05, generator=generator)
        elif p.ndim >= 2:
            small = 0.3 if name.endswith(("o_proj.weight", "down_proj.weight", "attn.proj.weight")) else 1.0
            p.data.normal_(0, small * p[0].numel() ** -0.5, generator=generator)


def forget_text(model: Any, seed: int) -> None:
    """Gives the words that only questions about text use fresh vectors: what was known of them is gone."""
    table = model.model.language_model.embed_tokens.weight.data
    entries = vocabulary()
    generator = torch.Generator().manual_seed(seed)
    for word in TEXT_WORDS:
        table[entries.index(word)] = 0.05 * torch.randn(table.shape[1], generator=generator)


def begin_with(place: Path, model: Any, heads: Heads) -> None:
    """Takes the weights of a run, or of a checkpoint alone: the auxiliary readers then begin anew."""
    if (place / "state.pt").exists():
        held = torch.load(place / "state.pt", weights_only=True)
        model.load_state_dict(held["model"])
        heads.load_state_dict(held["heads"])
        return
    model.load_state_dict(Qwen2_5_VLForConditionalGeneration.from_pretrained(place).float().state_dict())


def pad(samples: Sequence[Sample]) -> Tensor:
    """Right-padded ids (batch, length); padding is token 0."""
    length = max(len(s.ids) for s in samples)
    out = torch.zeros(len(samples), length, dtype=torch.long)
    for row, sample in enumerate(samples):
        out[row, : len(sample.ids)] = torch.tensor(sample.ids)
    return out


def frames_of(clips: Sequence[Clip], mirror: Sequence[bool]) -> Tensor:
    """uint8 frames (clips, 8, 112, 112, 3)."""
    stack = torch.stack([torch.from_numpy(clip.pixels) for clip in clips])
    flip = torch.tensor(mirror)
    if flip.any():
        stack[flip] = stack[flip].flip(3)
    return stack


def targets_of(clips: Sequence[Clip], mirror: Sequence[bool], name: str) -> Tensor:
    """Cell targets (clips, 8 frames, 16 cells, classes) of the attribute `name`."""
    rows = []
    for clip, flip in zip(clips, mirror, strict=True):
        table = torch.from_numpy(getattr(clip, name)).view(FRAMES, 4, 4, -1)
        rows.append((table.flip(2) if flip else table).flatten(1, 2))
    return torch.stack(rows)


def soft_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy against shares instead of a class, averaged over cells."""
    return -(target * functional.log_softmax(logits.float(), -1)).sum(-1).mean()


def batch_loss(
    model: Any,
    heads: Heads,
    samples: Sequence[Sample],
    clips: Sequence[Clip] | None,
    mirror: Sequence[bool],
    dtype: torch.dtype,
    *,
    as_pictures: bool = False,
) -> dict[str, Tensor]:
    """The parts of the loss of one group of samples, all of one form (video, pictures, text); `exact` is a
    share, not a loss.
    """
    ids = pad(samples)
    frames = frames_of(clips, mirror) if clips else None
    intervals = torch.tensor([clip.interval for clip in clips]) if clips else None
    states = hidden(model, ids, frames, intervals, dtype, as_pictures=as_pictures)
    skip = begin_of_text(as_pictures=as_pictures) if clips else 1
    logits = functional.linear(
        states.final[:, skip:-1].float(), model.model.language_model.embed_tokens.weight
    )
    wanted = ids[:, skip + 1 :]
    starts = torch.tensor([sample.answer_from for sample in samples])
    where = torch.arange(skip + 1, ids.shape[1])[None]
    answer = (where >= starts[:, None]) & (wanted != 0)
    prompt = (where < starts[:, None]) & (where > skip + 1)
    each = functional.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")
    parts = {"answer": (each * answer).sum() / answer.sum()}
    right = (logits.argmax(-1) == wanted) | ~answer
    parts["exact"] = right.all(-1).float().detach()
    if not clips:
        parts["prompt"] = (each * prompt).sum() / prompt.sum().clamp(min=1)
        rows, columns, flags = [], [], []
        for row, sample in enumerate(samples):
            for column, one, every in sample.equal:
                rows.append(row)
                columns.append(column)
                flags.append((one, every))
        if rows:
            goal = torch.tensor(flags).float()
            parts["equal"] = torch.stack(
                [
                    functional.binary_cross_entropy_with_logits(
                        head(states.layers[layer][rows, columns].float()), goal
                    )
                    for head, layer in zip(heads.equal, COMPARED_LAYERS, strict=True)
                ]
            ).mean()
        return parts
    assert states.video is not None
    video = states.video.float()

    def cells(name: str) -> Tensor:
        """A video's token sees two frames, a picture's one."""
        table = targets_of(clips, mirror, name)
        table = table if as_pictures else table.unflatten(1, (-1, 2)).mean(2)
        return table.flatten(1, 2)

    parts["colour"] = soft_cross_entropy(heads.colour(video), cells("colours"))
    parts["shape"] = soft_cross_entropy(heads.shape(video), cells("shapes"))
    where = seen_at(as_pictures=as_pictures)
    later = len(where) // 2
    roles = cells("roles")[:, later:]
    parts["role"] = torch.stack(
        [
            soft_cross_entropy(head(states.layers[layer][:, where[later:]].float()), roles)
            for head, layer in zip(heads.role, ROLE_LAYERS, strict=True)
        ]
    ).mean()
    return parts


WEIGHTS = {"answer": 1.0, "prompt": 0.1, "equal": 1.0, "colour": 0.5, "shape": 0.5, "role": 0.5}


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack([WEIGHTS[name] * value for name, value in parts.items() if name in WEIGHTS]).sum()


@torch.no_grad()  # type: ignore[untyped-decorator]
def validate(model: Any, heads: Heads, clips: dict[str, list[Clip]], texts: list[Sample]) -> dict[str, float]:
    """Exact sentences per kind (as video, and last of all as pictures), seen and unseen pairs together, and exact
    answers of the text tasks.
    """
    found: dict[str, float] = {}
    shown: list[float] = []
    for kind, some in clips.items():
        straight = [False] * len(some)
        asked = [narrate_sample(clip) for clip in some]
        found[kind] = round(_exact(batch_loss(model, heads, asked, some, straight, torch.float32)), 3)
        asked = [narrate_sample(clip, as_pictures=True) for clip in some]
        shown.append(_exact(batch_loss(model, heads, asked, some, straight, torch.float32, as_pictures=True)))
    found["all"] = round(sum(found.values()) / len(found), 3)
    found["pictures"] = round(sum(shown) / len(shown), 3)
    found["lowest"] = round(min(shown), 3)
    found["text"] = round(_exact(batch_loss(model, heads, texts, None, [], torch.float32)), 3)
    return found


def _exact(parts: dict[str, Tensor]) -> float:
    return float(parts["exact"].mean().item())


def rate(progress: float, step: int, constant: float) -> float:
    """Share of the peak learning rate: warm-up, constant, cosine to nothing at the end of the budget."""
    warm = min(1.0, (step + 1) / WARM_UP)
    if progress < constant:
        return warm
    return warm * max(0.01, 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - constant) / (1 - constant)))))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=75)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--muon", type=float, default=0.012)
    parser.add_argument("--adam", type=float, default=1.8e-3)
    parser.add_argument("--start", type=Path, help="run folder or checkpoint whose weights to begin with")
    parser.add_argument(
        "--no-text", action="store_true", help="narration alone: no texts, no whole questions"
    )
    parser.add_argument(
        "--precise-from", type=float, default=0.93, help="progress from which products are float32"
    )
    parser.add_argument("--constant", type=float, default=CONSTANT)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    model = build_model(args.seed)
    initialise(model, args.seed)
    heads = Heads()
    if args.start:
        begin_with(args.start, model, heads)
        if args.no_text:
            forget_text(model, args.seed)
    matrices = weights_for_muon(model)
    chosen = {id(p) for p in matrices}
    rest = [p for p in [*model.parameters(), *heads.parameters()] if id(p) not in chosen]
    optimizers: list[torch.optim.Optimizer] = [
        Muon(matrices, lr=args.muon),
        torch.optim.AdamW(rest, lr=args.adam, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    peaks = [args.muon, args.adam]
    step, before, chunk = 0, 0.0, 0
    state = args.out / "state.pt"
    if state.exists():
        held = torch.load(state, weights_only=True)
        model.load_state_dict(held["model"])
        heads.load_state_dict(held["heads"])
        for optimizer, values in zip(optimizers, held["optimizers"], strict=True):
            optimizer.load_state_dict(values)
        step, before, chunk = held["step"], held["elapsed"], held["chunk"]
        print(f"resumed at step {step}, {before / 60:.1f} minutes", flush=True)

    queue: Any = multiprocessing.get_context("fork").Queue(maxsize=2)
    worker = multiprocessing.get_context("fork").Process(
        target=render_forever, args=(queue, args.seed, chunk), daemon=True
    )
    worker.start()
    pool: deque[list[Clip]] = deque(maxlen=KEPT_CHUNKS)
    for _ in range(6):
        pool.append(queue.get())
        chunk += 1
    rng = random.Random(f"validation/{args.seed}")
    checks = {kind: [draw_clip(rng, kind, unseen=i % 2 == 0) for i in range(24)] for kind in KINDS}
    check_texts = [text_sample(rng) for _ in range(300)]

    begun = saved = checked = time.monotonic()
    used = 0.0
    means: dict[str, list[float]] = defaultdict(list)
    curve = (args.out / "curve.jsonl").open("a")

    def elapsed() -> float:
        return before + time.monotonic() - begun

    def save() -> None:
        values = {
            "model": model.state_dict(),
            "heads": heads.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "step": step,
            "elapsed": elapsed(),
            "chunk": chunk,
        }
        torch.save(values, args.out / "state.new")
        (args.out / "state.new").replace(state)

    def check() -> None:
        found = {
            "step": step,
            "minutes": round(elapsed() / 60, 1),
            **validate(model, heads, checks, check_texts),
        }
        print("validation", json.dumps(found), flush=True)
        curve.write(json.dumps(found) + "\n")
        curve.flush()

    while (progress := elapsed() / (args.minutes * 60)) < 1:
        share = rate(progress, step, args.constant)
        for optimizer, peak in zip(optimizers, peaks, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = peak * share
        rng = random.Random(f"{args.seed}/step/{step}")
        dtype = torch.bfloat16 if progress < args.precise_from else torch.float32

        def draw(count: int, rng: random.Random = rng) -> tuple[list[Clip], list[bool]]:
            return [rng.choice(rng.choice(pool)) for _ in range(count)], [
                rng.random() < 0.5 for _ in range(count)
            ]

        groups: list[Group] = []
        for as_pictures in (False, True):
            form = "pictures" if as_pictures else "clip"
            clips, mirror = draw(NARRATED)
            narrated = [narrate_sample(clip, as_pictures=as_pictures) for clip in clips]
            groups.append(Group(form, narrated, clips, mirror, 0.6, as_pictures))
            if not args.no_text:
                clips, mirror = draw(WHOLE)
                whole = [whole_sample(rng, clip, as_pictures=as_pictures) for clip in clips]
                groups.append(Group(f"{form} whole", whole, clips, mirror, 0.25, as_pictures))
        if not args.no_text:
            groups.append(Group("text", [text_sample(rng) for _ in range(TEXTS)], None, [], 2.0))
        for group in groups:
            parts = batch_loss(
                model,
                heads,
                group.samples,
                group.clips,
                group.mirror,
                dtype,
                as_pictures=group.as_pictures,
            )
            (group.weight * total(parts)).backward()
            for part, value in parts.items():
                means[f"{group.name}.{part}"].append(value.mean().item())
        every = [*model.parameters(), *heads.parameters()]
        nn.utils.clip_grad_norm_(every, 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        used += sum(len(group.mirror) for group in groups) / (CHUNK * REUSE)
        if used >= 1:
            pool.append(queue.get())
            used -= 1
            chunk += 1
        if step % 20 == 0:
            told = " ".join(f"{name} {sum(v) / len(v):.3f}" for name, v in means.items())
            print(f"{step} {elapsed() / 60:.2f}min lr {share:.3f} {told}", flush=True)
            means.clear()
        now = time.monotonic()
        if now - saved > 180:
            save()
            saved = now
        if now - checked > 240:
            check()
            save_checkpoint(model, args.out / "checkpoint")
            checked = time.monotonic()
    save()
    check()
    save_checkpoint(model, args.out / "checkpoint")
    worker.terminate()
    print(f"done: {step} steps, {elapsed() / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
