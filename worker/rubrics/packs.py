"""Packs of rubrics: the built-in one and a user's directory over it, resolved for every metric and kind."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from worker.errors import UserError
from worker.events import NATIVE_KIND, Kind, Metric, SummaryGenerated
from worker.rubrics.evidence import (
    DATA_PLACEHOLDERS,
    KNOWN_PLACEHOLDERS,
    fill,
    material,
    placeholders,
    values_for,
)

BUILTIN = "builtin"
DIGEST_CHARACTERS = 12

#: A placeholder, or what Python's own formatting would take for one: {0}, {a.b}, {a!r}, {a:>10}.
_ANY_FIELD = re.compile(r"(?<!\{)\{[\w.-]+(?:![rsa])?(?::[^{}\s\"']*)?\}(?!\})")


@dataclass(frozen=True)
class Prompt:
    """What is sent for one metric of one summary."""

    #: The system message, the same for all five metrics; None where a pack's template says it all.
    system: str | None
    user: str
    #: The metric and a digest of the instructions, e.g. "clarity@1f3a9c2b7d10".
    rubric: str
    native: bool


@dataclass(frozen=True)
class Rubric:
    """One metric's instructions for one kind of summary."""

    metric: Metric
    kind: Kind
    #: Built in: the text after the material. From a pack: the template, as it is in the file.
    instructions: str
    system: str | None
    #: Where it comes from: "builtin" or the pack's file.
    origin: str
    id: str

    @property
    def native(self) -> bool:
        """Whether the rubric was written for this kind."""
        return NATIVE_KIND[self.metric] is self.kind

    @property
    def is_builtin(self) -> bool:
        """Whether it is one of ours."""
        return self.origin == BUILTIN

    @property
    def brings_its_own_evidence(self) -> bool:
        """Whether the template says where the data goes; otherwise the material stands before it."""
        return not DATA_PLACEHOLDERS.isdisjoint(placeholders(self.instructions))


@dataclass(frozen=True)
class Pack:
    """A rubric for every metric and kind."""

    name: str
    rubrics: Mapping[tuple[Metric, Kind], Rubric]

    def rubric(self, metric: Metric, kind: Kind) -> Rubric:
        """The instructions for one metric and kind."""
        return self.rubrics[metric, kind]

    def prompts(self, event: SummaryGenerated) -> dict[Metric, Prompt]:
        """All five prompts of one summary; the material is built once and shared to the byte."""
        shared = evidence_of(event)
        return {metric: self._prompt(self.rubrics[metric, event.kind], event, shared) for metric in Metric}

    @staticmethod
    def _prompt(rubric: Rubric, event: SummaryGenerated, shared: str) -> Prompt:
        filled = fill(rubric.instructions, values_for(rubric.instructions, event))
        user = filled if rubric.brings_its_own_evidence else f"{shared}\n\n{filled}"
        return Prompt(rubric.system, user, rubric.id, rubric.native)


def evidence_of(event: SummaryGenerated) -> str:
    """The fenced material of an event, laid out for its kind."""
    evidence = _toml("evidence.toml")
    return material(evidence[event.kind], evidence["opening"], event)


def load_pack(directory: Path | None = None) -> Pack:
    """The built-in pack, or a directory's templates with the built-in ones where it has none."""
    builtin = _builtin_pack()
    if directory is None:
        return builtin
    own = _read_directory(directory)
    if not own:
        raise UserError(
            f"{directory}: no rubric in this pack; name templates like clarity.comparative_explanation.txt,"
            " or make some with `quintet prompts import`"
        )
    borrowed = {
        place: Rubric(
            rubric.metric,
            rubric.kind,
            rubric.instructions,
            rubric.system,
            rubric.origin,
            f"{rubric.id}+{BUILTIN}",
        )
        for place, rubric in builtin.rubrics.items()
        if place not in own
    }
    rubrics = borrowed | own
    return Pack(f"{directory.resolve().name}@{_digest_of(rubrics)}", rubrics)


@cache
def _builtin_pack() -> Pack:
    rubrics = {(metric, kind): _builtin_rubric(metric, kind) for metric in Metric for kind in Kind}
    return Pack(f"{BUILTIN}@{_digest_of(rubrics)}", rubrics)


def _builtin_rubric(metric: Metric, kind: Kind) -> Rubric:
    source = _toml(f"{metric}.toml")
    words = _toml("kinds.toml")[kind] | source["parts"][kind]
    levels = "\n".join(f"{level} - {source['levels'][level]}" for level in "12345")
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(source["steps"], start=1))
    words |= {
        "title": source["title"],
        "definition": source["definition"].strip(),
        "levels": levels,
        "steps": steps,
    }
    instructions = _resolve(_text("frame.txt"), words, f"{metric}.toml").strip()
    system = _text("system.txt").strip()
    # The layout of the material is part of what the judge is told, so it is part of the digest.
    layout = repr(sorted(_toml("evidence.toml")[kind].items()))
    return Rubric(
        metric, kind, instructions, system, BUILTIN, f"{metric}@{_digest(system, instructions, layout)}"
    )


def _resolve(template: str, words: Mapping[str, str], file: str) -> str:
    """Fill parts that contain parts, until nothing is left to fill."""
    for _ in range(4):
        template = fill(template, words)
    left = placeholders(template)
    if left:
        raise UserError(f"prompts/{file}: unknown part {{{left[0]}}}")
    return template


def _read_directory(directory: Path) -> dict[tuple[Metric, Kind], Rubric]:
    if not directory.is_dir():
        raise UserError(
            f"{directory}: no such directory; QUINTET_PACK names a directory of <metric>.<kind>.txt files"
        )
    found = {}
    for path in sorted(directory.glob("*.txt")):
        metric, kind = _place(path)
        found[metric, kind] = _read_template(path, metric, kind)
    return found


def _place(path: Path) -> tuple[Metric, Kind]:
    metric, _, kind = path.name.removesuffix(".txt").partition(".")
    try:
        return Metric(metric), Kind(kind)
    except ValueError:
        raise UserError(
            f"{path}:1: not named <metric>.<kind>.txt; metrics: {', '.join(Metric)}; kinds: {', '.join(Kind)}"
        ) from None


def _read_template(path: Path, metric: Metric, kind: Kind) -> Rubric:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}:1: can't be read as UTF-8 text: {error}") from None
    if not text.strip():
        raise UserError(f"{path}:1: the template is empty; write one or delete the file")
    check_placeholders(text, str(path))
    return Rubric(metric, kind, text, None, str(path), f"{metric}@{_digest(text)}")


def check_placeholders(template: str, file: str, first_line: int = 1) -> None:
    """Refuse a template with a placeholder that nothing fills, with file and line."""
    for found in _ANY_FIELD.finditer(template):
        if found[0][1:-1] not in KNOWN_PLACEHOLDERS:
            line = first_line + template.count("\n", 0, found.start())
            known = ", ".join(sorted(KNOWN_PLACEHOLDERS))
            raise UserError(f"{file}:{line}: unknown placeholder {found[0]}; known: {known}")


def _text(name: str) -> str:
    return resources.files("worker.prompts").joinpath(name).read_text(encoding="utf-8")


@cache
def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(_text(name))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:DIGEST_CHARACTERS]


def _digest_of(rubrics: Mapping[tuple[Metric, Kind], Rubric]) -> str:
    return _digest(*sorted(f"{kind}/{rubric.id}" for (_, kind), rubric in rubrics.items()))
