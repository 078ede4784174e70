"""The `quintet` command: one module per group of commands, loaded only when it is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module, metadata
from pathlib import Path

import click

from worker.errors import Outage, UserError

EXIT_WRONG_USE = 2
EXIT_OUT_OF_REACH = 3
EXIT_INTERRUPTED = 130

#: Command → its module, which has a click command named `command`, and its line in the list of commands.
_COMMANDS = {
    "broker": ("worker.cli.broker", "Start or stop a Kafka broker for development."),
    "calibrate": ("worker.cli.calibrate", "Compare a judge's scores with people's."),
    "console": ("worker.cli.console", "Show scores and drift on a web page, live."),
    "demo": ("worker.cli.demo", "Show the whole story on this machine."),
    "doctor": ("worker.cli.doctor", "Find out why it doesn't work, and what to do."),
    "eval": ("worker.cli.evaluate", "Score the summaries of a file, without Kafka."),
    "drift": ("worker.cli.drift", "See what the detectors say, or accept a new level."),
    "monitor": ("worker.cli.monitor", "Watch the scores for drift."),
    "prompts": ("worker.cli.prompts", "List, show, check or import rubrics."),
    "publish": ("worker.cli.publish", "Send the events of a file to the input topic."),
    "rejected": ("worker.cli.rejected", "Look at rejected records, or send them back."),
    "schemas": ("worker.cli.schemas", ""),
    "tail": ("worker.cli.tail", "Follow what is scored, rejected or drifting."),
    "topics": ("worker.cli.topics", "Create or check the topics."),
    "worker": ("worker.cli.worker", "Score summaries from Kafka as they arrive."),
}


class _LazyGroup(click.Group):
    """Imports a command's module when it is named, so that `quintet --help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(_COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            listed = ((name, line) for name, (_, line) in sorted(_COMMANDS.items()))
            # A command without a line is for developers.
            formatter.write_dl([(name, line) for name, line in listed if line])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(metadata.version("quintet"), prog_name="quintet")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="TOML file with settings; the environment wins over it.",
)
@click.pass_context
def command_group(ctx: click.Context, config: Path | None) -> None:
    """Watches the quality of machine-written product summaries while they are being produced.

    \b
    Example:
      quintet eval summaries.jsonl
    """
    ctx.obj = config


def main() -> None:
    """Run the command; a user's mistake is one line on stderr, never a traceback."""
    try:
        sys.exit(command_group.main(standalone_mode=False, prog_name="quintet") or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "quintet"
        _fail(f"{_one_line(error.format_message())} (see `{where} --help`)", EXIT_WRONG_USE)
    except click.ClickException as error:
        _fail(_one_line(error.format_message()), EXIT_WRONG_USE)
    except UserError as error:
        _fail(_one_line(str(error)), EXIT_WRONG_USE)
    except Outage as outage:
        _fail(f"the judge is out of reach: {_one_line(outage.message)}", EXIT_OUT_OF_REACH)
    except (KeyboardInterrupt, click.Abort):
        _fail("stopped", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        sys.exit(0)
    except OSError as error:
        # A full disk, a directory that can't be written: the system's own words say it best.
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        _fail(
            f"{where}{error.strerror or error}; check the path, its permissions and the space left",
            EXIT_WRONG_USE,
        )


def _discard_output() -> None:
    """Nobody takes our output any more: the interpreter must not try to flush it once again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    print(f"quintet: {message}", file=sys.stderr)
    sys.exit(code)


def _one_line(text: str) -> str:
    return " ".join(text.split())
