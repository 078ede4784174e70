"""One stream under one judge: learning, ok, warning, alarm, and back.

```
learning ──► ok ◄──► warning ──► alarm      ok and warning may go to alarm; alarm and warning go back to ok
   │  ▲       ▲                    │        only when the mirrored test says so, or by being accepted
   ▼  │       └────────────────────┘
unwatchable (learns again until it can be watched)
```
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from worker.drift.baseline import Baseline, Learning, Level, recovery_for
from worker.drift.budget import Budget
from worker.drift.excursion import Climb, Recovery
from worker.drift.grid import Cells, value_of
from worker.events import DriftChanged, DriftState, DriftVerdict

#: Scores that "current" means, where nothing has been found.
WINDOW = 200


@dataclass(frozen=True, slots=True)
class Change:
    """A detector's state is no longer what it was."""

    previous: DriftState | None
    reason: str


@dataclass(slots=True)
class Detector:
    """Everything known about one stream as one judge scores it."""

    rubric: str
    judge_model: str
    #: The event_id of its first score: tells it from an earlier detector of the same name that was dropped.
    born: str
    state: DriftState = DriftState.LEARNING
    learning: Learning | None = field(default_factory=Learning)
    baseline: Baseline | None = None
    warning: Climb = field(default_factory=Climb)
    alarm: Climb = field(default_factory=Climb)
    recovery: Recovery | None = None
    #: Scores since the alarm's walk last stood at zero, at most a baseline's worth: the seed of an
    #: accepted baseline.
    risen: Cells = field(default_factory=bytearray)
    window: Cells = field(default_factory=bytearray)
    observations: int = 0
    #: How many baselines it has had.
    epoch: int = 0
    #: How many scores its stream had seen when this one was last seen.
    last_seen: int = 0
    verdict: DriftVerdict | None = None
    #: The event that announced the alarm which stands; its verdict is announced with the same figures.
    standing: DriftChanged | None = None

    def observe(self, cell: int, at: datetime, summary_id: str, budget: Budget) -> Change | None:
        """Take one score; say so if that changes the state."""
        self.observations += 1
        window = self.window
        window.append(cell)
        if len(window) > WINDOW:
            del window[0]
        if self.learning is not None:
            return self._learn(cell, at, budget)
        baseline = self.baseline
        assert baseline is not None and baseline.warning is not None and baseline.alarm is not None
        if self.state is DriftState.ALARM:
            return self._stand(baseline.alarm, cell, at, summary_id, budget)
        return self._watch(baseline.warning, baseline.alarm, cell, at, summary_id, budget)

    def accept(self, budget: Budget) -> Change | None:
        """Take the present level for usual: learn anew, from the scores since the change point on."""
        if self.learning is not None:
            return None
        previous = self.state
        learning = Learning(self.risen, self.alarm.count, self.alarm.since, self.alarm.until)
        self._settle()
        self.learning, self.state = learning, DriftState.LEARNING
        if not learning.ready(budget):
            have = f"{len(learning.cells)} of {budget.baseline_size} scores"
            return Change(previous, f"accepted: learning a new baseline, {have} since the change point")
        self._freeze(budget)
        return Change(previous, f"accepted: {self._in_words()}")

    @property
    def standing_climb(self) -> Climb | None:
        """What was found, while it stands."""
        if self.state is DriftState.ALARM:
            return self.alarm
        return self.warning if self.state is DriftState.WARNING else None

    @property
    def level(self) -> Level | None:
        """The level whose statistic is shown: the warning's, or the alarm's where that stands."""
        if self.baseline is None or self.learning is not None:
            return None
        return self.baseline.alarm if self.state is DriftState.ALARM else self.baseline.warning

    @property
    def height(self) -> int:
        """The shown statistic, in the units of its level's walk."""
        return self.alarm.height if self.state is DriftState.ALARM else self.warning.height

    @property
    def current_mean(self) -> float | None:
        """Mean since the change point while something stands, else of the latest scores."""
        climb = self.standing_climb
        if climb is not None:
            return climb.mean
        return value_of(sum(self.window) / len(self.window)) if self.window else None

    def _learn(self, cell: int, at: datetime, budget: Budget) -> Change | None:
        assert self.learning is not None
        self.learning.add(cell, at)
        if not self.learning.ready(budget):
            return None
        previous = self.state
        self._freeze(budget)
        # Still too low to watch is no news.
        return None if self.state is previous else Change(previous, self._in_words())

    def _freeze(self, budget: Budget) -> None:
        assert self.learning is not None
        self.baseline = self.learning.freeze(budget)
        self.epoch += 1
        if self.baseline.alarm is None:
            # Watched as soon as a later stretch is good enough to fall; until then only floors can tell.
            self.state, self.learning = DriftState.UNWATCHABLE, Learning()
        else:
            self.state, self.learning = DriftState.OK, None

    def _watch(
        self, warning: Level, alarm: Level, cell: int, at: datetime, summary_id: str, budget: Budget
    ) -> Change | None:
        previous = self.state
        risen = self.alarm.add(alarm.walk, cell, at, summary_id)
        self._collect(cell, budget)
        if previous is DriftState.OK:
            warned = self.warning.add(warning.walk, cell, at, summary_id) >= warning.threshold
        else:
            warned = False
            self.warning.hold(warning.walk, cell, at, summary_id)
        if risen >= alarm.threshold:
            return self._find(DriftState.ALARM, alarm)
        if warned:
            return self._find(DriftState.WARNING, warning)
        if self.recovery is not None and self.recovery.add(cell):
            self._settle()
            return Change(previous, "the scores are back at the baseline")
        return None

    def _stand(self, alarm: Level, cell: int, at: datetime, summary_id: str, budget: Budget) -> Change | None:
        assert self.recovery is not None
        self.alarm.hold(alarm.walk, cell, at, summary_id)
        self._collect(cell, budget)
        if not self.recovery.add(cell):
            return None
        self._settle()
        return Change(DriftState.ALARM, "the scores are back at the baseline")

    def _collect(self, cell: int, budget: Budget) -> None:
        if self.alarm.count == 0:
            if self.risen:
                self.risen = bytearray()
            return
        self.risen.append(cell)
        if len(self.risen) > budget.baseline_size:
            del self.risen[0]

    def _find(self, state: DriftState, level: Level) -> Change:
        assert self.baseline is not None
        previous, self.state = self.state, state
        self.recovery = Recovery(*recovery_for(self.baseline, level))
        climb = self.standing_climb
        assert climb is not None and climb.mean is not None
        drop = self.baseline.mean - climb.mean
        return Change(previous, f"{drop:.2f} below the baseline over the last {climb.count} scores")

    def _settle(self) -> None:
        self.state = DriftState.OK
        self.warning, self.alarm, self.recovery = Climb(), Climb(), None
        self.risen = bytearray()
        self.verdict, self.standing = None, None

    def _in_words(self) -> str:
        assert self.baseline is not None
        learned = f"baseline {self.baseline.mean:.2f} learned from {self.baseline.size} scores"
        if self.state is DriftState.UNWATCHABLE:
            return f"{learned}: too low to fall further, so a drop can't be watched for"
        if self.baseline.inflation > 1:
            learned += (
                f", clustered: worth {self.baseline.size / self.baseline.inflation:.0f} independent ones"
            )
        return learned
