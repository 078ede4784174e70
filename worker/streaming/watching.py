"""Looks after the worker: lag, readiness, and whether records still move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiokafka.errors import KafkaError

from worker.errors import OutageReason
from worker.settings import Settings
from worker.streaming.engine import Engine
from worker.streaming.flow import Flow, Gate
from worker.streaming.web import Check
from worker.telemetry import WorkerTelemetry

#: Seconds between two looks.
INTERVAL = 2.0
#: Seconds that a broker may take to say where the ends are.
ANSWER_TIMEOUT = 5.0
#: Seconds without an answer after which the broker counts as away.
AWAY_AFTER = 15.0
#: Seconds with records to read and none under way that mean: stuck.
STUCK_IDLE = 60.0
#: Seconds beyond the longest time a record may take.
STUCK_MARGIN = 60.0

#: Outages that last until somebody changes something about the judge.
_NEEDS_A_HAND = frozenset(
    {
        OutageReason.WRONG_KEY,
        OutageReason.UNKNOWN_MODEL,
        OutageReason.QUOTA,
        OutageReason.UNSUPPORTED,
        OutageReason.BAD_REQUEST,
    }
)


class Stuck(Exception):  # noqa: N818 - a state, told by its name
    """There are records to work on, nothing is out of reach, and nothing moves."""


class Watch:
    """Sees to it that a worker that can't go on is noticed, by Prometheus, by a person, by itself."""

    def __init__(
        self,
        settings: Settings,
        judge: str,
        engine: Engine,
        flow: Flow,
        gate: Gate,
        telemetry: WorkerTelemetry,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._engine = engine
        self._flow = flow
        self._gate = gate
        self._telemetry = telemetry
        self._fail = fail
        self._moved_at = time.monotonic()
        self._finished = 0
        self._answered_at: float | None = None
        #: Why the worker has not started yet.
        self.waiting_for: str | None = "starting"

    async def run(self) -> None:
        """Look every few seconds, for ever."""
        while True:
            await asyncio.sleep(INTERVAL)
            if reason := self._engine.crash_reason:
                self._fail(reason)
            lag = await self._look_at_lag()
            self._look_for_progress(lag)

    async def _look_at_lag(self) -> int | None:
        """All of this worker's lag; None while the broker does not answer."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                lags = await self._engine.lags()
        except (KafkaError, TimeoutError):
            return None
        self._answered_at = time.monotonic()
        self._telemetry.lags((*partition, lag) for partition, lag in lags.items())
        return sum(lags.values())

    def _look_for_progress(self, lag: int | None) -> None:
        now = time.monotonic()
        moved = self._flow.finished != self._finished
        if moved or not lag or self._gate.open_reason is not None:
            self._finished, self._moved_at = self._flow.finished, now
            return
        longest = self._settings.deadline + self._settings.judge_timeout + STUCK_MARGIN
        allowed = longest if self._flow.in_flight else STUCK_IDLE
        if now - self._moved_at > allowed:
            self._fail(Stuck(f"{lag} records to read and no progress for {allowed:.0f} s"))

    def checks(self) -> dict[str, Check]:
        """What has to be so for the worker to be ready."""
        return {
            "broker": self._broker(),
            "partitions": self._partitions(),
            "judge": self._judge_check(),
            "breaker": self._breaker(),
        }

    def _broker(self) -> Check:
        if self.waiting_for is not None:
            return Check(False, self.waiting_for)
        if self._answered_at is None:
            return Check(False, "has not answered yet")
        silent = time.monotonic() - self._answered_at
        return Check(silent < AWAY_AFTER, f"answered {silent:.0f} s ago")

    def _partitions(self) -> Check:
        if self._flow.assigned is None:
            return Check(False, "not assigned yet, or being moved")
        numbers = sorted(partition for _, partition in self._flow.assigned)
        if numbers:
            return Check(True, f"{len(numbers)} assigned: {numbers}")
        if self._engine.misses_its_topic():
            topic = self._settings.topic_generated
            return Check(False, f"there is no topic {topic} any more; run: quintet topics create")
        return Check(True, "none: a spare worker")

    def _judge_check(self) -> Check:
        """Whether the judge is fit for use; one that is only away for a while is the breaker's business."""
        if self._gate.open_reason in _NEEDS_A_HAND:
            return Check(False, f"{self._judge}: {self._gate.message}")
        return Check(True, self._judge)

    def _breaker(self) -> Check:
        reason = self._gate.open_reason
        return Check(reason is None, "closed" if reason is None else f"{reason}: {self._gate.message}")
