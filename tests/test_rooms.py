"""Rooms below import rooms above, never the other way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

# Lower number: further up. A module may import rooms of its own level or further up.
LEVELS: dict[str, int] = {
    "errors": 0,
    "types": 0,
    "reading": 1,
    "resources": 1,
    "video": 2,
    "contact_sheet": 2,
    "vocabularies": 2,
    "taxonomies": 2,
    "prompting": 2,
    "models": 3,
    "probe": 4,
    "procedure": 4,
    "parsing": 4,
    "routes": 5,
    "detector": 6,
    "session": 7,
    "sessions": 7,
    "timeline": 7,
    "benchmarks": 8,
    "evaluation": 8,
    "agents": 9,
    "tabletop": 2,
    "testing": 9,
    "console": 10,
    "doctor": 10,
    "demo": 10,
    "cli_evaluation": 11,
    "cli_options": 11,
    "cli_running": 11,
    "cli_scoring": 11,
    "cli_sessions": 11,
    "cli": 11,
}
PACKAGE = Path(__file__).resolve().parent.parent / "ego_adr"


def room(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == "ego_adr" and len(parts) > 1 else None


def imported(path: Path) -> list[str]:
    """Every ego_adr module that a file imports, wherever in it; TYPE_CHECKING blocks too."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found += (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "ego_adr"
                else [node.module]
            )
    return [name for name in found if name.startswith("ego_adr.")]


MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py"
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_its_own_room_and_rooms_above(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert own in LEVELS, f"give the room {own!r} its level in this test and in CONTRIBUTING.md"
    for name in imported(path):
        other = room(name)
        if other is None or other == own or other.startswith("__"):
            continue
        assert LEVELS[other] <= LEVELS[own], f"{own} imports {name}"
