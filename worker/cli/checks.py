"""What `quintet doctor` looks at, in the order in which a fault in one explains those after it; nothing raises."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata

from worker.cli.findings import Finding, Health, broken, good
from worker.cli.judge_checks import judge_findings
from worker.cli.kafka_checks import kafka_findings
from worker.errors import UserError
from worker.rubrics import load_pack
from worker.settings import Settings, unknown_variables

_LOCAL = {"127.0.0.1", "localhost", "[::1]"}


def examine(settings: Settings, partitions: int) -> Iterator[Finding]:
    """Every finding, as soon as it is made."""
    yield _version()
    yield _variables()
    yield _pack(settings)
    yield from judge_findings(settings)
    yield _cache(settings)
    no_broker = False
    for finding in kafka_findings(settings, partitions):
        no_broker = no_broker or (finding.subject == "broker" and finding.health is Health.BROKEN)
        yield finding
    yield _java(settings, needed=no_broker)


def _version() -> Finding:
    system = f"Python {platform.python_version()} on {sys.platform}"
    return good("quintet", f"{metadata.version('quintet')}, {system}")


def _variables() -> Finding:
    unknown = unknown_variables()
    if not unknown:
        return good("environment", "every QUINTET_ variable is a known setting")
    return Finding(
        Health.DOUBTFUL, "environment", f"unknown: {', '.join(unknown)}", "correct the spelling or unset it"
    )


def _pack(settings: Settings) -> Finding:
    try:
        pack = load_pack(settings.pack)
    except UserError as error:
        return broken("pack", error)
    own = sum(not rubric.is_builtin for rubric in pack.rubrics.values())
    return good("pack", f"{pack.name}, {own} rubrics of its own, {len(pack.rubrics) - own} built in")


def _cache(settings: Settings) -> Finding:
    if settings.cache == "off":
        return Finding(
            Health.DOUBTFUL, "cache", "off", "a repeated summary is paid for again; unset QUINTET_CACHE"
        )
    path = settings.cache
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        return broken("cache", f"{path}: {error.strerror}", "name a writable file with QUINTET_CACHE, or off")
    return good("cache", f"{path}, {path.stat().st_size / 1e6:.1f} MB")


def _java(settings: Settings, *, needed: bool) -> Finding:
    """Only the development broker runs on it: with a Kafka elsewhere, or one that answers, it is no fault."""
    from worker.streaming.installation import require_java

    try:
        return good("java", f"{require_java()}, for `quintet broker`")
    except UserError as error:
        message, advice = str(error).split("; ", 1)
        local = all(broker.rpartition(":")[0] in _LOCAL for broker in settings.brokers)
        if needed and local:
            return Finding(Health.BROKEN, "java", f"{message}, for `quintet broker start`", advice)
        return Finding(Health.DOUBTFUL, "java", f"{message}; only `quintet broker` needs it", advice)
