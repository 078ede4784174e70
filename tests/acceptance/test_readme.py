"""Every command in the README does what the README says."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.commands import ROOT, environment
from tests.endpoint import Endpoint
from tests.monitors import draw_scores, observed, publish_scores, start_monitor
from tests.streams import Stage, Workers, eventually
from worker.cli import command_group
from worker.events import Kind, Metric
from worker.streaming.broker import Broker, free_port

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)

TEMPLATES = """
system_msg = "You grade texts."
clarity_prompt_template = '''{system_message} Is it clear? Score- <score>5</score>'''
"""


def _block(containing: str) -> str:
    found: list[str] = [block for block in BLOCKS if containing in block]
    assert len(found) == 1
    return found[0]


def _example() -> str:
    """The least event that the README shows, on one line."""
    found = re.search(r"```json\n(.*)\n```", README)
    assert found is not None
    json.loads(found[1])
    return found[1]


def _run(
    script: str, directory: Path, seconds: int = 120, **settings: str
) -> subprocess.CompletedProcess[str]:
    bin_directory = Path(sys.executable).parent
    env = environment(directory, **settings)
    env["PATH"] = f"{bin_directory}:{env['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def _any(settings: dict[str, str]) -> dict[str, Any]:
    """Settings as keywords, beside others that are not text."""
    return dict(settings)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A fresh directory with a file of one's own."""
    (tmp_path / "summaries.jsonl").write_text(_example() + "\n", encoding="utf-8")
    (tmp_path / "my-templates").mkdir()
    (tmp_path / "my-templates" / "clarity.txt").write_text(TEMPLATES, encoding="utf-8")
    return tmp_path


def test_the_samples_come_out_as_shown(directory: Path) -> None:
    script = _block("make setup").replace("make setup\nsource .venv/bin/activate\n", f"cd {ROOT}\n")
    done = _run(script, directory)
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"^phones-op-02 .*$", README, re.MULTILINE)
    assert shown in done.stdout.splitlines()


def test_own_summaries_are_scored(directory: Path) -> None:
    done = _run(_block("a table"), directory)
    assert done.returncode == 0, done.stderr
    assert "s-1" in done.stdout
    scored = json.loads((directory / "scored.jsonl").read_text())
    assert len(scored["scores"]) == 5


async def test_it_runs_on_ones_own_kafka_with_ones_own_model(directory: Path, broker: Broker) -> None:
    # The tests' own broker and endpoint stand in for the reader's; topics and ports are nobody else's.
    stage = Stage(broker.address, directory)
    async with Endpoint() as endpoint:
        script = _block("OPENAI_API_KEY=").replace("http://127.0.0.1:11434/v1", endpoint.url)
        script = script.replace("kafka-1:9092,kafka-2:9092", broker.address).replace("=…", "=key")
        # The topics are made after the doctor has looked for them.
        script = script.replace("quintet doctor ", "quintet doctor || true ")
        script = script.replace("quintet publish", "sleep 12; quintet publish")
        script += "sleep 8; kill -INT %1 %2; wait"
        web = {"QUINTET_WEB_PORT": str(free_port()), "QUINTET_CONSOLE_PORT": str(free_port())}
        done = await asyncio.to_thread(
            _run, "set -m\n" + script, directory, **_any(stage.env | web | {"QUINTET_REFERENCE_SET": "off"})
        )
    assert done.returncode == 0, done.stderr
    assert "llama3.1:8b answers, as fake-judge-2026" in done.stdout
    assert len(endpoint.judged) == 5
    assert "stopped: 1 scored, 0 rejected" in done.stderr


def test_own_prompts_are_used(directory: Path) -> None:
    done = _run(_block("prompts import"), directory)
    assert done.returncode == 0, done.stderr
    assert "my-pack: " not in done.stderr
    assert (directory / "my-pack" / "clarity.comparative_explanation.txt").exists()


def test_a_stream_is_scored(directory: Path, broker: Broker) -> None:
    # The tests' own broker stands in for the one on the default port; the worker gets a signal, as Ctrl-C sends one.
    script = _block("quintet broker start")
    script = re.sub(r"quintet broker \w+.*", "", script)
    script = script.replace(
        "lexical quintet worker", "lexical timeout --preserve-status -s INT 20 quintet worker"
    )
    script = script.replace("--from-beginning", "--from-beginning --limit 1")
    done = _run(script, directory, QUINTET_BROKERS=broker.address, QUINTET_WEB_PORT="0")
    assert done.returncode == 0, done.stderr
    assert "s-1" in done.stdout
    assert "stopped: 1 scored, 0 rejected, 0 repeated, 0 in flight" in done.stderr


def test_drift_is_looked_at_and_accepted(stage: Stage, workers: Workers, directory: Path) -> None:
    stage.env["QUINTET_BASELINE_SIZE"] = "300"
    scores = draw_scores(400, seed=3, names=[(Kind.OPINION, Metric.CLARITY)], segments=["phones"])
    publish_scores(stage, scores)
    start_monitor(workers)
    eventually(lambda: observed(stage) == 400, 60, pause=0.5)
    script = _block("drift accept").replace("tail drift", "tail drift --from-beginning --limit 1")
    done = _run(script, directory, **_any(stage.env))
    assert done.returncode == 0, done.stderr
    assert "a drop of 0.3: warning after about" in done.stdout
    assert "learning" in done.stdout


def test_the_demo_tells_the_whole_story_and_leaves_nothing_behind(directory: Path, broker: Broker) -> None:
    # `make demo` is set-up and this command; Kafka's jars are taken from where the tests' broker has them.
    assert _block("make demo") == "make demo\n"
    assert "quintet demo" in (ROOT / "Makefile").read_text(encoding="utf-8")
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    port = str(free_port())
    done = _run(
        "quintet demo",
        directory,
        seconds=400,
        XDG_CACHE_HOME=cache,
        QUINTET_CONSOLE_PORT=port,
        TMPDIR=str(directory),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "QUINTET_BASELINE_SIZE=300" in done.stdout
    assert "rejected  5 records" in done.stdout
    alarms = re.findall(r"^(\w+) +\w+ +\w+ +(\w+) +\d\.\d\d", done.stdout, re.MULTILINE)
    assert alarms and set(alarms) == {("phones", "generator")}
    assert not list(directory.glob("quintet-demo-*"))
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(directory) not in running


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"quintet ([a-z]+)", README))
    assert named <= set(command_group.list_commands(click.Context(command_group)))


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
