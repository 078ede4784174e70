"""One request to an OpenAI-compatible endpoint: its parameters, and what its errors mean."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient

from worker.judging.completion import Completion, read_completion
from worker.judging.outcomes import CallOutcome, Failure
from worker.settings import Settings

OPENAI = "https://api.openai.com/v1"
Message = Mapping[str, str]

#: Tokens a reply may have; generous, since a cut reply is paid for twice.
ROOM = 1500
PROBE: Sequence[Message] = ({"role": "user", "content": "Reply with OK."},)
#: Connections that the client opens at most.
MAX_CONNECTIONS = 1000
#: Alternatives asked for at each token: what OpenAI allows at most.
TOP_LOGPROBS = 20

_BY_STATUS = {
    401: CallOutcome.WRONG_KEY,
    402: CallOutcome.QUOTA,
    403: CallOutcome.WRONG_KEY,
    404: CallOutcome.UNKNOWN_MODEL,
    408: CallOutcome.TIMEOUT,
    409: CallOutcome.SERVER_ERROR,
    425: CallOutcome.SERVER_ERROR,
    429: CallOutcome.RATE_LIMITED,
}
_BY_CODE = {
    "insufficient_quota": CallOutcome.QUOTA,
    "billing_hard_limit_reached": CallOutcome.QUOTA,
    "invalid_api_key": CallOutcome.WRONG_KEY,
    "model_not_found": CallOutcome.UNKNOWN_MODEL,
    "context_length_exceeded": CallOutcome.BAD_REQUEST,
    "content_filter": CallOutcome.REFUSED,
    "content_policy_violation": CallOutcome.REFUSED,
}
#: Words of a 400 that speaks of the prompt's length, though it may name a parameter.
_TOO_LONG = re.compile(r"context (?:length|window|size)|too (?:large|long)|maximum context", re.IGNORECASE)


@dataclass(frozen=True)
class Parameters:
    """What is sent beside the messages; a model's refusal takes pieces away."""

    temperature: float | None
    #: Newer models want another name for the same limit; None sends no limit.
    room_name: str | None
    logprobs: bool

    def fields(self, room: int) -> dict[str, object]:
        """The fields of the request's body."""
        fields: dict[str, object] = {}
        if self.temperature is not None:
            fields["temperature"] = self.temperature
        if self.room_name is not None:
            fields[self.room_name] = room
        if self.logprobs:
            fields |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return fields


class ChatClient:
    """Sends messages, one request each: retrying is the gate's business."""

    def __init__(self, settings: Settings) -> None:
        self._model = settings.model
        self._timeout = settings.judge_timeout
        address = urlsplit(settings.openai_base_url or OPENAI)
        self._host = address.hostname or "the endpoint"
        own_server = not self._host.endswith("openai.com")
        room_name = "max_tokens" if own_server else "max_completion_tokens"
        self._tried_room_names = {room_name}
        self._parameters = Parameters(settings.effective_temperature, room_name, settings.logprobs)
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
        self._client = AsyncOpenAI(
            api_key=key or "none",
            base_url=address._replace(netloc=address.netloc.rpartition("@")[2]).geturl(),
            max_retries=0,
            timeout=settings.judge_timeout,
            default_headers={} if key else _basic_authorization(address),
            http_client=DefaultAioHttpClient(),
        )

    async def ask(self, messages: Sequence[Message], room: int = ROOM) -> Completion:
        """One request; a Failure where no completion came back."""
        parameters = self._parameters
        body = {"model": self._model, "messages": messages, **parameters.fields(room)}
        try:
            # The client's own limit is per read: a server that trickles would never meet it.
            async with asyncio.timeout(self._timeout):
                answer = await self._client.post("/chat/completions", cast_to=object, body=body)
        except openai.APIStatusError as error:
            failure = self._refused(error, parameters)
            if failure.outcome is CallOutcome.REFUSED:
                return Completion(text="", model=self._model, finish="content_filter", refused=True)
            raise failure from error
        except (OSError, openai.APIError, aiohttp.ClientError) as error:
            raise self._unanswered(error) from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Failure(CallOutcome.SERVER_ERROR, "the endpoint's answer is not JSON") from error
        return read_completion(answer, self._model)

    async def probe(self) -> Completion:
        """A tiny request with the usual parameters: does the endpoint answer anybody?"""
        return await self.ask(PROBE)

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()

    def require_logprobs(self, completion: Completion) -> None:
        """A Failure where log probabilities were asked for and did not come."""
        wanted = self._parameters.logprobs and completion.text and not completion.refused
        if wanted and completion.tokens is None:
            raise _no_logprobs()

    def _refused(self, error: openai.APIStatusError, sent: Parameters) -> Failure:
        """What an error status means, for the record or for everybody."""
        outcome = outcome_of(error)
        if outcome is CallOutcome.BAD_REQUEST and not _TOO_LONG.search(error.message):
            adapted = self._adapt(error, sent)
            if adapted is not None:
                return adapted
        code = re.sub(r"[^\w.-]", "", str(error.code or error.type or ""))[:64]
        named = f"{error.status_code} {code}".strip()
        return Failure(
            outcome, f"{self._host} answers {named}", retry_after=retry_after(error.response.headers)
        )

    def _adapt(self, error: openai.APIStatusError, sent: Parameters) -> Failure | None:
        """Leave out or rename the parameter that the model refuses, once and for all."""
        about = error.param or error.message
        if "logprobs" in about and sent.logprobs:
            return _no_logprobs()
        better = self._without_refused(about, sent)
        if better is None:
            return None
        if self._parameters == sent:
            self._parameters = better
        return Failure(CallOutcome.BAD_REQUEST, "the model refuses a parameter", adapted=True)

    def _without_refused(self, about: str, sent: Parameters) -> Parameters | None:
        if "temperature" in about and sent.temperature is not None:
            return replace(sent, temperature=None)
        if sent.room_name is not None and ("max_tokens" in about or "max_completion_tokens" in about):
            untried = {"max_tokens", "max_completion_tokens"} - self._tried_room_names
            self._tried_room_names |= untried
            return replace(sent, room_name=next(iter(untried), None))
        return None

    def _unanswered(self, error: Exception) -> Failure:
        if isinstance(error, TimeoutError) or _timed_out(error):
            return Failure(CallOutcome.TIMEOUT, f"{self._host} gave no answer within {self._timeout:g} s")
        return Failure(CallOutcome.NETWORK, f"{self._host} can't be reached")


def outcome_of(error: openai.APIStatusError) -> CallOutcome:
    """What an error status means."""
    outcome = _BY_CODE.get(error.code or "") or _BY_CODE.get(str(error.type or ""))
    if outcome is not None:
        return outcome
    if error.status_code == 429 and _TOO_LONG.search(error.message):
        # Larger than the whole minute's allowance: it will never pass, whatever the others do.
        return CallOutcome.BAD_REQUEST
    if error.status_code >= 500:
        return CallOutcome.SERVER_ERROR
    return _BY_STATUS.get(error.status_code, CallOutcome.BAD_REQUEST)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the endpoint asks to wait: milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if not value:
            return None
        if re.fullmatch(r"\s*[\d.]+\s*", value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _basic_authorization(address: SplitResult) -> dict[str, str]:
    """The name and password of a base URL as a header: the transport can't send them beside a key."""
    if not address.username:
        return {}
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _timed_out(error: BaseException) -> bool:
    """Whether a time-out is at the root: the transport calls a dropped connection one, too."""
    if not isinstance(error, openai.APITimeoutError):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        if isinstance(cause, aiohttp.ClientError):
            return False
        cause = cause.__cause__
    return True


def _no_logprobs() -> Failure:
    return Failure(
        CallOutcome.UNSUPPORTED,
        "endpoint gives no logprobs; unset QUINTET_LOGPROBS or use QUINTET_SAMPLES",
    )
