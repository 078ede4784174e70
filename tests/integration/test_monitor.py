"""The drift monitor on a real broker: one answer whatever the fleet, nothing twice, commands, verdicts."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.commands import quintet
from tests.monitors import (
    START,
    draw_scores,
    drift_events,
    observed,
    publish_scores,
    sibling,
    start_monitor,
    states,
)
from tests.streams import Stage, Workers, eventually, producer
from worker.events import Kind, Metric, MetricScored
from worker.judging.offline import LexicalJudge
from worker.streaming.broker import Broker

pytestmark = pytest.mark.broker

NAMES = [(kind, metric) for kind in Kind for metric in Metric]
SEGMENTS = ["phones", "kitchen", "garden"]
SMALL = {"QUINTET_BASELINE_SIZE": "300", "QUINTET_EXPECTED_STREAMS": "10"}
ONE = (Kind.OPINION, Metric.CLARITY)


@pytest.fixture
def stage(stage: Stage) -> Stage:
    stage.env |= SMALL
    return stage


def _a_release_that_hurts_phones(count: int) -> list[MetricScored]:
    good = draw_scores(count // 2, seed=1, names=NAMES, segments=SEGMENTS)
    bad = draw_scores(
        count - count // 2, seed=2, names=NAMES, segments=SEGMENTS, first=count // 2, lower={"phones": 0.6}
    )
    return good + bad


def _falling_clarity(count: int = 1200, by: float = 0.8) -> list[MetricScored]:
    names, segments = [ONE], ["phones"]
    good = draw_scores(count // 2, seed=3, names=names, segments=segments)
    return good + draw_scores(
        count // 2, seed=4, names=names, segments=segments, first=count // 2, lower={"phones": by}
    )


def test_three_monitors_that_are_killed_give_the_answer_of_one(stage: Stage, workers: Workers) -> None:
    # Given 100,000 scores with repeats, read by one monitor
    count = 100_000
    scores = _a_release_that_hurts_phones(count)
    publish_scores(stage, scores)
    publish_scores(stage, scores[-2000:])
    start_monitor(workers)

    # When three others, with a state of their own, are killed again and again over the same scores
    fleet = sibling(stage, "fleet")
    fleet.env |= SMALL
    rng = random.Random(5)
    with closing(Workers(fleet)) as others:
        running = [start_monitor(others) for _ in range(3)]
        deadline = time.monotonic() + 180
        kills = 0
        while observed(fleet) < count:
            assert time.monotonic() < deadline, running[0].last_words()
            if kills < 6:
                time.sleep(rng.uniform(0.5, 3))
                number = rng.randrange(3)
                running[number].kill()
                running[number] = start_monitor(others)
                kills += 1
            else:
                time.sleep(1)
        eventually(lambda: observed(stage) == count, 120, pause=1)

    # Then states and events are the same, to the last digit
    assert observed(fleet) == count
    assert kills >= 3
    assert states(fleet) == states(stage)
    alone, shared = drift_events(stage), drift_events(fleet)
    assert len({event["event_id"] for event in alone}) == len(alone)
    assert sorted(alone, key=_by_id) == sorted(shared, key=_by_id)
    alarms = {(event["metric"], event["segment"]) for event in alone if event["state"] == "alarm"}
    assert {("clarity", "phones"), ("informativeness", "phones")} <= alarms
    assert not {segment for _, segment in alarms} & {"kitchen", "garden"}


def _by_id(event: dict[str, str]) -> str:
    return event["event_id"]


def test_an_accepted_alarm_ends_and_another_monitor_remembers(stage: Stage, workers: Workers) -> None:
    publish_scores(stage, _falling_clarity())
    first = start_monitor(workers)
    alarm = eventually(lambda: _alarm(stage), 60)
    assert alarm["worst"] and alarm["since"] and alarm["drop"] > 0.3
    # No reference set: the verdict follows at once, and says that nobody can tell.
    verdict = eventually(lambda: _last(stage, verdict="undetermined"), 10)
    assert verdict["event_id"] != alarm["event_id"]

    shown = _quintet(stage, "drift", "status", *ONE, "phones")
    assert "alarm: undetermined" in shown.stdout

    accepted = _quintet(stage, "drift", "accept", *ONE, "phones")
    assert accepted.returncode == 0, accepted.stderr
    assert "alarm:" not in accepted.stdout
    event = eventually(lambda: _last(stage, previous_state="alarm", segment="phones", state="ok"), 10)
    assert "accepted" in event["reason"]

    # A monitor that takes over goes on from there: the command is not taken twice, nothing alarms again.
    first.terminate()
    assert first.wait(15) == 0
    before = len(drift_events(stage))
    start_monitor(workers).wait_ready()
    late = draw_scores(200, seed=9, names=[ONE], segments=["phones"], first=5000, lower={"phones": 0.8})
    publish_scores(stage, late)
    eventually(lambda: observed(stage) == 1400, 30, pause=0.5)
    assert len(drift_events(stage)) == before


def test_status_says_how_soon_a_drop_would_be_found(stage: Stage, workers: Workers) -> None:
    publish_scores(stage, draw_scores(400, seed=3, names=[ONE], segments=["phones"]))
    start_monitor(workers)
    eventually(lambda: observed(stage) == 400, 60, pause=0.5)
    shown = _quintet(stage, "drift", "status").stdout
    assert "phones" in shown and "ok" in shown
    assert "a drop of 0.3: warning after about" in shown
    (first, *_) = json.loads(_quintet(stage, "drift", "status", "--format", "json").stdout)
    assert first["state"] == "ok" and len(first["how_soon"]) == 3


def test_scores_that_are_none_are_passed_over(stage: Stage, workers: Workers) -> None:
    sink = producer(stage.address)
    key = f"{ONE[0]}|{ONE[1]}".encode()
    for value in (b"", b"{}", b"\xff", b"null", b"[" * 5000, None):
        sink.send(stage.settings.topic_metric_scores, value, key)
    sink.close()
    publish_scores(stage, draw_scores(50, seed=3, names=[ONE], segments=["phones"]))
    monitor = start_monitor(workers)
    eventually(lambda: observed(stage) == 50, 60, pause=0.5)
    assert monitor.process.poll() is None


def test_a_drop_is_the_generators_when_the_judge_gives_the_references_what_it_gave_before(
    stage: Stage, workers: Workers
) -> None:
    now = START.replace(year=2020)
    monitor = start_monitor(workers, QUINTET_REFERENCE_SET="")
    # The reference set is frozen first.
    eventually(lambda: "pass 5 of 5" in monitor.log.read_text(), 90, pause=0.5)
    model = LexicalJudge("builtin").requested_model
    scores = [
        score.model_copy(
            update={
                "scored_at": now + timedelta(seconds=10 * number),
                "judge_model": model,
                "rubric": f"clarity@{model}",
            }
        )
        for number, score in enumerate(_falling_clarity())
    ]
    publish_scores(stage, scores)
    alarm = eventually(lambda: _alarm(stage), 60)
    found = eventually(lambda: _last(stage, verdict="generator", segment="phones"), 60)
    assert "did not become stricter" in found["reason"]
    assert alarm["statistic"] == found["statistic"]
    text = monitor.get("/metrics")[1]
    assert 'quintet_judge_shift{metric="clarity"} 0.0' in text
    assert 'verdict="generator"' in text and "quintet_drift_verdict" in text


def test_without_a_broker_it_waits_and_says_so(stage: Stage, workers: Workers) -> None:
    monitor = start_monitor(workers, QUINTET_BROKERS="127.0.0.1:1")
    status, body = eventually(lambda: found if (found := monitor.readyz())[0] else None, 30)
    assert status == 503
    assert "no broker answers" in body["checks"]["monitor"]["detail"]
    monitor.terminate()
    assert monitor.wait(10) == 0


def test_a_broker_that_is_killed_under_a_monitor_changes_nothing(tmp_path: Path, broker: Broker) -> None:
    # Given a broker of our own (the shared one is asked for only because it skips where there is none)
    own = Broker(directory=tmp_path / "kafka")
    own.start()
    stage = Stage(own.address, tmp_path)
    stage.env |= SMALL
    stage.create_topics()
    scores = _a_release_that_hurts_phones(30_000)
    with closing(Workers(stage)) as workers:
        try:
            publish_scores(stage, scores[:20_000])
            monitor = start_monitor(workers)
            eventually(lambda: observed(stage) > 1000, 60, pause=0.2)

            # When it is killed twice, for a while, as the scores are being read
            for part in (scores[20_000:25_000], scores[25_000:]):
                own.kill()
                time.sleep(4)
                own.start()
                publish_scores(stage, part)
                eventually(lambda: observed(stage) > 0, 30, pause=1)
            eventually(lambda: observed(stage) == len(scores), 120, pause=1)

            # Then the monitor went on by itself, and its answer is that of an undisturbed one
            assert monitor.process.poll() is None
            steady = sibling(stage, "steady")
            steady.env |= SMALL
            with closing(Workers(steady)) as others:
                start_monitor(others)
                eventually(lambda: observed(steady) == len(scores), 120, pause=1)
                assert states(steady) == states(stage)
                assert sorted(drift_events(steady), key=_by_id) == sorted(drift_events(stage), key=_by_id)

            # And a broker that is away holds up no stop
            own.kill()
            monitor.terminate()
            began = time.monotonic()
            assert monitor.wait(30) == 0
            print(f"stopped without a broker after {time.monotonic() - began:.1f} s")
            assert time.monotonic() - began < 15
        finally:
            own.kill()


def _quintet(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return quintet(*arguments, home=stage.directory, **cast("dict[str, Any]", stage.env))


def _alarm(stage: Stage) -> dict[str, Any] | None:
    return next((event for event in drift_events(stage) if event["state"] == "alarm"), None)


def _last(stage: Stage, **wanted: str) -> dict[str, str] | None:
    found: Iterator[dict[str, str]] = (
        event for event in reversed(drift_events(stage)) if wanted.items() <= event.items()
    )
    return next(found, None)
