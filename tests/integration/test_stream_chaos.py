"""The short version of `make chaos`, as a process of its own: its clients live through killed brokers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.commands import ROOT


@pytest.mark.usefixtures("broker")
def test_nothing_is_lost_in_ninety_seconds_of_chaos() -> None:
    # The fixture is here for its skip where there is no Java; chaos starts a broker that it may kill.
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "chaos.py", "--seconds", "90", "--seed", "7"],
        capture_output=True, text=True, timeout=420, check=False, cwd=ROOT,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok  lost" in done.stdout
