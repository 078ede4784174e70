"""What comes in and what goes out: records, their headers, and nothing of any Kafka client."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote

from worker.errors import QuintetError, Rejection
from worker.events import DriftChanged, KafkaSource, MetricScored, SummaryScored
from worker.pipeline import Record, Scored
from worker.settings import Settings
from worker.streaming.ledger import Partition
from worker.streaming.topics import OUTPUT_MESSAGE_BYTES

Header = tuple[str, bytes]

ERROR_PREFIX = "quintet.error."
REPLAYS = f"{ERROR_PREFIX}replays"
#: Says how many bytes a rejected record had that was too large to be published whole.
OMITTED = f"{ERROR_PREFIX}omitted_bytes"
#: Characters of an error's message that a header carries.
MESSAGE_LENGTH = 500

_TRACE_HEADERS = ("traceparent", "tracestate")
#: Bytes that the standard lets a trace header have; six records carry each, so no more are passed on.
TRACE_LENGTH = 512


class TooLargeToPublish(QuintetError):  # noqa: N818 - an outcome, like a Rejection
    """The broker or the producer will never take a record of this size."""


class PublishFailed(QuintetError):  # noqa: N818 - the broker's state, not a fault of ours
    """The broker has not taken a record; it may later."""


@dataclass(frozen=True)
class Incoming:
    """A record as it was read, every header and the exact time stamp included."""

    partition: Partition
    offset: int
    generation: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    timestamp_ms: int | None
    received_at: datetime

    def as_record(self) -> Record:
        """What the pipeline wants to know of it."""
        source = KafkaSource(
            topic=self.partition.topic, partition=self.partition.partition, offset=self.offset
        )
        return Record(self.value, source, self.received_at)


@dataclass(frozen=True)
class Outgoing:
    """A record to be published."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    timestamp_ms: int | None = None

    @property
    def size(self) -> int:
        """Bytes on the wire, within a few."""
        names = sum(len(name.encode()) + len(value or b"") + 10 for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + names + 100


class Envelopes:
    """Puts outcomes into records for the output topics."""

    def __init__(self, settings: Settings) -> None:
        self._topics = settings
        self._group = settings.group
        self._source = f"/quintet/{quote(settings.group)}"

    def scored(self, incoming: Incoming, outcome: Scored) -> list[Outgoing]:
        """One record for the summary and one for each metric."""
        trace = [header for header in incoming.headers if _is_trace(*header)]
        whole = Outgoing(
            self._topics.topic_scored,
            incoming.key,
            outcome.event.model_dump_json().encode(),
            self._cloud_event(outcome.event, "quintet.summary.scored.v1") + trace,
        )
        return [whole, *(self._metric(event, trace) for event in outcome.by_metric)]

    def rejected(self, incoming: Incoming, rejection: Rejection) -> Outgoing:
        """The record as it came, with what was wrong in headers."""
        noted = {
            "reason": rejection.reason,
            "stage": rejection.stage,
            "message": _one_line(rejection.message),
            "attempts": str(rejection.attempts),
            "failed_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "topic": incoming.partition.topic,
            "partition": str(incoming.partition.partition),
            "offset": str(incoming.offset),
            "group": self._group,
            "replays": str(replays(incoming.headers)),
        }
        headers = without_errors(incoming.headers)
        headers += [(ERROR_PREFIX + name, value.encode("utf-8", "replace")) for name, value in noted.items()]
        return Outgoing(
            self._topics.topic_rejected, incoming.key, incoming.value, headers, incoming.timestamp_ms
        )

    def drift(self, event: DriftChanged) -> Outgoing:
        """One change of a stream's state."""
        stream = f"{event.kind}|{event.metric}|{event.segment}"
        return Outgoing(
            self._topics.topic_drift,
            stream.encode(),
            event.model_dump_json().encode(),
            self._attributes(event.event_id, "quintet.drift.changed.v1", event.at, stream),
        )

    def _metric(self, event: MetricScored, trace: list[Header]) -> Outgoing:
        return Outgoing(
            self._topics.topic_metric_scores,
            f"{event.kind}|{event.metric}".encode(),
            event.model_dump_json().encode(),
            self._cloud_event(event, "quintet.metric.scored.v1") + trace,
        )

    def _cloud_event(self, event: SummaryScored | MetricScored, type_: str) -> list[Header]:
        return self._attributes(event.event_id, type_, event.scored_at, event.summary_id)

    def _attributes(self, event_id: str, type_: str, time: datetime, subject: str) -> list[Header]:
        attributes = {
            "ce_specversion": "1.0",
            "ce_id": event_id,
            "ce_source": self._source,
            "ce_type": type_,
            "ce_time": time.isoformat(),
            "ce_subject": subject,
            "content-type": "application/json",
        }
        return [(name, value.encode()) for name, value in attributes.items()]


def ever_smaller(rejected: Outgoing) -> Iterable[Outgoing]:
    """A rejected record, then what is left of it where even the rejected topic won't take it whole."""
    if rejected.size <= OUTPUT_MESSAGE_BYTES:
        yield rejected
    ours = [header for header in rejected.headers if header[0].startswith(ERROR_PREFIX)]
    noted = (OMITTED, str(len(rejected.value or b"")).encode())
    yield replace(rejected, value=None, headers=[*rejected.headers, noted])
    yield replace(rejected, key=None, value=None, headers=[*ours, noted])


def replays(headers: Iterable[Header]) -> int:
    """How often a record was sent back to the input; nonsense counts as never."""
    counts = [
        int(value) for name, value in headers if name == REPLAYS and re.fullmatch(rb"\d{1,9}", value or b"")
    ]
    return counts[-1] if counts else 0


def without_errors(headers: Iterable[Header]) -> list[Header]:
    """The headers that the record's own producer gave it."""
    return [header for header in headers if not header[0].startswith(ERROR_PREFIX)]


def _is_trace(name: str, value: bytes | None) -> bool:
    return name in _TRACE_HEADERS and value is not None and len(value) <= TRACE_LENGTH


def _one_line(text: str) -> str:
    return " ".join(text.split())[:MESSAGE_LENGTH]
