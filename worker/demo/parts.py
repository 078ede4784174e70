"""The real parts of the demo: a broker, topics, and the commands as processes of their own; all ended again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from worker.errors import UserError
from worker.settings import Settings, load_settings
from worker.streaming.broker import Broker, free_port, port_is_free
from worker.streaming.connection import admin
from worker.streaming.topics import create_or_check, plan

#: Seconds for a process to answer on its port, and to end after a signal before it is killed.
READY_TIMEOUT, END_TIMEOUT = 60.0, 35.0
_RUN = "from worker.cli import main; main()"


@dataclass(frozen=True)
class Parts:
    """What runs, and where."""

    settings: Settings
    console: str
    logs: Path
    processes: Mapping[str, subprocess.Popen[bytes]]

    def fallen(self) -> str | None:
        """The name of a process that has ended by itself, with its last line, if one has."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                return f"{name} ended with {process.returncode}: {last_line(self.logs / f'{name}.log')}"
        return None


@contextmanager
def running(overrides: Mapping[str, str], tell: Callable[[str], None]) -> Iterator[Parts]:
    """Everything up and ready; on the way out, whatever the way, everything down and its data gone."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quintet-demo-")))
        tell("a Kafka broker (the first time it is fetched, which takes half a minute)")
        broker = Broker(directory=directory / "kafka")
        stack.callback(broker.stop)
        broker.start()
        console_port = _console_port()
        environment = _environment(broker, console_port) | dict(overrides)
        settings = _settings(environment)
        tell("topics")
        with admin(settings) as client:
            create_or_check(client, plan(settings))
        tell("worker, drift monitor and console")
        processes = {}
        for name, arguments, port in _commands(environment):
            process = _launch(directory, name, arguments, environment | {"QUINTET_WEB_PORT": str(port)})
            stack.callback(_end, process)
            processes[name] = (process, port)
        for name, (process, port) in processes.items():
            path = "healthz" if name == "console" else "readyz"
            _wait_for(name, process, f"http://127.0.0.1:{port}/{path}", directory)
        only = {name: process for name, (process, _) in processes.items()}
        yield Parts(settings, f"http://127.0.0.1:{console_port}/", directory, only)


def _commands(environment: Mapping[str, str]) -> list[tuple[str, list[str], int]]:
    return [
        ("worker", ["worker", "--no-monitor"], free_port()),
        ("monitor", ["monitor"], free_port()),
        ("console", ["console"], int(environment["QUINTET_CONSOLE_PORT"])),
    ]


def _console_port() -> int:
    """As set; or the usual one, or any where that is taken."""
    wanted = load_settings().console_port
    if port_is_free(wanted):
        return wanted
    if "QUINTET_CONSOLE_PORT" in os.environ:
        raise UserError(f"QUINTET_CONSOLE_PORT: port {wanted} is taken by another program; choose another")
    return free_port()


def _environment(broker: Broker, console_port: int) -> dict[str, str]:
    """What has to be as it is because everything runs on this machine."""
    return {
        "QUINTET_BROKERS": broker.address,
        "QUINTET_GROUP": "demo",
        "QUINTET_CACHE": "off",
        "QUINTET_WEB_HOST": "127.0.0.1",
        "QUINTET_CONSOLE_PORT": str(console_port),
        "QUINTET_LOG_FORMAT": "text",
    }


def _settings(environment: Mapping[str, Any]) -> Settings:
    return load_settings(
        **{name.removeprefix("QUINTET_").lower(): value for name, value in environment.items()}
    )


def _launch(
    directory: Path, name: str, arguments: list[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    with (directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _RUN, *arguments],
            env=_inherited() | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C is ours to answer: they are ended in order.
            start_new_session=True,
        )


def _inherited() -> dict[str, str]:
    """The environment without settings that point elsewhere: topics and brokers are the demo's own."""
    ours = ("QUINTET_TOPIC_", "QUINTET_SASL_", "QUINTET_SSL_", "QUINTET_SECURITY_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _wait_for(name: str, process: subprocess.Popen[bytes], url: str, directory: Path) -> None:
    deadline = time.monotonic() + READY_TIMEOUT
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise UserError(f"the demo's {name} did not start: {last_line(directory / f'{name}.log')}")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def last_line(log: Path) -> str:
    """What a process said last."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1][:300] if lines else "it said nothing"
