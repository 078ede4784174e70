"""When the reference set is judged, what that costs at most, and what a fault of the judge does to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from tests.examples import summary
from worker.drift.reference import PASSES
from worker.errors import Outage, OutageReason, Rejection, RejectionReason
from worker.events import Metric, Mode, SummaryGenerated, Verdict
from worker.judging.judge import Judgement
from worker.monitoring.commands import ReferencesJudged
from worker.monitoring.references import HEARTBEAT, INTERVAL, TRY_AGAIN, ReferenceKeeper, read_memory

REFERENCES = [summary(summary_id=f"r-{number}") for number in range(130)]
SECOND = timedelta(seconds=1)


class ScriptedJudge:
    """Scores everything alike, and counts whom it was asked about."""

    def __init__(self, backend: Literal["openai", "lexical"] = "openai", value: float = 4.0) -> None:
        self.backend = backend
        self.requested_model = self.model = "judge-1"
        self.pack = "builtin@1"
        self.rubric = "@1"
        self.value = value
        self.asked: list[str] = []
        self.refused: set[str] = set()
        self.failure: Exception | None = None
        self.new_name_each_time = False
        self._caching = True

    async def judge(self, event: SummaryGenerated) -> Judgement:
        assert not self._caching, "a pass over the references must not come from the cache"
        self.asked.append(event.summary_id)
        if self.failure is not None:
            raise self.failure
        if event.summary_id in self.refused:
            raise Rejection(RejectionReason.JUDGE_REFUSED, "no")
        model = f"{self.model}-{len(self.asked)}" if self.new_name_each_time else self.model
        return Judgement({metric: self._verdict(metric) for metric in Metric}, model)

    def _verdict(self, metric: Metric) -> Verdict:
        return Verdict(
            score=4, expected=self.value, mode=Mode.SINGLE, explanation="", rubric=metric + self.rubric, native=True
        )  # fmt: skip

    def fresh(self) -> ScriptedJudge:
        self._caching = False
        return self

    async def close(self) -> None:
        """Nothing to close."""


class Desk:
    """A keeper with its judge, a clock that is set by hand, and what it handed on."""

    def __init__(self, judge: ScriptedJudge, references: Iterable[SummaryGenerated] = REFERENCES) -> None:
        self.judge = judge
        self.references = list(references)
        self.judged: list[ReferencesJudged] = []
        self.memory: bytes | None = None
        self.now = datetime(2026, 11, 18, tzinfo=UTC)
        self.restart()

    def restart(self) -> None:
        """Another monitor takes over, with what was stored."""
        memory = read_memory(self.memory)
        self.keeper = ReferenceKeeper(
            self.references, self.judge, memory, self._hand_on, clock=lambda: self.now
        )

    async def _hand_on(self, memory: bytes, judged: ReferencesJudged) -> None:
        self.memory = memory
        self.judged.append(judged)

    async def passes_after(self, wait: timedelta = timedelta(0)) -> int:
        """How many passes follow each other, a second apart; a test fails where they never end."""
        self.now += wait
        made = 0
        while self.keeper.due():
            await self.keeper.attempt()
            self.now += SECOND
            made += 1
            assert made <= 20, "it would go on for ever"
        return made

    def want(self) -> None:
        """Somebody sends a wish now."""
        self.keeper.want(self.now)

    @property
    def shift(self) -> float:
        return self.judged[-1].shifts[Metric.CLARITY].difference


async def _frozen(judge: ScriptedJudge | None = None) -> Desk:
    desk = Desk(judge or ScriptedJudge())
    assert await desk.passes_after() == PASSES
    return desk


async def test_five_passes_are_frozen_and_a_restart_pays_for_none_of_them_again() -> None:
    desk = await _frozen()
    assert len(desk.judge.asked) == PASSES * len(REFERENCES)
    assert all(not judged.shifts for judged in desk.judged)
    desk.restart()
    assert await desk.passes_after() == 0


async def test_a_restart_in_the_middle_of_freezing_goes_on_there() -> None:
    desk = Desk(ScriptedJudge())
    await desk.keeper.attempt()
    await desk.keeper.attempt()
    desk.restart()
    assert await desk.passes_after() == PASSES - 2


async def test_a_paid_judge_is_asked_at_most_hourly_however_often_it_is_wanted() -> None:
    desk = await _frozen()
    for _ in range(10):
        desk.want()
    assert await desk.passes_after(INTERVAL - 10 * SECOND) == 0
    assert await desk.passes_after(10 * SECOND) == 1
    desk.want()
    assert await desk.passes_after(INTERVAL - 10 * SECOND) == 0
    assert await desk.passes_after(10 * SECOND) == 1


async def test_a_free_judge_is_asked_within_seconds() -> None:
    desk = await _frozen(ScriptedJudge("lexical"))
    desk.want()
    assert await desk.passes_after(10 * SECOND) == 1


async def test_a_slow_heartbeat_even_where_nobody_wants_anything() -> None:
    desk = await _frozen()
    assert await desk.passes_after(HEARTBEAT - 10 * SECOND) == 0
    desk.judge.value = 4.25
    assert await desk.passes_after(10 * SECOND) == 1
    assert desk.shift == 0.25
    assert desk.judged[-1].shifts[Metric.CLARITY].lenient


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_was_wanted_while_the_set_was_being_frozen_is_not_forgotten(restarted: bool) -> None:
    # Given an alarm during the five passes, none of which can be compared with anything
    desk = Desk(ScriptedJudge())
    wanted = desk.now
    desk.want()
    assert await desk.passes_after() == PASSES

    # Then the first pass that can be compared follows as soon as it is allowed
    if restarted:
        desk.restart()
        desk.keeper.want(wanted)  # read again from the control topic
    assert await desk.passes_after(INTERVAL) == 1
    assert desk.judged[-1].shifts


async def test_old_wishes_read_again_after_a_restart_were_answered() -> None:
    desk = await _frozen()
    wanted = desk.now
    desk.want()
    assert await desk.passes_after(INTERVAL) == 1
    desk.restart()
    desk.keeper.want(wanted)
    assert await desk.passes_after(INTERVAL) == 0
    desk.want()
    assert await desk.passes_after() == 1


@pytest.mark.parametrize("change", ["model", "pack"])
async def test_another_judge_is_frozen_anew(change: str) -> None:
    desk = await _frozen()
    if change == "model":
        desk.judge.requested_model = desk.judge.model = "judge-2"
    else:
        desk.judge.pack, desk.judge.rubric = "mine@2", "@2"
    desk.restart()
    assert await desk.passes_after() == PASSES
    desk.judge.value = 3.5
    await desk.keeper.attempt()
    assert desk.shift == -0.5


async def test_a_model_that_the_endpoint_changed_unasked_is_frozen_anew() -> None:
    desk = await _frozen()
    desk.judge.model, desk.judge.value = "judge-1-2026-11", 2.0
    assert await desk.passes_after(HEARTBEAT) == PASSES
    assert not desk.judged[-1].shifts
    desk.judge.model, desk.judge.value = "judge-1", 3.5
    await desk.keeper.attempt()
    assert desk.shift == -0.5


async def test_a_refused_reference_is_left_out() -> None:
    desk = Desk(ScriptedJudge())
    desk.judge.refused = {"r-0", "r-7"}
    await desk.passes_after()
    await desk.keeper.attempt()
    assert desk.judged[-1].shifts[Metric.CLARITY].count == len(REFERENCES) - 2


async def test_a_judge_that_refuses_everything_is_not_asked_for_ever() -> None:
    desk = Desk(ScriptedJudge())
    desk.judge.refused = {reference.summary_id for reference in REFERENCES}
    assert await desk.passes_after() == 1
    desk.restart()
    assert await desk.passes_after() == 0
    desk.judge.refused = set()
    assert await desk.passes_after(INTERVAL) == PASSES


async def test_a_model_with_a_new_name_each_time_is_not_paid_for_without_end() -> None:
    desk = Desk(ScriptedJudge(), REFERENCES[:3])
    desk.judge.new_name_each_time = True
    assert await desk.passes_after() == 2
    assert await desk.passes_after(INTERVAL - 10 * SECOND) == 0
    assert await desk.passes_after(10 * SECOND) == 1


async def test_an_outage_is_waited_for_and_what_was_wanted_stays(caplog: pytest.LogCaptureFixture) -> None:
    desk = await _frozen()
    desk.want()
    desk.judge.failure = Outage(OutageReason.NETWORK, "nobody answers")
    assert await desk.passes_after(INTERVAL) == 1
    assert "nobody answers" in caplog.text and "Traceback" not in caplog.text
    desk.judge.failure, desk.judge.value = None, 3.0
    assert await desk.passes_after(TRY_AGAIN - 10 * SECOND) == 0
    assert await desk.passes_after(10 * SECOND) == 1
    assert desk.shift == -1.0


async def test_an_outage_does_not_end_the_task_that_waits_for_it() -> None:
    desk = Desk(ScriptedJudge())
    desk.judge.failure = Outage(OutageReason.NETWORK, "nobody answers")
    running = asyncio.create_task(desk.keeper.run())
    done, _ = await asyncio.wait({running}, timeout=0.2)
    assert desk.judge.asked and not done
    running.cancel()


async def test_a_bug_in_the_judge_is_logged_and_not_paid_for_every_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk(ScriptedJudge())
    desk.judge.failure = RuntimeError("a bug")
    assert await desk.passes_after() == 1
    assert "a bug" in caplog.text
    assert await desk.passes_after(INTERVAL - 10 * SECOND) == 0
    assert await desk.passes_after(10 * SECOND) == 1


async def test_a_clock_that_was_wrong_does_not_put_the_next_pass_off_for_years() -> None:
    desk = await _frozen()
    assert await desk.passes_after(-timedelta(days=3650)) == 1


def test_a_memory_that_cannot_be_read_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    assert read_memory(b'{"book": 5}').last_pass is None
    assert "can't be read" in caplog.text
