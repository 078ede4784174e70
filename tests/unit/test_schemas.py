"""schemas/ is what the models say, and what stands there is valid and true of real events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from worker.cli.schemas import command, documents
from worker.errors import RejectionReason, UserError
from worker.settings import Settings

ROOT = Path(__file__).parents[2]
SCHEMAS = ["drift-changed", "human-label", "metric-scored", "summary-generated", "summary-scored"]
SAMPLES = (ROOT / "tests" / "data" / "samples.jsonl").read_text(encoding="utf-8").splitlines()


def schema(name: str) -> dict[str, Any]:
    """A schema as it stands on disk."""
    found = json.loads((ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def asyncapi() -> dict[str, Any]:
    """The AsyncAPI document as it stands on disk."""
    found = yaml.safe_load((ROOT / "schemas" / "asyncapi.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def resolve(document: dict[str, Any], reference: str) -> Any:
    """What a local reference points to."""
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


@pytest.mark.parametrize("name", [*(f"{name}.json" for name in SCHEMAS), "asyncapi.yaml"])
def test_the_file_on_disk_is_what_the_models_say(name: str) -> None:
    assert (ROOT / "schemas" / name).read_text(encoding="utf-8") == documents()[name], "run `quintet schemas`"


def test_nothing_else_lies_in_the_directory() -> None:
    on_disk = {path.name for path in (ROOT / "schemas").iterdir() if path.suffix in {".json", ".yaml"}}
    assert on_disk == set(documents())


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_valid_schema(name: str) -> None:
    found = schema(name)

    Draft202012Validator.check_schema(found)
    assert found["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert found["$id"] == f"urn:quintet:{name}:1"


@pytest.mark.parametrize("line", SAMPLES, ids=lambda line: json.loads(line)["summary_id"])
def test_a_sample_matches_the_schema_of_the_input(line: str) -> None:
    Draft202012Validator(schema("summary-generated")).validate(json.loads(line))


@pytest.mark.parametrize(
    "change",
    [{"kind": "poem"}, {"summary_id": ""}, {"summary": " "}, {"products": None}, {"schema_version": 2}],
)
def test_the_schema_of_the_input_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    event = json.loads(SAMPLES[0]) | change

    assert not Draft202012Validator(schema("summary-generated")).is_valid(event)


def test_what_we_write_has_no_other_fields_and_what_we_read_may() -> None:
    assert schema("summary-scored")["additionalProperties"] is False
    assert schema("summary-generated").get("additionalProperties", True) is True


def test_asyncapi_has_what_the_specification_requires(asyncapi: dict[str, Any]) -> None:
    assert asyncapi["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= asyncapi["info"].keys()
    assert asyncapi["servers"]["local"] == {"host": "localhost:9092", "protocol": "kafka"}
    for operation in asyncapi["operations"].values():
        assert operation["action"] in {"send", "receive"}
        assert resolve(asyncapi, operation["channel"]["$ref"])["address"]
    for channel in asyncapi["channels"].values():
        for message in channel["messages"].values():
            assert resolve(asyncapi, message["$ref"])["name"]


def test_asyncapi_has_a_channel_for_each_topic_and_uses_each(asyncapi: dict[str, Any]) -> None:
    topics = {field.default for name, field in Settings.model_fields.items() if name.startswith("topic_")}
    used = {operation["channel"]["$ref"] for operation in asyncapi["operations"].values()}

    assert {channel["address"] for channel in asyncapi["channels"].values()} == topics
    assert used == {f"#/channels/{name}" for name in asyncapi["channels"]}


def test_asyncapi_messages_refer_to_files_that_exist(asyncapi: dict[str, Any]) -> None:
    payloads = [
        message["payload"]["$ref"]
        for message in asyncapi["components"]["messages"].values()
        if "payload" in message
    ]

    assert sorted(payloads) == [f"./{name}.json" for name in SCHEMAS]
    assert all((ROOT / "schemas" / payload).is_file() for payload in payloads)


def test_header_schemas_are_valid_and_know_every_reason(asyncapi: dict[str, Any]) -> None:
    schemas = asyncapi["components"]["schemas"]
    for found in schemas.values():
        Draft202012Validator.check_schema(found)
    reason = schemas["RejectedHeaders"]["properties"]["quintet.error.reason"]

    assert set(reason["enum"]) == set(RejectionReason)
    assert "ce_subject" not in schemas["CloudEventHeaders"]["required"]


def test_check_tells_a_changed_file_and_writing_mends_it(tmp_path: Path) -> None:
    run = CliRunner()
    # Given a directory just written
    assert run.invoke(command, ["--out", str(tmp_path)]).exit_code == 0
    assert run.invoke(command, ["--out", str(tmp_path), "--check"]).exit_code == 0

    # When one file is changed
    (tmp_path / "human-label.json").write_text("{}", encoding="utf-8")
    result = run.invoke(command, ["--out", str(tmp_path), "--check"])

    # Then it is named, and left as it is
    assert result.exit_code == 1
    assert result.output == f"out of date: {tmp_path / 'human-label.json'}\n"
    assert (tmp_path / "human-label.json").read_text(encoding="utf-8") == "{}"


def test_without_pyyaml_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(UserError, match="PyYAML is missing; install"):
        documents()
