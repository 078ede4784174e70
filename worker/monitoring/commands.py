"""What the control topic carries: people's commands, and what monitors tell each other.

Every monitor reads the whole control topic; each takes what concerns its own streams.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from worker.drift.verdict import JudgeShift
from worker.events import Kind, Metric

_STRICT = ConfigDict(extra="ignore", frozen=True)


class Accept(BaseModel):
    """Take the present level for the usual one: in one segment, or wherever something stands."""

    model_config = _STRICT
    command: Literal["accept"] = "accept"
    kind: Kind
    metric: Metric
    segment: str | None = None
    at: AwareDatetime

    @property
    def key(self) -> bytes:
        """As the contract keys the topic."""
        return f"{self.kind}|{self.metric}".encode()


class WantReferences(BaseModel):
    """A stream has fallen, or has a new judge: the reference set should be judged again."""

    model_config = _STRICT
    command: Literal["want_references"] = "want_references"
    judge_model: str
    reason: str
    at: AwareDatetime
    key: Annotated[bytes, Field(exclude=True)] = b"references"


class ReferencesJudged(BaseModel):
    """The reference set was judged again: how the judge has moved, by metric."""

    model_config = _STRICT
    command: Literal["references_judged"] = "references_judged"
    shifts: dict[Metric, JudgeShift]
    at: AwareDatetime
    key: Annotated[bytes, Field(exclude=True)] = b"references"


Command = Accept | WantReferences | ReferencesJudged

_COMMAND: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="command")])


def read_command(value: bytes | None) -> Command | None:
    """A command; None for a record that is none of ours."""
    try:
        return _COMMAND.validate_json(value or b"")
    except ValidationError:
        return None
