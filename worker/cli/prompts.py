"""`quintet prompts`: looks at rubrics, checks a pack, takes over existing templates."""

from __future__ import annotations

from pathlib import Path

import click

from worker.cli.options import config_option, settings_from
from worker.events import NATIVE_KIND, Kind, Metric
from worker.rubrics import Pack, load_pack
from worker.rubrics.importing import read_templates, write_pack

_pack_option = click.option(
    "--pack",
    type=click.Path(path_type=Path),
    help="A pack's directory; default: QUINTET_PACK, else built in.",
)


@click.group("prompts")
def command() -> None:
    """List, show and check rubrics, or import templates of your own.

    \b
    Example:
      quintet prompts show clarity product_opinion
    """


@command.command("list")
@_pack_option
@config_option
@click.pass_context
def list_rubrics(ctx: click.Context, pack: Path | None, config: Path | None) -> None:
    """List all fifteen rubrics: metric, kind, native or adapted, digest, origin.

    \b
    Example:
      quintet prompts list --pack my-pack
    """
    chosen = _chosen(ctx, pack, config)
    click.echo(f"pack {chosen.name}")
    for metric in Metric:
        for kind in Kind:
            rubric = chosen.rubric(metric, kind)
            fit = "native" if rubric.native else "adapted"
            click.echo(f"{metric:<22} {kind:<27} {fit:<8} {rubric.id:<46} {rubric.origin}")


@command.command("show")
@click.argument("metric", type=click.Choice([metric.value for metric in Metric]), metavar="METRIC")
@click.argument("kind", type=click.Choice([kind.value for kind in Kind]), required=False, metavar="[KIND]")
@_pack_option
@config_option
@click.pass_context
def show(ctx: click.Context, metric: str, kind: str | None, pack: Path | None, config: Path | None) -> None:
    """Show one rubric as the judge gets it; KIND defaults to the metric's native kind.

    \b
    Example:
      quintet prompts show conciseness recommendation_explanation
    """
    wanted = Kind(kind) if kind else NATIVE_KIND[Metric(metric)]
    rubric = _chosen(ctx, pack, config).rubric(Metric(metric), wanted)
    if rubric.system:
        click.echo(f"[system message]\n{rubric.system}\n")
    if not rubric.brings_its_own_evidence:
        click.echo("[the material stands here: evidence and summary, fenced]\n")
    click.echo(rubric.instructions)


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The pack to write."
)
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    help="The kind the templates are for; default: the metric's native kind.",
)
def import_templates(files: tuple[Path, ...], out: Path, kind: str | None) -> None:
    """Turn templates written as Python assignments into a pack; they are read, never executed.

    \b
    Example:
      quintet prompts import clarity.txt conciseness.txt --out my-pack
      QUINTET_PACK=my-pack quintet eval summaries.jsonl
    """
    templates = [t for file in files for t in read_templates(file, Kind(kind) if kind else None)]
    for path in write_pack(templates, out):
        click.echo(f"wrote {path}")
    own = {(template.metric, template.kind) for template in templates}
    click.echo(f"{len(own)} of {len(Metric) * len(Kind)} rubrics; what the pack lacks is built in")


@command.command("check")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@config_option
@click.pass_context
def check(ctx: click.Context, directory: Path | None, config: Path | None) -> None:
    """Check a pack: names, placeholders, encoding; the first fault with file and line.

    \b
    Example:
      quintet prompts check my-pack
    """
    pack = _chosen(ctx, directory, config)
    own = sum(not rubric.is_builtin for rubric in pack.rubrics.values())
    click.echo(f"{pack.name}: good; {own} rubrics of its own, {len(pack.rubrics) - own} built in")


def _chosen(ctx: click.Context, pack: Path | None, config: Path | None) -> Pack:
    return load_pack(pack or settings_from(ctx, config).pack)
