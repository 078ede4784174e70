"""Measures the lexical judge: how fast it is, what it notices, how far it agrees with people.

    python tests/benchmarks/bench_lexical.py [--data DIR]

DIR holds pairs of NAME.summaries.jsonl (SummaryGenerated) and NAME.labels.jsonl (HumanLabel with a group).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from scipy.stats import rankdata

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import trials  # noqa: E402
from worker.events import HumanLabel, Kind, Metric, SummaryGenerated, read_summary  # noqa: E402
from worker.judging.lexical import score  # noqa: E402

SAMPLES = ROOT / "tests" / "data" / "samples.jsonl"
#: Beside the repository, where there are human labels that can't be part of it.
DATA = ROOT.parent / "shared" / "data"

Labels = Mapping[Metric, Mapping[str, Mapping[str, float]]]


def main() -> None:
    """Prints the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="directory of human-labelled summaries")
    data: Path = parser.parse_args().data
    sets = {"samples": read_events(SAMPLES)}
    labelled = {path.name.split(".")[0]: path for path in sorted(data.glob("*.summaries.jsonl"))}
    sets.update((name, read_events(path)) for name, path in labelled.items())
    print_speed(sets)
    print_trials(sets)
    for name, path in labelled.items():
        labels = read_labels(path.with_name(path.name.replace(".summaries.", ".labels.")))
        print_agreement(name, sets[name], labels)


def read_events(path: Path) -> list[SummaryGenerated]:
    """The events of a JSONL file."""
    return [read_summary(line) for line in path.read_bytes().splitlines()]


def read_labels(path: Path) -> Labels:
    """Metric -> group -> summary -> mean over the annotators."""
    found: dict[Metric, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for line in path.read_bytes().splitlines():
        label = HumanLabel.model_validate_json(line)
        for metric, value in label.scores.items():
            found[metric][label.group or ""][label.summary_id].append(value)
    return {
        metric: {
            group: {name: mean(values) for name, values in names.items()} for group, names in groups.items()
        }
        for metric, groups in found.items()
    }


def print_speed(sets: Mapping[str, Sequence[SummaryGenerated]]) -> None:
    """Summaries per second; no review is seen twice, so that nothing is remembered."""
    score(sets["samples"][0])
    for name, events in sets.items():
        fresh = [_renamed(event, number) for number, event in enumerate(events[:400])]
        opinions = [event for event in fresh if event.kind is Kind.OPINION]
        started = time.perf_counter()
        for event in opinions:
            score(event)
        elapsed = time.perf_counter() - started
        print(f"speed {name}: {len(opinions) / elapsed:.0f} product opinions per second, one core")
    print()


def print_trials(sets: Mapping[str, Sequence[SummaryGenerated]]) -> None:
    """For every trial and metric the share of cases that came out as expected."""
    heads = "".join(f"{name:>20}" for name in sets)
    print(f"{'mutation':34}{'metric':24}{'expected':16}{'wanted':>6}{heads}")
    for number in range(len(trials.TRIALS) + 1):
        rates: dict[tuple[str, str, str, float], list[str]] = defaultdict(list)
        for events in sets.values():
            trial = (*trials.TRIALS, trials.swapping(events))[number]
            for outcome in trials.run(trial, events):
                key = (
                    trial.name,
                    outcome.metric.value,
                    "falls" if outcome.lowered else "does not rise",
                    trial.wanted,
                )
                rates[key].append(f"{outcome.rate:.1%} of {outcome.cases}" if outcome.cases else "-")
        for (name, metric, expected, wanted), cells in rates.items():
            print(
                f"{name:34}{metric:24}{expected:16}{wanted:6.0%}" + "".join(f"{cell:>20}" for cell in cells)
            )
    print()


def print_agreement(name: str, events: Sequence[SummaryGenerated], labels: Labels) -> None:
    """Rank correlation within groups, with that of the plain word count beside it."""
    scores = {event.summary_id: score(event) for event in events}
    words = {event.summary_id: float(event.word_count) for event in events}
    print(f"{name + ', rho':34}{'judge':>8}{'even groups':>14}{'odd groups':>14}{'word count':>14}")
    for metric, groups in labels.items():
        judged = {key: found[metric].expected for key, found in scores.items()}
        rhos = [correlation(judged, names) for _, names in sorted(groups.items())]
        lengths = [correlation(words, names) for _, names in sorted(groups.items())]
        cells = f"{mean(rhos):8.3f}{mean(rhos[::2]):14.3f}{mean(rhos[1::2]):14.3f}{mean(lengths):14.3f}"
        print(f"{metric.value:34}{cells}")
    print()


def correlation(judged: Mapping[str, float], human: Mapping[str, float]) -> float:
    """Spearman's rho over the summaries of one group; 0 where it is undefined."""
    names = sorted(human)
    ours = rankdata([round(judged[name], 9) for name in names])
    theirs = rankdata([human[name] for name in names])
    ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    size = float((ours @ ours) * (theirs @ theirs)) ** 0.5
    return float(ours @ theirs) / size if size else 0.0


def _renamed(event: SummaryGenerated, number: int) -> SummaryGenerated:
    """The event with a word of its own in every review."""
    products = [
        product.model_copy(
            update={"reviews": [f"{review} No{number}." for review in product.reviews or []] or None}
        )
        for product in event.products
    ]
    return event.model_copy(update={"products": products})


if __name__ == "__main__":
    main()
