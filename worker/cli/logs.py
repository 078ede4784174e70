"""Logs for people on a terminal, JSON for everything else; never a summary's text, never a secret."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import Literal

#: Libraries that say the same thing again and again while a broker is away.
_CHATTY = ("aiokafka", "faust", "kafka", "mode")
#: Seconds before a chatty library may say the same thing again.
_SILENCE = 30.0


def configure(form: Literal["text", "json"] | None) -> None:
    """Send logs to stderr; text where somebody is looking, unless told otherwise."""
    handler = logging.StreamHandler(sys.stderr)
    text = form == "text" or (form is None and sys.stderr.isatty())
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    handler.addFilter(NotAgain())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in (*_CHATTY, "httpx", "httpx2", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


class TextFormatter(logging.Formatter):
    """Time, level and message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-8s %(message)s", datefmt="%H:%M:%S")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


class NotAgain(logging.Filter):
    """Holds back what a chatty library has just said."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to let a record through."""
        if not record.name.startswith(_CHATTY):
            return True
        key, now = (record.name, str(record.msg)), time.monotonic()
        if now - self._said.get(key, float("-inf")) < _SILENCE:
            return False
        self._said[key] = now
        return True
