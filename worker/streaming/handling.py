"""One record's walk: judge it, publish the outcome until the broker has it, tell telemetry."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from worker.errors import Outage, Rejection, RejectionReason
from worker.pipeline import Outcome, Pipeline, Rejected, Scored
from worker.streaming.records import (
    Envelopes,
    Incoming,
    Outgoing,
    PublishFailed,
    TooLargeToPublish,
    ever_smaller,
)
from worker.streaming.topics import OUTPUT_MESSAGE_BYTES

log = logging.getLogger(__name__)

#: Returns once all in-sync replicas have the record; raises PublishFailed or TooLargeToPublish.
Publish = Callable[[Outgoing], Awaitable[None]]
#: Told about every published outcome.
Published = Callable[[Incoming, Outcome], None]

#: Seconds before a failed publish is tried again: the first pause, and the longest.
RETRY_FIRST, RETRY_MOST = 0.5, 5.0


class Handler:
    """Takes a record from bytes to a published outcome; returns only when the broker has it."""

    def __init__(
        self, pipeline: Pipeline, envelopes: Envelopes, publish: Publish, published: Published
    ) -> None:
        self._pipeline = pipeline
        self._envelopes = envelopes
        self._publish = publish
        self._published = published

    async def handle(self, incoming: Incoming) -> None:
        """The whole walk of one record."""
        outcome = await self._judge(incoming)
        outcome = await self._publish_outcome(incoming, outcome)
        self._published(incoming, outcome)

    async def _judge(self, incoming: Incoming) -> Outcome:
        record = incoming.as_record()
        pause = RETRY_FIRST
        while True:
            try:
                return await self._pipeline.process(record)
            except Outage as outage:
                # A patient judge waits by itself; one that doesn't is asked again, and nothing is rejected.
                log.warning("the judge is out of reach, asking again: %s", outage.message)
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(RETRY_MOST, 2 * pause)

    async def _publish_outcome(self, incoming: Incoming, outcome: Outcome) -> Outcome:
        """What was published in the end: a scored summary that no topic takes becomes a rejected record."""
        if isinstance(outcome, Scored):
            try:
                await self._publish_scored(incoming, outcome)
            except TooLargeToPublish as problem:
                rejection = Rejection(RejectionReason.TOO_LARGE, str(problem), stage="publish")
                outcome = Rejected(rejection, outcome.event.kind, outcome.event.summary_id)
        if isinstance(outcome, Rejected):
            await self._publish_rejected(incoming, outcome.rejection)
        return outcome

    async def _publish_scored(self, incoming: Incoming, outcome: Scored) -> None:
        records = self._envelopes.scored(incoming, outcome)
        largest = max(record.size for record in records)
        if largest > OUTPUT_MESSAGE_BYTES:
            raise TooLargeToPublish(f"the result has {largest} bytes, topics take {OUTPUT_MESSAGE_BYTES}")
        # All six go out side by side; none is left behind when one is refused.
        results = await asyncio.gather(*map(self._until_taken, records), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _publish_rejected(self, incoming: Incoming, rejection: Rejection) -> None:
        for record in ever_smaller(self._envelopes.rejected(incoming, rejection)):
            try:
                return await self._until_taken(record)
            except TooLargeToPublish as problem:
                log.warning("%s/%d: %s", incoming.partition, incoming.offset, problem)
        raise AssertionError("even the headers alone are too large for the rejected topic")

    async def _until_taken(self, record: Outgoing) -> None:
        """Publish, as often as it takes: a broker may be away for minutes."""
        pause = RETRY_FIRST
        while True:
            try:
                return await self._publish(record)
            except PublishFailed as problem:
                log.warning("%s did not take a record, trying again: %s", record.topic, problem)
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(RETRY_MOST, 2 * pause)
