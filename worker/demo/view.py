"""How the demo is shown: a live view on a terminal, plain lines elsewhere, and the report at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from worker.demo.generator import WORSE_CATEGORY
from worker.demo.story import Chapter, Progress
from worker.drift.group import ALL
from worker.events import DriftChanged, DriftState

#: Seconds between two plain lines.
SAY_AGAIN = 5.0
_LATEST = 6
_STYLES = {DriftState.ALARM: "bold red", DriftState.WARNING: "yellow", DriftState.OK: "green"}


class View:
    """Shows the progress, live where somebody is looking."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._said = float("-inf")
        self._chapter: Chapter | None = None

    def show(self, story: Iterable[Progress]) -> None:
        """Until the story ends."""
        if not self._console.is_terminal:
            for progress in story:
                self._say(progress)
            return
        with Live(console=self._console, refresh_per_second=4, transient=True) as live:
            for progress in story:
                live.update(self._picture(progress))

    def _say(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.chapter is self._chapter and now - self._said < SAY_AGAIN:
            return
        self._chapter, self._said = progress.chapter, now
        self._console.print(f"{now - self._began:4.0f} s  {progress.chapter}: {_figures(progress)}")

    def _picture(self, progress: Progress) -> Group:
        head = Text(f"{time.monotonic() - self._began:4.0f} s  {progress.chapter}", style="bold")
        bar = Table.grid(padding=(0, 1))
        bar.add_row("streams watched", ProgressBar(progress.streams, progress.watched(), width=40))
        return Group(head, bar, Text(_figures(progress)), _events(progress))


def _figures(progress: Progress) -> str:
    states = Counter(event.state for (*_, segment), event in progress.latest.items() if segment != ALL)
    shown = ", ".join(f"{states[state]} {state}" for state in DriftState if states[state])
    return (
        f"{progress.scored} scored, {progress.rejected} rejected of {progress.published};"
        f" streams: {shown or 'none yet'}"
    )


def _events(progress: Progress) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    notable = [event for event in progress.events if event.state in {DriftState.WARNING, DriftState.ALARM}]
    for event in notable[-_LATEST:]:
        table.add_row(_stream(event), Text(_state(event), style=_STYLES.get(event.state, "")), event.reason)
    return table


def report(console: Console, progress: Progress, page: str, seconds: float, *, stay: bool) -> None:
    """What happened, in a dozen lines."""
    console.print()
    console.print(f"scored    {progress.scored} summaries on five metrics in {seconds:.0f} s")
    console.print(f"rejected  {progress.rejected} records that nobody can score, each for its own reason")
    watched = f"{progress.watched()} streams by category, kind and metric"
    console.print(
        f"watched   {watched}, and {len(progress.latest) - _by_category(progress)} of all categories together"
    )
    alarms = sorted(progress.decided(), key=lambda event: event.at)
    if not alarms:
        console.print("drift     no alarm")
        return
    pooled = sum(event.segment == ALL for event in progress.alarms.values())
    console.print(f"drift     {len(alarms)} alarms by category, and {pooled} of all categories together:")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("category", "kind", "metric", "verdict", "usual", "now", "found after"):
        table.add_column(heading)
    for event in alarms:
        figures = (f"{event.baseline_mean:.2f}", f"{event.current_mean:.2f}")
        count = f"{event.observations} summaries"
        table.add_row(event.segment, event.kind, event.metric, str(event.verdict), *figures, count)
    console.print(table)
    console.print(f"why       {alarms[0].reason}")
    console.print(f"read      {', '.join(_worst(alarms))}")
    console.print(f"page      {page}{'' if stay else ' (ends with the demo; quintet demo --stay keeps it)'}")


def succeeded(progress: Progress) -> bool:
    """Whether the alarm came, with a verdict, and only where the generator got worse."""
    segments = {event.segment for event in progress.decided()}
    return segments == {WORSE_CATEGORY}


def _by_category(progress: Progress) -> int:
    return sum(segment != ALL for *_, segment in progress.latest)


def _worst(alarms: Iterable[DriftChanged]) -> list[str]:
    """Summaries to read first: the worst of each alarm, without repeats."""
    return list(dict.fromkeys(event.worst[0] for event in alarms if event.worst))[:5]


def _stream(event: DriftChanged) -> str:
    return f"{event.segment} {event.kind} {event.metric}"


def _state(event: DriftChanged) -> str:
    return f"{event.state}: {event.verdict}" if event.verdict else str(event.state)
