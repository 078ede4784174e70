"""Verdicts already paid for: the same question to the same model is not asked twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from worker.judging.shared_file import SharedFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, ruling TEXT NOT NULL)
"""
MAX_ROWS = 1_000_000
MAX_BYTES = 2 * 1024**3
#: After so many rulings it is seen whether the file is full, and then so many of the oldest go.
PRUNE_EVERY, PRUNE_ROWS = 256, 1024


@dataclass(frozen=True)
class Ruling:
    """What one readable reply said: all that is needed to give its verdict again."""

    score: int
    explanation: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    #: Five shares, where log probabilities were asked for.
    distribution: tuple[float, ...] | None = None

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Ruling:
        """As it was stored; a ValueError or TypeError where it isn't one."""
        fields: dict[str, Any] = json.loads(text)
        shares = fields.pop("distribution")
        ruling = cls(**fields, distribution=None if shares is None else tuple(map(float, shares)))
        if ruling.score not in range(1, 6):
            raise ValueError("not a score")
        return ruling


def key_of(*parts: object) -> bytes:
    """A digest of everything that could change the reply."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


class VerdictCache:
    """Keeps rulings in a file, the newest million or so."""

    def __init__(self, path: Path | None, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> None:
        self._file = SharedFile(path, SCHEMA) if path is not None else None
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._stored = 0

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Ruling]:
        """What is known of these."""
        if self._file is None or not keys:
            return {}
        nothing: list[tuple[bytes, str]] = []
        rows = await self._file.run(lambda connection: _select(connection, keys), nothing)
        return {key: ruling for key, text in rows if (ruling := _read(text)) is not None}

    async def put(self, key: bytes, ruling: Ruling) -> None:
        """Keep a ruling; when this returns, it survives the end of the process."""
        if self._file is not None:
            await self._file.run(lambda connection: self._store(connection, key, ruling), None)

    async def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            await self._file.close()

    def _store(self, connection: sqlite3.Connection, key: bytes, ruling: Ruling) -> None:
        connection.execute(
            "INSERT INTO verdicts (key, ruling) VALUES (?, ?)"
            " ON CONFLICT (key) DO UPDATE SET ruling = excluded.ruling",
            (key, ruling.to_json()),
        )
        self._stored += 1
        if self._stored % PRUNE_EVERY == 0 and self._is_full(connection):
            connection.execute(
                "DELETE FROM verdicts WHERE id IN (SELECT id FROM verdicts ORDER BY id LIMIT ?)",
                (PRUNE_ROWS,),
            )

    def _is_full(self, connection: sqlite3.Connection) -> bool:
        """By the range of ids and the pages in use: both are known without looking at every row."""
        newest, oldest = connection.execute("SELECT max(id), min(id) FROM verdicts").fetchone()
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return bool(newest - oldest >= self._max_rows or (pages - free) * size > self._max_bytes)


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, str]]:
    places = ",".join("?" * len(keys))
    return connection.execute(f"SELECT key, ruling FROM verdicts WHERE key IN ({places})", keys).fetchall()


def _read(text: str) -> Ruling | None:
    """A stored ruling; one that can't be read is as good as none."""
    try:
        return Ruling.from_json(text)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
