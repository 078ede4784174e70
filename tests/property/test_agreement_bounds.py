"""Whatever the scores: every figure lies in [-1, 1] and none is NaN."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.agreement import JudgedScore, JudgedSummary, measure, prediction_powered_mean
from worker.events import HumanLabel, Metric

SCORES = st.floats(1, 5, allow_nan=False)
IDS = st.sampled_from([f"s{n}" for n in range(8)])
LABELS = st.builds(
    HumanLabel,
    summary_id=IDS,
    annotator=st.sampled_from(["ada", "bo", "cy"]),
    group=st.sampled_from([None, "g", "h"]),
    scores=st.dictionaries(st.sampled_from(list(Metric)), SCORES),
)
JUDGED = st.builds(
    JudgedSummary,
    summary_id=IDS,
    word_count=st.integers(0, 500),
    scores=st.dictionaries(
        st.sampled_from(list(Metric)), st.builds(JudgedScore, st.integers(1, 5), SCORES), max_size=5
    ),
)


@given(st.lists(JUDGED, max_size=12), st.lists(LABELS, max_size=30))
@settings(deadline=None)
def test_every_figure_is_a_number_between_minus_one_and_one(
    judged: list[JudgedSummary], labels: list[HumanLabel]
) -> None:
    found = measure(judged, labels, resamples=20)

    for of_metric in found.by_metric.values():
        if of_metric is None:
            continue
        estimates = [of_metric.spearman, of_metric.kendall, of_metric.kappa, of_metric.length_spearman]
        figures = [end for one in estimates if one is not None for end in (one.low, one.value, one.high)]
        figures.append(of_metric.human_spearman or 0.0)
        assert all(-1.0 <= figure <= 1.0 for figure in figures)


@given(st.lists(SCORES, max_size=20), st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=20))
@settings(deadline=None)
def test_a_powered_mean_lies_on_the_scale_and_in_its_interval(
    unlabelled: list[float], labelled: list[tuple[float, float]]
) -> None:
    found = prediction_powered_mean(unlabelled, labelled)

    assert found is not None
    assert 1.0 <= found.mean.low <= found.mean.value <= found.mean.high <= 5.0
    assert 0.0 <= found.weight <= 1.0
