from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ego_adr

HEAVY = ("torch", "transformers", "sklearn", "scipy", "av", "openai", "numpy", "jinja2", "a2a", "PIL")


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run_python(f"import sys, ego_adr; print([m for m in {HEAVY!r} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_help_loads_neither_torch_nor_transformers_nor_sklearn() -> None:
    code = (
        "import sys, typer\nfrom ego_adr.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert run_python(code).strip().splitlines()[-1] == "[]"


def test_every_public_name_can_be_had_and_is_listed() -> None:
    for name in ego_adr.__all__:
        assert getattr(ego_adr, name) is not None
    assert set(ego_adr.__all__) <= set(dir(ego_adr))
    needed = {
        "EgoADR", "Clip", "Frame", "Detection", "ProcedureBank", "Taxonomy", "sample_frames", "parse_label",
        "match_step", "classify_narration", "probe_model", "load_model", "ScriptedModel",
    }  # fmt: skip
    assert needed <= set(ego_adr.__all__)


def test_an_unknown_name_is_an_attribute_error_that_lists_what_there_is() -> None:
    with pytest.raises(AttributeError, match="EgoADR"):
        _ = ego_adr.EgoAdr


def test_the_all_of_every_module_names_what_it_has(repository: Path) -> None:
    import importlib

    for path in sorted((repository / "ego_adr").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "__all__" not in text or "import a2a" in text or "from a2a" in text:
            continue
        parts = path.relative_to(repository).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__}.__all__ names {name}"


def test_the_wheel_holds_what_the_checkout_holds(repository: Path, tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    code = "import os, sys; os.chdir(sys.argv[1]); from hatchling.build import build_wheel; print(build_wheel(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(repository), str(tmp_path)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "ego_adr", "prompts", "taxonomy"],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    wanted = {
        name if name.startswith("ego_adr/") else f"ego_adr/{name}"
        for name in listed.stdout.splitlines()
        if (repository / name).is_file()
    }
    assert inside == wanted
