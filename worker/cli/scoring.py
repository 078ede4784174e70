"""Every line of a file through the pipeline: what eval and calibrate have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime

from worker.cli.ordered import in_order
from worker.cli.reading import Line
from worker.errors import Rejection
from worker.errors import RejectionReason as Reason
from worker.events import FileSource
from worker.judging.judge import Judge
from worker.pipeline import Outcome, Pipeline, Record
from worker.settings import Settings

#: Seconds that an unreachable judge is waited for before a command gives up.
PATIENCE_SECONDS = 30.0

#: What somebody can do about a rejected line.
_ADVICE = {
    Reason.INVALID_JSON: "write one JSON object per line, in UTF-8",
    Reason.INVALID_EVENT: "see schemas/summary-generated.json for what is required",
    Reason.TOO_LARGE: "shorten it or raise QUINTET_MAX_EVENT_BYTES",
    Reason.JUDGE_REFUSED: "read the text; the model will not judge it",
    Reason.JUDGE_UNREADABLE: "try again, or another model: the replies had no readable score",
    Reason.JUDGE_BAD_REQUEST: "shorten the evidence, or use a model with a larger context",
    Reason.DEADLINE_EXCEEDED: "try again, or raise QUINTET_DEADLINE",
}


async def score_lines(
    judge: Judge, settings: Settings, file: str, lines: AsyncIterator[Line], interrupted: asyncio.Event
) -> AsyncGenerator[tuple[Line, Outcome], None]:
    """Outcomes in input order; a file is judged whole, whatever share of a stream is."""
    pipeline = Pipeline(judge, max_event_bytes=settings.max_event_bytes)

    async def process(line: Line) -> tuple[Line, Outcome]:
        record = Record(line.value, FileSource(file=file, line=line.number), datetime.now(UTC))
        return line, await pipeline.process(record)

    async with aclosing(in_order(lines, process, settings.concurrency, interrupted)) as results:
        async for result in results:
            yield result


def describe_rejection(file: str, line: Line, rejection: Rejection) -> str:
    """One line: where, why, and what to do."""
    return f"{file}:{line.number}: rejected, {rejection.reason}: {rejection.message}; {_ADVICE[rejection.reason]}"
