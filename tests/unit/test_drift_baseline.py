"""When a baseline is learned, and what follows from it."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from tests.drift_scores import ASPECT_COVERAGE, COHERENCE, START, draw, whole
from worker.drift.baseline import ALARM, Learning, delay_of, freeze, level_for, smoothed
from worker.drift.budget import Budget
from worker.drift.grid import cell_of, deviation_of, mean_of
from worker.drift.inflation import inflation_of


def _learn(values: list[float], every: timedelta) -> Learning:
    learning = Learning()
    for number, value in enumerate(values):
        learning.add(cell_of(value), START + number * every)
    return learning


def test_a_baseline_takes_its_size_in_scores() -> None:
    learning = _learn([4.0] * 999, timedelta(minutes=1))
    assert not learning.ready(Budget())
    learning.add(60, START + timedelta(minutes=999))
    assert learning.ready(Budget())


def test_after_a_week_two_hundred_will_do_with_a_wider_dead_band() -> None:
    slow = _learn(draw(whole(ASPECT_COVERAGE), 200, 1), timedelta(hours=1))
    assert slow.ready(Budget())
    assert not _learn([4.0] * 199, timedelta(hours=1)).ready(Budget())
    assert not _learn([4.0] * 200, timedelta(minutes=1)).ready(Budget())
    alarm = slow.freeze(Budget()).alarm
    assert alarm is not None
    assert alarm.dead_band > 0.15


def test_traffic_and_budget_make_the_distance_between_false_alarms() -> None:
    # Given ten scores an hour, 150 streams and one false alarm in 30 days
    baseline = _learn(draw(whole(COHERENCE), 1000, 2), timedelta(minutes=6)).freeze(Budget())

    # Then this stream may alarm once in 30 days times 150
    assert baseline.per_day == pytest.approx(240, rel=0.01)
    assert baseline.alarm is not None and baseline.warning is not None
    assert baseline.alarm.run_length == pytest.approx(240 * 30 * 150, rel=0.01)
    assert baseline.warning.run_length == pytest.approx(240 * 30 * 150 / 10, rel=0.01)


def test_a_burst_or_a_trickle_keeps_the_distance_within_bounds() -> None:
    assert Budget().run_length(1e9) == 1e9
    assert Budget(streams=1).run_length(1) == 1e3


def test_more_streams_cost_a_higher_threshold_only_slowly() -> None:
    counts = {0: 67, 20: 140, 40: 201, 60: 316, 80: 276}
    few = freeze(counts, 1.0, 300, START, Budget(streams=15)).alarm
    many = freeze(counts, 1.0, 300, START, Budget(streams=150)).alarm
    assert few is not None and many is not None
    assert (many.threshold - few.threshold) * many.walk.unit == pytest.approx(2.3, abs=0.2)


def test_a_low_level_is_unwatchable_and_a_perfect_one_is_not() -> None:
    assert freeze({0: 800, 20: 200}, 1.0, 100, START, Budget()).alarm is None
    perfect = freeze({80: 1000}, 1.0, 100, START, Budget())
    assert perfect.alarm is not None
    assert delay_of(perfect, perfect.alarm, 0.5) == pytest.approx(100, rel=0.3)


def test_each_whole_score_has_half_a_count() -> None:
    assert smoothed({80: 1})[::20] == pytest.approx(np.array([1, 1, 1, 1, 3]) / 7)


def test_what_a_drop_takes_to_be_found() -> None:
    # Given aspect coverage and one false alarm in 1.5 million
    shares = whole(ASPECT_COVERAGE)
    error = deviation_of(shares) / 1000**0.5
    level = level_for(shares, ALARM, error, 1_500_000, 1.0)
    assert level is not None and level.dead_band == 0.1

    # Then drops are found as soon as promised
    counts = {cell: int(1e6 * share) for cell, share in enumerate(shares) if share}
    baseline = freeze(counts, 1.0, 300, START, Budget())
    assert mean_of(shares) == pytest.approx(baseline.mean, abs=0.001)
    assert delay_of(baseline, level, 0.5) == pytest.approx(215, rel=0.1)
    assert delay_of(baseline, level, 0.3) == pytest.approx(800, rel=0.1)
    assert delay_of(baseline, level, 3.0) is None


def test_independent_scores_are_worth_their_number() -> None:
    cells = [
        bytearray(cell_of(value) for value in draw(whole(ASPECT_COVERAGE), 1000, seed)) for seed in range(40)
    ]
    inflations = [inflation_of(found) for found in cells]
    assert sum(inflation == 1.0 for inflation in inflations) > 28
    assert np.mean(inflations) < 1.2


def test_scores_in_batches_are_worth_less() -> None:
    # Given batches of 50 whose levels differ by a standard deviation of .5 of a score
    rng = np.random.default_rng(3)
    levels = np.repeat(rng.normal(3.5, 0.5, 20), 50)
    cells = bytearray(int(cell) for cell in np.clip((levels + rng.normal(0, 0.8, 1000) - 1) * 20, 0, 80))

    # Then the baseline says so, widens its dead-band and raises its threshold
    inflation = inflation_of(cells)
    assert inflation > 5
    shares = whole(ASPECT_COVERAGE)
    plain = level_for(shares, ALARM, 0.02, 1e6, 1.0)
    raised = level_for(shares, ALARM, 0.02, 1e6, 2.0)
    assert plain is not None and raised is not None
    assert 1.5 < raised.threshold / plain.threshold < 2.0


def test_a_constant_or_tiny_baseline_has_no_inflation() -> None:
    assert inflation_of(bytearray([80] * 500)) == 1.0
    assert inflation_of(bytearray([80, 20] * 15)) == 1.0


def _learned(times: list[datetime]) -> Learning:
    learning = Learning()
    for number, at in enumerate(times):
        learning.add(60 + number % 20, at)
    return learning


def _ticks(count: int, start: datetime = START) -> list[datetime]:
    return [start + timedelta(minutes=number) for number in range(count)]


@pytest.mark.parametrize("year", [1, 1970, 2031, 9999])
@pytest.mark.parametrize("place", [0, 1, 100, 299])
def test_one_wrong_clock_does_not_change_the_traffic_or_hurry_the_baseline(year: int, place: int) -> None:
    times = _ticks(300)
    times[place] = times[place].replace(year=year)
    learning, budget = _learned(times), Budget(baseline_size=1000, streams=1)
    assert not learning.ready(budget), "300 scores in five hours are no seven days"
    assert learning.freeze(budget).per_day == pytest.approx(1440, rel=0.05)


def test_a_host_whose_clock_stays_wrong_does_not_either() -> None:
    times = [at.replace(year=2001) if number % 3 == 0 else at for number, at in enumerate(_ticks(300))]
    assert _learned(times).freeze(Budget()).per_day == pytest.approx(1440, rel=0.05)


def test_a_long_silence_is_believed_once_scores_follow_it() -> None:
    times = _ticks(100) + _ticks(100, START + timedelta(days=100))
    assert _learned(times).freeze(Budget()).per_day == pytest.approx(2, rel=0.05)


def test_scores_out_of_order_span_the_same_time() -> None:
    times = _ticks(300)
    assert _learned(times[::-1]).freeze(Budget()).per_day == _learned(times).freeze(Budget()).per_day
