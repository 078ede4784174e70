"""A real Alertmanager with the shipped routes, on a quicker clock, and the webhook that hears what it says."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import yaml

from tests.daemons import Daemon, required
from tests.deployed import ALERTMANAGER, faster

#: Half an hour between two notifications of a group takes five seconds.
FACTOR = 360.0


@dataclass(frozen=True)
class Notification:
    """What one receiver was told at once."""

    receiver: str
    at: float
    #: `firing` or `resolved`.
    status: str
    alerts: list[dict[str, Any]]

    def values(self, label: str) -> set[str]:
        """The values of a label over its alerts."""
        return {alert["labels"][label] for alert in self.alerts if label in alert["labels"]}

    def annotations(self, name: str) -> set[str]:
        """The values of an annotation over its alerts."""
        return {alert["annotations"][name] for alert in self.alerts if name in alert["annotations"]}


class Webhook:
    """Takes notifications at /<receiver> and keeps them, in order."""

    def __init__(self) -> None:
        self.notifications: list[Notification] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def to(self, receiver: str) -> list[Notification]:
        """What one receiver was told so far."""
        return [found for found in self.notifications if found.receiver == receiver]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        notifications = self.notifications

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver = self.path.strip("/")
                notifications.append(Notification(receiver, time.time(), body["status"], body["alerts"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class Alertmanager(Daemon):
    """Routes, groups and inhibits as shipped; every receiver is a path of one webhook."""

    def __init__(self, directory: Path, webhook: Webhook, factor: float = FACTOR) -> None:
        super().__init__(directory)
        self._program = required("prometheus-alertmanager", "prometheus-alertmanager")
        self._webhook = webhook
        self._factor = factor

    def command(self) -> list[str]:
        """Writes the configuration and says what to run."""
        config = self.directory / "alertmanager.yml"
        config.write_text(yaml.safe_dump(self._config()), encoding="utf-8")
        return [
            self._program,
            f"--config.file={config}",
            f"--storage.path={self.directory / 'data'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
            "--log.level=warn",
        ]

    def _config(self) -> dict[str, Any]:
        """The shipped configuration with our webhook in place of everybody's address."""
        shipped = yaml.safe_load(ALERTMANAGER.read_text(encoding="utf-8"))
        config: dict[str, Any] = faster(shipped, self._factor)
        for receiver in config["receivers"]:
            for webhook in receiver.get("webhook_configs", []):
                webhook["url"] = f"{self._webhook.url}/{receiver['name']}"
        return config
