"""`quintet eval`, run as a person runs it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands import SAMPLES, command, environment, quintet
from tests.endpoint import SERVER_ERROR, WRONG_KEY, Answer, Endpoint, Request, error
from tests.examples import raw
from worker.events import Kind, Metric, SummaryScored, Verdict


def _lines(*events: bytes) -> bytes:
    return b"\n".join(events) + b"\n"


def test_the_samples_come_out_as_a_table_without_key_or_network(tmp_path: Path) -> None:
    done = quintet("eval", SAMPLES, home=tmp_path)
    assert done.returncode == 0
    rows = done.stdout.splitlines()
    samples = SAMPLES.read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(samples) + 2  # a heading and the means
    assert rows[0].split() == ["summary", "kind", "informat.", "clarity", "concise.", "coverage", "sentiment"]
    for row, sample in zip(rows[1:], samples, strict=False):
        cells = row.replace(" (", "(").split()
        assert cells[0] == json.loads(sample)["summary_id"]
        assert all("1" <= cell[0] <= "5" for cell in cells[2:])
        assert len(cells) == 7
    assert "judge: lexical (offline)" in done.stderr
    assert f"{len(samples)} scored, 0 rejected" in done.stderr


def test_json_lines_are_events_in_input_order_with_file_and_line(tmp_path: Path) -> None:
    done = quintet("eval", SAMPLES, "--format", "jsonl", "--judge", "lexical", home=tmp_path)
    events = [SummaryScored.model_validate_json(line) for line in done.stdout.splitlines()]
    ids = [json.loads(line)["summary_id"] for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
    assert [event.summary_id for event in events] == ids
    assert json.loads(done.stdout.splitlines()[2])["source"] == {"file": str(SAMPLES), "line": 3}
    assert all(set(event.scores) == set(Metric) for event in events)
    assert all(verdict.explanation for event in events for verdict in event.scores.values())


def test_the_same_file_gives_the_same_scores_and_ids(tmp_path: Path) -> None:
    def run(seed: str) -> list[tuple[str, dict[Metric, Verdict]]]:
        done = quintet("eval", SAMPLES, "--format", "jsonl", home=tmp_path, PYTHONHASHSEED=seed)
        events = [SummaryScored.model_validate_json(line) for line in done.stdout.splitlines()]
        return [(event.event_id, event.scores) for event in events]

    assert run("1") == run("2")


def test_bad_lines_are_said_one_by_one_and_the_rest_is_scored(tmp_path: Path) -> None:
    # Given a file in which most lines are bad in a way of their own
    nested = b"[" * 10_000 + b"]" * 10_000
    lines = [raw(), b"{", b"", b'{"summary_id": "x"}', nested, b"\xff", raw(summary="x" * 2_000_000), raw()]
    # When it comes through standard input
    done = quintet("eval", "-", "--format", "jsonl", home=tmp_path, stdin=_lines(*lines))
    # Then the good ones are scored and each bad one is one line with number, reason and advice
    assert done.returncode == 1
    assert [json.loads(line)["source"] for line in done.stdout.splitlines()] == [
        {"file": "-", "line": 1},
        {"file": "-", "line": 8},
    ]
    said = [line for line in done.stderr.splitlines() if line.startswith("-:")]
    expected = {2: "invalid_json", 4: "invalid_event", 5: "invalid_json", 6: "invalid_json", 7: "too_large"}
    assert len(said) == len(expected)
    for line, (number, reason) in zip(said, expected.items(), strict=True):
        assert line.startswith(f"-:{number}: rejected, {reason}: ")
        assert ";" in line
    assert "2 scored, 5 rejected" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["eval"], "Missing argument 'FILE'"),
        (["eval", "no-such-file.jsonl"], "No such file"),
        (["eval", "--judge", "guess", "x"], "'guess' is not one of"),
        (["eval", ".", "--judge", "lexical"], "Is a directory"),
        (["eval", "-", "--config", "missing.toml"], "missing.toml"),
        (["eval", "-", "--judge", "openai"], "OPENAI_API_KEY"),
        (["eval", "-", "--out", "no/such/directory/file"], "--out"),
        (["evaluate"], "No such command"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = quintet(*arguments, home=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("judge:")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("quintet: ")
    assert says in lines[0]


def test_a_mistake_empties_no_file(tmp_path: Path) -> None:
    # Given an input, and results of an earlier run
    mine, old = tmp_path / "mine.jsonl", tmp_path / "old.jsonl"
    mine.write_bytes(_lines(raw()))
    old.write_text("precious")
    # When the output is the input itself, or nothing can be judged
    same = quintet("eval", mine, "--out", mine, home=tmp_path)
    no_pack = quintet("eval", mine, "--out", old, home=tmp_path, QUINTET_PACK="/nope")
    # Then both files are as they were
    assert (same.returncode, no_pack.returncode) == (2, 2)
    assert "is the input itself" in same.stderr
    assert mine.read_bytes() == _lines(raw())
    assert old.read_text() == "precious"


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    line = " ".join(f"'{part}'" for part in command("eval", SAMPLES))
    done = subprocess.run(
        ["bash", "-c", f"{line} > /dev/full"], env=environment(tmp_path), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    done = quintet("eval", "-", home=tmp_path, stdin=b"\xef\xbb\xbf" + _lines(raw()))
    assert done.returncode == 0, done.stderr


def test_out_writes_json_lines_into_a_file(tmp_path: Path) -> None:
    done = quintet("eval", "-", "--out", tmp_path / "scored.jsonl", home=tmp_path, stdin=_lines(raw()))
    assert (done.returncode, done.stdout) == (0, "")
    SummaryScored.model_validate_json((tmp_path / "scored.jsonl").read_text())


async def _eval(home: Path, endpoint: Endpoint, *arguments: str | Path, stdin: bytes = b"", **settings: str):  # type: ignore[no-untyped-def]
    settings = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "sk-secret"} | settings
    return await asyncio.to_thread(quintet, "eval", *arguments, home=home, stdin=stdin, **settings)


async def test_an_endpoint_is_asked_five_times_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        prices = {"QUINTET_PRICE_INPUT_PER_MTOK": "0.15", "QUINTET_PRICE_OUTPUT_PER_MTOK": "0.6"}
        first = await _eval(tmp_path, endpoint, "-", "--format", "jsonl", stdin=_lines(raw()), **prices)
        second = await _eval(tmp_path, endpoint, "-", "--format", "jsonl", stdin=_lines(raw()), **prices)
    assert len(endpoint.requests) == 5
    one, two = (
        SummaryScored.model_validate_json(first.stdout),
        SummaryScored.model_validate_json(second.stdout),
    )
    assert one.event_id == two.event_id
    assert one.judge.model == "fake-judge-2026"
    assert one.cost_usd == pytest.approx(5 * (1000 * 0.15 + 100 * 0.6) / 1e6)
    assert two.cost_usd == 0
    assert all(verdict.cached for verdict in two.scores.values())
    assert [v.score for v in one.scores.values()] == [v.score for v in two.scores.values()]


async def test_a_pack_is_what_the_endpoint_receives(tmp_path: Path) -> None:
    # Given imported templates, one with placeholders and one without
    source = tmp_path / "mine.txt"
    source.write_text(
        "system_msg = 'You grade.'\n"
        "conciseness_prompt_template = '''{system_message} Short enough?'''\n"
        "sentiment_consistency_prompt_template = '''T {product_title} R {reviews} S {Product_Opinion_Summary}'''\n"
    )
    imported = quintet(
        "prompts", "import", source, "--out", tmp_path / "P", "--kind", "product_opinion", home=tmp_path
    )
    assert imported.returncode == 0, imported.stderr
    # When a summary is scored with them
    async with Endpoint() as endpoint:
        done = await _eval(
            tmp_path,
            endpoint,
            "-",
            "--format",
            "jsonl",
            stdin=_lines(raw()),
            QUINTET_PACK=str(tmp_path / "P"),
        )
    # Then those very templates arrive, filled
    prompts = [request.prompt for request in endpoint.requests]
    reviews = "1. The light is bright and even.\n2. Cable is too short for my desk.\n3. Sturdy base, great."
    text = json.loads(raw())["summary"]
    assert f"T Lumo Desk Lamp 1 R {reviews} S {text}" in prompts
    assert any(
        prompt.startswith("The material") and prompt.endswith("\n\nYou grade. Short enough?")
        for prompt in prompts
    )
    scores = SummaryScored.model_validate_json(done.stdout).scores
    assert scores[Metric.CLARITY].rubric.endswith("+builtin")
    assert not scores[Metric.CONCISENESS].rubric.endswith("+builtin")


@pytest.mark.parametrize(
    ("answer", "says"), [(WRONG_KEY, "OPENAI_API_KEY"), (error(404, "model_not_found"), "QUINTET_MODEL")]
)
async def test_a_judge_out_of_reach_is_one_line_and_exit_3(answer: Answer, says: str, tmp_path: Path) -> None:
    async with Endpoint(lambda _: answer) as endpoint:
        done = await _eval(tmp_path, endpoint, "-", stdin=_lines(raw()))
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert last.startswith("quintet: the judge is out of reach: ")
    assert says in last
    assert "sk-secret" not in done.stderr


async def test_one_bad_summary_does_not_stop_the_others(tmp_path: Path) -> None:
    def script(request: Request) -> Answer:
        if "REFUSE" in request.prompt:
            return Answer(text=None, refusal="I can't help with that.")
        return SERVER_ERROR if request.number % 7 == 0 else Answer()

    lines = [raw(summary=f"Text {number}. " + ("REFUSE" if number == 3 else "")) for number in range(1, 9)]
    async with Endpoint(script) as endpoint:
        done = await _eval(tmp_path, endpoint, "-", "--format", "jsonl", stdin=_lines(*lines))
    assert done.returncode == 1
    assert [json.loads(line)["source"]["line"] for line in done.stdout.splitlines()] == [1, 2, 4, 5, 6, 7, 8]
    assert "-:3: rejected, judge_refused: " in done.stderr


async def test_ctrl_c_ends_with_what_is_done_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    # Given an endpoint that never answers for one of the summaries
    async with Endpoint(lambda request: Answer(hang="STUCK" in request.prompt)) as endpoint:
        file = tmp_path / "in.jsonl"
        texts = ["One.", "STUCK.", "Three.", "Four."]
        file.write_bytes(_lines(*(raw(summary=text, summary_id=text) for text in texts)))
        process = await asyncio.to_thread(
            subprocess.Popen, command("eval", file, "--format", "jsonl"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(tmp_path, OPENAI_BASE_URL=endpoint.url),
        )  # fmt: skip
        for _ in range(300):
            if sum("STUCK" not in request.prompt for request in endpoint.judged) == 15:
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        # When it is interrupted
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(process.communicate, timeout=30)
    # Then it ends at once with what is done, in order
    assert time.monotonic() - started < 5
    assert process.returncode == 130
    assert [json.loads(line)["summary_id"] for line in out.splitlines()] == ["One.", "Three.", "Four."]
    assert "3 scored, 0 rejected" in err.decode()
    assert "Traceback" not in err.decode()


def test_a_silent_pipe_does_not_hold_up_ctrl_c(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("eval", "-", "--judge", "lexical"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(tmp_path),
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(_lines(raw(Kind.COMPARATIVE)))
    process.stdin.flush()
    # The first result comes although the input is still open.
    assert b"summary" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    line = " ".join(f"'{part}'" for part in command("eval", SAMPLES, "--format", "jsonl"))
    done = subprocess.run(
        ["bash", "-c", f"{line} | head -n 1; exit ${{PIPESTATUS[0]}}"], env=environment(tmp_path),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr
