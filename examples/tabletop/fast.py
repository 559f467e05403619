"""The forward pass of the micro model over whole batches, for training on a CPU.

transformers runs the vision attention frame by frame. Here all clips have the same shape, so one batched
call does the same arithmetic with the same parameters; `tests/tabletop` holds both to the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import Qwen2_5_VLForConditionalGeneration

GRID = 8
CELLS = GRID * GRID // 4
"""Tokens of a slice (two frames) of a video, and of a picture."""
VIDEO_TOKENS = 4 * CELLS
CAPTION = 4
"""Tokens that tell the time of a picture."""
PICTURES = 8
PICTURE_LENGTH = CAPTION + CELLS + 2


class Hidden(NamedTuple):
    """`video`: merger output (clips, 64 or 128, 160) or None; `layers`: hidden states after each layer, each
    (batch, length, 160).
    """

    video: Tensor | None
    layers: list[Tensor]
    final: Tensor


def _norm(x: Tensor, layer: nn.Module) -> Tensor:
    wide = x.float()
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + layer.variance_epsilon)
    return (layer.weight * scaled).to(x.dtype)


def _linear(x: Tensor, layer: nn.Module, dtype: torch.dtype) -> Tensor:
    bias = layer.bias
    return functional.linear(x.to(dtype), layer.weight.to(dtype), None if bias is None else bias.to(dtype))


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + turned * sin


def _attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """Attention in float32: the half-precision backward pass of the CPU kernel is eight times slower."""
    out = functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    return out.to(q.dtype)


def _mlp(x: Tensor, layer: nn.Module, dtype: torch.dtype) -> Tensor:
    gate = functional.silu(_linear(x, layer.gate_proj, dtype))
    return _linear(gate * _linear(x, layer.up_proj, dtype), layer.down_proj, dtype)


def patches(frames: Tensor) -> Tensor:
    """uint8 frames (clips, frames, 112, 112, 3) -> normalised patches (clips, 32 a frame, 1176) in the
    processor's order.
    """
    mean = torch.tensor([0.48145466, 0.4578275, 0.40821073]).repeat_interleave(2 * 14 * 14)
    std = torch.tensor([0.26862954, 0.26130258, 0.27577711]).repeat_interleave(2 * 14 * 14)
    clips, slices = frames.shape[0], frames.shape[1] // 2
    x = frames.view(clips, slices, 2, GRID // 2, 2, 14, GRID // 2, 2, 14, 3)
    # clip, slice, row, column, row in cell, column in cell, channel, frame, y, x
    x = x.permute(0, 1, 3, 6, 4, 7, 9, 2, 5, 8).reshape(clips, slices * GRID * GRID, -1)
    return torch.addcmul(-mean / std, x.float(), 1 / (255 * std))


def _vision_angles(head: int) -> tuple[Tensor, Tensor]:
    frequency = 1.0 / (10000.0 ** (torch.arange(0, head // 2, 2).float() / (head // 2)))
    rows, columns = [], []
    for r in range(GRID // 2):
        for c in range(GRID // 2):
            for i in range(2):
                for j in range(2):
                    rows.append(2 * r + i)
                    columns.append(2 * c + j)
    both = torch.cat(
        (torch.tensor(rows)[:, None] * frequency, torch.tensor(columns)[:, None] * frequency), -1
    )
    both = torch.cat((both, both), -1)
    return both.cos(), both.sin()


def vision(model: Qwen2_5_VLForConditionalGeneration, frames: Tensor, dtype: torch.dtype) -> Tensor:
    """Frames (clips, frames, 112, 112, 3) -> video tokens (clips, 8 a frame, 160)."""
    tower = model.model.visual
    x = patches(frames).to(dtype)
    clips = x.shape[0]
    weight = tower.patch_embed.proj.weight
    x = functional.linear(x, weight.reshape(weight.shape[0], -1).to(dtype)).view(
        -1, GRID * GRID, tower.config.hidden_size
    )
    heads = tower.blocks[0].attn.num_heads
    cos, sin = (angle.to(dtype) for angle in _vision_angles(x.shape[-1] // heads))
    for block in tower.blocks:
        y = _linear(_norm(x, block.norm1), block.attn.qkv, dtype)
        q, k, v = y.view(*y.shape[:2], 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = _attend(_rotate(q, cos, sin), _rotate(k, cos, sin), v, causal=False)
        x = x + _linear(y.transpose(1, 2).reshape(x.shape), block.attn.proj, dtype)
        x = x + _mlp(_norm(x, block.norm2), block.mlp, dtype)
    x = _norm(x, tower.merger.ln_q).view(clips, -1, 4 * x.shape[-1])
    x = functional.gelu(_linear(x, tower.merger.mlp[0], dtype))
    return _linear(x, tower.merger.mlp[2], dtype)


def seen_at(*, as_pictures: bool) -> Tensor:
    """Where the tokens of a clip stand in a row of ids."""
    if not as_pictures:
        return 2 + torch.arange(VIDEO_TOKENS)
    starts = 1 + PICTURE_LENGTH * torch.arange(PICTURES) + CAPTION + 1
    return (starts[:, None] + torch.arange(CELLS)).flatten()


def begin_of_text(*, as_pictures: bool) -> int:
    """Index of the last token before a prompt's own words."""
    return PICTURES * PICTURE_LENGTH if as_pictures else 2 + VIDEO_TOKENS


def positions(length: int, intervals: Tensor | None, *, as_pictures: bool = False) -> Tensor:
    """Three-dimensional positions (3, batch or 1, length). `intervals` are seconds per temporal slice of
    each clip that comes as a video.
    """
    if as_pictures:
        return _picture_positions(length)
    if intervals is None:
        return torch.arange(length).view(1, 1, length).expand(3, 1, length)
    clips = intervals.shape[0]
    out = torch.empty(3, clips, length, dtype=torch.long)
    out[:, :, :2] = torch.arange(2)
    cell = torch.arange(VIDEO_TOKENS)
    out[0, :, 2 : 2 + VIDEO_TOKENS] = 2 + ((cell // CELLS)[None, :] * (4 * intervals)[:, None]).long()
    out[1, :, 2 : 2 + VIDEO_TOKENS] = 2 + cell % CELLS // 4
    out[2, :, 2 : 2 + VIDEO_TOKENS] = 2 + cell % 4
    out[:, :, 2 + VIDEO_TOKENS :] = 6 + torch.arange(length - 2 - VIDEO_TOKENS)
    return out


def _picture_positions(length: int) -> Tensor:
    out = torch.empty(3, 1, length, dtype=torch.long)
    cell = torch.arange(CELLS)
    inside = torch.stack((torch.zeros_like(cell), cell // 4, cell % 4))
    out[:, :, 0] = 0
    where, position = 1, 1
    for _ in range(PICTURES):
        out[:, 0, where : where + CAPTION + 1] = position + torch.arange(CAPTION + 1)
        where, position = where + CAPTION + 1, position + CAPTION + 1
        out[:, 0, where : where + CELLS] = position + inside
        where, position = where + CELLS, position + GRID // 2
        out[:, 0, where] = position
        where, position = where + 1, position + 1
    out[:, 0, where:] = position + torch.arange(length - where)
    return out


def _text_angles(model: Qwen2_5_VLForConditionalGeneration, where: Tensor) -> tuple[Tensor, Tensor]:
    rotary = model.model.language_model.rotary_emb
    angle = where[..., None].float() * rotary.inv_freq.float()
    parts = angle.split(rotary.mrope_section, -1)
    one = torch.cat([part[index % 3] for index, part in enumerate(parts)], -1)
    one = torch.cat((one, one), -1)[:, None]
    return one.cos(), one.sin()


def hidden(
    model: Qwen2_5_VLForConditionalGeneration,
    ids: Tensor,
    frames: Tensor | None,
    intervals: Tensor | None,
    dtype: torch.dtype = torch.float32,
    *,
    as_pictures: bool = False,
) -> Hidden:
    """Runs the model over ids (batch, length), padded on the right; with frames, each row begins with a clip,
    as a video or as eight pictures with their times.
    """
    text = model.model.language_model
    x = functional.embedding(ids, text.embed_tokens.weight)
    video = None
    if frames is not None:
        # the processor takes a picture for two equal frames
        video = vision(model, frames.repeat_interleave(2, 1) if as_pictures else frames, dtype)
        x = x.index_copy(1, seen_at(as_pictures=as_pictures), video.float())
    where = positions(
        ids.shape[1],
        intervals if frames is not None else None,
        as_pictures=as_pictures and frames is not None,
    )
    cos, sin = _text_angles(model, where)
    cos, sin = cos.to(dtype), sin.to(dtype)
    batch, length, width = x.shape
    heads = model.config.text_config.num_attention_heads
    layers = []
    x = x.to(dtype)
    for layer in text.layers:
        y = _norm(x, layer.input_layernorm)
        attention = layer.self_attn
        q, k, v = (
            _linear(y, part, dtype).view(batch, length, heads, -1).transpose(1, 2)
            for part in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        y = _attend(_rotate(q, cos, sin), _rotate(k, cos, sin), v, causal=True)
        x = x + _linear(y.transpose(1, 2).reshape(batch, length, width), attention.o_proj, dtype)
        x = x + _mlp(_norm(x, layer.post_attention_layernorm), layer.mlp, dtype)
        layers.append(x)
    return Hidden(video, layers, _norm(x, text.norm))
