"""Which series there are, with which labels and which values of them: what queries are held against."""

from __future__ import annotations

from collections.abc import Mapping

from tests.unit.test_monitor_telemetry import CONTRACT as MONITOR
from tests.unit.test_telemetry import CONTRACT as WORKER
from worker.errors import OutageReason, RejectionReason
from worker.events import DriftState, DriftVerdict, Kind, Metric

#: What a scrape adds.
TARGET = frozenset({"job", "instance"})

#: Labels whose values are a closed list, wherever they stand.
VALUES: Mapping[str, frozenset[str]] = {
    "kind": frozenset({*Kind, "unknown"}),
    "metric": frozenset({*Metric, "probe"}),
    "score": frozenset("12345"),
    "state": frozenset(DriftState),
    "verdict": frozenset(DriftVerdict),
    "reason": frozenset({*OutageReason, *RejectionReason}),
    "job": frozenset({"quintet-worker", "quintet-monitor"}),
}


def scraped() -> dict[str, frozenset[str]]:
    """Every series a scrape can bring, with all its labels."""
    found = {"up": TARGET}
    for name, labels in (WORKER | MONITOR).items():
        own = TARGET | labels
        if name in {"quintet_last_scored_timestamp_seconds"} or not name.endswith("_seconds"):
            found[name] = own
            continue
        found[f"{name}_bucket"] = own | {"le"}
        found[f"{name}_sum"] = found[f"{name}_count"] = own
    return found
