"""deploy/kubernetes/ matches the published schemas and its own references."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate
import pytest
import yaml

from running.postgres import DATABASE, OWNER, UNRESTRICTED_ROLE, USER
from running.processes import ROOT
from tests.for_each import for_each

FOLDER = ROOT / "deploy/kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
OUTGOING = yaml.safe_load((FOLDER / "outgoing/kustomization.yaml").read_text())
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
OPERATORS = "postgresql.cnpg.io/v1"
VERSIONS = ("1.29", "1.34")
PRODUCT = ("prepare", "web", "worker", "sweeper")
Document = dict[str, Any]


def documents() -> Iterator[Document]:
    outgoing = [f"outgoing/{name}" for name in OUTGOING["resources"]]
    for name in (*KUSTOMIZATION["resources"], *outgoing):
        yield from yaml.safe_load_all((FOLDER / name).read_text())


ALL = list(documents())
WORKLOADS = [
    item for item in ALL if item["kind"] in ("Deployment", "StatefulSet", "Job")
]
PODS = {item["metadata"]["name"]: item["spec"]["template"] for item in WORKLOADS}
SERVERS = {"cnpg.io/cluster": "database"}
LABELS = [*(pod["metadata"]["labels"] for pod in PODS.values()), SERVERS]


def manifest(kind: str, name: str) -> Document:
    [found] = [
        item
        for item in ALL
        if item["kind"] == kind and item["metadata"]["name"] == name
    ]
    return found


def containers(pod: Document) -> list[Document]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def chosen(selector: Mapping[str, Any]) -> list[Document]:
    """Return the labels of the pods that a selector matches."""
    rules = selector.get("matchExpressions", [])
    is_plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    labels = selector if is_plain else selector.get("matchLabels", {})
    return [
        own
        for own in LABELS
        if labels.items() <= own.items()
        and all(own.get(item["key"]) in item["values"] for item in rules)
    ]


def test_every_file_is_in_the_kustomization():
    for folder, kustomization in (
        (FOLDER, KUSTOMIZATION),
        (FOLDER / "outgoing", OUTGOING),
    ):
        files = {path.name for path in folder.iterdir() if path.is_file()}
        assert files - {"kustomization.yaml"} == set(kustomization["resources"])


def test_outgoing_connections_are_optional_and_limited():
    policy = manifest("NetworkPolicy", "outgoing")["spec"]

    assert {item["app"] for item in chosen(policy["podSelector"])} == {"web", "worker"}
    assert OUTGOING["kind"] == "Component"


@pytest.mark.parametrize("version", VERSIONS)
@for_each("document", ALL)
def test_files_match_the_published_schemas(document, version):
    problem = ""
    # The operator's custom resource is in no schema of Kubernetes.
    if document["apiVersion"] != OPERATORS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problem = error.message

    assert problem == ""


def test_guard_detects_an_unknown_key():
    wrong = {**manifest("Service", "web"), "spec": {"selektor": {}}}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@pytest.mark.parametrize("name", PODS)
def test_every_container_has_least_rights(name):
    pod = PODS[name]["spec"]

    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    if name in PRODUCT:
        assert pod["securityContext"]["runAsUser"] == 10001
    for container in containers(PODS[name]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"].keys() == {"requests", "limits"}


@pytest.mark.parametrize("name", PRODUCT)
def test_commands_match_compose(name):
    [container] = PODS[name]["spec"]["containers"]

    # For web it is the image's default.
    assert container.get("command") == COMPOSE[name].get("command")
    assert container["image"] == COMPOSE[name]["image"]


def test_broker_options_match_compose():
    [container] = PODS["broker"]["spec"]["containers"]

    assert container["args"] == COMPOSE["redis"]["command"]
    assert container["image"] == COMPOSE["redis"]["image"]


def test_permanent_containers_have_probes():
    for name in ("web", "worker", "sweeper", "broker"):
        [container] = PODS[name]["spec"]["containers"]
        assert "livenessProbe" in container, name
    [web] = PODS["web"]["spec"]["containers"]
    assert web["readinessProbe"]["httpGet"]["path"] == "/api/v1/ready/"


def test_settings_and_secrets_are_references():
    [settings] = KUSTOMIZATION["configMapGenerator"]
    names = [line.partition("=")[0] for line in settings["literals"]]
    settings_page = (ROOT / "docs/settings.md").read_text()

    for name in names:
        assert re.search(rf"^\|.*`{name}`.*\|", settings_page, re.MULTILINE), name
    assert not re.search("KEY|PASSWORD|SECRET|TOKEN", "".join(names))
    for name in PRODUCT:
        for container in containers(PODS[name]):
            assert container["envFrom"] == [
                {"configMapRef": {"name": settings["name"]}},
                {"secretRef": {"name": "secrets"}},
            ]
            secrets = {
                variable["name"]: variable["valueFrom"]["secretKeyRef"]["name"]
                for variable in container["env"]
                if "valueFrom" in variable
            }
            # The operator creates this name: cluster, and owner of the tables.
            owner = {"OWNER_DATABASE_URL": "database-app"} if name == "prepare" else {}
            assert secrets == {"DATABASE_PASSWORD": "database-product", **owner}
    guide = (ROOT / "docs/containers.md").read_text()
    assert "create secret generic secrets" in guide
    assert "create secret generic database-product" in guide


def test_product_connects_with_its_own_role():
    spec = manifest("Cluster", "database")["spec"]
    roles = {role["name"]: role for role in spec["managed"]["roles"]}

    assert spec["bootstrap"]["initdb"]["owner"] == OWNER
    assert roles[USER]["inRoles"] == [UNRESTRICTED_ROLE]
    assert not roles[USER].get("bypassrls")
    assert roles[UNRESTRICTED_ROLE]["bypassrls"]
    assert not roles[UNRESTRICTED_ROLE]["login"]
    for name in PRODUCT:
        for container in containers(PODS[name]):
            names = {item["name"]: item.get("value") for item in container["env"]}
            assert names["DATABASE_URL"] == (
                f"postgresql://{USER}:$(DATABASE_PASSWORD)@database-rw:5432/{DATABASE}"
            )


def test_every_selector_matches_a_pod():
    selectors = [item["spec"]["selector"] for item in ALL if item["kind"] == "Service"]
    selectors += [
        item["spec"]["selector"]
        for item in ALL
        if item["kind"] == "PodDisruptionBudget"
    ]
    for workload in WORKLOADS:
        if workload["kind"] != "Job":
            selector = workload["spec"]["selector"]
            labels = workload["spec"]["template"]["metadata"]["labels"]
            assert selector["matchLabels"].items() <= labels.items()
    for policy in (item["spec"] for item in ALL if item["kind"] == "NetworkPolicy"):
        selectors += [policy["podSelector"]]
        for rule in [*policy.get("ingress", []), *policy.get("egress", [])]:
            peers = [*rule.get("from", []), *rule.get("to", [])]
            selectors += [
                item["podSelector"] for item in peers if "podSelector" in item
            ]

    assert all(chosen(selector) for selector in selectors)


def test_disruption_budget_allows_draining_a_node():
    for budget in (item for item in ALL if item["kind"] == "PodDisruptionBudget"):
        name = budget["metadata"]["name"]
        assert manifest("Deployment", name)["spec"]["replicas"] > 1


def test_every_port_belongs_to_a_container():
    ports = {
        port["name"]
        for pod in PODS.values()
        for container in containers(pod)
        for port in container.get("ports", [])
    }
    [rule] = manifest("Ingress", "proxy")["spec"]["rules"]
    [path] = rule["http"]["paths"]

    assert path["backend"]["service"] == {"name": "web", "port": {"name": "http"}}
    assert manifest("Service", "web")["spec"]["ports"][0]["name"] in ports
    for policy in (item["spec"] for item in ALL if item["kind"] == "NetworkPolicy"):
        for rule in [*policy.get("ingress", []), *policy.get("egress", [])]:
            named_ports = [item["port"] for item in rule["ports"]]
            assert {item for item in named_ports if isinstance(item, str)} <= ports
    [settings] = KUSTOMIZATION["configMapGenerator"]
    assert "METRICS_PORT=9000" in settings["literals"]


def test_only_the_product_reaches_the_servers():
    closed = manifest("NetworkPolicy", "nobody")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress"]}
    reaching = [own["app"] for own in LABELS if own.get("reaches") == "servers"]
    assert sorted(reaching) == sorted(PRODUCT)
    for name in ("broker", "database"):
        first = manifest("NetworkPolicy", name)["spec"]["ingress"][0]["from"][0]
        assert first == {"podSelector": {"matchLabels": {"reaches": "servers"}}}


def test_static_files_are_those_of_prepare():
    [static] = PODS["web"]["spec"]["initContainers"]
    left_out = [
        word.partition("=")[2] for word in static["command"] if "--ignore" in word
    ]
    from django.conf import settings

    assert left_out == settings.STATICFILES_EXCLUDED
