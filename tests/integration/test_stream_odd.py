"""What no careful producer or operator does: the worker takes it, and goes on."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from click.testing import CliRunner

from tests.examples import raw
from tests.streams import ROOT, Stage, Worker, Workers, eventually, producer
from worker.cli import publish, rejected
from worker.errors import UserError
from worker.streaming.broker import Broker, free_port
from worker.streaming.connection import admin


class NoText(str):
    """A header name as a client in C may send it."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return b"\xff\xfe"


def test_odd_keys_and_headers_are_no_obstacle(stage: Stage, workers: Workers) -> None:
    # Given
    odd: dict[str, tuple[bytes, list[Any]]] = {
        "no header name": (b"", [("", b"x")]),
        "huge header": (b"k", [("h", b"x" * 2_000_000)]),
        "huge traceparent": (b"k", [("traceparent", b"x" * 2_000_000)]),
        "traceparent of nothing": (b"k", [("traceparent", None)]),
        "many headers": (b"k", [(f"h{number}", b"") for number in range(5000)]),
        "huge key": (b"k" * 2_000_000, []),
    }
    asyncio.run(_send(stage, odd))
    sink = producer(stage.address)
    for value in (raw(summary_id="name of no text"), b"rubbish"):
        headers = [(NoText("?"), b"x")]
        sink.send(stage.settings.topic_generated, value, b"k", headers).get(timeout=30)
    sink.close()
    stage.publish_summaries(["last"])

    # When
    workers.stub()

    # Then
    scored = stage.wait_for("scored", len(odd) + 2)
    assert {event["summary_id"] for event in stage.scored()} == {*odd, "name of no text", "last"}
    assert max(len(content or b"") for record in scored for _, content in record.headers) < 1000
    rejected = stage.wait_for("rejected", 1)
    assert rejected[0].headers[0] == (r"\xff\xfe", b"x")


async def _send(stage: Stage, records: dict[str, tuple[bytes, list[Any]]]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=stage.address, max_request_size=5_000_000) as sink:
        for name, (key, headers) in records.items():
            topic = stage.settings.topic_generated
            await sink.send_and_wait(topic, raw(summary_id=name), key, headers=headers)


def test_a_topic_that_is_deleted_and_made_again_is_read_from_its_beginning(
    stage: Stage, workers: Workers
) -> None:
    # Given
    worker = workers.stub()
    worker.wait_ready()
    stage.publish_summaries(f"a-{number}" for number in range(30))
    stage.wait_for("scored", 30)
    eventually(lambda: sum(offset for offset, _ in stage.committed().values()) == 30, 20)

    # When
    with admin(stage.settings) as client:
        client.delete_topics([stage.settings.topic_generated])
    eventually(lambda: "run: quintet topics create" in _partitions(worker), 20)
    stage.create_topics()
    stage.publish_summaries(f"b-{number}" for number in range(60))

    # Then
    stage.wait_for("scored", 90, 40)
    assert len({event["summary_id"] for event in stage.scored()}) == 90
    worker.wait_ready(10)


def _partitions(worker: Worker) -> str:
    return str(worker.readyz()[1]["checks"]["partitions"]["detail"])


def test_one_partition_is_enough_for_three_workers_and_two_groups_score_all(
    stage: Stage, workers: Workers
) -> None:
    # Given: three workers of one group, one at a time in flight, and one of another group that judges nothing
    stage.partitions = 1
    stage.name += "-one"
    stage.__post_init__()
    stage.create_topics()
    three = [workers.stub(**stage.env, **{"QUINTET_CONCURRENCY": "1"}) for _ in range(3)]
    other = {"QUINTET_GROUP": f"other-{stage.name}", "QUINTET_SAMPLE_RATE": "0"}
    watcher = workers.stub(**{**stage.env, **other})
    for worker in three:
        worker.wait_ready()

    # When
    ids = [f"s-{number}" for number in range(40)]
    stage.publish_summaries(ids, summary="hold-0.05")

    # Then
    stage.wait_for("scored", len(ids))
    eventually(lambda: watcher.telemetry("quintet_summaries_total") == len(ids), 20)
    assert watcher.telemetry("quintet_scores_total") == 0
    eventually(lambda: stage.committed()[0][0] == len(ids), 20)
    assert sorted(event["summary_id"] for event in stage.scored()) == sorted(ids)


def test_ctrl_c_in_publish_says_how_many_arrived(stage: Stage) -> None:
    # Given: a pipe that does not end
    process = _start(stage, "publish", "-")
    assert process.stdin is not None
    process.stdin.write(b"\xef\xbb\xbf" + raw(summary_id="first") + b"\n{broken\n")
    process.stdin.flush()
    stage.wait_for("generated", 2)

    # When
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)

    # Then
    assert process.returncode == 130
    assert output.decode().strip() == f"stopped; sent 2 to {stage.settings.topic_generated}"
    assert {record.value for record in stage.read("generated")} == {raw(summary_id="first"), b"{broken"}


def test_ctrl_c_in_a_replay_sends_nothing_twice(stage: Stage) -> None:
    # Given: a slow replay of thirty records
    sink = producer(stage.address)
    for number in range(30):
        sink.send(stage.settings.topic_rejected, b"rubbish", str(number).encode())
    sink.close()
    process = _start(stage, "rejected", "replay", "--rate", "10")
    stage.wait_for("generated", 5)

    # When
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    again = CliRunner().invoke(rejected.command, ["replay"], env=stage.env)

    # Then
    sent = re.fullmatch(r"stopped; sent back (\d+) .*", output.decode().strip())
    assert process.returncode == 130
    assert sent
    assert 5 <= int(sent[1]) < 30
    assert f"sent back {30 - int(sent[1])} " in again.output
    assert len(stage.read("generated")) == 30


def _start(stage: Stage, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from worker.cli import main; main()", *arguments]
    env = {**stage.env, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_missing_topic_and_a_broker_of_another_protocol_are_one_line(
    broker: Broker, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_bytes(raw() + b"\n" + raw())
    sasl = {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "SASL_MECHANISM": "PLAIN", "SASL_USERNAME": "u"}
    wrong = {f"QUINTET_{name}": value for name, value in sasl.items()}
    wrong |= {"QUINTET_SASL_PASSWORD": "sesame"}
    nobody = {"QUINTET_BROKERS": f"127.0.0.1:{free_port()}"}
    stage = Stage(broker.address, tmp_path)
    for env, words, seconds in (
        ({}, "quintet topics create", 5),
        (nobody, "quintet broker start", 5),
        (wrong, "QUINTET_SECURITY_PROTOCOL", 15),
    ):
        began = time.monotonic()
        result = CliRunner().invoke(publish.command, [str(tmp_path / "in.jsonl")], env=stage.env | env)
        assert isinstance(result.exception, UserError), result.output
        assert words in str(result.exception)
        assert "sesame" not in str(result.exception)
        assert time.monotonic() - began < seconds
