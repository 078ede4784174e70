"""`quintet publish`: a file's events go to the input topic."""

from __future__ import annotations

import codecs
import json
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
from kafka import KafkaProducer
from kafka.errors import KafkaError
from rich.console import Console
from rich.progress import Progress

from worker.cli import EXIT_INTERRUPTED
from worker.cli.options import config_option, settings_from
from worker.cli.reading import input_size, open_input
from worker.settings import MAX_RECORD_BYTES
from worker.streaming.connection import first_line
from worker.streaming.tools import producer

#: Records sent but not yet acknowledged, at most.
AHEAD = 1000


@click.command()
@click.argument("file", metavar="FILE|-")
@config_option
@click.pass_context
def command(ctx: click.Context, file: str, config: Path | None) -> None:
    """Send every line of a JSONL file (- is standard input) to the input topic.

    Lines go out as they are, keyed by their summary_id; blank ones are left out. What is wrong with a line, the worker
    will say. Exit code 1 if some could not be sent.

    \b
    Example:
      quintet publish summaries.jsonl
      zcat summaries.jsonl.gz | quintet publish -
    """
    settings = settings_from(ctx, config)
    bars = Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
    with open_input(file) as source, producer(settings) as sink, bars as progress:
        bar = progress.add_task("publishing", total=input_size(file))
        sender = Sender(sink, settings.topic_generated)
        interrupted = False
        try:
            for number, line in lines(source):
                sender.send(number, line)
                progress.advance(bar, len(line) + 1)
        except KeyboardInterrupt:
            interrupted = True  # what is on its way arrives, so it has to be counted
        sender.finish()
    stopped = "stopped; " if interrupted else ""
    click.echo(f"{stopped}sent {sender.sent} to {settings.topic_generated}")
    ctx.exit(EXIT_INTERRUPTED if interrupted else bool(sender.failed))


class Sender:
    """Sends lines, some way ahead of the broker's answers."""

    def __init__(self, sink: KafkaProducer, topic: str) -> None:
        self._sink = sink
        self._topic = topic
        self._waiting: deque[tuple[int, Any]] = deque()
        self.sent = 0
        self.failed = 0

    def send(self, number: int, line: bytes) -> None:
        """One line; it may be acknowledged later."""
        if len(line) > MAX_RECORD_BYTES:
            self._fail(number, f"longer than {MAX_RECORD_BYTES} bytes")
            return
        try:
            self._waiting.append((number, self._sink.send(self._topic, line, key_of(line))))
        except KafkaError as error:
            self._fail(number, first_line(error))
        if len(self._waiting) > AHEAD:
            self._confirm()

    def finish(self) -> None:
        """Wait for every answer."""
        while self._waiting:
            self._confirm()

    def _confirm(self) -> None:
        number, future = self._waiting.popleft()
        try:
            future.get(timeout=120)
            self.sent += 1
        except KafkaError as error:
            self._fail(number, first_line(error))

    def _fail(self, number: int, why: str) -> None:
        self.failed += 1
        click.echo(f"line {number} was not sent: {why}", err=True)


def key_of(line: bytes) -> bytes | None:
    """The summary's id, where there is one to be found."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and isinstance(value.get("data"), dict) and "summary_id" not in value:
        value = value["data"]  # a CloudEvent
    name = value.get("summary_id") if isinstance(value, dict) else None
    return name.encode("utf-8", "replace") if isinstance(name, str) and name else None


def lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Non-blank lines with their numbers; of an endless one only so much that its length shows."""
    number = 0
    while line := source.readline(MAX_RECORD_BYTES + 2):
        number += 1
        rest = line
        while len(rest) > MAX_RECORD_BYTES and not rest.endswith(b"\n"):
            rest = source.readline(MAX_RECORD_BYTES + 2)
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.strip():
            yield number, line.rstrip(b"\r\n")
