"""Fixtures that many tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streams import Stage, Workers
from worker.errors import UserError
from worker.streaming.broker import Broker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """kafka-python now and then forgets to close a socket when it is closed itself: not a fault of ours."""
    for item in items:
        if "broker" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """A run that a shell put into the background ignores SIGINT, and so would every command it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker; without Java the tests skip on a laptop and fail where CI is set."""
    running = Broker(directory=tmp_path_factory.mktemp("broker") / "kafka")
    try:
        running.start()
    except UserError as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(problem))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def stage(broker: Broker, tmp_path: Path) -> Stage:
    """Topics and a group for one test."""
    made = Stage(broker.address, tmp_path)
    made.create_topics()
    return made


@pytest.fixture
def workers(stage: Stage) -> Iterator[Workers]:
    """Starts workers, and sees to it that none is left."""
    started = Workers(stage)
    try:
        yield started
    finally:
        started.close()
