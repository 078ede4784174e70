"""What is shown: means, PSI, how soon a drop would be found; and ids that are remembered."""

from __future__ import annotations

import pytest

from tests.drift_scores import COHERENCE, START, draw, feed, new_group, shifted, whole
from worker.drift.group import ALL
from worker.drift.recent import RecentIds
from worker.drift.status import Delay, delays_of, status_of
from worker.drift.stream import Stream
from worker.events import DriftState, Kind, Metric


def test_a_learning_stream_shows_how_far_it_is() -> None:
    group = new_group()
    feed(group, draw(whole(COHERENCE), 120, 1))
    status = status_of(group.streams["phones"])
    assert status is not None
    assert (status.state, status.learned) == (DriftState.LEARNING, 120)
    assert status.baseline_mean is None and status.psi is None and status.threshold is None
    assert delays_of(group.streams["phones"].detectors.popitem()[1]) == []
    assert status_of(Stream(Kind.OPINION, Metric.CLARITY, "empty")) is None


def test_a_watched_stream_shows_means_psi_and_statistic() -> None:
    group = new_group()
    feed(group, draw(whole(COHERENCE), 900, 1))
    usual = status_of(group.streams[ALL])
    assert usual is not None and usual.psi is not None and usual.threshold is not None
    assert usual.state is DriftState.OK
    assert usual.baseline_mean == pytest.approx(4.2, abs=0.15)
    assert usual.psi < 0.1
    feed(group, draw(shifted(whole(COHERENCE), 1.0), 200, 2), start=900)
    dropped = status_of(group.streams[ALL])
    assert dropped is not None and dropped.psi is not None
    assert dropped.psi > 0.25
    assert dropped.window_mean == pytest.approx(3.2, abs=0.2)
    assert dropped.since is not None and dropped.since > START


def test_how_soon_is_told_in_plain_words() -> None:
    group = new_group()
    feed(group, draw(whole(COHERENCE), 400, 1))
    shown = group.streams["phones"].shown
    assert shown is not None
    delays = delays_of(shown)
    assert [delay.drop for delay in delays] == [0.2, 0.3, 0.5]
    alarms = [delay.alarm for delay in delays if delay.alarm is not None]
    assert alarms == sorted(alarms, reverse=True)
    assert "a drop of 0.5: warning after about" in str(delays[2])
    assert str(Delay(0.5, 150.0, 240.0, 24.0)) == (
        "a drop of 0.5: warning after about 150 scores (6 days), alarm after about 240 scores (10 days)"
    )
    assert str(Delay(0.2, 90.0, 1e7, 86_400.0)).endswith(
        "alarm after more scores than it is worth waiting for"
    )
    assert str(Delay(0.5, None, None, 10.0)) == "a drop of 0.5: scores can't fall so far"


def test_ids_are_remembered_up_to_the_capacity() -> None:
    ids = RecentIds(capacity=100, page=10)
    assert all(ids.add(f"e{number}") for number in range(1000))
    assert not any(ids.add(f"e{number}") for number in range(900, 1000))
    assert len(ids) <= 110
    assert ids.add("e0")


def test_only_changed_pages_are_written_and_they_add_up() -> None:
    ids = RecentIds(capacity=100, page=10)
    stored: dict[str, str] = {}
    for number in range(345):
        ids.add(f"e{number}")
        if number % 7 == 0:
            changed = ids.take_changed()
            assert len(changed) <= 2
            stored |= changed
    stored |= ids.take_changed()
    assert stored == ids.to_pages()
    restored = RecentIds.from_pages(stored, capacity=100, page=10)
    assert not restored.add("e344") and restored.add("e345")
    assert len(restored.to_pages()) <= 11
