"""Where the files of the package lie: the only place that knows.

In a wheel ``prompts/`` and ``taxonomy/`` are inside the package; in a checkout (or an editable install) they
lie beside it. Checkpoints that are shipped lie inside the package in both.
"""

from __future__ import annotations

from pathlib import Path

from ego_adr.errors import ResourceError

__all__ = ["checkpoint_folder", "checkpoint_names", "prompts_folder", "taxonomy_folder"]

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    places = [_PACKAGE / name, _PACKAGE.parent / name]
    for place in places:
        if place.is_dir():
            return place
    looked = " and ".join(str(place) for place in places)
    raise ResourceError(
        f"the folder {name!r} of ego_adr was not found; looked in {looked}. Reinstall ego-adr."
    )


def prompts_folder() -> Path:
    """The folder of the prompts that come with the package."""
    return _folder("prompts")


def taxonomy_folder() -> Path:
    """The folder of the taxonomies that come with the package."""
    return _folder("taxonomy")


def checkpoint_names() -> list[str]:
    """Names of the checkpoints that come with the package, for `load_model(name)`."""
    root = _PACKAGE / "checkpoints"
    return (
        sorted(path.name for path in root.iterdir() if (path / "config.json").is_file())
        if root.is_dir()
        else []
    )


def checkpoint_folder(name: str) -> Path | None:
    """The folder of a shipped checkpoint, or None when there is none of that name."""
    return _PACKAGE / "checkpoints" / name if name in checkpoint_names() else None
