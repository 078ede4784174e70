"""The demo's stream is honest and repeatable, and its alarm comes where the generator got worse, nowhere else."""

from __future__ import annotations

import json

import pytest

from tests.demo_runs import play
from worker.demo.estimate import estimate
from worker.demo.generator import CATEGORIES, WORSE_CATEGORY, WORSE_VERSION, SampleStream, poison
from worker.demo.view import succeeded
from worker.drift.group import ALL
from worker.errors import Rejection, RejectionReason
from worker.events import DriftVerdict, read_summary
from worker.settings import Settings


def _texts(seed: int, *, worse: bool = False) -> list[str]:
    stream = SampleStream(seed)
    return [json.loads(stream.next(worse=worse)[1])["summary"] for _ in range(200)]


def test_the_same_seed_gives_the_same_stream_and_another_another() -> None:
    assert _texts(1) == _texts(1)
    assert _texts(1) != _texts(2)


def test_summaries_are_valid_and_vary() -> None:
    stream = SampleStream(3)
    events = [read_summary(stream.next(worse=False)[1]) for _ in range(400)]
    assert {event.category for event in events} == set(CATEGORIES)
    assert len({event.summary for event in events}) > 200
    assert len({event.summary_id for event in events}) == 400


def test_the_new_version_is_worse_in_one_category_only() -> None:
    usual, worse = SampleStream(5), SampleStream(5)
    for _ in range(200):
        event = read_summary(worse.next(worse=True)[1])
        assert event.generator is not None and event.generator.version == WORSE_VERSION
        if event.category != WORSE_CATEGORY:
            assert "great choice for everyone" not in event.summary
    assert any("You will not regret" in text for text in _texts(5, worse=True))
    assert not any("You will not regret" in text for text in _texts(5))
    assert usual.next(worse=False)


def test_poison_is_rejected() -> None:
    reasons = set()
    for value in poison()[:-1]:
        with pytest.raises(Rejection) as caught:
            read_summary(value)
        reasons.add(caught.value.reason)
    assert reasons == {RejectionReason.INVALID_JSON, RejectionReason.INVALID_EVENT}
    assert len(poison()[-1]) > Settings().max_event_bytes


@pytest.mark.parametrize("seed", [101])
def test_the_alarm_comes_in_the_right_category_and_in_no_other(seed: int) -> None:
    progress = play(seed)
    alarmed = {(event.segment, str(event.metric)) for event in progress.alarms.values()}
    assert {segment for segment, _ in alarmed} - {ALL} == {WORSE_CATEGORY}
    assert ("phones", "informativeness") in alarmed
    assert not succeeded(progress)  # no verdicts here: that needs the reference set
    for name, event in progress.alarms.items():
        progress.alarms[name] = event.model_copy(update={"verdict": DriftVerdict.GENERATOR})
    assert succeeded(progress)


def test_an_estimate_says_calls_tokens_and_money() -> None:
    assert "set QUINTET_PRICE_INPUT_PER_MTOK" in estimate(Settings())
    priced = Settings(price_input_per_mtok=0.15, price_output_per_mtok=0.6)
    assert " USD" in estimate(priced)
