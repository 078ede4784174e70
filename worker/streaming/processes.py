"""A process of ours, known by its start time, so that a reused number is never mistaken for it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

#: Children of this very process, kept so that they are reaped when they end.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Process:
    """A process by number and start time."""

    pid: int
    started: str

    @classmethod
    def launch(cls, command: list[str], *, output: BinaryIO, directory: Path) -> Process:
        """Start a command in a session of its own, so that Ctrl-C here does not reach it."""
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            start_new_session=True,
        )
        _children[child.pid] = child
        return cls(child.pid, start_time(child.pid))

    def is_alive(self) -> bool:
        """Whether this process, and not a later one of the same number, still runs."""
        child = _children.get(self.pid)
        if child is not None and child.poll() is not None:
            del _children[self.pid]
            return False
        if bool(self.started) and start_time(self.pid) == self.started:
            return True
        if child is not None:
            # It ended between the two looks: collect it now, nobody may look again.
            child.wait()
            del _children[self.pid]
        return False

    def command_line(self) -> str:
        """The command as the system shows it."""
        return _ask(self.pid, "command")

    def send(self, number: signal.Signals) -> None:
        """Signal it, if it is still the same process."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout: float) -> bool:
        """Wait until it has ended; False if it has not in time."""
        deadline = time.monotonic() + timeout
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def kill(self) -> None:
        """End it by force and wait until it is gone."""
        self.send(signal.SIGKILL)
        self.wait(10)


def start_time(pid: int) -> str:
    """When a process started, in the system's own unit; empty if there is none (or only its zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return _ask(pid, "lstart") if not Path("/proc/self").exists() else ""
    return "" if fields[0] == "Z" else fields[19]


def _ask(pid: int, column: str) -> str:
    with suppress(OSError):
        if column == "command":
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    # Systems without /proc, such as macOS.
    done = subprocess.run(
        ["ps", "-p", str(pid), "-o", f"{column}="], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
