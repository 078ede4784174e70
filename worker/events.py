"""The events that Quintet reads and writes, and the strict reader of raw records.

What goes in may have unknown fields (they are ignored); what goes out has exactly these. The JSON
Schemas in schemas/ are written from these models.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from worker.errors import Rejection, RejectionReason

SCHEMA_VERSION = 1
PRODUCTS_COMPARED = 3


class Kind(StrEnum):
    """What a summary is for."""

    COMPARATIVE = "comparative_explanation"
    RECOMMENDATION = "recommendation_explanation"
    OPINION = "product_opinion"


class Metric(StrEnum):
    """One of the five qualities; never a Prometheus series."""

    INFORMATIVENESS = "informativeness"
    CLARITY = "clarity"
    CONCISENESS = "conciseness"
    ASPECT_COVERAGE = "aspect_coverage"
    SENTIMENT_CONSISTENCY = "sentiment_consistency"


#: The kind each metric's rubric was written for; for the other kinds it is adapted.
NATIVE_KIND: Mapping[Metric, Kind] = {
    Metric.INFORMATIVENESS: Kind.COMPARATIVE,
    Metric.CLARITY: Kind.COMPARATIVE,
    Metric.CONCISENESS: Kind.RECOMMENDATION,
    Metric.ASPECT_COVERAGE: Kind.COMPARATIVE,
    Metric.SENTIMENT_CONSISTENCY: Kind.OPINION,
}

SummaryId = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Text = Annotated[str, StringConstraints(pattern=r"\S")]
Price = str | int | float


class _Input(BaseModel):
    """Read from outside: unknown fields are ignored, infinities are not numbers."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _Output(BaseModel):
    """Written by us: exactly these fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Generator(_Input):
    """Who wrote the summary."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    name: str | None = None
    version: str | None = None


class Product(_Input):
    """One product and the evidence about it; whatever is missing reaches the judge as N/A."""

    title: str | None = None
    base_price: Price | None = None
    final_price: Price | None = None
    average_rating: float | str | None = None
    opinion_summary: str | None = None
    description: str | None = None
    key_features: list[str] | str | None = None
    specifications: dict[str, Any] | str | None = None
    reviews: list[str] | None = None
    ugc_summary: str | None = None


class SummaryGenerated(_Input):
    """A newly written summary and the evidence it was written from: the input of everything."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    summary_id: SummaryId
    kind: Kind
    summary: Text
    query: str | None = None
    products: list[Product]
    generator: Generator | None = None
    category: str | None = None
    locale: str | None = None
    generated_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _has_the_evidence_of_its_kind(self) -> SummaryGenerated:
        wanted = PRODUCTS_COMPARED if self.kind is Kind.COMPARATIVE else 1
        if len(self.products) != wanted:
            raise ValueError(f"products: {self.kind} needs {wanted}, got {len(self.products)}")
        if self.kind is Kind.OPINION:
            if not any(review.strip() for review in self.products[0].reviews or []):
                raise ValueError("products.0.reviews: product_opinion needs at least one review")
            return self
        if not (self.query or "").strip():
            raise ValueError(f"query: {self.kind} needs one")
        for number, product in enumerate(self.products):
            if not (product.opinion_summary or "").strip():
                raise ValueError(f"products.{number}.opinion_summary: {self.kind} needs one per product")
        return self

    @property
    def word_count(self) -> int:
        """Words as the rubrics count them."""
        return len(self.summary.split())


class Mode(StrEnum):
    """How a verdict came about; never changed in silence."""

    SINGLE = "single"
    LOGPROBS = "logprobs"
    SAMPLES = "samples"
    LEXICAL = "lexical"


class Verdict(_Output):
    """One metric's score with its explanation."""

    score: int = Field(ge=1, le=5)
    expected: float = Field(ge=1, le=5)
    distribution: Annotated[list[float], Field(min_length=5, max_length=5)] | None = None
    mode: Mode
    explanation: str
    rubric: str
    native: bool
    adjusted_from: int | None = None
    latency_seconds: float = 0.0
    attempts: int = 1
    cached: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class JudgeIdentity(_Output):
    """Which judge gave the scores."""

    backend: Literal["openai", "lexical"]
    model: str
    requested_model: str
    pack: str


class KafkaSource(_Output):
    """Where a record was read from."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class FileSource(_Output):
    """The line of a file (`-` is standard input) that a record was read from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Source = KafkaSource | FileSource


class SummaryScored(_Output):
    """One summary with all five scores."""

    schema_version: Literal[1] = 1
    event_id: str
    summary_id: SummaryId
    kind: Kind
    category: str | None = None
    locale: str | None = None
    generator: Generator | None = None
    scores: dict[Metric, Verdict]
    judge: JudgeIdentity
    cost_usd: float | None = None
    sample_rate: float = 1.0
    generated_at: datetime | None = None
    received_at: datetime
    scored_at: datetime
    source: Source


class MetricScored(_Output):
    """One metric of one summary, flat, for analytics and drift."""

    schema_version: Literal[1] = 1
    event_id: str
    summary_id: SummaryId
    kind: Kind
    metric: Metric
    segment: str
    score: int = Field(ge=1, le=5)
    expected: float = Field(ge=1, le=5)
    native: bool
    rubric: str
    judge_model: str
    generator: Generator | None = None
    category: str | None = None
    locale: str | None = None
    sample_rate: float = 1.0
    scored_at: AwareDatetime
    source: Source


class DriftState(StrEnum):
    """What a stream's detector says."""

    LEARNING = "learning"
    OK = "ok"
    WARNING = "warning"
    ALARM = "alarm"
    UNWATCHABLE = "unwatchable"


class DriftVerdict(StrEnum):
    """Who changed."""

    GENERATOR = "generator"
    JUDGE = "judge"
    MIX = "mix"
    UNDETERMINED = "undetermined"


class DriftChanged(_Output):
    """A stream's detector changed its state, or the verdict on an alarm was found."""

    schema_version: Literal[1] = 1
    event_id: str
    kind: Kind
    metric: Metric
    segment: str
    state: DriftState
    previous_state: DriftState | None = None
    verdict: DriftVerdict | None = None
    reason: str
    statistic: float | None = None
    threshold: float | None = None
    baseline_mean: float | None = None
    current_mean: float | None = None
    drop: float | None = None
    observations: int = 0
    since: datetime | None = None
    worst: Annotated[list[SummaryId], Field(max_length=5)] = Field(default_factory=list)
    rubric: str
    judge_model: str
    at: datetime


HumanScore = Annotated[float, Field(ge=1, le=5)]


class HumanLabel(_Input):
    """One person's scores for one summary."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    summary_id: SummaryId
    annotator: str
    scores: dict[Metric, HumanScore]
    group: str | None = None
    labelled_at: AwareDatetime | None = None


def read_json(raw: bytes | str) -> Any:
    """Parse JSON strictly: UTF-8, no NaN, no duplicate keys, bounded nesting and digits."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        # The first parser bounds nesting and refuses lone surrogates; the second sees duplicate keys.
        pydantic_core.from_json(text, allow_inf_nan=False)
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError as error:
        raise _invalid_json(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise _invalid_json("nested too deep") from None
    except ValueError as error:
        raise _invalid_json(_first_line(str(error))) from None


def read_summary(raw: bytes | str) -> SummaryGenerated:
    """A record's value as a SummaryGenerated; a Rejection says what is wrong with it."""
    return summary_from(read_json(raw))


def summary_from(value: Any) -> SummaryGenerated:
    """A parsed value, bare or wrapped in a structured-mode CloudEvent, as a SummaryGenerated."""
    try:
        return SummaryGenerated.model_validate(_unwrap_cloudevent(value))
    except ValidationError as error:
        raise Rejection(RejectionReason.INVALID_EVENT, describe(error), stage="read") from None


def describe(error: ValidationError) -> str:
    """A validation error in one line, without the offending values (they may be anybody's text)."""
    problems = []
    for problem in error.errors(include_url=False, include_input=False)[:3]:
        where = ".".join(str(part) for part in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        problems.append(f"{where}: {what}" if where else what)
    more = error.error_count() - len(problems)
    return "; ".join(problems) + (f" (+{more} more)" if more > 0 else "")


def _unwrap_cloudevent(value: Any) -> Any:
    """The data of a structured-mode CloudEvent; anything else as it is."""
    if not isinstance(value, dict) or "specversion" not in value or "summary_id" in value:
        return value
    if "data" in value:
        return value["data"]
    try:
        return read_json(base64.b64decode(value["data_base64"], validate=True))
    except (KeyError, TypeError, binascii.Error):
        raise Rejection(RejectionReason.INVALID_EVENT, "a CloudEvent without data", stage="read") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys in an object")
    return found


def _invalid_json(message: str) -> Rejection:
    return Rejection(RejectionReason.INVALID_JSON, message, stage="read")


def _first_line(text: str) -> str:
    return text.splitlines()[0][:200] if text else "not JSON"
