"""Settings: the environment over the file over the defaults, and one clear line for a wrong value."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from worker.errors import UserError
from worker.settings import JudgeBackend, Settings, environment_name, load_settings, unknown_variables


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.delenv(environment_name(field), raising=False)


def test_defaults() -> None:
    settings = load_settings()
    assert settings.brokers == ("127.0.0.1:9092",)
    assert (settings.model, settings.concurrency, settings.deadline) == ("gpt-4o-mini", 64, 300)
    assert settings.topic_scored == "summaries.scored"
    assert settings.max_event_bytes == 1048576


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a file and an environment that differ
    file = tmp_path / "quintet.toml"
    file.write_text('model = "from-file"\nbrokers = "a:1, b:2"\ncache = "off"\nopenai_api_key = "file-key"\n')
    monkeypatch.setenv("QUINTET_MODEL", "from-environment")
    # When both are read
    settings = load_settings(file)
    # Then the environment decides, and the file where that is silent
    assert settings.model == "from-environment"
    assert settings.brokers == ("a:1", "b:2")
    assert settings.cache == "off"
    assert settings.openai_api_key is not None


def test_an_option_wins_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_JUDGE", "openai")
    monkeypatch.setenv("QUINTET_CONCURRENCY", "3")
    settings = load_settings(judge="lexical")
    assert settings.judge is JudgeBackend.LEXICAL
    assert settings.concurrency == 3


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("QUINTET_CONCURRENCY", "many", "integer"),
        ("QUINTET_CONCURRENCY", "0", "greater than or equal to 1"),
        ("QUINTET_BROKERS", "localhost", "host:port"),
        ("QUINTET_JUDGE", "guess", "'openai' or 'lexical'"),
        ("QUINTET_SAMPLE_RATE", "1.5", "less than or equal to 1"),
        ("QUINTET_BUDGET_USD_PER_DAY", "5", "needs prices"),
        ("QUINTET_SECURITY_PROTOCOL", "sasl_ssl", "QUINTET_SASL_MECHANISM"),
        ("QUINTET_WEB_PORT", "70000", "65535"),
        ("OPENAI_BASE_URL", "127.0.0.1:8000/v1", "http://"),
        ("OPENAI_BASE_URL", "not-a-url", "http://"),
        ("OPENAI_API_KEY", "sk-é", "characters that no key has"),
        ("OPENAI_API_KEY", "sk\r\nabc", "characters that no key has"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_it(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as caught:
        load_settings()
    message = str(caught.value)
    assert message.startswith(name)
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["modell = 'x'", "model = ", "judge = 'guess'"])
def test_a_wrong_file_is_one_line_that_names_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "quintet.toml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        load_settings(file)
    assert str(file) in str(caught.value)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().model = "another"  # type: ignore[misc]


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    assert "very-secret" not in repr(load_settings())


def test_a_service_never_guesses_its_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        load_settings().judge_or_refuse()
    backend, said = load_settings().judge_or_lexical()
    assert backend is JudgeBackend.LEXICAL
    assert said is not None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert load_settings().judge_or_refuse() is JudgeBackend.OPENAI
    assert load_settings().judge_or_lexical() == (JudgeBackend.OPENAI, None)


def test_a_misspelt_variable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_CONCURENCY", "3")
    assert unknown_variables() == ["QUINTET_CONCURENCY"]
