"""Whatever the scores: state survives being written, order alone decides, repeats in storage change nothing."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drift_scores import START, metric_scored, new_group
from worker.drift.baseline import Learning
from worker.drift.budget import Budget
from worker.drift.cusum import Walk
from worker.drift.excursion import Climb
from worker.drift.recent import RecentIds
from worker.drift.snapshot import join_parts, read_group, take_changed, write_group
from worker.events import DriftState, Kind, Metric

TINY = Budget(baseline_size=30, streams=1, max_segments=2)

#: Long stretches around levels that change now and then: single random scores would never leave `ok`.
stretches = st.lists(
    st.tuples(
        st.lists(st.integers(4, 20).map(lambda quarters: quarters / 4), min_size=1, max_size=6),
        st.integers(5, 90),
        st.sampled_from(["a", "b", "c", "all"]),
        st.sampled_from(["judge-1", "judge-2"]),
    ),
    min_size=1,
    max_size=6,
)

Stretch = tuple[list[float], int, str, str]


def _scores(drawn: list[Stretch]) -> list[tuple[float, str, str]]:
    return [
        (values[place % len(values)], segment, judge)
        for values, length, segment, judge in drawn
        for place in range(length)
    ]


@settings(max_examples=30, deadline=None)
@given(stretches, st.integers(1, 100))
def test_state_written_and_read_at_any_place_goes_on_exactly(drawn: list[Stretch], every: int) -> None:
    steady, moved = new_group(), new_group()
    parts: dict[str, bytes] = {}
    for number, (value, segment, judge) in enumerate(_scores(drawn)):
        score = metric_scored(number, value, segment, judge_model=judge)
        assert steady.observe(score, TINY) == moved.observe(score, TINY)
        if number % every == 0:
            moved = read_group(write_group(moved))
            assert moved == steady
        elif number % every == every // 2:
            parts |= take_changed(steady)
            assert join_parts(Kind.OPINION, Metric.CLARITY, parts) == steady
    assert write_group(steady) == write_group(moved)


@settings(max_examples=30, deadline=None)
@given(stretches)
def test_memory_is_bounded_and_figures_make_sense(drawn: list[Stretch]) -> None:
    group = new_group()
    for number, (value, segment, judge) in enumerate(_scores(drawn)):
        for event in group.observe(metric_scored(number, value, segment, judge_model=judge), TINY):
            if event.state in {DriftState.WARNING, DriftState.ALARM}:
                assert event.drop is not None and event.drop > 0
                assert event.since is not None and event.since <= event.at
                assert 1 <= len(event.worst) <= 5 and len(set(event.worst)) == len(event.worst)
    for stream in group.streams.values():
        for detector in stream.detectors.values():
            assert len(detector.window) <= 200
            assert len(detector.risen) <= TINY.baseline_size
            assert len(detector.learning.cells if detector.learning else b"") < TINY.baseline_size


@given(st.lists(st.integers(0, 80), min_size=1, max_size=60), st.integers(1, 40))
def test_a_climb_knows_exactly_the_scores_since_its_last_zero(cells: list[int], offset: int) -> None:
    climb, height = Climb(), 0
    since: list[tuple[int, int]] = []
    for number, cell in enumerate(cells):
        climb.add(Walk(offset, -1, 0.1), cell, START, str(number))
        height = max(0, height + offset - cell)
        since = [*since, (cell, number)] if height else []
    assert climb.height == height
    assert (climb.count, climb.total) == (len(since), sum(cell for cell, _ in since))
    assert climb.worst == [(cell, str(number)) for cell, number in sorted(since)[:5]]


@given(st.lists(st.text(max_size=8), max_size=80), st.integers(1, 12))
def test_ids_are_new_once(ids: list[str], every: int) -> None:
    memory, known = RecentIds(capacity=1000, page=7), set()
    stored: dict[str, str] = {}
    for number, name in enumerate(ids):
        assert memory.add(name) == (name not in known)
        known.add(name)
        if number % every == 0:
            stored |= memory.take_changed()
            memory = RecentIds.from_pages(stored, capacity=1000, page=7)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 80), min_size=30, max_size=120))
def test_any_scores_make_a_baseline_or_are_unwatchable(cells: list[int]) -> None:
    learning = Learning()
    for number, cell in enumerate(cells):
        learning.add(cell, START + timedelta(hours=number))
    baseline = learning.freeze(Budget(baseline_size=30, streams=1))
    assert baseline.inflation >= 1
    if baseline.alarm is not None:
        assert baseline.warning is not None
        assert baseline.alarm.threshold > 0
        assert baseline.alarm.dead_band < baseline.alarm.design
    else:
        assert baseline.mean < 3
