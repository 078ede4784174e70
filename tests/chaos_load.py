"""What the chaos test sends: summaries, a little poison, and transactions of which some are aborted."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from kafka import KafkaProducer

from tests.examples import raw
from tests.streams import Stage, producer

POISON_EVERY = 100
#: Records of one transaction; every third transaction is aborted.
TRANSACTION_SIZE = 20
ABORT_EVERY = 3

#: Bytes that can't be scored, and the reason that each has to be rejected for.
POISON = [
    (b"not json at all", "invalid_json"),
    (b'{"summary_id": "x", "summary_id": "y"}', "invalid_json"),
    (b'{"summary_id": NaN}', "invalid_json"),
    (b'{"summary_id": "\xff\xfe"}', "invalid_json"),
    (b"[" * 10_000 + b"]" * 10_000, "invalid_json"),
    (b'{"summary_id": "x", "kind": "product_opinion"}', "invalid_event"),
]


@dataclass
class Sent:
    """What has to come out, and what must not."""

    valid: set[str] = field(default_factory=set)
    aborted: set[str] = field(default_factory=set)
    poison: dict[str, str] = field(default_factory=dict)


class Load(threading.Thread):
    """Sends summaries at an even pace, and rests while the broker is away."""

    def __init__(self, stage: Stage, *, count: int, seconds: float) -> None:
        super().__init__(name="load", daemon=True)
        self._stage = stage
        self._count = count
        self._seconds = seconds
        #: Held by whoever takes the broker away.
        self.broker_in_use = threading.Lock()
        self.sent = Sent()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Send everything; a failure is for the main thread to see."""
        try:
            self._send_all()
        except BaseException as error:
            self.failure = error

    def _send_all(self) -> None:
        plain = producer(self._stage.address)
        transactional = producer(self._stage.address, transactional_id=f"chaos-{self._stage.name}")
        transactional.init_transactions()
        started = time.monotonic()
        for first in range(0, self._count, TRANSACTION_SIZE):
            numbers = range(first, min(first + TRANSACTION_SIZE, self._count))
            turn = first // TRANSACTION_SIZE
            with self.broker_in_use:
                # One of four batches goes through the transactional producer.
                if turn % 4 == 3:
                    self._transaction(transactional, numbers, aborted=turn // 4 % ABORT_EVERY == 0)
                else:
                    self._batch(plain, numbers)
            due = started + self._seconds * (first + TRANSACTION_SIZE) / self._count
            time.sleep(max(0.0, due - time.monotonic()))
        plain.close()
        transactional.close()

    def _batch(self, sink: KafkaProducer, numbers: range) -> None:
        sending = []
        for number in numbers:
            key, value = self._record(number)
            sending.append(sink.send(self._stage.settings.topic_generated, value, key))
        for future in sending:
            future.get(timeout=120)

    def _transaction(self, sink: KafkaProducer, numbers: range, *, aborted: bool) -> None:
        sink.begin_transaction()
        for number in numbers:
            name = f"aborted-{number}" if aborted else f"s-{number}"
            (self.sent.aborted if aborted else self.sent.valid).add(name)
            sink.send(self._stage.settings.topic_generated, _summary(name), name.encode())
        sink.flush()  # otherwise an abort would throw them away before they are in the topic
        sink.abort_transaction() if aborted else sink.commit_transaction()

    def _record(self, number: int) -> tuple[bytes, bytes]:
        if number % POISON_EVERY == 0:
            name = f"poison-{number}"
            value, self.sent.poison[name] = POISON[number // POISON_EVERY % len(POISON)]
            return name.encode(), value
        name = f"s-{number}"
        self.sent.valid.add(name)
        return name.encode(), _summary(name)


def _summary(name: str) -> bytes:
    """A summary whose text nobody else has, so that no verdict is shared."""
    return raw(summary_id=name, summary=f"The light of lamp {name} is bright and its base is sturdy.")
