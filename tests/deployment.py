"""What deploy/ says, read for the tests: documents, pods, and every call of `quintet` in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.commands import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"

Document = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """A pod's specification, and the object that makes such pods."""

    owner: Document
    labels: dict[str, str]
    spec: Document

    @property
    def name(self) -> str:
        return str(self.owner["metadata"]["name"])

    @property
    def container(self) -> Document:
        (container,) = self.spec["containers"]
        assert isinstance(container, dict)
        return container


@cache
def compose() -> Document:
    """compose.yaml."""
    read = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def services_of_ours() -> dict[str, Document]:
    """The services of compose.yaml that run our image."""
    return {
        name: service
        for name, service in compose()["services"].items()
        if service["image"].startswith("quintet:")
    }


def documents(path: Path) -> list[Document]:
    """All documents of a YAML file."""
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]


def manifests() -> list[Document]:
    """Every object of deploy/kubernetes that is applied as it stands, kustomizations and patches aside."""
    return [document for path in kustomized("resources") for document in documents(path)]


def pods() -> list[Pod]:
    """Every pod that the manifests ask for."""
    made = []
    for document in manifests():
        if document["kind"] in {"Deployment", "Job"}:
            template = document["spec"]["template"]
            made.append(Pod(document, template["metadata"]["labels"], template["spec"]))
    return made


def kustomizations() -> list[Path]:
    """Every kustomization."""
    return sorted(KUBERNETES.rglob("kustomization.yaml"))


def kustomized(key: str) -> list[Path]:
    """The files that kustomizations list under a key, `patches` included; directories aside."""
    found = []
    for path in kustomizations():
        (kustomization,) = documents(path)
        for entry in kustomization.get(key, []):
            name = entry if isinstance(entry, str) else entry.get("path")
            if name and not (path.parent / name).is_dir():
                found.append(path.parent / name)
    return found


def generated_settings() -> dict[str, str]:
    """The literals of all ConfigMap generators."""
    found: dict[str, str] = {}
    for path in kustomizations():
        (kustomization,) = documents(path)
        for generator in kustomization.get("configMapGenerator", []):
            found |= dict(literal.split("=", 1) for literal in generator["literals"])
    return found


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Where, and the arguments of every call of `quintet` in compose.yaml and the manifests."""
    for name, service in services_of_ours().items():
        yield f"compose {name}", service["command"]
    for pod in pods():
        yield f"kubernetes {pod.name}", pod.container["args"]
