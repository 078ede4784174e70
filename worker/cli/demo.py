"""`quintet demo`: the whole story on this machine."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from types import FrameType

import click
from rich.console import Console

from worker.demo.estimate import estimate
from worker.demo.parts import Parts, running
from worker.demo.story import Story
from worker.demo.view import View, report, succeeded
from worker.errors import UserError
from worker.settings import JudgeBackend, load_settings

#: What the demo sets otherwise than the defaults, and why.
BASELINE = "300"
#: Columns where nobody says how many there are.
WIDTH = 120


@click.command()
@click.option("--judge", type=click.Choice(["lexical", "openai"]), default="lexical", show_default=True)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Another seed, another stream of samples."
)
@click.option("--stay", is_flag=True, help="Keep everything running at the end, until Ctrl-C.")
@click.option("--yes", is_flag=True, help="Don't ask before a judge that costs money is used.")
@click.pass_context
def command(ctx: click.Context, judge: str, seed: int, stay: bool, yes: bool) -> None:
    """Show the whole story on this machine, in about two minutes.

    A real broker, a worker, the drift monitor and the console are started; a sample stream is scored; then
    the generator gets worse in one category, and the alarm comes. Everything is ended and thrown away again.

    \b
    Example:
      quintet demo --stay
    """
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = WIDTH
    overrides = _overrides(judge)
    if judge == JudgeBackend.OPENAI:
        _agree(console, yes=yes)
    signal.signal(signal.SIGTERM, _as_interrupt)
    began = time.monotonic()
    try:
        with running(overrides, lambda part: console.print(f"starting  {part} …")) as parts:
            _say_settings(console, overrides, parts)
            story = Story(parts.settings, seed, lambda: _must_run(parts))
            View(console).show(story.tell())
            report(console, story.progress, parts.console, time.monotonic() - began, stay=stay)
            if stay:
                _stay(console, parts)
    except KeyboardInterrupt:
        console.print("stopped: everything is ended and its data thrown away")
        ctx.exit(130)
    if not succeeded(story.progress):
        raise click.ClickException("the alarm did not come as it should have; try: quintet doctor")


def _overrides(judge: str) -> dict[str, str]:
    return {"QUINTET_JUDGE": judge, "QUINTET_BASELINE_SIZE": BASELINE}


def _say_settings(console: Console, overrides: dict[str, str], parts: Parts) -> None:
    reasons = {
        "QUINTET_JUDGE": "the built-in judge: offline and free"
        if "lexical" in overrides.values()
        else "as asked",
        "QUINTET_BASELINE_SIZE": "instead of 1000, so that a few thousand summaries are enough",
    }
    for name, value in overrides.items():
        console.print(f"setting   {name}={value} ({reasons[name]})")
    s = parts.settings
    console.print(
        f"usual     {s.false_alarms_per_30_days:g} false alarm in 30 days over {s.expected_streams} streams"
    )
    console.print(f"page      {parts.console}")


def _agree(console: Console, *, yes: bool) -> None:
    """Show what it would cost, and ask."""
    settings = load_settings(judge="openai")
    settings.judge_or_refuse()
    console.print(estimate(settings))
    if not yes and not click.confirm("Go on?", default=False):
        raise UserError("not started; without --judge openai the demo costs nothing")


def _must_run(parts: Parts) -> None:
    if problem := parts.fallen():
        raise UserError(f"the demo's {problem}")


def _stay(console: Console, parts: Parts) -> None:
    """Until Ctrl-C, or until something falls over."""
    brokers = ",".join(parts.settings.brokers)
    console.print(f"staying   until Ctrl-C; look with: QUINTET_BROKERS={brokers} quintet drift status")
    with suppress(KeyboardInterrupt):
        while True:
            _must_run(parts)
            time.sleep(0.5)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
