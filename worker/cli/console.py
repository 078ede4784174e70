"""`quintet console`: the web page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from worker.cli.logs import configure
from worker.cli.options import config_option, settings_from
from worker.console.service import serve


@click.command()
@config_option
@click.pass_context
def command(ctx: click.Context, config: Path | None) -> None:
    """Show scores, drift and rejected records on a web page, live, until Ctrl-C.

    Reads the topics by itself, so it shows whatever any number of workers and monitors do. It holds 24 hours,
    and listens on QUINTET_WEB_HOST (127.0.0.1) and QUINTET_CONSOLE_PORT (8088).

    \b
    Example:
      QUINTET_CONSOLE_PORT=8080 quintet console
    """
    settings = settings_from(ctx, config)
    configure(settings.log_format)
    asyncio.run(serve(settings))
