"""Arbitrary bytes and arbitrary JSON: a summary or a rejection, never anything else."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import event
from worker.errors import Rejection
from worker.events import Kind, read_summary
from worker.rubrics import load_pack

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_fields = [
    "summary_id",
    "kind",
    "summary",
    "query",
    "products",
    "generator",
    "generated_at",
    "schema_version",
]


def _read(value: bytes | str) -> None:
    try:
        summary = read_summary(value)
    except Rejection:
        return
    # Whatever is accepted can also be put before a judge.
    assert len(load_pack().prompts(summary)) == 5


@given(st.binary(max_size=200))
def test_any_bytes(value: bytes) -> None:
    _read(value)


@given(_json)
def test_any_json(value: Any) -> None:
    _read(json.dumps(value))


@given(st.sampled_from(list(Kind)), st.sampled_from(_fields), _json)
def test_any_value_in_any_field(kind: Kind, field: str, value: Any) -> None:
    _read(json.dumps(event(kind) | {field: value}))


@given(st.sampled_from(list(Kind)), st.dictionaries(st.sampled_from([
    "title", "base_price", "final_price", "average_rating", "opinion_summary", "description", "key_features",
    "specifications", "reviews", "ugc_summary"]), _json))  # fmt: skip
def test_any_value_in_any_field_of_a_product(kind: Kind, changes: dict[str, Any]) -> None:
    value = event(kind)
    value["products"] = [one | changes for one in value["products"]]
    _read(json.dumps(value))
