"""The console's memory: a day in minutes, the latest summaries, what the monitor says; all of it bounded."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.drift_scores import SMALL, metric_scored
from tests.examples import raw
from worker.console import wire
from worker.console.board import Board
from worker.console.minutes import MINUTES, Day, in_buckets
from worker.console.shelf import Shelf, clipped, excerpt_of
from worker.drift.group import Group
from worker.drift.snapshot import take_changed
from worker.events import (
    DriftChanged,
    DriftState,
    DriftVerdict,
    JudgeIdentity,
    KafkaSource,
    Kind,
    Metric,
    Mode,
    SummaryScored,
    Verdict,
)
from worker.monitoring.states import Position, group_record, position_record
from worker.settings import Settings
from worker.streaming.ledger import Partition
from worker.streaming.rejected import RejectedRecord

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def scored(number: int = 1, *, score: int = 4, at: datetime = NOW, **changes: Any) -> SummaryScored:
    verdict = Verdict(
        score=score, expected=score, mode=Mode.SINGLE, explanation="because", rubric="r@1", native=True
    )
    fields = {
        "event_id": f"e{number}",
        "summary_id": f"s{number}",
        "kind": Kind.OPINION,
        "category": "phones",
        "scores": dict.fromkeys(Metric, verdict),
        "judge": JudgeIdentity(backend="openai", model="m-1", requested_model="m", pack="p"),
        "received_at": at,
        "scored_at": at,
        "source": KafkaSource(topic="summaries.generated", partition=0, offset=number),
    }
    return SummaryScored.model_validate(fields | changes)


def drift(state: DriftState = DriftState.ALARM, **changes: Any) -> DriftChanged:
    fields = {
        "event_id": "d1",
        "kind": Kind.OPINION,
        "metric": Metric.CLARITY,
        "segment": "phones",
        "state": state,
        "reason": "0.80 below the baseline over the last 50 scores",
        "baseline_mean": 4.5,
        "current_mean": 3.7,
        "since": NOW - timedelta(hours=1),
        "worst": ["s1"],
        "rubric": "r@1",
        "judge_model": "m-1",
        "at": NOW,
    }
    return DriftChanged.model_validate(fields | changes)


class Watch:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOW.timestamp()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def board(watch: Watch) -> Board:
    return Board(Settings(max_segments=2), watch)


def take(board: Board, event: SummaryScored) -> None:
    board.take_scored(event.model_dump_json().encode())


def take_event(board: Board, event: DriftChanged, at: datetime = NOW) -> None:
    board.take_drift(event.model_dump_json().encode(), int(at.timestamp() * 1000))


def ids(board: Board) -> list[str]:
    return [held.summary_id for held in board.shelf.newest_first()]


def put(shelf: Shelf, number: int) -> None:
    event = scored(number, at=NOW + timedelta(seconds=number))
    shelf.put(event, event.model_dump_json().encode(), "phones", "summaries.generated", number)


def test_a_day_forgets_what_is_older_and_never_grows() -> None:
    # Given
    day = Day(2)
    day.add(10_000, [1, 5])
    day.add(10_001, [1, 3])

    # When time goes on for a day less a minute
    latest = day.until(10_000 + MINUTES - 1)

    # Then the first minute is just about to go
    assert latest.shape == (2, MINUTES)
    assert latest[0, 0] == 1
    assert latest.sum() == 10
    assert day.until(10_000 + MINUTES).sum() == 4
    day.add(10_001, [1, 1])  # too late by now
    assert day.until(10_000 + 5 * MINUTES).sum() == 0


def test_minutes_that_come_late_still_count() -> None:
    day = Day(1)
    day.add(5_000, [1])
    day.add(4_000, [1])
    assert day.until(5_000)[0, MINUTES - 1001] == 1


def test_buckets_add_up_the_latest_minutes() -> None:
    day = Day(1)
    for minute in range(7):
        day.add(minute, [minute])
    assert in_buckets(day.until(6)[:, -7:], 3).tolist() == [[1 + 2 + 3, 4 + 5 + 6]]


def test_scores_become_means_in_their_segment_and_in_the_pool(board: Board) -> None:
    # When
    take(board, scored(1, score=5))
    take(board, scored(2, score=2, category="shoes"))

    # Then
    rows = {(row["segment"], row["metric"]): row for row in wire.snapshot(board)["streams"]}
    assert rows["phones", "clarity"]["current"] == 5
    assert rows["shoes", "clarity"]["current"] == 2
    assert rows["all", "clarity"]["current"] == 3.5
    assert rows["all", "clarity"]["spark"][-1] == 3.5
    assert len(rows) == 15


def test_a_redelivered_summary_counts_once(board: Board) -> None:
    take(board, scored(1))
    take(board, scored(1))
    assert wire.glance(board)["scored"] == 1


def test_a_clock_that_runs_ahead_does_not_push_the_day_out(board: Board) -> None:
    take(board, scored(1))
    take(board, scored(2, at=NOW + timedelta(days=400)))
    assert wire.glance(board)["scored"] == 2


def test_more_segments_than_are_watched_go_to_other(board: Board) -> None:
    for number, category in enumerate(["a", "b", "c", "d"]):
        take(board, scored(number, category=category))
    assert {segment for _, segment in board.tapes} == {"all", "a", "b", "other"}


def test_what_is_none_of_ours_is_passed_over(board: Board) -> None:
    board.take_scored(b"rubbish")
    board.take_scored(None)
    board.take_drift(b"{}", 0)
    board.take_state(b"nonsense", b"x", 0)
    board.take_state(*position_record(0, Position()), 0)
    board.take_state(b"0|product_opinion|clarity|segment|phones", b"from a later version", 0)
    board.take_rejected(RejectedRecord(Partition("t", 0), 0, None, None, []))
    snapshot = wire.snapshot(board)
    assert snapshot["glance"]["scored"] == snapshot["glance"]["rejected"] == 0
    assert snapshot["alarms"] == {"alarms": [], "warnings": []}


def test_the_shelf_keeps_the_latest_by_time_whatever_order_they_come_in() -> None:
    # Given room for three
    shelf = Shelf(most=3)

    # When
    for number in (5, 1, 4, 2, 3):
        put(shelf, number)

    # Then
    assert [held.summary_id for held in shelf.newest_first()] == ["s5", "s4", "s3"]
    assert shelf.waiting() == [(0, 5), (0, 4), (0, 3)]
    assert "e1" not in shelf


def test_the_shelf_is_bounded_in_bytes() -> None:
    shelf = Shelf(most_bytes=3000)
    for number in range(50):
        put(shelf, number)
    assert 0 < shelf.bytes <= 3000
    assert shelf.newest_first()[0].summary_id == "s49"


def test_the_worst_of_an_alarm_stay_while_it_stands(board: Board) -> None:
    # Given an alarm that names s1
    board.shelf = Shelf(most=2)
    take(board, scored(1, score=1))
    take_event(board, drift())
    wire.alarms(board)

    # When many more come
    for number in range(2, 6):
        take(board, scored(number, at=NOW + timedelta(milliseconds=number)))

    # Then
    assert ids(board) == ["s5", "s1"]

    # When it is over
    take_event(board, drift(DriftState.OK, event_id="d2", worst=[]), NOW + timedelta(seconds=1))
    wire.alarms(board)
    take(board, scored(6, at=NOW + timedelta(milliseconds=6)))

    # Then
    assert ids(board) == ["s6", "s5"]


def test_a_text_joins_its_scores_by_place(board: Board) -> None:
    # Given
    take(board, scored(7))
    revision = board.revision

    # When
    board.take_text((0, 7), raw(summary_id="s7", summary="| a | b |\n|---|---|\nThe lamp is bright."))

    # Then
    changed = board.shelf.changed_since(revision)
    assert changed is not None
    assert [held.excerpt for held in changed] == ["The lamp is bright."]
    detail = wire.summary_detail(changed[0])
    assert detail["source"]["products"][0]["title"]
    assert detail["scored"]["scores"]["clarity"]["explanation"] == "because"
    assert board.shelf.waiting() == []


def test_who_is_too_far_behind_takes_the_whole_list(board: Board) -> None:
    for number in range(1200):
        take(board, scored(number))
    assert board.shelf.changed_since(0) is None
    news = wire.changes(board, 0, streams_since=None)
    assert news["more"]
    assert len(news["summaries"]) == wire.ROWS


def test_what_is_held_is_flat_once_it_is_full(board: Board) -> None:
    # Given a board that is full
    board.shelf = Shelf(most=300)

    def fill(numbers: range) -> int:
        for number in numbers:
            take(board, scored(number, at=NOW + timedelta(milliseconds=number), category=f"c{number % 3}"))
            board.take_text((0, number), raw(summary_id=f"s{number}"))
        return len(pickle.dumps((board.shelf, board.tapes, board.watched, board.changed)))

    full = fill(range(1000))

    # When twice as many come again
    fuller = fill(range(1000, 3000))

    # Then
    assert fuller < full * 1.02


def test_an_excerpt_is_prose_and_a_table_where_there_is_nothing_else() -> None:
    assert excerpt_of("| a |\n\n  Two\n words ") == "Two words"
    assert excerpt_of("| a |\n| b |") == "| a | | b |"


def test_long_texts_are_cut_visibly() -> None:
    found = clipped({"text": "x" * 5000, "list": list(range(40))})
    assert found["text"].endswith("(1000 more characters)")
    assert found["list"][-1] == "… (10 more)"


def test_an_alarm_is_known_from_its_event_alone(board: Board) -> None:
    # When
    take(board, scored(1, score=1))
    take_event(board, drift())
    take_event(board, drift(event_id="d2", verdict=DriftVerdict.GENERATOR, reason="the judge did not move"))

    # Then
    (alarm,) = wire.alarms(board)["alarms"]
    assert alarm["verdict"] == "generator"
    assert alarm["reason"] == "the judge did not move"
    assert (alarm["baseline"], alarm["current"]) == (4.5, 3.7)
    assert alarm["worst"][0]["seq"] == 1
    assert wire.glance(board)["states"] == {"alarm": 1}


def test_the_monitors_state_tells_baseline_and_distribution(board: Board) -> None:
    # Given a group that has learned, and then fell
    group = Group(Kind.OPINION, Metric.CLARITY)
    for number in range(300):
        group.observe(metric_scored(number, 4.0 + number % 2), SMALL)
    for number in range(300, 400):
        group.observe(metric_scored(number, 2.0), SMALL)

    # When
    for part, value in take_changed(group).items():
        board.take_state(*group_record(3, (Kind.OPINION, Metric.CLARITY), part, value), 1000)

    # Then
    name = Kind.OPINION, Metric.CLARITY, "phones"
    detail = wire.stream_detail(board, name)
    assert detail is not None
    assert detail["state"] == "alarm"
    assert detail["baseline"] == pytest.approx(4.5, abs=0.02)
    assert detail["distribution"]["baseline"] == [0, 0, 0, 0.5, 0.5]
    assert detail["distribution"]["now"][1] == 0.5
    assert len(detail["worst"]) == 5
    assert len(detail["delays"]) == 3
    assert json.dumps(detail)

    # When the record is taken back
    board.take_state(b"3|product_opinion|clarity|segment|phones", None, 2000)

    # Then
    assert wire.stream_detail(board, name) is None


def test_an_event_newer_than_the_state_is_believed(board: Board) -> None:
    # Given a stream that learns
    group = Group(Kind.OPINION, Metric.CLARITY)
    group.observe(metric_scored(1, 4.0), SMALL)
    at_ms = int(NOW.timestamp() * 1000)
    for part, value in take_changed(group).items():
        board.take_state(*group_record(0, (Kind.OPINION, Metric.CLARITY), part, value), at_ms)
    watched = board.watched[Kind.OPINION, Metric.CLARITY, "phones"]

    # When an event of the same moment comes, the state is believed; a later one is believed over it
    take_event(board, drift())
    before = watched.state
    take_event(board, drift(event_id="d2"), NOW + timedelta(seconds=5))

    # Then
    assert (before, watched.state) == (DriftState.LEARNING, DriftState.ALARM)


def test_streams_are_bounded(board: Board) -> None:
    for number in range(500):
        take_event(board, drift(segment=f"segment-{number}", event_id=f"d{number}"))
    assert len(board.watched) == len(board.changed) == 2 * 3 * 5 * 4


def test_rejected_records_are_counted_by_reason_for_a_day(board: Board, watch: Watch) -> None:
    # When
    for number, reason in enumerate(["invalid_json", "too_large", "invalid_json", "no reason of ours"]):
        headers = [
            ("quintet.error.reason", reason.encode()),
            ("quintet.error.failed_at", NOW.isoformat().encode()),
        ]
        board.take_rejected(RejectedRecord(Partition("t", 0), number, b"\xff", None, headers))

    # Then
    assert wire.rejected(board)["by_reason"] == {"invalid_json": 2, "too_large": 1}
    assert wire.rejected(board)["latest"][0]["key"] == "\ufffd"
    watch.now += 86_400
    assert wire.rejected(board)["by_reason"] == {}


def test_charts_span_what_there_is(board: Board) -> None:
    take(board, scored(1, at=NOW - timedelta(minutes=100)))
    assert wire.glance(board)["span"] == 120
    assert wire.glance(board)["per_minute"] == 0


def test_points_of_the_large_chart_stand_for_enough_scores() -> None:
    assert wire.chart_size(600, 400) == 12
    assert wire.chart_size(1440, 100_000) == 6
    assert wire.chart_size(15, 3) == 1
