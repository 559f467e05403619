"""Ground for tests: the small model that comes with the package, clips and recordings with known labels.

Everything is made when it is asked for; importing this module loads neither torch nor a video library::

    from ego_adr.testing import tabletop_episode, tabletop_model

    def test_my_prompts(tmp_path):
        episode = tabletop_episode(7, tmp_path)
        detector = EgoADR(tabletop_model())
        ...

For control flow alone there is `ego_adr.ScriptedModel`, which needs no checkpoint.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ego_adr.errors import InputError

if TYPE_CHECKING:
    from ego_adr.models.base import VideoLLM
    from ego_adr.tabletop.episodes import Episode

__all__ = [
    "CHECKPOINTS",
    "tabletop_checkpoint",
    "tabletop_clip",
    "tabletop_clips",
    "tabletop_episode",
    "tabletop_model",
]

CHECKPOINTS = ("tabletop", "tabletop-vision")
"""`tabletop` sees and reasons over text; `tabletop-vision` sees and tells, and fails the text-only probe."""


def tabletop_checkpoint(name: str = "tabletop") -> Path:
    """The folder of a checkpoint that comes with the package.

    Raises:
        InputError: when there is no such checkpoint.
    """
    if name not in CHECKPOINTS:
        raise InputError(f"{name!r} is not a checkpoint of the package; there are {', '.join(CHECKPOINTS)}.")
    return Path(__file__).parent / "checkpoints" / name


@functools.cache
def tabletop_model(name: str = "tabletop") -> VideoLLM:
    """A checkpoint of the package as a backend, loaded once in a process (a tenth of a second)."""
    from ego_adr.models.registry import load_model

    return load_model(str(tabletop_checkpoint(name)))


def tabletop_clip(
    kind: str, folder: Path, *, seed: int = 1, label: str | None = None, unseen: bool = False
) -> Episode:
    """One rendered clip with its procedure, as a recording of one logged step.

    Args:
        kind: what happens: on, beside, off, back, fix, break, slow or none.
        folder: where the video file is written.
        seed: the same seed gives the same clip.
        label: of the clip in its procedure; None takes the first that this kind can have.
        unseen: use blocks that the checkpoints never saw together.
    """
    from ego_adr.tabletop.episodes import case_labels, draw_case

    return draw_case(seed, kind, label or case_labels(kind)[0], folder, unseen=unseen)


def tabletop_clips(folder: Path, *, seed: int = 1) -> list[Episode]:
    """One clip of every kind (two seconds)."""
    from ego_adr.tabletop.language import KINDS

    return [tabletop_clip(kind, folder, seed=seed) for kind in KINDS]


def tabletop_episode(seed: int, folder: Path, *, plan: Sequence[str] | None = None) -> Episode:
    """A recording of 3 to 6 steps with its step log and rows; `plan` gives one label a step."""
    from ego_adr.tabletop.episodes import draw_episode

    return draw_episode(seed, folder, plan=plan)
