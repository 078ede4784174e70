"""What can't be scored: it keeps everything it came with, and the next record is scored."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiokafka import AIOKafkaProducer

from tests.examples import raw
from tests.streams import Stage, Workers, eventually, producer
from worker.settings import MAX_RECORD_BYTES

MILLION_DIGITS = b'{"summary_id": ' + b"7" * 1_000_000 + b"}"

HOPELESS = {
    "5 MB": (raw(summary_id="big", summary="x " * 2_500_000), "too_large"),
    "nearly 10 MiB": (b"y" * (MAX_RECORD_BYTES - 1000), "too_large"),
    "broken UTF-8": (b'{"summary_id": "\xff\xfe"}', "invalid_json"),
    "10,000 levels": (b'{"products":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "invalid_json"),
    "a million digits": (MILLION_DIGITS, "invalid_json"),
    "duplicate keys": (b'{"summary_id": "a", "summary_id": "b"}', "invalid_json"),
    "NaN": (b'{"summary_id": NaN}', "invalid_json"),
    "no value": (None, "invalid_event"),
    "empty": (b"", "invalid_json"),
    "wrong shape": (b'{"summary_id": "a"}', "invalid_event"),
}


def test_hopeless_records_are_rejected_with_their_reason_and_the_next_is_scored(
    stage: Stage, workers: Workers
) -> None:
    # Given
    records: list[tuple[bytes | None, bytes | None]] = []
    for name, (value, _) in HOPELESS.items():
        records += [(name.encode(), value), (f"after {name}".encode(), raw(summary_id=f"after {name}"))]
    stage.publish(records)

    # When
    worker = workers.stub()
    rejected = {record.key.decode(): record for record in stage.wait_for("rejected", len(HOPELESS))}
    stage.wait_for("scored", len(HOPELESS))

    # Then
    reasons = {
        name: dict(record.headers)["quintet.error.reason"].decode() for name, record in rejected.items()
    }
    assert reasons == {name: reason for name, (_, reason) in HOPELESS.items()}
    assert all(rejected[name].value == value for name, (value, _) in HOPELESS.items())
    assert {event["summary_id"] for event in stage.scored()} == {f"after {name}" for name in HOPELESS}
    assert worker.telemetry("quintet_rejected_total") == len(HOPELESS)


def test_a_rejected_record_keeps_key_headers_and_time(stage: Stage, workers: Workers) -> None:
    # Given
    headers = [
        ("trace", b"1"),
        ("trace", b"2"),
        ("nothing", None),
        ("quintet.error.reason", b"old"),
        ("quintet.error.replays", b"2"),
        ("trace", b"1"),
    ]
    source = asyncio.run(_send(stage, b"rubbish", headers, 1_700_000_000_123))

    # When
    workers.stub()
    record = stage.wait_for("rejected", 1)[0]

    # Then
    assert record.key is None
    assert record.value == b"rubbish"
    assert record.timestamp == 1_700_000_000_123
    assert record.headers[:4] == [("trace", b"1"), ("trace", b"2"), ("nothing", None), ("trace", b"1")]
    errors = dict(record.headers[4:])
    failed_at = errors.pop("quintet.error.failed_at")
    assert failed_at.startswith(b"20")
    assert errors == {
        "quintet.error.reason": b"invalid_json",
        "quintet.error.stage": b"read",
        "quintet.error.message": errors["quintet.error.message"],
        "quintet.error.attempts": b"0",
        "quintet.error.topic": stage.settings.topic_generated.encode(),
        "quintet.error.partition": str(source.partition).encode(),
        "quintet.error.offset": str(source.offset).encode(),
        "quintet.error.group": stage.settings.group.encode(),
        "quintet.error.replays": b"2",
    }


def test_a_scored_summary_keeps_its_key_and_says_what_it_is(stage: Stage, workers: Workers) -> None:
    # Given
    trace = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sink = producer(stage.address)
    headers = [("traceparent", trace), ("secret", b"x")]
    sink.send(stage.settings.topic_generated, raw(summary_id="s-ü"), b"\x00key\xff", headers).get(timeout=30)
    sink.close()

    # When
    workers.stub()
    whole = stage.wait_for("scored", 1)[0]
    parts = stage.wait_for("metric_scores", 5)

    # Then
    event = json.loads(whole.value)
    assert whole.key == b"\x00key\xff"
    assert _cloud_event(whole) == {
        "ce_specversion": "1.0",
        "ce_id": event["event_id"],
        "ce_source": f"/quintet/{stage.settings.group}",
        "ce_type": "quintet.summary.scored.v1",
        "ce_subject": "s-ü",
        "content-type": "application/json",
        "traceparent": trace.decode(),
    }
    assert {record.key.decode() for record in parts} == {
        f"product_opinion|{metric}" for metric in event["scores"]
    }
    assert {_cloud_event(record)["ce_id"] for record in parts} == {
        f"{event['event_id']}:{metric}" for metric in event["scores"]
    }


def test_a_summary_left_out_by_sampling_is_counted_and_done(stage: Stage, workers: Workers) -> None:
    # Given
    stage.publish_summaries(f"s-{number}" for number in range(200))

    # When
    worker = workers.stub(QUINTET_SAMPLE_RATE="0.5")
    eventually(lambda: sum(offset for offset, _ in stage.committed().values()) == 200, 30)

    # Then
    scored = len(stage.scored())
    assert 60 < scored < 140
    assert worker.telemetry("quintet_summaries_total") == 200
    assert f'outcome="sampled_out"}} {200 - scored}.0' in worker.get("/metrics")[1]


async def _send(stage: Stage, value: bytes, headers: list[Any], timestamp_ms: int) -> Any:
    """With aiokafka, since kafka-python has no headers without a value."""
    async with AIOKafkaProducer(bootstrap_servers=stage.address) as sink:
        topic = stage.settings.topic_generated
        return await sink.send_and_wait(topic, value, headers=headers, timestamp_ms=timestamp_ms)


def _cloud_event(record: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in record.headers if name != "ce_time"}
