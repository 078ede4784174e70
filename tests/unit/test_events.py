"""What is read strictly, what is read leniently, and what a wrong record is told."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.examples import event, product, raw, summary
from worker.errors import Rejection, RejectionReason
from worker.events import Kind, read_summary


@pytest.mark.parametrize("kind", Kind)
def test_a_valid_event_of_each_kind_is_read(kind: Kind) -> None:
    assert read_summary(raw(kind)).kind is kind


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "nothing"),
        (b"{", "cut"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "duplicate keys"),
        (b'{"a": {"b": 1, "b": 1}}', "duplicate keys further in"),
        (b"[" * 10_000 + b"]" * 10_000, "nested too deep"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "objects nested too deep"),
        (b'{"a": ' + b"1" * 1_000_000 + b"}", "a number of a million digits"),
        (b'{"a": "\\ud800"}', "a lone surrogate"),
    ],
)
def test_broken_json_is_rejected_as_such(value: bytes, why: str) -> None:
    with pytest.raises(Rejection) as caught:
        read_summary(value)
    assert caught.value.reason is RejectionReason.INVALID_JSON, why


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"summary_id": ""}, "summary_id"),
        ({"summary_id": "x" * 257}, "summary_id"),
        ({"summary_id": 7}, "summary_id"),
        ({"kind": "essay"}, "kind"),
        ({"summary": " \n "}, "summary"),
        ({"products": []}, "products"),
        ({"products": [product(), product()]}, "products"),
        ({"products": [product(reviews=[])]}, "reviews"),
        ({"products": [product(reviews=[" "])]}, "reviews"),
        ({"kind": "recommendation_explanation", "query": None}, "query"),
        (
            {"kind": "recommendation_explanation", "products": [product(opinion_summary="")]},
            "opinion_summary",
        ),
        ({"kind": "comparative_explanation", "products": [product()]}, "products"),
        ({"schema_version": 2}, "schema_version"),
        ({"generated_at": "2026-11-18T10:00:00"}, "generated_at"),
        ({"products": [product(final_price=float("1e999"))]}, "final_price"),
    ],
)
def test_an_event_that_breaks_the_contract_names_the_field(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(Rejection) as caught:
        summary(**changes)
    assert caught.value.reason is RejectionReason.INVALID_EVENT
    assert named in caught.value.message


def test_a_rejection_never_repeats_the_text_of_the_record() -> None:
    with pytest.raises(Rejection) as caught:
        summary(kind="secret words of a customer")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"schema_version": 1, "unknown_field": {"deep": [1, 2]}},
        {"products": [product(base_price=12.5, final_price="12")]},
        {"products": [product(key_features="one text", specifications="RAM 6 GB")]},
        {"products": [{"reviews": ["good"]}]},
        {"generator": {"name": "g", "version": 3}},
    ],
)
def test_legal_variations_are_read(changes: dict[str, Any]) -> None:
    assert summary(**changes).summary_id == "s-1"


def test_an_absent_schema_version_is_the_first() -> None:
    value = event()
    del value["schema_version"]
    assert read_summary(json.dumps(value)).schema_version == 1


def test_a_structured_cloudevent_is_unwrapped() -> None:
    envelope = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "summary"}
    # Given the event as JSON data, and as base64
    as_json = json.dumps(envelope | {"data": event()})
    as_base64 = json.dumps(envelope | {"data_base64": base64.b64encode(raw()).decode()})
    # Then both are the event itself
    assert read_summary(as_json) == read_summary(as_base64) == read_summary(raw())


def test_a_cloudevent_without_data_is_rejected() -> None:
    with pytest.raises(Rejection, match="CloudEvent without data"):
        read_summary('{"specversion": "1.0", "id": "1"}')
