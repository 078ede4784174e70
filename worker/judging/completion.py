"""The endpoint's JSON, of whatever make, as a completion; anything else is a fault of the server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.judging.outcomes import CallOutcome, Failure
from worker.judging.reply import Token


@dataclass(frozen=True)
class Usage:
    """Tokens that a reply was billed for; `cached` is part of `prompt`."""

    prompt: int
    cached: int
    completion: int


@dataclass(frozen=True)
class Completion:
    """What came back for one request."""

    text: str
    model: str
    finish: str
    refused: bool = False
    usage: Usage | None = None
    #: None where the endpoint gave no log probabilities.
    tokens: tuple[Token, ...] | None = None

    @property
    def cut(self) -> bool:
        """Whether the room for the reply ran out."""
        return self.finish == "length"


def read_completion(body: object, requested_model: str) -> Completion:
    """A parsed body as a completion; missing pieces are tolerated, a wrong shape is not."""
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        raise _malformed()
    choice = body["choices"][0] if body["choices"] else {"message": {}}
    if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
        raise _malformed()
    message = choice["message"]
    finish = str(choice.get("finish_reason") or "stop")
    model = body.get("model")
    return Completion(
        text=_text(message.get("content")),
        model=model if isinstance(model, str) and model else requested_model,
        finish=finish,
        refused=bool(message.get("refusal")) or finish == "content_filter",
        usage=_usage(body.get("usage")),
        tokens=_tokens(choice.get("logprobs")),
    )


def _text(content: Any) -> str:
    """The text of a message; some endpoints send it in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    details = value.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    prompt = _count(value.get("prompt_tokens"))
    return Usage(prompt, min(cached, prompt), _count(value.get("completion_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _tokens(value: Any) -> tuple[Token, ...] | None:
    """The log probabilities with their alternatives, or None if there are none."""
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, list) or not content:
        return None
    try:
        tokens = tuple(
            Token(*_pair(token), others=tuple(_pair(other) for other in token["top_logprobs"]))
            for token in content
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return tokens if any(token.others for token in tokens) else None


def _pair(token: Mapping[str, Any]) -> tuple[bytes, float]:
    logprob = float(token["logprob"])
    data = bytes(token["bytes"]) if token.get("bytes") else token["token"].encode("utf-8", "surrogatepass")
    return data, logprob if not math.isnan(logprob) else -math.inf


def _malformed() -> Failure:
    return Failure(CallOutcome.SERVER_ERROR, "the endpoint's answer is not a chat completion")
