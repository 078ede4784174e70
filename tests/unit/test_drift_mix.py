"""A pooled drop is told apart: quality, or only the mix."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from tests.drift_scores import COHERENCE, START, draw, metric_scored, new_group, shifted, whole
from worker.drift.budget import Budget
from worker.drift.group import ALL, Group
from worker.drift.mix import Part, split_drop
from worker.events import DriftChanged, DriftState, DriftVerdict

BUDGET = Budget(baseline_size=400, streams=15)


def test_a_moved_mix_falls_between_segments() -> None:
    split = split_drop(4.0, [Part(100, 4.5, 4.5), Part(300, 3.5, 3.5)])
    assert split.drop == pytest.approx(0.25)
    assert split.within == pytest.approx(0)
    assert split.is_mix


def test_worse_quality_falls_within_segments() -> None:
    split = split_drop(4.0, [Part(200, 4.2, 4.5), Part(200, 3.2, 3.5)])
    assert split.within == pytest.approx(split.drop) == pytest.approx(0.3)
    assert not split.is_mix


def test_a_new_segment_is_mix_unless_too_little_is_known() -> None:
    assert split_drop(4.0, [Part(300, 4.0, 4.0), Part(200, 2.5, None)]).is_mix
    assert not split_drop(4.0, [Part(100, 4.0, 4.0), Part(200, 2.5, None)]).is_mix
    assert not split_drop(4.0, []).is_mix


def _run(shares: tuple[float, float], drop: float, count: int) -> tuple[Group, list[DriftChanged]]:
    """Two segments a score apart, in equal shares; then other shares or a drop in both."""
    rng = np.random.default_rng(1)
    levels = (whole(COHERENCE), shifted(whole(COHERENCE), 1.0))
    group, events = new_group(), []
    before = list(zip(rng.choice(2, 1600), draw(levels[0], 1600, 2), draw(levels[1], 1600, 3), strict=True))
    places = rng.choice(2, count, p=shares)
    changed = [draw(shifted(level, drop) if drop else level, count, 4) for level in levels]
    after = list(zip(places, *changed, strict=True))
    for number, (place, *values) in enumerate(before + after):
        events += group.observe(metric_scored(number, values[place], f"segment-{place}"), BUDGET)
    return group, events


def test_the_pool_alone_alarms_when_the_mix_moves_and_the_verdict_is_mix() -> None:
    group, events = _run((0.1, 0.9), 0.0, 1500)
    alarms = [event for event in events if event.state is DriftState.ALARM]
    assert [(event.segment, event.verdict) for event in alarms] == [(ALL, DriftVerdict.MIX)]
    assert "mix" in alarms[0].reason
    assert group.pending() == []


def test_when_quality_falls_all_alarm_and_their_verdict_is_open() -> None:
    group, events = _run((0.5, 0.5), 0.5, 1200)
    alarms = [event for event in events if event.state is DriftState.ALARM]
    assert {event.segment for event in alarms} == {ALL, "segment-0", "segment-1"}
    assert all(event.verdict is None for event in alarms)
    assert {waiting.segment for waiting in group.pending()} == {ALL, "segment-0", "segment-1"}


def test_a_segment_that_alarms_afterwards_opens_the_case_again() -> None:
    # Given a pool that alarmed because of the mix
    group, events = _run((0.1, 0.9), 0.0, 1500)
    standing = next(event for event in events if event.verdict is DriftVerdict.MIX)

    # When a segment then falls by itself
    more = []
    for number, value in enumerate(draw(shifted(whole(COHERENCE), 1.8), 600, 9), 3100):
        more += group.observe(metric_scored(number, value, "segment-1"), BUDGET)

    # Then the pool waits for a verdict like everybody
    pooled = [event for event in more if event.segment == ALL]
    assert [(event.state, event.verdict) for event in pooled] == [(DriftState.ALARM, None)]
    assert pooled[0].event_id != standing.event_id
    assert {waiting.segment for waiting in group.pending()} == {ALL, "segment-1"}
    settled = group.settle(None, START + timedelta(days=30))
    assert {event.verdict for event in settled} == {DriftVerdict.UNDETERMINED}
    assert group.pending() == []
