"""`quintet schemas` (hidden): writes schemas/ from the models, or checks that it is up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import click
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from worker.errors import RejectionReason, UserError
from worker.events import DriftChanged, HumanLabel, MetricScored, SummaryGenerated, SummaryScored
from worker.settings import Settings

#: Event → its model, and whether it is described as we read it or as we write it.
_EVENTS: dict[str, tuple[type[BaseModel], Literal["validation", "serialization"]]] = {
    "summary-generated": (SummaryGenerated, "validation"),
    "summary-scored": (SummaryScored, "serialization"),
    "metric-scored": (MetricScored, "serialization"),
    "drift-changed": (DriftChanged, "serialization"),
    "human-label": (HumanLabel, "validation"),
}

#: Setting of a topic → its key, the message on it, what the worker does with it, and what it is.
_TOPICS: dict[str, tuple[str, str, tuple[Literal["send", "receive"], ...], str]] = {
    "topic_generated": ("any", "summary-generated", ("receive",), "Summaries to be scored."),
    "topic_scored": ("the input's key", "summary-scored", ("send",), "One event per scored summary."),
    "topic_metric_scores": ("kind|metric", "metric-scored", ("send", "receive"), "One event per metric."),
    "topic_rejected": ("the input's key", "rejected", ("send",), "Records that can't be scored, unchanged."),
    "topic_drift": ("kind|metric|segment", "drift-changed", ("send",), "Changes of a detector's state."),
    "topic_control": ("kind|metric", "control", ("receive",), "Commands to the monitor."),
    "topic_state": ("internal", "drift-state", ("send", "receive"), "The monitor's own state, compacted."),
    "topic_labels": ("summary_id", "human-label", ("receive",), "Scores given by people."),
}

#: Messages without a schema of their own.
_OPAQUE = {
    "rejected": "The input's bytes, key, headers and timestamp as they came.",
    "control": "A command to the drift monitor, for example to accept a baseline.",
    "drift-state": "Internal to the monitor; not for other programs.",
}

_CLOUDEVENT_TYPES = {
    "summary-scored": "quintet.summary.scored.v1",
    "metric-scored": "quintet.metric.scored.v1",
    "drift-changed": "quintet.drift.changed.v1",
}


@click.command("schemas", hidden=True)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="schemas", show_default=True,
    help="The directory to write or to check.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file differs.")
@click.pass_context
def command(ctx: click.Context, out: Path, check: bool) -> None:
    """Write the JSON Schemas of all events and the AsyncAPI document.

    \b
    Example:
      quintet schemas --check
    """
    stale = [name for name, text in documents().items() if _read(out / name) != text]
    for name in stale:
        if not check:
            _write(out / name, documents()[name])
        click.echo(f"{'out of date' if check else 'wrote'}: {out / name}")
    ctx.exit(1 if check and stale else 0)


def documents() -> dict[str, str]:
    """File name → text of everything in schemas/ that is made from the models."""
    schemas = {f"{name}.json": _to_json(_schema(name)) for name in _EVENTS}
    return {**schemas, "asyncapi.yaml": _to_yaml(_asyncapi())}


def _schema(name: str) -> dict[str, Any]:
    model, mode = _EVENTS[name]
    schema = model.model_json_schema(mode=mode)
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": f"urn:quintet:{name}:1", **schema}


def _asyncapi() -> dict[str, Any]:
    messages = {message for _, message, _, _ in _TOPICS.values()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Quintet",
            "version": "1",
            "description": "Quality scores of machine-written product summaries, and alarms when they drift.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"local": {"host": "localhost:9092", "protocol": "kafka"}},
        "channels": {_channel_name(setting): _channel(setting) for setting in _TOPICS},
        "operations": _operations(),
        "components": {
            "messages": {name: _message(name) for name in sorted(messages)},
            "schemas": {"CloudEventHeaders": _cloudevent_headers(), "RejectedHeaders": _rejected_headers()},
        },
    }


def _channel_name(setting: str) -> str:
    return setting.removeprefix("topic_")


def _channel(setting: str) -> dict[str, Any]:
    key, message, _, description = _TOPICS[setting]
    default = Settings.model_fields[setting].default
    return {
        "address": default,
        "description": f"{description} Key: {key}. Renamed by QUINTET_{setting.upper()}.",
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
    }


def _operations() -> dict[str, Any]:
    return {
        f"{action}_{_channel_name(setting)}": {
            "action": action,
            "channel": {"$ref": f"#/channels/{_channel_name(setting)}"},
            "summary": description,
        }
        for setting, (_, _, actions, description) in _TOPICS.items()
        for action in actions
    }


def _message(name: str) -> dict[str, Any]:
    if name in _OPAQUE:
        message: dict[str, Any] = {"name": name, "summary": _OPAQUE[name]}
        if name == "rejected":
            message["headers"] = {"$ref": "#/components/schemas/RejectedHeaders"}
            message["contentType"] = "application/octet-stream"
        return message
    model, _ = _EVENTS[name]
    message = {
        "name": model.__name__,
        "summary": (model.__doc__ or "").strip(),
        "contentType": "application/json",
        "payload": {"$ref": f"./{name}.json"},
    }
    if name in _CLOUDEVENT_TYPES:
        message["description"] = f"ce_type is {_CLOUDEVENT_TYPES[name]}."
        message["headers"] = {"$ref": "#/components/schemas/CloudEventHeaders"}
    return message


def _cloudevent_headers() -> dict[str, Any]:
    return _headers(
        {
            "ce_specversion": {"const": "1.0"},
            "ce_id": {"description": "The event_id."},
            "ce_source": {"format": "uri-reference"},
            "ce_type": {"enum": sorted(_CLOUDEVENT_TYPES.values())},
            "ce_time": {"format": "date-time"},
            "ce_subject": {"description": "The summary_id."},
            "content-type": {"const": "application/json"},
        },
        optional={
            "ce_subject": "absent where an event is about no single summary",
            "traceparent": "passed on from the input",
        },
    )


def _rejected_headers() -> dict[str, Any]:
    described: dict[str, dict[str, Any]] = {
        "reason": {"enum": sorted(RejectionReason)},
        "stage": {"description": "Where it failed, e.g. read or judge."},
        "message": {"description": "One line for people, without secrets or prompts."},
        "attempts": {"pattern": "^[0-9]+$"},
        "failed_at": {"format": "date-time"},
        "topic": {"description": "Where the record was read from."},
        "partition": {"pattern": "^[0-9]+$"},
        "offset": {"pattern": "^[0-9]+$"},
        "group": {"description": "The consumer group that rejected it."},
        "replays": {"pattern": "^[0-9]+$"},
    }
    return _headers({f"quintet.error.{name}": rest for name, rest in described.items()}, optional={})


def _headers(described: dict[str, dict[str, Any]], optional: dict[str, str]) -> dict[str, Any]:
    """Kafka headers as a schema: all of them UTF-8 text, others beside them allowed."""
    properties = {name: {"type": "string", **rest} for name, rest in described.items()}
    for name, why in optional.items():
        properties[name] = {"type": "string", **described.get(name, {}), "description": f"Optional: {why}."}
    required = [name for name in described if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _to_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _to_yaml(document: dict[str, Any]) -> str:
    try:
        import yaml
    except ImportError:
        raise UserError(
            "PyYAML is missing; install the development extra: pip install 'quintet[dev]'"
        ) from None
    # By way of JSON, since YAML would refuse enums and use anchors for what is shared.
    plain = json.loads(json.dumps(document))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name another directory with --out") from None
