"""A /metrics page whose series a test sets by hand, for what would take a real worker hours."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

Series = tuple[str, tuple[tuple[str, str], ...]]


class Exporter:
    """Serves what it was told, on a loopback port."""

    def __init__(self) -> None:
        self._series: dict[Series, float] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def set(self, name: str, value: float, **labels: str) -> None:
        """One series has this value from now on."""
        with self._lock:
            self._series[name, tuple(sorted(labels.items()))] = value

    def drop(self, name: str, **labels: str) -> None:
        """Series of this name with these labels, among others, are gone."""
        with self._lock:
            gone = [key for key in self._series if key[0] == name and set(labels.items()) <= set(key[1])]
            for key in gone:
                del self._series[key]

    def render(self) -> bytes:
        """The page; all of it from one moment."""
        with self._lock:
            return "".join(_line(*key, value) for key, value in self._series.items()).encode()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.render()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _line(name: str, labels: tuple[tuple[str, str], ...], value: float) -> str:
    pairs = ",".join(f"{label}={json.dumps(text)}" for label, text in labels)
    return f"{name}{{{pairs}}} {value}\n"
