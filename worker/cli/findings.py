"""What a check of `quintet doctor` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from worker.errors import UserError

#: Seconds that doctor waits for a broker or an endpoint.
WAIT_SECONDS = 10.0
#: Seconds that two clocks may differ: more than a slow answer and a header in whole seconds explain.
CLOCK_TOLERANCE = 10.0


class Health(Enum):
    """How bad it is."""

    GOOD = "good"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """What one check found, and what to do about it."""

    health: Health
    subject: str
    message: str
    next_step: str = ""


def good(subject: str, message: str) -> Finding:
    """Nothing to do."""
    return Finding(Health.GOOD, subject, message)


def broken(subject: str, error: UserError | str, next_step: str = "") -> Finding:
    """A one-line error as a finding: what stands behind its last semicolon is what to do."""
    message, _, advice = str(error).rpartition("; ")
    if next_step or not message:
        return Finding(Health.BROKEN, subject, str(error), next_step)
    return Finding(Health.BROKEN, subject, message, advice)


def clock(whose: str, offset: float) -> Finding:
    """Whether another clock agrees with ours; which of the two is wrong can't be known from here."""
    if abs(offset) <= CLOCK_TOLERANCE:
        return good("clock", f"within {max(1.0, abs(offset)):.0f} s of {whose}")
    direction = "behind" if offset > 0 else "ahead of"
    return Finding(
        Health.BROKEN,
        "clock",
        f"this machine's is {abs(offset):.0f} s {direction} {whose}",
        "set both by NTP, e.g. timedatectl set-ntp true; times and drift are wrong until then",
    )
