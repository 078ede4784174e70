"""The state topic's records: what was written is read back, and what can't be read costs one stream at most."""

from __future__ import annotations

import json

import pytest

from tests.drift_scores import metric_scored
from tests.partitions import Shelf
from worker.events import Kind, Metric
from worker.monitoring.states import Position, position_in, position_record, stored_state, stream_in

GROUP = (Kind.OPINION, Metric.CLARITY)
STREAM = b"0|product_opinion|clarity|segment|"


def _full() -> Shelf:
    shelf = Shelf()
    shelf.publish(
        [metric_scored(number, 4.0, segment) for number, segment in enumerate(["phones", "garden"] * 20)]
    )
    shelf.store()
    return shelf


def test_keys_say_what_a_record_holds() -> None:
    names = {key.decode().removeprefix("0|product_opinion|clarity|") for key in _full().records}
    assert names == {"segment|all", "segment|phones", "segment|garden", "tallies", "0|ids|0", "0|position"}


def test_positions_survive_being_written() -> None:
    position = Position(4711, {0: 3, 5: 9})
    assert position_in(2, dict([position_record(2, position)])) == position
    assert position_in(3, dict([position_record(2, position)])) is None


@pytest.mark.parametrize(
    "segment",
    ["", " ", "all of it", "a/b", 'quote"', "new\nline", "日本", "segment", "tallies", "0", "\\", "\x00"],
)
def test_odd_segments_survive_being_written(segment: str) -> None:
    shelf = Shelf(number=3)
    shelf.publish([metric_scored(0, 4.0, segment)])
    shelf.store()
    before = shelf.monitor.groups
    shelf.restart()
    assert shelf.monitor.groups == before
    found = [held for key, value in shelf.records.items() if (held := stream_in(key, value)) is not None]
    assert {(number, stream.segment) for number, stream in found} == {(3, "all"), (3, segment)}


def test_records_of_other_partitions_are_passed_over() -> None:
    shelf = _full()
    moved = {b"1" + key: value for key, value in shelf.records.items()}  # partition 10
    state = stored_state(1, moved)
    assert state.position is None and not state.groups
    assert stored_state(10, moved).groups == shelf.monitor.groups


def test_a_stream_that_cannot_be_read_learns_anew_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = _full()
    shelf.records[STREAM + b"phones"] = b'{"from": "another version"}'
    shelf.restart()
    assert set(shelf.monitor.groups[GROUP].streams) == {"all", "garden"}
    assert shelf.monitor.position.offset == 40
    assert "segment|phones" in caplog.text
    assert stream_in(STREAM + b"phones", b'{"from": "another version"}') is None

    shelf.publish([metric_scored(100, 4.0, "phones")])
    assert shelf.monitor.groups[GROUP].streams["phones"].scores == 1


def test_tallies_that_cannot_be_read_are_left_out() -> None:
    shelf = _full()
    shelf.records[b"0|product_opinion|clarity|tallies"] = b"[1, 2"
    shelf.restart()
    assert set(shelf.monitor.groups[GROUP].streams) == {"all", "garden", "phones"}


@pytest.mark.parametrize("page", [b"", b"\xff", b"x:AAAA", b"0:%"])
def test_ids_that_cannot_be_read_are_forgotten(page: bytes) -> None:
    shelf = _full()
    shelf.records[b"0|ids|0"] = page
    shelf.restart()
    shelf.publish([metric_scored(0, 4.0, "phones")])
    assert shelf.monitor.groups[GROUP].streams["phones"].scores == 21


@pytest.mark.parametrize("value", [b"", b"{}garbage", b'{"offset": "far"}'])
def test_without_a_position_all_begins_anew(value: bytes) -> None:
    # The scores are read from the beginning, so what they led to must not be there already.
    shelf = _full()
    shelf.records[b"0|position"] = value
    shelf.records[b"0|references"] = b"{}"
    state = stored_state(0, shelf.records)
    assert state.position is None and not state.groups and len(state.ids) == 0
    assert state.references == b"{}", "what the judge gave the references has nothing to do with offsets"


@pytest.mark.parametrize(
    "key",
    [b"\xff", b"x", b"", b"0|poem|clarity|segment|a", b"0|product_opinion|charm|segment|a", b"-1|position"],
)
def test_foreign_keys_are_passed_over(key: bytes) -> None:
    shelf = _full()
    before = shelf.monitor.groups
    shelf.records[key] = b"?"
    shelf.restart()
    assert shelf.monitor.groups == before
    assert stream_in(key, b"?") is None


def test_fields_of_a_later_version_are_ignored() -> None:
    shelf = _full()
    before = shelf.monitor.groups
    for key in [key for key in shelf.records if b"segment" in key or b"position" in key]:
        shelf.records[key] = json.dumps(json.loads(shelf.records[key]) | {"new": 1}).encode()
    shelf.restart()
    assert shelf.monitor.groups == before
