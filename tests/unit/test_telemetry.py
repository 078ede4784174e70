"""What Prometheus sees, and what the logs say."""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.examples import raw
from tests.stub_worker import StubJudge
from worker.cli.logs import JsonFormatter, NotAgain
from worker.errors import OutageReason, Rejection, RejectionReason
from worker.events import FileSource, Kind, Metric
from worker.pipeline import Pipeline, Record, Rejected, SampledOut, Scored
from worker.telemetry import WorkerTelemetry

#: Name and labels, as the contract has them.
CONTRACT = {
    "quintet_summaries_total": {"kind", "outcome"},
    "quintet_rejected_total": {"reason"},
    "quintet_scores_total": {"kind", "metric", "segment", "score"},
    "quintet_judge_request_duration_seconds": {"metric", "outcome"},
    "quintet_judge_requests_total": {"metric", "outcome"},
    "quintet_judge_tokens_total": {"direction"},
    "quintet_judge_cost_usd_total": set(),
    "quintet_judge_breaker_open": {"reason"},
    "quintet_summary_duration_seconds": {"kind"},
    "quintet_summary_age_seconds": {"kind"},
    "quintet_overhead_seconds": set(),
    "quintet_in_flight": set(),
    "quintet_concurrency_limit": set(),
    "quintet_consumer_lag": {"topic", "partition"},
    "quintet_last_scored_timestamp_seconds": set(),
    "quintet_cache_hits_total": set(),
    "quintet_info": {"version", "judge", "model", "pack"},
}


async def _score(telemetry: WorkerTelemetry, **changes: Any) -> None:
    pipeline = Pipeline(StubJudge(), max_event_bytes=10_000)
    received = datetime.now(UTC) - timedelta(seconds=2)
    record = Record(raw(**changes), FileSource(file="f", line=1), received)
    telemetry.published(await pipeline.process(record), received)


async def _seen_everything() -> WorkerTelemetry:
    """A worker to which everything has happened once."""
    telemetry = WorkerTelemetry(50)
    telemetry.describe(version="1", judge="lexical", model="m", pack="p")
    telemetry.watch_in_flight(lambda: 7)
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    await _score(telemetry, category="lamps", generated_at=an_hour_ago.isoformat())
    telemetry.published(Rejected(Rejection(RejectionReason.INVALID_JSON, "no")), datetime.now(UTC))
    telemetry.published(SampledOut(Kind.OPINION), datetime.now(UTC))
    telemetry.request_finished(Metric.CLARITY, "ok", 1.5)
    telemetry.request_finished(None, "ok", 0.1)
    telemetry.tokens_used(1000, 400, 100)
    telemetry.cost_incurred(0.25)
    telemetry.cache_hit(Metric.CLARITY)
    telemetry.breaker_changed(OutageReason.QUOTA)
    telemetry.concurrency_changed(40)
    telemetry.lags([("t", 0, 5), ("t", 1, 6)])
    return telemetry


async def test_every_series_of_the_contract_is_there_with_its_labels() -> None:
    text = (await _seen_everything()).render().decode()
    labels: dict[str, set[str]] = {}
    for line in text.splitlines():
        if found := re.match(r"(quintet_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$", line):
            names = {pair.split("=")[0] for pair in (found[2] or "").split(",") if pair} - {"le"}
            labels.setdefault(found[1], names)
    assert labels == CONTRACT
    assert text.count('le="300.0"') >= 3


async def test_every_series_counts_what_its_name_says() -> None:
    registry = (await _seen_everything()).registry

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"quintet_{name}", labels)

    opinion = {"kind": "product_opinion"}
    clarity = {"metric": "clarity", "outcome": "ok"}
    assert value("summaries_total", **opinion, outcome="scored") == 1
    assert value("summaries_total", **opinion, outcome="sampled_out") == 1
    assert value("summaries_total", kind="unknown", outcome="rejected") == 1
    assert value("rejected_total", reason="invalid_json") == 1
    assert value("scores_total", **opinion, metric="clarity", segment="lamps", score="4") == 1
    assert value("judge_requests_total", **clarity) == 1
    assert value("judge_requests_total", metric="probe", outcome="ok") == 1
    assert value("judge_request_duration_seconds_sum", **clarity) == 1.5
    assert value("judge_tokens_total", direction="input") == 600
    assert value("judge_tokens_total", direction="cached") == 400
    assert value("judge_tokens_total", direction="output") == 100
    assert value("judge_cost_usd_total") == 0.25
    assert value("judge_breaker_open", reason="quota") == 1
    assert value("judge_breaker_open", reason="network") == 0
    # Received two seconds ago, generated an hour ago, and the judge took none of it.
    assert value("summary_duration_seconds_sum", **opinion) == pytest.approx(2, abs=1)
    assert value("summary_age_seconds_sum", **opinion) == pytest.approx(3600, abs=10)
    assert value("overhead_seconds_sum") == pytest.approx(2, abs=1)
    assert value("in_flight") == 7
    assert value("concurrency_limit") == 40
    assert value("consumer_lag", topic="t", partition="1") == 6
    assert value("last_scored_timestamp_seconds") == pytest.approx(time.time(), abs=10)
    assert value("cache_hits_total") == 1
    assert value("info", version="1", judge="lexical", model="m", pack="p") == 1


async def test_overhead_is_what_the_slowest_call_leaves() -> None:
    telemetry = WorkerTelemetry(1)
    received = datetime.now(UTC) - timedelta(seconds=2)
    pipeline = Pipeline(StubJudge(delay=0), max_event_bytes=10_000)
    outcome = await pipeline.process(Record(raw(), FileSource(file="f", line=1), received))
    assert isinstance(outcome, Scored)
    telemetry.published(replace(outcome, slowest_call_seconds=1.5), received)
    assert telemetry.registry.get_sample_value("quintet_overhead_seconds_sum") == pytest.approx(0.5, abs=0.4)


async def test_segments_beyond_the_cap_are_one() -> None:
    telemetry = WorkerTelemetry(2)
    for number in range(5):
        await _score(telemetry, category=f"category {number}")
    text = telemetry.render().decode()
    segments = set(re.findall(r'metric="clarity",score="4",segment="([^"]+)"', text))
    assert segments == {"category 0", "category 1", "other"}
    assert re.search(r'metric="clarity",score="4",segment="other"} 3\.0', text)


def test_the_lag_of_a_partition_that_moved_is_dropped() -> None:
    telemetry = WorkerTelemetry(2)
    telemetry.lags([("t", 0, 5), ("t", 1, 6)])
    telemetry.lags([("t", 1, 4)])
    lines = [
        line for line in telemetry.render().decode().splitlines() if line.startswith("quintet_consumer_lag")
    ]
    assert lines == ['quintet_consumer_lag{partition="1",topic="t"} 4.0']


def test_a_breaker_that_closes_shows_no_reason() -> None:
    telemetry = WorkerTelemetry(2)
    telemetry.breaker_changed(OutageReason.NETWORK)
    telemetry.breaker_changed(None)
    assert "} 1.0" not in telemetry.render().decode()


def _line(name: str, message: str) -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "f", 1, message, (), None)


def test_a_log_line_is_one_json_object() -> None:
    fields = json.loads(JsonFormatter().format(_line("worker.streaming", "two\nlines")))
    assert fields["message"] == "two\nlines"
    assert fields["level"] == "warning"
    assert datetime.fromisoformat(fields["time"]).tzinfo is not None


def test_a_chatty_library_is_heard_once() -> None:
    heard = NotAgain()
    assert heard.filter(_line("aiokafka.client", "can't connect"))
    assert not heard.filter(_line("aiokafka.client", "can't connect"))
    assert heard.filter(_line("aiokafka.client", "something else"))
    assert heard.filter(_line("worker", "again"))
    assert heard.filter(_line("worker", "again"))
