"""What the documentation says is so: settings and their defaults, examples of events, links."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.pictures import PICTURE, picture, simulate
from worker.cli import command_group
from worker.errors import RejectionReason
from worker.events import DriftChanged, HumanLabel, MetricScored, SummaryGenerated, SummaryScored
from worker.monitoring import alone
from worker.pipeline import metric_events
from worker.settings import Settings, environment_name, load_settings, shown_values
from worker.streaming import web
from worker.streaming.topics import plan

ROOT = Path(__file__).parents[2]

ROW = re.compile(r"^\| `([A-Z0-9_]+)` \| (.*?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of somebody who has set nothing."""
    for field in Settings.model_fields:
        monkeypatch.delenv(environment_name(field), raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    return load_settings()


def _documented() -> list[tuple[str, str]]:
    """Names and defaults, as the page of settings shows them."""
    text = (ROOT / "deploy/settings.md").read_text(encoding="utf-8")
    return [(name, default) for name, default, _, _ in ROW.findall(text)]


def test_every_setting_is_explained_once_and_no_other() -> None:
    names = [name for name, _ in _documented()]

    assert sorted(names) == sorted(environment_name(field) for field in Settings.model_fields)


def test_every_default_shown_is_the_true_one(defaults: Settings) -> None:
    shown = dict(_documented())
    for field, value in shown_values(defaults).items():
        text = shown[environment_name(field)]
        if value is None:
            assert re.match(r"unset(: .+)?$", text), f"{field}: {text}"
        else:
            assert text == f"`{_as_written(value)}`", field


def test_what_holds_where_nothing_is_set_is_told(defaults: Settings) -> None:
    shown = dict(_documented())
    several = Settings(samples=2)

    assert (
        f": {defaults.effective_temperature:g}, or {several.effective_temperature:g} with"
        in shown["QUINTET_TEMPERATURE"]
    )
    assert f": {web.DEFAULT_PORT}, `quintet monitor` {alone.DEFAULT_PORT}" in shown["QUINTET_WEB_PORT"]
    assert len((ROOT / "worker/drift/reference.jsonl").read_text().splitlines()) == 126
    assert "126" in shown["QUINTET_REFERENCE_SET"]


def _as_written(value: str) -> str:
    """As a person would write it in the environment."""
    value = value.replace("/home/somebody", "~")
    return {"True": "true", "False": "false"}.get(value, re.sub(r"^(\d+)\.0$", r"\1", value))


EVENTS = (SummaryGenerated, SummaryScored, MetricScored, DriftChanged, HumanLabel)


def _events_page() -> str:
    return (ROOT / "schemas/README.md").read_text(encoding="utf-8")


def _example(heading: str, language: str = "json") -> str:
    """The block of code in a section of the page of events."""
    _, _, section = _events_page().partition(f"\n## {heading}\n")
    _, _, block = section.partition("\n## ")[0].partition(f"```{language}\n")
    assert block, heading
    return block.partition("```")[0]


def _json_example(heading: str) -> dict[str, Any]:
    found = json.loads(_example(heading))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_an_example_of_every_event_fits_its_schema_and_is_read(event: type[Any]) -> None:
    example = _json_example(event.__name__)
    file = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", event.__name__).lower() + ".json"
    schema = json.loads((ROOT / "schemas" / file).read_text(encoding="utf-8"))

    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(example)
    event.model_validate_json(json.dumps(example))
    assert set(example) <= set(event.model_fields), "an example has nothing that would be ignored"
    assert f"[{file}]({file})" in _events_page()


def test_the_example_of_a_scored_summary_has_all_five_and_its_flat_event_agrees() -> None:
    scored = SummaryScored.model_validate_json(_example("SummaryScored"))
    flat = MetricScored.model_validate_json(_example("MetricScored"))

    assert len(scored.scores) == 5
    assert flat in metric_events(scored, "category")


def test_the_headers_of_a_rejected_record_are_those_of_the_document() -> None:
    document = yaml.safe_load((ROOT / "schemas/asyncapi.yaml").read_text(encoding="utf-8"))

    Draft202012Validator(document["components"]["schemas"]["RejectedHeaders"]).validate(
        _json_example("Rejected records")
    )
    assert {reason for reason in RejectionReason if f"| `{reason}` |" in _events_page()} == set(
        RejectionReason
    )


def test_every_topic_is_listed_with_the_time_it_is_kept(defaults: Settings) -> None:
    for topic in plan(defaults):
        milliseconds = int(topic.config.get("retention.ms", "-1"))
        kept = "for ever" if milliseconds < 0 else f"{milliseconds // 86_400_000} days"
        row = re.search(rf"^\| `{re.escape(topic.name)}` \|.*\| (.*?) \|$", _events_page(), re.M)
        assert row is not None and row[1] == kept, topic.name


def test_the_example_of_reading_drops_a_repeat() -> None:
    create, insert, select = _statements(_example("Reading them", "sql"))
    event = _json_example("MetricScored")
    with sqlite3.connect(":memory:") as database:
        database.execute(create)
        for changes in ({}, {}, {"event_id": "another", "expected": 2.8215, "sample_rate": 0.5}):
            values = {name: value for name, value in (event | changes).items() if f":{name}" in insert}
            database.execute(insert, values)
        ((day, *_, mean, judged, summaries),) = database.execute(select).fetchall()
    database.close()

    assert (day, judged, summaries) == ("2026-11-18", 2, 3)
    assert mean == pytest.approx((4.8215 + 2 * 2.8215) / 3)


def _statements(script: str) -> Iterator[str]:
    return (statement.strip() for statement in script.split(";") if statement.strip())


def test_the_picture_of_drift_is_what_the_detector_does() -> None:
    story = simulate()
    states = [event.state for _, event in story.events]

    assert states == ["learning", "ok", "warning", "alarm", "ok"]
    assert PICTURE.read_text(encoding="utf-8") == picture(story), "run `make pictures`"


def _pages() -> list[Path]:
    """Every page of the repository, new ones included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def _prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def _anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be linked to, as forges make them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", _prose(page), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


PAGES = (
    "deploy/settings.md",
    "deploy/operating.md",
    "deploy/upgrading.md",
    "schemas/README.md",
    "worker/drift/README.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_shown_exists_with_its_options(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.findall(r"(?:^|`|=\S+ )(quintet [^`#\n]*)", text, re.M)
    assert shown
    for line in shown:
        found: click.Command = command_group
        for word in line.split()[1:]:
            inner = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
            if inner is not None:
                found = inner
            elif word.startswith("--"):
                options = {name for parameter in found.params for name in parameter.opts}
                assert word in options, line
        assert found is not command_group, line
