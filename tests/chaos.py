"""Everything at once, on real parts: `python tests/chaos.py [--seconds 600] [--plain-faust]`.

Two workers and a third that joins and leaves, killed, stopped and started again, while the broker and the
judge's endpoint go away and come back. Prints a table; exit code 1 if something was lost or a worker needed a hand.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Run as a script, the directory above is not on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.chaos_checks import Kill, Row, check_calls, check_metrics, check_topics
from tests.chaos_load import Load
from tests.streams import EndpointProcess, Stage, Worker, Workers
from worker.streaming.broker import Broker

FULL_SECONDS = 600
#: Summaries a second: some ten thousand in ten minutes.
PACE = 20
ENDPOINT_DOWN = 20.0
#: Seconds that an answer of the judge takes on average.
DELAY = 0.4
#: Seconds after the last summary by which everything has to be done.
PATIENCE = 120.0


@dataclass(frozen=True)
class Plan:
    """How often what happens."""

    kills: int
    terminations: int
    visits: int
    broker_kills: int
    endpoint_down: float

    @classmethod
    def for_seconds(cls, seconds: float) -> Plan:
        """The full plan for ten minutes, a small one for less."""
        if seconds >= FULL_SECONDS:
            return cls(kills=12, terminations=4, visits=3, broker_kills=2, endpoint_down=ENDPOINT_DOWN)
        return cls(kills=2, terminations=1, visits=1, broker_kills=1, endpoint_down=5.0)


class Chaos:
    """One run."""

    def __init__(self, directory: Path, seconds: float, *, plain: bool, seed: int) -> None:
        self._plain = plain
        self._seconds = seconds
        self._dice = random.Random(seed)
        self._broker = Broker(directory=directory / "kafka")
        self._endpoint = EndpointProcess(directory, delay=DELAY)
        self._stage = Stage(self._broker.address, directory)
        self._stage.env["QUINTET_CACHE"] = str(directory / "verdicts.sqlite")
        self._workers = Workers(self._stage)
        self._load = Load(self._stage, count=int(PACE * seconds), seconds=seconds)
        self._busy: list[Worker] = []
        self._visitor: Worker | None = None
        self._leaving: list[Worker] = []
        self._kills: list[Kill] = []
        self._needed_a_hand = 0
        self._bad_exits = 0

    def run(self) -> list[Row]:
        """Start everything, let it happen, look at what came out; nothing is left running."""
        self._broker.start()
        try:
            self._endpoint.start()
            self._stage.create_topics()
            self._busy = [self._start(), self._start()]
            self._load.start()
            self._let_it_happen(Plan.for_seconds(self._seconds))
            self._wait_until_done()
            self._stop_workers()
            return self._rows()
        finally:
            self._workers.close()
            self._endpoint.kill()
            self._broker.stop()

    def _start(self) -> Worker:
        if self._plain:
            env = {"PLAIN_DELAY": str(DELAY), "PLAIN_DATADIR": str(self._stage.directory)}
            return self._workers.start(["tests/plain_faust.py", "worker", "--without-web"], **env)
        return self._workers.quintet(self._endpoint)

    def _let_it_happen(self, plan: Plan) -> None:
        events: list[Callable[[], None]] = [self._kill_worker] * plan.kills
        events += [self._terminate_worker] * plan.terminations + [self._visit] * plan.visits
        events += [self._kill_broker] * plan.broker_kills
        events.append(lambda: self._kill_endpoint(plan.endpoint_down))
        self._dice.shuffle(events)
        pause = (self._seconds - plan.endpoint_down) / (len(events) + 1)
        for event in events:
            self._rest(pause * self._dice.uniform(0.7, 1.1))
            event()

    def _rest(self, seconds: float) -> None:
        """Wait, and see to workers that ended by themselves: that is a hand they should not need."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for number, worker in enumerate(self._busy):
                if worker.process.poll() is not None:
                    self._say(
                        f"{worker.name} ended by itself with {worker.process.returncode}: {worker.last_words()}"
                    )
                    self._needed_a_hand += 1
                    self._busy[number] = self._start()
            time.sleep(0.2)

    def _kill_worker(self) -> None:
        number = self._dice.randrange(len(self._busy))
        worker = self._busy[number]
        self._kills.append(Kill(time.time(), worker.name))
        worker.kill()
        self._say(f"kill -9 of {worker.name} at {self._kills[-1].at:.3f}")
        self._busy[number] = self._start()

    def _terminate_worker(self) -> None:
        number = self._dice.randrange(len(self._busy))
        worker = self._busy[number]
        worker.terminate()
        self._leaving.append(worker)
        self._say(f"SIGTERM to {worker.name}")
        self._busy[number] = self._start()

    def _visit(self) -> None:
        self._visitor = self._start()
        self._say(f"{self._visitor.name} joins")
        self._rest(10)
        self._visitor.terminate()
        self._leaving.append(self._visitor)
        self._say(f"{self._visitor.name} leaves")

    def _kill_broker(self) -> None:
        with self._load.broker_in_use:
            self._broker.kill()
            self._say("the broker is killed")
            self._rest(self._dice.uniform(3, 8))
            self._broker.start()
        self._say("the broker is back")

    def _kill_endpoint(self, seconds: float) -> None:
        self._kills.append(Kill(time.time(), None))
        self._endpoint.kill()
        self._say("the endpoint is killed")
        self._rest(seconds)
        self._endpoint.start()
        self._say("the endpoint is back")

    def _wait_until_done(self) -> None:
        self._load.join(self._seconds + PATIENCE)
        if self._load.failure is not None:
            raise self._load.failure
        deadline = time.monotonic() + (PATIENCE if not self._plain else PATIENCE / 3)
        while not self._is_done() and time.monotonic() < deadline:
            self._rest(2)

    def _is_done(self) -> bool:
        sent = self._load.sent
        scored = {event["summary_id"] for event in self._stage.scored()}
        rejected = {record.key.decode() for record in self._stage.read("rejected")}
        return sent.valid <= scored and set(sent.poison) <= rejected

    def _stop_workers(self) -> None:
        for worker in self._busy:
            worker.terminate()
        for worker in self._busy + self._leaving:
            try:
                code: int | None = worker.wait(35)
            except subprocess.TimeoutExpired:
                code = None  # ended with all the others
            if code != 0:
                self._bad_exits += 1
                self._say(f"{worker.name} stopped with {code}: {worker.last_words()}")

    def _rows(self) -> list[Row]:
        rows = check_topics(self._stage, self._load.sent)
        if not self._plain:
            rows += check_metrics(self._stage, self._load.sent)
            rows += check_calls(self._endpoint.calls(), self._kills)
        hand, exits = self._needed_a_hand, self._bad_exits
        rows.append(Row("workers that ended by themselves", hand, "0", hand == 0))
        rows.append(Row("stops with a bad exit code", exits, "0", exits == 0))
        return rows

    def _say(self, what: str) -> None:
        sent = len(self._load.sent.valid)
        print(f"{time.strftime('%H:%M:%S')} {sent:6} sent  {what}", file=sys.stderr, flush=True)


def table(rows: list[Row]) -> str:
    """The rows, readable."""
    lines = [f"{'':4}{'figure':45}{'value':>8}  wanted"]
    lines += [f"{'ok' if row.ok else 'BAD':4}{row.name:45}{row.value!s:>8}  {row.wanted}" for row in rows]
    return "\n".join(lines)


def main() -> int:
    """Run, print the table; 1 if a row is bad."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=FULL_SECONDS)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--plain-faust", action="store_true", help="show that a plain agent fails")
    options = parser.parse_args()
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    print(f"seed {options.seed}, {os.cpu_count()} cores", file=sys.stderr)
    directory = Path(tempfile.mkdtemp(prefix="quintet-chaos-"))
    rows = Chaos(directory, options.seconds, plain=options.plain_faust, seed=options.seed).run()
    print(table(rows))
    good = all(row.ok for row in rows)
    if good or options.plain_faust:
        shutil.rmtree(directory)
    else:
        print(f"logs of workers, broker and endpoint: {directory}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
