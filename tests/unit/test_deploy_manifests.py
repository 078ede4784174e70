"""The manifests and compose.yaml fit together, and nothing in them asks for more than it needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployment import (
    DEPLOY,
    KUBERNETES,
    Pod,
    compose,
    documents,
    kustomizations,
    kustomized,
    manifests,
    pods,
    services_of_ours,
)

ALL_PODS = pytest.mark.parametrize("pod", pods(), ids=lambda pod: pod.name)
#: Made by somebody else's start script, which writes beside the program.
WRITABLE = {"kafka"}


def test_every_file_is_yaml_and_used() -> None:
    files = {path for path in KUBERNETES.rglob("*.yaml") if path.name != "kustomization.yaml"}
    assert all(document["apiVersion"] and document["kind"] for path in files for document in documents(path))
    assert files == {*kustomized("resources"), *kustomized("patches")}


def test_every_directory_that_a_kustomization_names_is_one() -> None:
    for path in kustomizations():
        (kustomization,) = documents(path)
        for entry in [*kustomization.get("resources", []), *kustomization.get("components", [])]:
            target = path.parent / entry
            assert target.is_file() or (target / "kustomization.yaml").is_file(), target


@ALL_PODS
def test_no_pod_asks_for_rights(pod: Pod) -> None:
    context, container = pod.spec["securityContext"], pod.container["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == context["fsGroup"] == 10001
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in (DEPLOY / "Dockerfile").read_text()
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["allowPrivilegeEscalation"] is False
    assert container["readOnlyRootFilesystem"] is True
    assert container["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod.spec)
    assert pod.spec["automountServiceAccountToken"] is False


@ALL_PODS
def test_no_service_can_overwrite_a_setting(pod: Pod) -> None:
    """Kubernetes' links would set QUINTET_CONSOLE_PORT=tcp://… for the Service quintet-console."""
    assert pod.spec["enableServiceLinks"] is False


@ALL_PODS
def test_every_pod_says_what_it_needs(pod: Pod) -> None:
    resources = pod.container["resources"]
    assert {"cpu", "memory"} <= set(resources["requests"])
    assert "memory" in resources["limits"]


@ALL_PODS
def test_every_volume_is_declared_and_mounted(pod: Pod) -> None:
    declared = {volume["name"] for volume in pod.spec["volumes"]}
    mounted = {mount["name"] for mount in pod.container["volumeMounts"]}
    assert declared == mounted
    (volume,) = re.findall(r"^VOLUME (\S+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert volume in {mount["mountPath"] for mount in pod.container["volumeMounts"]}


@ALL_PODS
def test_secrets_come_by_reference_only(pod: Pod) -> None:
    for variable in pod.container["env"]:
        secret = re.search(r"KEY|PASSWORD|USERNAME", variable["name"])
        assert secret and set(variable["valueFrom"]) == {"secretKeyRef"}, variable["name"]
    assert "Secret" not in {document["kind"] for document in manifests()}


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    wanted = selector.get("matchLabels", {}).items()
    listed = selector.get("matchExpressions", [])
    return wanted <= labels.items() and all(labels.get(rule["key"]) in rule["values"] for rule in listed)


def _all_labels(pod: Pod) -> dict[str, str]:
    """With what the base adds to every template."""
    (base,) = documents(KUBERNETES / "base" / "kustomization.yaml")
    (added,) = base["labels"]
    assert added["includeTemplates"] is True
    return {**pod.labels, **added["pairs"]}


def test_every_selector_finds_pods() -> None:
    for document in manifests():
        spec = document.get("spec", {})
        for key in ("selector", "podSelector"):
            selector = spec.get(key)
            if selector is None:
                continue
            if document["kind"] == "Service":
                selector = {"matchLabels": selector}
            where = f"{document['kind']} {document['metadata']['name']}"
            found = [pod for pod in pods() if _selects(selector, _all_labels(pod))]
            assert found, where
            if document["kind"] == "Deployment":
                assert [pod.owner for pod in found] == [document], f"{where} would adopt another's pods"


def test_every_named_port_exists_where_it_is_used() -> None:
    def ports(selector: dict[str, Any]) -> set[str]:
        found = [pod for pod in pods() if _selects(selector, _all_labels(pod))]
        return {port["name"] for pod in found for port in pod.container["ports"]}

    for document in manifests():
        spec = document.get("spec", {})
        if document["kind"] == "PodMonitor":
            assert {entry["port"] for entry in spec["podMetricsEndpoints"]} <= ports(spec["selector"])
        if document["kind"] == "Service":
            named = {entry["targetPort"] for entry in spec["ports"]}
            assert named <= ports({"matchLabels": spec["selector"]})
        if document["kind"] == "NetworkPolicy" and "ingress" in spec:
            used = {entry["port"] for rule in spec["ingress"] for entry in rule["ports"]}
            assert used <= ports(spec["podSelector"])


def test_the_scaler_follows_the_worker() -> None:
    (scaler,) = [document for document in manifests() if document["kind"] == "ScaledObject"]
    (worker,) = [pod for pod in pods() if pod.name == scaler["spec"]["scaleTargetRef"]["name"]]
    (base,) = documents(KUBERNETES / "base" / "kustomization.yaml")
    (generator,) = base["configMapGenerator"]
    assert worker.container["envFrom"] == [{"configMapRef": {"name": generator["name"]}}]
    settings = {literal.partition("=")[0] for literal in generator["literals"]}
    (trigger,) = scaler["spec"]["triggers"]
    assert {value for key, value in trigger["metadata"].items() if key.endswith("FromEnv")} <= settings


def test_every_pod_is_behind_the_network_policy() -> None:
    (policy,) = [
        document
        for document in manifests()
        if document["kind"] == "NetworkPolicy" and document["metadata"]["name"] == "quintet"
    ]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy["spec"]
    assert all(_selects(policy["spec"]["podSelector"], _all_labels(pod)) for pod in pods())


def test_rule_files_become_objects(tmp_path: Path) -> None:
    # Given
    alert = {"alert": "A", "expr": "up == 0", "annotations": {"text": "one\n\nthree"}}
    recorded = {"record": "a:b", "expr": "1"}
    sources = {"rules/scores.yml": recorded, "alerts/all_of_it.yml": alert}
    for name, rule in sources.items():
        (tmp_path / name).parent.mkdir()
        text = yaml.safe_dump({"groups": [{"name": "g", "rules": [rule]}]}, default_style="|")
        (tmp_path / name).write_text("---\n# a comment\n" + text)

    # When
    script = KUBERNETES / "prometheus-rules.sh"
    done = subprocess.run(
        [script, tmp_path], check=True, capture_output=True, text=True, env={"RULE_LABELS": "release: mine"}
    )

    # Then
    rules, alerts = yaml.safe_load_all(done.stdout)
    assert [rules["metadata"]["name"], alerts["metadata"]["name"]] == [
        "quintet-rules-scores",
        "quintet-alerts-all-of-it",
    ]
    assert rules["spec"] == {"groups": [{"name": "g", "rules": [recorded]}]}
    assert alerts["spec"] == {"groups": [{"name": "g", "rules": [alert]}]}
    assert alerts["metadata"]["labels"]["release"] == "mine"
    assert subprocess.run([script, tmp_path / "rules"], capture_output=True, check=False).returncode == 1


def test_our_own_rule_files_become_objects_with_the_same_rules() -> None:
    done = subprocess.run([KUBERNETES / "prometheus-rules.sh"], check=True, capture_output=True, text=True)
    made = list(yaml.safe_load_all(done.stdout))
    files = [
        path for kind in ("rules", "alerts") for path in sorted((DEPLOY / "prometheus" / kind).glob("*.yml"))
    ]
    assert [document["spec"] for document in made] == [yaml.safe_load(path.read_text()) for path in files]
    assert len({document["metadata"]["name"] for document in made}) == len(files) > 0


def test_compose_gives_no_service_more_than_it_needs() -> None:
    for name, service in compose()["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service.get("read_only", False) or name in WRITABLE
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} asks for no password"


def test_compose_volumes_are_declared_and_used() -> None:
    used = {
        volume.split(":")[0] for service in compose()["services"].values() for volume in service["volumes"]
    }
    assert {name for name in used if not name.startswith("./")} == set(compose()["volumes"])


def test_compose_reads_the_files_of_their_place() -> None:
    mounts = {
        volume
        for service in compose()["services"].values()
        for volume in service["volumes"]
        if volume[0] == "."
    }
    assert mounts == {
        "./prometheus:/etc/prometheus:ro",
        "./alertmanager:/etc/alertmanager:ro",
        "./grafana/provisioning:/etc/grafana/provisioning:ro",
        "./grafana/dashboards:/etc/grafana/dashboards/quintet:ro",
    }


def test_compose_waits_for_what_it_needs() -> None:
    services = compose()["services"]
    for service in services.values():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "test" in services[other]["healthcheck"]
            else:
                assert services[other]["restart"] == "no"


def test_workers_can_be_many() -> None:
    worker = services_of_ours()["worker"]
    assert not {"container_name", "ports", "hostname"} & set(worker)
