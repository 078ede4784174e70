"""Draws worker/drift/drift.svg: one stream, simulated, through the real detector.

    python -m tests.pictures            (or: make pictures)

Nothing is staged: scores are drawn at random with a fixed seed, and every line is what the detector had at that score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tests.drift_scores import COHERENCE, START, draw, metric_scored, shifted, whole
from worker.drift.budget import Budget
from worker.drift.detector import Detector
from worker.drift.stream import Stream
from worker.events import DriftChanged, DriftState, Kind, Metric

PICTURE = Path(__file__).parents[1] / "worker/drift/drift.svg"

SEED = 7
DROP = 0.4
#: Scores of each part: learned and well, worse, well again.
WELL, WORSE, AGAIN = 1_600, 700, 700
#: Minutes between two scores: 288 a day.
MINUTES = 5.0
#: Scores that the drawn mean is taken over.
SMOOTHED = 100

WIDTH, HEIGHT = 900, 590
LEFT, RIGHT = 70, 868
TOP_PANEL, LOW_PANEL = (96, 300), (356, 530)
MEANS, SHARES = (3.4, 4.6), (0.0, 2.0)

COLOURS = {
    DriftState.LEARNING: "#8a94a3",
    DriftState.OK: "#2e8b57",
    DriftState.WARNING: "#d08a00",
    DriftState.ALARM: "#c62f3b",
}
INK, QUIET, GRID = "#1f2733", "#5b6675", "#dde2e8"


@dataclass(frozen=True)
class Story:
    """What happened at each score."""

    values: list[float]
    states: list[DriftState]
    #: Each walk's height as a share of its threshold; None while it does not run.
    warning: list[float | None]
    alarm: list[float | None]
    recovery: list[float | None]
    events: list[tuple[int, DriftChanged]]
    detector: Detector


def simulate() -> Story:
    """One stream with the default settings: usual, worse, usual again."""
    usual = whole(COHERENCE)
    values = (
        draw(usual, WELL, SEED) + draw(shifted(usual, DROP), WORSE, SEED + 1) + draw(usual, AGAIN, SEED + 2)
    )
    stream, budget = Stream(Kind.OPINION, Metric.CLARITY, "phones"), Budget()
    states, events = [], []
    warning: list[float | None] = []
    alarm: list[float | None] = []
    recovery: list[float | None] = []
    for number, value in enumerate(values):
        for event in stream.observe(metric_scored(number, value, minutes=MINUTES), budget):
            events.append((number, event))
        (detector,) = stream.detectors.values()
        states.append(detector.state)
        baseline = detector.baseline
        if baseline is None or baseline.warning is None or baseline.alarm is None:
            warning.append(None)
            alarm.append(None)
        else:
            # The warning's walk rests while an alarm stands.
            rests = detector.state is DriftState.ALARM
            warning.append(None if rests else detector.warning.height / baseline.warning.threshold)
            alarm.append(detector.alarm.height / baseline.alarm.threshold)
        back = detector.recovery
        recovery.append(back.height / back.threshold if back is not None else None)
    return Story(values, states, warning, alarm, recovery, events, detector)


def picture(story: Story) -> str:
    """The whole SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        "<title>A drop of 0.4 in a stream of scores, and how it is found</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="#ffffff"/>',
        *_states(story),
        *_worse(),
        *_panel(TOP_PANEL, MEANS, (3.5, 4.0, 4.5), "mean of the latest 100 scores"),
        *_scores(story),
        *_panel(LOW_PANEL, SHARES, (0.0, 0.5, 1.0, 1.5, 2.0), "evidence, as a share of its threshold"),
        *_walks(story),
        *_change_point(story),
        *_axis(len(story.values)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(number: float) -> float:
    return LEFT + (RIGHT - LEFT) * number / (WELL + WORSE + AGAIN)


def _y(value: float, panel: tuple[int, int], span: tuple[float, float]) -> float:
    low, high = span
    return panel[1] - (panel[1] - panel[0]) * (min(max(value, low), high) - low) / (high - low)


def _text(
    x: float, y: float, text: str, colour: str = QUIET, anchor: str = "start", weight: int = 400
) -> str:
    style = f'fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "", width: float = 1) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _states(story: Story) -> list[str]:
    """The strip on top: which state, from when to when."""
    parts = [_text(LEFT, 30, "state", INK, weight=600)]
    changes = [number for number, event in story.events if event.state != event.previous_state]
    for start, end in zip(changes, [*changes[1:], len(story.states)], strict=True):
        state = story.states[start]
        left, right = _x(start), _x(end)
        parts.append(
            f'<rect x="{left:.1f}" y="40" width="{max(right - left - 1, 1):.1f}" height="22" rx="3" fill="{COLOURS[state]}"/>'
        )
        if right - left > 10 * len(state):
            parts.append(_text((left + right) / 2, 56, state, "#ffffff", "middle", 600))
        else:
            parts.append(_text((left + right) / 2, 34, state, COLOURS[state], "middle", 600))
    return parts


def _worse() -> list[str]:
    """The stretch in which the scores really are worse: what the detector is not told."""
    left, right = _x(WELL), _x(WELL + WORSE)
    return [
        f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{bottom - top}" fill="#fbeaec"/>'
        for top, bottom in (TOP_PANEL, LOW_PANEL)
    ]


def _panel(
    panel: tuple[int, int], span: tuple[float, float], marks: Sequence[float], title: str
) -> list[str]:
    parts = [_text(LEFT, panel[0] - 10, title, INK, weight=600)]
    for mark in marks:
        y = _y(mark, panel, span)
        parts += [_line(LEFT, y, RIGHT, y, GRID), _text(LEFT - 8, y + 4, f"{mark:g}", anchor="end")]
    return parts


def _scores(story: Story) -> list[str]:
    baseline = story.detector.baseline
    assert baseline is not None and baseline.alarm is not None
    learned = next(number for number, event in story.events if event.state is DriftState.OK)
    usual = _y(baseline.mean, TOP_PANEL, MEANS)
    edge = _y(baseline.mean - baseline.alarm.dead_band, TOP_PANEL, MEANS)
    means = [
        sum(story.values[number + 1 - SMOOTHED : number + 1]) / SMOOTHED if number + 1 >= SMOOTHED else None
        for number in range(len(story.values))
    ]
    return [
        f'<rect x="{_x(learned):.1f}" y="{usual:.1f}" width="{RIGHT - _x(learned):.1f}" height="{edge - usual:.1f}"'
        ' fill="#2e8b57" fill-opacity="0.16"/>',
        _line(_x(learned), usual, RIGHT, usual, "#2e8b57", width=1.5),
        _curve(means, TOP_PANEL, MEANS, "#2b5fb3"),
        _text(
            LEFT + 6,
            TOP_PANEL[1] - 50,
            f"green line: the baseline, {baseline.mean:.2f}",
            "#1d6b41",
            weight=600,
        ),
        _text(
            LEFT + 6,
            TOP_PANEL[1] - 32,
            f"green band: the dead-band, {baseline.alarm.dead_band:.2f},",
            "#1d6b41",
        ),
        _text(LEFT + 6, TOP_PANEL[1] - 14, "too little to be called a drop", "#1d6b41"),
        _text(_x(WELL) + 6, TOP_PANEL[1] - 8, f"scores really {DROP:g} lower", "#9c2530"),
    ]


def _walks(story: Story) -> list[str]:
    threshold = _y(1.0, LOW_PANEL, SHARES)
    return [
        _line(LEFT, threshold, RIGHT, threshold, INK, "6 4", 1.5),
        _text(LEFT + 6, threshold - 6, "threshold", INK, weight=600),
        _curve(story.warning, LOW_PANEL, SHARES, COLOURS[DriftState.WARNING]),
        _curve(story.alarm, LOW_PANEL, SHARES, COLOURS[DriftState.ALARM]),
        _curve(story.recovery, LOW_PANEL, SHARES, COLOURS[DriftState.OK], "4 3"),
        _text(LEFT + 6, LOW_PANEL[0] + 110, "warning", "#9a6600", weight=600),
        _text(LEFT + 6, LOW_PANEL[0] + 128, "alarm", COLOURS[DriftState.ALARM], weight=600),
        _text(LEFT + 6, LOW_PANEL[0] + 146, "back at the baseline (dashed)", "#1d6b41", weight=600),
    ]


def _change_point(story: Story) -> list[str]:
    """Where the alarm says it began."""
    alarm = next(event for _, event in story.events if event.state is DriftState.ALARM)
    assert alarm.since is not None
    x = _x((alarm.since - START).total_seconds() / 60 / MINUTES)
    return [
        _line(x, TOP_PANEL[0], x, LOW_PANEL[1], "#7a3fa0", "2 3", 1.5),
        _text(x - 6, LOW_PANEL[0] + 18, "change point", "#7a3fa0", "end", 600),
        _text(x - 6, LOW_PANEL[0] + 34, "as the alarm estimates it", "#7a3fa0", "end"),
    ]


def _curve(
    values: Sequence[float | None],
    panel: tuple[int, int],
    span: tuple[float, float],
    colour: str,
    dash: str = "",
) -> str:
    """A line through every second value, with gaps where there is none."""
    path, drawing = [], False
    for number in range(0, len(values), 2):
        value = values[number]
        if value is not None:
            path.append(f"{'L' if drawing else 'M'}{_x(number):.1f} {_y(value, panel, span):.1f}")
        drawing = value is not None
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"{dashed}/>'


def _axis(count: int) -> list[str]:
    parts = []
    for mark in range(0, count + 1, 500):
        parts += [
            _line(_x(mark), LOW_PANEL[1], _x(mark), LOW_PANEL[1] + 5, QUIET),
            _text(_x(mark), LOW_PANEL[1] + 20, f"{mark:,}", anchor="middle"),
        ]
    return [*parts, _text((LEFT + RIGHT) / 2, LOW_PANEL[1] + 42, "scores of this stream", anchor="middle")]


def main() -> None:
    story = simulate()
    PICTURE.write_text(picture(story), encoding="utf-8")
    for number, event in story.events:
        print(f"{number:5} {event.state:8} {event.reason}")


if __name__ == "__main__":
    main()
