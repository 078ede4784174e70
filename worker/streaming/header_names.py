"""Records whose header names are no text: aiokafka would fail on them for ever, and everything behind them wait.

Clients in C can send any bytes as a header's name. The quick parser can't be told what to do with such a name, so
after the first one this process reads with aiokafka's other parser, the slow one in Python, and shows the bytes that
are no UTF-8 as `\\xff`.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatch, _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy


def accept_any() -> None:
    """From now on no header name is wrong, in this process."""
    fetcher.MemoryRecords = _Records


class _Text(bytearray):
    """Bytes that can always be read."""

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)


class _Buffer(bytearray):
    """Gives out pieces that can always be read."""

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        piece = super().__getitem__(key)
        return _Text(piece) if isinstance(piece, bytearray) else piece


class _Batch(_DefaultRecordBatchPy):  # type: ignore[misc]
    _buffer: Any

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        if not isinstance(self._buffer, _Buffer):
            self._buffer = _Buffer(self._buffer)


class _Records(_MemoryRecordsPy):  # type: ignore[misc]
    def next_batch(self, *args: Any) -> Any:
        whole = self._next_slice
        batch = super().next_batch(*args)
        return _Batch(whole) if isinstance(batch, DefaultRecordBatch) else batch
