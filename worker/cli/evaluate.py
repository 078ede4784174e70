"""`quintet eval`: scores a file without Kafka."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack, aclosing, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click

from worker.cli import EXIT_INTERRUPTED
from worker.cli.options import config_option, judge_option, settings_from
from worker.cli.reading import Line, input_size, open_input, read_lines
from worker.cli.rendering import JsonLines, OutputFile, Progress, Rendering, Table, Target
from worker.cli.scoring import PATIENCE_SECONDS, describe_rejection, score_lines
from worker.errors import Outage
from worker.judging.building import build_judge
from worker.pipeline import Outcome, Rejected, Scored
from worker.rubrics import load_pack
from worker.settings import JudgeBackend, Settings


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
        target: Target = sys.stdout if out is None else stack.enter_context(closing(OutputFile(out, file)))
        wanted = format_ or ("table" if out is None else "jsonl")
        progress = stack.enter_context(Progress(input_size(file), prints_results=out is None))
        rendering: Rendering = (Table if wanted == "table" else JsonLines)(target, progress)
        run = _Evaluation(settings, file, rendering, progress)
        ctx.exit(asyncio.run(run.evaluate(source, backend)))


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
        interrupted = asyncio.Event()
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)

        try:
            lines = read_lines(source, self.settings.max_event_bytes)
            async with aclosing(score_lines(judge, self.settings, self.file, lines, interrupted)) as results:
                async for line, outcome in results:
                    self._show(line, outcome)
        except Outage:
            self._finish()
            raise
        finally:
            await judge.close()
        self._finish()
        if interrupted.is_set():
            keeps = judge.backend == "openai" and self.settings.cache != "off"
            self.progress.say(
                "stopped" + ("; replies already paid for are kept for the next run" if keeps else "")
            )
            return EXIT_INTERRUPTED
        return 1 if self.rejected else 0

    def _show(self, line: Line, outcome: Outcome) -> None:
        match outcome:
            case Scored(event=event):
                self.scored += 1
                self.rendering.show(event)
            case Rejected(rejection=rejection):
                self.rejected += 1
                self.progress.say(describe_rejection(self.file, line, rejection))
        self.progress.advance(line.position, self.scored, self.rejected)

    def _finish(self) -> None:
        self.rendering.finish()
        self.progress.say(f"{self.scored} scored, {self.rejected} rejected")
