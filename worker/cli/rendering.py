"""How results, rejections and progress are shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from worker.errors import UserError
from worker.events import Kind, Metric, SummaryScored, Verdict

_KINDS = {Kind.COMPARATIVE: "comparative", Kind.RECOMMENDATION: "recommendation", Kind.OPINION: "opinion"}
_HEADINGS = {
    Metric.INFORMATIVENESS: "informat.",
    Metric.CLARITY: "clarity",
    Metric.CONCISENESS: "concise.",
    Metric.ASPECT_COVERAGE: "coverage",
    Metric.SENTIMENT_CONSISTENCY: "sentiment",
}
_ID_WIDTH = 28
_KIND_WIDTH = 15
_SCORE_WIDTH = 10


class Target(Protocol):
    """Where results are written."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...


class OutputFile:
    """A file for results that is not touched before there is one: a mistake must not empty it."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._file: TextIO | None = None
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise UserError(f"{path}: is the input itself; name another file with --out")
        if not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UserError(f"{path}: can't be written; name another file with --out")

    def write(self, text: str) -> None:
        """Write on; the first time, replace what was there."""
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8")
        self._file.write(text)

    def flush(self) -> None:
        """Let others see what is written so far."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Nothing more will come."""
        if self._file is not None:
            self._file.close()


class Progress:
    """A bar on stderr with rate and time left; nothing but the plain lines where that is no terminal."""

    def __init__(self, total_bytes: int | None, *, prints_results: bool) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        # On one terminal the bar and the results would overwrite each other: results go through the bar.
        self._shares_terminal = prints_results and sys.stdout.isatty() and self._console.is_terminal
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("scoring", total=total_bytes, rate="")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, position: int, scored: int, rejected: int) -> None:
        """So many bytes of the input are behind us."""
        elapsed = self._bar.tasks[0].elapsed or 0.0
        rate = f"{(scored + rejected) / elapsed:.1f}/s" if elapsed > 0 else ""
        self._bar.update(
            self._task, completed=position, description=f"{scored} scored, {rejected} rejected", rate=rate
        )

    def say(self, line: str) -> None:
        """One line on stderr."""
        self._console.print(" ".join(line.split()), markup=False, emoji=False)

    def print_result(self, line: str, target: Target) -> None:
        """One line of results, past the bar where both share the terminal."""
        if target is sys.stdout and self._shares_terminal:
            self._console.print(line, markup=False, emoji=False)
        else:
            target.write(line + "\n")
            target.flush()


class Rendering(Protocol):
    """Takes scored summaries one by one."""

    def show(self, event: SummaryScored) -> None: ...

    def finish(self) -> None: ...


class JsonLines:
    """One SummaryScored per line."""

    def __init__(self, target: Target, progress: Progress) -> None:
        self._target, self._progress = target, progress

    def show(self, event: SummaryScored) -> None:
        """Print the event."""
        self._progress.print_result(event.model_dump_json(), self._target)

    def finish(self) -> None:
        """Nothing is left to say."""


class Table:
    """One row per summary as it comes, so that a file of any length needs no memory; means at the end."""

    def __init__(self, target: Target, progress: Progress) -> None:
        self._target, self._progress = target, progress
        self._rows = 0
        self._sums = dict.fromkeys(Metric, 0.0)

    def show(self, event: SummaryScored) -> None:
        """Print a row."""
        if self._rows == 0:
            self._print("summary", "kind", list(_HEADINGS.values()))
        self._rows += 1
        for metric in Metric:
            self._sums[metric] += event.scores[metric].expected
        self._print(event.summary_id, _KINDS[event.kind], [_cell(event.scores[metric]) for metric in Metric])

    def finish(self) -> None:
        """Print the means."""
        if self._rows:
            means = [f"{self._sums[metric] / self._rows:.2f}" for metric in Metric]
            self._print(f"mean of {self._rows}", "", means)

    def _print(self, name: str, kind: str, cells: list[str]) -> None:
        shown = "".join(c if c.isprintable() else "�" for c in name)
        if len(shown) > _ID_WIDTH:
            shown = shown[: _ID_WIDTH - 1] + "…"
        row = f"{shown:<{_ID_WIDTH}} {kind:<{_KIND_WIDTH}}" + "".join(f"{c:>{_SCORE_WIDTH}}" for c in cells)
        self._progress.print_result(row.rstrip(), self._target)


def _cell(verdict: Verdict) -> str:
    """The score, with the expected value where that says more."""
    return (
        str(verdict.score)
        if verdict.expected == verdict.score
        else f"{verdict.score} ({verdict.expected:.1f})"
    )
