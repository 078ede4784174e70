"""Labels of people, read from a JSONL file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from worker.cli.reading import open_input
from worker.errors import Rejection, UserError
from worker.events import HumanLabel, describe, read_json


@dataclass(frozen=True)
class Labels:
    """The usable labels of a file, and how many lines were not."""

    labels: tuple[HumanLabel, ...]
    bad_lines: int

    @property
    def summary_ids(self) -> frozenset[str]:
        """The summaries that somebody labelled."""
        return frozenset(label.summary_id for label in self.labels)


def read_labels(file: str, say: Callable[[str], None]) -> Labels:
    """Read all labels; a line that is none is said with its place, and the rest goes on."""
    labels, bad_lines = [], 0
    with open_input(file) as source:
        for number, line in enumerate(source, start=1):
            if not line.strip():
                continue
            try:
                labels.append(_read_label(line))
            except ValueError as error:
                bad_lines += 1
                say(f"{file}:{number}: not a label: {error}; see schemas/human-label.json")
    if not labels:
        raise UserError(
            f"{file}: no usable label; write lines like"
            ' {"summary_id": "s-1", "annotator": "ada", "scores": {"clarity": 4}}'
        )
    return Labels(tuple(labels), bad_lines)


def _read_label(line: bytes) -> HumanLabel:
    try:
        return HumanLabel.model_validate(read_json(line))
    except Rejection as rejection:
        raise ValueError(rejection.message) from None
    except ValidationError as error:
        raise ValueError(describe(error)) from None
