"""What is spent."""

from __future__ import annotations

from collections.abc import Sequence

from worker.judging.completion import Usage
from worker.judging.judge import Observer
from worker.judging.limits import Gate
from worker.judging.pricing import Prices


class Meter:
    """Counts tokens and money as they are spent."""

    def __init__(self, prices: Prices | None, observer: Observer) -> None:
        self._prices = prices
        self._observer = observer

    def charge(self, usage: Usage | None) -> float | None:
        """One reply's cost in USD, told to the observer; None where it can't be known."""
        if usage is None:
            return None
        self._observer.tokens_used(usage.prompt, usage.cached, usage.completion)
        if self._prices is None:
            return None
        usd = self._prices.cost(usage)
        self._observer.cost_incurred(usd)
        return usd

    def total(self, costs: Sequence[float | None]) -> float | None:
        """The sum, where every part is known and there are prices at all."""
        known = [cost for cost in costs if cost is not None]
        return sum(known) if self._prices is not None and len(known) == len(costs) else None

    def hold_if_exhausted(self, gate: Gate) -> None:
        """Nothing to hold without a budget."""

    async def close(self) -> None:
        """Nothing to close without a budget."""
