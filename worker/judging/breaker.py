"""Knows whether the judge is out of reach, and asks again until it is back."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable

from worker.errors import Outage, OutageReason
from worker.judging.judge import Observer
from worker.judging.outcomes import ADVICE, STANDING, CallOutcome, Failure

logger = logging.getLogger(__name__)

Probe = Callable[[], Awaitable[object]]

#: Seconds between two probes: the first, and the most while an outage may end by itself.
PROBE_FIRST, PROBE_MOST = 0.5, 2.0
#: The most where somebody has to act first.
PROBE_MOST_STANDING = 10.0
#: Seconds of an endpoint's own Retry-After that a probe respects at most.
PROBE_RETRY_AFTER_MOST = 4.0
#: Seconds after which a second probe goes out beside one that hangs.
PROBE_OVERTAKES = 2.0

_AT_ONCE = frozenset(
    {OutageReason.WRONG_KEY, OutageReason.UNKNOWN_MODEL, OutageReason.UNSUPPORTED, OutageReason.BUDGET}
)


class Breaker:
    """Open while nobody's request can pass; its clock stands still meanwhile."""

    def __init__(self, probe: Probe, *, patience: float | None, observer: Observer) -> None:
        self._probe = probe
        self._patience = patience
        self._observer = observer
        self._closed = asyncio.Event()
        self._closed.set()
        self._opened_at = 0.0
        self._seconds_open = 0.0
        self._reopening: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[Failure | None] | None = None
        #: When the way was last found to be free.
        self.closed_at = float("-inf")
        #: Why nobody's request can pass; None while the way is free.
        self.open_reason: OutageReason | None = None
        #: The same in one line, with what to do.
        self.message = ""

    def closed_seconds(self) -> float:
        """A clock that stands still while the breaker is open."""
        now = asyncio.get_running_loop().time()
        return now - self._seconds_open - (now - self._opened_at if self.open_reason else 0.0)

    def trip(self, failure: Failure, probe: Probe | None = None) -> None:
        """Let nobody through until a probe passes."""
        if self.open_reason is None:
            self._open(failure)
            self._reopening = asyncio.create_task(self._probe_until_it_passes(failure, probe or self._probe))
        elif failure.outcome in STANDING and self.open_reason is not OutageReason.BUDGET:
            self._open(failure)

    def hold(self, reason: OutageReason, message: str, seconds: float) -> None:
        """Let nobody through for so long."""
        if reason is self.open_reason:
            return
        if self._reopening is not None:
            self._reopening.cancel()
        self._name(reason, message)
        self._reopening = asyncio.create_task(self._close_after(seconds))

    async def wait_closed(self) -> None:
        """Wait for the way to be free; an Outage where that takes longer than our patience."""
        while self.open_reason is not None:
            if self._patience is None:
                await self._closed.wait()
                continue
            waited = asyncio.get_running_loop().time() - self._opened_at
            if self.open_reason in _AT_ONCE or waited >= self._patience:
                raise Outage(self.open_reason, self.message)
            # Woken now and then, since the reason may become one that nobody waits for.
            try:
                async with asyncio.timeout(min(1.0, self._patience - waited)):
                    await self._closed.wait()
            except TimeoutError:
                continue

    async def check(self) -> Failure | None:
        """Probe once on behalf of everybody who asks at this moment; None if it passes."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._attempt(self._probe))
        return await asyncio.shield(self._checking)

    async def close(self) -> None:
        """Stop probing."""
        for task in (self._reopening, self._checking):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    def _open(self, failure: Failure) -> None:
        advice = ADVICE.get(failure.reason)
        self._name(failure.reason, f"{failure.message}; {advice}" if advice else failure.message)

    def _name(self, reason: OutageReason, message: str) -> None:
        if self.open_reason is None:
            self._opened_at = asyncio.get_running_loop().time()
            self._closed.clear()
        changed, self.open_reason, self.message = reason is not self.open_reason, reason, message
        if changed:
            self._observer.breaker_changed(reason)

    def _reset(self) -> None:
        self.closed_at = asyncio.get_running_loop().time()
        self._seconds_open += self.closed_at - self._opened_at
        self.open_reason, self.message = None, ""
        self._closed.set()
        self._observer.breaker_changed(None)

    async def _close_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._reset()

    async def _probe_until_it_passes(self, failure: Failure, probe: Probe) -> None:
        """Probe more and more slowly; one that hangs is overtaken, yet may still be the one that passes."""
        under_way: list[asyncio.Task[Failure | None]] = []
        try:
            for number in itertools.count():
                await asyncio.sleep(_pause(number, failure))
                while len(under_way) > 1:
                    under_way.pop().cancel()
                under_way.append(asyncio.create_task(self._attempt(probe)))
                done, _ = await asyncio.wait(
                    under_way, timeout=PROBE_OVERTAKES, return_when=asyncio.FIRST_COMPLETED
                )
                under_way = [task for task in under_way if task not in done]
                for task in done:
                    result = task.result()
                    if result is None:
                        return self._reset()
                    failure = result
                    self._open(failure)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _attempt(self, probe: Probe) -> Failure | None:
        """One probe; None if it passes."""
        clock = asyncio.get_running_loop().time
        started, failure = clock(), None
        try:
            await probe()
        except Failure as caught:
            failure = caught
        except Exception:
            # A fault of ours must not end the probing: everybody would wait for ever.
            logger.exception("The probe of the judge failed in an unexpected way")
            failure = Failure(CallOutcome.SERVER_ERROR, "the probe failed in an unexpected way")
        outcome = failure.outcome if failure else CallOutcome.OK
        self._observer.request_finished(None, outcome, clock() - started)
        return failure


def _pause(number: int, failure: Failure) -> float:
    """Seconds before the next probe."""
    most = PROBE_MOST_STANDING if failure.outcome in STANDING else PROBE_MOST
    pause = float(min(most, PROBE_FIRST * 2 ** min(number, 10)))
    return max(pause, min(failure.retry_after or 0.0, PROBE_RETRY_AFTER_MOST))
