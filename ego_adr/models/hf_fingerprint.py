"""What identifies the answers of a transformers checkpoint."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["checkpoint_fingerprint"]

WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
SETTINGS = (".json", ".jinja", ".txt", ".model", ".py")
LIBRARIES = ("ego-adr", "torch", "torchvision", "transformers", "tokenizers", "qwen-vl-utils")
#: A weight file up to this size is read whole, a larger one in blocks spread over it.
WHOLE = 32 * 2**20
BLOCK = 64 * 2**10
BLOCKS = 128


def checkpoint_fingerprint(folder: Path, settings: dict[str, Any]) -> str:
    """A text that changes whenever a checkpoint's answers could.

    It hashes every settings file of the folder, of the weights the names, sizes and contents (of files above
    32 MB the header and 128 blocks of 64 kB spread evenly: retraining changes weights everywhere), how the model
    was loaded, and the versions of this package and of the libraries that make its inputs and outputs.

    Args:
        folder: of the checkpoint.
        settings: how it was loaded: dtype, attention, pixel limits, prompt form.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        if path.suffix in SETTINGS:
            digest.update(f"{path.name}\0".encode())
            digest.update(path.read_bytes())
        elif path.suffix in WEIGHTS:
            digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            _add_weights(digest, path)
    libraries = {name: _version(name) for name in LIBRARIES}
    digest.update(json.dumps([settings, libraries], sort_keys=True, default=str).encode())
    return f"transformers:{digest.hexdigest()}"


def _add_weights(digest: Any, path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= WHOLE:
            digest.update(file.read())
            return
        for number in range(BLOCKS):
            file.seek((size - BLOCK) * number // (BLOCKS - 1))
            digest.update(file.read(BLOCK))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
