"""Which broker `quintet broker stop` and `status` mean when nobody says a port."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.streams import eventually
from worker.cli.broker import command
from worker.errors import UserError
from worker.streaming.broker import DEFAULT_PORT, Broker
from worker.streaming.processes import start_time

Start = Callable[[int], Broker]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts what looks like a broker of ours: a process that sleeps, noted in a broker's directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sleepers: list[subprocess.Popen[bytes]] = []

    def start_one(port: int) -> Broker:
        broker = Broker(port)
        broker.directory.mkdir(parents=True)
        config = str(broker.directory / "server.properties")
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", config])
        sleepers.append(sleeper)
        note = {"pid": sleeper.pid, "started": start_time(sleeper.pid)}
        (broker.directory / "broker.json").write_text(json.dumps(note))
        eventually(lambda: broker.process, 5)  # a process just started has no command line for a moment
        return broker

    yield start_one
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()


def test_the_only_broker_is_meant_whatever_its_port(start: Start) -> None:
    # Given
    only = start(19192)

    # When
    shown = CliRunner().invoke(command, ["status"])
    stopped = CliRunner().invoke(command, ["stop"])

    # Then
    assert shown.exit_code == 0
    assert shown.output.startswith("127.0.0.1:19192: ")
    assert stopped.output.strip() == "stopped 127.0.0.1:19192"
    assert only.process is None
    assert CliRunner().invoke(command, ["status"]).output.strip() == "127.0.0.1:19192: stopped"


@pytest.mark.parametrize("word", ["stop", "status"])
def test_where_several_run_their_ports_are_listed(start: Start, word: str) -> None:
    # Given
    both = [start(DEFAULT_PORT), start(19192)]

    # When
    result = CliRunner().invoke(command, [word])

    # Then
    assert isinstance(result.exception, UserError)
    assert str(result.exception) == "brokers of ours run on ports 9092, 19192; say which with --port"
    assert all(broker.process for broker in both)


def test_a_port_that_is_said_is_meant(start: Start) -> None:
    first, second = start(DEFAULT_PORT), start(19192)
    result = CliRunner().invoke(command, ["stop", "--port", "19192"])
    assert result.output.strip() == "stopped 127.0.0.1:19192"
    assert first.process
    assert second.process is None


@pytest.mark.usefixtures("start")
def test_where_none_runs_stop_says_so() -> None:
    assert "no broker of ours runs" in CliRunner().invoke(command, ["stop"]).output
    nothing = CliRunner().invoke(command, ["status"])
    assert nothing.exit_code == 1
    assert "quintet broker start" in nothing.output
