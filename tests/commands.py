"""Run the real `quintet` command, with an environment that holds nothing of the developer's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from worker.settings import Settings, environment_name

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "tests" / "data" / "samples.jsonl"


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The present environment without any setting of Quintet's, and a home directory of its own."""
    ours = {environment_name(field) for field in Settings.model_fields}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")} | settings


def command(*arguments: str | Path) -> list[str]:
    """The command line of the installed command."""
    return [str(Path(sys.executable).with_name("quintet")), *map(str, arguments)]


def quintet(
    *arguments: str | Path, home: Path, stdin: bytes = b"", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run to the end; never longer than a minute."""
    done = subprocess.run(
        command(*arguments), input=stdin, capture_output=True, env=environment(home, **settings),
        timeout=60, check=False, cwd=home,
    )  # fmt: skip
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )
