"""How agreement with people is shown: a table to read, JSON to keep."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from worker.events import JudgeIdentity

if TYPE_CHECKING:
    from worker.agreement import Agreement, Estimate, MetricAgreement

NOT_VALIDATED = "not validated against people"

#: Wide enough for the whole table where the output is no terminal and has no width of its own.
_FILE_WIDTH = 140
_NOTHING = "–"
_LENGTH_MAY_DO = "*"


@dataclass(frozen=True)
class Report:
    """The agreement, whose it is, and how its intervals came about."""

    agreement: Agreement
    judge: JudgeIdentity
    #: Labelled summaries that were not in the file.
    unknown: int
    resamples: int
    seed: int


def render_table(report: Report, target: TextIO) -> None:
    """A row per metric, and below it what the figures don't say."""
    console = Console(
        file=target,
        highlight=False,
        emoji=False,
        markup=False,
        width=None if target.isatty() else _FILE_WIDTH,
    )
    table = Table(box=box.SIMPLE, title=_title(report), title_justify="left", title_style="")
    table.add_column("metric", no_wrap=True)
    for heading in ("n/groups", "Spearman", "Kendall", "weighted kappa", "length rho", "human rho"):
        table.add_column(heading, justify="right")
    for metric, found in report.agreement.by_metric.items():
        table.add_row(metric.value, *_cells(found))
    console.print(table)
    for line in _notes(report):
        console.print(line, soft_wrap=True)


def render_json(report: Report, target: TextIO) -> None:
    """Everything, as one JSON object."""
    agreement = report.agreement
    document = {
        "judge": report.judge.model_dump(),
        "summaries": agreement.summaries,
        "unknown_summaries": report.unknown,
        "resamples": report.resamples,
        "seed": report.seed,
        "confidence": agreement.confidence,
        "metrics": {metric.value: _document(found) for metric, found in agreement.by_metric.items()},
    }
    target.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def _title(report: Report) -> str:
    judge = report.judge
    return f"agreement with people: {judge.backend} {judge.model}, pack {judge.pack}"


def _cells(found: MetricAgreement | None) -> list[str]:
    if found is None:
        return [_NOTHING] * 6
    mark = _LENGTH_MAY_DO if _length_may_do(found) else ""
    return [
        f"{found.summaries}/{found.groups}",
        _with_interval(found.spearman) + mark,
        _with_interval(found.kendall),
        _with_interval(found.kappa),
        _figure(found.length_spearman.value if found.length_spearman else None),
        _figure(found.human_spearman),
    ]


def _notes(report: Report) -> list[str]:
    by_metric = report.agreement.by_metric
    share = f"{report.agreement.confidence:.0%}".replace("%", " %")
    notes = [f"{metric}: {NOT_VALIDATED} (no labels)" for metric, found in by_metric.items() if found is None]
    if any(found is not None and _length_may_do(found) for found in by_metric.values()):
        notes.append(f"{_LENGTH_MAY_DO} not shown to be better than the number of words alone (length rho)")
    notes.append("human rho: each annotator against the mean of the others; – where there is only one")
    notes.append(f"[low, high]: {share} intervals, {report.resamples} resamples, seed {report.seed}")
    return notes


def _document(found: MetricAgreement | None) -> dict[str, Any]:
    if found is None:
        return {"validated": False, "reason": f"{NOT_VALIDATED}: no labels"}
    return {
        "validated": True,
        **asdict(found),
        "beats_length": not _length_may_do(found) if found.lead_over_length else None,
    }


def _length_may_do(found: MetricAgreement) -> bool:
    """Whether the lead over the number of words may be nothing."""
    return found.lead_over_length is not None and found.lead_over_length.low <= 0


def _with_interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return _NOTHING
    return f"{_figure(estimate.value)} [{_figure(estimate.low)}, {_figure(estimate.high)}]"


def _figure(value: float | None) -> str:
    """Two decimals, never `-0.00`."""
    return _NOTHING if value is None else f"{round(value, 2) + 0.0:.2f}"
