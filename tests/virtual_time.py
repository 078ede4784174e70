"""An event loop whose clock jumps to the next thing to do: hours of waiting in no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Never waits: the time it would have waited has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("everybody waits and nothing will ever happen")
            self.now += timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """For code that only sleeps and waits; no sockets, no threads."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run_in_virtual_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, however long it believes to have waited."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
