"""SIGTERM and Ctrl-C: the first asks to finish, a second one means at once."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

#: Seconds in which two signals are one: `timeout` and some shells send each to the process and to its group.
SAME = 0.2


def listen(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Call back for both signals, in the running loop."""
    came: list[float] = []

    def signalled() -> None:
        now = time.monotonic()
        if not came:
            came.append(now)
            first()
        elif now - came[0] > SAME:
            second()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
