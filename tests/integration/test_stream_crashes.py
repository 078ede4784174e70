"""Kills, signals and outages: nothing is lost, and the worker goes on by itself."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.chaos_checks import Kill, check_calls
from tests.examples import raw
from tests.streams import EndpointProcess, Stage, Worker, Workers, eventually, producer

#: Seconds without the judge's endpoint; a whole minute by hand: QUINTET_TEST_ENDPOINT_AWAY=60.
ENDPOINT_AWAY = float(os.environ.get("QUINTET_TEST_ENDPOINT_AWAY", "5"))


@pytest.fixture
def endpoint(stage: Stage) -> Iterator[EndpointProcess]:
    """A judge's endpoint, quick unless the test says otherwise."""
    running = EndpointProcess(stage.directory, delay=0.3)
    running.start()
    try:
        yield running
    finally:
        running.kill()


def _summaries(stage: Stage, count: int, first: int = 0) -> list[str]:
    ids = [f"s-{number}" for number in range(first, first + count)]
    stage.publish((name.encode(), _text(name)) for name in ids)
    return ids


def _text(name: str, words: str = "") -> bytes:
    return raw(summary_id=name, summary=f"The light of lamp {name} is bright. {words}")


def test_a_hung_endpoint_does_not_hold_up_a_stop(stage: Stage, workers: Workers) -> None:
    # Given: a worker whose calls never come back
    hung = EndpointProcess(stage.directory, hang=True)
    hung.start()
    ids = _summaries(stage, 100)
    worker = workers.quintet(hung)
    try:
        eventually(lambda: worker.telemetry("quintet_in_flight") == 64, 30)

        # When
        worker.terminate()
        stopped = time.monotonic()
        code = worker.wait(40)
    finally:
        hung.kill()

    # Then: it is gone in time, and the next one does all of it
    assert code == 0
    assert time.monotonic() - stopped < 30
    assert "0 scored, 0 rejected, 0 repeated, 64 in flight" in worker.log.read_text()
    workers.stub()
    stage.wait_for("scored", len(ids))
    assert {event["summary_id"] for event in stage.scored()} == set(ids)


def test_a_second_signal_leaves_at_once(stage: Stage, workers: Workers) -> None:
    stage.publish_summaries(["slow"], summary="hold-60")
    worker = workers.stub()
    eventually(lambda: worker.telemetry("quintet_in_flight") == 1, 30)
    worker.terminate()
    time.sleep(1)
    worker.terminate()
    assert worker.wait(3) == 130


def test_a_spare_worker_takes_over_from_a_killed_one(stage: Stage, workers: Workers) -> None:
    # Given: one partition, so that one of two workers has nothing to do
    stage.partitions = 1
    stage.name += "-spare"
    stage.__post_init__()
    stage.create_topics()
    busy = workers.stub(**stage.env)
    busy.wait_ready()
    spare = workers.stub(**stage.env)
    spare.wait_ready()
    eventually(lambda: [_has_partition(worker) for worker in (busy, spare)].count(True) == 1, 30)
    if _has_partition(spare):
        busy, spare = spare, busy

    # When
    busy.kill()
    killed = time.monotonic()
    _summaries(stage, 5)
    stage.wait_for("scored", 5, 30)

    # Then
    print(f"taken over after {time.monotonic() - killed:.1f} s")
    assert time.monotonic() - killed < 15


def _has_partition(worker: Worker) -> bool:
    status, body = worker.readyz()
    return status == 200 and str(body["checks"]["partitions"]["detail"]).startswith("1 assigned")


def test_an_outage_of_the_endpoint_rejects_nothing(
    stage: Stage, workers: Workers, endpoint: EndpointProcess
) -> None:
    # Given
    ids = _summaries(stage, 400)
    worker = workers.quintet(endpoint)
    stage.wait_for("scored", 50)

    # When
    endpoint.kill()
    eventually(lambda: worker.readyz()[0] == 503, 15)
    reason = worker.readyz()[1]["checks"]["breaker"]["detail"]
    time.sleep(ENDPOINT_AWAY)
    before = len(stage.read("scored"))
    endpoint.start()
    back = time.monotonic()
    stage.wait_for("scored", before + 1, 10)
    resumed = time.monotonic() - back

    # Then
    print(f"resumed after {resumed:.1f} s")
    assert reason.startswith("network")
    assert resumed < 5
    stage.wait_for("scored", len(ids))
    assert {event["summary_id"] for event in stage.scored()} == set(ids)
    assert not stage.read("rejected")
    assert worker.readyz()[0] == 200
    assert "quintet_judge_breaker_open{" in worker.get("/metrics")[1]
    assert worker.telemetry("quintet_judge_breaker_open") == 0


def test_few_repeats_after_a_kill_and_none_is_paid_for_twice(
    stage: Stage, workers: Workers, endpoint: EndpointProcess
) -> None:
    # Given: 200 in flight, and one record that holds the watermark of its partition
    cache = {"QUINTET_CACHE": str(stage.directory / "verdicts.sqlite"), "QUINTET_CONCURRENCY": "200"}
    stage.publish([(b"held", _text("held", "hold for 15 seconds"))])
    ids = [*_summaries(stage, 800), "held"]
    worker = workers.quintet(endpoint, **cache)
    stage.wait_for("scored", 300)

    in_flight = worker.telemetry("quintet_in_flight")

    # When
    kills = [Kill(time.time(), worker.name)]
    worker.kill()
    again = workers.quintet(endpoint, **cache)
    stage.wait_for("scored", len(ids), 120)
    eventually(lambda: len({event["summary_id"] for event in stage.scored()}) == len(ids), 90, pause=1)

    # Then
    repeats = Counter(event["summary_id"] for event in stage.scored())
    print(f"{sum(repeats.values()) - len(ids)} of {len(ids)} came twice, {in_flight:.0f} were in flight")
    assert in_flight > 150
    assert sum(repeats.values()) - len(ids) < 300
    assert max(repeats.values()) <= 2
    rows = check_calls(endpoint.calls(), kills)
    assert all(row.ok for row in rows), rows
    again.terminate()
    assert again.wait(30) == 0


def test_only_committed_transactions_are_read_and_the_end_is_reached(stage: Stage, workers: Workers) -> None:
    # Given: the last thing in every partition is the mark of a transaction
    sink = producer(stage.address, transactional_id=f"tx-{stage.name}")
    sink.init_transactions()
    for number in range(12):
        sink.begin_transaction()
        for part in range(10):
            name = f"{'aborted' if number % 3 == 2 else 's'}-{number}-{part}"
            sink.send(stage.settings.topic_generated, _text(name), name.encode())
        sink.flush()
        sink.abort_transaction() if number % 3 == 2 else sink.commit_transaction()
    sink.close()

    # When
    worker = workers.stub()
    stage.wait_for("scored", 80)
    worker.wait_ready()
    eventually(lambda: "quintet_consumer_lag{" in worker.get("/metrics")[1], 10)
    eventually(lambda: worker.telemetry("quintet_consumer_lag") == 0, 15)

    # Then
    assert all(not event["summary_id"].startswith("aborted") for event in stage.scored())
    assert len(stage.scored()) == 80


def test_a_handler_that_dies_ends_the_worker_and_loses_nothing(stage: Stage, workers: Workers) -> None:
    # Given
    stage.publish_summaries(["good"])
    stage.publish_summaries(["bad"], summary="this one hits a bug")
    worker = workers.stub()

    # Then
    assert worker.wait(30) == 70
    assert "a bug in the judge" in worker.log.read_text()
    assert all(record.key != b"bad" for record in stage.read("scored") + stage.read("rejected"))
    again = workers.stub()
    assert again.wait(30) == 70, "it comes again until somebody mends the bug"
