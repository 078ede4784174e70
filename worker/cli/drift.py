"""`quintet drift`: what the detectors say, and accepting a new level."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from worker.cli.options import config_option, settings_from
from worker.cli.printable import printable
from worker.drift.status import Status, delays_of, status_of
from worker.drift.stream import Stream
from worker.errors import UserError
from worker.events import DriftState, Kind, Metric
from worker.monitoring.commands import Accept
from worker.monitoring.looking import PATIENCE, Look, find, send_accept

#: Streams for which "how soon" is worked out without being asked for by name; each takes a moment.
FEW = 20

_WIDTH = 180

_KIND = click.Choice([kind.value for kind in Kind])
_METRIC = click.Choice([metric.value for metric in Metric])
_STYLES = {DriftState.ALARM: "bold red", DriftState.WARNING: "yellow", DriftState.OK: "green"}


@click.group()
def command() -> None:
    """See what the detectors say, or take the present level for the usual one.

    \b
    Example:
      quintet drift status
    """


@command.command()
@click.argument("kind", type=_KIND, required=False)
@click.argument("metric", type=_METRIC, required=False)
@click.argument("segment", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@config_option
@click.pass_context
def status(
    ctx: click.Context,
    kind: str | None,
    metric: str | None,
    segment: str | None,
    format_: str,
    config: Path | None,
) -> None:
    """Every stream: its state, baseline and threshold, and how soon a drop would be found.

    Exit code 0 whatever the streams' states are.

    \b
    Example:
      quintet drift status product_opinion clarity phones
    """
    settings = settings_from(ctx, config)
    wanted = (kind, metric, segment)
    everything = Look(settings).streams()
    streams = [found.stream for found in everything if _matches(found.stream, wanted)]
    if everything and not streams:
        raise UserError("there is no such stream; quintet drift status, without names, lists all of them")
    if format_ == "json":
        click.echo(json.dumps([_as_json(stream) for stream in streams], indent=2, default=str))
    else:
        _show(streams)


@command.command()
@click.argument("kind", type=_KIND)
@click.argument("metric", type=_METRIC)
@click.argument("segment", required=False)
@config_option
@click.pass_context
def accept(ctx: click.Context, kind: str, metric: str, segment: str | None, config: Path | None) -> None:
    """Take the present level of a stream for its usual one: a standing alarm ends, a new baseline begins.

    Without SEGMENT: wherever in that kind and metric a warning or an alarm stands.

    \b
    Example:
      quintet drift accept product_opinion clarity phones
    """
    settings = settings_from(ctx, config)
    chosen = find(Look(settings).streams(), Kind(kind), Metric(metric), segment)
    order = Accept(kind=Kind(kind), metric=Metric(metric), segment=segment, at=datetime.now(UTC))
    taken = send_accept(settings, order, {found.partition for found in chosen})
    if not taken:
        click.echo(
            f"sent, but no monitor has taken it in {PATIENCE:.0f} s; it will when one runs"
            " (start one with: quintet monitor)",
            err=True,
        )
        ctx.exit(1)
    after = find(Look(settings).streams(), Kind(kind), Metric(metric), segment)
    _show([found.stream for found in after])


def _matches(stream: Stream, wanted: tuple[str | None, ...]) -> bool:
    names = (stream.kind, stream.metric, stream.segment)
    return all(want in {None, name} for want, name in zip(wanted, names, strict=True))


def _show(streams: list[Stream]) -> None:
    if not streams:
        click.echo("no streams yet: scores are watched once a worker and a monitor run")
        return
    # Names and figures are worth a wrapped line; a column that is cut off is not.
    console = Console(highlight=False, soft_wrap=True, width=_WIDTH)
    statuses = [found for found in map(status_of, streams) if found is not None]
    console.print(_table(statuses))
    if len(streams) > FEW:
        click.echo("how soon a drop would be found: name a kind, metric or segment")
        return
    for stream in streams:
        _tell_delays(stream)


def _table(statuses: Iterable[Status]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("kind", "metric", "segment", "state", "baseline", "now", "statistic", "threshold"):
        right = heading in {"baseline", "now", "statistic", "threshold"}
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "segment")
    table.add_column("scores/day", justify="right")
    table.add_column("since")
    for status in statuses:
        table.add_row(
            status.kind,
            status.metric,
            printable(status.segment),
            f"[{_STYLES.get(status.state, 'default')}]{_state_in_words(status)}[/]",
            _figure(status.baseline_mean),
            _figure(status.current_mean),
            _figure(status.statistic),
            _figure(status.threshold),
            "–" if status.per_day is None else f"{status.per_day:.0f}",
            "" if status.since is None else f"{status.since:%Y-%m-%d %H:%M:%S}",
        )
    return table


def _state_in_words(status: Status) -> str:
    if status.state is DriftState.LEARNING:
        return f"learning, {status.learned} so far"
    if status.state is DriftState.ALARM:
        return f"alarm: {status.verdict or 'verdict to come'}"
    return str(status.state)


def _tell_delays(stream: Stream) -> None:
    detector = stream.shown
    for delay in delays_of(detector) if detector is not None else ():
        click.echo(printable(f"{stream.kind} {stream.metric} {stream.segment}: {delay}"))


def _as_json(stream: Stream) -> dict[str, Any]:
    status, detector = status_of(stream), stream.shown
    delays = delays_of(detector) if detector is not None else []
    return (asdict(status) if status is not None else {}) | {
        "how_soon": [asdict(delay) | {"in_words": str(delay)} for delay in delays]
    }


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
