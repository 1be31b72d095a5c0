"""deploy/kubernetes/ against the published schemas, each name against its other end."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate
import pytest
import yaml

from running.postgres import ALL_SEEING, DATABASE, OWNER, USER
from running.processes import ROOT
from tests.every import for_each

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
WORKLOADS = [it for it in ALL if it["kind"] in ("Deployment", "StatefulSet", "Job")]
PODS = {it["metadata"]["name"]: it["spec"]["template"] for it in WORKLOADS}
SERVERS = {"cnpg.io/cluster": "database"}
LABELS = [*(pod["metadata"]["labels"] for pod in PODS.values()), SERVERS]


def named(kind: str, name: str) -> Document:
    [found] = [
        it for it in ALL if it["kind"] == kind and it["metadata"]["name"] == name
    ]
    return found


def containers(pod: Document) -> list[Document]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def chosen(selector: Mapping[str, Any]) -> list[Document]:
    """Return the labels of the pods that a selector means."""
    rules = selector.get("matchExpressions", [])
    is_plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    labels = selector if is_plain else selector.get("matchLabels", {})
    return [
        own
        for own in LABELS
        if labels.items() <= own.items()
        and all(own.get(it["key"]) in it["values"] for it in rules)
    ]


def test_every_file_is_one_of_the_kustomization():
    for folder, known in ((FOLDER, KUSTOMIZATION), (FOLDER / "outgoing", OUTGOING)):
        files = {path.name for path in folder.iterdir() if path.is_file()}
        assert files - {"kustomization.yaml"} == set(known["resources"])


def test_what_talks_to_other_machines_may_where_that_is_wanted():
    policy = named("NetworkPolicy", "outgoing")["spec"]

    assert {it["app"] for it in chosen(policy["podSelector"])} == {"web", "worker"}
    assert OUTGOING["kind"] == "Component"


@pytest.mark.parametrize("version", VERSIONS)
@for_each("document", ALL)
def test_it_is_as_the_published_schemas_say(document, version):
    problem = ""
    # Its operator's own kind is in no schema of Kubernetes.
    if document["apiVersion"] != OPERATORS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problem = error.message

    assert problem == ""


def test_a_word_that_no_schema_knows_is_found():
    wrong = {**named("Service", "web"), "spec": {"selektor": {}}}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@pytest.mark.parametrize("name", PODS)
def test_every_container_has_the_least_rights(name):
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
def test_it_runs_what_compose_runs(name):
    [container] = PODS[name]["spec"]["containers"]

    # Of web it is the image's own.
    assert container.get("command") == COMPOSE[name].get("command")
    assert container["image"] == COMPOSE[name]["image"]


def test_the_broker_runs_with_the_options_of_compose():
    [container] = PODS["broker"]["spec"]["containers"]

    assert container["args"] == COMPOSE["redis"]["command"]
    assert container["image"] == COMPOSE["redis"]["image"]


def test_what_lasts_is_probed():
    for name in ("web", "worker", "sweeper", "broker"):
        [container] = PODS[name]["spec"]["containers"]
        assert "livenessProbe" in container, name
    [web] = PODS["web"]["spec"]["containers"]
    assert web["readinessProbe"]["httpGet"]["path"] == "/api/v1/ready/"


def test_settings_and_secrets_are_named_and_never_written_down():
    [settings] = KUSTOMIZATION["configMapGenerator"]
    given = [line.partition("=")[0] for line in settings["literals"]]
    operations = (ROOT / "docs/operations.md").read_text()

    for name in given:
        assert re.search(rf"^\|.*`{name}`.*\|", operations, re.MULTILINE), name
    assert not re.search("KEY|PASSWORD|SECRET|TOKEN", "".join(given))
    for name in PRODUCT:
        for container in containers(PODS[name]):
            assert container["envFrom"] == [
                {"configMapRef": {"name": settings["name"]}},
                {"secretRef": {"name": "secrets"}},
            ]
            taken = {
                variable["name"]: variable["valueFrom"]["secretKeyRef"]["name"]
                for variable in container["env"]
                if "valueFrom" in variable
            }
            # The operator names it so: of the cluster, for who owns the tables.
            owner = {"OWNER_DATABASE_URL": "database-app"} if name == "prepare" else {}
            assert taken == {"DATABASE_PASSWORD": "database-product", **owner}
    assert "create secret generic secrets" in operations
    assert "create secret generic database-product" in operations


def test_the_product_owns_no_table_and_is_led_to_the_database_as_its_own_role():
    spec = named("Cluster", "database")["spec"]
    roles = {role["name"]: role for role in spec["managed"]["roles"]}

    assert spec["bootstrap"]["initdb"]["owner"] == OWNER
    assert roles[USER]["inRoles"] == [ALL_SEEING]
    assert not roles[USER].get("bypassrls")
    assert roles[ALL_SEEING]["bypassrls"]
    assert not roles[ALL_SEEING]["login"]
    for name in PRODUCT:
        for container in containers(PODS[name]):
            given = {it["name"]: it.get("value") for it in container["env"]}
            assert given["DATABASE_URL"] == (
                f"postgresql://{USER}:$(DATABASE_PASSWORD)@database-rw:5432/{DATABASE}"
            )


def test_every_selector_means_a_pod():
    selectors = [it["spec"]["selector"] for it in ALL if it["kind"] == "Service"]
    selectors += [
        it["spec"]["selector"] for it in ALL if it["kind"] == "PodDisruptionBudget"
    ]
    for workload in WORKLOADS:
        if workload["kind"] != "Job":
            selector = workload["spec"]["selector"]
            labels = workload["spec"]["template"]["metadata"]["labels"]
            assert selector["matchLabels"].items() <= labels.items()
    for policy in (it["spec"] for it in ALL if it["kind"] == "NetworkPolicy"):
        selectors += [policy["podSelector"]]
        for rule in [*policy.get("ingress", []), *policy.get("egress", [])]:
            peers = [*rule.get("from", []), *rule.get("to", [])]
            selectors += [it["podSelector"] for it in peers if "podSelector" in it]

    assert all(chosen(selector) for selector in selectors)


def test_a_budget_leaves_room_to_empty_a_node():
    for budget in (it for it in ALL if it["kind"] == "PodDisruptionBudget"):
        name = budget["metadata"]["name"]
        assert named("Deployment", name)["spec"]["replicas"] > 1


def test_every_port_that_is_named_is_one_of_a_container():
    ports = {
        port["name"]
        for pod in PODS.values()
        for container in containers(pod)
        for port in container.get("ports", [])
    }
    [rule] = named("Ingress", "proxy")["spec"]["rules"]
    [path] = rule["http"]["paths"]

    assert path["backend"]["service"] == {"name": "web", "port": {"name": "http"}}
    assert named("Service", "web")["spec"]["ports"][0]["name"] in ports
    for policy in (it["spec"] for it in ALL if it["kind"] == "NetworkPolicy"):
        for rule in [*policy.get("ingress", []), *policy.get("egress", [])]:
            named_ports = [it["port"] for it in rule["ports"]]
            assert {it for it in named_ports if isinstance(it, str)} <= ports
    [settings] = KUSTOMIZATION["configMapGenerator"]
    assert "METRICS_PORT=9000" in settings["literals"]


def test_nobody_but_the_product_reaches_the_servers():
    closed = named("NetworkPolicy", "nobody")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress"]}
    reaching = [own["app"] for own in LABELS if own.get("reaches") == "servers"]
    assert sorted(reaching) == sorted(PRODUCT)
    for name in ("broker", "database"):
        first = named("NetworkPolicy", name)["spec"]["ingress"][0]["from"][0]
        assert first == {"podSelector": {"matchLabels": {"reaches": "servers"}}}


def test_the_static_files_are_those_that_prepare_collects():
    [static] = PODS["web"]["spec"]["initContainers"]
    left_out = [
        word.partition("=")[2] for word in static["command"] if "--ignore" in word
    ]
    from django.conf import settings

    assert left_out == settings.STATICFILES_LEFT_OUT
