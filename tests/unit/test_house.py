"""The house keeps its plan: imports go one way, Faust has one door, the package holds what it needs."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Each room imports only from those before it (and from itself).
ROOMS = [
    "errors",
    "settings",
    "events",
    "rubrics",
    "judging",
    "pipeline",
    "drift",
    "agreement",
    "telemetry",
    "streaming",
    "monitoring",
    "console",
    "demo",
    "cli",
]


def _modules() -> list[Path]:
    return sorted((ROOT / "worker").rglob("*.py"))


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "worker" and len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_room_imports_only_from_those_above_it(path: Path) -> None:
    here = path.relative_to(ROOT / "worker").parts[0].removesuffix(".py")
    if here in {"__init__", "__main__"}:
        return
    assert here in ROOMS, f"a new room: add it to the plan ({here})"
    for module in _imports(path):
        room = _room(module)
        assert room is None or ROOMS.index(room) <= ROOMS.index(here), f"{path} imports {module}"


def test_faust_has_one_door() -> None:
    doors = {
        str(path.relative_to(ROOT))
        for path in _modules()
        if any(name.split(".")[0] in {"faust", "mode"} for name in _imports(path))
    }
    assert doors <= {"worker/streaming/app.py"}


def test_no_module_is_named_for_being_useful() -> None:
    vague = {"utils", "helpers", "common", "manager", "misc"}
    assert not [path for path in _modules() if path.stem in vague]


def test_the_wheel_has_all_packages_and_data_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", tmp_path, _copy_of_the_tree(tmp_path)],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("quintet-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    expected = {str(path.relative_to(ROOT)) for path in _modules()}
    expected |= {f"worker/prompts/{path.name}" for path in (ROOT / "prompts").iterdir() if path.is_file()}
    schemas = {path.name for path in (ROOT / "schemas").iterdir() if path.is_file()} - {"README.md"}
    expected |= {f"worker/schemas/{name}" for name in schemas}
    expected |= {f"worker/console/page/{path.name}" for path in (ROOT / "worker/console/page").iterdir()}
    assert expected <= packed
    assert not {"worker/schemas/README.md", "worker/drift/README.md", "worker/drift/drift.svg"} & packed
    assert {name.split("/")[0] for name in packed if "dist-info" not in name} == {"worker"}


def _copy_of_the_tree(tmp_path: Path) -> Path:
    """What git tracks, so that building leaves nothing behind in the project."""
    target = tmp_path / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_file():
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    return target
