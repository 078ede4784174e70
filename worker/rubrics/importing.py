"""Take over templates that are written as Python assignments; they are read, never executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from worker.errors import UserError
from worker.events import NATIVE_KIND, Kind, Metric
from worker.rubrics.packs import check_placeholders

_TEMPLATE_SUFFIX = "_prompt_template"
_SYSTEM_NAME = "system_msg"
_SYSTEM_PLACEHOLDER = "{system_message}"


@dataclass(frozen=True)
class ImportedTemplate:
    """One template, ready to be written into a pack."""

    metric: Metric
    kind: Kind
    text: str

    @property
    def file_name(self) -> str:
        """What a pack calls it."""
        return f"{self.metric}.{self.kind}.txt"


def read_templates(path: Path, kind: Kind | None = None) -> list[ImportedTemplate]:
    """The templates of one file; `{system_message}` is replaced by the file's own `system_msg`."""
    assignments = _assignments(path)
    system = assignments.get(_SYSTEM_NAME)
    templates = [
        _imported(path, name, text, line, kind, system)
        for name, (text, line) in assignments.items()
        if name.endswith(_TEMPLATE_SUFFIX)
    ]
    if not templates:
        raise UserError(
            f"{path}:1: no template; expected an assignment such as clarity{_TEMPLATE_SUFFIX} = '''…'''"
        )
    return templates


def write_pack(templates: list[ImportedTemplate], directory: Path) -> list[Path]:
    """Write the templates as a pack; files of the same name are replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for template in templates:
        target = directory / template.file_name
        target.write_text(template.text, encoding="utf-8", newline="\n")
        written.append(target)
    return written


def _imported(
    path: Path, name: str, text: str, line: int, kind: Kind | None, system: tuple[str, int] | None
) -> ImportedTemplate:
    metric = _metric(path, name, line)
    if _SYSTEM_PLACEHOLDER in text:
        if system is None:
            raise UserError(
                f"{path}:{line}: {name} uses {_SYSTEM_PLACEHOLDER}, but the file assigns no {_SYSTEM_NAME}"
            )
        check_placeholders(text.replace(_SYSTEM_PLACEHOLDER, ""), str(path), line)
        text = text.replace(_SYSTEM_PLACEHOLDER, system[0])
    else:
        check_placeholders(text, str(path), line)
    return ImportedTemplate(metric, kind or NATIVE_KIND[metric], text)


def _metric(path: Path, name: str, line: int) -> Metric:
    try:
        return Metric(name.removesuffix(_TEMPLATE_SUFFIX))
    except ValueError:
        raise UserError(f"{path}:{line}: {name} names no metric; metrics: {', '.join(Metric)}") from None


def _assignments(path: Path) -> dict[str, tuple[str, int]]:
    """Names that are assigned a plain string, with the line where the string starts."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}:1: can't be read as UTF-8 text: {error}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise UserError(f"{path}:{line}: not a file of Python assignments: {_reason(error)}") from None
    found: dict[str, tuple[str, int]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name != _SYSTEM_NAME and not name.endswith(_TEMPLATE_SUFFIX):
                continue
            if not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str):
                raise UserError(
                    f"{path}:{node.lineno}: {name} is not a plain string; write it as one literal"
                )
            found[name] = (node.value.value, node.value.lineno)
    return found


def _reason(error: BaseException) -> str:
    return getattr(error, "msg", None) or str(error) or type(error).__name__
