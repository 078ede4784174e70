"""A real Prometheus with the shipped configuration, rules and alerts, on a quicker clock.

```
with Prometheus(tmp_path, {"quintet-worker": ["127.0.0.1:9464"]}, alertmanager.address) as prometheus:
    prometheus.firing()
```
The targets may be real workers and monitors as well as an `Exporter`.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.daemons import Daemon, required
from tests.deployed import RULES, faster, rule_files, shorter

#: A minute takes a second.
FACTOR = 60.0


class Prometheus(Daemon):
    """Scrapes the targets of each job and tells one Alertmanager."""

    def __init__(
        self,
        directory: Path,
        targets: Mapping[str, Sequence[str]],
        alertmanager: str,
        factor: float = FACTOR,
    ) -> None:
        super().__init__(directory)
        self._program = required("prometheus", "prometheus")
        self._targets = targets
        self._alertmanager = alertmanager
        self._factor = factor

    def command(self) -> list[str]:
        """Writes the configuration and says what to run."""
        config = self.directory / "prometheus.yml"
        config.write_text(yaml.safe_dump(self._config()), encoding="utf-8")
        return [
            self._program,
            f"--config.file={config}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={self.address}",
            f"--query.lookback-delta={shorter('5m', self._factor)}",
            "--rules.alert.resend-delay=1s",
            "--log.level=warn",
        ]

    def firing(self) -> list[dict[str, str]]:
        """The labels of every alert that fires at the moment, whoever hears of it."""
        found = json.loads(self.get("/api/v1/alerts"))["data"]["alerts"]
        return [alert["labels"] for alert in found if alert["state"] == "firing"]

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of every series of an instant query."""
        answer = json.loads(self.get(f"/api/v1/query?query={urllib.parse.quote(expression)}"))
        return [(row["metric"], float(row["value"][1])) for row in answer["data"]["result"]]

    def _config(self) -> dict[str, Any]:
        """The shipped configuration with other addresses, and jobs without a target left out."""
        config: dict[str, Any] = yaml.safe_load((RULES / "prometheus.yml").read_text(encoding="utf-8"))
        for name, value in config["global"].items():
            config["global"][name] = shorter(value, self._factor)
        config["rule_files"] = [str(self._copy(path)) for path in rule_files()]
        config["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [self._alertmanager]}]}]
        config["scrape_configs"] = [
            {key: value for key, value in job.items() if key != "dns_sd_configs"}
            | {"static_configs": [{"targets": list(self._targets[job["job_name"]])}]}
            for job in config["scrape_configs"]
            if job["job_name"] in self._targets
        ]
        return config

    def _copy(self, path: Path) -> Path:
        """A rule file on the quicker clock."""
        copy = self.directory / f"{path.parent.name}-{path.name}"
        rules = faster(yaml.safe_load(path.read_text(encoding="utf-8")), self._factor)
        copy.write_text(yaml.safe_dump(rules), encoding="utf-8")
        return copy
