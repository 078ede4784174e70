"""What an endpoint's errors mean."""

from __future__ import annotations

import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any, cast

import openai
import pytest

from worker.judging.client import outcome_of, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_the_wish_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_is_a_wish_to_wait_until_then() -> None:
    wait = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})

    assert wait == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("status", "code", "message", "outcome"),
    [
        (400, None, "", "bad_request"),
        (400, "billing_hard_limit_reached", "", "quota"),
        (400, "content_filter", "", "refused"),
        (400, "model_not_found", "", "unknown_model"),
        (401, None, "", "wrong_key"),
        (402, None, "", "quota"),
        (403, None, "", "wrong_key"),
        (404, "DeploymentNotFound", "", "unknown_model"),
        (408, None, "", "timeout"),
        (413, None, "", "bad_request"),
        (422, None, "", "bad_request"),
        (429, None, "", "rate_limited"),
        (429, "insufficient_quota", "", "quota"),
        (429, "rate_limit_exceeded", "Request too large for small: limit 200, requested 500", "bad_request"),
        (500, None, "", "server_error"),
        (503, None, "", "server_error"),
        (529, None, "", "server_error"),
    ],
)
def test_every_status_has_its_meaning(status: int, code: str | None, message: str, outcome: str) -> None:
    error: Any = SimpleNamespace(status_code=status, code=code, type=None, message=message)

    assert outcome_of(cast("openai.APIStatusError", error)) == outcome
