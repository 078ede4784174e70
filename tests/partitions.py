"""A partition of the monitor without Kafka: scores in, checkpoints kept in a dictionary, a restart from them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.drift_scores import SMALL
from worker.drift.budget import Budget
from worker.events import DriftChanged, MetricScored
from worker.monitoring.commands import Command
from worker.monitoring.partition import PartitionMonitor, Shifts
from worker.monitoring.states import Position, stored_state


class Shelf:
    """Stands for one partition of the topics: what was stored, what was sent, and the monitor of now."""

    def __init__(self, *, number: int = 0, budget: Budget = SMALL) -> None:
        self.number, self._budget = number, budget
        self.records: dict[bytes, bytes] = {}
        self.events: list[DriftChanged] = []
        self.commands: list[Command] = []
        self._offset = 0
        self.restart()

    def restart(self) -> None:
        """Another monitor takes over from what is stored; what was not is forgotten."""
        stored = stored_state(self.number, self.records)
        self.monitor = PartitionMonitor(self.number, stored, self._budget, stored.position or Position())

    def publish(self, scores: Iterable[MetricScored], shifts: Shifts = None) -> None:
        """Scores at the next offsets."""
        for score in scores:
            self.monitor.take(self._offset, score.model_dump_json().encode(), shifts)
            self._offset += 1

    def store(self) -> None:
        """One transaction."""
        taken = self.monitor.checkpoint()
        self.records |= dict(taken.state)
        self.events += taken.events
        self.commands += taken.commands
