"""What the documentation says is so: settings and their defaults, examples of events, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from worker.monitoring import alone
from worker.settings import Settings, environment_name, load_settings, shown_values
from worker.streaming import web

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
