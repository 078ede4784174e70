"""Lines of a file or of standard input, read ahead in a thread and in bounded memory."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from worker.errors import UserError

STANDARD_INPUT = "-"

#: Lines waiting to be worked on; enough to keep the workers busy, too few to fill the memory.
_READ_AHEAD = 64


@dataclass(frozen=True)
class Line:
    """One line, its number, and how many bytes of the file are behind it."""

    number: int
    value: bytes
    position: int


def open_input(name: str) -> BinaryIO:
    """The file, or standard input for `-`."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input is closed; name a file, or pipe lines into the command")
        # A reader of its own: at exit the interpreter closes sys.stdin, and would fail to while a thread
        # of ours is still waiting in it.
        return open(os.dup(sys.stdin.fileno()), "rb")  # noqa: PTH123
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}; name a JSONL file, or - for standard input") from None


def input_size(name: str) -> int | None:
    """How many bytes there are to read, where that can be known."""
    path = Path(name)
    return path.stat().st_size if name != STANDARD_INPUT and path.is_file() else None


async def read_lines(source: BinaryIO, longest: int) -> AsyncIterator[Line]:
    """Non-blank lines; of one longer than `longest` only so much is kept that its length shows.

    Closes the source at its end.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Line | BaseException | None] = asyncio.Queue(_READ_AHEAD)
    stopped = threading.Event()

    def put(item: Line | BaseException | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def read() -> None:
        try:
            for line in _lines(source, longest):
                if stopped.is_set():
                    return
                put(line)
            put(None)
        except BaseException as error:
            if not stopped.is_set():
                put(error)
        finally:
            # Only here: closing from outside would wait for a read that may never come back.
            source.close()

    # A daemon: a read that blocks on a silent pipe must not hold up Ctrl-C.
    threading.Thread(target=read, name="quintet-reader", daemon=True).start()
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, BaseException):
                raise UserError(f"reading failed: {item}") from item
            yield item
    finally:
        stopped.set()


def _lines(source: BinaryIO, longest: int) -> Iterator[Line]:
    number = position = 0
    while piece := source.readline(longest + 2):
        number += 1
        position += len(piece)
        value = piece
        while piece and not piece.endswith(b"\n"):
            piece = source.readline(longest + 2)
            position += len(piece)
        if number == 1:
            value = value.removeprefix(codecs.BOM_UTF8)
        if value.strip():
            yield Line(number, value.rstrip(b"\r\n"), position)
