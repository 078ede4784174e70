"""`quintet broker`: a real Kafka on this machine, for development."""

from __future__ import annotations

import click

from worker.errors import UserError
from worker.streaming.broker import DEFAULT_PORT, Broker, answers, known_brokers

_PORT = click.IntRange(1, 65535)
_which = click.option("--port", type=_PORT, help="Which broker; not needed while only one of ours runs.")


@click.group()
def command() -> None:
    """Start, stop and look at a single-node Apache Kafka for development.

    \b
    Example:
      quintet broker start
      quintet topics create
      quintet broker stop
    """


@command.command()
@click.option("--port", type=_PORT, default=DEFAULT_PORT, show_default=True)
@click.option("--fresh", is_flag=True, help="Throw away what an earlier broker on this port kept.")
def start(port: int, fresh: bool) -> None:
    """Start a broker and wait until it answers; it goes on running.

    \b
    Example:
      quintet broker start --port 19092 --fresh
    """
    broker = Broker(port)
    if broker.process:
        click.echo(f"already running at {broker.address} (process {broker.process.pid})")
        return
    if fresh:
        broker.delete_data()
    click.echo("starting Apache Kafka (the first time it is fetched, which takes a minute) …", err=True)
    broker.start()
    click.echo(f"running at {broker.address}; log: {broker.log_file}")


@command.command()
@_which
@click.option("--delete-data", is_flag=True, help="Throw away topics and log as well.")
def stop(port: int | None, delete_data: bool) -> None:
    """Stop the broker that was started here; its data stay unless said otherwise.

    \b
    Example:
      quintet broker stop --delete-data
    """
    broker = Broker(port) if port else _only_one_running() or Broker(DEFAULT_PORT)
    click.echo(
        f"stopped {broker.address}" if broker.stop() else f"no broker of ours runs at {broker.address}"
    )
    if delete_data:
        broker.delete_data()


@command.command()
@_which
@click.pass_context
def status(ctx: click.Context, port: int | None) -> None:
    """Show the broker that was started here; exit code 1 if none runs.

    \b
    Example:
      quintet broker status
    """
    broker = Broker(port) if port else _only_one_running()
    shown = [broker] if broker else known_brokers()
    for each in shown:
        click.echo(_describe(each))
    if not shown:
        click.echo("no broker was started here; start one with: quintet broker start")
    if not any(each.process for each in shown):
        ctx.exit(1)


def _only_one_running() -> Broker | None:
    """The broker that a command without --port means; None if none of ours runs."""
    running = [broker for broker in known_brokers() if broker.process]
    if len(running) > 1:
        ports = ", ".join(str(port) for port in sorted(broker.port for broker in running))
        raise UserError(f"brokers of ours run on ports {ports}; say which with --port")
    return running[0] if running else None


def _describe(broker: Broker) -> str:
    process = broker.process
    if process is None:
        return f"{broker.address}: stopped"
    state = "running" if answers(broker.address) else "starting, or hung: it does not answer"
    return f"{broker.address}: {state} (process {process.pid}; {broker.directory})"
