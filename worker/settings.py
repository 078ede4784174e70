"""Every setting, read once from the environment and an optional TOML file, then frozen."""

from __future__ import annotations

import os
import re
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from worker.errors import UserError

ENV_PREFIX = "QUINTET_"

#: Largest record that topics, producer and consumer carry, in bytes; above it nothing can even be rejected.
MAX_RECORD_BYTES = 10 * 1024 * 1024


class JudgeBackend(StrEnum):
    """Which judge gives the scores."""

    OPENAI = "openai"
    LEXICAL = "lexical"


Port = Annotated[int, Field(ge=0, le=65535)]
Positive = Annotated[float, Field(gt=0)]
Price = Annotated[float, Field(ge=0)]


def default_cache_path() -> Path:
    """Where verdicts are kept unless told otherwise."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "quintet" / "verdicts.sqlite"


class Settings(BaseSettings):
    """All settings; made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, populate_by_name=True
    )

    brokers: Annotated[tuple[str, ...], NoDecode] = ("127.0.0.1:9092",)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    group: str = Field(default="quintet", min_length=1)

    topic_generated: str = "summaries.generated"
    topic_scored: str = "summaries.scored"
    topic_metric_scores: str = "summaries.metric-scores"
    topic_rejected: str = "summaries.rejected"
    topic_drift: str = "summaries.drift"
    topic_control: str = "summaries.control"
    topic_state: str = "summaries.drift-state"
    topic_labels: str = "summaries.labelled"

    judge: JudgeBackend | None = None
    model: str = Field(default="gpt-4o-mini", min_length=1)
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    openai_base_url: str | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_BASE_URL", "openai_base_url")
    )
    pack: Path | None = None
    concurrency: int = Field(default=64, ge=1, le=10_000)
    judge_timeout: Positive = 60.0
    deadline: Positive = 300.0
    samples: int = Field(default=1, ge=1, le=100)
    temperature: float | None = Field(default=None, ge=0, le=2)
    logprobs: bool = False
    sample_rate: float = Field(default=1.0, ge=0, le=1)
    price_input_per_mtok: Price | None = None
    price_output_per_mtok: Price | None = None
    price_cached_per_mtok: Price | None = None
    budget_usd_per_day: Positive | None = None
    cache: Path | Literal["off"] = Field(default_factory=default_cache_path)
    max_event_bytes: int = Field(default=1024 * 1024, ge=1, le=MAX_RECORD_BYTES)

    segment_by: Literal["category", "generator", "locale", "none"] = "category"
    max_segments: int = Field(default=50, ge=1)
    baseline_size: int = Field(default=1000, ge=30)
    false_alarms_per_30_days: Positive = 1.0
    expected_streams: int = Field(default=150, ge=1)
    reference_set: Path | Literal["off"] | None = None

    web_host: str = "127.0.0.1"
    web_port: Port | None = None
    console_port: Port = 8088
    log_format: Literal["text", "json"] | None = None

    @field_validator("brokers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("brokers")
    @classmethod
    def _have_ports(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one broker as host:port")
        for broker in value:
            host, _, port = broker.rpartition(":")
            if not host or not port.isdigit():
                raise ValueError(f"{broker!r} is not host:port")
        return value

    @field_validator("openai_api_key", mode="before")
    @classmethod
    def _clean_key(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = value.strip()
            if not value.isascii() or not value.isprintable():
                raise ValueError(
                    "has characters that no key has; copy it again, without quotes or line breaks"
                )
        return value or None

    @field_validator("openai_base_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            address = urlsplit(value.strip())
            sound = address.scheme in {"http", "https"} and bool(address.hostname) and (address.port or 1) > 0
        except ValueError:
            sound = False
        if not sound:
            raise ValueError("is no address; write it like http://127.0.0.1:11434/v1")
        return value.strip()

    @field_validator("cache", mode="before")
    @classmethod
    def _expand_cache(cls, value: Any) -> Any:
        return value if value == "off" else Path(value).expanduser()

    @field_validator("cache", "reference_set", mode="after")
    @classmethod
    def _recognise_off(cls, value: Any) -> Any:
        return "off" if value == Path("off") else value

    @field_validator("security_protocol", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        if self.budget_usd_per_day is not None and not self.has_prices:
            raise ValueError(
                "budget_usd_per_day: a budget needs prices; set QUINTET_PRICE_INPUT_PER_MTOK"
                " and QUINTET_PRICE_OUTPUT_PER_MTOK"
            )
        if self.logprobs and self.samples > 1:
            raise ValueError("logprobs: choose either QUINTET_LOGPROBS or QUINTET_SAMPLES, not both")
        if self.security_protocol.startswith("SASL") and not (self.sasl_mechanism and self.sasl_username):
            raise ValueError(
                "security_protocol: SASL needs QUINTET_SASL_MECHANISM, QUINTET_SASL_USERNAME"
                " and QUINTET_SASL_PASSWORD"
            )
        return self

    @property
    def has_prices(self) -> bool:
        """Whether a cost can be computed."""
        return self.price_input_per_mtok is not None and self.price_output_per_mtok is not None

    @property
    def has_endpoint(self) -> bool:
        """Whether there is a key or a base URL to reach a model with."""
        return bool(self.openai_api_key or self.openai_base_url)

    @property
    def effective_temperature(self) -> float:
        """Zero, or 0.7 where several samples are to differ, unless set."""
        if self.temperature is not None:
            return self.temperature
        return 0.7 if self.samples > 1 else 0.0

    def judge_or_refuse(self) -> JudgeBackend:
        """The judge for a service: never a guess, since a stream may run for months."""
        if self.judge is JudgeBackend.LEXICAL:
            return JudgeBackend.LEXICAL
        if not self.has_endpoint:
            raise UserError(
                "no judge: set OPENAI_API_KEY or OPENAI_BASE_URL,"
                " or QUINTET_JUDGE=lexical for the built-in offline judge"
            )
        return JudgeBackend.OPENAI

    def judge_or_lexical(self) -> tuple[JudgeBackend, str | None]:
        """The judge for a command run by hand, and a line to show where it had to be chosen."""
        if self.judge is not None:
            return (self.judge_or_refuse(), None)
        if self.has_endpoint:
            return (JudgeBackend.OPENAI, None)
        return (
            JudgeBackend.LEXICAL,
            "judge: lexical (offline), since neither OPENAI_API_KEY nor OPENAI_BASE_URL is set",
        )


def load_settings(config: Path | None = None, **overrides: Any) -> Settings:
    """Command-line options win over the environment, that over the file, that over the defaults."""
    values = _read_toml(config) if config else {}
    options = {name: value for name, value in overrides.items() if value is not None}

    class WithOptions(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            """In order of precedence; the file's values come in as arguments of the constructor."""
            return InitSettingsSource(settings_cls, options), env_settings, init_settings

    try:
        return WithOptions(**values)
    except ValidationError as error:
        raise UserError(_describe(error, config)) from None


def environment_name(field: str) -> str:
    """The environment variable that sets a field."""
    return field.upper() if field.startswith("openai_") else ENV_PREFIX + field.upper()


def shown_values(settings: Settings) -> dict[str, str | None]:
    """Every setting as text for people, secrets masked, also a password inside of an address."""
    shown: dict[str, str | None] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name == "openai_base_url" and value:
            value = re.sub(r"(?<=//)[^/]*@", "**********@", value)
        shown[name] = ",".join(value) if isinstance(value, tuple) else None if value is None else str(value)
    return shown


def unknown_variables() -> list[str]:
    """QUINTET_ variables that set nothing: usually a typing error."""
    known = {environment_name(field) for field in Settings.model_fields}
    return sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name not in known)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror or error}; name a readable TOML file with --config"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f'{path}: {error}; write it as TOML, e.g. brokers = "127.0.0.1:9092"') from None
    unknown = sorted(set(values) - set(Settings.model_fields))
    if unknown:
        raise UserError(
            f"{path}: unknown setting {unknown[0]!r}; settings are named as in the environment,"
            " in lower case without QUINTET_"
        )
    return values


def _describe(error: ValidationError, config: Path | None) -> str:
    problem = error.errors(include_url=False)[0]
    message = problem["msg"].removeprefix("Value error, ")
    field = str(problem["loc"][0]).lower() if problem["loc"] else ""
    if not field:
        field, _, message = message.partition(": ")
    name = environment_name(field)
    file = f" (or {field} in {config})" if config else ""
    secret = "password" in field or "key" in field or "url" in field
    got = "" if secret or not problem["loc"] else f", got {problem.get('input')!r}"
    return f"{name}{file}: {message}{got}"
