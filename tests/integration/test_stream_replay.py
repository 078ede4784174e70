"""Rejected records go back, each once, with a count, and never in a circle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from click.testing import CliRunner, Result

from tests.streams import Stage, Workers, eventually, producer
from worker.cli.rejected import command


def _quintet(stage: Stage, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments, env=stage.env)
    assert result.exit_code == 0, result.output
    return result


def _replays(stage: Stage) -> list[tuple[bytes | None, bytes, int]]:
    found = []
    for record in stage.read("rejected"):
        headers = dict(record.headers)
        found.append((record.key, headers["quintet.error.reason"], int(headers["quintet.error.replays"])))
    return sorted(found, key=str)


def test_a_record_is_sent_back_once_and_counted(stage: Stage, workers: Workers) -> None:
    # Given: two kinds of rejected records
    stage.publish([(b"json", b"not json"), (b"event", b'{"summary_id": "x"}')])
    workers.stub()
    stage.wait_for("rejected", 2)

    # When one kind is sent back, after a look
    looked = _quintet(stage, "replay", "--reason", "invalid_event", "--dry-run")
    sent = _quintet(stage, "replay", "--reason", "invalid_event")
    again = _quintet(stage, "replay", "--reason", "invalid_event", "--before", "2020-01-01T00:00:00Z")

    # Then it is rejected again, with a count, and the first one is not sent twice
    assert "would send back 1 (1 invalid_event)" in looked.output
    assert "sent back 1 (1 invalid_event)" in sent.output
    assert "sent back 0" in again.output
    stage.wait_for("rejected", 3)
    assert _replays(stage) == [
        (b"event", b"invalid_event", 0),
        (b"event", b"invalid_event", 1),
        (b"json", b"invalid_json", 0),
    ]
    source = [record for record in stage.read("generated") if record.key == b"event"]
    assert [record.headers for record in source] == [[], [("quintet.error.replays", b"1")]]


def test_nothing_goes_in_a_circle(stage: Stage, workers: Workers) -> None:
    # Given a record that can never be scored
    stage.publish([(b"k", b"rubbish")])
    workers.stub()
    stage.wait_for("rejected", 1)

    # When it is sent back again and again
    for count in (2, 3, 4):
        assert "sent back 1" in _quintet(stage, "replay").output
        stage.wait_for("rejected", count)
    refused = _quintet(stage, "replay")

    # Then there is an end to it, unless somebody insists
    assert "sent back 0" in refused.output
    assert "left 1: sent back 3 times already" in refused.output
    assert "sent back 1" in _quintet(stage, "replay", "--force").output


def test_the_list_shows_reasons_and_what_was_sent_back(stage: Stage, workers: Workers) -> None:
    # Given
    sink = producer(stage.address)
    headers = [("own", b"1"), ("own", b"2")]
    sink.send(stage.settings.topic_generated, b"rubbish", b"\x1b[31mred", headers).get(timeout=30)
    sink.close()
    workers.stub()
    stage.wait_for("rejected", 1)
    _quintet(stage, "replay")
    stage.wait_for("rejected", 2)

    # When
    listed = _quintet(stage, "list").output
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    # Then
    assert "\x1b" not in listed
    assert r"key=\x1b[31mred replays=0" in listed
    assert listed.count("(sent back)") == 1
    assert "2 invalid_json" in listed
    assert "2 invalid_json" in _quintet(stage, "list", "--before", tomorrow).output
    assert "none" in _quintet(stage, "list", "--reason", "too_large").output
    back = eventually(lambda: [r for r in stage.read("generated") if len(r.headers) == 3], 10)
    assert back[0].headers == [("own", b"1"), ("own", b"2"), ("quintet.error.replays", b"1")]
