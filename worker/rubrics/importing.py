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
    names = [template.file_name for template in templates]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{twice}: two templates for the same metric and kind; import one, or use --kind")
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
    if not text.strip():
        raise UserError(f"{path}:{line}: {name} is empty; write a template or delete the assignment")
    if _SYSTEM_PLACEHOLDER in text and system is None:
        raise UserError(
            f"{path}:{line}: {name} uses {_SYSTEM_PLACEHOLDER}, but the file assigns no {_SYSTEM_NAME}"
        )
    check_placeholders(text.replace(_SYSTEM_PLACEHOLDER, ""), str(path), line)
    if system is not None and _SYSTEM_PLACEHOLDER in text:
        check_placeholders(system[0], str(path), system[1])
        text = text.replace(_SYSTEM_PLACEHOLDER, system[0])
    if not _is_encodable(text):
        raise UserError(f"{path}:{line}: {name} has half a character (a lone surrogate); write the whole one")
    return ImportedTemplate(metric, kind or NATIVE_KIND[metric], text)


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _metric(path: Path, name: str, line: int) -> Metric:
    try:
        return Metric(name.removesuffix(_TEMPLATE_SUFFIX))
    except ValueError:
        raise UserError(f"{path}:{line}: {name} names no metric; metrics: {', '.join(Metric)}") from None


def _assignments(path: Path) -> dict[str, tuple[str, int]]:
    """Names that are assigned a plain string, with the line where the string starts."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"), filename=str(path))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name a file of templates") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}:1: is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise UserError(f"{path}:{line}: not a file of Python assignments: {_reason(error)}") from None
    found: dict[str, tuple[str, int]] = {}
    for node in tree.body:
        target = _target(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
            name = target.id
            if name != _SYSTEM_NAME and not name.endswith(_TEMPLATE_SUFFIX):
                continue
            if name in found:
                raise UserError(f"{path}:{node.lineno}: {name} is assigned twice; keep one")
            if not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str):
                raise UserError(
                    f"{path}:{node.lineno}: {name} is not a plain string; write it as one literal"
                )
            found[name] = (node.value.value, node.value.lineno)
    return found


def _target(node: ast.stmt) -> ast.expr | None:
    """What a statement assigns to, if it is a plain assignment."""
    if isinstance(node, ast.AnnAssign):
        return node.target
    return node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None


def _reason(error: BaseException) -> str:
    return getattr(error, "msg", None) or str(error) or type(error).__name__
