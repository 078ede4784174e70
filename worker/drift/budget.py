"""What the operator allows: how many false alarms, over how many streams, after how long a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from worker.settings import Settings

#: After this long a smaller baseline will do: a thousand scores at ten a day would be a hundred blind days.
PATIENCE = timedelta(days=7)
ENOUGH_AFTER_PATIENCE = 200

#: The warning may cry wolf this many times as often as the alarm; it pages nobody.
WARNING_SHARE = 10

#: Bounds of the mean distance between false alarms, in scores: below, an alarm is noise whatever was
#: allowed; above, the traffic was measured while old records were being caught up with.
MIN_RUN_LENGTH, MAX_RUN_LENGTH = 1e3, 1e9

DAYS = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """The settings that decide when a stream is watched and how readily it alarms."""

    baseline_size: int = 1000
    false_alarms: float = 1.0
    streams: int = 150
    max_segments: int = 50

    @classmethod
    def of(cls, settings: Settings) -> Budget:
        """As the settings say."""
        return cls(
            settings.baseline_size,
            settings.false_alarms_per_30_days,
            settings.expected_streams,
            settings.max_segments,
        )

    def enough(self, count: int, span: timedelta) -> bool:
        """Whether so many scores over so long make a baseline."""
        if count >= self.baseline_size:
            return True
        return span >= PATIENCE and count >= min(ENOUGH_AFTER_PATIENCE, self.baseline_size)

    def run_length(self, per_day: float) -> float:
        """Scores between false alarms of a stream with this traffic, so that all share the budget."""
        wanted = per_day * DAYS * self.streams / self.false_alarms
        return min(max(wanted, MIN_RUN_LENGTH), MAX_RUN_LENGTH)
