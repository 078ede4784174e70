"""Real servers as child processes: started on a loopback port of their own, waited for, ended by their number."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

from tests.streams import eventually
from worker.streaming.broker import free_port


def required(program: str, package: str) -> str:
    """Where a program is; without it the test skips on a laptop and fails where CI is set."""
    found = shutil.which(program)
    if found is not None:
        return found
    reason = f"{program} is missing: apt-get install {package}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class Daemon:
    """A program with a web server, in a directory of its own; `async`-free, for `with`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"
        self.log = directory / "log.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        """Writes its files and says what to run."""
        raise NotImplementedError

    def start(self) -> None:
        """Start, and wait until it is ready."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command(), cwd=self.directory, stdout=output, stderr=output, env=_quiet_environment()
            )
        eventually(self._ready, 30)

    def stop(self) -> None:
        """End it; a no-op where it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get(self, path: str) -> str:
        """A page of its web server."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        with contextlib.suppress(urllib.error.URLError, OSError):
            self.get("/-/ready")
            return True
        return False


def _quiet_environment() -> dict[str, str]:
    """The tests share their machine: one core is plenty."""
    return os.environ | {"GOMAXPROCS": "1"}
