"""`quintet doctor`: the one answer to "why doesn't it work"."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from worker.cli.checks import examine
from worker.cli.findings import Finding, Health
from worker.cli.options import config_option, judge_option, settings_from
from worker.cli.printable import printable
from worker.settings import Settings, environment_name, shown_values
from worker.streaming.topics import DEFAULT_PARTITIONS

_MARKS = {Health.GOOD: "ok  ", Health.DOUBTFUL: "note", Health.BROKEN: "FAIL"}


@click.command("doctor")
@judge_option
@click.option(
    "--partitions",
    type=click.IntRange(1),
    default=DEFAULT_PARTITIONS,
    show_default=True,
    help="How many each topic should have at least, as told to `quintet topics create`.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
@click.pass_context
def command(ctx: click.Context, judge: str | None, partitions: int, form: str, config: Path | None) -> None:
    """Check settings, judge, pack, cache, broker, topics, clocks and Java; say the next step for each fault.

    The endpoint is asked one tiny question; nothing is written to any topic. Exit code 1 if something is broken.

    \b
    Example:
      quintet doctor
      quintet doctor --format json
    """
    settings = settings_from(ctx, config, judge=judge)
    findings = examine(settings, partitions)
    well = _as_json(settings, findings) if form == "json" else _as_text(settings, findings)
    ctx.exit(0 if well else 1)


def _as_text(settings: Settings, findings: Iterable[Finding]) -> bool:
    """Settings, then each finding as it is made; whether nothing is broken."""
    click.echo("settings (* = set by you)")
    for name, value in shown_values(settings).items():
        star = "*" if name in settings.model_fields_set else " "
        click.echo(f"  {star} {environment_name(name)} = {'-' if value is None else printable(value)}")
    click.echo("checks")
    well = True
    for finding in findings:
        well = well and finding.health is not Health.BROKEN
        click.echo(f"  {_MARKS[finding.health]}  {finding.subject}: {printable(finding.message)}")
        if finding.next_step:
            click.echo(f"        next: {finding.next_step}")
    return well


def _as_json(settings: Settings, findings: Iterable[Finding]) -> bool:
    """The same for programs, in one object."""
    made = list(findings)
    well = all(finding.health is not Health.BROKEN for finding in made)
    values = {
        environment_name(name): {"value": value, "set": name in settings.model_fields_set}
        for name, value in shown_values(settings).items()
    }
    listed = [
        {
            "health": finding.health.value,
            "subject": finding.subject,
            "message": finding.message,
            "next_step": finding.next_step or None,
        }
        for finding in made
    ]
    click.echo(json.dumps({"ok": well, "findings": listed, "settings": values}, ensure_ascii=False, indent=2))
    return well
