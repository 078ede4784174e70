"""Rejected records: how many of each reason within a day, and the latest ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from worker.console.minutes import Day
from worker.errors import RejectionReason
from worker.streaming.rejected import RejectedRecord

#: Rejected records that are listed.
LATEST = 100
KEY_CHARACTERS, MESSAGE_CHARACTERS = 80, 300

REASONS = tuple(RejectionReason)


@dataclass(frozen=True, slots=True)
class Refused:
    """One rejected record, without its contents."""

    at_ms: int
    reason: str
    message: str
    key: str
    source: str
    replays: int


class Rejections:
    """Counts and the latest."""

    def __init__(self) -> None:
        self._day = Day(len(REASONS))
        self.latest: deque[Refused] = deque(maxlen=LATEST)

    def take(self, record: RejectedRecord, now: float) -> None:
        """Count one record; one with a reason that is none of ours was not rejected by us."""
        reason, failed_at = record.error("reason"), record.failed_at
        if reason not in REASONS or failed_at is None:
            return
        at = min(failed_at.timestamp(), now)
        self._day.add(int(at // 60), [int(known == reason) for known in REASONS])
        where = "/".join(record.error(name) or "?" for name in ("topic", "partition", "offset"))
        self.latest.append(
            Refused(
                at_ms=int(at * 1000),
                reason=reason,
                message=record.error("message")[:MESSAGE_CHARACTERS],
                key=(record.key or b"").decode("utf-8", "replace")[:KEY_CHARACTERS],
                source=where[:300],
                replays=record.replays,
            )
        )

    def by_reason(self, now: float) -> dict[str, int]:
        """How many within 24 hours, the most frequent first."""
        counts = self._day.until(int(now // 60)).sum(axis=1)
        found = {str(reason): int(count) for reason, count in zip(REASONS, counts, strict=True) if count}
        return dict(sorted(found.items(), key=lambda item: -item[1]))
