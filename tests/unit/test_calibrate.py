"""`quintet calibrate`: reading labels, judging only what is labelled, and what is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner, Result

from worker.agreement import Agreement, Estimate, MetricAgreement
from worker.cli import calibrate
from worker.cli.agreement_report import NOT_VALIDATED, Report, render_json, render_table
from worker.cli.labels import read_labels
from worker.errors import Rejection, RejectionReason, UserError
from worker.events import JudgeIdentity, Metric, Mode, SummaryGenerated, Verdict
from worker.judging.judge import Judgement
from worker.settings import JudgeBackend

IDENTITY = JudgeIdentity(backend="lexical", model="lexical-1", requested_model="lexical-1", pack="builtin@0")


def write_lines(path: Path, *lines: dict[str, Any] | str) -> Path:
    """A JSONL file; strings are written as they are."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def opinion(summary_id: str, words: int = 5) -> dict[str, Any]:
    """A product opinion of so many words."""
    return {
        "summary_id": summary_id,
        "kind": "product_opinion",
        "summary": " ".join(["good"] * words),
        "products": [{"reviews": ["good"]}],
    }


def label(summary_id: str, clarity: float, annotator: str = "ada", **more: Any) -> dict[str, Any]:
    """One annotator's label for clarity."""
    return {"summary_id": summary_id, "annotator": annotator, "scores": {"clarity": clarity}, **more}


class TestReadLabels:
    def read(self, path: Path) -> tuple[list[str], int, list[str]]:
        said: list[str] = []
        found = read_labels(str(path), said.append)
        return [one.summary_id for one in found.labels], found.bad_lines, said

    def test_reads_every_line_and_skips_blank_ones(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "labels.jsonl", label("a", 4.5), "", label("b", 2))

        assert self.read(path) == (["a", "b"], 0, [])

    @pytest.mark.parametrize(
        ("line", "complaint"),
        [
            ("{", "EOF"),
            ('{"summary_id": "x", "annotator": "ada", "scores": {"clarity": NaN}}', "expected value"),
            ('{"summary_id": "x", "annotator": "ada", "scores": {"clarity": 6}}', "scores.clarity: Input"),
            ('{"summary_id": "x", "annotator": "ada", "scores": {"beauty": 3}}', "scores.beauty"),
            ('{"annotator": "ada", "scores": {}}', "summary_id: Field required"),
            ("[1]", "should be a valid dictionary"),
        ],
    )
    def test_a_bad_line_is_said_with_its_place_and_the_rest_goes_on(
        self, tmp_path: Path, line: str, complaint: str
    ) -> None:
        path = write_lines(tmp_path / "labels.jsonl", label("a", 4), line, label("b", 2))

        ids, bad, said = self.read(path)

        assert (ids, bad) == (["a", "b"], 1)
        assert len(said) == 1
        assert said[0].startswith(f"{path}:2: not a label: ")
        assert complaint in said[0]

    def test_no_usable_label_is_a_user_error(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "labels.jsonl", "")

        with pytest.raises(UserError, match="no usable label; write lines like"):
            self.read(path)

    def test_a_missing_file_is_a_user_error(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="No such file"):
            self.read(tmp_path / "none.jsonl")


def report(**of_clarity: Any) -> Report:
    """A report with labels for clarity alone."""
    values: dict[str, Any] = {
        "summaries": 208,
        "groups": 16,
        "annotators": 3,
        "spearman": Estimate(0.7049, 0.6, 0.8),
        "kendall": Estimate(0.55, 0.45, 0.651),
        "kappa": Estimate(0.4, 0.3, 0.5),
        "length_spearman": Estimate(0.61, 0.5, 0.7),
        "lead_over_length": Estimate(0.09, 0.01, 0.17),
        "human_spearman": 0.43,
    }
    by_metric: dict[Metric, MetricAgreement | None] = dict.fromkeys(Metric)
    by_metric[Metric.CLARITY] = MetricAgreement(**(values | of_clarity))
    return Report(Agreement(by_metric, 208, 0, 0, 0.95), IDENTITY, 7, 1000, 0)


def rendered(render: Callable[[Report, StringIO], None], one: Report) -> str:
    """What a rendering writes."""
    target = StringIO()
    render(one, target)
    return target.getvalue()


class TestTable:
    def row(self, table: str, metric: Metric) -> list[str]:
        (line,) = [line for line in table.splitlines() if line.strip().startswith(f"{metric} ")]
        return [cell for cell in line.strip().split("  ") if cell.strip()]

    def test_has_a_row_per_metric_with_its_figures(self) -> None:
        table = rendered(render_table, report())

        assert [cell.strip() for cell in self.row(table, Metric.CLARITY)] == [
            "clarity",
            "208/16",
            "0.70 [0.60, 0.80]",
            "0.55 [0.45, 0.65]",
            "0.40 [0.30, 0.50]",
            "0.61",
            "0.43",
        ]
        assert "lexical-1" in table
        assert "95 % intervals, 1000 resamples, seed 0" in table

    def test_says_which_metrics_are_not_validated(self) -> None:
        table = rendered(render_table, report())

        said = [line for line in table.splitlines() if NOT_VALIDATED in line]
        assert len(said) == len(Metric) - 1
        assert f"conciseness: {NOT_VALIDATED} (no labels)" in said
        assert not any(line.startswith("clarity") for line in said)

    def test_marks_a_judge_whose_lead_over_length_may_be_nothing(self) -> None:
        better = rendered(render_table, report())
        worse = rendered(render_table, report(lead_over_length=Estimate(0.09, 0.0, 0.18)))

        assert "*" not in better
        assert "0.70 [0.60, 0.80]*" in worse
        assert "* not shown to be better than the number of words alone" in worse

    def test_shows_a_dash_for_what_does_not_exist_and_no_minus_zero(self) -> None:
        bare = report(
            spearman=None, kendall=Estimate(-0.001, -0.2, 0.2), length_spearman=None, human_spearman=None
        )

        cells = [cell.strip() for cell in self.row(rendered(render_table, bare), Metric.CLARITY)]

        assert cells[2] == "–"
        assert cells[3] == "0.00 [-0.20, 0.20]"
        assert cells[5:] == ["–", "–"]


def test_json_has_every_figure_and_says_what_is_not_validated() -> None:
    document = json.loads(rendered(render_json, report()))

    assert document["metrics"]["clarity"] == {
        "validated": True,
        "summaries": 208,
        "groups": 16,
        "annotators": 3,
        "spearman": {"value": 0.7049, "low": 0.6, "high": 0.8},
        "kendall": {"value": 0.55, "low": 0.45, "high": 0.651},
        "kappa": {"value": 0.4, "low": 0.3, "high": 0.5},
        "length_spearman": {"value": 0.61, "low": 0.5, "high": 0.7},
        "lead_over_length": {"value": 0.09, "low": 0.01, "high": 0.17},
        "human_spearman": 0.43,
        "beats_length": True,
    }
    assert document["metrics"]["conciseness"] == {"validated": False, "reason": f"{NOT_VALIDATED}: no labels"}
    assert document["judge"] == IDENTITY.model_dump()
    assert (document["summaries"], document["unknown_summaries"]) == (208, 7)
    assert (document["resamples"], document["seed"], document["confidence"]) == (1000, 0, 0.95)


class WordCounter:
    """A judge that scores by the number of words, and refuses the summary named `bad`."""

    backend: Literal["openai", "lexical"] = "lexical"
    requested_model = "word-counter"
    pack = "none@0"

    def __init__(self) -> None:
        self.judged: list[str] = []

    async def judge(self, event: SummaryGenerated) -> Judgement:
        self.judged.append(event.summary_id)
        if event.summary_id == "bad":
            raise Rejection(RejectionReason.JUDGE_REFUSED, "no")
        score = min(5, event.word_count)
        verdict = Verdict(
            score=score, expected=score, mode=Mode.LEXICAL, explanation="", rubric="r@0", native=True
        )
        return Judgement(dict.fromkeys(Metric, verdict), model="word-counter")

    def fresh(self) -> WordCounter:
        return self

    async def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> WordCounter:
    """Stands in for the real judge at the one place where the command builds it."""
    counter = WordCounter()

    async def judge_with(_: JudgeBackend, judging: calibrate.Judging) -> None:
        await judging.run(counter)

    monkeypatch.setattr(calibrate, "_judge_with", judge_with)
    return counter


def run(tmp_path: Path, *more: str) -> Result:
    """The command on the two files of a directory."""
    files = ["--summaries", str(tmp_path / "summaries.jsonl"), "--labels", str(tmp_path / "labels.jsonl")]
    return CliRunner().invoke(calibrate.command, [*files, "--judge", "lexical", *more])


class TestCommand:
    def test_compares_judge_and_people(self, tmp_path: Path, judge: WordCounter) -> None:
        # Given three summaries whose length people like, and one that nobody labelled
        summaries = [opinion(str(words), words) for words in range(1, 4)]
        write_lines(tmp_path / "summaries.jsonl", *summaries, opinion("unlabelled"))
        write_lines(tmp_path / "labels.jsonl", *(label(str(n), n) for n in range(1, 4)), label("gone", 1))

        result = run(tmp_path, "--format", "json")

        # Then only labelled ones were judged, and what was left out is said
        assert result.exit_code == 0, result.output
        assert judge.judged == ["1", "2", "3"]
        document = json.loads(result.stdout)
        assert document["metrics"]["clarity"]["spearman"]["value"] == 1.0
        assert document["metrics"]["clarity"]["length_spearman"]["value"] == 1.0
        assert document["unknown_summaries"] == 1
        assert "3 summaries judged, 0 rejected, 1 without a label left out" in result.stderr
        assert "4 labels, 0 lines not usable, 1 labelled summaries unknown" in result.stderr

    def test_goes_on_past_bad_lines_and_exits_with_1(self, tmp_path: Path, judge: WordCounter) -> None:
        ids = ["a", "b", "bad"]
        write_lines(tmp_path / "summaries.jsonl", *(opinion(one, 3) for one in ids), "{", opinion("c", 2))
        write_lines(tmp_path / "labels.jsonl", *(label(one, 3) for one in [*ids, "c"]), "oops")

        result = run(tmp_path)

        assert result.exit_code == 1
        assert f"{tmp_path}/summaries.jsonl:3: rejected, judge_refused" in result.stderr
        assert f"{tmp_path}/summaries.jsonl:4: rejected, invalid_json" in result.stderr
        assert f"{tmp_path}/labels.jsonl:5: not a label" in result.stderr
        # A rejected summary was in the file, so it is not unknown.
        assert "3 summaries judged, 2 rejected" in result.stderr
        assert "1 lines not usable, 0 labelled summaries unknown" in result.stderr
        assert "3/1" in result.stdout

    def test_writes_to_a_file(self, tmp_path: Path, judge: WordCounter) -> None:
        write_lines(tmp_path / "summaries.jsonl", opinion("a", 1), opinion("b", 2))
        write_lines(tmp_path / "labels.jsonl", label("a", 1), label("b", 2))

        result = run(tmp_path, "--out", str(tmp_path / "report.txt"))

        assert result.stdout == ""
        assert "clarity" in (tmp_path / "report.txt").read_text(encoding="utf-8")

    @pytest.mark.usefixtures("judge")
    def test_labels_of_other_summaries_are_a_user_error(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "summaries.jsonl", opinion("a"))
        write_lines(tmp_path / "labels.jsonl", label("z", 1))

        result = run(tmp_path)

        assert isinstance(result.exception, UserError)
        assert "no labelled summary could be judged" in str(result.exception)

    def test_both_files_cannot_be_standard_input(self) -> None:
        result = CliRunner().invoke(calibrate.command, ["--summaries", "-", "--labels", "-"])

        assert isinstance(result.exception, UserError)


def test_the_command_is_loaded_without_numpy() -> None:
    script = "import sys, worker.cli.calibrate; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
