"""One partition of the scores: its groups, what it has read, and what is to be stored. No Kafka here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from worker.drift.budget import Budget
from worker.drift.group import Group
from worker.drift.snapshot import take_changed
from worker.drift.verdict import JudgeShift
from worker.events import DriftChanged, DriftState, Metric, MetricScored
from worker.monitoring.commands import Accept, Command, ReferencesJudged, WantReferences
from worker.monitoring.states import (
    Position,
    StoredState,
    group_record,
    ids_record,
    position_record,
    references_record,
)
from worker.pipeline import SEGMENT_MAX_CHARACTERS

#: The judge's latest shift by metric, or None where there is no reference set.
Shifts = Mapping[Metric, JudgeShift] | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What goes out in one transaction: state, events, and word to the other monitors."""

    state: list[tuple[bytes, bytes]]
    events: list[DriftChanged]
    commands: list[Command]


class PartitionMonitor:
    """Takes scores and commands in order; gives what has changed since it was last asked."""

    def __init__(self, number: int, stored: StoredState, budget: Budget, position: Position) -> None:
        self.number = number
        self.position = position
        self.groups = stored.groups
        self.references = stored.references
        #: Records of the input that were no scores.
        self.unreadable = 0
        self._budget = budget
        self._ids = stored.ids
        self._events: list[DriftChanged] = []
        self._commands: list[Command] = []
        self._dirty = False

    def take(self, offset: int, value: bytes | None, shifts: Shifts) -> None:
        """Take one record of the input; what was taken before is passed over."""
        if offset < self.position.offset:
            return
        self.position.offset, self._dirty = offset + 1, True
        try:
            score = MetricScored.model_validate_json(value or b"")
        except ValidationError:
            self.unreadable += 1
            return
        if not self._ids.add(score.event_id):
            return
        group = self._group(score)
        events = group.observe(_with_short_segment(score), self._budget)
        if events:
            self._react(group, events, shifts, score.scored_at)

    def obey(self, partition: int, offset: int, command: Command) -> None:
        """Take one record of the control topic."""
        if offset < self.position.control.get(partition, 0):
            return
        self.position.control[partition], self._dirty = offset + 1, True
        match command:
            case Accept():
                group = self.groups.get((command.kind, command.metric))
                if group is not None:
                    self._events += group.accept(command.segment, command.at, self._budget)
            case ReferencesJudged():
                self._settle(command)

    def note_references(self, memory: bytes, judged: ReferencesJudged) -> None:
        """Keep what a pass over the reference set gave, and tell everybody."""
        self.references, self._dirty = memory, True
        self._commands.append(judged)

    def ask_again(self, at: datetime) -> None:
        """After taking over: alarms that still wait for their verdict ask once more."""
        for group in self.groups.values():
            self._ask_for_pending(group, "an alarm waits", at)

    @property
    def dirty(self) -> bool:
        """Whether anything is to be stored."""
        return self._dirty

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for what is to be stored."""
        return bool(self._events or self._commands)

    def checkpoint(self) -> Checkpoint:
        """Everything since the last one; whoever takes it must store it, or load the partition anew."""
        state = [
            group_record(self.number, name, part, value)
            for name, group in sorted(self.groups.items())
            for part, value in take_changed(group).items()
        ]
        state += [ids_record(self.number, slot, page) for slot, page in self._ids.take_changed().items()]
        if self.references is not None and self._commands:
            state.append(references_record(self.number, self.references))
        # Last, and in the same transaction: it says what the others include.
        state.append(position_record(self.number, self.position))
        taken = Checkpoint(state, self._events, self._commands)
        self._events, self._commands, self._dirty = [], [], False
        return taken

    def _group(self, score: MetricScored) -> Group:
        name = (score.kind, score.metric)
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(*name)
        return group

    def _react(self, group: Group, events: list[DriftChanged], shifts: Shifts, at: datetime) -> None:
        """Find the verdict where it can be found at once, and ask for the references where it can't."""
        if any(_is_open(event) for event in events):
            if shifts is None:
                events = events + group.settle(None, at)
            elif (shift := shifts.get(group.metric)) is not None:
                events = events + group.settle(shift, at)
        self._events += events
        wanting = next((event for event in reversed(events) if _wants_references(event)), None)
        if wanting is not None and shifts is not None:
            self._ask(wanting.judge_model, wanting.reason, wanting.at)

    def _settle(self, judged: ReferencesJudged) -> None:
        """Give waiting alarms their verdict; one that began after this pass did asks for another."""
        for (_, metric), group in sorted(self.groups.items()):
            if metric in judged.shifts:
                self._events += group.settle(judged.shifts[metric], judged.at)
                self._ask_for_pending(group, "an alarm is younger than the references", judged.at)

    def _ask_for_pending(self, group: Group, reason: str, at: datetime) -> None:
        for pending in group.pending():
            self._ask(pending.judge_model, reason, at)

    def _ask(self, judge_model: str, reason: str, at: datetime) -> None:
        """Once is enough until it is sent."""
        if not any(isinstance(command, WantReferences) for command in self._commands):
            self._commands.append(WantReferences(judge_model=judge_model, reason=reason, at=at))
            self._dirty = True


def _with_short_segment(score: MetricScored) -> MetricScored:
    """As the contract bounds it; longer ones, from whoever writes them, would go into every key and label."""
    if len(score.segment) <= SEGMENT_MAX_CHARACTERS:
        return score
    return score.model_copy(update={"segment": score.segment[:SEGMENT_MAX_CHARACTERS]})


def _is_open(event: DriftChanged) -> bool:
    return event.state is DriftState.ALARM and event.verdict is None


def _wants_references(event: DriftChanged) -> bool:
    """A stream that may be falling, or one with a judge whose references may never have been judged."""
    new_judge = event.state is DriftState.LEARNING and event.previous_state is not None
    return event.state is DriftState.WARNING or _is_open(event) or new_judge
