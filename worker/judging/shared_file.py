"""A small SQLite file that several processes share and that nobody depends on.

Whatever happens to it (damaged, locked, full, deleted, read-only), work goes on without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds to wait for another process's write.
BUSY_SECONDS = 5.0
#: Seconds to leave a file alone that could not be used.
REST_SECONDS = 60.0
#: Seconds to leave it alone that others kept busy; twice as long each time, up to the above. What they are
#: storing meanwhile was paid for, so it must be looked for again soon.
BUSY_REST_SECONDS = 1.0

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class SharedFile:
    """Runs statements in a thread of its own, so that the event loop never waits for the disk."""

    def __init__(self, path: Path, schema: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._schema = schema
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"quintet-{path.stem}")
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._rests_until = float("-inf")
        self._busy_rest = BUSY_REST_SECONDS
        self._warned = False
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        """The result of some statements, committed; the default where the file can't be used."""
        return await asyncio.wrap_future(self.submit(work, default))

    def submit(self, work: Callable[[sqlite3.Connection], T], default: T) -> Future[T]:
        """The same without waiting for it."""
        if self._closed:
            result: Future[T] = Future()
            result.set_result(default)
            return result
        return self._thread.submit(self._run, work, default)

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        if not self._closed:
            self._closed = True
            await asyncio.wrap_future(self._thread.submit(self._disconnect))
            self._thread.shutdown()

    def _run(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        if self._clock() < self._rests_until:
            return default
        try:
            result = self._try_twice(work)
        except (sqlite3.Error, OSError) as error:
            self._rest(error)
            return default
        self._warned = False
        self._busy_rest = BUSY_REST_SECONDS
        return result

    def _try_twice(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A file that is damaged or gone is begun anew, once."""
        try:
            return work(self._connect())
        except sqlite3.DatabaseError as error:
            gone = self._is_gone()
            self._set_aside(error)
            if not gone and not _is_damage(error):
                raise
            return work(self._connect())

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._is_gone():
            self._disconnect()
        if self._connection is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made here, since SQLite would let everybody read it; its side files take over the mode.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._inode = self.path.stat().st_ino
            self._connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(self._schema)
        return self._connection

    def _is_gone(self) -> bool:
        """Whether another file, or none, is now where ours was."""
        try:
            return self.path.stat().st_ino != self._inode
        except OSError:
            return True

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Move a damaged file out of the way, unless another process has already done so."""
        self._disconnect()
        if not _is_damage(error) or self._is_gone():
            return
        aside = self.path.with_name(self.path.name + ".damaged")
        self.path.replace(aside)
        for side_file in ("-wal", "-shm"):
            self.path.with_name(self.path.name + side_file).unlink(missing_ok=True)
        logger.warning("%s is damaged: kept as %s and begun anew", self.path, aside.name)

    def _rest(self, error: Exception) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._disconnect()
        self._rests_until = self._clock() + self._rest_seconds(error)
        if not self._warned:
            self._warned = True
            logger.warning("%s can't be used (%s): going on without it for now", self.path, error)

    def _rest_seconds(self, error: Exception) -> float:
        if _code(error) != sqlite3.SQLITE_BUSY:
            return REST_SECONDS
        rest, self._busy_rest = self._busy_rest, min(2 * self._busy_rest, REST_SECONDS)
        return rest

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return _code(error) in _DAMAGED


def _code(error: Exception) -> int:
    """SQLite's primary code of an error; 0 where it has none."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
