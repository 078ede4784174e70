"""Cuts a summary (prose, bullets, Markdown tables) into passages, each with the products it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from worker.judging.lexical.naming import Names
from worker.judging.lexical.text import Clause, Sentence, read_sentence, split_sentences

_RULER = re.compile(r"[\s|:\-+=]+")
_NOT_AVAILABLE = re.compile(
    r"\s*(?:n/?a|not (?:available|applicable|given|specified|mentioned))\.?\s*", re.IGNORECASE
)
_MARKUP = re.compile(r"^[\s>#*\-•·]+|\*\*|__|`|<br\s*/?>", re.IGNORECASE)

#: Rows in which the products are looked for.
_SEARCHED = 20


class Passage(NamedTuple):
    """A sentence or the cell of a table, and the products it speaks of."""

    sentence: Sentence
    owners: frozenset[int]
    #: Clause by clause, because one sentence may weigh one product against another.
    clause_owners: tuple[frozenset[int], ...]


class Table(NamedTuple):
    """The rows of a Markdown table without its ruler."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def blanks(self) -> int:
        """Cells that say nothing, not even N/A; the corner of the head may be empty."""
        cells = [cell for row in self.rows for cell in row]
        return sum(not cell.strip(" -–—") for cell in cells[1:])

    @property
    def size(self) -> int:
        return sum(map(len, self.rows))

    @property
    def ragged(self) -> int:
        """Rows whose number of cells differs from the head's."""
        return sum(len(row) != len(self.rows[0]) for row in self.rows)


class Layout(NamedTuple):
    """A summary, laid out."""

    passages: tuple[Passage, ...]
    tables: tuple[Table, ...]

    def clauses_about(self, product: int) -> list[tuple[Clause, Sentence]]:
        """The clauses that speak of a product, each with its sentence."""
        return [
            (clause, passage.sentence)
            for passage in self.passages
            for clause, owners in zip(passage.sentence.clauses, passage.clause_owners, strict=True)
            if product in owners
        ]


def lay_out(summary: str, names: Names) -> Layout:
    """Passages in reading order, and the tables among them."""
    passages: list[Passage] = []
    tables: list[Table] = []
    current = names.everybody
    for block in _blocks(summary):
        if isinstance(block, Table):
            tables.append(block)
            passages.extend(_table_passages(block, names))
            continue
        for text in split_sentences(block):
            passage, current = _prose_passage(_MARKUP.sub("", text), current, names)
            if passage.sentence.words:
                passages.append(passage)
    return Layout(tuple(passages), tuple(tables))


def _blocks(summary: str) -> Iterator[str | Table]:
    """Runs of table rows as tables, anything between as text."""
    if "|" not in summary:
        yield summary
        return
    rows: list[tuple[str, ...]] = []
    for line in summary.splitlines():
        if line.count("|") >= 2:
            if not _RULER.fullmatch(line):
                rows.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
            continue
        if rows:
            yield Table(tuple(rows))
            rows = []
        yield line
    if rows:
        yield Table(tuple(rows))


def _prose_passage(text: str, current: frozenset[int], names: Names) -> tuple[Passage, frozenset[int]]:
    """A sentence speaks of the products it names, else of those named last."""
    sentence = read_sentence(text)
    if len(names.everybody) == 1:
        return Passage(sentence, names.everybody, (names.everybody,) * len(sentence.clauses)), current
    named = names.named(text)
    clause_owners = []
    for clause in sentence.clauses:
        here = names.named(" ".join(clause.words)) if len(named) > 1 else named
        current = here or current
        clause_owners.append(current)
    owners = named or frozenset().union(*clause_owners) or current
    if named == names.everybody and not sentence.clauses:
        current = names.everybody
    return Passage(sentence, owners, tuple(clause_owners)), current


def _table_passages(table: Table, names: Names) -> Iterator[Passage]:
    """Every cell, with the label of its row or column in front: `Battery | poor` is one opinion."""
    columns = _column_owners(table, names)
    head = table.rows[0]
    for number, row in enumerate(table.rows):
        in_row = frozenset() if columns else _row_owners(row, number, names)
        for place, cell in enumerate(row):
            if not cell or _NOT_AVAILABLE.fullmatch(cell):
                continue
            label = row[0] if columns else head[place] if place < len(head) else ""
            owners = columns.get(place, frozenset()) if columns else in_row
            text = f"{label}: {cell}" if number and place and label and label != cell else cell
            for part in split_sentences(_MARKUP.sub("", text)):
                sentence = read_sentence(part)
                yield Passage(sentence, owners, (owners,) * len(sentence.clauses))


def _row_owners(row: tuple[str, ...], number: int, names: Names) -> frozenset[int]:
    """The product that the row names, else the one whose turn it is after the head."""
    if len(names.everybody) == 1:
        return names.everybody
    named = names.named(row[0]) or names.named(" ".join(row[:2]))
    return named or frozenset({number - 1}) & names.everybody


def _column_owners(table: Table, names: Names) -> dict[int, frozenset[int]]:
    """Column -> product, where a row names products side by side, or one column follows for each."""
    if len(names.everybody) == 1:
        return {}
    for row in table.rows[:_SEARCHED]:
        named = [names.named(cell) for cell in row]
        ones = {next(iter(found)) for found in named if len(found) == 1}
        if len(ones) >= 2 and _each_in_its_own(named):
            return {place: found for place, found in enumerate(named) if found}
    if any(len(names.named(row[0])) == 1 for row in table.rows[1:_SEARCHED]):
        return {}
    if len(table.rows[0]) == len(names.everybody) + 1:
        return {number + 1: frozenset({number}) for number in names.everybody}
    return {}


def _each_in_its_own(named: Sequence[frozenset[int]]) -> bool:
    ones = [found for found in named if len(found) == 1]
    return len(ones) == len(set(ones))
