"""The drift monitor's speed and memory on a real broker, and the time of a scrape with many streams.

Processor seconds of the monitor's own process are counted, not the clock's: the machine may be shared. The
memory must not grow once the bounded memory of ids is full.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.monitors import draw_scores, observed, publish_scores, start_monitor
from tests.streams import Stage, Worker, Workers
from worker.events import Kind, Metric
from worker.streaming.broker import Broker

NAMES = [(kind, metric) for kind in Kind for metric in Metric]
SEGMENTS = [f"category-{number}" for number in range(50)]
PART = 120_000
SCRAPES = 20


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        broker = Broker(directory=Path(directory) / "kafka")
        broker.start()
        try:
            _measure(Stage(broker.address, Path(directory)))
        finally:
            broker.stop()


def _measure(stage: Stage) -> None:
    stage.create_topics()
    stage.env["QUINTET_BASELINE_SIZE"] = "200"
    with closing(Workers(stage)) as workers:
        monitor = start_monitor(workers)
        for part in ("with all baselines", "after them", "with the memory of ids full"):
            first = observed(stage)
            scores = draw_scores(PART, seed=first, names=NAMES, segments=SEGMENTS, first=first)
            before = _cpu_seconds(monitor)
            publish_scores(stage, scores)
            _wait(stage, first + PART)
            spent = _cpu_seconds(monitor) - before
            print(f"{part}: {PART / spent:,.0f} scores per processor second, {_resident_mb(monitor):.0f} MB")
        _scrape(monitor)


def _wait(stage: Stage, count: int) -> None:
    deadline = time.monotonic() + 300
    while observed(stage) < count:
        assert time.monotonic() < deadline, "the monitor is too slow"
        time.sleep(2)


def _scrape(monitor: Worker) -> None:
    times = []
    for _ in range(SCRAPES):
        began = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{monitor.port}/metrics", timeout=10) as answer:
            size = len(answer.read())
        times.append(time.perf_counter() - began)
    times.sort()
    streams = len(NAMES) * (len(SEGMENTS) + 1)
    print(
        f"scrape of {streams} streams, {size / 1e6:.2f} MB: median {1e3 * times[SCRAPES // 2]:.0f} ms,"
        f" slowest {1e3 * times[-1]:.0f} ms"
    )


def _cpu_seconds(monitor: Worker) -> float:
    fields = Path(f"/proc/{monitor.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mb(monitor: Worker) -> float:
    pages = int(Path(f"/proc/{monitor.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
