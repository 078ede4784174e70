"""`quintet tail`: follow a topic, readable."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import click

from worker.cli.options import config_option, settings_from
from worker.cli.printable import printable
from worker.cli.rejected import describe as describe_rejected
from worker.streaming.ledger import Partition
from worker.streaming.rejected import RejectedRecord
from worker.streaming.tools import reader


@click.command()
@click.argument("what", type=click.Choice(["scored", "rejected", "drift"]), default="scored")
@click.option("--from-beginning", is_flag=True, help="Begin with the oldest record instead of the next.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--limit", type=click.IntRange(1), help="Stop after so many records.")
@config_option
@click.pass_context
def command(
    ctx: click.Context,
    what: str,
    from_beginning: bool,
    format_: str,
    limit: int | None,
    config: Path | None,
) -> None:
    """Follow what is scored, rejected or drifting, a line for each record, until Ctrl-C.

    Begins with the next record unless told otherwise. As JSON an event is shown whole: explanations, models,
    the worst examples; a rejected record with its headers.

    \b
    Example:
      quintet tail scored --from-beginning --limit 20
    """
    settings = settings_from(ctx, config)
    topics = {
        "scored": settings.topic_scored,
        "rejected": settings.topic_rejected,
        "drift": settings.topic_drift,
    }
    text = {"scored": _scored, "rejected": _rejected, "drift": _drift}[what]
    whole = _rejected_as_json if what == "rejected" else _as_json
    describe = whole if format_ == "json" else text
    # Ctrl-C is how one leaves, and no mistake.
    with suppress(KeyboardInterrupt), reader(settings, topics[what]) as source:
        source.from_beginning() if from_beginning else source.from_end()
        for record in islice(source.for_ever(), limit):
            click.echo(describe(record))


def _scored(record: Any) -> str:
    try:
        event = json.loads(record.value)
        scores = "  ".join(f"{metric} {verdict['score']}" for metric, verdict in event["scores"].items())
        head = f"{event['scored_at']} {event['kind']} {event['summary_id']}"
        return printable(f"{head}  {scores}")
    except (ValueError, TypeError, KeyError, AttributeError):
        return _unreadable(record)


def _drift(record: Any) -> str:
    try:
        event = json.loads(record.value)
        stream = "|".join((event["kind"], event["metric"], event["segment"]))
        verdict = f" ({event['verdict']})" if event.get("verdict") else ""
        return printable(f"{event['at']} {stream}: {event['state']}{verdict}: {event['reason']}")
    except (ValueError, TypeError, KeyError, AttributeError):
        return _unreadable(record)


def _rejected(record: Any) -> str:
    return describe_rejected(
        RejectedRecord(
            Partition(record.topic, record.partition), record.offset, record.key, record.value, record.headers
        )
    )


def _as_json(record: Any) -> str:
    try:
        return json.dumps(json.loads(record.value), ensure_ascii=True)
    except (ValueError, TypeError):
        return json.dumps({"unreadable": _unreadable(record)})


def _rejected_as_json(record: Any) -> str:
    headers = [[name, _text(value)] for name, value in record.headers]
    return json.dumps({"key": _text(record.key), "value": _text(record.value), "headers": headers})


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _unreadable(record: Any) -> str:
    return f"{record.topic}/{record.partition}/{record.offset}: not an event of ours"
