"""The files of deploy/ as they are shipped, and the same files on a quicker clock.

`faster` is how tests get along without waiting for hours: it divides every duration in a rule file or in
Alertmanager's configuration by a factor and changes nothing else. Rates stay per second and thresholds stay
what they are, so counts that a rule makes from a rate and a fixed number of seconds come out too large by the factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus"
ALERTMANAGER = DEPLOY / "alertmanager" / "alertmanager.yml"

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_DURATION = re.compile(r"(\d+)(ms|[smhdw])")
#: Keys whose values are durations, in rule files and in Alertmanager's configuration.
_TIMES = {"for", "keep_firing_for", "interval", "group_wait", "group_interval", "repeat_interval"}
#: A range, a subquery's step or an offset inside an expression; label values and names never look like this.
_IN_EXPRESSION = re.compile(r"(?<=\[)[\dsmhdw:]+(?=\])|(?<=\boffset )[\dsmhdw]+")
#: Seconds that no duration goes below: Prometheus and Alertmanager need a moment too.
_LEAST = 1.0


@dataclass(frozen=True)
class Rule:
    """One rule of a shipped file."""

    file: Path
    group: str
    #: The series it records or the alert it raises.
    name: str
    is_alert: bool
    expr: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


def rule_files() -> list[Path]:
    """All that prometheus.yml loads."""
    return [path for part in ("rules", "alerts") for path in sorted((RULES / part).glob("*.yml"))]


@cache
def rules() -> list[Rule]:
    """All shipped rules, in the order of their files."""
    return list(_read_rules())


def _read_rules() -> Iterator[Rule]:
    for path in rule_files():
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                yield Rule(
                    file=path,
                    group=group["name"],
                    name=rule.get("alert") or rule["record"],
                    is_alert="alert" in rule,
                    expr=rule["expr"],
                    labels=rule.get("labels", {}),
                    annotations=rule.get("annotations", {}),
                )


def alerts() -> list[Rule]:
    """The shipped alerts."""
    return [rule for rule in rules() if rule.is_alert]


def faster(value: Any, factor: float) -> Any:
    """The same configuration with every duration divided."""
    if isinstance(value, list):
        return [faster(item, factor) for item in value]
    if isinstance(value, dict):
        return {key: _faster_entry(key, item, factor) for key, item in value.items()}
    return value


def _faster_entry(key: str, value: Any, factor: float) -> Any:
    if key in _TIMES:
        return shorter(value, factor)
    if key == "expr":
        return _IN_EXPRESSION.sub(lambda found: shorter(found[0], factor), str(value))
    return faster(value, factor)


def shorter(duration: str, factor: float) -> str:
    """A duration, or two with a colon between, divided; never below a second."""
    return ":".join(_divided(part, factor) if part else "" for part in duration.split(":"))


def _divided(duration: str, factor: float) -> str:
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration))
    return f"{round(max(seconds / factor, min(seconds, _LEAST)) * 1000)}ms"
