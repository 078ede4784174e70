"""`quintet eval`: scores a file without Kafka."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TextIO

import click

from worker.cli import EXIT_INTERRUPTED
from worker.cli.options import config_option, judge_option, settings_from
from worker.cli.ordered import in_order
from worker.cli.reading import Line, input_size, open_input, read_lines
from worker.cli.rendering import ADVICE, JsonLines, Progress, Rendering, Table
from worker.errors import Outage, UserError
from worker.events import FileSource
from worker.judging.building import build_judge
from worker.pipeline import Outcome, Pipeline, Record, Rejected, Scored
from worker.rubrics import load_pack
from worker.settings import JudgeBackend, Settings

#: Seconds that an unreachable judge is waited for before the command gives up.
PATIENCE_SECONDS = 30.0


@click.command("eval")
@click.argument("file")
@judge_option
@click.option(
    "--format", "format_", type=click.Choice(["table", "jsonl"]),
    help="Default: table on the screen, jsonl into a file named by --out.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead.")
@config_option
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    judge: str | None,
    format_: str | None,
    out: Path | None,
    config: Path | None,
) -> None:
    """Score the summaries of a JSONL FILE (- = standard input) on all five metrics.

    Results come in input order; a line that can't be scored is said on stderr and the rest goes on.
    Exit code: 0 all scored, 1 some rejected, 2 wrong use, 3 judge out of reach.

    \b
    Examples:
      quintet eval summaries.jsonl
      quintet eval summaries.jsonl --format jsonl > scored.jsonl
      zcat summaries.jsonl.gz | quintet eval - --judge lexical --out scored.jsonl
    """
    settings = settings_from(ctx, config, judge=judge)
    backend, said = settings.judge_or_lexical()
    if said:
        click.echo(said, err=True)
    with ExitStack() as stack:
        source = open_input(file)
        target: TextIO = sys.stdout if out is None else stack.enter_context(_open_output(out))
        wanted = format_ or ("table" if out is None else "jsonl")
        progress = stack.enter_context(Progress(input_size(file), prints_results=out is None))
        rendering: Rendering = (Table if wanted == "table" else JsonLines)(target, progress)
        run = _Evaluation(settings, file, rendering, progress)
        ctx.exit(asyncio.run(run.evaluate(source, backend)))


def _open_output(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name a file that can be written with --out") from None


@dataclass
class _Evaluation:
    """One run over a file."""

    settings: Settings
    file: str
    rendering: Rendering
    progress: Progress
    scored: int = 0
    rejected: int = 0

    async def evaluate(self, source: BinaryIO, backend: JudgeBackend) -> int:
        """Score line by line; the exit code."""
        pack = load_pack(self.settings.pack)
        judge = build_judge(self.settings, backend, pack, patience=PATIENCE_SECONDS)
        pipeline = Pipeline(judge, max_event_bytes=self.settings.max_event_bytes)
        interrupted = asyncio.Event()
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)

        async def process(line: Line) -> tuple[Line, Outcome]:
            record = Record(line.value, FileSource(file=self.file, line=line.number), datetime.now(UTC))
            return line, await pipeline.process(record)

        try:
            lines = read_lines(source, self.settings.max_event_bytes)
            async with aclosing(in_order(lines, process, self.settings.concurrency, interrupted)) as results:
                async for line, outcome in results:
                    self._show(line, outcome)
        except Outage:
            self._finish()
            raise
        finally:
            await judge.close()
        self._finish()
        if interrupted.is_set():
            self.progress.say("stopped; replies already paid for are kept, a second run does not ask again")
            return EXIT_INTERRUPTED
        return 1 if self.rejected else 0

    def _show(self, line: Line, outcome: Outcome) -> None:
        match outcome:
            case Scored(event=event):
                self.scored += 1
                self.rendering.show(event)
            case Rejected(rejection=rejection):
                self.rejected += 1
                advice = ADVICE[rejection.reason]
                self.progress.say(
                    f"{self.file}:{line.number}: rejected, {rejection.reason}: {rejection.message}; {advice}"
                )
        self.progress.advance(line.position, self.scored, self.rejected)

    def _finish(self) -> None:
        self.rendering.finish()
        self.progress.say(f"{self.scored} scored, {self.rejected} rejected")
