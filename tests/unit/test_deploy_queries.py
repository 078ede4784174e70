"""Every query in rules, alerts and dashboards names only what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.deployed import DEPLOY, Rule, alerts, rules
from tests.promql import Labels, WrongQueryError, labels_of
from tests.series import scraped
from worker.telemetry import WorkerTelemetry

DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
#: What Grafana fills in before it asks; a chosen value or all of them.
GRAFANA = {"$__rate_interval": "5m", "$__range": "1h", "$__interval": "1m"}
#: A query inside a template: a literal for `query`, or a format for it.
TEMPLATE_QUERY = re.compile(r'(?:query|printf) "((?:[^"\\]|\\.)*)"')
TEMPLATE_LABEL = re.compile(r"\$labels\.(\w+)")


@cache
def _known() -> dict[str, Labels]:
    """Scraped and recorded series; a record may use those recorded before it, in any file."""
    known = scraped()
    waiting = [rule for rule in rules() if not rule.is_alert]
    while waiting:
        ready = [rule for rule in waiting if not _missing(rule, known)]
        assert ready, f"nothing records what these need: {[_missing(rule, known) for rule in waiting]}"
        for rule in ready:
            labels = labels_of(rule.expr, known) | rule.labels.keys()
            assert known.setdefault(rule.name, labels) == labels, f"{rule.name} has two sets of labels"
        waiting = [rule for rule in waiting if rule not in ready]
    return known


def _missing(rule: Rule, known: dict[str, Labels]) -> set[str]:
    recorded = {other.name for other in rules() if not other.is_alert}
    named = set(re.findall(r"\bquintet:[\w:]+", rule.expr))
    return {name for name in named & recorded if name not in known}


@pytest.mark.parametrize("rule", list(rules()), ids=lambda rule: f"{rule.file.stem}-{rule.name}")
def test_a_rule_names_only_what_is_there(rule: Rule) -> None:
    labels_of(rule.expr, _known())


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_speaks_only_of_labels_it_has(alert: Rule) -> None:
    labels = labels_of(alert.expr, _known()) | alert.labels.keys()
    for text in alert.annotations.values():
        assert set(TEMPLATE_LABEL.findall(text)) <= labels
        for query in TEMPLATE_QUERY.findall(text):
            if "quintet" in query:
                labels_of(
                    json.loads(f'"{query}"')
                    .replace("%q", '"clarity"')
                    .replace('kind="clarity"', 'kind=~".+"'),
                    _known(),
                )


def test_every_recorded_series_is_of_use() -> None:
    asked = [rule.expr for rule in rules()] + [query for path in DASHBOARDS for query in _queries(path)]
    text = "\n".join(asked)
    unused = {
        rule.name for rule in rules() if not rule.is_alert and not re.search(rf"{rule.name}(?![\w:])", text)
    }
    assert not unused


def _panels(path: Path) -> Iterator[dict[str, Any]]:
    waiting = list(json.loads(path.read_text(encoding="utf-8"))["panels"])
    while waiting:
        panel = waiting.pop()
        waiting += panel.get("panels", [])
        yield panel


def _queries(path: Path) -> list[str]:
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in _panels(path) for target in panel.get("targets", [])]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert found, variable["query"]
            queries.append(f"count by ({found[2]}) ({found[1]})")
    return queries


def _filled_in(query: str) -> str:
    for name, value in GRAFANA.items():
        query = query.replace(name, value)
    return re.sub(r"\$\w+", ".+", query)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_asks_only_for_what_is_there(path: Path) -> None:
    queries = _queries(path)
    assert queries
    for query in queries:
        labels_of(_filled_in(query), _known())


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_has_what_grafana_needs(path: Path) -> None:
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    panels = list(_panels(path))
    assert dashboard["uid"] == f"quintet-{path.stem}"
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert panel["type"] == "row" or panel["datasource"]["uid"] == "${datasource}"
        legends = [target.get("legendFormat", "") for target in panel.get("targets", [])]
        for target, legend in zip(panel.get("targets", []), legends, strict=True):
            labels = labels_of(_filled_in(target["expr"]), _known())
            assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= labels, (panel["title"], legend)


def test_the_worker_s_table_is_the_worker_s() -> None:
    """The page of a fresh worker has no series that the table lacks."""
    page = WorkerTelemetry(5).render().decode()
    names = set(re.findall(r"^(quintet_\w+)", page, re.MULTILINE))
    assert names <= scraped().keys()


@pytest.mark.parametrize(
    "query",
    [
        "quintet_score_total",
        'quintet_scores_total{category="phones"}',
        'quintet_summaries_total{outcome="scored"} / quintet_in_flight',
        "sum by (segment) (quintet_judge_shift)",
        'quintet_drift_state{state="alarmed"}',
        'quintet_drift_verdict{verdict=~"generator|undecided"}',
        "quintet_in_flight > on (kind) quintet_summary_duration_seconds_count",
        "histogram_quantile(0.9, sum by (kind) (rate(quintet_summary_duration_seconds_bucket[5m])))",
        "quintet_summary_duration_seconds",
    ],
)
def test_a_query_for_something_else_is_found(query: str) -> None:
    with pytest.raises(WrongQueryError):
        labels_of(query, scraped())
