"""`quintet worker`: the stream worker."""

from __future__ import annotations

import asyncio
import sys
from importlib import metadata
from pathlib import Path

import click

from worker.cli.logs import configure
from worker.cli.options import config_option, settings_from
from worker.judging.building import build_openai_judge
from worker.judging.judge import Judge
from worker.judging.offline import LexicalJudge
from worker.monitoring.service import Monitor
from worker.rubrics import Pack, load_pack
from worker.settings import JudgeBackend, Settings
from worker.streaming.service import StreamWorker
from worker.telemetry import WorkerTelemetry


@click.command()
@click.option("--no-monitor", is_flag=True, help="Without the drift monitor in the same process.")
@config_option
@click.pass_context
def command(ctx: click.Context, no_monitor: bool, config: Path | None) -> None:
    """Score summaries from Kafka as they arrive, until stopped, and watch the scores for drift.

    The first SIGTERM or Ctrl-C lets what is under way finish (25 s at most), a second leaves at once;
    what was not finished is read again next time.

    \b
    Example:
      QUINTET_JUDGE=lexical quintet worker
    """
    settings = settings_from(ctx, config)
    backend = settings.judge_or_refuse()
    pack = load_pack(settings.pack)
    configure(settings.log_format)
    sys.exit(asyncio.run(_run(settings, backend, pack, with_monitor=not no_monitor)))


async def _run(settings: Settings, backend: JudgeBackend, pack: Pack, *, with_monitor: bool) -> int:
    telemetry = WorkerTelemetry(settings.max_segments)

    def monitor(judge: Judge) -> Monitor | None:
        return Monitor(settings, judge, telemetry.with_monitor()) if with_monitor else None

    if backend is JudgeBackend.LEXICAL:
        lexical = LexicalJudge(pack.name)
        _describe(telemetry, lexical)
        telemetry.concurrency_changed(settings.concurrency)
        return await StreamWorker(settings, lexical, telemetry, beside=monitor(lexical)).run()
    judge = build_openai_judge(settings, pack, telemetry)
    _describe(telemetry, judge)
    budget = judge.meter.budget

    def sample_rate() -> float:
        return budget.plan(settings.sample_rate).sample_rate if budget else settings.sample_rate

    worker = StreamWorker(
        settings, judge, telemetry, gate=judge.gate, sample_rate=sample_rate, beside=monitor(judge)
    )
    return await worker.run()


def _describe(telemetry: WorkerTelemetry, judge: Judge) -> None:
    try:
        version = metadata.version("quintet")
    except metadata.PackageNotFoundError:  # run from a checkout
        version = "unknown"
    telemetry.describe(version=version, judge=judge.backend, model=judge.requested_model, pack=judge.pack)
