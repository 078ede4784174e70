"""How well a judge agrees with people, and what labels say about a mean: pure arithmetic on scores.

The protocol, per metric. A summary's human score is the mean over its annotators. Rank correlations are
taken within each `group` (what is ranked together, e.g. one product) between the judge's `expected` and the
human score; an undefined one (a constant side) counts as 0; the figure is the mean over groups. Labels
without a group form one group together. A group of one summary has no ranking: it counts in the kappa only.

- The weighted kappa is pooled: the judge's whole `score` against the human score, rounded with halves up.
- Intervals are bootstrap percentiles: groups are drawn again, or summaries where there is only one group.
- The length baseline puts the summary's number of words in the judge's place. A judge whose lead over it
  may be nothing (the interval of the difference, on the same draws, reaches 0) has not shown that it reads.
- Human agreement puts each annotator in the judge's place, against the mean of the others. That is closer to
  the judge's task than pairs of annotators, yet not the same: the judge faces the mean of one person more,
  a steadier target. A judge above this figure is not thereby better than people.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from worker.events import HumanLabel, Metric

#: Ends of the scale.
LOWEST, HIGHEST = 1.0, 5.0
#: Most numbers held at once for one step of the bootstrap: 16 MB.
_BLOCK = 2_000_000

Vector = npt.NDArray[np.float64]
#: Columns, then weights (a row per draw: how often each summary is counted) → one figure per row.
Statistic = Callable[..., Vector]


class JudgedScore(NamedTuple):
    """A judge's score of one metric, whole and with decimals."""

    score: int
    expected: float


@dataclass(frozen=True)
class JudgedSummary:
    """What a judge said about one summary, and how long that summary is."""

    summary_id: str
    word_count: int
    scores: Mapping[Metric, JudgedScore]


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MetricAgreement:
    """One metric: agreement with people beside what length alone and people among themselves reach."""

    summaries: int
    #: Groups that have a ranking, that is two summaries or more.
    groups: int
    annotators: int
    #: None where no group has two summaries.
    spearman: Estimate | None
    kendall: Estimate | None
    kappa: Estimate
    length_spearman: Estimate | None
    #: Spearman less that of length, on the same draws.
    lead_over_length: Estimate | None
    #: None where no summary has two annotators.
    human_spearman: float | None


@dataclass(frozen=True)
class Agreement:
    """All five metrics; None stands for one that nobody labelled: not validated against people."""

    by_metric: Mapping[Metric, MetricAgreement | None]
    #: Summaries that were both judged and labelled, judged only, labelled only.
    summaries: int
    unlabelled: int
    unknown: int
    #: Share of intervals that hold the truth.
    confidence: float


@dataclass(frozen=True)
class PlainAgreement:
    """One metric's figures alone: no intervals, so quick enough to be computed again and again."""

    summaries: int
    #: None where no group has two summaries.
    spearman: float | None
    kendall: float | None
    weighted_kappa: float
    #: The mean human score over everything judged; None with fewer than two labels.
    mean: PoweredMean | None


@dataclass(frozen=True)
class PoweredMean:
    """A mean human score, estimated from a few labels and many judged summaries."""

    mean: Estimate
    #: How far the judge was trusted: 0 ignores it, 1 is the plain prediction-powered mean.
    weight: float
    labelled: int
    unlabelled: int
    #: So many labels alone would have given an interval as narrow.
    worth: float


@dataclass(frozen=True)
class _Group:
    """The summaries of one group, column by column."""

    expected: Vector
    score: Vector
    words: Vector
    human: Vector
    ratings: Sequence[Mapping[str, float]]


def measure(
    judged: Iterable[JudgedSummary],
    labels: Iterable[HumanLabel],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Compare a judge with people; where an annotator scored a summary twice, the later score holds."""
    by_id = {summary.summary_id: summary for summary in judged}
    given = list(labels)
    by_metric = {
        metric: _measure_metric(groups, _Bootstrap(resamples, seed, confidence))
        for metric, groups in _groups_of(by_id, given).items()
    }
    labelled = {label.summary_id for label in given}
    known = len(labelled & by_id.keys())
    return Agreement(by_metric, known, len(by_id) - known, len(labelled) - known, confidence)


def measure_plainly(
    judged: Iterable[JudgedSummary],
    labels: Iterable[HumanLabel],
    unlabelled: Mapping[Metric, Sequence[float]],
) -> Mapping[Metric, PlainAgreement]:
    """The same figures as `measure`, without intervals; only metrics that somebody labelled.

    `unlabelled` are the judge's expected scores of summaries that nobody labelled.
    """
    by_metric = _groups_of({summary.summary_id: summary for summary in judged}, labels)
    return {
        metric: _measure_plainly(groups, unlabelled.get(metric, ()))
        for metric, groups in by_metric.items()
        if groups
    }


def spearman(x: Vector, y: Vector, weights: Vector) -> Vector:
    """Spearman's rho, ties at their middle rank, for each row of weights; 0 where a side is constant."""
    a, b = _middle_ranks(x, weights), _middle_ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    a -= (weights * a).sum(axis=1, keepdims=True) / total
    b -= (weights * b).sum(axis=1, keepdims=True) / total
    together = (weights * a * b).sum(axis=1)
    alone = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    return _ratio(together, np.sqrt(alone))


def kendall(x: Vector, y: Vector, weights: Vector) -> Vector:
    """Kendall's tau-b for each row of weights; 0 where a side is constant.

    Pairs are counted with a matrix of signs, a band at a time so that it stays small.
    """
    alike = np.zeros(len(weights))
    rows = max(1, _BLOCK // len(x))
    for start in range(0, len(x), rows):
        band = slice(start, start + rows)
        signs = np.sign(x[band, None] - x) * np.sign(y[band, None] - y)
        alike += (weights @ signs.T * weights[:, band]).sum(axis=1)
    return _ratio(alike, np.sqrt(_unequal_pairs(x, weights) * _unequal_pairs(y, weights)))


def weighted_kappa(a: Vector, b: Vector, weights: Vector) -> Vector:
    """Cohen's kappa with quadratic weights, for each row of weights; 0 where both sides are one constant."""
    return _kappa_of_sums(weights @ _kappa_sums(a, b))


def prediction_powered_mean(
    unlabelled: Sequence[float], labelled: Sequence[tuple[float, float]], *, confidence: float = 0.95
) -> PoweredMean | None:
    """The mean human score over everything judged, from (judge, human) pairs and judge-only scores.

    PPI++ (Angelopoulos et al., arXiv 2311.01453): the labelled mean, moved by weight × (judge's mean on the
    unlabelled − judge's mean on the labelled), with the weight that makes the variance least. None with fewer
    than two labels, since nothing is known of their spread.
    """
    n, rest = len(labelled), len(unlabelled)
    if n < 2:
        return None
    judge, human = np.array(labelled, dtype=np.float64).T
    others = np.array(unlabelled, dtype=np.float64)
    weight = _tuned_weight(judge, human, others)
    shift = weight * (others.mean() - judge.mean()) if rest else 0.0
    plain = float(human.var(ddof=1)) / n
    variance = float((human - weight * judge).var(ddof=1)) / n
    if rest > 1:
        variance += weight**2 * float(others.var(ddof=1)) / rest
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    mean = float(human.mean() + shift)
    estimate = Estimate(*(min(HIGHEST, max(LOWEST, end)) for end in (mean, mean - reach, mean + reach)))
    return PoweredMean(estimate, weight, n, rest, n * plain / variance if variance > 0 else float(n))


def _tuned_weight(judge: Vector, human: Vector, others: Vector) -> float:
    """Between 0 and 1; 0 where there is nothing to predict with."""
    spread = float(np.concatenate([judge, others]).var(ddof=1))
    if len(others) < 2 or spread <= 0:
        return 0.0
    together = float(np.cov(judge, human, ddof=1)[0, 1])
    return min(1.0, max(0.0, together / ((1 + len(judge) / len(others)) * spread)))


def _groups_of(
    judged: Mapping[str, JudgedSummary], labels: Iterable[HumanLabel]
) -> dict[Metric, list[_Group]]:
    ratings: dict[Metric, dict[str, dict[str, float]]] = {metric: defaultdict(dict) for metric in Metric}
    group_of: dict[str, str] = {}
    for label in labels:
        if label.group is not None:
            group_of.setdefault(label.summary_id, label.group)
        for metric, score in label.scores.items():
            ratings[metric][label.summary_id][label.annotator] = score
    return {metric: _group(metric, judged, ratings[metric], group_of) for metric in Metric}


def _measure_plainly(groups: Sequence[_Group], unlabelled: Sequence[float]) -> PlainAgreement:
    pairs = [(group.expected, group.human) for group in groups]
    ranked = [(judge, human) for judge, human in pairs if len(human) > 1]
    judge, human = (np.concatenate(side) for side in zip(*pairs, strict=True))
    score = np.concatenate([group.score for group in groups])
    kappa = weighted_kappa(score, np.floor(human + 0.5), np.ones((1, len(human))))
    return PlainAgreement(
        summaries=len(human),
        spearman=_mean_over(spearman, ranked),
        kendall=_mean_over(kendall, ranked),
        weighted_kappa=float(kappa[0]),
        mean=prediction_powered_mean(unlabelled, list(zip(judge, human, strict=True))),
    )


def _mean_over(statistic: Statistic, groups: Sequence[tuple[Vector, Vector]]) -> float | None:
    """The mean of a statistic over groups, each summary counted once."""
    figures = [float(statistic(*columns, np.ones((1, len(columns[0]))))[0]) for columns in groups]
    return math.fsum(figures) / len(figures) if figures else None


def _group(
    metric: Metric,
    judged: Mapping[str, JudgedSummary],
    ratings: Mapping[str, Mapping[str, float]],
    group_of: Mapping[str, str],
) -> list[_Group]:
    """The labelled summaries of a metric by group, those without a group as one more."""
    members: dict[str | None, list[str]] = defaultdict(list)
    for summary_id in ratings:
        if summary_id in judged and metric in judged[summary_id].scores:
            members[group_of.get(summary_id)].append(summary_id)
    return [
        _Group(
            expected=_vector(judged[one].scores[metric].expected for one in ids),
            score=_vector(judged[one].scores[metric].score for one in ids),
            words=_vector(judged[one].word_count for one in ids),
            human=_vector(math.fsum(ratings[one].values()) / len(ratings[one]) for one in ids),
            ratings=[ratings[one] for one in ids],
        )
        for ids in members.values()
    ]


def _measure_metric(groups: Sequence[_Group], bootstrap: _Bootstrap) -> MetricAgreement | None:
    if not groups:
        return None
    ranked = [group for group in groups if len(group.human) > 1]
    by_judge = [(group.expected, group.human) for group in ranked]
    by_length = [(group.words, group.human) for group in ranked]
    return MetricAgreement(
        summaries=sum(len(group.human) for group in groups),
        groups=len(ranked),
        annotators=len({name for group in groups for ratings in group.ratings for name in ratings}),
        spearman=bootstrap.mean_of_groups(spearman, by_judge),
        kendall=bootstrap.mean_of_groups(kendall, by_judge),
        kappa=bootstrap.kappa([(group.score, np.floor(group.human + 0.5)) for group in groups]),
        length_spearman=bootstrap.mean_of_groups(spearman, by_length),
        lead_over_length=bootstrap.mean_of_groups(
            _lead_over_length, [(group.expected, group.words, group.human) for group in ranked]
        ),
        human_spearman=_human_spearman(ranked),
    )


def _lead_over_length(expected: Vector, words: Vector, human: Vector, weights: Vector) -> Vector:
    return spearman(expected, human, weights) - spearman(words, human, weights)


def _human_spearman(groups: Sequence[_Group]) -> float | None:
    """Each annotator against the mean of the others: the mean within a group, then over groups."""
    by_group = []
    for group in groups:
        figures = [
            float(spearman(own, others, np.ones((1, len(own))))[0])
            for own, others in _leave_one_out(group.ratings)
        ]
        if figures:
            by_group.append(math.fsum(figures) / len(figures))
    return math.fsum(by_group) / len(by_group) if by_group else None


def _leave_one_out(ratings: Sequence[Mapping[str, float]]) -> Iterator[tuple[Vector, Vector]]:
    """For each annotator with two shared summaries or more: own scores, and the means of the others."""
    shared = [scores for scores in ratings if len(scores) > 1]
    for annotator in sorted({name for scores in shared for name in scores}):
        own, others = [], []
        for scores in shared:
            if annotator in scores:
                own.append(scores[annotator])
                rest = [score for name, score in scores.items() if name != annotator]
                others.append(math.fsum(rest) / len(rest))
        if len(own) > 1:
            yield _vector(own), _vector(others)


@dataclass(frozen=True)
class _Bootstrap:
    """Draws groups again, or summaries where there is one group; the same draws for every statistic."""

    resamples: int
    seed: int
    confidence: float

    def mean_of_groups(self, statistic: Statistic, groups: Sequence[tuple[Vector, ...]]) -> Estimate | None:
        if not groups:
            return None
        figures = np.concatenate([statistic(*columns, np.ones((1, len(columns[0])))) for columns in groups])
        if len(groups) > 1:
            # A group's figure does not change with the draw, so a draw is no more than a weighted mean.
            drawn = [weights @ figures / len(figures) for weights in self._draws(len(figures))]
        else:
            drawn = [statistic(*groups[0], weights) for weights in self._draws(len(groups[0][0]))]
        return self._estimate(float(figures.mean()), drawn)

    def kappa(self, groups: Sequence[tuple[Vector, Vector]]) -> Estimate:
        units = [_kappa_sums(a, b) for a, b in groups]
        sums = np.stack([unit.sum(axis=0) for unit in units]) if len(units) > 1 else units[0]
        drawn = [_kappa_of_sums(weights @ sums) for weights in self._draws(len(sums))]
        return self._estimate(float(_kappa_of_sums(sums.sum(axis=0, keepdims=True))[0]), drawn)

    def _draws(self, units: int) -> Iterator[Vector]:
        """How often each unit is drawn, one row per resample, some rows at a time."""
        random = np.random.default_rng(self.seed)
        rows = max(1, _BLOCK // units)
        for start in range(0, self.resamples, rows):
            size = min(rows, self.resamples - start)
            drawn = random.integers(units, size=(size, units)) + units * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * units)
            yield counts.reshape(size, units).astype(np.float64)

    def _estimate(self, value: float, drawn: Sequence[Vector]) -> Estimate:
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(np.concatenate(drawn), [tail, 1 - tail])
        return Estimate(value, float(low), float(high))


def _middle_ranks(values: Vector, weights: Vector) -> Vector:
    """Ranks within each row of weights, up to a constant; equal values share the middle of theirs."""
    counts, level = _count_levels(values, weights)
    middles = np.cumsum(counts, axis=1) - counts / 2
    return middles[:, level]


def _unequal_pairs(values: Vector, weights: Vector) -> Vector:
    """How many ordered pairs differ in value, for each row of weights."""
    counts, _ = _count_levels(values, weights)
    unequal: Vector = counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)
    return unequal


def _count_levels(values: Vector, weights: Vector) -> tuple[Vector, npt.NDArray[np.intp]]:
    """The weight of each distinct value, row by row, and which of them each value is."""
    levels, level = np.unique(values, return_inverse=True)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(len(levels)))
    return np.add.reduceat(weights[:, order], starts, axis=1), level


def _kappa_sums(a: Vector, b: Vector) -> Vector:
    """Per summary, all that the kappa needs: it is a function of these sums."""
    return np.stack([np.ones_like(a), a, b, a * a, b * b, a * b], axis=1)


def _kappa_of_sums(sums: Vector) -> Vector:
    """1 − mean squared difference ÷ the same expected by chance, which simplifies to covariances."""
    n, a, b, aa, bb, ab = sums.T
    return _ratio(2 * (n * ab - a * b), n * aa + n * bb - 2 * a * b)


def _ratio(top: Vector, bottom: Vector) -> Vector:
    """top ÷ bottom within [-1, 1], 0 where it is undefined."""
    defined = bottom > 0
    return np.clip(np.divide(top, bottom, out=np.zeros_like(top), where=defined), -1.0, 1.0)


def _vector(values: Iterable[float]) -> Vector:
    return np.fromiter(values, dtype=np.float64)
