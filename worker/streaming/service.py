"""The stream worker from start to stop: waits for the broker, runs, watches itself, drains, leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable

from aiokafka.errors import KafkaError

from worker.judging.judge import Judge
from worker.pipeline import Outcome, Pipeline, Rejected, Scored
from worker.settings import Settings
from worker.streaming import clients
from worker.streaming.connection import first_line
from worker.streaming.engine import Engine
from worker.streaming.flow import AlwaysClosed, Flow, Gate
from worker.streaming.handling import Handler
from worker.streaming.ledger import Ledger
from worker.streaming.records import Envelopes, Incoming
from worker.streaming.watching import Watch
from worker.streaming.web import Web
from worker.telemetry import WorkerTelemetry

log = logging.getLogger(__name__)

#: Seconds that records under way get after the first signal.
DRAIN = 25.0
#: Seconds that committing, leaving the group and closing everything may take together after that.
LEAVE = 4.0
#: Seconds that joining the group may take once the broker answers.
START_TIMEOUT = 120.0
#: Seconds between two looks for a broker or a topic that is not there.
LOOK_AGAIN = 1.0
#: Seconds between two lines about the same wait.
SAY_AGAIN = 10.0

EXIT_FAILED = 70
EXIT_AT_ONCE = 130


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
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._telemetry = telemetry
        self._gate = gate or AlwaysClosed()
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
        self._web = Web(
            settings.web_host, settings.web_port, render=telemetry.render, checks=self._watch.checks
        )
        telemetry.watch_in_flight(lambda: self._flow.in_flight)

    async def run(self) -> int:
        """Work until a signal comes or something breaks; the exit code."""
        started = time.monotonic()
        self._listen_for_signals()
        await self._web.start()
        life = asyncio.create_task(self._live())
        life.add_done_callback(self._ended)
        await self._stopping.wait()
        life.cancel()
        abandoned = await self._finish()
        in_order = await self._leave()
        self._say_goodbye(abandoned, time.monotonic() - started)
        code = EXIT_FAILED if self._failure else 0
        if not in_order:
            _exit(code)  # a thread may be left that would never end
        return code

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

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        if self._stopping.is_set():
            log.warning("second signal: leaving at once; what is under way will come again")
            _exit(EXIT_AT_ONCE)
        log.info("stopping: %d under way get %.0f s to finish", self._flow.in_flight, DRAIN)
        self._stopping.set()

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
        said = float("-inf")
        while problem := await self._broker_problem():
            self._watch.waiting_for = problem
            if time.monotonic() - said >= SAY_AGAIN:
                log.warning("waiting: %s", problem)
                said = time.monotonic()
            await asyncio.sleep(LOOK_AGAIN)

    async def _broker_problem(self) -> str | None:
        s = self._settings
        try:
            existing = await clients.existing_topics(s)
        except (KafkaError, OSError) as error:
            return f"no broker answers at {','.join(s.brokers)} ({first_line(error)})"
        needed = (s.topic_generated, s.topic_scored, s.topic_metric_scores, s.topic_rejected)
        missing = [name for name in needed if name not in existing]
        if missing:
            return f"there is no topic {', '.join(missing)}; run: quintet topics create"
        return None

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
        if self._failure is None:
            await self._flow.drain(DRAIN)
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
