"""All five metrics of one summary."""

from __future__ import annotations

from worker.events import Metric, SummaryGenerated
from worker.judging.lexical import clarity, conciseness, coverage, informativeness, sentiment
from worker.judging.lexical.case import Case
from worker.judging.lexical.scale import Opinion

#: Characters of a summary that are read; a real one has a hundredth of it.
_LONGEST_SUMMARY = 100_000

_JUDGES = {
    Metric.INFORMATIVENESS: informativeness.judge,
    Metric.CLARITY: clarity.judge,
    Metric.CONCISENESS: conciseness.judge,
    Metric.ASPECT_COVERAGE: coverage.judge,
    Metric.SENTIMENT_CONSISTENCY: sentiment.judge,
}


def score(event: SummaryGenerated) -> dict[Metric, Opinion]:
    """What the judge thinks of each quality; the same event always gets the same answer."""
    case = Case(_of_readable_length(event))
    return {metric: _settled(judge(case)) for metric, judge in _JUDGES.items()}


def _of_readable_length(event: SummaryGenerated) -> SummaryGenerated:
    """Nobody reads a summary of a novel's length to its end: its scores are settled long before."""
    if len(event.summary) <= _LONGEST_SUMMARY:
        return event
    return event.model_copy(update={"summary": event.summary[:_LONGEST_SUMMARY]})


def _settled(opinion: Opinion) -> Opinion:
    """Without the last digits of a sum, which depend on the order in which a set is walked."""
    return opinion._replace(expected=round(opinion.expected, 4))
