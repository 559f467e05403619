"""Recordings of the tabletop world, rendered once for this folder's tests."""

from __future__ import annotations

import pytest

from ego_adr.tabletop.episodes import Demo, Episode, demo_episode
from ego_adr.testing import tabletop_clips


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    """One clip of every kind."""
    return tabletop_clips(tmp_path_factory.mktemp("clips"), seed=3)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The two recordings of the demo."""
    return demo_episode(1, tmp_path_factory.mktemp("demo"))
