"""Waits for a broker and its topics, and says so: a service is often started before they are there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection

from aiokafka.errors import KafkaError

from worker.settings import Settings
from worker.streaming import clients
from worker.streaming.connection import first_line

log = logging.getLogger(__name__)

#: Seconds between two looks for a broker or a topic that is not there.
LOOK_AGAIN = 1.0
#: Seconds between two lines about the same wait.
SAY_AGAIN = 10.0


async def wait_for_broker(
    settings: Settings, needed: Collection[str], tell: Callable[[str], None] = lambda problem: None
) -> None:
    """Until the brokers answer and the topics exist; what is waited for is told and logged."""
    said = float("-inf")
    while problem := await broker_problem(settings, needed):
        tell(problem)
        if time.monotonic() - said >= SAY_AGAIN:
            log.warning("waiting: %s", problem)
            said = time.monotonic()
        await asyncio.sleep(LOOK_AGAIN)


async def broker_problem(settings: Settings, needed: Collection[str]) -> str | None:
    """Why nothing can be read or written yet, if so."""
    try:
        existing = await clients.existing_topics(settings)
    except (KafkaError, OSError) as error:
        return f"no broker answers at {','.join(settings.brokers)} ({first_line(error)})"
    missing = [name for name in needed if name not in existing]
    if missing:
        return f"there is no topic {', '.join(missing)}; run: quintet topics create"
    return None
