"""A stream worker whose judge only waits: `python tests/stub_worker.py`, settings from the environment.

STUB_DELAY: seconds of a summary at most; STUB_SLOW: share that takes twenty times as long; a summary whose text
names `hold-<seconds>` takes exactly so long, and one that names `bug` makes the judge fail as no judge should.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import sys
from typing import Literal

from worker.events import Metric, Mode, SummaryGenerated, Verdict
from worker.judging.judge import Judgement
from worker.settings import load_settings
from worker.streaming.service import StreamWorker
from worker.telemetry import WorkerTelemetry


class StubJudge:
    """Gives every metric a 4, after a while."""

    backend: Literal["openai", "lexical"] = "lexical"
    requested_model = "stub"
    pack = "stub@0"

    def __init__(self, delay: float = 0.0, slow: float = 0.0) -> None:
        self._delay = delay
        self._slow = slow

    async def judge(self, event: SummaryGenerated) -> Judgement:
        if "bug" in event.summary:
            raise RuntimeError("a bug in the judge")
        hold = re.search(r"hold-([\d.]+)", event.summary)
        factor = 20 if random.random() < self._slow else random.random()
        seconds = float(hold[1]) if hold else self._delay * factor
        if seconds:
            await asyncio.sleep(seconds)
        verdict = Verdict(
            score=4, expected=4.0, mode=Mode.LEXICAL, explanation="fine", rubric="stub@0", native=True
        )
        return Judgement(dict.fromkeys(Metric, verdict), "stub", slowest_call_seconds=seconds)

    def fresh(self) -> StubJudge:
        return self

    async def close(self) -> None:
        """Nothing to close."""


async def main() -> int:
    settings = load_settings()
    judge = StubJudge(float(os.environ.get("STUB_DELAY", "0")), float(os.environ.get("STUB_SLOW", "0")))
    return await StreamWorker(settings, judge, WorkerTelemetry(settings.max_segments)).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    for chatty in ("faust", "aiokafka", "mode", "kafka"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    sys.exit(asyncio.run(main()))
