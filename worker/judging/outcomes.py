"""How one request to the endpoint can end: the closed list, and the failure that carries it."""

from __future__ import annotations

from enum import StrEnum

from worker.errors import OutageReason


class CallOutcome(StrEnum):
    """How one request ended; also the values of the telemetry label."""

    OK = "ok"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    CUT = "cut"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    NETWORK = "network"
    SERVER_ERROR = "server_error"
    BAD_REQUEST = "bad_request"
    WRONG_KEY = "wrong_key"
    UNKNOWN_MODEL = "unknown_model"
    QUOTA = "quota"
    UNSUPPORTED = "unsupported"


#: Nobody's request will pass until somebody changes something.
STANDING = frozenset(
    {CallOutcome.WRONG_KEY, CallOutcome.UNKNOWN_MODEL, CallOutcome.QUOTA, CallOutcome.UNSUPPORTED}
)
#: Fewer requests at once may help.
OVERLOAD = frozenset({CallOutcome.RATE_LIMITED, CallOutcome.TIMEOUT})


class Failure(Exception):  # noqa: N818 - whether it is an error is for the gate to decide
    """A request brought no reply; the message names neither secrets nor prompts."""

    def __init__(
        self,
        outcome: CallOutcome,
        message: str,
        *,
        retry_after: float | None = None,
        adapted: bool = False,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        #: Seconds that the endpoint asks to wait.
        self.retry_after = retry_after
        #: The client has changed its parameters: ask again at once.
        self.adapted = adapted

    @property
    def reason(self) -> OutageReason:
        """The outage this failure stands for, if everybody meets it."""
        return OutageReason(self.outcome.value)
