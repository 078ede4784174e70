"""The stream worker from start to stop: waits for the broker, runs, watches itself, drains, leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Protocol

from aiokafka.errors import KafkaError

from worker.judging.judge import Judge
from worker.pipeline import Outcome, Pipeline, Rejected, Scored
from worker.settings import Settings
from worker.streaming import signals
from worker.streaming.connection import first_line
from worker.streaming.engine import Engine
from worker.streaming.flow import AlwaysClosed, Flow, Gate
from worker.streaming.handling import Handler
from worker.streaming.ledger import Ledger
from worker.streaming.records import Envelopes, Incoming
from worker.streaming.waiting import wait_for_broker
from worker.streaming.watching import Watch
from worker.streaming.web import Check, Web
from worker.telemetry import WorkerTelemetry

log = logging.getLogger(__name__)

#: Seconds that records under way get after the first signal.
DRAIN = 25.0
#: Seconds that committing, leaving the group and closing everything may take together after that.
LEAVE = 4.0
#: Seconds that joining the group may take once the broker answers.
START_TIMEOUT = 120.0
#: Seconds between two looks at what the budget allows, or between two tries to join.
LOOK_AGAIN = 1.0

EXIT_FAILED = 70
EXIT_AT_ONCE = 130


class Companion(Protocol):
    """Something that lives beside the worker in its process, such as the drift monitor."""

    def start(self) -> None:
        """Begin in the background, never to fail."""

    async def stop(self) -> None:
        """End, within a few seconds."""

    def check(self) -> Check:
        """For /readyz."""
        ...


class StreamWorker:
    """One worker process's whole life."""

    def __init__(
        self,
        settings: Settings,
        judge: Judge,
        telemetry: WorkerTelemetry,
        *,
        gate: Gate | None = None,
        sample_rate: Callable[[], float] | None = None,
        beside: Companion | None = None,
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._telemetry = telemetry
        self._gate = gate or AlwaysClosed()
        self._beside = beside
        self._pipeline = Pipeline(
            judge,
            max_event_bytes=settings.max_event_bytes,
            sample_rate=settings.sample_rate,
            segment_by=settings.segment_by,
        )
        self._sample_rate = sample_rate or (lambda: settings.sample_rate)
        self._scored = self._rejected = 0
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None
        ledger = Ledger()
        self._engine = Engine(settings, ledger)
        handler = Handler(self._pipeline, Envelopes(settings), self._engine.publish, self._published)
        self._flow = Flow(
            ledger, handler.handle, limit=settings.concurrency, gate=self._gate, on_death=self._fail
        )
        name = f"{judge.backend} {judge.requested_model}"
        self._watch = Watch(settings, name, self._engine, self._flow, self._gate, telemetry, self._fail)
        self._web = Web(settings.web_host, settings.web_port, render=telemetry.render, checks=self._checks)
        telemetry.watch_in_flight(lambda: self._flow.in_flight)

    async def run(self) -> int:
        """Work until a signal comes or something breaks; the exit code."""
        started = time.monotonic()
        signals.listen(self._finish_up, self._leave_at_once)
        await self._web.start()
        if self._beside is not None:
            self._beside.start()
        life = asyncio.create_task(self._live())
        life.add_done_callback(self._ended)
        await self._stopping.wait()
        life.cancel()
        abandoned = await self._finish()
        in_order = await self._leave()
        self._say_goodbye(abandoned, time.monotonic() - started)
        code = EXIT_FAILED if self._failure else 0
        if not in_order or self._engine.thread_is_left:
            _exit(code)  # it may never end, or end with a traceback into the closed loop
        return code

    def _checks(self) -> dict[str, Check]:
        checks = self._watch.checks()
        return checks | {"monitor": self._beside.check()} if self._beside is not None else checks

    async def _live(self) -> None:
        """Start, then work until cancelled."""
        await self._start()
        self._watch.waiting_for = None
        log.info("working: topic %s, group %s", self._settings.topic_generated, self._settings.group)
        async with asyncio.TaskGroup() as beside:
            beside.create_task(self._watch.run())
            beside.create_task(self._follow_budget())

    def _ended(self, life: asyncio.Task[None]) -> None:
        if not life.cancelled() and (error := life.exception()):
            self._fail(error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error)

    def _finish_up(self) -> None:
        log.info("stopping: %d under way get %.0f s to finish", self._flow.in_flight, DRAIN)
        self._stopping.set()

    def _leave_at_once(self) -> None:
        log.warning("second signal: leaving at once; what is under way will come again")
        _exit(EXIT_AT_ONCE)

    async def _start(self) -> None:
        """Join the group; a broker that goes away in the middle of it is waited for once more."""
        while not self._stopping.is_set():
            await self._wait_for_broker()
            try:
                async with asyncio.timeout(START_TIMEOUT):
                    return await self._engine.start(self._flow)
            except KafkaError as error:
                log.warning("the broker went away during the start: %s", first_line(error))
                await asyncio.sleep(LOOK_AGAIN)
        raise asyncio.CancelledError  # Faust may have swallowed ours

    async def _wait_for_broker(self) -> None:
        """Until the brokers answer and the topics exist."""
        s = self._settings
        needed = (s.topic_generated, s.topic_scored, s.topic_metric_scores, s.topic_rejected)

        def tell(problem: str) -> None:
            self._watch.waiting_for = problem

        await wait_for_broker(s, needed, tell)

    async def _follow_budget(self) -> None:
        """A budget lowers the share of judged summaries before it stops them all."""
        while True:
            self._pipeline.sample_rate = self._sample_rate()
            await asyncio.sleep(LOOK_AGAIN)

    def _fail(self, error: BaseException) -> None:
        """Something broke that can't heal here: stop, so that somebody starts us afresh."""
        if self._failure is None:
            log.critical("stopping: %s", first_line(error), exc_info=error)
            self._failure = error
        self._stopping.set()

    async def _finish(self) -> int:
        """Let what is under way end, unless something is broken; how much was given up."""
        leaving = asyncio.create_task(self._beside.stop()) if self._beside is not None else None
        if self._failure is None:
            await self._flow.drain(DRAIN)
        if leaving is not None:
            await leaving
        return await self._flow.abandon_all()

    async def _leave(self) -> bool:
        """Commit, leave the group, close everything; False if that took too long and was left."""
        try:
            async with asyncio.timeout(LEAVE):
                # Faust commits once more as it stops; that commit may be skipped, this one is not.
                await self._engine.commit()
                await self._engine.stop()
                await self._judge.close()
                await self._web.stop()
        except TimeoutError:
            log.warning("leaving took longer than %.0f s; what was not committed will come again", LEAVE)
            return False
        except Exception as error:
            log.warning("leaving in disorder: %s", first_line(error))
            return False
        return True

    def _published(self, incoming: Incoming, outcome: Outcome) -> None:
        self._scored += isinstance(outcome, Scored)
        self._rejected += isinstance(outcome, Rejected)
        self._telemetry.published(outcome, incoming.received_at)
        if isinstance(outcome, Rejected):
            log.info(
                "rejected %s/%d: %s",
                "/".join(map(str, incoming.partition)),
                incoming.offset,
                outcome.rejection,
            )

    def _say_goodbye(self, abandoned: int, seconds: float) -> None:
        log.info(
            "stopped: %d scored, %d rejected, %d repeated, %d in flight, %.1f seconds",
            self._scored,
            self._rejected,
            self._flow.repeated,
            abandoned,
            seconds,
        )


def _exit(code: int) -> None:
    """End the process without waiting for anybody."""
    logging.shutdown()
    os._exit(code)
