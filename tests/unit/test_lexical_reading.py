"""How the lexical judge reads text: sentences, words, opinions, negations, names, layouts, prices."""

from __future__ import annotations

import pytest

from tests.unit.lexical_events import COLUMNS, PROSE, TABLE, comparison
from worker.judging.lexical.case import Case
from worker.judging.lexical.facts import amount, invented_prices, numbers
from worker.judging.lexical.naming import Names
from worker.judging.lexical.text import read, read_sentence, split_sentences
from worker.judging.lexical.vocabulary import look_up


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("- one\n- two", ["- one", "- two"]),
        ("It costs 10.99 today.", ["It costs 10.99 today."]),
        ("很好。不错！", ["很好。", "不错！"]),
        ("   ", []),
    ],
)
def test_sentences_end_at_marks_and_lines(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_a_negation_turns_an_opinion_around() -> None:
    assert read_sentence("The screen is good").clauses[0].valence > 0
    assert read_sentence("The screen is not good").clauses[0].valence < 0


def test_a_negation_ends_with_its_clause() -> None:
    first, second = read_sentence("It is not loud, the screen is good").clauses
    assert first.negates
    assert not second.negates
    assert second.valence > 0


def test_boosters_and_dampers_change_strength() -> None:
    plain, very, slightly = (
        read_sentence(f"It is {word} good").clauses[0].valence for word in ("a", "very", "slightly")
    )
    assert slightly < plain < very


def test_forms_of_a_word_share_a_stem() -> None:
    assert look_up("batteries").stem == look_up("battery").stem


def test_everyday_shopping_words_are_no_content() -> None:
    assert not look_up("product").content
    assert look_up("hinge").content


def test_contractions_of_empty_words_are_empty() -> None:
    assert not any(look_up(word).content for word in ("it's", "i've", "they'll"))
    assert look_up("phone's").content


def test_a_word_without_end_is_cut_instead_of_stemmed() -> None:
    assert len(look_up("y" * 100_000).stem) < 100


def test_other_scripts_have_words() -> None:
    assert read("बैटरी अच्छी है।")[0].words == ("बैटरी", "अच्छी", "है")
    assert read("电池很好。")[0].words == ("电", "池", "很", "好")


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        ("₹12,999", 12999),
        ("₹1,29,999", 129999),
        ("$10.99", 10.99),
        (10999, 10999),
        ("Rs. 12,999", 12999),
        ("Rs.12,999", 12999),
        ("10,999.00", 10999),
        ("€24,00", 24),
        ("1.299,00 €", 1299),
        ("N/A", None),
        (None, None),
    ],
)
def test_prices_are_read_by_value(price: str | int | float | None, expected: float | None) -> None:
    assert amount(price) == expected


def test_numbers_of_a_text_are_counted_by_value() -> None:
    found = numbers("Rs.12,999 (before: ₹12,999.00), 128GB, rated 4.2/5.")
    assert found[12999] == 2
    assert found[4.2] == 1
    assert 128 not in found


def test_an_amount_that_no_product_costs_is_invented() -> None:
    products = comparison("x").products
    assert invented_prices("now ₹16,499, you save ₹2,500", products) == []
    assert invented_prices("now ₹11,111", products) == ["11,111"]


def test_products_are_told_by_what_only_their_title_has() -> None:
    names = Names(["Samsung Galaxy M14 5G", "Samsung Galaxy F14 5G", "Morrow Steel Pan"])
    assert names.named("the M14 is fine") == {0}
    assert names.named("Samsung Galaxy phones") == frozenset()
    assert names.named("the Morrow") == {2}
    assert names.named("Product 2 wins") == {1}
    assert names.named("all three are good") == {0, 1, 2}


def test_missing_titles_name_nobody() -> None:
    assert Names([None, "", "x"]).named("anything") == frozenset()


@pytest.mark.parametrize("summary", [TABLE, COLUMNS, PROSE])
def test_every_layout_gives_each_product_its_own_topics(summary: str) -> None:
    orlin, hadley, nimba = Case(comparison(summary)).covered
    assert look_up("charger").stem in orlin
    assert look_up("storage").stem in hadley
    assert look_up("portraits").stem in nimba
    assert Case(comparison(summary)).recall > 0.8


def test_blank_and_ragged_tables_are_seen() -> None:
    (table,) = Case(comparison("| a | b | c |\n|---|---|---|\n| 1 | | 3 |\n| 1 | 2 |\n")).layout.tables
    assert table.blanks == 1
    assert table.ragged == 1
