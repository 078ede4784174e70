"""What replies cost."""

from __future__ import annotations

from dataclasses import dataclass

from worker.judging.completion import Usage
from worker.settings import Settings


@dataclass(frozen=True)
class Prices:
    """USD per million tokens."""

    prompt: float
    completion: float
    cached: float

    def cost(self, usage: Usage) -> float:
        """USD for one reply."""
        fresh = usage.prompt - usage.cached
        total = fresh * self.prompt + usage.cached * self.cached + usage.completion * self.completion
        return total / 1_000_000


def prices_from(settings: Settings) -> Prices | None:
    """The prices that were set; tokens from the provider's cache cost as others do unless said."""
    prompt, completion = settings.price_input_per_mtok, settings.price_output_per_mtok
    if prompt is None or completion is None:
        return None
    cached = settings.price_cached_per_mtok
    return Prices(prompt, completion, prompt if cached is None else cached)
