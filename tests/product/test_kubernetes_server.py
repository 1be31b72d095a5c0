"""A real API server of Kubernetes applies `deploy/kubernetes/` as the guide says.

It has no controllers and nodes, so it validates and stores objects, and starts nothing.
"""

import json
import os
import shutil
import subprocess
import textwrap
import time
from urllib.request import urlopen

import pytest

from running.processes import ROOT
from running.product_launcher import free_port
from tests.test_kubernetes import PODS

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(400)]

READY_TIMEOUT_S = 240
GUIDE = (ROOT / "docs/containers.md").read_text()
# In place of CloudNativePG's definition, which is not in this repository.
OPERATOR = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusters.postgresql.cnpg.io"},
    "spec": {
        "group": "postgresql.cnpg.io",
        "scope": "Namespaced",
        "names": {"kind": "Cluster", "plural": "clusters"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


class Kubectl:
    def __init__(self, folder, port):
        self.folder = folder
        self.options = [
            *("--server", f"https://127.0.0.1:{port}", "--token", "admin"),
            *("--insecure-skip-tls-verify", f"--cache-dir={folder}/cache"),
        ]

    def ask(self, *words, content=None):
        return subprocess.run(
            ["kubectl", *self.options, *words],
            input=None if content is None else json.dumps(content),
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *words, content=None):
        done = self.ask(*words, content=content)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kubernetes")
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    etcd, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
    (folder / "tokens").write_text('admin,admin,1,"system:masters"\n')
    key = folder / "key"
    subprocess.run(
        ["openssl", "genrsa", "-out", str(key), "2048"], capture_output=True, check=True
    )
    commands = [
        [
            *("etcd", "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
        ],
        [
            *("kube-apiserver", "--etcd-servers", etcd, "--secure-port", str(port)),
            *("--bind-address=127.0.0.1", f"--cert-dir={folder}/certificates"),
            *("--token-auth-file", str(folder / "tokens"), "--authorization-mode=RBAC"),
            "--service-account-issuer=https://kubernetes.default.svc",
            *("--service-account-key-file", str(key)),
            *("--service-account-signing-key-file", str(key)),
            "--service-cluster-ip-range=10.0.0.0/24",
            # It waits for accounts that a controller creates.
            "--disable-admission-plugins=ServiceAccount",
        ],
    ]
    processes = []
    try:
        for command in commands:
            log = (folder / f"{command[0]}.log").open("wb")
            processes.append(subprocess.Popen(command, stdout=log, stderr=log))
            log.close()
            if command[0] == "etcd":
                _wait(lambda: urlopen(f"{etcd}/health").status == 200)
        client = Kubectl(folder, port)
        _wait(lambda: client.ask("get", "--raw", "/readyz").stdout == "ok")
        client.run("create", "-f", "-", content=OPERATOR)
        _wait(lambda: client.ask("get", "clusters").returncode == 0)
        client.run("apply", "-f", str(ROOT / "deploy/kubernetes/namespace.yaml"))
        yield client
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)


def _wait(is_done):
    end = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            if is_done():
                return
        except OSError:  # it does not listen yet
            pass
        assert time.monotonic() < end, "it does not answer"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the kustomization of the guide beside a copy of the manifests."""
    parent = tmp_path_factory.mktemp("own")
    shutil.copytree(ROOT / "deploy/kubernetes", parent / "virtlab/deploy/kubernetes")
    text = GUIDE.partition("run `kubectl apply -k` on its folder:\n")[2]
    own = parent / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(
        textwrap.dedent(text.partition("\n- For mail")[0])
        + "components: [../virtlab/deploy/kubernetes/outgoing]\n"
    )
    return own


def test_the_guides_kustomization_is_valid_on_the_server(kubectl, folder):
    applied = kubectl.run("apply", "--dry-run=server", "-k", str(folder))

    lines = applied.splitlines()
    assert len(lines) > 15
    assert all("server dry run" in line for line in lines)


def test_it_can_be_applied_twice(kubectl, folder):
    kubectl.run("apply", "-k", str(folder))

    again = kubectl.run("apply", "-k", str(folder))

    assert not [line for line in again.splitlines() if line.endswith("created")]
    hosts = kubectl.run("-n", "virtlab", "get", "ingress", "-o", "name")
    assert hosts == "ingress.networking.k8s.io/proxy\n"


@pytest.mark.parametrize("name", PODS)
def test_pods_pass_the_restricted_security_standard(kubectl, folder, name):
    kubectl.run("apply", "-k", str(folder))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        **PODS[name],
        "metadata": {**PODS[name]["metadata"], "name": name, "namespace": "virtlab"},
    }
    if name == "broker":
        pod["spec"] = {**pod["spec"], "volumes": [{"name": "data", "emptyDir": {}}]}

    made = kubectl.run("create", "--dry-run=server", "-f", "-", content=pod)

    assert made == f"pod/{name} created (server dry run)\n"


def test_guard_finds_unknown_keys_and_pods_without_limits(kubectl, folder):
    kubectl.run("apply", "-k", str(folder))
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "wrong", "namespace": "virtlab"},
        "spec": {"selektor": {}, "ports": [{"port": 1}]},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "wrong", "namespace": "virtlab"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }

    assert "selektor" in kubectl.ask("create", "-f", "-", content=service).stderr
    assert "PodSecurity" in kubectl.ask("create", "-f", "-", content=pod).stderr
