"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from worker.settings import JudgeBackend, Settings, load_settings

#: `--config` is taken before and after the command's name.
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="TOML file with settings; the environment wins over it.",
)

judge_option = click.option(
    "--judge",
    type=click.Choice([backend.value for backend in JudgeBackend]),
    help="Which judge; default: openai where a key or base URL is set, else lexical.",
)


def settings_from(ctx: click.Context, config: Path | None, **overrides: Any) -> Settings:
    """Settings of the environment and the file, with this command's options over them."""
    return load_settings(config or ctx.obj, **overrides)
