"""What the drift monitor tells Prometheus: every name of the contract, with its labels and its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.drift_scores import (
    COHERENCE,
    JUDGE,
    RUBRIC,
    SMALL,
    START,
    draw,
    feed,
    metric_scored,
    new_group,
    shifted,
    whole,
)
from worker.drift.group import Group
from worker.drift.status import psi_of, status_of
from worker.drift.verdict import JudgeShift
from worker.events import DriftChanged, DriftState, DriftVerdict, Kind, Metric
from worker.telemetry import MonitorTelemetry, WorkerTelemetry

#: Name and labels, as the contract has them.
CONTRACT = {
    "quintet_score_mean": {"kind", "metric", "segment", "window"},
    "quintet_drift_statistic": {"kind", "metric", "segment"},
    "quintet_drift_threshold": {"kind", "metric", "segment"},
    "quintet_drift_state": {"kind", "metric", "segment", "state"},
    "quintet_drift_verdict": {"kind", "metric", "segment", "verdict"},
    "quintet_drift_alarms_total": {"kind", "metric", "verdict"},
    "quintet_score_psi": {"kind", "metric", "segment"},
    "quintet_judge_shift": {"metric"},
    "quintet_judge_agreement": {"metric", "statistic"},
}
STREAM = {"kind": "product_opinion", "metric": "clarity", "segment": "phones"}
LATER = START + timedelta(days=30)


class Page:
    """A worker's /metrics with a monitor on it."""

    def __init__(
        self, groups: Iterable[Group] = (), shifts: Mapping[Metric, JudgeShift] | None = None
    ) -> None:
        self.groups, self.shifts = list(groups), shifts
        self.worker = WorkerTelemetry(50)
        self.monitor: MonitorTelemetry = self.worker.with_monitor()
        self.monitor.watch(lambda: self.groups, lambda: self.shifts)

    def samples(self) -> list[Any]:
        """Everything, as a Prometheus client reads it."""
        text = self.worker.render().decode()
        return [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def values(self, name: str, **labels: str) -> list[float]:
        """The values of all series with these labels."""
        return [
            sample.value
            for sample in self.samples()
            if sample.name == name and labels.items() <= sample.labels.items()
        ]


def _learned() -> Group:
    group = new_group()
    feed(group, draw(whole(COHERENCE), 400, 1))
    return group


def _alarmed() -> tuple[Group, list[DriftChanged]]:
    group = _learned()
    return group, feed(group, draw(shifted(whole(COHERENCE), 0.8), 300, 2), start=400)


def _shift(difference: float, error: float = 0.02, references: int = 120) -> JudgeShift:
    return JudgeShift(Metric.CLARITY, JUDGE, {RUBRIC: references}, difference, error, LATER)


def test_every_series_of_the_contract_is_there_with_its_labels() -> None:
    group, events = _alarmed()
    page = Page([group], {Metric.CLARITY: _shift(-0.4)})
    page.monitor.watch_agreement(lambda: {(Metric.CLARITY, "spearman"): 0.5})
    for event in events + group.settle(_shift(-0.4), LATER):
        page.monitor.changed(event)
    labels = {sample.name: set(sample.labels) for sample in page.samples() if sample.name in CONTRACT}
    assert labels == CONTRACT


def test_means_statistic_threshold_and_psi_are_those_of_the_stream() -> None:
    group = _learned()
    page, stream = Page([group]), group.streams["phones"]
    status, detector = status_of(stream), stream.shown
    assert status is not None and detector is not None and detector.baseline is not None
    assert page.values("quintet_score_mean", window="baseline", **STREAM) == [detector.baseline.mean]
    assert page.values("quintet_score_mean", window="current", **STREAM) == [status.current_mean]
    assert page.values("quintet_drift_statistic", **STREAM) == [status.statistic]
    assert page.values("quintet_drift_threshold", **STREAM) == [status.threshold]
    assert page.values("quintet_score_psi", **STREAM) == [psi_of(detector)]


def test_what_is_not_known_yet_is_no_series() -> None:
    group = new_group()
    feed(group, [4.0] * 5)
    page = Page([group])
    assert page.values("quintet_drift_state", state="learning", **STREAM) == [1]
    assert page.values("quintet_score_mean", **STREAM) == [4.0]
    for name in (
        "quintet_drift_statistic",
        "quintet_drift_threshold",
        "quintet_score_psi",
        "quintet_judge_shift",
    ):
        assert page.values(name) == []


def test_a_stream_is_in_exactly_one_state() -> None:
    group, _ = _alarmed()
    page = Page([group])
    assert page.values("quintet_drift_state", state="alarm", **STREAM) == [1]
    assert sorted(page.values("quintet_drift_state", **STREAM)) == [0, 0, 0, 0, 1]


def test_the_verdict_is_shown_while_the_alarm_stands() -> None:
    group, _ = _alarmed()
    page = Page([group])
    assert page.values("quintet_drift_verdict") == []
    group.settle(_shift(0.0), LATER)
    assert page.values("quintet_drift_verdict", verdict="generator", **STREAM) == [1]
    group.accept("phones", LATER, SMALL)
    assert page.values("quintet_drift_verdict", **STREAM) == []


def test_an_alarm_is_counted_once_by_the_verdict_found() -> None:
    group, events = _alarmed()
    page = Page([group])
    for event in events:
        page.monitor.changed(event)
    assert sum(page.values("quintet_drift_alarms_total")) == 0, "no verdict yet"
    settled = group.settle(_shift(-0.6), LATER)
    for event in settled:
        page.monitor.changed(event)
    assert page.values("quintet_drift_alarms_total", verdict="judge", metric="clarity") == [
        0,
        0,
        len(settled),
    ]
    assert sum(page.values("quintet_drift_alarms_total")) == len(settled)


def test_alarms_that_have_not_happened_are_zero_and_can_be_alerted_on() -> None:
    assert page_names(Page()) == {
        (kind, metric, verdict) for kind in Kind for metric in Metric for verdict in DriftVerdict
    }


def page_names(page: Page) -> set[tuple[str, str, str]]:
    return {
        (sample.labels["kind"], sample.labels["metric"], sample.labels["verdict"])
        for sample in page.samples()
        if sample.name == "quintet_drift_alarms_total"
    }


@pytest.mark.parametrize(
    ("shift", "shown"),
    [
        (_shift(-0.4), -0.4),
        (_shift(+0.4), +0.4),
        (_shift(-0.04), 0.0),
        (_shift(-0.4, error=0.2), 0.0),
        (_shift(-0.4, references=119), 0.0),
    ],
)
def test_the_judges_shift_is_zero_unless_it_is_significant(shift: JudgeShift, shown: float) -> None:
    assert Page(shifts={Metric.CLARITY: shift}).values("quintet_judge_shift", metric="clarity") == [shown]


def test_the_judges_shift_is_shown_only_by_the_leader() -> None:
    page = Page(shifts={Metric.CLARITY: _shift(-0.4)})
    assert page.values("quintet_judge_shift")
    page.shifts = None
    assert not page.values("quintet_judge_shift")


def test_streams_that_another_monitor_took_over_are_dropped() -> None:
    group = _learned()
    page = Page([group])
    assert page.values("quintet_score_mean", **STREAM)
    page.groups = []
    for name in set(CONTRACT) - {"quintet_drift_alarms_total"}:
        assert not page.values(name)


@given(st.text(min_size=1, max_size=40).filter(lambda text: "|" not in text))
def test_any_segment_can_be_read_back(segment: str) -> None:
    group = new_group()
    group.observe(metric_scored(0, 4.0, segment), SMALL)
    found = {
        sample.labels["segment"] for sample in Page([group]).samples() if sample.name == "quintet_drift_state"
    }
    assert found == {"all", segment}


@pytest.mark.parametrize(
    "segment", ['a "quoted" name', "two\nlines", "back\\slash", "\\n", '\\"', "r\rn", "a{b}"]
)
def test_quotes_and_line_ends_are_escaped(segment: str) -> None:
    group = new_group()
    group.observe(metric_scored(0, 4.0, segment), SMALL)
    text = Page([group]).worker.render().decode()
    lines = [line for line in text.split("\n") if line.startswith("quintet_drift_state{")]
    assert len(lines) == 2 * len(DriftState)
    assert Page([group]).values("quintet_drift_state", segment=segment, state="learning") == [1]


def test_labels_are_shown_by_metric_and_statistic() -> None:
    page = Page()
    agreement = {
        (Metric.CLARITY, "spearman"): 0.5,
        (Metric.CLARITY, "labelled"): 12,
    }
    page.monitor.watch_agreement(lambda: agreement)
    assert page.values("quintet_judge_agreement", metric="clarity", statistic="spearman") == [0.5]
    assert page.values("quintet_judge_agreement") == [0.5, 12.0]
