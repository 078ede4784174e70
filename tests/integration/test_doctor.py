"""`quintet doctor` finds each fault on real parts, and says the next step for it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.commands import quintet
from tests.endpoint import UNKNOWN_MODEL, WRONG_KEY, Endpoint
from tests.streams import Stage, producer
from worker.cli import doctor
from worker.streaming.broker import free_port
from worker.streaming.connection import admin
from worker.streaming.topics import create_or_check, plan

LEXICAL: dict[str, Any] = {"QUINTET_JUDGE": "lexical"}


class Report:
    """What doctor said, as its JSON tells."""

    def __init__(self, code: int, output: str) -> None:
        self.code = code
        self.read = json.loads(output)
        assert self.read["ok"] is (code == 0)

    def faults(self, subject: str) -> list[tuple[str, str]]:
        """Messages and next steps of what is broken; every one has a next step in one line."""
        found = [
            (finding["message"], finding["next_step"])
            for finding in self.read["findings"]
            if finding["subject"] == subject and finding["health"] == "broken"
        ]
        assert all(step and "\n" not in step for _, step in found)
        return found

    def health(self, subject: str) -> set[str]:
        """How the findings about a subject are rated."""
        return {finding["health"] for finding in self.read["findings"] if finding["subject"] == subject}


def examine(home: Path, *options: str, **settings: Any) -> Report:
    """Run the real command."""
    done = quintet("doctor", "--format", "json", *options, home=home, **settings)
    assert "Traceback" not in done.stderr
    return Report(done.returncode, done.stdout)


def _with_java(home: Path, says: str) -> str:
    """A PATH whose `java` prints a version."""
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    script.chmod(0o755)
    return f"{script.parent}:{os.environ['PATH']}"


def test_nothing_wrong_is_exit_code_0(stage: Stage, tmp_path: Path) -> None:
    # When
    report = examine(tmp_path, **stage.env, **LEXICAL)
    text = quintet("doctor", home=tmp_path, **LEXICAL | stage.env)

    # Then
    assert report.code == text.returncode == 0
    for subject in ("quintet", "environment", "pack", "judge", "broker", "topics", "clock"):
        assert report.health(subject) == {"good"}, subject
    assert report.read["settings"]["QUINTET_BROKERS"] == {"value": stage.address, "set": True}
    assert f"  * QUINTET_BROKERS = {stage.address}\n" in text.stdout
    assert "  ok    topics: all 8 are there\n" in text.stdout


def test_no_broker(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    report = examine(tmp_path, QUINTET_BROKERS=address, **LEXICAL)
    assert report.code == 1
    ((message, step),) = report.faults("broker")
    assert f"no broker answers at {address}" in message
    assert "quintet broker start" in step


async def test_a_port_where_something_else_listens(tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        address = endpoint.url.removeprefix("http://").removesuffix("/v1")
        started = time.monotonic()
        report = await asyncio.to_thread(examine, tmp_path, QUINTET_BROKERS=address, **LEXICAL)
    assert report.code == 1
    ((message, step),) = report.faults("broker")
    assert message == f"what listens at {address} is a web server, not Kafka"
    assert "QUINTET_BROKERS" in step
    assert time.monotonic() - started < 15


def test_one_dead_address_among_living_ones_is_a_note(stage: Stage, tmp_path: Path) -> None:
    brokers = f"127.0.0.1:{free_port()},{stage.address}"
    report = examine(tmp_path, **stage.env | {"QUINTET_BROKERS": brokers}, **LEXICAL)
    assert report.code == 0
    assert report.health("broker") == {"doubtful", "good"}


def test_missing_topics(broker: Any, tmp_path: Path) -> None:
    stage = Stage(broker.address, tmp_path)
    report = examine(tmp_path, **stage.env, **LEXICAL)
    assert report.code == 1
    ((message, step),) = report.faults("topics")
    assert stage.settings.topic_generated in message
    assert step == "run: quintet topics create"


def test_too_few_partitions(broker: Any, tmp_path: Path) -> None:
    # Given
    stage = Stage(broker.address, tmp_path, partitions=2)
    stage.create_topics()

    # When
    report = examine(tmp_path, **stage.env, **LEXICAL)

    # Then
    assert report.code == 1
    faults = report.faults("topics")
    assert len(faults) == 8
    message, step = faults[0]
    assert message == f"{stage.settings.topic_generated} has 2 partitions, 6 wanted"
    assert "kafka-topics.sh --alter" in step

    # But two are enough for who asked for two
    assert examine(tmp_path, "--partitions", "2", **stage.env, **LEXICAL).code == 0


def test_a_state_topic_with_fewer_partitions_than_the_scores(broker: Any, tmp_path: Path) -> None:
    # Given
    stage = Stage(broker.address, tmp_path)
    s = stage.settings
    wanted = [
        replace(topic, partitions=12) if topic.name == s.topic_metric_scores else topic for topic in plan(s)
    ]
    with admin(s) as client:
        create_or_check(client, wanted)

    # When
    report = examine(tmp_path, **stage.env, **LEXICAL)

    # Then
    assert report.code == 1
    ((message, step),) = report.faults("topics")
    assert f"{s.topic_state} has 6 partitions and {s.topic_metric_scores} 12" in message
    assert f"--topic {s.topic_state} --partitions 12" in step


@pytest.mark.parametrize(
    ("answer", "setting", "advice"),
    [(WRONG_KEY, "401", "OPENAI_API_KEY"), (UNKNOWN_MODEL, "404", "QUINTET_MODEL")],
    ids=["bad key", "unknown model"],
)
async def test_an_endpoint_that_refuses(
    stage: Stage, tmp_path: Path, answer: Any, setting: str, advice: str
) -> None:
    async with Endpoint(lambda _: answer) as endpoint:
        settings = stage.env | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "sk-secret"}
        report = await asyncio.to_thread(examine, tmp_path, **settings)
    assert report.code == 1
    ((message, step),) = report.faults("judge")
    assert setting in message
    assert advice in step
    assert report.health("clock") == {"good"}
    assert "sk-secret" not in json.dumps(report.read)


async def test_a_password_in_the_address_is_masked(stage: Stage, tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        url = endpoint.url.replace("//", "//somebody:pass@word@")
        report = await asyncio.to_thread(examine, tmp_path, **stage.env, OPENAI_BASE_URL=url)
    assert report.code == 0
    assert "word" not in json.dumps(report.read["settings"]["OPENAI_BASE_URL"])


def test_no_judge_at_all(stage: Stage, tmp_path: Path) -> None:
    report = examine(tmp_path, **stage.env)
    assert report.code == 1
    ((message, _),) = report.faults("judge")
    assert "OPENAI_API_KEY" in message


def test_a_broken_pack(stage: Stage, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "clarity.poem.txt").write_text("Is it clear?")
    report = examine(tmp_path, **stage.env, **LEXICAL, QUINTET_PACK=str(pack))
    assert report.code == 1
    ((message, _),) = report.faults("pack")
    assert "clarity.poem.txt" in message


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ('openjdk version "11.0.21" 2023-10-17', "Java 11 is too old"),
        ('java version "1.8.0_392"', "Java 8 is too old"),
        ("The operation could not be completed.", "does not say its version"),
    ],
)
def test_a_wrong_java_where_the_broker_has_to_be_started_here(tmp_path: Path, says: str, told: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    report = examine(tmp_path, QUINTET_BROKERS=address, PATH=_with_java(tmp_path, says), **LEXICAL)
    assert report.code == 1
    ((message, step),) = report.faults("java")
    assert told in message
    assert "openjdk-17" in step


def test_a_wrong_java_beside_a_broker_that_answers_is_a_note(stage: Stage, tmp_path: Path) -> None:
    path = _with_java(tmp_path, 'openjdk version "11.0.21" 2023-10-17')
    report = examine(tmp_path, **stage.env, **LEXICAL, PATH=path)
    assert report.code == 0
    assert report.health("java") == {"doubtful"}


@pytest.mark.parametrize(("offset", "told"), [(3600, "behind"), (-120, "ahead of")])
async def test_a_clock_that_differs_from_the_endpoints(
    stage: Stage, tmp_path: Path, offset: float, told: str
) -> None:
    async with Endpoint() as endpoint:
        endpoint.clock_offset = offset
        report = await asyncio.to_thread(examine, tmp_path, **stage.env, OPENAI_BASE_URL=endpoint.url)
    assert report.code == 1
    ((message, step),) = report.faults("clock")
    assert f" s {told} the judge's endpoint" in message
    assert "NTP" in step


def _in_process(stage: Stage) -> Report:
    result = CliRunner().invoke(doctor.command, ["--format", "json"], env=stage.env | LEXICAL)
    return Report(result.exit_code, result.stdout)


def _clock_off_by(seconds: float) -> Callable[[], float]:
    true = time.time
    return lambda: true() + seconds


def test_a_clock_that_differs_from_the_brokers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a machine that is two minutes late
    monkeypatch.setattr("worker.streaming.clocks.time.time", _clock_off_by(-120))

    # When
    report = _in_process(stage)

    # Then
    assert report.code == 1
    ((message, step),) = report.faults("clock")
    assert message == "this machine's is 120 s behind the brokers'"
    assert "NTP" in step


def test_a_record_from_the_future(stage: Stage, tmp_path: Path) -> None:
    # Given
    topic = stage.settings.topic_generated
    sink = producer(stage.address)
    sink.send(topic, b"now").get(timeout=30)
    assert examine(tmp_path, **stage.env, **LEXICAL).code == 0
    sink.send(topic, b"later", timestamp_ms=int((time.time() + 600) * 1000)).get(timeout=30)
    sink.close()
    before = len(stage.read("generated"))

    # When
    report = examine(tmp_path, **stage.env, **LEXICAL)

    # Then
    assert report.code == 1
    ((message, step),) = report.faults("clock")
    assert f"{topic} has a record from the future" in message
    assert step == "set the clock of whoever publishes there by NTP"
    assert len(stage.read("generated")) == before, "looking writes nothing"
