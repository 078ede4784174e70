"""Alerts say what to do and are tested; promtool and amtool take what is shipped."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daemons import required
from tests.deployed import ALERTMANAGER, DEPLOY, ROOT, RULES, Rule, alerts, faster, rule_files, rules, shorter

RULE_TESTS = sorted((RULES / "tests").glob("*.yml"))
RUNBOOK = DEPLOY / "runbook.md"
#: Who hears of what.
RECEIVERS = [
    ("QuintetScoreDrift", "pager"),
    ("QuintetDriftJudge", "judge-owner"),
    ("QuintetDriftMix", "nobody"),
    ("QuintetJudgeStricter", "judge-owner"),
    ("QuintetJudgeLenient", "judge-owner"),
    ("QuintetDriftUnwatched", "tickets"),
    ("QuintetLearningTooLong", "tickets"),
    ("QuintetLowScores", "pager"),
    ("QuintetLowScoresSlow", "tickets"),
    ("QuintetMeanLow", "pager"),
    ("QuintetJobDown", "pager"),
    ("QuintetTargetDown", "tickets"),
    ("QuintetNothingScored", "pager"),
    ("QuintetBreakerOpen", "pager"),
    ("QuintetBudgetUsedUp", "tickets"),
    ("QuintetBudgetNear", "tickets"),
    ("QuintetCostTooFast", "tickets"),
    ("QuintetRejectedMost", "pager"),
    ("QuintetRejectedSome", "tickets"),
    ("QuintetLagGrows", "tickets"),
    ("QuintetSummariesSlow", "tickets"),
]


def _run(*command: str | Path) -> str:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=120, check=False, cwd=RULES / "tests"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _headings() -> set[str]:
    """The anchors of the runbook, as its headings make them."""
    found = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in found}


def _cases() -> list[dict[str, Any]]:
    tests = [
        test for path in RULE_TESTS for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
    ]
    return [case for test in tests for case in test.get("alert_rule_test", [])]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_says_how_grave_it_is_and_what_to_do(alert: Rule) -> None:
    assert alert.labels["severity"] in {"page", "ticket", "info"}
    assert alert.labels["area"] in {"quality", "judge", "operations"}
    assert alert.annotations["summary"]
    assert alert.annotations["description"]
    file, anchor = alert.annotations["runbook"].split("#")
    assert ROOT / file == RUNBOOK
    assert anchor == alert.name.lower()
    assert anchor in _headings()


def test_a_section_of_the_runbook_says_three_things_and_belongs_to_an_alert() -> None:
    sections = re.split(r"^## ", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert sorted(section.split("\n")[0] for section in sections) == sorted(alert.name for alert in alerts())
    for section in sections:
        for part in ("**Means.**", "**Look at.**", "**Do.**"):
            assert part in section, section[:80]


def test_links_within_the_runbook_lead_somewhere() -> None:
    text = RUNBOOK.read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= _headings()
    for path in re.findall(r"\]\(([^#)]+)\)", text):
        assert (DEPLOY / path).exists()


def test_the_runbook_names_only_limits_that_exist() -> None:
    text = RUNBOOK.read_text(encoding="utf-8")
    assert set(re.findall(r"quintet:\w+", text)) <= {rule.name for rule in rules()}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_is_tested_for_firing_and_for_silence(alert: Rule) -> None:
    expected = [bool(case["exp_alerts"]) for case in _cases() if case["alertname"] == alert.name]
    assert set(expected) == {True, False}


def test_rule_tests_evaluate_groups_in_their_order() -> None:
    """Without an order promtool takes a random one, and a test may see yesterday's limits."""
    for path in RULE_TESTS:
        test = yaml.safe_load(path.read_text(encoding="utf-8"))
        loaded = [path.parent / name for name in test["rule_files"]]
        groups = {rule.group for rule in rules() if any(rule.file.samefile(file) for file in loaded)}
        assert set(test["group_eval_order"]) == groups, path.name


def test_promtool_takes_configuration_and_rules() -> None:
    promtool = required("promtool", "prometheus")
    _run(promtool, "check", "config", RULES / "prometheus.yml")
    _run(promtool, "check", "rules", *rule_files())


@pytest.mark.parametrize("path", RULE_TESTS, ids=lambda path: path.stem)
def test_alerts_fire_and_stay_silent(path: Path) -> None:
    _run(required("promtool", "prometheus"), "test", "rules", path)


def test_amtool_takes_the_configuration() -> None:
    _run(required("amtool", "prometheus-alertmanager"), "check-config", ALERTMANAGER)


@pytest.mark.parametrize(("name", "receiver"), RECEIVERS, ids=str)
def test_an_alert_reaches_whom_it_concerns(name: str, receiver: str) -> None:
    (alert,) = (rule for rule in alerts() if rule.name == name)
    labels = [f"{key}={value}" for key, value in {"alertname": name, **alert.labels}.items()]
    amtool = required("amtool", "prometheus-alertmanager")
    test = ("config", "routes", "test", f"--config.file={ALERTMANAGER}", f"--verify.receivers={receiver}")
    _run(amtool, *test, *labels)


def test_every_alert_has_a_place_to_go() -> None:
    assert sorted(name for name, _ in RECEIVERS) == sorted(alert.name for alert in alerts())


def test_inhibition_names_alerts_that_exist() -> None:
    config = yaml.safe_load(ALERTMANAGER.read_text(encoding="utf-8"))
    for rule in config["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            if matcher.startswith("alertname"):
                names = set(re.findall(r"\w+", matcher.split("=", 1)[1]))
                assert names <= {alert.name for alert in alerts()}, matcher


def test_a_quicker_clock_changes_times_and_nothing_else() -> None:
    rule = {
        "expr": 'max_over_time(x{window="1h"}[5m] offset 15m) > rate(y:1h[1h:1m])',
        "for": "10m",
        "labels": {"window": "1h"},
    }
    assert faster({"rules": [rule], "interval": "1h"}, 60) == {
        "rules": [
            {
                "expr": 'max_over_time(x{window="1h"}[5000ms] offset 15000ms) > rate(y:1h[60000ms:1000ms])',
                "for": "10000ms",
                "labels": {"window": "1h"},
            }
        ],
        "interval": "60000ms",
    }
    assert shorter("30s", 60) == "1000ms"
    assert shorter("0s", 60) == "0ms"
