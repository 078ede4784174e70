"""Agreement with people: known small cases, scipy as the second opinion, and everything degenerate."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from scipy import stats

from worker.agreement import (
    Estimate,
    JudgedScore,
    JudgedSummary,
    MetricAgreement,
    kendall,
    measure,
    prediction_powered_mean,
    spearman,
    weighted_kappa,
)
from worker.events import HumanLabel, Metric

CLARITY = Metric.CLARITY


def judged(
    expected: Mapping[str, float], words: Mapping[str, int] | None = None, metric: Metric = CLARITY
) -> list[JudgedSummary]:
    """One judged summary per id."""
    return [
        JudgedSummary(one, (words or {}).get(one, 50), {metric: JudgedScore(round(value), value)})
        for one, value in expected.items()
    ]


def labelled(
    scores: Mapping[str, float], group: str | None = None, annotator: str = "ada", metric: Metric = CLARITY
) -> list[HumanLabel]:
    """One annotator's labels."""
    return [
        HumanLabel(summary_id=one, annotator=annotator, group=group, scores={metric: score})
        for one, score in scores.items()
    ]


def clarity(judge: Iterable[JudgedSummary], labels: Iterable[HumanLabel]) -> MetricAgreement:
    """The agreement on clarity, which must be there."""
    found = measure(judge, labels, resamples=200).by_metric[CLARITY]
    assert found is not None
    return found


def once(values: Iterable[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Weights that count each value once."""
    return np.ones((1, len(list(values))))


@pytest.mark.parametrize("seed", range(20))
def test_correlations_agree_with_scipy_also_under_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.round(random.normal(size=40), 1)
    y = np.round(x + random.normal(size=40)).astype(np.float64)

    assert spearman(x, y, once(x))[0] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kendall(x, y, once(x))[0] == pytest.approx(stats.kendalltau(x, y).statistic)


@pytest.mark.parametrize("seed", range(5))
def test_a_weight_is_the_same_as_a_repetition(seed: int) -> None:
    # Given values of which some are drawn twice and some not at all
    random = np.random.default_rng(seed)
    x, y = random.integers(1, 6, size=(2, 30)).astype(np.float64)
    weights = random.integers(0, 3, size=30)
    xs, ys = np.repeat(x, weights), np.repeat(y, weights)

    # Then weighing gives what writing them out gives
    row = weights[None, :].astype(np.float64)
    assert spearman(x, y, row)[0] == pytest.approx(stats.spearmanr(xs, ys).statistic)
    assert kendall(x, y, row)[0] == pytest.approx(stats.kendalltau(xs, ys).statistic)
    assert weighted_kappa(x, y, row)[0] == pytest.approx(weighted_kappa(xs, ys, once(xs))[0])


def test_pairs_are_all_counted_when_they_take_several_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(size=(2, 50))
    monkeypatch.setattr("worker.agreement._BLOCK", 333)

    assert kendall(x, y, once(x))[0] == pytest.approx(stats.kendalltau(x, y).statistic)


def test_kappa_is_that_of_the_textbook() -> None:
    # Given two raters, and Cohen's formula with the matrix of squared distances written out
    random = np.random.default_rng(7)
    a, b = random.integers(1, 6, size=(2, 200)).astype(np.float64)
    b[:120] = a[:120]
    observed = np.zeros((5, 5))
    for one, other in zip(a.astype(int), b.astype(int), strict=True):
        observed[one - 1, other - 1] += 1
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(a)
    distance = np.subtract.outer(np.arange(5), np.arange(5)) ** 2
    textbook = 1 - (distance * observed).sum() / (distance * expected).sum()

    assert weighted_kappa(a, b, once(a))[0] == pytest.approx(textbook)


def test_the_figure_is_the_mean_over_groups_and_a_constant_group_counts_as_nothing() -> None:
    # Given one group ranked rightly, one wrongly in part, one on which people see no difference
    judge = judged({f"{group}{n}": n + 1 for group in "abc" for n in range(3)})
    labels = [
        *labelled({"a0": 1, "a1": 2, "a2": 3}, group="a"),
        *labelled({"b0": 2, "b1": 1, "b2": 3}, group="b"),
        *labelled({"c0": 4, "c1": 4, "c2": 4}, group="c"),
    ]

    found = clarity(judge, labels)

    # Then rho is (1 + 0.5 + 0) / 3 and tau (1 + 1/3 + 0) / 3
    assert found.spearman is not None and found.kendall is not None
    assert found.spearman.value == pytest.approx(0.5)
    assert found.kendall.value == pytest.approx(4 / 9)
    assert (found.groups, found.summaries, found.annotators) == (3, 9, 1)
    assert 0 <= found.spearman.low < 0.5 < found.spearman.high <= 1


def test_labels_without_a_group_are_ranked_all_together() -> None:
    judge = judged({"a": 1, "b": 2, "c": 3, "d": 4})

    found = clarity(judge, labelled({"a": 2, "b": 1, "c": 4, "d": 3}))

    assert found.groups == 1
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(0.6)
    assert found.spearman.low < 0.6 < found.spearman.high


def test_the_human_score_is_the_mean_over_annotators() -> None:
    # Given two annotators who together see an order that neither sees alone
    judge = judged({"a": 1, "b": 2, "c": 3})
    labels = [
        *labelled({"a": 1, "b": 3, "c": 3}, annotator="ada"),
        *labelled({"a": 2, "b": 2, "c": 3}, annotator="bo"),
    ]

    found = clarity(judge, labels)

    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(1.0)
    assert found.annotators == 2


def test_a_corrected_label_replaces_the_earlier_one() -> None:
    judge = judged({"a": 1, "b": 2, "c": 3})
    first = labelled({"a": 5, "b": 3, "c": 1})

    found = clarity(judge, [*first, *labelled({"a": 1, "c": 5})])

    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(1.0)


def test_kappa_rounds_human_halves_up() -> None:
    # Given means of 2.5 and 4.5, which people round to 3 and 5
    judge = judged({"a": 3, "b": 5, "c": 1})
    labels = [
        *labelled({"a": 2, "b": 4, "c": 1}, annotator="ada"),
        *labelled({"a": 3, "b": 5, "c": 1}, annotator="bo"),
    ]

    assert clarity(judge, labels).kappa.value == pytest.approx(1.0)


def test_ranks_use_the_decimals_of_the_judge_and_kappa_its_whole_scores() -> None:
    # Given whole scores that are all 3 over decimals in the right order
    judge = judged({"a": 2.6, "b": 2.9, "c": 3.3})

    found = clarity(judge, labelled({"a": 1, "b": 3, "c": 5}))

    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(1.0)
    assert found.kappa.value == 0.0


def test_the_length_baseline_puts_words_in_the_place_of_the_judge() -> None:
    judge = judged({"a": 3, "b": 2, "c": 1}, words={"a": 40, "b": 60, "c": 90})

    found = clarity(judge, labelled({"a": 1, "b": 2, "c": 3}))

    assert found.length_spearman is not None and found.spearman is not None
    assert found.length_spearman.value == pytest.approx(1.0)
    assert found.spearman.value == pytest.approx(-1.0)


@pytest.mark.parametrize("group", [None, "each"])
def test_a_lead_over_length_is_measured_on_the_same_draws(group: str | None) -> None:
    # Given a judge that is nothing but the number of words, and labels in one group or in five
    random = np.random.default_rng(2)
    words = {str(n): int(random.integers(20, 100)) for n in range(40)}
    human = {one: float(random.integers(1, 6)) for one in words}
    labels = [
        one for n, key in enumerate(words) for one in labelled({key: human[key]}, group and f"g{n % 5}")
    ]

    same = clarity(judged({one: 1 + count / 25 for one, count in words.items()}, words), labels)
    right = clarity(judged(human, words), labels)

    # Then it has no lead at all, without any spread; a judge that is right has one
    assert same.lead_over_length == Estimate(0.0, 0.0, 0.0)
    assert right.lead_over_length is not None and right.length_spearman is not None
    assert right.lead_over_length.value == pytest.approx(1 - right.length_spearman.value)
    assert right.lead_over_length.low > 0


def test_people_among_themselves_are_each_against_the_mean_of_the_others() -> None:
    # Given three annotators, of whom the third turns the order of the other two around
    ids = ["a", "b", "c", "d"]
    scores = {"ada": [1, 2, 3, 4], "bo": [1, 2, 3, 4], "cy": [4, 3, 2, 1]}
    labels = [
        one
        for name, values in scores.items()
        for one in labelled(dict(zip(ids, values, strict=True)), annotator=name)
    ]

    found = clarity(judged(dict(zip(ids, [1, 2, 3, 4], strict=True))), labels)

    # Then ada and bo face the mean of one like them and one unlike them, which is flat: 0, 0 and -1
    assert found.human_spearman == pytest.approx(-1 / 3)


def test_one_annotator_has_nobody_to_agree_with() -> None:
    found = clarity(judged({"a": 1, "b": 2}), labelled({"a": 1, "b": 2}))

    assert found.human_spearman is None


@pytest.mark.parametrize(
    ("expected", "human"),
    [([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [4, 4, 4]), ([5, 5, 5], [5, 5, 5])],
)
def test_a_constant_side_gives_zero_never_nan(expected: list[float], human: list[float]) -> None:
    judge = judged(dict(zip("abc", expected, strict=True)))

    found = clarity(judge, labelled(dict(zip("abc", human, strict=True))))

    assert found.spearman == Estimate(0.0, 0.0, 0.0)
    assert found.kendall == Estimate(0.0, 0.0, 0.0)
    assert found.kappa == Estimate(0.0, 0.0, 0.0)


def test_a_group_of_one_summary_has_no_ranking() -> None:
    judge = judged({"a": 1, "b": 2, "c": 3})
    labels = [*labelled({"a": 1, "b": 2}, group="pair"), *labelled({"c": 3}, group="alone")]

    found = clarity(judge, labels)

    assert (found.groups, found.summaries) == (1, 3)
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(1.0)


def test_without_two_summaries_in_any_group_there_is_no_correlation() -> None:
    found = clarity(judged({"a": 1}), labelled({"a": 1}))

    assert (found.spearman, found.kendall, found.length_spearman, found.lead_over_length) == (None,) * 4
    assert (found.groups, found.summaries) == (0, 1)


def test_a_metric_nobody_labelled_is_not_validated() -> None:
    found = measure(judged({"a": 1, "b": 2}), labelled({"a": 1, "b": 2}), resamples=10)

    assert set(found.by_metric) == set(Metric)
    assert found.by_metric[Metric.CONCISENESS] is None
    assert found.by_metric[CLARITY] is not None


def test_labels_of_unknown_summaries_are_counted_and_left_out() -> None:
    found = measure(judged({"a": 1, "b": 2, "x": 5}), labelled({"a": 1, "b": 2, "z": 3}), resamples=10)

    assert (found.summaries, found.unlabelled, found.unknown) == (2, 1, 1)
    of_clarity = found.by_metric[CLARITY]
    assert of_clarity is not None
    assert of_clarity.summaries == 2


def test_no_labels_at_all_is_no_agreement() -> None:
    found = measure(judged({"a": 1}), [])

    assert all(of_metric is None for of_metric in found.by_metric.values())


def _noisy(count: int, groups: int | None) -> tuple[list[JudgedSummary], list[HumanLabel]]:
    random = np.random.default_rng(11)
    judge, labels = [], []
    for number in range(count):
        quality = random.normal(3, 1)
        expected = float(np.clip(quality + random.normal(0, 0.5), 1, 5))
        scores = {metric: JudgedScore(round(expected), expected) for metric in Metric}
        judge.append(JudgedSummary(str(number), int(random.integers(40, 120)), scores))
        human = float(np.clip(np.round(quality), 1, 5))
        group = None if groups is None else str(number % groups)
        labels.append(
            HumanLabel(
                summary_id=str(number),
                annotator="ada",
                group=group,
                scores=dict.fromkeys(Metric, human),
            )
        )
    return judge, labels


@pytest.mark.parametrize("groups", [None, 20])
def test_the_same_seed_gives_the_same_interval_and_another_seed_another(groups: int | None) -> None:
    judge, labels = _noisy(100, groups)

    first, again, other = (measure(judge, labels, resamples=200, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other


@pytest.mark.parametrize("groups", [None, 40])
def test_the_interval_is_as_wide_as_fresh_data_would_vary(groups: int | None) -> None:
    """The bootstrap's spread against the spread of the figure over disjoint parts of a large set."""
    # Given a large set cut into 20 parts of the same size and shape
    judge, labels = _noisy(4000, None if groups is None else 800)
    parts = []
    for part in range(20):
        ids = {str(n) for n in range(4000) if (n % 800 if groups else n) % 20 == part}
        found = measure(judge, [label for label in labels if label.summary_id in ids], resamples=300)
        parts.append(found.by_metric[CLARITY])
    figures = [part.spearman for part in parts if part is not None and part.spearman is not None]
    assert len(figures) == 20

    # Then an interval has about 3.92 standard deviations of what the parts differ by
    spread = float(np.std([figure.value for figure in figures], ddof=1))
    width = float(np.mean([figure.high - figure.low for figure in figures]))
    assert 0.5 < width / (3.92 * spread) < 2.0


@pytest.mark.parametrize("groups", [None, 60])
def test_nine_hundred_summaries_take_seconds_at_most(groups: int | None) -> None:
    """A guard against a loop over resamples (minutes), wide enough for a busy machine."""
    judge, labels = _noisy(900, groups)

    start = time.perf_counter()
    measure(judge, labels)

    assert time.perf_counter() - start < 10


def test_a_powered_mean_corrects_a_judge_that_is_too_kind() -> None:
    # Given a judge that gives half a point too much, and knows the rest
    random = np.random.default_rng(5)
    human = np.clip(random.normal(3.2, 0.6, size=5000), 1, 5)
    judge = human + 0.5 + random.normal(0, 0.3, size=5000)
    pairs = list(zip(judge[:200].tolist(), human[:200].tolist(), strict=True))

    found = prediction_powered_mean(judge[200:].tolist(), pairs)

    assert found is not None
    assert found.mean.low < human.mean() < found.mean.high
    assert abs(found.mean.value - human.mean()) < 0.08
    assert (found.labelled, found.unlabelled) == (200, 4800)
    assert found.worth > 400


def test_a_hundred_labels_at_correlation_seven_tenths_are_worth_nearly_two_hundred() -> None:
    random = np.random.default_rng(9)
    worths = []
    for _ in range(200):
        judge = random.normal(3, 0.5, size=10_100)
        human = 3 + 0.7 * (judge - 3) + math.sqrt(1 - 0.49) * random.normal(0, 0.5, size=10_100)
        pairs = list(zip(judge[:100].tolist(), human[:100].tolist(), strict=True))
        found = prediction_powered_mean(judge[100:].tolist(), pairs)
        assert found is not None
        worths.append(found.worth)

    assert 180 < np.median(worths) < 210


def test_the_interval_of_a_powered_mean_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(13)
    hits = 0
    for _ in range(400):
        judge = random.normal(3, 0.6, size=1000)
        human = 0.5 * judge + 1.4 + random.normal(0, 0.4, size=1000)
        pairs = list(zip(judge[:80].tolist(), human[:80].tolist(), strict=True))
        found = prediction_powered_mean(judge[80:].tolist(), pairs)
        assert found is not None
        hits += found.mean.low <= 2.9 <= found.mean.high

    assert 0.91 < hits / 400 < 0.98


def test_a_useless_judge_is_given_no_weight() -> None:
    pairs = [(3.0, 1.0), (3.0, 5.0), (3.0, 4.0)]

    found = prediction_powered_mean([3.0] * 50, pairs)

    assert found is not None
    assert found.weight == 0
    assert found.mean.value == pytest.approx(10 / 3)
    assert found.worth == pytest.approx(3)


def test_a_powered_mean_needs_two_labels_and_stays_on_the_scale() -> None:
    assert prediction_powered_mean([3.0, 4.0], [(3.0, 3.0)]) is None

    found = prediction_powered_mean([], [(5.0, 5.0), (1.0, 1.0)])
    assert found is not None
    assert (found.mean.low, found.mean.high) == (1.0, 5.0)
