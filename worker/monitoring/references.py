"""Judges the reference set: five times to freeze it, again when a stream falls, and on a slow heartbeat.

Only the monitor that has partition 0 does this, so a fleet pays once. The passes bypass the cache: a
verdict from the cache is the judge of the day it was stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import TypeAdapter, ValidationError

from worker.drift.reference import PASSES, ReferenceBook, ReferenceScore
from worker.drift.verdict import MIN_REFERENCES, JudgeShift
from worker.errors import Outage, Rejection, UserError
from worker.events import Metric, SummaryGenerated, read_summary
from worker.judging.judge import Judge, Judgement
from worker.monitoring.commands import ReferencesJudged
from worker.settings import Settings

log = logging.getLogger(__name__)

#: At most so often once the set is frozen: every pass is hundreds of paid calls.
INTERVAL = timedelta(hours=1)
#: The built-in judge costs nothing, so nobody has to wait an hour for a verdict.
FREE_INTERVAL = timedelta(seconds=10)
#: Even where nothing falls: a judge that turns lenient while the generator gets worse raises no alarm.
HEARTBEAT = timedelta(days=1)
#: References judged at once, beside live traffic.
AT_ONCE = 8
#: Seconds between two looks at the clock.
LOOK_AGAIN = 1.0
#: Before another try after an outage of the judge; after any other fault it is an hour where calls cost.
TRY_AGAIN = timedelta(minutes=1)


@dataclass(slots=True)
class ReferenceMemory:
    """What a restart must not forget: it would be paid for again."""

    book: ReferenceBook = field(default_factory=ReferenceBook)
    #: The judge that was asked and the one that answered, with its rubrics.
    asked: str = ""
    model: str = ""
    rubrics: list[str] = field(default_factory=list)
    last_pass: datetime | None = None
    #: When a pass was last held against the frozen ones: only that answers whoever wants a verdict.
    last_compared: datetime | None = None
    #: The latest pass brought freezing no further: everything was refused, or the model has a new name
    #: every time. Another one at once would be as futile, and paid for.
    stuck: bool = False

    @property
    def passes_missing(self) -> int:
        """How many more passes until the judge that answers is frozen."""
        return self.book.passes_missing(self.model, self.rubrics)


_MEMORY = TypeAdapter(ReferenceMemory)


def read_memory(raw: bytes | None) -> ReferenceMemory:
    """What was stored; empty where nothing was, or nothing that can be read."""
    try:
        return _MEMORY.validate_json(raw) if raw else ReferenceMemory()
    except ValidationError:
        log.warning("reference set: what was stored can't be read; it is judged anew")
        return ReferenceMemory()


def load_references(settings: Settings) -> list[SummaryGenerated]:
    """The reference set of the settings; empty where it is off."""
    if settings.reference_set == "off":
        return []
    if settings.reference_set is None:
        return _read_references("built in", files("worker.drift").joinpath("reference.jsonl"))
    references = _read_references(str(settings.reference_set), settings.reference_set)
    if len(references) < MIN_REFERENCES:
        log.warning(
            "%s has %d references; below %d verdicts stay undetermined",
            settings.reference_set,
            len(references),
            MIN_REFERENCES,
        )
    return references


def _read_references(name: str, file: Traversable) -> list[SummaryGenerated]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"QUINTET_REFERENCE_SET: {name}: {error}; name a JSONL file, or off") from None
    references: dict[str, SummaryGenerated] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            reference = read_summary(line)
        except Rejection as problem:
            raise UserError(f"QUINTET_REFERENCE_SET: {name}:{number}: {problem.message}") from None
        if references.setdefault(reference.summary_id, reference) is not reference:
            raise UserError(
                f"QUINTET_REFERENCE_SET: {name}:{number}: {reference.summary_id} is there twice;"
                " give each reference an id of its own"
            )
    return list(references.values())


class ReferenceKeeper:
    """Decides when the reference set is judged, judges it, and hands on what that gave."""

    def __init__(
        self,
        references: Sequence[SummaryGenerated],
        judge: Judge,
        memory: ReferenceMemory,
        hand_on: Callable[[bytes, ReferencesJudged], Awaitable[None]],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._references = references
        self._judge = judge.fresh()
        self._memory = memory
        self._hand_on = hand_on
        self._wanted = False
        self._not_before = datetime.min.replace(tzinfo=UTC)
        self._interval = FREE_INTERVAL if judge.backend == "lexical" else INTERVAL
        self._asked = f"{judge.backend}|{judge.requested_model}|{judge.pack}"

    def want(self, at: datetime) -> None:
        """Somebody asked for a pass at this time; unless one has answered since, it comes when allowed."""
        answered = self._memory.last_compared
        if answered is None or at > answered:
            self._wanted = True

    async def run(self) -> None:
        """For as long as this monitor is the one that judges; a fault is logged and tried again later."""
        while True:
            if self.due():
                await self.attempt()
            else:
                await asyncio.sleep(LOOK_AGAIN)

    def due(self) -> bool:
        """Whether it is time for a pass."""
        now, memory = self._clock(), self._memory
        if now < self._not_before:
            return False
        if memory.last_pass is None or memory.asked != self._asked:
            return True
        freezing = memory.passes_missing > 0
        # A stored time that lies ahead of our clock is as old as it is far away.
        since = abs(now - memory.last_pass)
        if (freezing and not memory.stuck) or since >= HEARTBEAT:
            return True
        return (freezing or self._wanted) and since >= self._interval

    async def attempt(self) -> None:
        """One pass; where it fails the streams are watched all the same, and it is tried again later."""
        wanted, self._wanted = self._wanted, False
        try:
            compared = await self._pass()
        except Exception as error:
            self._put_off(error)
            compared = False
        self._wanted |= wanted and not compared

    def _put_off(self, error: Exception) -> None:
        problem = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
        if isinstance(problem, Outage):
            pause = TRY_AGAIN
            log.warning("reference set: the judge is out of reach (%s); again in %s", problem, pause)
        else:
            pause = max(self._interval, TRY_AGAIN)
            log.error("reference set: could not be judged; again in %s", pause, exc_info=problem)
        self._not_before = self._clock() + pause

    async def _pass(self) -> bool:
        """Judge all references, and hand on what that gave; whether it could be compared."""
        at = self._clock()
        judged = await self._judge_all()
        memory = self._memory
        missing = memory.passes_missing
        memory.asked, memory.last_pass = self._asked, at
        shifts: dict[Metric, JudgeShift] = {}
        for model in sorted({judgement.model for _, judgement in judged}):
            scores = _scores_of(model, judged)
            memory.model, memory.rubrics = model, sorted({score.rubric for score in scores})
            shifts |= memory.book.add_pass(model, scores, at)
        memory.stuck = 0 < missing <= memory.passes_missing
        if shifts:
            memory.last_compared = at
        self._report(len(judged), shifts)
        await self._hand_on(_MEMORY.dump_json(memory), ReferencesJudged(shifts=shifts, at=self._clock()))
        return bool(shifts)

    async def _judge_all(self) -> list[tuple[str, Judgement]]:
        """All references that can be judged; one that is refused is left out."""
        places = asyncio.Semaphore(AT_ONCE)

        async def one(reference: SummaryGenerated) -> tuple[str, Judgement] | None:
            async with places:
                try:
                    return reference.summary_id, await self._judge.judge(reference)
                except Rejection as problem:
                    log.warning("reference %s is left out: %s", reference.summary_id, problem)
                    return None

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(reference)) for reference in self._references]
        return [found for task in tasks if (found := task.result()) is not None]

    def _report(self, count: int, shifts: dict[Metric, JudgeShift]) -> None:
        missing = self._memory.passes_missing
        if missing > 0 or not shifts:
            log.info("reference set: %d judged, pass %d of %d", count, PASSES - missing, PASSES)
            return
        moved = {metric: f"{shift.difference:+.2f}" for metric, shift in shifts.items() if shift.moved}
        log.info("reference set: %d judged again; moved: %s", count, moved or "nothing")


def _scores_of(model: str, judged: Sequence[tuple[str, Judgement]]) -> list[ReferenceScore]:
    return [
        ReferenceScore(name, metric, verdict.rubric, verdict.expected)
        for name, judgement in judged
        if judgement.model == model
        for metric, verdict in judgement.scores.items()
    ]
