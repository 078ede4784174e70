"""`quintet monitor`: the drift monitor alone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from worker.cli.logs import configure
from worker.cli.options import config_option, settings_from
from worker.judging.building import build_judge
from worker.monitoring.alone import run_alone
from worker.rubrics import load_pack


@click.command()
@config_option
@click.pass_context
def command(ctx: click.Context, config: Path | None) -> None:
    """Watch the scores for drift, until stopped; any number of monitors share the work.

    A worker has a monitor in its own process unless it is started with --no-monitor. The judge is needed
    for the reference set, which tells a changed judge from a changed generator.

    \b
    Example:
      QUINTET_JUDGE=lexical quintet monitor
    """
    settings = settings_from(ctx, config)
    backend = settings.judge_or_refuse()
    pack = load_pack(settings.pack)
    configure(settings.log_format)
    sys.exit(
        asyncio.run(run_alone(settings, lambda observer: build_judge(settings, backend, pack, observer)))
    )
