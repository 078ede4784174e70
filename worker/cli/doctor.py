"""`quintet doctor`: the one answer to "why doesn't it work"."""

from __future__ import annotations

from pathlib import Path

import click

from worker.cli.checks import Finding, Health, all_checks
from worker.cli.options import config_option, judge_option, settings_from
from worker.settings import Settings, environment_name

_MARKS = {Health.GOOD: "ok  ", Health.DOUBTFUL: "note", Health.BROKEN: "FAIL"}


@click.command("doctor")
@judge_option
@config_option
@click.pass_context
def command(ctx: click.Context, judge: str | None, config: Path | None) -> None:
    """Check settings, judge, pack, cache, Java, broker and topics; say the next step for each fault.

    The endpoint is asked one tiny question. Exit code 1 if something is broken.

    \b
    Example:
      quintet doctor
    """
    settings = settings_from(ctx, config, judge=judge)
    _show_settings(settings)
    broken = False
    for check in all_checks(settings):
        finding = check()
        broken = broken or finding.health is Health.BROKEN
        _show(finding)
    ctx.exit(1 if broken else 0)


def _show_settings(settings: Settings) -> None:
    """Everything in force, secrets masked; a star where it is not the default."""
    click.echo("settings (* = set by you)")
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        shown = ",".join(value) if isinstance(value, tuple) else "-" if value is None else str(value)
        star = "*" if name in settings.model_fields_set else " "
        click.echo(f"  {star} {environment_name(name)} = {shown}")
    click.echo("checks")


def _show(finding: Finding) -> None:
    click.echo(f"  {_MARKS[finding.health]}  {finding.subject}: {finding.message}")
    if finding.next_step:
        click.echo(f"        next: {finding.next_step}")
