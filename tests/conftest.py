"""What every test may rely on: no network, no GPU, and the public cases and data where they lie."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# one thread each where several workers share the cores (pytest -n)
os.environ.setdefault("OMP_NUM_THREADS", "1" if "PYTEST_XDIST_WORKER" in os.environ else "2")
os.environ["EGO_ADR_CACHE"] = "off"

ROOT = Path(__file__).resolve().parent.parent


def _place(variable: str, name: str) -> Path:
    given = os.environ.get(variable)
    return Path(given) if given else ROOT.parent / "shared" / name


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """The folder of the public cases; skips where it is absent."""
    folder = _place("EGO_ADR_CASES", "cases")
    if not (folder / "cases.jsonl").is_file():
        pytest.skip(f"the public cases are not at {folder} (set EGO_ADR_CASES)")
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real annotation files; skips where it is absent."""
    folder = _place("EGO_ADR_DATA", "data")
    if not folder.is_dir():
        pytest.skip(f"the data sets are not at {folder} (set EGO_ADR_DATA)")
    return folder


@pytest.fixture(scope="session")
def load_cases(cases_dir: Path) -> Callable[[str], list[dict[str, Any]]]:
    """A function from a kind of case to its cases, never an empty list."""

    def load(kind: str) -> list[dict[str, Any]]:
        lines = (cases_dir / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        found = [case for case in map(json.loads, lines) if case["kind"] == kind]
        assert found, f"there is no case of kind {kind!r}"
        return found

    return load


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and str(address[0]) not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise OSError(f"tests may not reach {address!r}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
