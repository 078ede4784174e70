"""Verdicts already paid for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any


@dataclass(frozen=True)
class Ruling:
    """What one readable reply said: all that is needed to give its verdict again."""

    score: int
    explanation: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    #: Five shares, where log probabilities were asked for.
    distribution: tuple[float, ...] | None = None

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Ruling:
        """As it was stored; a ValueError or TypeError where it isn't one."""
        fields: dict[str, Any] = json.loads(text)
        shares = fields.pop("distribution")
        ruling = cls(**fields, distribution=None if shares is None else tuple(map(float, shares)))
        if ruling.score not in range(1, 6):
            raise ValueError("not a score")
        return ruling


def key_of(*parts: object) -> bytes:
    """A digest of everything that could change the reply."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


class VerdictCache:
    """Placeholder until the file is there: remembers nothing."""

    async def get(self, keys: list[bytes]) -> dict[bytes, Ruling]:
        """What is known of these."""
        return {}

    async def put(self, key: bytes, ruling: Ruling) -> None:
        """Keep a ruling."""

    async def close(self) -> None:
        """Give the file back."""
