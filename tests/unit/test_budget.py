"""Prices, the day's spending, and how the money is made to last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worker.judging.budget import DAY_SECONDS, FLOOR, Budget, plan
from worker.judging.completion import Usage
from worker.judging.pricing import prices_from
from worker.settings import load_settings

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_cached_tokens_cost_as_others_do_unless_said() -> None:
    usage = Usage(prompt=1000, cached=400, completion=100)
    without = load_settings(price_input_per_mtok=2.0, price_output_per_mtok=10.0)
    cheaper = load_settings(price_input_per_mtok=2.0, price_output_per_mtok=10.0, price_cached_per_mtok=0.0)

    for settings, expected in ((without, 0.003), (cheaper, 0.0022)):
        prices = prices_from(settings)
        assert prices is not None
        assert prices.cost(usage) == pytest.approx(expected)
    assert prices_from(load_settings()) is None


@pytest.mark.parametrize(
    ("spent", "seconds_left", "rate"),
    [
        (0.0, DAY_SECONDS, 1.0),
        (5.0, DAY_SECONDS / 2, 1.0),  # exactly an even share is gone
        (2.0, DAY_SECONDS / 2, 1.0),
        (6.0, DAY_SECONDS / 2, 0.8**4),
        (9.99, DAY_SECONDS / 2, FLOOR),
        (9.99, 10.0, 1.0),  # what is left will do for the last seconds
    ],
)
def test_the_rate_goes_down_when_more_than_an_even_share_is_gone(
    spent: float, seconds_left: float, rate: float
) -> None:
    going_on = plan(spent, 10.0, seconds_left, configured_rate=1.0)

    assert going_on.sample_rate == pytest.approx(rate)
    assert not going_on.paused
    assert plan(spent, 10.0, seconds_left, 0.5).sample_rate == pytest.approx(rate / 2)


def test_judging_pauses_when_the_money_is_used_up() -> None:
    assert plan(10.0, 10.0, 3600.0, 1.0).paused
    assert plan(11.0, 10.0, 3600.0, 1.0).paused


@pytest.mark.parametrize("demand", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_a_steady_stream_is_judged_all_day_without_overspending(demand: float) -> None:
    """`demand` times the budget would be spent if every summary were judged."""
    spent, minutes, last_hour = 0.0, 24 * 60, []
    for minute in range(minutes):
        going_on = plan(spent, 10.0, DAY_SECONDS - minute * 60, 1.0)
        assert not going_on.paused
        spent += going_on.sample_rate * demand * 10.0 / minutes
        if minute >= minutes - 60:
            last_hour.append(going_on.sample_rate)

    assert spent <= 10.0 + 1e-9
    assert spent >= 0.8 * min(10.0, demand * 10.0)
    assert min(last_hour) >= 0.4 * min(1.0, 1 / demand)


def test_a_flood_is_judged_at_the_floor_until_the_money_is_used_up() -> None:
    spent, paused_at = 0.0, 0
    for minute in range(24 * 60):
        going_on = plan(spent, 10.0, DAY_SECONDS - minute * 60, 1.0)
        if going_on.paused:
            paused_at = minute
            break
        spent += going_on.sample_rate * 100 * 10.0 / (24 * 60)

    assert 60 < paused_at < 24 * 60
    assert going_on.sample_rate == FLOOR


async def test_spending_outlives_the_process_and_is_each_worker_s_own(tmp_path: Path) -> None:
    path = tmp_path / "spend.sqlite"
    first = Budget(1.0, path, "quintet", clock=lambda: NOON)
    await first.load()
    first.add(0.3)
    first.add(0.2)
    await first.close()
    second = Budget(1.0, path, "quintet", clock=lambda: NOON)
    other = Budget(1.0, path, "other", clock=lambda: NOON)
    await second.load()
    await other.load()
    await second.close()
    await other.close()

    assert second.spent == pytest.approx(0.5)
    assert other.spent == 0.0


async def test_a_new_day_begins_with_nothing_spent(tmp_path: Path) -> None:
    now = NOON
    budget = Budget(1.0, tmp_path / "spend.sqlite", "quintet", clock=lambda: now)
    await budget.load()
    budget.add(1.5)
    assert budget.exhausted
    assert budget.seconds_left == 12 * 3600

    now = NOON + timedelta(hours=12)
    assert not budget.exhausted
    budget.add(0.25)
    await budget.close()

    assert budget.spent == 0.25


async def test_a_place_that_can_t_be_written_still_counts_what_this_process_spends(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    budget = Budget(1.0, tmp_path / "file" / "spend.sqlite", "quintet", clock=lambda: NOON)
    await budget.load()
    budget.add(1.0)
    await budget.close()

    assert budget.exhausted
