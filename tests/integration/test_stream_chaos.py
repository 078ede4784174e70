"""The short version of `make chaos`."""

from __future__ import annotations

from pathlib import Path

from tests.chaos import Chaos, table
from worker.streaming.broker import Broker


def test_nothing_is_lost_in_ninety_seconds_of_chaos(broker: Broker, tmp_path: Path) -> None:
    rows = Chaos(tmp_path, 90, plain=False, seed=7).run()
    print(table(rows))
    assert all(row.ok for row in rows), table(rows)
