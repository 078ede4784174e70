"""Everything that Quintet raises on purpose.

QuintetError
├── UserError      somebody gave a wrong value, file or option: one line that says what to do
├── Rejection      this record can never be scored: it goes to the rejected topic with a reason
└── Outage         the judge is out of reach for every record: wait, reject nothing
"""

from __future__ import annotations

from enum import StrEnum


class RejectionReason(StrEnum):
    """Why a record was rejected: a closed list, also the values of the telemetry label."""

    INVALID_JSON = "invalid_json"
    INVALID_EVENT = "invalid_event"
    TOO_LARGE = "too_large"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_UNREADABLE = "judge_unreadable"
    JUDGE_BAD_REQUEST = "judge_bad_request"
    DEADLINE_EXCEEDED = "deadline_exceeded"


class OutageReason(StrEnum):
    """Why the judge is out of reach: a closed list, also the values of the telemetry label."""

    NETWORK = "network"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    WRONG_KEY = "wrong_key"
    UNKNOWN_MODEL = "unknown_model"
    QUOTA = "quota"
    BUDGET = "budget"
    BAD_REQUEST = "bad_request"
    UNSUPPORTED = "unsupported"


class QuintetError(Exception):
    """The base of all errors raised here on purpose."""


class UserError(QuintetError):
    """A wrong value, file or option; the message is one line and says what to do."""


class Rejection(QuintetError):  # noqa: N818 - an outcome of a record, not a fault of ours
    """The record can't be scored, now or later."""

    def __init__(
        self, reason: RejectionReason, message: str, *, stage: str = "judge", attempts: int = 0
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.stage = stage
        self.message = message
        self.attempts = attempts


class Outage(QuintetError):  # noqa: N818 - a state of the judge, not a fault of ours
    """The judge can't be reached, or refuses everybody; no record is to blame."""

    def __init__(self, reason: OutageReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
