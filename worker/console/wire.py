"""What the page is told, as JSON: the shapes of the API are made here and nowhere else."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from math import sqrt
from typing import Any

import numpy as np

from worker.console.board import Board
from worker.console.minutes import MINUTES, Sums, in_buckets
from worker.console.shelf import METRICS, Held, clipped, unpack
from worker.console.watched import StreamName, Watched
from worker.drift.baseline import Baseline
from worker.drift.detector import Detector
from worker.drift.grid import PER_SCORE, value_of
from worker.drift.group import ALL
from worker.drift.status import delays_of
from worker.events import DriftChanged, DriftState, Kind

Json = dict[str, Any]

#: Minutes that charts may span: the shortest that shows all there is.
SPANS = (15, 30, 60, 120, 180, 360, 480, 600, 720, 960, MINUTES)
#: Points of a sparkline; of the large chart at most and at least.
SPARK_POINTS, MOST_POINTS, FEWEST_POINTS = 30, 240, 24
#: Scores that a point of the large chart should stand for: a mean of one or two is only noise.
SCORES_PER_POINT = 8
#: Minutes that the present rate is taken over.
RATE_MINUTES = 5
#: Rows that are sent with a snapshot or a change; the whole list is fetched by itself.
ROWS = 200
#: Half the width of the band that nearly all means of a stretch should lie in, in standard errors.
BAND = 2.0


def snapshot(board: Board) -> Json:
    """Everything that the page shows at first."""
    return {
        "epoch": board.epoch,
        "metrics": list(METRICS),
        "kinds": list(Kind),
        "glance": glance(board),
        "streams": stream_rows(board, board.streams()),
        "alarms": alarms(board),
        "rejected": rejected(board),
        "summaries": [summary_row(held) for held in board.shelf.newest_first()[:ROWS]],
        "more": len(board.shelf) > ROWS,
    }


def changes(board: Board, since: int, *, streams_since: int | None) -> Json:
    """What is new after a revision; streams only where it is their turn.

    Alarms are always told: they name summaries, and those come and go by themselves.
    """
    found: Json = {"glance": glance(board), "alarms": alarms(board)}
    rows = board.shelf.changed_since(since)
    if rows is None or len(rows) > ROWS:
        found["more"] = True
        rows = board.shelf.newest_first()[:ROWS]
    if rows:
        found["summaries"] = [summary_row(held) for held in rows]
    if board.rejected_revision > since:
        found["rejected"] = rejected(board)
    if streams_since is not None and (names := board.streams_since(streams_since)):
        found["streams"] = stream_rows(board, names)
    return found


def glance(board: Board) -> Json:
    """The state of everything in a dozen figures."""
    volume = _volume(board)
    span = span_of(volume)
    states = Counter(str(watched.state) for watched in board.watched.values())
    return {
        "at": int(board.now * 1000),
        "problem": board.problem,
        "catching_up": board.catching_up,
        "states": states,
        "per_minute": round(float(volume[-RATE_MINUTES:].sum()) / RATE_MINUTES, 1),
        "scored": int(volume.sum()),
        "rejected": sum(board.rejections.by_reason(board.now).values()),
        "lag": board.lag,
        "last_scored": int(board.last_scored * 1000) if board.last_scored else None,
        "judge": board.judge.model_dump() if board.judge else None,
        "span": span,
        "volume": in_buckets(volume[np.newaxis, -span:], spark_size(span))[0].tolist(),
    }


def stream_rows(board: Board, names: list[StreamName]) -> list[Json]:
    """Cells of the grid."""
    span = span_of(_volume(board))
    minutes = {(kind, segment): board.minutes(kind, segment) for kind, _, segment in names}
    return [stream_row(board, name, minutes[name[0], name[2]], span) for name in names]


def stream_row(board: Board, name: StreamName, sums: Sums | None, span: int) -> Json:
    """One cell of the grid."""
    kind, metric, segment = name
    watched = board.watched.get(name)
    column = 1 + METRICS.index(metric)
    return {
        "kind": kind,
        "metric": metric,
        "segment": segment,
        "count": int(sums[0].sum()) if sums is not None else 0,
        "spark": _means(sums, column, span, spark_size(span)) if sums is not None else [],
        "current": _mean_of_cells(board.latest_cells(name)),
        **_as_watched(watched),
    }


def stream_detail(board: Board, name: StreamName) -> Json | None:
    """All about one stream."""
    kind, metric, segment = name
    watched, sums = board.watched.get(name), board.minutes(kind, segment)
    if watched is None and sums is None:
        return None
    span = span_of(_volume(board))
    size = chart_size(span, int(sums[0, -span:].sum()) if sums is not None else 0)
    detector = watched.detector if watched else None
    baseline = detector.baseline if detector else None
    return {
        **stream_row(board, name, sums, span),
        "span": span,
        "at": int(board.now * 1000),
        "bucket_minutes": size,
        "series": _means(sums, 1 + METRICS.index(metric), span, size) if sums is not None else [],
        "band": _band(baseline, sums, span, size),
        "distribution": _distribution(board, name, detector),
        "baseline_size": baseline.size if baseline else None,
        "baseline_deviation": _short(baseline.deviation if baseline else None),
        "baseline_until": _ms(baseline.learned_until) if baseline else None,
        "delays": [str(delay) for delay in delays_of(detector)] if detector else [],
        "history": [_event(event) for event in reversed(watched.history)] if watched else [],
        "worst": _worst(board, watched) if watched else [],
    }


def alarms(board: Board) -> Json:
    """What stands: alarms and warnings, the latest first."""
    board.keep_the_worst()
    return {
        "alarms": _standing(board, DriftState.ALARM),
        "warnings": _standing(board, DriftState.WARNING),
    }


def rejected(board: Board) -> Json:
    """Counts by reason within a day, and the latest records."""
    return {
        "by_reason": board.rejections.by_reason(board.now),
        "latest": [asdict(refused) for refused in reversed(board.rejections.latest)],
    }


def summary_rows(board: Board) -> Json:
    """Every summary that is held, as rows."""
    return {
        "epoch": board.epoch,
        "summaries": [summary_row(held) for held in board.shelf.newest_first()],
    }


def summary_row(held: Held) -> Json:
    """One line of the list."""
    return {
        "seq": held.seq,
        "id": held.summary_id,
        "kind": held.kind,
        "segment": held.segment,
        "at": held.at_ms,
        "scores": held.scores,
        "excerpt": held.excerpt,
    }


def summary_detail(held: Held) -> Json:
    """A summary with its evidence and all that was said about it; `source` is null where it is gone."""
    return {
        **summary_row(held),
        "scored": clipped(unpack(held.verdicts)),
        "source": unpack(held.text) if held.text else None,
    }


def span_of(volume: Sums) -> int:
    """Minutes that the charts show: all there is, and not much more."""
    filled = np.flatnonzero(volume)
    age = MINUTES - int(filled[0]) if len(filled) else 1
    return next(span for span in SPANS if span >= age)


def spark_size(span: int) -> int:
    """Minutes in one point of a sparkline."""
    return max(1, span // SPARK_POINTS)


def chart_size(span: int, scores: int) -> int:
    """Minutes in one point of the large chart: fewer, broader points where scores are rare."""
    wanted = min(MOST_POINTS, max(FEWEST_POINTS, scores // SCORES_PER_POINT))
    return max(1, -(-span // wanted))


def _volume(board: Board) -> Sums:
    """Summaries scored in each minute of the day."""
    total: Sums = np.zeros(MINUTES, np.int32)
    for kind in Kind:
        sums = board.minutes(kind, ALL)
        if sums is not None:
            total += sums[0]
    return total


def _means(sums: Sums, column: int, span: int, size: int) -> list[float | None]:
    buckets = in_buckets(sums[:, -span:], size)
    pairs = zip(buckets[0].tolist(), buckets[column].tolist(), strict=True)
    return [_short(value_of(total / count)) if count else None for count, total in pairs]


def _band(baseline: Baseline | None, sums: Sums | None, span: int, size: int) -> list[list[float] | None]:
    """Where the mean of each stretch should lie if nothing changed: narrower the more scores it has."""
    if baseline is None or sums is None:
        return []
    found: list[list[float] | None] = []
    for count in in_buckets(sums[:1, -span:], size)[0].tolist():
        if count:
            half = BAND * baseline.deviation * sqrt(baseline.inflation / count)
            low, high = max(1.0, baseline.mean - half), min(5.0, baseline.mean + half)
            found.append([round(low, 3), round(high, 3)])
        else:
            found.append(None)
    return found


def _distribution(board: Board, name: StreamName, detector: Detector | None) -> Json:
    """Shares of the five whole scores: now, and in the baseline where there is one."""
    now = list(detector.window) if detector else board.latest_cells(name)
    usual = detector.baseline.counts if detector and detector.baseline else None
    return {
        "now": _shares(Counter(now)),
        "count": len(now),
        "baseline": _shares(Counter(usual)) if usual else None,
    }


def _shares(counts: Counter[int]) -> list[float]:
    levels = [0] * 5
    for cell, count in counts.items():
        levels[(cell + PER_SCORE // 2) // PER_SCORE] += count
    return [round(level / max(1, sum(levels)), 4) for level in levels]


def _mean_of_cells(cells: list[int]) -> float | None:
    return _short(value_of(sum(cells) / len(cells))) if cells else None


def _as_watched(watched: Watched | None) -> Json:
    """What only the monitor knows; its current mean, where it has one, is the one to show."""
    event = watched.leading_event if watched else None
    status = watched.status if watched else None
    if watched is None or (event is None and status is None):
        return {"state": None, "verdict": None, "baseline": None}
    told = event or status
    assert told is not None
    found: Json = {
        "state": watched.state,
        "verdict": watched.verdict,
        "baseline": _short(told.baseline_mean),
        "since": _ms(told.since),
        "statistic": _short(told.statistic),
        "threshold": _short(told.threshold),
        "rubric": told.rubric,
        "judge_model": told.judge_model,
    }
    if status is not None:
        found |= {"learned": status.learned, "psi": _short(status.psi), "per_day": _short(status.per_day)}
    if told.current_mean is not None:
        found["current"] = _short(told.current_mean)
    return found


def _standing(board: Board, state: DriftState) -> list[Json]:
    found = []
    for (kind, metric, segment), watched in board.standing(state):
        told = watched.announcement
        named = {"kind": kind, "metric": metric, "segment": segment, "state": state}
        announced = _event(told) if told else {}
        found.append({**announced, **named, **_as_watched(watched), "worst": _worst(board, watched)})
    return sorted(found, key=lambda alarm: -(alarm.get("since") or 0))


def _event(event: DriftChanged) -> Json:
    return {
        "event_id": event.event_id,
        "state": event.state,
        "previous_state": event.previous_state,
        "verdict": event.verdict,
        "reason": event.reason,
        "drop": _short(event.drop),
        "observations": event.observations,
        "at": _ms(event.at),
    }


def _worst(board: Board, watched: Watched) -> list[Json]:
    """The worst examples, as rows where they are still held."""
    found = []
    for summary_id in watched.worst:
        held = board.shelf.find(summary_id=summary_id)
        found.append(summary_row(held) if held else {"id": summary_id, "seq": None})
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ms(moment: datetime | None) -> int | None:
    return int(moment.timestamp() * 1000) if moment else None
