"""`quintet rejected`: what could not be scored, and sending it back."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import click

from worker.cli import EXIT_INTERRUPTED
from worker.cli.options import config_option, settings_from
from worker.cli.printable import printable
from worker.errors import RejectionReason
from worker.streaming.rejected import MAX_REPLAYS, RejectedRecord, Replayed, Selection, read_all
from worker.streaming.rejected import replay as send_back


class Moment(click.ParamType):
    """A time as ISO 8601; UTC unless it says otherwise."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time."""
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time such as 2026-11-18T10:00:00Z", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_reason = click.option(
    "--reason", type=click.Choice([reason.value for reason in RejectionReason]), help="Only with this reason."
)
_before = click.option("--before", type=Moment(), help="Only those rejected before this time.")


@click.group()
def command() -> None:
    """Look at rejected records, or send them back to be scored.

    \b
    Example:
      quintet rejected list
      quintet rejected replay --reason judge_refused --dry-run
    """


@command.command("list")
@_reason
@_before
@config_option
@click.pass_context
def list_(ctx: click.Context, reason: str | None, before: datetime | None, config: Path | None) -> None:
    """Show every rejected record in a line, and how many there are of each reason.

    \b
    Example:
      quintet rejected list --reason invalid_event --before 2026-11-18T10:00:00Z
    """
    settings = settings_from(ctx, config)
    selection = Selection(reason, before)
    counts: Counter[str] = Counter()
    for record, sent_back in read_all(settings):
        if record in selection:
            counts[record.error("reason")] += 1
            click.echo(describe(record) + (" (sent back)" if sent_back else ""))
    click.echo(", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none", err=True)


@command.command()
@_reason
@_before
@click.option("--dry-run", is_flag=True, help="Only say what would be sent back.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="So many records a second at most.")
@click.option("--force", is_flag=True, help=f"Also what was sent back {MAX_REPLAYS} times or more already.")
@config_option
@click.pass_context
def replay(
    ctx: click.Context,
    reason: str | None,
    before: datetime | None,
    dry_run: bool,
    rate: float | None,
    force: bool,
    config: Path | None,
) -> None:
    """Send rejected records back to the input topic, each once.

    Reads up to what is there now, so that a record that is rejected again waits for the next replay.

    \b
    Example:
      quintet rejected replay --reason deadline_exceeded --rate 50
    """
    settings = settings_from(ctx, config)
    done = send_back(
        settings,
        Selection(reason, before),
        dry_run=dry_run,
        max_replays=None if force else MAX_REPLAYS,
        rate=rate,
        progress=(lambda record: click.echo(describe(record))) if dry_run else lambda record: None,
    )
    for line in report(done, dry_run):
        click.echo(line)
    if done.interrupted:
        ctx.exit(EXIT_INTERRUPTED)


def describe(record: RejectedRecord) -> str:
    """A record in one line."""
    where = "/".join(record.error(name) or "?" for name in ("topic", "partition", "offset"))
    key = printable((record.key or b"").decode("utf-8", "replace"))[:40] or "-"
    message = printable(record.error("message"))
    return f"{record.error('failed_at')} {record.error('reason')} {where} key={key} replays={record.replays}: {message}"


def report(done: Replayed, dry_run: bool) -> list[str]:
    """What a replay did, and what it left."""
    parts = ", ".join(f"{count} {reason}" for reason, count in sorted(done.by_reason.items()))
    did = "would send" if dry_run else "stopped; sent" if done.interrupted else "sent"
    lines = [f"{did} back {done.sent}" + (f" ({parts})" if parts else "")]
    if done.refused:
        lines.append(f"left {done.refused}: sent back {MAX_REPLAYS} times already (--force sends them again)")
    if done.incomplete:
        lines.append(f"left {done.incomplete}: too large to be kept whole; publish them anew")
    if done.out_of_reach:
        lines.append(
            f"left {done.out_of_reach}: too far behind records that were never sent back; send those first"
        )
    return lines
