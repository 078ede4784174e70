"""A small summary generator: the project's own samples, varied; and a new version of it that is worse.

Every summary is a draw of its own: a sample at random, some of its sentences left out or moved. Nothing
about its scores is arranged; they are what the judge gives.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files

from worker.events import Generator, Kind, SummaryGenerated, read_summary

#: Categories of the shop, those with most samples.
CATEGORIES = ("phones", "kitchen", "laptops", "headphones")
#: Where the new version of the generator is worse.
WORSE_CATEGORY = "phones"

USUAL_VERSION, WORSE_VERSION = "2026-11-01", "2026-11-15"

#: What the new version says instead of the second half of what it should have said.
SLOGANS = (
    "It is a great choice for everyone.",
    "You will not regret buying it.",
    "There is really nothing more to say about it.",
    "Order it today while it lasts.",
)

#: How often a sentence is left out, and how often two neighbours change places.
LEFT_OUT, MOVED = 0.15, 0.25
#: Kinds in the proportion in which a shop writes them.
KINDS = (Kind.OPINION, Kind.RECOMMENDATION, Kind.COMPARATIVE)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class SampleStream:
    """An endless stream of summaries; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._count = 0
        self._samples = _samples()

    def next(self, *, worse: bool) -> tuple[bytes, bytes]:
        """Key and value of the next record; `worse` is the new version, which is so in one category only."""
        self._count += 1
        category = self._random.choice(CATEGORIES)
        kind = self._random.choice(KINDS)
        sample = self._random.choice(self._samples[category, kind])
        spoilt = worse and category == WORSE_CATEGORY
        text = self._worse(sample.summary) if spoilt else self._usual(sample.summary)
        event = sample.model_copy(
            update={
                "summary_id": f"demo-{self._seed}-{self._count}",
                "summary": text,
                "generator": Generator(name="summarizer", version=WORSE_VERSION if worse else USUAL_VERSION),
                "generated_at": datetime.now(UTC),
            }
        )
        return event.summary_id.encode(), event.model_dump_json().encode()

    def _usual(self, summary: str) -> str:
        """The sample, now and then without a sentence or with two of them the other way round."""
        lines, sentences = _parts(summary)
        kept = [sentence for sentence in sentences if self._random.random() >= LEFT_OUT] or sentences[:1]
        for place in range(len(kept) - 1):
            if self._random.random() < MOVED:
                kept[place], kept[place + 1] = kept[place + 1], kept[place]
        return _whole(lines, kept)

    def _worse(self, summary: str) -> str:
        """Half of what there was to say, and slogans for the rest."""
        lines, sentences = _parts(self._usual(summary))
        # A table loses rows, prose loses sentences.
        lines = lines[: max(3, len(lines) - 1)]
        kept = sentences[: max(1, len(sentences) // 2)]
        return _whole(lines, [*kept, *self._random.sample(SLOGANS, 2)])


def poison() -> Sequence[bytes]:
    """Records that nobody can score: each is rejected for its own reason."""
    bare = {"summary_id": "demo-poison", "kind": str(Kind.OPINION), "summary": "Fine.", "products": [{}]}
    return (
        b"{ this is no JSON",
        b'{"summary_id": "demo-nan", "score": NaN}',
        json.dumps(bare).encode(),
        json.dumps(bare | {"kind": "haiku"}).encode(),
        json.dumps(bare | {"summary": "x" * 1_100_000}).encode(),
    )


def _samples() -> dict[tuple[str, Kind], list[SummaryGenerated]]:
    """The samples of the categories that are used, by category and kind."""
    found: dict[tuple[str, Kind], list[SummaryGenerated]] = {}
    text = files("worker.samples").joinpath("samples.jsonl").read_text(encoding="utf-8")
    for line in text.split("\n"):
        if line:
            sample = read_summary(line)
            found.setdefault((sample.category or "", sample.kind), []).append(sample)
    return found


def _parts(summary: str) -> tuple[list[str], list[str]]:
    """The lines of a table, if there is one, and the sentences of the prose."""
    lines = [line for line in summary.split("\n") if line.startswith("|")]
    prose = " ".join(line for line in summary.split("\n") if line and not line.startswith("|"))
    return lines, _SENTENCE_END.split(prose) if prose else []


def _whole(lines: list[str], sentences: list[str]) -> str:
    return "\n".join([*lines, "", " ".join(sentences)]).strip() if lines else " ".join(sentences)
