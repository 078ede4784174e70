"""`quintet calibrate`: how far a judge agrees with people, beside what length alone reaches."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from worker.cli.agreement_report import Report, render_json, render_table
from worker.cli.labels import Labels, read_labels
from worker.cli.options import config_option, judge_option, settings_from
from worker.cli.reading import STANDARD_INPUT, Line, input_size, open_input, read_lines
from worker.cli.rendering import Progress
from worker.cli.scoring import PATIENCE_SECONDS, describe_rejection, score_lines
from worker.errors import Rejection, UserError
from worker.events import JudgeIdentity, SummaryGenerated, read_summary
from worker.judging.judge import Judge
from worker.pipeline import Outcome, Rejected, Scored
from worker.settings import JudgeBackend, Settings

if TYPE_CHECKING:
    from worker.agreement import JudgedSummary


@click.command("calibrate")
@click.option("--summaries", required=True, metavar="FILE", help="JSONL of SummaryGenerated events.")
@click.option("--labels", required=True, metavar="FILE", help="JSONL of HumanLabel events.")
@judge_option
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead.")
@click.option(
    "--resamples", type=click.IntRange(100, 100_000), default=1000, show_default=True,
    help="Draws of the bootstrap behind the intervals.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@config_option
@click.pass_context
def command(
    ctx: click.Context,
    summaries: str,
    labels: str,
    judge: str | None,
    format_: str,
    out: Path | None,
    resamples: int,
    seed: int,
    config: Path | None,
) -> None:
    """Compare a judge's scores with people's, metric by metric.

    Spearman, Kendall and weighted kappa with intervals, beside what the number of words alone reaches and
    how people agree among themselves. Only labelled summaries are judged; a metric nobody labelled is said
    to be not validated.
    Exit code: 0 all lines used, 1 some not, 2 wrong use, 3 judge out of reach.

    \b
    Examples:
      quintet calibrate --summaries summaries.jsonl --labels labels.jsonl
      quintet calibrate --summaries summaries.jsonl --labels labels.jsonl --judge lexical --format json
    """
    if summaries == labels == STANDARD_INPUT:
        raise UserError("--summaries and --labels can't both be standard input; name a file for one")
    settings = settings_from(ctx, config, judge=judge)
    backend, said = settings.judge_or_lexical()
    if said:
        click.echo(said, err=True)
    with ExitStack() as stack:
        target: TextIO = sys.stdout if out is None else stack.enter_context(_open_output(out))
        progress = stack.enter_context(Progress(input_size(summaries), prints_results=False))
        people = read_labels(labels, progress.say)
        judging = Judging(summaries, settings, people, progress)
        asyncio.run(_judge_with(backend, judging))
        progress.say(judging.description)
        report = _compare(judging, people, resamples, seed)
        (render_table if format_ == "table" else render_json)(report, target)
    ctx.exit(1 if judging.rejected or people.bad_lines else 0)


# --- The one place where the command meets a concrete judge ------------------------------------------
async def _judge_with(backend: JudgeBackend, judging: Judging) -> None:
    from worker.judging.building import build_judge
    from worker.rubrics import load_pack

    pack = load_pack(judging.settings.pack)
    judge = build_judge(judging.settings, backend, pack, patience=PATIENCE_SECONDS)
    try:
        await judging.run(judge)
    finally:
        await judge.close()


# -----------------------------------------------------------------------------------------------------


@dataclass
class Judging:
    """One run over the summaries: the labelled ones are judged, the others only counted."""

    file: str
    settings: Settings
    people: Labels
    progress: Progress
    judged: list[JudgedSummary] = field(default_factory=list)
    identity: JudgeIdentity | None = None
    rejected: int = 0
    unlabelled: int = 0
    #: Labelled summaries that are not in the file, as far as it was read.
    unknown: set[str] = field(default_factory=set)

    async def run(self, judge: Judge) -> None:
        """Judge what has a label."""
        self.unknown = set(self.people.summary_ids)
        lines = self._labelled(read_lines(open_input(self.file), self.settings.max_event_bytes))
        never = asyncio.Event()
        async with aclosing(score_lines(judge, self.settings, self.file, lines, never)) as results:
            async for line, outcome in results:
                self._take(line, outcome)

    @property
    def description(self) -> str:
        """What became of both files, in one line."""
        return (
            f"{len(self.judged)} summaries judged, {self.rejected} rejected,"
            f" {self.unlabelled} without a label left out;"
            f" {len(self.people.labels)} labels, {self.people.bad_lines} lines not usable,"
            f" {len(self.unknown)} labelled summaries unknown"
        )

    async def _labelled(self, lines: AsyncIterator[Line]) -> AsyncIterator[Line]:
        """Lines worth a judge's time: labelled ones, and those the pipeline will reject with a reason."""
        wanted = self.people.summary_ids
        async for line in lines:
            summary = _try_to_read(line)
            if summary is not None:
                self.unknown.discard(summary.summary_id)
            if summary is None or summary.summary_id in wanted:
                yield line
            else:
                self.unlabelled += 1

    def _take(self, line: Line, outcome: Outcome) -> None:
        from worker.agreement import JudgedScore, JudgedSummary

        if isinstance(outcome, Rejected):
            self.rejected += 1
            rejection = outcome.rejection
            self.progress.say(describe_rejection(self.file, line, rejection))
        elif isinstance(outcome, Scored):
            scored = outcome.event
            self.identity = scored.judge
            scores = {
                metric: JudgedScore(verdict.score, verdict.expected)
                for metric, verdict in scored.scores.items()
            }
            words = read_summary(line.value).word_count
            self.judged.append(JudgedSummary(scored.summary_id, words, scores))
        self.progress.advance(line.position, len(self.judged), self.rejected)


def _compare(judging: Judging, people: Labels, resamples: int, seed: int) -> Report:
    from worker.agreement import measure

    if judging.identity is None:
        raise UserError(
            f"{judging.file}: no labelled summary could be judged;"
            " each label needs the summary_id of a summary in this file"
        )
    agreement = measure(judging.judged, people.labels, resamples=resamples, seed=seed)
    return Report(agreement, judging.identity, len(judging.unknown), resamples, seed)


def _try_to_read(line: Line) -> SummaryGenerated | None:
    try:
        return read_summary(line.value)
    except Rejection:
        return None


def _open_output(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name a file that can be written with --out") from None
