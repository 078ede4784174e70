"""The console as a person meets it: the real command over a real broker, looked at with a real browser."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.browser import Page, browser, chromium_or_skip
from tests.console_story import Story, Written
from tests.examples import event as generated_event
from tests.streams import Stage, Worker, Workers, eventually
from worker.events import (
    DriftChanged,
    DriftState,
    DriftVerdict,
    JudgeIdentity,
    KafkaSource,
    Kind,
    Metric,
    Mode,
    SummaryScored,
    Verdict,
)
from worker.streaming.broker import Broker, free_port

HOSTILE = (
    '<img src=x onerror="window.hurt=1;alert(1)"><script>window.hurt=2</script>\'"><svg onload=window.hurt=3>'
)


@dataclass
class Console:
    """A running `quintet console`."""

    process: Worker
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=10) as answer:
            return json.load(answer)


def start_console(workers: Workers, **env: str) -> Console:
    port = free_port()
    command = ["-c", "from worker.cli import main; main()", "console"]
    console = Console(workers.start(command, QUINTET_CONSOLE_PORT=str(port), **env), port)
    eventually(lambda: "console on" in console.process.log.read_text(), 30)
    return console


@pytest.fixture
def console(workers: Workers) -> Iterator[Console]:
    yield start_console(workers)


@pytest_asyncio.fixture
async def page() -> AsyncIterator[Page]:
    async with browser(chromium_or_skip()) as tab:
        yield tab


def written(stage: Stage, number: int, *, hostile: str = "", score: int = 4) -> list[Written]:
    """A summary and its scores; hostile text goes into every field that takes any."""
    now, settings = datetime.now(UTC), stage.settings
    name = hostile or f"s-{number}"
    said = hostile or f"The lamp number {number} is bright."
    verdict = Verdict(
        score=score,
        expected=score,
        mode=Mode.SINGLE,
        explanation=hostile or "clear enough",
        rubric=hostile or "r@1",
        native=True,
    )
    scored = SummaryScored(
        event_id=f"e-{number}",
        summary_id=name,
        kind=Kind.OPINION,
        category=hostile or "lamps",
        locale=hostile or "en",
        generator={"name": hostile or "g", "version": hostile or "1"},
        scores=dict.fromkeys(Metric, verdict),
        judge=JudgeIdentity(
            backend="openai", model=hostile or "m-1", requested_model="m", pack=hostile or "p@1"
        ),
        received_at=now,
        scored_at=now,
        source=KafkaSource(topic=settings.topic_generated, partition=0, offset=number),
    )
    source = generated_event(
        summary_id=name, summary=said, category=hostile or "lamps", query=hostile or "lamp"
    )
    if hostile:
        fields = ("title", "description", "opinion_summary", "ugc_summary", "base_price")
        source["products"][0] |= dict.fromkeys(fields, hostile) | {
            "reviews": [hostile],
            "specifications": {hostile: hostile},
        }
    return [
        Written(settings.topic_generated, name.encode(), json.dumps(source).encode(), now, 0),
        Written(settings.topic_scored, name.encode(), scored.model_dump_json().encode(), now, 0),
    ]


def alarm(
    stage: Stage, *, segment: str = "lamps", reason: str = "0.90 below the baseline", worst: str = "s-1"
) -> Written:
    now = datetime.now(UTC)
    change = DriftChanged(
        event_id=f"d-{segment}", kind=Kind.OPINION, metric=Metric.CLARITY, segment=segment, state=DriftState.ALARM,
        verdict=DriftVerdict.GENERATOR, reason=reason, baseline_mean=4.6, current_mean=3.7, drop=0.9, observations=60,
        since=now - timedelta(hours=1), worst=[worst], rubric="r@1", judge_model="m-1", at=now,
    )  # fmt: skip
    return Written(stage.settings.topic_drift, b"k", change.model_dump_json().encode(), now, 0)


async def write(stage: Stage, *records: Written) -> None:
    await asyncio.to_thread(Story(stage).write, records)


async def test_the_page_shows_what_comes_and_an_alarm_without_reload(
    stage: Stage, console: Console, page: Page
) -> None:
    # Given an open page with nothing on it
    await page.open(console.address)
    await page.wait_for(
        "document.querySelector('#summary-scroll').textContent.includes('quintet publish FILE')"
    )

    # When summaries are scored
    await write(stage, *written(stage, 0), *written(stage, 1, score=1))

    # Then they are there, with texts that came by another topic
    await page.wait_for(
        "document.querySelector('#summary-scroll').textContent.includes('The lamp number 1 is bright.')"
    )
    await page.wait_for("document.querySelector('#grid').textContent.includes('2.50')")
    assert await page.evaluate("document.querySelector('#announce').textContent") == ""

    # When an alarm is published
    await write(stage, alarm(stage))

    # Then it is told, once, with its verdict and its worst example; the page was never loaded again
    await page.wait_for("document.querySelector('#alarms').textContent.includes('the generator changed')")
    assert "1 alarm stands" in await page.evaluate("document.querySelector('#glance-title').textContent")
    assert "clarity fell in lamps" in await page.evaluate("document.querySelector('#announce').textContent")
    await page.evaluate("document.querySelector('.worst button').click()")
    await page.wait_for("document.querySelector('#panel').textContent.includes('clear enough')")
    assert page.requests.count(console.address) == 1
    assert page.messages == []


async def test_hostile_text_stays_text_and_nothing_leaves_the_origin(
    stage: Stage, console: Console, page: Page
) -> None:
    # Given a summary, an alarm and a rejected record whose every text wants to run
    await write(
        stage,
        *written(stage, 0, hostile=HOSTILE),
        alarm(stage, segment=HOSTILE[:64], reason=HOSTILE, worst=HOSTILE),
        Written(
            stage.settings.topic_rejected, HOSTILE.encode(), b"{}", datetime.now(UTC), 0,
            (("quintet.error.reason", b"invalid_json"), ("quintet.error.message", HOSTILE.encode()), ("quintet.error.topic", HOSTILE.encode()),
             ("quintet.error.failed_at", datetime.now(UTC).isoformat().encode())),
        ),
    )  # fmt: skip

    # When everything is looked at
    await page.open(console.address)
    await page.wait_for("document.querySelectorAll('.alarm .row-link').length >= 2")
    await page.wait_for("document.querySelector('#summary-scroll .row-link').textContent.startsWith('<img')")
    await page.evaluate("document.querySelector('.reason-group summary').click()")
    for button in ("#summary-scroll .row-link", ".falls .row-link", "tr:not(.pool) .cell"):
        await page.evaluate(f"document.querySelector({button!r}).click()")
        await page.wait_for("document.querySelector('#panel').textContent.includes('<img src=x')")
        await page.evaluate("document.querySelectorAll('#panel details').forEach(each => each.open = true)")
        await asyncio.sleep(0.3)
        await page.evaluate("document.querySelector('#panel').close()")

    # Then nothing ran, nothing became an element, and nobody else was asked for anything
    assert await page.evaluate("window.hurt") is None
    assert page.dialogs == 0
    assert (
        await page.evaluate("document.querySelectorAll('img, script:not([src])').length") == 1
    )  # our own mark
    assert [address for address in page.requests if not address.startswith(console.address)] == []
    assert page.messages == []


async def test_a_summary_opens_and_closes_by_keyboard_alone(
    stage: Stage, console: Console, page: Page
) -> None:
    # Given
    await write(stage, *(record for number in range(30) for record in written(stage, number)))
    await page.open(console.address)
    await page.wait_for("document.querySelectorAll('#summary-scroll .row-link').length > 10")
    await asyncio.sleep(1)
    await page.evaluate("document.querySelector('#find-score').focus()")

    # When
    await page.press("Tab")
    assert await page.evaluate("document.activeElement.closest('tr').getAttribute('aria-rowindex')") == "2"
    await page.press("ArrowDown")
    await page.press("ArrowDown")
    focused = await page.evaluate("document.activeElement.textContent")
    await page.press("Enter")

    # Then
    await page.wait_for(
        "document.querySelector('#panel').open && document.activeElement.id === 'panel-title'"
    )
    assert focused in await page.evaluate("document.querySelector('#panel').textContent")

    # When
    await page.press("Escape")

    # Then the focus is back where it was
    await page.wait_for("!document.querySelector('#panel').open")
    assert await page.evaluate("document.activeElement.textContent") == focused
    await page.press("End")
    assert await page.evaluate("document.activeElement.closest('tr').getAttribute('aria-rowindex')") == "31"


async def test_ten_thousand_summaries_without_a_stutter(stage: Stage, console: Console, page: Page) -> None:
    # Given ten thousand, and a page that has loaded them
    story = Story(stage)
    await asyncio.to_thread(story.day, 10_000, 6.0)
    await page.look(1440, 1000, "light")
    await page.open(console.address)
    await page.wait_for(
        "document.querySelector('#summary-count').textContent === '10,000 summaries held'", 120
    )
    await page.evaluate(
        "window.long = []; new PerformanceObserver(list => list.getEntries()"
        ".forEach(entry => window.long.push(Math.round(entry.duration)))).observe({type: 'longtask'})"
    )

    # When more come, somebody scrolls from end to end, and searches
    for number in range(10):
        await write(
            stage, *(record for extra in range(5) for record in written(stage, 20_000 + number * 5 + extra))
        )
        await page.evaluate(f"document.querySelector('#summary-scroll').scrollTop = {number} * 35000")
        await asyncio.sleep(0.3)
    await page.evaluate(
        "(field => { field.value = 'kettle'; field.dispatchEvent(new Event('input', {bubbles: true})) })(document.querySelector('#find-summary'))"
    )
    await page.wait_for("/ of /.test(document.querySelector('#summary-count').textContent)")

    # Then the page has answered all the time, and only made the rows that are seen
    long_tasks = await page.evaluate("window.long")
    print(f"long tasks (ms): {long_tasks}")
    assert max(long_tasks, default=0) < 200
    assert await page.evaluate("document.querySelectorAll('#summary-scroll tr').length") < 60
    held = console.get("api/snapshot")
    assert held["glance"]["scored"] == 10_050


async def test_the_page_comes_back_after_the_console_was_away(
    stage: Stage, workers: Workers, page: Page
) -> None:
    # Given
    console = start_console(workers)
    await page.open(console.address)
    await page.wait_for("document.querySelector('#link').dataset.link === 'live'")

    # When it is stopped, by the signal of Ctrl-C, while a page follows
    console.process.process.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(console.process.wait, 15) == 0
    assert "Traceback" not in console.process.log.read_text()
    await page.wait_for("document.querySelector('#link').dataset.link === 'lost'")
    await write(stage, *written(stage, 0))
    again = workers.start(
        ["-c", "from worker.cli import main; main()", "console"], QUINTET_CONSOLE_PORT=str(console.port)
    )

    # Then the page finds it, and shows what came meanwhile
    await page.wait_for("document.querySelector('#summary-scroll').textContent.includes('lamp number 0')", 40)
    assert again.process.poll() is None


def test_a_broker_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    # Given nobody at this address
    port = free_port()
    stage = Stage(f"127.0.0.1:{port}", tmp_path)
    workers = Workers(stage)
    try:
        console = start_console(workers)

        # Then page and log say so
        problem = eventually(
            lambda: (
                found
                if "no broker answers" in (found := console.get("api/snapshot")["glance"]["problem"])
                else None
            ),
            30,
        )
        assert f"127.0.0.1:{port}" in problem
        assert console.get("healthz") == {"alive": True}
        assert "waiting: no broker answers" in console.process.log.read_text()
    finally:
        workers.close()


def test_topics_that_come_later_are_found(broker: Broker, tmp_path: Path) -> None:
    stage = Stage(broker.address, tmp_path)
    workers = Workers(stage)
    try:
        # Given a broker without topics
        console = start_console(workers)
        eventually(
            lambda: "quintet topics create" in (console.get("api/snapshot")["glance"]["problem"] or ""), 30
        )

        # When
        stage.create_topics()
        Story(stage).write(written(stage, 0))

        # Then
        eventually(lambda: console.get("api/snapshot")["glance"]["scored"] == 1, 30)
        assert console.get("api/snapshot")["glance"]["problem"] is None
    finally:
        workers.close()


def test_it_shows_what_real_workers_do_and_how_far_behind_they_are(
    stage: Stage, workers: Workers, console: Console
) -> None:
    # When two workers score, and one record is poison
    workers.stub()
    workers.stub()
    stage.publish_summaries(f"s{number}" for number in range(40))
    stage.publish([(b"poison", b"rubbish")])

    # Then
    eventually(lambda: console.get("api/snapshot")["glance"]["scored"] == 40, 60)
    eventually(lambda: console.get("api/snapshot")["rejected"]["by_reason"] == {"invalid_json": 1}, 20)
    eventually(lambda: console.get("api/snapshot")["glance"]["lag"] == 0, 30)
    eventually(lambda: all(row["excerpt"] for row in console.get("api/summaries")["summaries"]), 20)


def test_a_taken_port_is_one_line(workers: Workers, console: Console) -> None:
    second = workers.start(
        ["-c", "from worker.cli import main; main()", "console"], QUINTET_CONSOLE_PORT=str(console.port)
    )
    assert second.wait(30) == 2
    (line,) = second.log.read_text().strip().splitlines()
    assert line.startswith(f"quintet: QUINTET_CONSOLE_PORT: can't listen on 127.0.0.1:{console.port}")
