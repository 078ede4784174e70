"""What deploy/ names exists in the code: settings, commands, options, ports, paths, versions."""

from __future__ import annotations

import inspect
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from tests.commands import ROOT
from tests.deployment import DEPLOY, command_lines, compose, generated_settings, pods, services_of_ours
from worker.cli import command_group
from worker.console import server
from worker.monitoring import alone
from worker.settings import Settings, environment_name, load_settings
from worker.streaming import service as worker_service
from worker.streaming import web
from worker.streaming.topics import INPUT_MESSAGE_BYTES, OUTPUT_MESSAGE_BYTES

#: Where each server listens unless told otherwise.
PORTS = {
    "worker": web.DEFAULT_PORT,
    "monitor": alone.DEFAULT_PORT,
    "console": Settings.model_fields["console_port"].default,
}
#: Seconds that a worker may take to stop.
STOPPING = worker_service.DRAIN + worker_service.LEAVE

FILES = sorted(
    path
    for path in DEPLOY.rglob("*")
    if path.is_file() and path.suffix in {"", ".md", ".py", ".sh", ".yaml", ".yml", ".json", ".dockerignore"}
)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_setting_that_is_named_exists(path: Path) -> None:
    known = {environment_name(field) for field in Settings.model_fields}
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:QUINTET|OPENAI)_[A-Z0-9_]*[A-Z0-9]\b(?!_?\*)", text))
    assert named <= known


def test_the_settings_of_the_manifests_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in generated_settings().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QUINTET_SASL_USERNAME", "somebody")  # from a Secret
    settings = load_settings()
    assert settings.group == Settings.model_fields["group"].default
    assert settings.topic_generated == Settings.model_fields["topic_generated"].default


def _said_in_text() -> list[tuple[str, list[str]]]:
    """Every line of the documents and scripts that calls `quintet`, as words."""
    found = []
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            for call in re.findall(r"`quintet ([^`]+)`", line):
                found.append((path.name, shlex.split(call)))
    return found


@pytest.mark.parametrize(
    ("where", "arguments"),
    [*command_lines(), *_said_in_text()],
    ids=lambda value: value if isinstance(value, str) else "_".join(value),
)
def test_every_command_and_option_exists(where: str, arguments: list[str]) -> None:
    """Parsed by click itself, without running anything."""
    command: click.Command | None = command_group
    context = click.Context(command_group)
    words = [word for word in arguments if "…" not in word]
    while isinstance(command, click.Group) and words:
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"{where}: there is no `quintet {' '.join(arguments)}`"
        context = click.Context(command, parent=context)
    assert command is not None
    command.make_parser(context).parse_args(words)


def test_every_pod_listens_on_its_commands_port() -> None:
    for pod in pods():
        command = pod.container["args"][0]
        declared = [port["containerPort"] for port in pod.container.get("ports", [])]
        assert declared == ([PORTS[command]] if command in PORTS else [])


def test_every_service_of_compose_listens_on_its_commands_port() -> None:
    for service in services_of_ours().values():
        inside = [int(port) for port in service.get("expose", [])]
        inside += [int(port.rpartition(":")[2]) for port in service.get("ports", [])]
        command = service["command"][0]
        assert inside == ([PORTS[command]] if command in PORTS else [])


def test_the_image_knows_the_ports() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    (exposed,) = re.findall(r"^EXPOSE (.+)$", dockerfile, re.MULTILINE)
    assert {int(port) for port in exposed.split()} == set(PORTS.values())


def test_probes_ask_for_pages_that_exist() -> None:
    for pod in pods():
        module = server if pod.container["args"] == ["console"] else web
        served = set(re.findall(r'add_get\("(/\w+)"', inspect.getsource(module)))
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = pod.container.get(kind)
            assert (probe is None) == (pod.owner["kind"] == "Job"), f"{pod.name}: {kind}"
            if probe:
                page, _, query = probe["httpGet"]["path"].partition("?")
                assert page in served
                assert query in {"", "exclude=breaker"}
                assert probe["httpGet"]["port"] in {port["name"] for port in pod.container["ports"]}


def test_every_stop_has_time_for_the_drain() -> None:
    for pod in pods():
        if pod.container["args"][0] in {"worker", "monitor"}:
            assert pod.spec["terminationGracePeriodSeconds"] > STOPPING + 5
    for service in services_of_ours().values():
        assert int(service["stop_grace_period"].removesuffix("s")) > STOPPING + 5


def test_the_broker_of_compose_takes_the_largest_record() -> None:
    kafka = compose()["services"]["kafka"]
    largest = max(INPUT_MESSAGE_BYTES, OUTPUT_MESSAGE_BYTES)
    assert int(kafka["environment"]["KAFKA_MESSAGE_MAX_BYTES"]) >= largest
    pom = (ROOT / "worker/streaming/kafka-pom.xml").read_text()
    tag = kafka["image"].rpartition(":")[2]
    assert f"<version>{tag}</version>" in pom, "the version that the tests run on"


def test_one_version_everywhere() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert f"ARG VERSION={VERSION}\n" in dockerfile
    assert f"--tag quintet:{VERSION} " in dockerfile
    named = {service["image"] for service in services_of_ours().values()}
    named |= {pod.container["image"] for pod in pods()}
    assert named == {f"quintet:{VERSION}"}


def test_prometheus_asks_the_servers_of_compose() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    asked = {
        job["job_name"]: (found["names"], found["port"])
        for job in config["scrape_configs"]
        for found in job["dns_sd_configs"]
    }
    assert asked == {
        f"quintet-{name}": ([name], PORTS[name])
        for name in ("worker", "monitor")
        if name in services_of_ours()
    }
    assert {pod.labels["app.kubernetes.io/name"] for pod in pods()} >= set(asked), "the jobs' names there"
