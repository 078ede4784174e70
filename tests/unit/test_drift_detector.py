"""A stream's life: learned, watched, warned of, alarmed, back again, accepted."""

from __future__ import annotations

from datetime import timedelta

from tests.drift_scores import (
    ASPECT_COVERAGE,
    COHERENCE,
    SMALL,
    START,
    draw,
    feed,
    metric_scored,
    new_group,
    shifted,
    whole,
)
from worker.drift.group import ALL, Group
from worker.drift.stream import LIVE, MAX_DETECTORS
from worker.events import DriftChanged, DriftState

USUAL = whole(COHERENCE)


def _of(events: list[DriftChanged], segment: str = "phones") -> list[DriftChanged]:
    return [event for event in events if event.segment == segment]


def _alarmed(drop: float = 0.6) -> tuple[Group, list[DriftChanged], int]:
    """A group whose one segment has been learned, dropped, and alarmed."""
    group = new_group()
    events = feed(group, draw(USUAL, 1000, 1))
    events += feed(group, draw(shifted(USUAL, drop), 400, 2), start=1000)
    return group, events, 1400


def test_a_drop_is_warned_of_and_then_alarmed_once() -> None:
    # Given a stream that is learned, stable, and then 0.6 lower
    _, events, _ = _alarmed()

    # Then it goes through its states once, in order
    assert [event.state for event in _of(events)] == [
        DriftState.LEARNING,
        DriftState.OK,
        DriftState.WARNING,
        DriftState.ALARM,
    ]
    alarm = _of(events)[-1]
    assert alarm.previous_state is DriftState.WARNING
    assert alarm.verdict is None
    assert alarm.statistic is not None and alarm.threshold is not None
    assert alarm.statistic >= alarm.threshold
    assert alarm.drop is not None and 0.4 < alarm.drop < 1.0


def test_the_change_point_is_close_and_the_worst_since_then_are_named() -> None:
    _, events, _ = _alarmed()
    alarm = _of(events)[-1]

    # Then the change point lies near the thousandth score
    assert alarm.since is not None
    assert abs((alarm.since - START) / timedelta(minutes=5) - 1000) < 40

    # And the five worst are from after it, all of them the lowest score
    assert len(alarm.worst) == 5
    values = dict(enumerate(draw(shifted(USUAL, 0.6), 400, 2), 1000))
    numbers = [int(worst.removeprefix("s")) for worst in alarm.worst]
    assert all(number >= 960 and values.get(number, 1.0) == 1.0 for number in numbers)


def test_an_alarm_stays_until_the_scores_are_back() -> None:
    # Given an alarm that stands
    group, _, number = _alarmed()

    # When the scores stay low, nothing more is said
    assert _of(feed(group, draw(shifted(USUAL, 0.6), 600, 3), start=number)) == []

    # When they are back, it is taken back once and not raised again
    events = _of(feed(group, draw(USUAL, 3000, 4), start=number + 600))
    assert [event.state for event in events] == [DriftState.OK]
    assert events[0].previous_state is DriftState.ALARM
    assert "back" in events[0].reason


def test_a_level_between_usual_and_dropped_does_not_flap() -> None:
    # Given a mean that lingers where neither test is at home
    for drop in (0.18, 0.22, 0.26):
        group = new_group()
        events = feed(group, draw(USUAL, 400, 5))
        events += feed(group, draw(shifted(USUAL, drop), 12_000, 6), start=400)

        # Then the alarm comes and goes a few times at most in 12,000 scores
        alarms = [event for event in _of(events) if event.state is DriftState.ALARM]
        assert len(alarms) <= 2


def test_a_rise_is_no_news() -> None:
    group = new_group()
    feed(group, draw(whole(ASPECT_COVERAGE), 400, 7))
    assert feed(group, draw(shifted(whole(ASPECT_COVERAGE), -0.6), 3000, 8), start=400) == []


def test_accepting_an_alarm_learns_from_the_change_point_on() -> None:
    # Given an alarm with more scores since the change point than a baseline takes
    group, _, number = _alarmed()
    feed(group, draw(shifted(USUAL, 0.6), 300, 3), start=number)

    # When the level is accepted, it is the new baseline at once
    events = _of(group.accept(None, START + timedelta(days=9), SMALL))
    assert [event.state for event in events] == [DriftState.OK]
    assert events[0].baseline_mean is not None
    assert abs(events[0].baseline_mean - 3.6) < 0.15

    # And a further drop is found, a stay is not
    assert _of(feed(group, draw(shifted(USUAL, 0.6), 2000, 9), start=number + 300)) == []
    states = [event.state for event in _of(feed(group, draw(shifted(USUAL, 1.3), 600, 10), start=4000))]
    assert states[-1] is DriftState.ALARM


def test_accepting_early_goes_on_learning() -> None:
    # Given an alarm accepted as soon as it is raised
    group = new_group()
    feed(group, draw(USUAL, 1000, 1))
    low, number = iter(draw(shifted(USUAL, 0.9), 2000, 2)), 1000
    events: list[DriftChanged] = []
    while not any(event.state is DriftState.ALARM for event in _of(events)):
        events, number = feed(group, [next(low)], start=number), number + 1
    accepted = _of(group.accept("phones", START + timedelta(days=9), SMALL))

    # Then the scores since the change point count, and the rest is still to come
    assert [event.state for event in accepted] == [DriftState.LEARNING]
    assert "accepted" in accepted[0].reason
    missing = SMALL.baseline_size - _of(events)[-1].observations
    assert _of(feed(group, [next(low) for _ in range(missing - 1)], start=number)) == []
    (frozen,) = _of(feed(group, [next(low)], start=number + missing))
    assert frozen.state is DriftState.OK
    assert frozen.baseline_mean is not None and abs(frozen.baseline_mean - 3.3) < 0.2


def test_accepting_everything_touches_only_what_stands() -> None:
    group = new_group()
    feed(group, draw(USUAL, 400, 1))
    assert group.accept(None, START, SMALL) == []
    assert [event.state for event in group.accept("phones", START, SMALL)] == [DriftState.LEARNING]
    assert group.accept("phones", START, SMALL) == []
    assert group.accept("unheard-of", START, SMALL) == []


def test_a_level_too_low_to_fall_is_unwatchable_until_it_rises() -> None:
    # Given a stream of hardly anything but ones
    group = new_group()
    events = _of(feed(group, [1.0, 1.0, 1.0, 2.0] * 150))
    assert [event.state for event in events] == [DriftState.LEARNING, DriftState.UNWATCHABLE]

    # When it becomes good, it is watched after all
    events = _of(feed(group, draw(USUAL, 700, 1), start=600))
    assert [event.state for event in events] == [DriftState.OK]


def test_another_judge_has_its_own_baseline_and_the_event_says_so() -> None:
    # Given a stream learned under one judge
    group = new_group()
    feed(group, draw(USUAL, 400, 1))

    # When a stricter judge takes over
    events = []
    for number, value in enumerate(draw(shifted(USUAL, 0.8), 700, 2), 400):
        events += group.observe(metric_scored(number, value, judge_model="judge-2"), SMALL)

    # Then that is no drop but a new baseline, and said aloud
    assert [event.state for event in _of(events)] == [DriftState.LEARNING, DriftState.OK]
    assert "judge model changed from judge-1 to judge-2" in events[0].reason
    assert events[0].previous_state is DriftState.OK


def test_interleaved_judges_learn_side_by_side() -> None:
    group = new_group()
    events = []
    for number, value in enumerate(draw(USUAL, 900, 1)):
        model = f"judge-{number % 2}"
        events += (
            group.observe(metric_scored(number, value - number % 2 * 0.5, judge_model=model), SMALL)
            if value > 1
            else []
        )
    states = [(event.judge_model, event.state) for event in _of(events)]
    assert states.count(("judge-0", DriftState.OK)) == 1
    assert states.count(("judge-1", DriftState.OK)) == 1
    assert len(states) == 4


def test_one_judge_too_many_waits_and_nobody_starts_anew() -> None:
    # Given more judges in turn than are kept
    group = new_group()
    for number in range(3000):
        group.observe(metric_scored(number, 4.0, judge_model=f"judge-{number % (MAX_DETECTORS + 1)}"), SMALL)

    # Then those kept were learned, and the one too many was counted
    stream = group.streams["phones"]
    assert len(stream.detectors) == MAX_DETECTORS
    assert all(detector.epoch == 1 for detector in stream.detectors.values())
    assert stream.unwatched > 0

    # When the others fall silent it is let in
    for number in range(3000, 3002 + LIVE):
        group.observe(metric_scored(number, 4.0, judge_model=f"judge-{MAX_DETECTORS}"), SMALL)
    assert any(found.judge_model == f"judge-{MAX_DETECTORS}" for found in stream.detectors.values())


def test_a_silent_judges_alarm_is_no_longer_shown() -> None:
    group, _, number = _alarmed()
    stream = group.streams["phones"]
    assert stream.shown is not None and stream.shown.state is DriftState.ALARM
    for offset, value in enumerate(draw(USUAL, LIVE, 3)):
        group.observe(metric_scored(number + offset, value, judge_model="judge-2"), SMALL)
    assert stream.shown is not None and stream.shown.judge_model == "judge-2"


def test_segments_beyond_the_cap_are_other_and_all_is_the_pool() -> None:
    group = new_group()
    for number in range(20):
        group.observe(metric_scored(number, 4.0, f"category-{number % 5}"), SMALL)
    assert set(group.streams) == {"category-0", "category-1", "category-2", "other", ALL}
    assert group.streams[ALL].scores == 20
    assert group.streams["other"].scores == 8


def test_without_segments_there_is_only_the_pool() -> None:
    group = new_group()
    feed(group, [4.0] * 10, segment=ALL)
    assert set(group.streams) == {ALL}
    assert group.streams[ALL].scores == 10


def test_event_ids_are_the_same_wherever_they_are_computed() -> None:
    first, second = _alarmed()[1], _alarmed()[1]
    assert first == second
    assert len({event.event_id for event in first}) == len(first)
