"""The demo's alarm over ten seeded streams: in which categories, kinds and metrics it came, and how soon."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.demo_runs import play
from worker.drift.group import ALL

SEEDS = range(1, 11)


def main() -> None:
    for seed in SEEDS:
        progress = play(seed)
        assert progress.worse_from is not None
        alarms = [event for event in progress.alarms.values() if event.segment != ALL]
        categories = sorted({event.segment for event in alarms})
        metrics = sorted({str(event.metric) for event in alarms})
        first = min((event.observations for event in alarms), default=None)
        print(
            f"seed {seed}: {progress.published} summaries, {len(alarms)} alarms in {categories};"
            f" first after {first} summaries; {', '.join(metrics)}"
        )


if __name__ == "__main__":
    main()
