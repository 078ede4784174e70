"""`quintet broker`: a real Kafka on this machine, for development."""

from __future__ import annotations

import click

from worker.streaming.broker import DEFAULT_PORT, Broker, answers, known_brokers

_port = click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True)


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
@_port
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
@_port
@click.option("--delete-data", is_flag=True, help="Throw away topics and log as well.")
def stop(port: int, delete_data: bool) -> None:
    """Stop the broker on this port; its data stay unless said otherwise.

    \b
    Example:
      quintet broker stop --delete-data
    """
    broker = Broker(port)
    click.echo(
        f"stopped {broker.address}" if broker.stop() else f"no broker of ours runs at {broker.address}"
    )
    if delete_data:
        broker.delete_data()


@command.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Only the broker on this port.")
@click.pass_context
def status(ctx: click.Context, port: int | None) -> None:
    """Show brokers started here; exit code 1 if none of them runs.

    \b
    Example:
      quintet broker status
    """
    brokers = [Broker(port)] if port else known_brokers()
    for broker in brokers:
        click.echo(_describe(broker))
    if not brokers:
        click.echo("no broker was started here; start one with: quintet broker start")
    if not any(broker.process for broker in brokers):
        ctx.exit(1)


def _describe(broker: Broker) -> str:
    process = broker.process
    if process is None:
        return f"{broker.address}: stopped"
    state = "running" if answers(broker.address) else "starting, or hung: it does not answer"
    return f"{broker.address}: {state} (process {process.pid}; {broker.directory})"
