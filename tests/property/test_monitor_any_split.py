"""However the scores are split over checkpoints and restarts, the answer is that of one undisturbed monitor."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drift_scores import START, metric_scored
from tests.partitions import Shelf
from worker.drift.budget import Budget
from worker.events import Kind, Metric, MetricScored
from worker.monitoring.commands import Accept

TINY = Budget(baseline_size=30, streams=1, max_segments=2)
ACCEPT = Accept(kind=Kind.OPINION, metric=Metric.CLARITY, at=START)

#: Level and length of a stretch, and the segment it belongs to: single random scores would never leave `ok`.
stretches = st.lists(
    st.tuples(st.sampled_from([5.0, 4.5, 4.0, 3.0, 1.5]), st.integers(5, 80), st.sampled_from("abc")),
    min_size=1,
    max_size=6,
)
#: What happens between two scores.
steps = st.lists(st.sampled_from(["store", "crash", "repeat", "accept", ""]), min_size=1, max_size=30)


@settings(max_examples=30, deadline=None)
@given(stretches, steps, st.integers(1, 13))
def test_any_split_gives_the_same_answer(
    drawn: list[tuple[float, int, str]], happenings: list[str], every: int
) -> None:
    values = [(level - (place % 2) / 2, name) for level, length, name in drawn for place in range(length)]
    scores = [metric_scored(number, max(1, value), name) for number, (value, name) in enumerate(values)]
    steady, tossed = Shelf(budget=TINY), Shelf(budget=TINY)
    for number, score in enumerate(scores):
        step = happenings[number // every % len(happenings)] if number % every == 0 else ""
        steady.publish([score], {})
        if step == "accept":
            steady.monitor.obey(0, number, ACCEPT)
        _walk(tossed, score, step, number)
    for shelf in (steady, tossed):
        shelf.store()
    assert steady.monitor.groups == tossed.monitor.groups
    assert steady.events == tossed.events
    tossed.restart()
    assert steady.monitor.groups == tossed.monitor.groups


def _walk(shelf: Shelf, score: MetricScored, step: str, number: int) -> None:
    shelf.publish([score], {})
    if step == "accept":
        shelf.monitor.obey(0, number, ACCEPT)
    elif step == "repeat":
        shelf.publish([score], {})
    elif step == "store":
        shelf.store()
    elif step == "crash":
        # The score is stored, its worker does not know that it was, and publishes it once more.
        shelf.store()
        shelf.restart()
        shelf.publish([score], {})


@settings(max_examples=30, deadline=None)
@given(stretches, st.lists(st.integers(1, 400), max_size=4), st.integers(1, 60))
def test_what_a_crash_lost_is_read_again(
    drawn: list[tuple[float, int, str]], crashes: list[int], every: int
) -> None:
    values = [(level - (place % 2) / 2, name) for level, length, name in drawn for place in range(length)]
    records = [
        metric_scored(number, max(1, value), name).model_dump_json().encode()
        for number, (value, name) in enumerate(values)
    ]
    steady, tossed = Shelf(budget=TINY), Shelf(budget=TINY)
    for offset, record in enumerate(records):
        steady.monitor.take(offset, record, {})
    steady.store()
    stops = [*sorted(stop for stop in crashes if stop < len(records)), len(records)]
    for stop in stops:
        for offset in range(tossed.monitor.position.offset, stop):
            tossed.monitor.take(offset, records[offset], {})
            if offset % every == 0:
                tossed.store()
        if stop < len(records):
            tossed.restart()
    tossed.store()
    assert steady.monitor.groups == tossed.monitor.groups
    assert steady.events == tossed.events
