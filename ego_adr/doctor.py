"""What is installed, what hardware there is, and what the package would make of it."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ego_adr.detector import cache_folder
from ego_adr.resources import checkpoint_names, prompts_folder, taxonomy_folder

__all__ = ["examine"]

_PACKAGES = (
    "transformers", "accelerate", "qwen-vl-utils", "scikit-learn", "av", "flash-attn", "pydantic",
    "torch", "torchvision", "openai", "a2a-sdk",
)  # fmt: skip


def examine() -> dict[str, Any]:
    """Versions, devices, the dtype and attention that would be chosen, and where things are kept.

    A package that is missing is None. Nothing is downloaded and no model is loaded.
    """
    from ego_adr import __version__

    return {
        "ego_adr": __version__,
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "hardware": _hardware(),
        "prompts": str(prompts_folder()),
        "taxonomy": str(taxonomy_folder()),
        "checkpoints": checkpoint_names(),
        "cache": str(cache_folder()) if cache_folder() else None,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _hardware() -> dict[str, Any]:
    try:
        import torch
    except ImportError as exc:
        return {"device": None, "problem": f"torch cannot be imported: {exc}"}
    from ego_adr.models.hf_placement import choose_attention, choose_device, choose_dtype

    device = choose_device(None)
    found: dict[str, Any] = {
        "device": str(device),
        "dtype": str(choose_dtype(None, device)),
        "attention": choose_attention(None, device)[0],
        "threads": torch.get_num_threads(),
    }
    if torch.cuda.is_available():
        found["gpus"] = [
            {
                "name": torch.cuda.get_device_name(i),
                "memory_gb": round(torch.cuda.get_device_properties(i).total_memory / 2**30, 1),
                "capability": ".".join(map(str, torch.cuda.get_device_capability(i))),
            }
            for i in range(torch.cuda.device_count())
        ]
    return found
