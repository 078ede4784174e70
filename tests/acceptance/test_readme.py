"""Every command in the README does what the README says."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.commands import ROOT, environment
from tests.endpoint import Endpoint
from worker.cli import command_group
from worker.streaming.broker import Broker

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


def _run(script: str, directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    bin_directory = Path(sys.executable).parent
    env = environment(directory, **settings)
    env["PATH"] = f"{bin_directory}:{env['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


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


async def test_a_model_can_be_the_judge(directory: Path) -> None:
    async with Endpoint() as endpoint:
        script = _block("OPENAI_API_KEY=").replace("http://127.0.0.1:11434/v1", endpoint.url)
        # The doctor also looks for a broker, which is not what this block is about.
        script = script.replace("quintet doctor", "quintet doctor || true").replace("=…", "=key")
        done = await asyncio.to_thread(_run, script, directory, QUINTET_BROKERS="127.0.0.1:1")
    assert done.returncode == 0, done.stderr
    assert "gpt-4o-mini answers, as fake-judge-2026" in done.stdout
    assert len(endpoint.judged) == 5


def test_own_prompts_are_used(directory: Path) -> None:
    done = _run(_block("prompts import"), directory)
    assert done.returncode == 0, done.stderr
    assert "my-pack: " not in done.stderr
    assert (directory / "my-pack" / "clarity.comparative_explanation.txt").exists()


def test_a_stream_is_scored(directory: Path, broker: Broker) -> None:
    # The tests' own broker stands in for the one on the default port; the worker gets a signal, as Ctrl-C sends one.
    script = _block("quintet topics create")
    script = re.sub(r"quintet broker \w+.*", "", script)
    script = script.replace(
        "lexical quintet worker", "lexical timeout --preserve-status -s INT 20 quintet worker"
    )
    script = script.replace("--from-beginning", "--from-beginning --limit 1")
    done = _run(script, directory, QUINTET_BROKERS=broker.address, QUINTET_WEB_PORT="0")
    assert done.returncode == 0, done.stderr
    assert "s-1" in done.stdout
    assert "stopped: 1 scored, 0 rejected, 0 repeated, 0 in flight" in done.stderr


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"quintet ([a-z]+)", README))
    assert named <= set(command_group.list_commands(click.Context(command_group)))


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
