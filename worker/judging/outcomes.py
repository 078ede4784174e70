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

#: What somebody can do about an outage.
ADVICE = {
    OutageReason.NETWORK: "check OPENAI_BASE_URL and the network",
    OutageReason.TIMEOUT: "check the endpoint, or raise QUINTET_JUDGE_TIMEOUT",
    OutageReason.RATE_LIMITED: "lower QUINTET_CONCURRENCY or ask the provider for a higher limit",
    OutageReason.SERVER_ERROR: "check the endpoint's own status and logs",
    OutageReason.WRONG_KEY: "check OPENAI_API_KEY",
    OutageReason.UNKNOWN_MODEL: "check QUINTET_MODEL and OPENAI_BASE_URL",
    OutageReason.QUOTA: "add credit to the account or use another key",
    OutageReason.BAD_REQUEST: "it refuses every request: check QUINTET_MODEL and the endpoint's own limits",
}


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
