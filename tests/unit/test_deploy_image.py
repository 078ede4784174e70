"""The Dockerfile, as far as it can be looked at without building it, and its health check for real."""

from __future__ import annotations

import http.server
import re
import runpy
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT
from tests.deployment import DEPLOY, compose
from worker.settings import Settings
from worker.streaming import web

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def _instructions(name: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^{name} (.+)$", joined, re.MULTILINE)


def test_the_final_stage_runs_as_a_number() -> None:
    (user,) = _instructions("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert DOCKERFILE.index("USER ") > DOCKERFILE.rindex("FROM ")


def test_every_image_has_a_full_version() -> None:
    bases = [value.partition("=")[2] for value in _instructions("ARG") if "IMAGE" in value]
    images = [service["image"] for service in compose()["services"].values()]
    for image in bases + images:
        assert re.search(r":v?\d+\.\d+\.\d+(-[\w.-]+)?$", image), image
    assert all(source.startswith("${PYTHON_IMAGE}") for source in _instructions("FROM"))


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    allowed = {
        line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    assert _copied() == allowed
    assert all((ROOT / name).exists() for name in _copied())


def test_every_package_of_the_wheel_is_copied() -> None:
    """A directory that pyproject.toml maps and the first stage lacks breaks the build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["setuptools"]["package-dir"].values()) <= _copied()
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= _copied()


def _copied() -> set[str]:
    """What the build takes from the repository."""
    found: set[str] = set()
    for instruction in _instructions("COPY"):
        words = [word for word in instruction.split() if not word.startswith("--")]
        found |= set(words[:-1])
    return found


def test_everything_that_is_written_is_in_the_volume() -> None:
    (volume,) = _instructions("VOLUME")
    values = dict(pair.split("=", 1) for line in _instructions("ENV") for pair in line.split())
    for name in ("HOME", "XDG_CACHE_HOME", "QUINTET_CACHE"):
        assert Path(values[name]).is_relative_to(volume)
    assert values["QUINTET_WEB_HOST"] != Settings.model_fields["web_host"].default


@pytest.fixture
def check() -> dict[str, Any]:
    return runpy.run_path(str(DEPLOY / "healthcheck.py"))


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    """Answers 200 on /healthz and 404 elsewhere."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("command_line", "port"),
    [
        ("/usr/local/bin/python\0/usr/local/bin/quintet\0worker\0--no-monitor\0", web.DEFAULT_PORT),
        ("/sbin/docker-init\0--\0quintet\0monitor\0", 9465),
        ("quintet\0console\0", Settings.model_fields["console_port"].default),
    ],
)
def test_the_health_check_knows_each_servers_port(
    check: dict[str, Any], monkeypatch: pytest.MonkeyPatch, command_line: str, port: int
) -> None:
    monkeypatch.delenv("QUINTET_WEB_PORT", raising=False)
    assert check["address"](command_line.split("\0")) == f"http://127.0.0.1:{port}/healthz"


def test_a_command_that_serves_nothing_is_well(check: dict[str, Any]) -> None:
    assert check["address"](["quintet", "topics", "create"]) is None


def test_the_health_check_tells_alive_from_dead(
    check: dict[str, Any],
    server: http.server.HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Given a container whose environment has a proxy, which knows nothing of this address
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"quintet\0worker\0")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("QUINTET_WEB_PORT", str(server.server_port))
    assert check["main"]() == 0

    # When nobody listens
    monkeypatch.setenv("QUINTET_WEB_PORT", "1")

    # Then
    assert check["main"]() == 1
    assert "127.0.0.1:1/healthz" in capsys.readouterr().out
