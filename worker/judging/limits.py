"""The gate every request passes: how many at once, when to ask again, whose fault a failure is.

A failure is either the record's own (Rejection) or everybody's (the breaker opens and nothing is
rejected). What tells them apart is whether others succeed meanwhile; where nobody else is trying, a
tiny neutral request, the probe, is sent instead.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from worker.errors import Outage, OutageReason, Rejection, RejectionReason
from worker.events import Metric
from worker.judging.breaker import Breaker, Probe
from worker.judging.concurrency import Slots
from worker.judging.errands import Errand, Record, Successes
from worker.judging.judge import Observer
from worker.judging.outcomes import OVERLOAD, STANDING, CallOutcome, Failure

#: Failed requests in a row, with no success between them, that make an outage.
FAILURES_IN_A_ROW = 5
#: A burst of refusals is not yet an outage while something passed within these seconds.
RATE_LIMIT_GRACE = 5.0
#: Different records refused in a row that make an outage out of refusals.
REFUSED_IN_A_ROW = 3
#: Seconds that one refusal makes everybody wait at most.
PAUSE_MOST = 60.0
#: Seconds: the first and the longest pause before asking again, each with full jitter.
BACKOFF_FIRST, BACKOFF_MOST = 0.5, 20.0


class Answer(Protocol):
    """Whatever came back, as long as it says how the request ended."""

    @property
    def outcome(self) -> CallOutcome: ...


A = TypeVar("A", bound=Answer)


class Gate:
    """Lets requests through, tries the failed ones again, and finds out whose fault a failure is."""

    def __init__(
        self,
        probe: Probe,
        *,
        concurrency: int,
        maximum: int,
        deadline: float,
        patience: float | None = None,
        observer: Observer | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._observer = observer or Observer()
        self._slots = Slots(concurrency, maximum, self._observer.concurrency_changed)
        self._breaker = Breaker(probe, patience=patience, observer=self._observer)
        self._deadline = deadline
        self._patience = patience
        self._jitter = jitter
        self._successes = Successes()
        self._records: set[Record] = set()
        self._failures = 0
        self._not_before = self._paused_at = float("-inf")
        self._refused: dict[Record, Probe] = {}

    @property
    def open_reason(self) -> OutageReason | None:
        """Why no request can pass; None while the way is free."""
        return self._breaker.open_reason

    @property
    def message(self) -> str:
        """Why no request can pass, in one line with what to do."""
        return self._breaker.message

    @property
    def limit(self) -> int:
        """Requests that may be under way now."""
        return self._slots.limit

    async def wait_closed(self) -> None:
        """Wait for the way to be free; an Outage where that takes longer than our patience."""
        await self._breaker.wait_closed()

    def hold(self, reason: OutageReason, message: str, seconds: float) -> None:
        """Let nobody through for so long."""
        self._breaker.hold(reason, message, seconds)

    async def close(self) -> None:
        """Stop probing."""
        await self._breaker.close()

    @contextmanager
    def record(self) -> Iterator[Record]:
        """One summary's stay: as long as others are here, they are asked before a probe is."""
        record = Record()
        self._records.add(record)
        try:
            yield record
        finally:
            self._records.discard(record)

    def errand(self, record: Record) -> Errand:
        """A line of requests with a deadline of its own."""
        return Errand(record, started=_now())

    async def call(self, send: Callable[[], Awaitable[A]], errand: Errand, metric: Metric) -> A:
        """The answer to one request, however often it has to be sent."""
        while True:
            await self._my_turn(send, errand)
            async with self._slots:
                if self._must_wait():
                    continue
                sent_at = _now()
                try:
                    return await self._send(send, errand, metric)
                except Failure as caught:
                    failure = caught
            await self._react(failure, errand, sent_at, send)

    async def _my_turn(self, send: Callable[[], Awaitable[object]], errand: Errand) -> None:
        while self._must_wait():
            if self._refused and self.open_reason is OutageReason.BAD_REQUEST:
                self._refused.setdefault(errand.record, send)  # perhaps this one passes
            await self._breaker.wait_closed()
            if self._must_wait():
                await asyncio.sleep(max(0.0, self._not_before - _now()))

    def _must_wait(self) -> bool:
        """Whether the breaker is open, or the endpoint asked for a pause and no probe has passed since."""
        paused = self._paused_at > self._breaker.closed_at and self._not_before > _now()
        return paused or self.open_reason is not None

    async def _send(self, send: Callable[[], Awaitable[A]], errand: Errand, metric: Metric) -> A:
        """One request, told to the observer and put on the record's clock."""
        started, outcome = _now(), None
        errand.requests += 1
        try:
            with self._on_the_clock(errand):
                answer = await send()
            outcome = answer.outcome
        except Failure as failure:
            outcome = failure.outcome
            raise
        finally:
            errand.last_seconds = _now() - started
            if outcome is not None:  # a cancelled request has no outcome
                self._observer.request_finished(metric, outcome, errand.last_seconds)
        self._failures = 0
        self._refused.clear()
        self._successes.note(errand.record, _now())
        self._slots.grow()
        return answer

    async def _react(
        self, failure: Failure, errand: Errand, sent_at: float, send: Callable[[], Awaitable[object]]
    ) -> None:
        """Returns when the request may be sent again."""
        if failure.adapted:
            return
        errand.failures += 1
        if failure.outcome is CallOutcome.BAD_REQUEST:
            await self._find_the_culprit(failure, errand, sent_at, send)
            return
        self._count(failure, sent_at)
        await self._back_off(failure, errand)
        if errand.spent >= self._deadline:
            self._out_of_time(failure, errand)

    def _count(self, failure: Failure, sent_at: float) -> None:
        """Draw the consequences for everybody."""
        self._failures += 1
        now = _now()
        if failure.outcome in OVERLOAD:
            self._slots.shrink(sent_at, now)
        if failure.outcome is CallOutcome.RATE_LIMITED:
            pause = failure.retry_after if failure.retry_after is not None else BACKOFF_FIRST
            self._paused_at = now
            self._not_before = max(self._not_before, now + min(pause, PAUSE_MOST))
            outage = not self._successes.since(now - RATE_LIMIT_GRACE)
        else:
            outage = True
        # A key or quota that ends must be seen at once, but not blamed for one odd answer among good ones.
        standing = failure.outcome in STANDING and not self._successes.since(sent_at)
        if standing or (outage and self._failures >= FAILURES_IN_A_ROW):
            self._breaker.trip(failure)

    async def _back_off(self, failure: Failure, errand: Errand) -> None:
        """Wait, longer each time; a wait at the breaker counts as the first few."""
        pause = self._jitter() * min(BACKOFF_MOST, BACKOFF_FIRST * 2 ** min(errand.failures - 1, 10))
        pause = max(pause, failure.retry_after or 0.0)
        if self.open_reason is not None:
            await self._breaker.wait_closed()
            if errand.failures <= FAILURES_IN_A_ROW:
                return
        with self._on_the_clock(errand):
            await asyncio.sleep(min(pause, max(0.0, self._deadline - errand.spent)))

    def _out_of_time(self, failure: Failure, errand: Errand) -> None:
        """The deadline is over: the record's own fault, unless nobody else got anywhere either."""
        alone = len(self._records) <= 1
        if alone or self._successes.by_another(errand.record, errand.started):
            raise Rejection(
                RejectionReason.DEADLINE_EXCEEDED,
                f"no verdict within {self._deadline:g} s: {failure.message}",
                attempts=errand.requests,
            )
        if self._patience is not None:
            raise Outage(
                failure.reason, f"no verdict for anybody within {self._deadline:g} s: {failure.message}"
            )
        self._breaker.trip(failure)
        errand.started, errand.spent, errand.failures = _now(), 0.0, 0

    async def _find_the_culprit(
        self, failure: Failure, errand: Errand, sent_at: float, send: Callable[[], Awaitable[object]]
    ) -> None:
        """A refused request is the record's own fault if others pass; otherwise everybody waits."""
        if self.open_reason is not None:
            return
        if not self._successes.by_another(errand.record, sent_at):
            refused = await self._breaker.check()
            if refused is not None:
                self._breaker.trip(refused)
                return
            self._refused[errand.record] = send
            if len(self._refused) >= REFUSED_IN_A_ROW:
                self._breaker.trip(failure, self._resend_refused)
                return
        raise Rejection(
            RejectionReason.JUDGE_BAD_REQUEST,
            f"{failure.message} to this summary",
            attempts=errand.requests,
        )

    async def _resend_refused(self) -> object:
        """The refused requests in turn: where a neutral one passes, only they show what is wrong."""
        record = next(iter(self._refused))
        send = self._refused[record] = self._refused.pop(record)
        answer = await send()
        self._refused.clear()
        return answer

    @contextmanager
    def _on_the_clock(self, errand: Errand) -> Iterator[None]:
        before = self._breaker.closed_seconds()
        try:
            yield
        finally:
            errand.spent += self._breaker.closed_seconds() - before


def _now() -> float:
    return asyncio.get_running_loop().time()
