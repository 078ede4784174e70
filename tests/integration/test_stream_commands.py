"""The broker, the topics, publishing and tailing, as a person uses them."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from kafka.admin import ConfigResource, ConfigResourceType

from tests.examples import raw
from tests.streams import Stage, Workers
from worker.cli import publish, tail, topics
from worker.errors import UserError
from worker.streaming.broker import Broker, free_port
from worker.streaming.connection import admin


def test_a_killed_broker_keeps_its_data_and_a_stopped_one_is_gone(broker: Broker, tmp_path: Path) -> None:
    # Given
    own = Broker(directory=tmp_path / "kafka")
    own.start()
    process = own.process
    assert process is not None
    stage = Stage(own.address, tmp_path, partitions=1)
    try:
        stage.create_topics()
        stage.publish_summaries(["kept"])

        # When
        own.kill()
        assert not process.is_alive()
        own.start()

        # Then
        assert [record.key for record in stage.read("generated")] == [b"kept"]
    finally:
        last = own.process
        assert own.stop()
    assert last is not None
    assert not last.is_alive()
    assert not own.stop(), "there is nothing left to stop"


def test_a_taken_port_is_one_line(broker: Broker, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} is taken"):
            Broker(port, tmp_path / "kafka").start()


def test_a_stranger_with_the_brokers_number_is_left_alone(broker: Broker, tmp_path: Path) -> None:
    # Given a note from a broker that died, whose number now belongs to this very process
    stranger = Broker(free_port(), tmp_path)
    (tmp_path / "broker.json").write_text(json.dumps({"pid": os.getpid(), "started": "1"}))

    # Then
    assert stranger.process is None
    assert not stranger.stop()


def test_topics_are_created_and_differences_told(stage: Stage) -> None:
    # Given
    runner = CliRunner()

    # Then all is well with those that are there
    result = runner.invoke(topics.command, ["create"], env=stage.env)
    assert result.exit_code == 0
    assert result.output.count("ok ") == 8

    # When one is made unfit
    with admin(stage.settings) as client:
        resource = ConfigResource(
            ConfigResourceType.TOPIC, stage.settings.topic_state, {"cleanup.policy": "delete"}
        )
        client.alter_configs([resource])
    result = runner.invoke(topics.command, ["create", "--partitions", "8"], env=stage.env)

    # Then
    assert result.exit_code == 1
    assert "has 6 partitions, 8 wanted" in result.output
    assert "cleanup.policy is delete" in result.output


def test_what_is_published_can_be_tailed(stage: Stage, workers: Workers, tmp_path: Path) -> None:
    # Given
    lines = [raw(summary_id="a"), b"", b"rubbish", raw(summary_id="\x1b[2J")]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    runner = CliRunner()

    # When
    sent = runner.invoke(publish.command, [str(tmp_path / "in.jsonl")], env=stage.env)
    workers.stub()
    stage.wait_for("scored", 2)
    stage.wait_for("rejected", 1)
    scored = runner.invoke(tail.command, ["scored", "--from-beginning", "--limit", "2"], env=stage.env)
    rejected = runner.invoke(tail.command, ["rejected", "--from-beginning", "--limit", "1"], env=stage.env)

    # Then
    assert sent.output.strip() == f"sent 3 to {stage.settings.topic_generated}"
    assert {record.key for record in stage.read("generated")} == {b"a", None, b"\x1b[2J"}
    assert "product_opinion a  informativeness 4" in scored.output
    assert "\x1b" not in scored.output
    assert "invalid_json" in rejected.output


def test_a_missing_topic_says_what_to_run(broker: Broker, tmp_path: Path) -> None:
    stage = Stage(broker.address, tmp_path)
    result = CliRunner().invoke(tail.command, ["drift"], env=stage.env)
    assert isinstance(result.exception, UserError)
    assert "quintet topics create" in str(result.exception)
