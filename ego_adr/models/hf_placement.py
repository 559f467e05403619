"""Where a transformers model runs, in which dtype and with which attention. Every choice can be overridden."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ego_adr.errors import InputError

__all__ = ["choose_attention", "choose_device", "choose_device_map", "choose_dtype"]

DTYPES = {
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "half": "float16",
    "float32": "float32",
    "fp32": "float32",
    "float": "float32",
}
ATTENTIONS = ("auto", "flash_attention_2", "sdpa", "eager")
#: The first compute capability that multiplies in bfloat16; V100 (7.0) and T4 (7.5) do not.
BF16_CAPABILITY = (8, 0)


def choose_device(wanted: str | Any | None = None) -> Any:
    """The ``torch.device`` to run on: what was asked for, else CUDA, XPU, MPS or the CPU, the first there is.

    Raises:
        InputError: a device that this machine does not have.
    """
    import torch

    there = {
        "cuda": torch.cuda.is_available(),
        "xpu": hasattr(torch, "xpu") and torch.xpu.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted in (None, "auto"):
        return torch.device(next(kind for kind, is_there in there.items() if is_there))
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError) as exc:
        raise InputError(f"device={wanted!r} is no device: say auto, {', '.join(there)}, or cuda:1.") from exc
    count = torch.cuda.device_count() if device.type == "cuda" else None
    if not there.get(device.type, True) or (count is not None and (device.index or 0) >= count):
        have = ", ".join(kind for kind, is_there in there.items() if is_there)
        raise InputError(f"device={wanted!r}: this machine has no such device; it has {have}.")
    return device


def choose_dtype(wanted: str | Any | None, device: Any, *, capability: tuple[int, int] | None = None) -> Any:
    """The ``torch.dtype`` of the weights: bfloat16, float16 on GPUs without it, float32 on the CPU.

    Args:
        wanted: a name (``bf16``, ``float32`` ...), a ``torch.dtype``, or None or ``auto``.
        device: from `choose_device`.
        capability: of the GPU, asked from torch when it is None.

    Raises:
        InputError: a name that is no such type.
    """
    import torch

    if wanted not in (None, "auto"):
        if isinstance(wanted, torch.dtype):
            return wanted
        name = DTYPES.get(str(wanted).removeprefix("torch.").casefold())
        if name is None:
            raise InputError(f"dtype={wanted!r} is not allowed; it is auto or one of {', '.join(DTYPES)}.")
        return getattr(torch, name)
    kind = torch.device(device).type
    if kind == "cuda":
        # AMD's devices answer here too, with numbers from 9 on
        found = capability or torch.cuda.get_device_capability(device)
        return torch.bfloat16 if tuple(found) >= BF16_CAPABILITY else torch.float16
    return {"xpu": torch.bfloat16, "mps": torch.float16}.get(kind, torch.float32)


def choose_attention(
    wanted: str | None,
    device: Any,
    *,
    dtype: Any = None,
    installed: bool | None = None,
    capability: tuple[int, int] | None = None,
) -> tuple[str, str | None]:
    """The attention implementation, and a line to say when it is not the fastest one.

    Args:
        wanted: ``auto`` or None, ``flash_attention_2``, ``sdpa``, ``eager``, or another name of transformers'.
        device: from `choose_device`.
        dtype: from `choose_dtype`; flash-attn takes the half types only.
        installed: whether flash-attn is; found out when it is None.
        capability: of the GPU; flash-attn 2 needs 8.0 or more.

    Returns:
        the name for ``attn_implementation``, and None or one line for the person.
    """
    import torch

    wanted = "auto" if wanted is None else str(wanted)
    if wanted not in ("auto", "flash_attention_2"):
        return wanted, None
    if installed is None:
        installed = find_spec("flash_attn") is not None
    is_cuda = torch.device(device).type == "cuda"
    if not installed:
        remedy = " (pip install 'ego-adr[flash-attn]')" if is_cuda else ""
        return "sdpa", f"attention: sdpa, because flash-attn is not installed{remedy}"
    if not is_cuda:
        return "sdpa", f"attention: sdpa, because flash-attn needs a CUDA device and this is {device}"
    found = tuple(capability or torch.cuda.get_device_capability(device))
    if found < BF16_CAPABILITY:
        return (
            "sdpa",
            f"attention: sdpa, because flash-attn needs compute capability 8.0 and this GPU has {found}",
        )
    if dtype is torch.float32:
        return "sdpa", "attention: sdpa, because flash-attn takes no float32"
    return "flash_attention_2", None


def choose_device_map(wanted: Any, device: Any, *, pinned: bool, gpus: int) -> Any:
    """What accelerate is told: a device map asked for, ``auto`` over several GPUs, else the one device.

    Args:
        wanted: passed through when it is not None.
        device: from `choose_device`.
        pinned: the device was asked for by name.
        gpus: how many there are.

    Returns:
        a device map, or None for a model that is loaded where the CPU's memory is.
    """
    if wanted is not None:
        return wanted
    if str(device) == "cpu":
        return None
    return "auto" if gpus > 1 and not pinned else {"": str(device)}
