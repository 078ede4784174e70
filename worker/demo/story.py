"""What happens in the demo: scores are learned, all is well, the generator gets worse, the alarm comes.

The story waits for what the system says and arranges nothing: the next chapter begins when every stream
has its baseline, and the end has come when the alarms have their verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum

from kafka import TopicPartition

from worker.demo.generator import CATEGORIES, KINDS, WORSE_CATEGORY, SampleStream, poison
from worker.drift.group import ALL
from worker.events import DriftChanged, DriftState, Metric
from worker.settings import Settings
from worker.streaming.tools import TopicReader, producer, reader

#: Summaries that may wait to be scored: the stream is as fast as the worker.
AHEAD = 200
#: Summaries after the last baseline and before the generator gets worse.
QUIET = 600
#: Summaries of the new version after which the story ends even if nobody has noticed anything.
MOST_WORSE = 6000
#: Summaries after which a baseline that is still not there is given up for.
MOST_LEARNING = 15000
#: Summaries after the first alarm with a verdict, for the other metrics of the same release.
AFTERMATH = 600
#: Seconds that the last alarms get to find their verdicts.
LAST_VERDICTS = 20.0
_POLL_MS = 50

StreamName = tuple[str, str, str]


class Chapter(StrEnum):
    """Where the story is."""

    LEARNING = "learning what is usual"
    QUIET = "all is well"
    WORSE = f"the new version is out; it is worse in {WORSE_CATEGORY}"
    CLOSING = "the last summaries are being scored"


@dataclass
class Progress:
    """All that there is to show."""

    chapter: Chapter = Chapter.LEARNING
    published: int = 0
    scored: int = 0
    rejected: int = 0
    #: Records published when the new version came.
    worse_from: int | None = None
    latest: dict[StreamName, DriftChanged] = field(default_factory=dict)
    alarms: dict[StreamName, DriftChanged] = field(default_factory=dict)
    events: list[DriftChanged] = field(default_factory=list)

    @property
    def streams(self) -> int:
        """Streams by category that there will be."""
        return len(CATEGORIES) * len(KINDS) * len(Metric)

    def watched(self) -> int:
        """Streams by category that have a baseline."""
        return sum(
            event.state is not DriftState.LEARNING
            for (_, _, segment), event in self.latest.items()
            if segment != ALL
        )

    def note(self, event: DriftChanged) -> None:
        """Take one drift event."""
        name = (str(event.kind), str(event.metric), event.segment)
        self.latest[name] = event
        self.events.append(event)
        if event.state is DriftState.ALARM:
            self.alarms[name] = event

    def decided(self) -> list[DriftChanged]:
        """Alarms that have their verdict, by category."""
        return [event for event in self.alarms.values() if event.verdict and event.segment != ALL]

    def open(self) -> int:
        """Alarms that wait for their verdict."""
        return sum(event.verdict is None for event in self.alarms.values())


class Story:
    """Publishes the sample stream and follows what becomes of it."""

    def __init__(self, settings: Settings, seed: int, check: Callable[[], None]) -> None:
        self._settings = settings
        self._stream = SampleStream(seed)
        self._poison = list(poison())
        self._check = check
        #: Records published when the chapter began, and when the first alarm had its verdict.
        self._turned_at = 0
        self._alarmed_at: int | None = None
        self._patience = 0.0
        self.progress = Progress()

    def tell(self) -> Iterator[Progress]:
        """Run to the end; the same progress again and again, for whoever shows it."""
        with ExitStack() as stack:
            self._sink = stack.enter_context(producer(self._settings))
            self._drift = self._follow(stack, self._settings.topic_drift)
            self._scored = self._follow(stack, self._settings.topic_scored)
            self._rejected = self._follow(stack, self._settings.topic_rejected)
            while not self._finished():
                self._check()
                self._publish()
                self._look()
                yield self.progress

    def _follow(self, stack: ExitStack, topic: str) -> TopicReader:
        source = stack.enter_context(reader(self._settings, topic))
        source.from_beginning()
        return source

    def _publish(self) -> None:
        progress = self.progress
        if progress.chapter is Chapter.CLOSING:
            return
        room = AHEAD - (progress.published - progress.scored - progress.rejected)
        for _ in range(room):
            key, value = self._stream.next(worse=progress.chapter is Chapter.WORSE)
            self._send(key, value)
        if self._poison and progress.scored > 1000 * (6 - len(self._poison)) / 2:
            self._send(b"poison", self._poison.pop())
        self._sink.flush(timeout=30)

    def _send(self, key: bytes, value: bytes) -> None:
        self._sink.send(self._settings.topic_generated, value, key)
        self.progress.published += 1

    def _look(self) -> None:
        progress = self.progress
        progress.scored, progress.rejected = _count(self._scored), _count(self._rejected)
        for records in self._drift.client.poll(timeout_ms=_POLL_MS).values():
            for record in records:
                progress.note(DriftChanged.model_validate_json(record.value))

    def _finished(self) -> bool:
        """Turn the page where it is time; whether that was the last one."""
        progress = self.progress
        match progress.chapter:
            case Chapter.LEARNING:
                if progress.watched() >= progress.streams or progress.published >= MOST_LEARNING:
                    progress.chapter, self._turned_at = Chapter.QUIET, progress.published
            case Chapter.QUIET:
                if progress.published >= self._turned_at + QUIET:
                    progress.chapter, progress.worse_from = Chapter.WORSE, progress.published
                    self._turned_at = progress.published
            case Chapter.WORSE:
                self._look_for_the_end()
            case Chapter.CLOSING:
                done = progress.scored + progress.rejected >= progress.published
                return done and (not progress.open() or time.monotonic() > self._patience)
        return False

    def _look_for_the_end(self) -> None:
        progress = self.progress
        if self._alarmed_at is None and progress.decided():
            self._alarmed_at = progress.published
        enough = self._alarmed_at is not None and progress.published >= self._alarmed_at + AFTERMATH
        if enough or progress.published >= self._turned_at + MOST_WORSE:
            progress.chapter = Chapter.CLOSING
            self._patience = time.monotonic() + LAST_VERDICTS


def _count(source: TopicReader) -> int:
    """Records in a topic that nobody writes to in transactions."""
    ends: dict[TopicPartition, int] = source.client.end_offsets(source.partitions)
    return sum(ends.values())
