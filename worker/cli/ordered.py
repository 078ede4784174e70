"""Work on many items at once, results in the order of the items, memory bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Results that wait behind a slow one, per item under way.
_WAITING_PER_SLOT = 4


async def in_order(
    items: AsyncIterator[Item],
    work: Callable[[Item], Awaitable[Result]],
    limit: int,
    interrupted: asyncio.Event,
) -> AsyncGenerator[Result, None]:
    """Results in input order, at most `limit` items under way; once interrupted, what is done by then."""
    slots = asyncio.Semaphore(limit)

    async def work_in_a_slot(item: Item) -> Result:
        async with slots:
            return await work(item)

    window: deque[asyncio.Task[Result]] = deque()
    stop = asyncio.create_task(interrupted.wait())
    upcoming: asyncio.Task[Item] | None = None
    exhausted = False
    try:
        while not stop.done():
            if upcoming is None and not exhausted and len(window) < limit * _WAITING_PER_SLOT:
                upcoming = asyncio.create_task(_next(items))
            waited_for = [*([upcoming] if upcoming else []), *([window[0]] if window else [])]
            if not waited_for:
                break
            await asyncio.wait([stop, *waited_for], return_when=asyncio.FIRST_COMPLETED)
            if upcoming and upcoming.done():
                try:
                    window.append(asyncio.create_task(work_in_a_slot(upcoming.result())))
                except StopAsyncIteration:
                    exhausted = True
                upcoming = None
            while window and window[0].done():
                yield window.popleft().result()
        for task in window:
            if task.done() and not task.cancelled() and task.exception() is None:
                yield task.result()
    finally:
        await _cancel([stop, *window, *([upcoming] if upcoming else [])])


async def _next(items: AsyncIterator[Item]) -> Item:
    return await anext(items)


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(BaseException):
            await task
