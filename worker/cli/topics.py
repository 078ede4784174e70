"""`quintet topics`: create or check what Quintet reads and writes."""

from __future__ import annotations

from pathlib import Path

import click

from worker.cli.options import config_option, settings_from
from worker.streaming.connection import admin
from worker.streaming.topics import DEFAULT_PARTITIONS, DEFAULT_REPLICATION, create_or_check, plan


@click.group()
def command() -> None:
    """Create or check the topics.

    \b
    Example:
      quintet topics create --partitions 12 --replication-factor 3
    """


@command.command()
@click.option("--partitions", type=click.IntRange(1), default=DEFAULT_PARTITIONS, show_default=True)
@click.option("--replication-factor", type=click.IntRange(1), help="Default: the broker's.")
@config_option
@click.pass_context
def create(ctx: click.Context, partitions: int, replication_factor: int | None, config: Path | None) -> None:
    """Create all topics; those that exist are compared and never changed.

    Exit code 1 if one has to be put right by hand.

    \b
    Example:
      quintet topics create
    """
    settings = settings_from(ctx, config)
    wanted = plan(settings, partitions, replication_factor or DEFAULT_REPLICATION)
    with admin(settings) as client:
        reports = create_or_check(client, wanted)
    for report in reports:
        state = "created" if report.created else "differs" if report.problems else "ok"
        click.echo(f"{state:8}{report.name} ({report.partitions} partitions)")
        for problem in report.problems:
            click.echo(f"{'':8}{problem}")
    if any(report.problems for report in reports):
        ctx.exit(1)
