"""The gate, in virtual time: retries, deadlines, outages, and whose fault a failure is."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.virtual_time import run_in_virtual_time
from worker.errors import Outage, OutageReason, Rejection, RejectionReason
from worker.events import Metric
from worker.judging.breaker import Breaker
from worker.judging.concurrency import Slots
from worker.judging.judge import Observer
from worker.judging.limits import BACKOFF_MOST, Gate
from worker.judging.outcomes import CallOutcome, Failure

NETWORK = Failure(CallOutcome.NETWORK, "host can't be reached")
TIMEOUT = Failure(CallOutcome.TIMEOUT, "no answer")
RATE_LIMITED = Failure(CallOutcome.RATE_LIMITED, "slow down")
WRONG_KEY = Failure(CallOutcome.WRONG_KEY, "host answers 401")
BAD_REQUEST = Failure(CallOutcome.BAD_REQUEST, "host answers 400")
HOUR = 3600.0


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True)
class Ok:
    outcome: CallOutcome = CallOutcome.OK


@dataclass
class Judge:
    """An endpoint that fails as told; every request takes a tenth of a second."""

    failure: Failure | None = None
    #: What befalls the probe; like everybody else unless said.
    probe_failure: Failure | str | None = "same"
    seconds: float = 0.1
    sent: list[float] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    async def request(self) -> Ok:
        self.sent.append(now())
        return await self._answer(lambda: self.failure)

    async def probe(self) -> Ok:
        self.probes.append(now())
        return await self._answer(
            lambda: self.failure if isinstance(self.probe_failure, str) else self.probe_failure
        )

    async def _answer(self, failure: Callable[[], Failure | None]) -> Ok:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.in_flight -= 1
        found = failure()
        if found is not None:
            raise found
        return Ok()


class Watching(Observer):
    def __init__(self) -> None:
        self.limits: list[int] = []
        self.breaker: list[OutageReason | None] = []
        self.requests: list[tuple[Metric | None, str]] = []

    def concurrency_changed(self, limit: int) -> None:
        self.limits.append(limit)

    def breaker_changed(self, reason: OutageReason | None) -> None:
        self.breaker.append(reason)

    def request_finished(self, metric: Metric | None, outcome: str, seconds: float) -> None:
        self.requests.append((metric, outcome))


def gate_for(judge: Judge, **options: Any) -> Gate:
    defaults: dict[str, Any] = {"concurrency": 10, "maximum": 100, "deadline": 300.0, "jitter": lambda: 1.0}
    return Gate(judge.probe, **(defaults | options))


async def ask(gate: Gate, send: Callable[[], Awaitable[Ok]]) -> Ok:
    """One request of a record of its own."""
    with gate.record() as record:
        return await gate.call(send, gate.errand(record), Metric.CLARITY)


async def others_succeed(gate: Gate, every: float = 1.0) -> None:
    """Other records that are answered at once, as long as this runs."""

    async def at_once() -> Ok:
        return Ok()

    while True:
        await ask(gate, at_once)
        await asyncio.sleep(every)


def test_a_failed_request_is_sent_again_and_told_to_the_observer() -> None:
    async def story() -> tuple[int, list[tuple[Metric | None, str]]]:
        judge, watching = Judge(failure=NETWORK), Watching()
        gate = gate_for(judge, observer=watching)
        asyncio.get_running_loop().call_later(1.0, lambda: setattr(judge, "failure", None))
        await ask(gate, judge.request)
        await gate.close()
        return len(judge.sent), watching.requests

    sent, told = run_in_virtual_time(story())

    assert sent == 3  # at 0, 0.6 and 1.7 s
    assert told == [(Metric.CLARITY, "network")] * 2 + [(Metric.CLARITY, "ok")]


def test_pauses_double_up_to_a_limit_and_the_deadline_ends_them() -> None:
    async def story() -> tuple[list[float], Rejection, float]:
        judge = Judge(failure=NETWORK, probe_failure=None, seconds=0.0)
        gate = gate_for(judge)
        others = asyncio.create_task(others_succeed(gate, every=0.2))
        with pytest.raises(Rejection) as raised:
            await ask(gate, judge.request)
        others.cancel()
        return judge.sent, raised.value, now()

    sent, rejection, ended = run_in_virtual_time(story())

    pauses = [after - before for before, after in itertools.pairwise(sent)]
    assert pauses[:6] == pytest.approx([0.5, 1, 2, 4, 8, 16])
    assert max(pauses) == pytest.approx(BACKOFF_MOST)
    assert rejection.reason is RejectionReason.DEADLINE_EXCEEDED
    assert rejection.attempts == len(sent)
    assert ended == pytest.approx(300, abs=1)


def test_the_endpoint_s_own_wish_to_wait_is_respected_by_everybody() -> None:
    async def story() -> list[float]:
        judge = Judge(failure=Failure(CallOutcome.RATE_LIMITED, "slow", retry_after=7.0), seconds=0.0)
        gate = gate_for(judge)
        await ask(gate, Judge(seconds=0.0).request)  # so that it is a burst and no outage
        first = asyncio.create_task(ask(gate, judge.request))
        await asyncio.sleep(0.1)
        judge.failure = None
        await asyncio.gather(first, ask(gate, judge.request))
        return judge.sent

    sent = run_in_virtual_time(story())

    assert len(sent) == 3
    assert min(sent[1:]) >= 7.0


def test_an_outage_of_hours_rejects_nothing_and_ends_within_five_seconds_of_the_endpoint_s_return() -> None:
    async def story() -> tuple[list[float], Judge, Watching]:
        judge, watching = Judge(failure=NETWORK), Watching()
        gate = gate_for(judge, observer=watching)

        async def record() -> float:
            await ask(gate, judge.request)
            return now()

        asyncio.get_running_loop().call_later(5 * HOUR, lambda: setattr(judge, "failure", None))
        finished = await asyncio.gather(*(record() for _ in range(50)))
        await gate.close()
        return finished, judge, watching

    finished, judge, watching = run_in_virtual_time(story())

    assert max(finished) < 5 * HOUR + 5
    assert watching.breaker == [OutageReason.NETWORK, None]
    during = [at for at in judge.sent if 60 < at < 5 * HOUR]
    assert during == [], "only probes go out meanwhile"
    gaps = [after - before for before, after in itertools.pairwise(judge.probes)]
    assert 1.0 < max(gaps) < 2.5


def test_five_failures_in_a_row_open_the_breaker_and_a_success_between_them_does_not() -> None:
    async def story(with_success: bool) -> list[OutageReason | None]:
        judge, watching = Judge(failure=NETWORK, seconds=0.0), Watching()
        gate = gate_for(judge, observer=watching)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(4)]
        await asyncio.sleep(0.01)
        if with_success:
            await ask(gate, Judge(seconds=0.0).request)
        asking.append(asyncio.create_task(ask(gate, judge.request)))
        await asyncio.sleep(0.01)
        for task in asking:
            task.cancel()
        await gate.close()
        return watching.breaker

    assert run_in_virtual_time(story(with_success=False)) == [OutageReason.NETWORK]
    assert run_in_virtual_time(story(with_success=True)) == []


def test_a_wrong_key_stops_everybody_at_once_and_is_probed_at_most_every_ten_seconds() -> None:
    async def story() -> Judge:
        judge = Judge(failure=WRONG_KEY, seconds=0.0)
        gate = gate_for(judge)
        asking = asyncio.create_task(ask(gate, judge.request))
        await asyncio.sleep(100)
        assert gate.open_reason is OutageReason.WRONG_KEY
        assert "OPENAI_API_KEY" in gate.message
        judge.failure = None
        await asyncio.wait_for(asking, 11)
        return judge

    judge = run_in_virtual_time(story())

    assert len(judge.sent) == 2
    assert len(judge.probes) <= 16
    assert judge.probes[-1] - judge.probes[-2] == pytest.approx(10)


def test_one_wrong_answer_among_good_ones_stops_nobody() -> None:
    async def story() -> list[OutageReason | None]:
        watching = Watching()
        judge = Judge(failure=WRONG_KEY, seconds=2.0)
        gate = gate_for(judge, observer=watching)
        others = asyncio.create_task(others_succeed(gate, every=0.5))
        asking = asyncio.create_task(ask(gate, judge.request))
        await asyncio.sleep(1.9)
        asyncio.get_running_loop().call_later(0.2, lambda: setattr(judge, "failure", None))
        await asking
        others.cancel()
        return watching.breaker

    assert run_in_virtual_time(story()) == []


@pytest.mark.parametrize(
    ("failure", "after"),
    [(NETWORK, 30.0), (TIMEOUT, 30.0), (Failure(CallOutcome.QUOTA, "429"), 30.0), (WRONG_KEY, 0.0),
     (Failure(CallOutcome.UNKNOWN_MODEL, "404"), 0.0), (Failure(CallOutcome.UNSUPPORTED, "no"), 0.0)],
)  # fmt: skip
def test_with_limited_patience_an_outage_is_raised(failure: Failure, after: float) -> None:
    async def story() -> tuple[Outage, float]:
        judge = Judge(failure=failure, seconds=0.0)
        gate = gate_for(judge, patience=30.0)
        outcomes = await asyncio.gather(*(ask(gate, judge.request) for _ in range(5)), return_exceptions=True)
        await gate.close()
        assert all(isinstance(outcome, Outage) for outcome in outcomes)
        assert isinstance(outcomes[0], Outage)
        return outcomes[0], now()

    outage, ended = run_in_virtual_time(story())

    assert outage.reason is failure.reason
    assert failure.message in outage.message
    assert "\n" not in outage.message
    assert ended == pytest.approx(after, abs=2.0)


def test_a_refused_request_is_the_record_s_own_fault_if_others_succeed_meanwhile() -> None:
    async def story() -> tuple[Rejection, Judge]:
        judge = Judge(failure=BAD_REQUEST, seconds=5.0)
        gate = gate_for(judge)
        others = asyncio.create_task(others_succeed(gate))
        with pytest.raises(Rejection) as raised:
            await ask(gate, judge.request)
        others.cancel()
        return raised.value, judge

    rejection, judge = run_in_virtual_time(story())

    assert rejection.reason is RejectionReason.JUDGE_BAD_REQUEST
    assert (len(judge.sent), len(judge.probes)) == (1, 0)


def test_a_refused_request_of_a_lone_record_is_its_own_fault_if_a_probe_passes() -> None:
    async def story() -> tuple[list[Any], Judge]:
        judge = Judge(failure=BAD_REQUEST, probe_failure=None)
        gate = gate_for(judge)
        with gate.record() as record:
            five = [gate.call(judge.request, gate.errand(record), metric) for metric in Metric]
            return await asyncio.gather(*five, return_exceptions=True), judge

    outcomes, judge = run_in_virtual_time(story())

    assert [outcome.reason for outcome in outcomes] == [RejectionReason.JUDGE_BAD_REQUEST] * 5
    assert len(judge.probes) == 1, "one probe for all who ask at the same moment"


def test_where_even_the_probe_is_refused_nobody_is_rejected() -> None:
    async def story() -> Judge:
        judge = Judge(failure=BAD_REQUEST)
        gate = gate_for(judge)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(3)]
        await asyncio.sleep(HOUR)
        assert gate.open_reason is OutageReason.BAD_REQUEST
        judge.failure = None
        await asyncio.gather(*asking)
        return judge

    judge = run_in_virtual_time(story())

    assert len(judge.sent) == 6


def test_record_after_record_refused_is_an_outage_until_one_of_them_passes() -> None:
    async def story() -> tuple[list[Any], int, OutageReason | None]:
        judge = Judge(failure=BAD_REQUEST, probe_failure=None)
        gate = gate_for(judge)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(3)]
        await asyncio.sleep(HOUR)
        reason, sent = gate.open_reason, len(judge.sent)
        # A record that comes later is fine: it is tried beside the refused ones.
        good = asyncio.create_task(ask(gate, Judge().request))
        await asyncio.wait_for(good, 30)
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        return outcomes, sent, reason

    outcomes, sent, reason = run_in_virtual_time(story())

    assert reason is OutageReason.BAD_REQUEST
    assert sent > 1000, "the refused ones are tried again and again"
    assert {outcome.reason for outcome in outcomes} == {RejectionReason.JUDGE_BAD_REQUEST}


def test_a_probe_that_hangs_is_overtaken_and_a_slow_one_may_still_pass() -> None:
    async def story(returns_at: float, slow: float) -> float:
        judge = Judge(failure=NETWORK, seconds=0.0)

        async def probe() -> Ok:
            hangs = now() < returns_at
            await asyncio.sleep(60.0 if hangs else slow)
            if hangs:
                raise TIMEOUT
            return Ok()

        gate = Gate(probe, concurrency=10, maximum=10, deadline=300.0)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(10)]
        await asyncio.sleep(5)
        judge.failure = None
        await asyncio.gather(*asking)
        await gate.close()
        return now() - returns_at

    assert run_in_virtual_time(story(returns_at=1000.0, slow=0.1)) < 5.0
    assert run_in_virtual_time(story(returns_at=1000.0, slow=40.0)) < 110.0


def test_where_everybody_times_out_though_probes_pass_nobody_is_rejected() -> None:
    async def story() -> int:
        judge = Judge(failure=TIMEOUT, probe_failure=None, seconds=60.0)
        gate = gate_for(judge)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(20)]
        await asyncio.sleep(2 * HOUR)
        assert not any(task.done() for task in asking)
        judge.failure = None
        return len(await asyncio.gather(*asking))

    assert run_in_virtual_time(story()) == 20


def test_with_limited_patience_the_same_is_an_outage() -> None:
    async def story() -> list[Any]:
        judge = Judge(failure=TIMEOUT, probe_failure=None, seconds=60.0)
        gate = gate_for(judge, patience=30.0)
        return await asyncio.gather(*(ask(gate, judge.request) for _ in range(4)), return_exceptions=True)

    assert {type(outcome) for outcome in run_in_virtual_time(story())} == {Outage}


def test_a_lone_record_that_can_t_be_judged_is_rejected_though_no_other_is_there_to_compare() -> None:
    async def story() -> Rejection:
        judge = Judge(failure=Failure(CallOutcome.SERVER_ERROR, "host answers 500"), probe_failure=None)
        with pytest.raises(Rejection) as raised:
            await ask(gate_for(judge), judge.request)
        return raised.value

    assert run_in_virtual_time(story()).reason is RejectionReason.DEADLINE_EXCEEDED


def test_waiting_in_the_queue_is_not_on_the_record_s_clock() -> None:
    async def story() -> float:
        judge = Judge(seconds=50.0)
        gate = gate_for(judge, concurrency=1, maximum=1, deadline=300.0)
        await asyncio.gather(*(ask(gate, judge.request) for _ in range(20)))
        assert judge.most_in_flight == 1
        return now()

    assert run_in_virtual_time(story()) == pytest.approx(1000)


def test_a_strict_rate_limit_rejects_nobody() -> None:
    """Two requests a second are allowed, three hundred want to pass."""

    async def story() -> tuple[int, Watching]:
        watching = Watching()
        gate = gate_for(Judge(), observer=watching, concurrency=100)
        allowed = {"until": 0.0}

        async def request() -> Ok:
            await asyncio.sleep(0.2)
            if now() < allowed["until"]:
                raise RATE_LIMITED
            allowed["until"] = now() + 0.5
            return Ok()

        done = await asyncio.gather(*(ask(gate, request) for _ in range(300)))
        await gate.close()
        return len(done), watching

    done, watching = run_in_virtual_time(story())

    assert done == 300
    assert min(watching.limits) < 10


def test_one_round_of_overload_lowers_the_limit_once() -> None:
    async def story() -> list[int]:
        watching, judge = Watching(), Judge(failure=TIMEOUT, seconds=1.0)
        gate = gate_for(judge, observer=watching)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(10)]
        await asyncio.sleep(1.1)
        for task in asking:
            task.cancel()
        await gate.close()
        return watching.limits

    assert run_in_virtual_time(story()) == [10, 7]


def test_the_limit_grows_by_one_per_round_and_not_beyond_its_maximum() -> None:
    async def story(maximum: int, records: int) -> tuple[list[int], int]:
        watching, judge = Watching(), Judge()
        gate = gate_for(judge, observer=watching, concurrency=4, maximum=maximum)
        await asyncio.gather(*(ask(gate, judge.request) for _ in range(records)))
        return watching.limits, judge.most_in_flight

    assert run_in_virtual_time(story(maximum=6, records=100)) == ([4, 5, 6], 6)


def test_a_limit_that_nobody_needs_does_not_grow() -> None:
    async def story() -> list[int]:
        watching, judge = Watching(), Judge()
        gate = gate_for(judge, observer=watching, concurrency=4)
        for _ in range(50):
            await ask(gate, judge.request)
        return watching.limits

    assert run_in_virtual_time(story()) == [4]


def test_a_place_handed_over_to_somebody_who_just_left_is_free() -> None:
    async def story() -> int:
        slots = Slots(1, 1, lambda limit: None)
        await slots.__aenter__()
        waiting = asyncio.create_task(slots.__aenter__())
        await asyncio.sleep(1)
        await slots.__aexit__()
        waiting.cancel()
        await asyncio.wait([waiting])
        return slots.in_use

    assert run_in_virtual_time(story()) == 0


def test_a_burst_of_refusals_is_no_outage_while_something_passed_just_before() -> None:
    async def story(quiet: float) -> list[OutageReason | None]:
        watching, judge = Watching(), Judge(failure=RATE_LIMITED, seconds=0.0)
        gate = gate_for(judge, observer=watching)
        await ask(gate, Judge(seconds=0.0).request)
        await asyncio.sleep(quiet)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(10)]
        await asyncio.sleep(0.01)
        for task in asking:
            task.cancel()
        await gate.close()
        return watching.breaker

    assert run_in_virtual_time(story(quiet=1.0)) == []
    assert run_in_virtual_time(story(quiet=10.0)) == [OutageReason.RATE_LIMITED]


def test_those_who_queue_when_the_breaker_opens_stay_where_they_are() -> None:
    async def story() -> int:
        judge = Judge(failure=NETWORK, seconds=1.0)
        gate = gate_for(judge, concurrency=1, maximum=1)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(20)]
        await asyncio.sleep(100)
        for task in asking:
            task.cancel()
        await gate.close()
        return len(judge.sent)

    assert run_in_virtual_time(story()) == 5


def test_a_long_wish_to_wait_is_respected_by_the_one_who_was_told() -> None:
    async def story() -> list[float]:
        judge = Judge(failure=Failure(CallOutcome.RATE_LIMITED, "slow", retry_after=100.0), seconds=0.0)
        gate = gate_for(judge)
        asyncio.get_running_loop().call_later(1, lambda: setattr(judge, "failure", None))
        await ask(gate, judge.request)
        return judge.sent

    assert run_in_virtual_time(story())[1] >= 100


def test_a_record_that_opens_the_breaker_again_and_again_meets_its_deadline() -> None:
    async def story() -> tuple[Rejection, int]:
        judge = Judge(failure=WRONG_KEY, probe_failure=None)
        gate = gate_for(judge)
        with pytest.raises(Rejection) as raised:
            await asyncio.wait_for(ask(gate, judge.request), HOUR)
        await gate.close()
        return raised.value, len(judge.sent)

    rejection, sent = run_in_virtual_time(story())

    assert rejection.reason is RejectionReason.DEADLINE_EXCEEDED
    assert sent < 40


def test_the_breaker_s_clock_stands_still_while_it_is_open() -> None:
    async def story() -> tuple[float, float, float]:
        judge = Judge(failure=NETWORK, seconds=0.0)
        breaker = Breaker(judge.probe, patience=None, observer=Observer())
        await asyncio.sleep(10)
        breaker.trip(NETWORK)
        await asyncio.sleep(100)
        during = breaker.closed_seconds()
        judge.failure = None
        await breaker.wait_closed()
        after = breaker.closed_seconds()
        await asyncio.sleep(5)
        return during, after, breaker.closed_seconds()

    assert run_in_virtual_time(story()) == pytest.approx((10, 10, 15))


def test_cancelled_requests_give_their_places_back() -> None:
    async def story() -> float:
        judge = Judge(seconds=10.0)
        gate = gate_for(judge, concurrency=2, maximum=2)
        asking = [asyncio.create_task(ask(gate, judge.request)) for _ in range(6)]
        await asyncio.sleep(1)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        assert judge.in_flight == 0
        await asyncio.gather(*(ask(gate, judge.request) for _ in range(2)))
        return now()

    assert run_in_virtual_time(story()) == pytest.approx(11)


def test_a_hold_lasts_until_its_end_and_is_on_nobody_s_clock() -> None:
    async def story() -> float:
        judge = Judge()
        gate = gate_for(judge)
        gate.hold(OutageReason.BUDGET, "used up", 10 * HOUR)
        asking = asyncio.create_task(ask(gate, judge.request))
        await asyncio.sleep(5 * HOUR)
        gate.hold(OutageReason.BUDGET, "used up", 10 * HOUR)  # said again: it began when it began
        await asking
        assert judge.probes == []
        return now()

    assert run_in_virtual_time(story()) == pytest.approx(10 * HOUR, abs=1)


def test_with_changed_parameters_the_request_is_sent_again_at_once() -> None:
    async def story() -> tuple[float, int]:
        answers: list[Failure | None] = [Failure(CallOutcome.BAD_REQUEST, "temperature", adapted=True), None]
        judge = Judge()

        async def request() -> Ok:
            failure = answers.pop(0)
            if failure is not None:
                raise failure
            return Ok()

        await ask(gate_for(judge), request)
        return now(), len(judge.probes)

    assert run_in_virtual_time(story()) == (0.0, 0)
