"""What the README tells people to type works as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def environment() -> dict[str, str]:
    """The environment with this interpreter's scripts first, as in an activated venv."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
    }


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0][:40])
def test_python_examples_run(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # a comment behind a print is what it prints
    promised = re.findall(r"^print\(.*\)\s+#\s*([^\s:]+)", code, re.MULTILINE)
    for word in promised:
        assert word in done.stdout


@pytest.mark.parametrize(
    "line", [line for block in blocks("sh") for line in block.splitlines() if line.strip()]
)
def test_shell_commands_run(line: str, tmp_path: Path) -> None:
    assert line.startswith("ego-adr "), "only ego-adr commands stand in sh blocks; other lines are indented"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_readme_shows_python_and_shell() -> None:
    assert len(blocks("python")) >= 3
    assert len(blocks("sh")) >= 1


def test_the_third_example_is_a_function_in_about_ten_lines() -> None:
    third = blocks("python")[2]
    assert "EgoADR(look" in third
    assert len([line for line in third.splitlines() if line.strip()]) <= 10
    assert (
        "Equipment failure"
        in subprocess.run(
            [sys.executable, "-c", third],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        ).stdout
    )
