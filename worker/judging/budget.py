"""What replies cost, what was spent today, and what that leaves for the rest of the day.

First the share of judged summaries goes down, so that the money lasts until midnight (UTC); once it is
used up, judging pauses until then. Requests under way at that moment are still paid for.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from worker.errors import OutageReason
from worker.judging.completion import Usage
from worker.judging.judge import Observer
from worker.judging.limits import Gate
from worker.judging.pricing import Prices
from worker.judging.shared_file import SharedFile

logger = logging.getLogger(__name__)

SCHEMA = """
CREATE TABLE IF NOT EXISTS spend (day TEXT, worker TEXT, usd REAL NOT NULL, PRIMARY KEY (day, worker))
"""
DAY_SECONDS = 86_400.0
#: The share of the configured rate that is judged at least, until the money is used up.
FLOOR = 0.05
#: How sharply the rate follows the money: at 4, a stream that would cost twice the budget settles at 0.4.
STEEPNESS = 4


@dataclass(frozen=True)
class Plan:
    """How to go on."""

    sample_rate: float
    paused: bool


def plan(spent: float, budget: float, seconds_left: float, configured_rate: float) -> Plan:
    """The rate that makes the money last: full while no more than an even share of the day's is gone."""
    if spent >= budget:
        return Plan(configured_rate * FLOOR, paused=True)
    money_left = (budget - spent) / budget
    day_left = max(seconds_left, 1.0) / DAY_SECONDS
    share = min(1.0, money_left / day_left) ** STEEPNESS
    return Plan(configured_rate * max(FLOOR, share), paused=False)


class Budget:
    """One worker's spending per UTC day; it outlives the process."""

    def __init__(
        self,
        usd_per_day: float,
        path: Path,
        worker: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.usd_per_day = usd_per_day
        self._worker = worker
        self._clock = clock
        self._file = SharedFile(path, SCHEMA)
        self._day = ""
        self._spent = 0.0
        self._loading: Future[tuple[str, float]] | None = None
        self._loaded = False

    @property
    def spent(self) -> float:
        """USD spent today, as far as we know."""
        return self._spent if self._day == self._today() else 0.0

    @property
    def exhausted(self) -> bool:
        """Whether today's money is used up."""
        return self.spent >= self.usd_per_day

    @property
    def seconds_left(self) -> float:
        """Seconds until the next day begins."""
        now = self._clock()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - now).total_seconds()

    def plan(self, configured_rate: float) -> Plan:
        """How to go on from here."""
        return plan(self.spent, self.usd_per_day, self.seconds_left, configured_rate)

    async def load(self) -> None:
        """Take over what was spent today before this process began."""
        if self._loading is None:
            self._add_here(0.0)
            self._loading = self._record(0.0)
        if not self._loaded:
            self._take_over(await asyncio.wrap_future(self._loading))
            self._loaded = True

    def add(self, usd: float) -> None:
        """Money was spent; written down without making anybody wait."""
        self._add_here(usd)
        self._record(usd)

    async def close(self) -> None:
        """Write down the rest and let go of the file."""
        await self._file.close()

    def _add_here(self, usd: float) -> None:
        self._spent, self._day = self.spent + usd, self._today()

    def _record(self, usd: float) -> Future[tuple[str, float]]:
        day = self._day
        return self._file.submit(
            lambda connection: (day, _add(connection, day, self._worker, usd)), (day, 0.0)
        )

    def _take_over(self, recorded: tuple[str, float]) -> None:
        day, usd = recorded
        if day == self._day:
            self._spent = max(self._spent, usd)

    def _today(self) -> str:
        return self._clock().date().isoformat()


class Meter:
    """Counts tokens and money as they are spent, and stops the spending where a budget says so."""

    def __init__(self, prices: Prices | None, budget: Budget | None, observer: Observer) -> None:
        self._prices = prices
        self._observer = observer
        self._warned = False
        self.budget = budget

    def charge(self, usage: Usage | None) -> float | None:
        """One reply's cost in USD, told to the observer; None where it can't be known."""
        if usage is None:
            self._warn_of_unknown_usage()
            return None
        self._observer.tokens_used(usage.prompt, usage.cached, usage.completion)
        if self._prices is None:
            return None
        usd = self._prices.cost(usage)
        self._observer.cost_incurred(usd)
        if self.budget is not None:
            self.budget.add(usd)
        return usd

    def total(self, costs: Sequence[float | None]) -> float | None:
        """The sum, where every part is known and there are prices at all."""
        known = [cost for cost in costs if cost is not None]
        return sum(known) if self._prices is not None and len(known) == len(costs) else None

    async def hold_if_exhausted(self, gate: Gate) -> None:
        """Close the gate until midnight once the day's money is used up."""
        if self.budget is None:
            return
        await self.budget.load()
        if self.budget.exhausted:
            message = (
                f"today's budget of {self.budget.usd_per_day:g} USD is used up;"
                " raise QUINTET_BUDGET_USD_PER_DAY or wait until 00:00 UTC"
            )
            gate.hold(OutageReason.BUDGET, message, self.budget.seconds_left)

    async def close(self) -> None:
        """Let go of the budget's file."""
        if self.budget is not None:
            await self.budget.close()

    def _warn_of_unknown_usage(self) -> None:
        if self.budget is not None and not self._warned:
            self._warned = True
            logger.warning("The endpoint reports no token usage: the budget can't be kept")


def _add(connection: sqlite3.Connection, day: str, worker: str, usd: float) -> float:
    """Add to the day's sum, forget older days, and return the sum."""
    connection.execute("DELETE FROM spend WHERE worker = ? AND day < ?", (worker, day))
    row = connection.execute(
        "INSERT INTO spend VALUES (?, ?, ?)"
        " ON CONFLICT (day, worker) DO UPDATE SET usd = usd + excluded.usd RETURNING usd",
        (day, worker, usd),
    ).fetchone()
    return float(row[0])
