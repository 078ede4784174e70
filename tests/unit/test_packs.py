"""A user's own templates: read as they are, filled, and faults named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples import summary
from worker.errors import UserError
from worker.events import Kind, Metric
from worker.rubrics import evidence_of, load_pack
from worker.rubrics.importing import read_templates, write_pack

SOURCE = """
system_msg = "You grade texts.\\n"

clarity_prompt_template = '''
{system_message}
Is it clear? Answer like {"score": 1} or {{x}}.
'''

aspect_coverage_prompt_template = '''Query: {query}
Titles: {product_titles}
Prices: {base_prices} / {final_prices}
Opinions: {product_opinion_summaries}
Text: {comparative_explanation_summary}
'''
"""


def _write(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_imported_templates_are_sent_as_they_are(tmp_path: Path) -> None:
    # Given templates as Python assignments, imported into a pack
    source = _write(tmp_path, "mine.txt", SOURCE)
    write_pack(read_templates(source), tmp_path / "pack")
    pack = load_pack(tmp_path / "pack")
    event = summary(Kind.COMPARATIVE)
    # When the prompts of an event are made
    prompts = pack.prompts(event)
    # Then one without data placeholders stands unchanged behind the evidence
    template = '\nYou grade texts.\n\nIs it clear? Answer like {"score": 1} or {{x}}.\n'
    assert prompts[Metric.CLARITY].user == f"{evidence_of(event)}\n\n{template}"
    assert prompts[Metric.CLARITY].system is None
    # And one with data placeholders is filled in place
    opinion = event.products[0].opinion_summary
    assert prompts[Metric.ASPECT_COVERAGE].user == (
        "Query: desk lamp for reading\n"
        "Titles: 1. Lumo Desk Lamp 1\n2. Lumo Desk Lamp 2\n3. Lumo Desk Lamp 3\n"
        "Prices: 1. ₹2,499\n2. ₹2,499\n3. ₹2,499 / 1. 1999\n2. 1999\n3. 1999\n"
        f"Opinions: 1. {opinion}\n2. {opinion}\n3. {opinion}\n"
        f"Text: {event.summary}\n"
    )


def test_what_a_pack_lacks_is_built_in_and_says_so(tmp_path: Path) -> None:
    _write(tmp_path / "own", "clarity.product_opinion.txt", "Clear? {summary}")
    pack = load_pack(tmp_path / "own")
    prompts = pack.prompts(summary(Kind.OPINION))
    assert pack.name.startswith("own@")
    assert "+builtin" not in prompts[Metric.CLARITY].rubric
    assert prompts[Metric.CONCISENESS].rubric.endswith("+builtin")


def test_a_changed_template_changes_the_pack_and_the_rubric(tmp_path: Path) -> None:
    _write(tmp_path, "clarity.product_opinion.txt", "Clear? {summary}")
    before = load_pack(tmp_path)
    _write(tmp_path, "clarity.product_opinion.txt", "Clear at all? {summary}")
    after = load_pack(tmp_path)
    place = (Metric.CLARITY, Kind.OPINION)
    assert before.name != after.name
    assert before.rubrics[place].id != after.rubrics[place].id


def test_a_template_can_be_imported_for_another_kind(tmp_path: Path) -> None:
    source = _write(tmp_path, "mine.txt", SOURCE)
    templates = read_templates(source, Kind.OPINION)
    assert {template.file_name for template in templates} == {
        "clarity.product_opinion.txt",
        "aspect_coverage.product_opinion.txt",
    }


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("clarity_prompt_template = '''one\n{unheard_of}'''", 2, "unknown placeholder {unheard_of}"),
        ("clarity_prompt_template = '''unclosed", 1, "not a file of Python assignments"),
        ("beauty_prompt_template = 'x'", 1, "names no metric"),
        ("\nclarity_prompt_template = open('x').read()", 2, "not a plain string"),
        ("clarity_prompt_template = f'{1+1}'", 1, "not a plain string"),
        ("x = 1", 1, "no template"),
        ("\nclarity_prompt_template = '{system_message}'", 2, "assigns no system_msg"),
        (
            "system_msg = 'You are {role}.'\nclarity_prompt_template = '{system_message}'",
            1,
            "unknown placeholder {role}",
        ),
        ("clarity_prompt_template = ' '", 1, "is empty"),
        ("clarity_prompt_template = '{query:>10}'", 1, "unknown placeholder {query:>10}"),
        ("clarity_prompt_template = '{query!r}'", 1, "unknown placeholder {query!r}"),
        ("clarity_prompt_template = '{0}'", 1, "unknown placeholder {0}"),
        ("clarity_prompt_template = 'a'\nclarity_prompt_template = 'b'", 2, "assigned twice"),
        ("clarity_prompt_template = '\\ud800'", 1, "lone surrogate"),
    ],
)
def test_a_broken_source_is_one_line_with_file_and_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    source = _write(tmp_path, "broken.txt", text)
    with pytest.raises(UserError) as caught:
        read_templates(source)
    message = str(caught.value)
    assert message.startswith(f"{source}:{line}: ")
    assert says in message
    assert "\n" not in message


def test_an_annotated_assignment_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    source = _write(tmp_path, "mine.txt", "\ufeffclarity_prompt_template: str = 'Clear?'")
    assert [template.text for template in read_templates(source)] == ["Clear?"]


def test_two_templates_for_one_place_are_refused(tmp_path: Path) -> None:
    templates = read_templates(_write(tmp_path, "a.txt", "clarity_prompt_template = 'Clear?'")) * 2
    with pytest.raises(UserError, match="two templates for the same metric and kind"):
        write_pack(templates, tmp_path / "pack")


def test_a_source_is_never_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    source = _write(tmp_path, "m.txt", f"open({str(witness)!r}, 'w')\nclarity_prompt_template = 'x'")
    read_templates(source)
    assert not witness.exists()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("clarity.product_opinion.txt", b"a\n\n{nonsense}", ":3: unknown placeholder {nonsense}"),
        ("clarity.product_opinion.txt", b"\xff", ":1: can't be read as UTF-8"),
        ("clarity.product_opinion.txt", b" \n", ":1: the template is empty"),
        ("clearness.product_opinion.txt", b"x", ":1: not named <metric>.<kind>.txt"),
        ("clarity.txt", b"x", ":1: not named <metric>.<kind>.txt"),
    ],
)
def test_a_broken_pack_is_one_line_with_file_and_line(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_pack(tmp_path)
    assert f"{name}{says}" in str(caught.value)


def test_an_empty_or_missing_pack_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no rubric in this pack"):
        load_pack(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        load_pack(tmp_path / "missing")
