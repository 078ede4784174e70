"""What has to be true after the chaos, from the topics and from the endpoint's log."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.chaos_load import Sent
from tests.slow_endpoint import Call
from tests.streams import Stage

#: Seconds between an answer and its verdict being stored.
STORING = 0.5


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it must be, and whether it is."""

    name: str
    value: object
    wanted: str
    ok: bool


@dataclass(frozen=True)
class Kill:
    """When whom was ended by force; everybody's calls are cut when the endpoint is."""

    at: float
    worker: str | None


def check_topics(stage: Stage, sent: Sent) -> list[Row]:
    """Nothing lost, nothing invented, repeats recognisable, rejected only for its own reason."""
    scored: dict[str, set[str]] = defaultdict(set)
    events = stage.scored()
    for event in events:
        scored[event["summary_id"]].add(event["event_id"])
    reasons: dict[str, set[str]] = defaultdict(set)
    for record in stage.read("rejected"):
        headers = dict(record.headers)
        reasons[record.key.decode()].add(headers.get("quintet.error.reason", b"?").decode())
    lost = (sent.valid - set(scored)) | (set(sent.poison) - set(reasons))
    wrong = {name for name, found in reasons.items() if found != {sent.poison.get(name)}}
    repeats = len(events) - len(scored)
    return [
        Row("summaries and poison sent", len(sent.valid) + len(sent.poison), "", True),
        Row("lost", len(lost), "0", not lost),
        Row("scored although aborted", len(sent.aborted & set(scored)), "0", not sent.aborted & set(scored)),
        Row("rejected for another reason than its own", len(wrong), "0", not wrong),
        Row("published again after a crash", repeats, "any", True),
        Row("of these with another event_id", _more_than_one(scored), "0", not _more_than_one(scored)),
    ]


def check_metrics(stage: Stage, sent: Sent) -> list[Row]:
    """Five metrics for every scored summary."""
    metrics: dict[str, set[str]] = defaultdict(set)
    for record in stage.read("metric_scores"):
        event = json.loads(record.value)
        metrics[event["summary_id"]].add(event["event_id"])
    short = [name for name in sent.valid if len(metrics[name]) != 5]
    return [Row("without exactly five metrics", len(short), "0", not short)]


def check_calls(calls: list[Call], kills: list[Kill]) -> list[Row]:
    """No call is made again whose answer was stored; others only as often as calls were cut."""
    stored_again, cut_again = 0, 0
    for prompt in _repeated(calls):
        history = [call for call in calls if call.prompt == prompt]
        for number, call in enumerate(history):
            if call.event == "start" and any(earlier.event == "start" for earlier in history[:number]):
                if any(_was_stored(earlier, kills) for earlier in history[:number]):
                    stored_again += 1
                else:
                    cut_again += 1
    cut = sum(_in_flight(calls, kill) for kill in kills)
    return [
        Row("judge calls", sum(call.event == "start" for call in calls), "", True),
        Row("repeated although the verdict was stored", stored_again, "0", stored_again == 0),
        Row(
            "repeated because they were cut",
            cut_again,
            f"at most {cut} in flight at the kills",
            cut_again <= cut,
        ),
    ]


def _repeated(calls: Iterable[Call]) -> list[str]:
    counts = Counter(call.prompt for call in calls if call.event == "start")
    return [prompt for prompt, count in counts.items() if count > 1]


def _was_stored(call: Call, kills: list[Kill]) -> bool:
    """An answer that somebody received, and lived long enough to store."""
    if call.event != "end":
        return False
    return not any(kill.worker == call.worker and kill.at - call.at < STORING for kill in kills)


def _in_flight(calls: list[Call], kill: Kill) -> int:
    """Calls of the killed whose answer had not come, or had come too late to be stored."""
    going: Counter[tuple[str, str]] = Counter()
    late = 0
    for call in calls:
        if call.at > kill.at:
            break
        if kill.worker is not None and call.worker != kill.worker:
            continue
        going[call.worker, call.prompt] += 1 if call.event == "start" else -1
        late += call.event == "end" and kill.at - call.at < STORING
    return sum(count for count in going.values() if count > 0) + late


def _more_than_one(ids: dict[str, set[str]]) -> int:
    return sum(len(found) > 1 for found in ids.values())
