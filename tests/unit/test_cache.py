"""The verdict cache and the file beneath it: useful while it works, harmless when it doesn't."""

# ruff: noqa: ASYNC240 - a test may wait for the disk
from __future__ import annotations

import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from worker.judging.cache import PRUNE_EVERY, PRUNE_ROWS, Ruling, VerdictCache, key_of
from worker.judging.shared_file import BUSY_REST_SECONDS, REST_SECONDS, SharedFile

KEY = key_of("openai", "model", "text")
RULING = Ruling(4, "Gut, klar. 😀", "m-1", 100, 20, (0.0, 0.0, 0.25, 0.5, 0.25))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "verdicts.sqlite"


@pytest.fixture
async def cache(path: Path) -> AsyncIterator[VerdictCache]:
    cache = VerdictCache(path)
    yield cache
    await cache.close()


async def test_what_is_put_is_got_and_nothing_else(cache: VerdictCache) -> None:
    await cache.put(KEY, RULING)
    await cache.put(key_of("other"), Ruling(1, "", "m-2"))

    assert await cache.get([KEY, key_of("unknown")]) == {KEY: RULING}


async def test_a_later_ruling_replaces_an_earlier_one(cache: VerdictCache) -> None:
    await cache.put(KEY, RULING)
    await cache.put(KEY, Ruling(2, "New.", "m-1"))

    assert (await cache.get([KEY]))[KEY].score == 2


def test_keys_differ_by_every_part_and_by_where_parts_end() -> None:
    keys = {
        key_of(*parts) for parts in [("a", "b"), ("ab",), ("a", "b", 0), ("a", "b", 0.0), ("a", "b", False)]
    }

    assert len(keys) == 5


async def test_only_the_owner_can_read_the_file(cache: VerdictCache, path: Path) -> None:
    await cache.put(KEY, RULING)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_several_processes_share_the_file(cache: VerdictCache, path: Path) -> None:
    await cache.put(KEY, RULING)
    other = VerdictCache(path)
    found = await other.get([KEY])
    await other.put(key_of("theirs"), RULING)
    await other.close()

    assert found == {KEY: RULING}
    assert await cache.get([key_of("theirs")]) != {}


async def test_a_ruling_survives_the_sudden_death_of_the_process(path: Path) -> None:
    program = (
        "import asyncio, os, pathlib, signal, sys\n"
        "from worker.judging.cache import Ruling, VerdictCache, key_of\n"
        "async def main():\n"
        "    await VerdictCache(pathlib.Path(sys.argv[1])).put(key_of('k'), Ruling(3, 'x', 'm'))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    died = subprocess.run([sys.executable, "-c", program, str(path)], check=False)  # noqa: ASYNC221
    assert died.returncode == -signal.SIGKILL

    cache = VerdictCache(path)
    assert (await cache.get([key_of("k")]))[key_of("k")].score == 3
    await cache.close()


async def test_the_oldest_go_when_there_are_too_many(path: Path) -> None:
    cache = VerdictCache(path, max_rows=5 * PRUNE_EVERY)
    for number in range(6 * PRUNE_EVERY):
        await cache.put(key_of(number), RULING)
    await cache.close()

    with sqlite3.connect(path) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
    connection.close()
    assert rows == 6 * PRUNE_EVERY - PRUNE_ROWS
    again = VerdictCache(path)
    assert await again.get([key_of(0)]) == {}
    assert await again.get([key_of(6 * PRUNE_EVERY - 1)]) != {}
    await again.close()


async def test_the_oldest_go_when_the_file_is_too_large(path: Path) -> None:
    cache = VerdictCache(path, max_bytes=100_000)
    for number in range(8 * PRUNE_EVERY):
        await cache.put(key_of(number), Ruling(3, "long " * 50, "m"))
    await cache.close()

    assert path.stat().st_size < 8 * PRUNE_EVERY * 250


async def test_a_damaged_file_is_set_aside_and_begun_anew(
    cache: VerdictCache, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)

    await cache.put(KEY, RULING)

    assert await cache.get([KEY]) == {KEY: RULING}
    assert path.with_name("verdicts.sqlite.damaged").read_bytes().startswith(b"this is no database")
    assert len(caplog.records) == 1


async def test_damage_while_in_use_does_no_harm(cache: VerdictCache, path: Path) -> None:
    for number in range(300):
        await cache.put(key_of(number), RULING)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))

    for number in range(300):
        await cache.get([key_of(number)])
    await cache.put(KEY, RULING)

    assert await cache.get([KEY]) == {KEY: RULING}


async def test_a_deleted_file_is_begun_anew(cache: VerdictCache, path: Path) -> None:
    await cache.put(KEY, RULING)
    for file in path.parent.iterdir():
        file.unlink()

    assert await cache.get([KEY]) == {}
    await cache.put(KEY, RULING)

    assert path.exists()
    assert await cache.get([KEY]) == {KEY: RULING}


async def test_a_place_that_can_t_be_written_turns_the_cache_off_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = VerdictCache(tmp_path / "file" / "verdicts.sqlite")
    for _ in range(3):
        await cache.put(KEY, RULING)
        assert await cache.get([KEY]) == {}
    await cache.close()

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_a_locked_file_is_left_alone_for_a_while_and_then_used_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("worker.judging.shared_file.BUSY_SECONDS", 0.05)
    now = 0.0
    file = SharedFile(path, "CREATE TABLE IF NOT EXISTS things (name TEXT)", clock=lambda: now)
    await file.run(lambda connection: None, None)
    locker = sqlite3.connect(path, isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")

    def write(connection: sqlite3.Connection) -> bool:
        connection.execute("INSERT INTO things VALUES ('x')")
        return True

    for _ in range(2):
        assert not await file.run(write, False)
        now += REST_SECONDS + 1
    assert not await file.run(write, False)
    locker.execute("ROLLBACK")
    locker.close()
    assert not await file.run(write, False), "still resting"
    now += 4 * BUSY_REST_SECONDS + 0.1
    assert await file.run(write, False), "busy for the third time: four times the first rest"

    # Once it could be used, a moment's lock costs a moment's rest again.
    locker = sqlite3.connect(path, isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")
    assert not await file.run(write, False)
    locker.execute("ROLLBACK")
    locker.close()
    now += BUSY_REST_SECONDS + 0.1
    assert await file.run(write, False)
    await file.close()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("stored", ["", "{}", "[]", '{"score": 9, "explanation": "", "model": "m"}', "null"])
async def test_a_ruling_that_can_t_be_read_is_as_good_as_none(
    cache: VerdictCache, path: Path, stored: str
) -> None:
    await cache.put(KEY, RULING)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE verdicts SET ruling = ?", (stored,))
    connection.close()

    assert await cache.get([KEY]) == {}


async def test_without_a_file_nothing_is_kept() -> None:
    cache = VerdictCache(None)
    await cache.put(KEY, RULING)

    assert await cache.get([KEY]) == {}
    await cache.close()


async def test_after_closing_nothing_is_kept_and_nothing_fails(path: Path) -> None:
    cache = VerdictCache(path)
    await cache.close()
    await cache.close()
    await cache.put(KEY, RULING)

    assert await cache.get([KEY]) == {}
