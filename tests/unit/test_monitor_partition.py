"""One partition of the monitor: nothing counts twice, commands are taken once, verdicts come as soon as they can."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest

from tests.drift_scores import COHERENCE, JUDGE, RUBRIC, START, draw, metric_scored, shifted, whole
from tests.partitions import Shelf
from worker.drift.verdict import JudgeShift
from worker.events import DriftState, DriftVerdict, Kind, Metric, MetricScored
from worker.monitoring.commands import Accept, Command, ReferencesJudged, WantReferences, read_command
from worker.pipeline import SEGMENT_MAX_CHARACTERS

LATER = START + timedelta(days=30)
GROUP = (Kind.OPINION, Metric.CLARITY)
ACCEPT = Accept(kind=Kind.OPINION, metric=Metric.CLARITY, segment="phones", at=LATER)


def _scores(values: Iterable[float], first: int = 0, segment: str = "phones") -> list[MetricScored]:
    return [metric_scored(number, value, segment) for number, value in enumerate(values, first)]


GOOD = _scores(draw(whole(COHERENCE), 400, 1))
BAD = _scores(draw(shifted(whole(COHERENCE), 0.8), 300, 2), first=400)


def _shift(difference: float = 0.0, *, at: timedelta = timedelta(days=30), model: str = JUDGE) -> JudgeShift:
    return JudgeShift(Metric.CLARITY, model, {RUBRIC: 120}, difference, 0.02, START + at)


def _judged(shift: JudgeShift) -> ReferencesJudged:
    return ReferencesJudged(shifts={Metric.CLARITY: shift}, at=shift.at)


def _wants(shelf: Shelf) -> list[Command]:
    return [command for command in shelf.commands if isinstance(command, WantReferences)]


def _alarmed(shelf: Shelf) -> None:
    shelf.publish(GOOD + BAD, {})
    shelf.store()
    assert any(event.state is DriftState.ALARM for event in shelf.events)


def test_repeats_and_what_is_no_score_are_not_counted() -> None:
    shelf = Shelf()
    shelf.publish(GOOD[:50])
    shelf.publish(GOOD[:50])  # the same events at new offsets
    for offset in range(100, 104):
        shelf.monitor.take(offset, (b"", b"{}", None, b"\xff")[offset - 100], None)
    for offset in range(104):
        shelf.monitor.take(offset, GOOD[60].model_dump_json().encode(), None)  # offsets taken before
    assert shelf.monitor.groups[GROUP].streams["all"].scores == 50
    assert shelf.monitor.unreadable == 4
    assert shelf.monitor.position.offset == 104


def test_a_repeat_is_known_after_a_restart() -> None:
    shelf = Shelf()
    shelf.publish(GOOD[:50])
    shelf.store()
    shelf.restart()
    shelf.publish(GOOD[:50])
    assert shelf.monitor.groups[GROUP].streams["all"].scores == 50


def test_a_time_without_a_zone_is_no_score() -> None:
    # It can't be compared with the others': taken, it would stop the monitor again and again.
    shelf = Shelf()
    shelf.publish(GOOD[:1])
    naive = GOOD[1].model_dump_json().replace("Z", "")
    shelf.monitor.take(1, naive.encode(), None)
    assert shelf.monitor.unreadable == 1


def test_a_command_is_taken_once_also_after_a_restart() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    shelf.monitor.obey(3, 7, ACCEPT)
    assert shelf.monitor.urgent
    shelf.store()
    accepted = [event for event in shelf.events if "accepted" in event.reason]
    assert [event.segment for event in accepted] == ["phones"]

    shelf.publish(_scores(draw(whole(COHERENCE), 300, 5), first=700))
    shelf.store()
    before = len(shelf.events)
    for _ in range(2):
        shelf.monitor.obey(3, 7, ACCEPT)
        shelf.store()
        shelf.restart()
    assert len(shelf.events) == before
    # Another partition of the control topic has offsets of its own.
    shelf.monitor.obey(4, 7, ACCEPT)
    shelf.store()
    assert len(shelf.events) > before


def test_a_command_for_another_group_is_noted_and_changes_nothing() -> None:
    shelf = Shelf()
    shelf.monitor.obey(0, 0, ACCEPT)
    assert shelf.monitor.dirty and not shelf.monitor.urgent
    shelf.store()
    shelf.restart()
    assert shelf.monitor.position.control == {0: 1}


def test_references_are_asked_for_on_a_warning_an_open_alarm_and_a_new_judge() -> None:
    shelf = Shelf()
    shelf.publish(GOOD, {})
    shelf.store()
    assert not shelf.commands, "a first judge is nothing new"
    shelf.publish([metric_scored(900, 4.0, judge_model="judge-2")], {})
    shelf.store()
    (first,) = shelf.commands
    assert isinstance(first, WantReferences) and first.judge_model == "judge-2"

    shelf.commands.clear()
    wanted: dict[str, int] = {}
    for score in BAD:
        shelf.publish([score], {})
        before = len(shelf.events)
        shelf.store()
        for event in shelf.events[before:]:
            wanted[event.state] = wanted.get(event.state, 0) + len(_wants(shelf))
        shelf.commands.clear()
    assert wanted["warning"] >= 1
    assert wanted["alarm"] >= 1


def test_many_wishes_in_one_transaction_are_one() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    assert len(_wants(shelf)) == 1


def test_without_references_nobody_is_asked_and_the_verdict_comes_at_once() -> None:
    shelf = Shelf()
    shelf.publish([*GOOD, *BAD, metric_scored(900, 4.0, judge_model="judge-2")], None)
    shelf.store()
    assert not shelf.commands
    assert not shelf.monitor.groups[GROUP].pending()
    alarms = [event for event in shelf.events if event.state is DriftState.ALARM]
    assert [event.verdict for event in alarms if event.segment == "phones"] == [
        None,
        DriftVerdict.UNDETERMINED,
    ]


def test_a_shift_that_is_known_gives_the_verdict_at_once() -> None:
    shelf = Shelf()
    shelf.publish(GOOD + BAD, {Metric.CLARITY: _shift()})
    shelf.store()
    alarms = [
        event for event in shelf.events if event.state is DriftState.ALARM and event.segment == "phones"
    ]
    assert [event.verdict for event in alarms] == [None, DriftVerdict.GENERATOR]
    assert alarms[0].at == alarms[1].at


def test_a_shift_from_before_the_change_gives_none_and_references_are_asked_for() -> None:
    shelf = Shelf()
    shelf.publish(GOOD + BAD, {Metric.CLARITY: _shift(at=timedelta(0))})
    shelf.store()
    assert shelf.monitor.groups[GROUP].pending()
    assert _wants(shelf)


def test_references_judged_settle_what_waits_and_only_of_their_metric() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    other = JudgeShift(Metric.CONCISENESS, JUDGE, {RUBRIC: 120}, -0.5, 0.02, LATER)
    shelf.monitor.obey(0, 0, ReferencesJudged(shifts={Metric.CONCISENESS: other}, at=LATER))
    assert shelf.monitor.groups[GROUP].pending()
    shelf.monitor.obey(0, 1, _judged(_shift(-0.6)))
    shelf.store()
    assert shelf.events[-1].verdict is DriftVerdict.JUDGE
    assert not shelf.monitor.groups[GROUP].pending()


def test_an_alarm_younger_than_the_references_asks_for_another_pass() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    shelf.commands.clear()
    stale = _shift(at=timedelta(0))
    shelf.monitor.obey(0, 0, ReferencesJudged(shifts={Metric.CLARITY: stale}, at=LATER))
    shelf.store()
    assert len(_wants(shelf)) == 1


def test_a_wish_does_not_push_out_what_a_pass_gave() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    shelf.commands.clear()
    given = _judged(_shift())
    shelf.monitor.note_references(b"{}", given)
    shelf.monitor.ask_again(LATER)
    shelf.store()
    assert given in shelf.commands and len(_wants(shelf)) == 1
    assert shelf.records[b"0|references"] == b"{}"


def test_whoever_takes_over_asks_again_for_alarms_that_wait() -> None:
    shelf = Shelf()
    _alarmed(shelf)
    shelf.commands.clear()
    shelf.restart()
    shelf.monitor.ask_again(LATER)
    assert shelf.monitor.urgent
    shelf.store()
    assert len(_wants(shelf)) == 1

    shelf.monitor.obey(0, 0, _judged(_shift()))
    shelf.store()
    shelf.commands.clear()
    shelf.restart()
    shelf.monitor.ask_again(LATER)
    assert not shelf.monitor.urgent and not shelf.monitor.dirty


def test_an_alarm_from_a_clock_that_is_ahead_still_gets_its_verdict() -> None:
    # Given scores that say they are from the next century
    shelf = Shelf()
    ahead = [
        score.model_copy(update={"scored_at": score.scored_at.replace(year=2126)}) for score in GOOD + BAD
    ]
    shelf.publish(ahead, {})
    shelf.store()
    assert shelf.monitor.groups[GROUP].pending()

    # When the references are judged today
    shelf.monitor.obey(0, 0, _judged(_shift()))
    shelf.store()

    # Then they count, since none will ever be young enough
    assert not shelf.monitor.groups[GROUP].pending()


def test_a_name_that_is_too_long_is_cut() -> None:
    shelf = Shelf()
    shelf.publish([metric_scored(number, 4.0, "x" * 100_000 + str(number)) for number in range(5)])
    shelf.store()
    assert set(shelf.monitor.groups[GROUP].streams) == {"all", "x" * SEGMENT_MAX_CHARACTERS}
    assert max(map(len, shelf.records)) < 200


def test_ten_thousand_segments_are_as_many_as_the_settings_allow() -> None:
    shelf = Shelf()
    shelf.publish([metric_scored(number, 4.0, f"segment {number}") for number in range(10_000)])
    shelf.store()
    streams = shelf.monitor.groups[GROUP].streams
    assert set(streams) == {"all", "other", "segment 0", "segment 1", "segment 2"}
    assert streams["other"].scores == 9_997


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"garbage",
        b"\xff\xfe",
        b"null",
        b"[" * 10_000,
        b'{"command": "dance"}',
        b'{"command": "accept"}',
        b'{"command": "accept", "kind": "poem", "metric": "clarity", "at": "2026-01-01T00:00:00Z"}',
        b'{"command": "accept", "kind": "product_opinion", "metric": "clarity", "at": "2026-01-01T00:00:00"}',
        b'{"command": "references_judged", "at": "2026-01-01T00:00:00Z", "shifts": {"clarity": {"metric": "clarity",'
        b' "judge_model": "m", "references": {}, "difference": 0, "error": 0, "at": "2026-01-01T00:00:00"}}}',
    ],
)
def test_what_is_no_command_is_none(value: bytes | None) -> None:
    assert read_command(value) is None


def test_commands_survive_being_written() -> None:
    for command in (ACCEPT, _judged(_shift(-0.25)), WantReferences(judge_model="m", reason="r", at=LATER)):
        assert read_command(command.model_dump_json().encode()) == command
