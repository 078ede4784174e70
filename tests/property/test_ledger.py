"""The ledger, whatever order things happen in."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from worker.streaming.ledger import MAX_DISTANCE, SPAN, Commit, PartitionLedger, decode, encode

BROKER_METADATA_LIMIT = 4096


class OnePartition(RuleBasedStateMachine):
    """A partition with gaps, a broker that remembers commits, and workers that come and go."""

    @initialize(gaps=st.lists(st.integers(1, 4), min_size=1, max_size=40), tail=st.integers(0, 3))
    def make(self, gaps: list[int], tail: int) -> None:
        self.log: list[int] = []
        offset = -1
        for gap in gaps:
            offset += gap
            self.log.append(offset)
        self.end = offset + 1 + tail
        self.committed: Commit | None = None
        self.published: list[int] = []
        self.generation = 0
        self.ledger = PartitionLedger()
        self.running: set[int] = set()
        self.delivered: list[tuple[int, int]] = []
        self.assign()

    def assign(self) -> None:
        self.generation += 1
        commit = self.committed
        self.ledger.assign(
            self.generation, commit.offset if commit else None, commit.metadata if commit else ""
        )
        self.position = commit.offset if commit else 0
        self.highest_committed_here = -1

    @rule(count=st.integers(1, 6))
    def read(self, count: int) -> None:
        batch = [offset for offset in self.log if offset >= self.position][:count]
        rest = [offset for offset in self.log if offset >= self.position][count:]
        self.position = batch[-1] + 1 if rest and batch else self.end
        self.ledger.read(batch, self.position)
        self.delivered += [(offset, self.generation) for offset in batch]

    @precondition(lambda self: self.delivered)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.delivered) - 1))
        offset, generation = self.delivered.pop(index)
        if self.ledger.start(offset, generation):
            assert offset not in self.running
            self.running.add(offset)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(offset)
        self.published.append(offset)
        self.ledger.finish(offset)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(offset)
        self.ledger.abandon(offset)
        # Whoever gives up a record has to see it again: the same worker only after a rebalance.
        self.rebalance()

    @rule(taken=st.booleans())
    def commit(self, taken: bool) -> None:
        commit = self.ledger.next_commit()
        if commit is not None and taken:
            self.committed = commit
            self.ledger.confirm(commit)

    @rule()
    def deliver_again(self) -> None:
        """The consumer seeks back to what is committed within one generation."""
        commit = self.committed
        self.ledger.assign(
            self.generation, commit.offset if commit else None, commit.metadata if commit else ""
        )
        self.position = commit.offset if commit else 0

    @rule()
    def rebalance(self) -> None:
        """Away and back again; what is under way goes on."""
        self.ledger.close()
        self.assign()

    @rule()
    def crash(self) -> None:
        self.ledger = PartitionLedger()
        self.running = set()
        self.delivered = []
        self.assign()

    @invariant()
    def never_past_an_unfinished_record(self) -> None:
        if getattr(self, "committed", None) is None:
            return
        assert self.committed is not None
        lost = [offset for offset in self.log if offset < self.committed.offset]
        assert set(lost) <= set(self.published)
        noted = decode(self.committed.offset, self.committed.metadata)
        assert noted <= set(self.published)

    def teardown(self) -> None:
        """However it went, the rest is worked off and the end is reached."""
        if not hasattr(self, "log"):
            return
        self.delivered = []
        self.rebalance()
        while self.position < self.end:
            self.read(6)
        for offset, generation in self.delivered:
            if self.ledger.start(offset, generation):
                self.running.add(offset)
        for offset in list(self.running):
            self.published.append(offset)
            self.ledger.finish(offset)
        self.commit(True)
        assert self.committed is not None
        assert self.committed == Commit(self.end, "")
        assert set(self.published) >= set(self.log)


TestOnePartition = OnePartition.TestCase
TestOnePartition.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


@given(base=st.integers(0, 2**62), distances=st.sets(st.integers(0, SPAN - 1), max_size=400))
def test_finished_offsets_survive_the_metadata(base: int, distances: set[int]) -> None:
    finished = {base + distance for distance in distances}
    metadata = encode(base, finished)
    assert decode(base, metadata) == finished
    assert len(metadata) <= BROKER_METADATA_LIMIT


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_the_worst_mask_fits_into_a_commit(seed: int) -> None:
    base = 2**62
    coin = random.Random(seed)
    finished = {base + distance for distance in range(SPAN) if coin.random() < 0.5}
    metadata = encode(base, finished)
    assert len(metadata) <= BROKER_METADATA_LIMIT
    assert decode(base, metadata) == finished


@given(base=st.integers(0, 10**9), metadata=st.text(max_size=200))
def test_somebody_elses_metadata_is_ignored(base: int, metadata: str) -> None:
    assert decode(base, metadata) == set()


@given(cut=st.integers(0, 30), position=st.integers(0, 60), character=st.characters(codec="ascii"))
def test_damaged_metadata_is_ignored_or_bounded(cut: int, position: int, character: str) -> None:
    base = 1000
    metadata = encode(base, range(base, base + 300, 3))
    damaged = metadata[:position] + character + metadata[position + 1 : len(metadata) - cut]
    assert all(base <= offset < base + SPAN for offset in decode(base, damaged))


def test_metadata_of_another_offset_is_ignored() -> None:
    assert decode(11, encode(10, {12})) == set()


def test_a_rewound_group_starts_over() -> None:
    ledger = PartitionLedger()
    ledger.assign(1, 0)
    ledger.read([0, 1, 2], 3)
    for offset in (0, 1, 2):
        assert ledger.start(offset, 1)
        ledger.finish(offset)
    commit = ledger.next_commit()
    assert commit == Commit(3, "")
    ledger.confirm(commit)
    ledger.assign(2, 0)
    ledger.read([0, 1, 2], 3)
    assert ledger.start(1, 2)


def test_a_record_under_way_is_joined_after_a_rebalance() -> None:
    ledger = PartitionLedger()
    ledger.assign(1, None)
    ledger.read([0, 1], 2)
    assert ledger.start(0, 1)
    ledger.close()
    assert ledger.watermark is None
    ledger.assign(2, None)
    ledger.read([0, 1], 2)
    assert not ledger.start(0, 2)
    ledger.finish(0)
    assert ledger.watermark == 1


def test_a_stale_delivery_is_left_alone() -> None:
    ledger = PartitionLedger()
    ledger.assign(1, None)
    ledger.read([0], 1)
    ledger.assign(2, None)
    assert not ledger.start(0, 1)
    assert not ledger.start(0, 2)


def test_a_record_too_far_above_the_watermark_has_to_wait() -> None:
    ledger = PartitionLedger()
    ledger.assign(1, 0)
    ledger.read(range(MAX_DISTANCE + 2), MAX_DISTANCE + 2)
    assert not ledger.is_too_far(MAX_DISTANCE - 1)
    assert ledger.is_too_far(MAX_DISTANCE)
    assert ledger.start(0, 1)
    ledger.finish(0)
    assert not ledger.is_too_far(MAX_DISTANCE)
