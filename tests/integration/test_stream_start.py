"""A worker that starts before its broker and its topics waits for them, and says so."""

from __future__ import annotations

import time
from pathlib import Path

from tests.streams import Stage, Workers, eventually
from worker.streaming.broker import Broker


def test_a_worker_waits_for_the_broker_and_then_for_the_topics(broker: Broker, tmp_path: Path) -> None:
    # Given: nobody listens
    later = Broker(directory=tmp_path / "kafka")
    stage = Stage(later.address, tmp_path)
    workers = Workers(stage)
    worker = workers.stub()
    try:
        eventually(lambda: "no broker answers" in worker.log.read_text(), 20)
        assert worker.get("/healthz")[0] == 200
        status, body = worker.readyz()
        assert status == 503
        assert "no broker answers" in body["checks"]["broker"]["detail"]

        # When the broker comes
        later.start()
        eventually(
            lambda: "run: quintet topics create" in worker.readyz()[1]["checks"]["broker"]["detail"], 30
        )

        # And the topics
        stage.create_topics()
        stage.publish_summaries(["first"])
        stage.wait_for("scored", 1)
        worker.wait_ready()
        worker.terminate()
        assert worker.wait(20) == 0
    finally:
        workers.close()
        later.stop()


def test_a_worker_without_a_broker_can_be_stopped(broker: Broker, tmp_path: Path) -> None:
    stage = Stage("127.0.0.1:1", tmp_path)
    workers = Workers(stage)
    worker = workers.stub()
    try:
        eventually(lambda: "no broker answers" in worker.log.read_text(), 20)
        worker.terminate()
        assert worker.wait(10) == 0
    finally:
        workers.close()


def test_a_stop_while_the_broker_is_away_takes_no_longer_and_loses_nothing(
    broker: Broker, tmp_path: Path
) -> None:
    # Given: work under way on a broker that dies
    own = Broker(directory=tmp_path / "kafka")
    own.start()
    stage = Stage(own.address, tmp_path)
    workers = Workers(stage)
    try:
        stage.create_topics()
        ids = [f"s-{number}" for number in range(50)]
        stage.publish_summaries(ids, summary="hold-2")
        worker = workers.stub()
        eventually(lambda: worker.telemetry("quintet_in_flight") == 50, 30)
        own.kill()
        time.sleep(3)

        # When
        worker.terminate()
        stopped = time.monotonic()
        assert worker.wait(40) == 0
        assert time.monotonic() - stopped < 30.5

        # Then
        own.start()
        workers.stub()
        stage.wait_for("scored", len(ids))
        assert {event["summary_id"] for event in stage.scored()} == set(ids)
    finally:
        workers.close()
        own.stop()
