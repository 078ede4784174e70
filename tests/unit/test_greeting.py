"""Who listens on a broker's port, asked over real sockets."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from worker.settings import Settings
from worker.streaming import greeting
from worker.streaming.greeting import Listener, greet

TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x46"


@contextmanager
def _listening(answer: bytes | None) -> Iterator[str]:
    """A server that sends a few bytes and hangs up, or with None keeps quiet."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                if answer is None:
                    done.wait(10)
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting, "PATIENCE", 0.3)


@pytest.mark.parametrize(
    ("answer", "listener"),
    [
        (None, Listener.SILENT),
        (b"", Listener.SILENT),
        (TLS_ALERT, Listener.WANTS_TLS),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Listener.STRANGER),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Listener.WEB),
    ],
)
def test_a_stranger_is_told_by_its_first_bytes(answer: bytes | None, listener: Listener) -> None:
    with _listening(answer) as broker:
        greeted = greet(Settings(brokers=(broker,)), broker)
    assert greeted.listener is listener
    assert broker in greeted.message
    assert greeted.listener.next_step


def test_a_web_server_that_waits_for_the_end_of_the_line_is_known_too() -> None:
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            broker = f"127.0.0.1:{server.server_port}"
            assert greet(Settings(), broker).listener is Listener.WEB
        finally:
            server.shutdown()
            thread.join()


def test_a_listener_without_tls_is_told_where_tls_is_set() -> None:
    with _listening(b"not a handshake at all") as broker:
        greeted = greet(Settings(security_protocol="SSL"), broker)
    assert greeted.listener is Listener.WITHOUT_TLS


def test_nobody_is_told_with_the_systems_own_words() -> None:
    greeted = greet(Settings(), "127.0.0.1:1")
    assert greeted.listener is Listener.NOBODY
    assert "refused" in greeted.message
