"""What a worker on Faust looks like without the ledger: it shows that the chaos test can fail."""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

import faust

from worker.settings import load_settings

SETTINGS = load_settings()

app = faust.App(
    SETTINGS.group,
    broker=[f"kafka://{broker}" for broker in SETTINGS.brokers],
    store="memory://",
    key_serializer="raw",
    value_serializer="raw",
    datadir=f"{os.environ['PLAIN_DATADIR']}/{os.getpid()}",
    broker_commit_interval=0.5,
    broker_session_timeout=8.0,
    broker_heartbeat_interval=1.0,
    broker_request_timeout=60.0,
    topic_disable_leader=True,
    topic_allow_declare=False,
    web_enabled=False,
)


def _topic(name: str) -> Any:
    return app.topic(name, key_type=bytes, value_type=bytes, allow_empty=True)


source, scored, rejected = map(
    _topic, (SETTINGS.topic_generated, SETTINGS.topic_scored, SETTINGS.topic_rejected)
)


@app.agent(source, concurrency=SETTINGS.concurrency)  # type: ignore[untyped-decorator]
async def work(stream: Any) -> None:
    """Wait as long as a judge would, then publish."""
    async for event in stream.events():
        await asyncio.sleep(float(os.environ["PLAIN_DELAY"]) * (20 if random.random() < 0.15 else 1))
        message = event.message
        try:
            name = json.loads(message.value)["summary_id"]
            body = json.dumps({"summary_id": name, "event_id": f"{message.partition}/{message.offset}"})
            await scored.send(key=message.key, value=body.encode())
        except (ValueError, KeyError, RecursionError):
            await rejected.send(key=message.key, value=message.value)


if __name__ == "__main__":
    app.main()
