"""The lexical judge notices what makes a sample worse, nearly every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import trials
from worker.events import read_summary

SAMPLES = [
    read_summary(line)
    for line in (Path(__file__).parents[1] / "data" / "samples.jsonl").read_bytes().splitlines()
]
TRIALS = (*trials.TRIALS, trials.swapping(SAMPLES))


@pytest.mark.parametrize("trial", TRIALS, ids=[trial.name for trial in TRIALS])
def test_a_spoilt_summary_is_noticed(trial: trials.Trial) -> None:
    for outcome in trials.run(trial, SAMPLES):
        assert outcome.cases >= 10
        assert outcome.rate >= trial.wanted, outcome.failures
