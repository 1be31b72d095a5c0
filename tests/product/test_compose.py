"""The production setup: every service of docker-compose.yml runs in a container.

With replacements for the official images (`tests/podman.py`), started by
`tests/compose_stack.py`. Run with `make test-compose`.
"""

import http.client
import json
import os
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.request import urlopen

import pytest
from aiosmtpd.controller import Controller

from agents.client import Client
from benchmarks.reference.study_documents import reference_study
from running.product_launcher import free_port, wait_until_processed
from tests.compose_stack import Stack, wait_for
from tests.podman import Podman

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

STUDY = "ufcg-2026-power9"
PART = 40
"""The number of runs that are uploaded while a container is killed."""
PRODUCT = ("web", "worker", "sweeper")
OURS = 10001
LASTING = (*PRODUCT, "postgres", "redis", "proxy")
NAME = "lab.example.org"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
CHECKSUM = (
    "SELECT '{0}', count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM {0} t"
)


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """A store with all images. With PODMAN_STORE=folder, Debian's images are reused."""
    store_folder = os.environ.get("PODMAN_STORE")
    engine = Podman(
        Path(store_folder)
        if store_folder
        else tmp_path_factory.mktemp("podman") / "all"
    )
    # A killed test run may have left some.
    engine.remove_containers()
    engine.make_base_images()
    engine.build_product()
    yield engine
    engine.remove_containers()
    assert not engine.text("ps", "--all", "--quiet")
    if not store_folder:
        engine.remove()
        assert not engine.folder.exists()


@pytest.fixture(scope="module")
def stack(podman: Podman) -> Stack:
    """The first installation: what `make up` starts."""
    stack = Stack(podman, "virtlab", environment("172.30.237.0/28"))
    stack.make()
    stack.up()
    stack.wait_until_healthy(*LASTING)
    return stack


def environment(network: str, **changes: str) -> dict[str, str]:
    """Return the content of .env, with the ports and networks of a test."""
    return {
        "SECRET_KEY": "0" * 64,
        "POSTGRES_PASSWORD": "the owner's",
        "DATABASE_PASSWORD": "0" * 64,
        "OWNER_DATABASE_PASSWORD": "1" * 64,
        "ALLOWED_HOSTS": "localhost",
        "PORT": str(free_port()),
        "FRONT_NETWORK": network,
        **changes,
    }


def client(stack: Stack, token: str) -> Client:
    return Client(f"http://127.0.0.1:{stack.environment['PORT']}", token, 120)


def token_of(stack: Stack) -> str:
    return stack.execute("web", "cat", "/var/lib/virtlab/upload-token").decode().strip()


def test_containers_have_least_rights(stack):
    for service in PRODUCT:
        status = stack.execute(service, "cat", "/proc/1/status").decode()
        status = dict(
            line.split(":\t", 1) for line in status.splitlines() if ":\t" in line
        )
        assert status["Uid"].split() == [str(OURS)] * 4, service
        assert {int(status[f"Cap{kind}"], 16) for kind in ("Prm", "Eff", "Bnd")} == {0}
        assert status["NoNewPrivs"] == "1"
        root, *_ = stack.execute(service, "cat", "/proc/mounts").decode().splitlines()
        assert "ro" in root.split()[3].split(","), service


def test_only_the_product_reaches_the_servers(stack):
    """Other containers cannot reach them, and the product itself has no internet
    access.
    """
    for service, host, port in (
        ("web", "postgres", 5432),
        ("worker", "redis", 6379),
        ("web", "worker", None),
    ):
        output = stack.execute(service, "python", "-c", ASK.format(host, port))
        assert output.decode().strip() == ("there" if port else "known"), host
    assert stack.execute("web", "python", "-c", ASK.format("192.0.2.1", 443)) == b"-\n"


ASK = """
import socket
try:
    if {1}: socket.create_connection(("{0}", {1}), 3); print("there")
    else: socket.gethostbyname("{0}"); print("known")
except OSError: print("-")
"""


@pytest.fixture(scope="module")
def uploads(stack: Stack) -> "Uploads":
    return Uploads(stack)


class Uploads:
    """A published study, uploaded in parts through the proxy."""

    def __init__(self, stack: Stack) -> None:
        self.stack, study = stack, reference_study(STUDY)
        self.runs = iter(study.runs)
        self.sent: list[str] = []
        self.client = client(stack, token_of(stack))
        self.client.create_study(study.document)
        for tool in study.own_tools:
            self.client.declare_tool(tool)
        for host in study.hosts:
            self.client.register_host(host)

    def go_on(self) -> None:
        """Upload the next runs one by one, to keep the services busy for a while."""
        for _, run in zip(range(PART), self.runs, strict=False):
            answer = self.client.request("POST", "runs/", run)
            assert answer["key"] == run["key"]
            self.sent.append(run["key"])

    def stored(self) -> list[tuple[str, str]]:
        """Return key and status of all runs."""
        rows = query(self.stack, "SELECT key, status FROM benchmarks_run")
        return [(key, status) for key, status in rows]


def query(stack: Stack, sql: str) -> list[list[str]]:
    output = stack.execute(
        "postgres",
        *("psql", "--username=postgres", "--dbname=virtlab", "--no-psqlrc"),
        *("--tuples-only", "--no-align", "--command", sql),
    )
    return [line.split("|") for line in output.decode().splitlines()]


def test_export_folder_is_writable_by_web(uploads):
    uploads.go_on()
    wait_until_processed(uploads.client)

    with urlopen(f"{uploads.client.url}data/runs/csv/") as answer:
        assert answer.read().count(b"\n") > PART


@pytest.mark.parametrize("service", LASTING)
def test_killed_container_restarts_and_loses_nothing(service, stack, uploads):
    uploading = threading.Thread(target=uploads.go_on)
    before = len(uploads.sent)
    uploading.start()
    wait_for(lambda: len(uploads.sent) > before + PART // 4)

    stack.wait_until_back(service, stack.crash(service))

    uploading.join()
    wait_until_processed(uploads.client)
    assert len(uploads.sent) == before + PART
    assert sorted(uploads.stored()) == sorted((key, "parsed") for key in uploads.sent)


def checksums(stack: Stack) -> list[list[str]]:
    """Return row count and checksum of every table, once nothing changes."""
    tables = [name for [name] in query(stack, TABLES)]
    union = " UNION ALL ".join(map(CHECKSUM.format, tables))
    last: list[list[str]] = []
    while last != (counts := sorted(query(stack, union))):
        last = counts
        time.sleep(3)
    return counts


class Beyond:
    """A server outside the container networks, which accepts every request."""

    def __init__(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            # Sends nothing: finds the local address of the default route.
            asking.connect(("192.0.2.1", 9))
            self.address = asking.getsockname()[0]
        self.heard: list[bytes] = []
        self.server = socketserver.ThreadingTCPServer((self.address, 0), self._take)
        self.server.daemon_threads = True
        self.port, mail = self.server.server_address[1], free_port()
        self.mail = Controller(self, hostname=self.address, port=mail)
        at = f"{self.address}:{self.port}"
        self.settings = {
            "WEBHOOK_PRIVATE_ADDRESSES": "on",
            **{"EMAIL_HOST": self.address, "EMAIL_PORT": str(mail)},
            **{"EMAIL_SECURITY": "none", "EMAIL_FROM": "lab@example.org"},
            **{"SITE_URL": f"https://{NAME}", "OIDC_ISSUER": f"https://{at}"},
            **{"OIDC_CLIENT_ID": "lab", "OIDC_CLIENT_SECRET": "0", "OIDC_NAME": "Uni"},
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.mail.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.mail.stop()
        self.server.shutdown()
        self.server.server_close()

    def has(self, words: bytes) -> bool:
        return any(words in text for text in self.heard)

    def _take(self, line: socket.socket, *_: object) -> None:
        line.settimeout(10)
        self.heard.append(line.recv(65536))
        line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def handle_DATA(self, server: object, session: object, letter: Any) -> str:  # noqa: N802 - aiosmtpd's name
        self.heard.append(f"To {letter.rcpt_tos}".encode())
        return "250 OK"


@pytest.fixture(scope="module")
def beyond() -> Iterator[Beyond]:
    """A server that stands for the rest of the internet."""
    with Beyond() as world:
        yield world


class Restored(NamedTuple):
    """A second installation, and the data before and after."""

    stack: Stack
    before: list[list[str]]
    after: list[list[str]]


@pytest.fixture(scope="module")
def restored(
    stack: Stack, uploads: "Uploads", podman: Podman, beyond: Beyond
) -> Restored:
    """Restore the first installation's data into another one, with HTTPS.

    With the commands of docs/containers.md.
    """
    before = checksums(stack)
    dump = stack.execute("postgres", *["pg_dump", "-U", "postgres", "-Fc", "virtlab"])
    ports = {name: str(free_port()) for name in ("HTTP_PORT", "HTTPS_PORT")}
    second = Stack(
        podman,
        "second",
        environment(
            "172.30.237.16/28",
            ALLOWED_HOSTS=NAME,
            ALLOWED_PORTS=ports["HTTPS_PORT"],
            TLS="tls internal",
            BIND="127.0.0.1",
            **ports,
        ),
        "compose/https.yml",
        "compose/outgoing.yml",
    )
    for service in PRODUCT:
        # The content of settings.env.
        second.services[service]["environment"] |= beyond.settings
    second.make()
    second.up("postgres", "redis")
    second.wait_until_healthy("postgres", "redis")
    second.execute("postgres", *RESTORE.split(), input=dump)
    after = checksums(second)
    second.up()
    second.wait_until_healthy(*LASTING)
    return Restored(second, before, after)


def test_backup_is_restored_into_a_second_installation(stack, restored):
    second = restored.stack

    assert restored.after == restored.before
    moved = ask(second, "/api/v1/labs/", secure=False)
    assert (moved.status, moved.headers["Location"]) == (
        308,
        f"https://{NAME}/api/v1/labs/",
    )
    page = ask(second, "/")
    assert (page.status, "max-age" in page.headers["Strict-Transport-Security"]) == (
        200,
        True,
    )
    address, token = f"comparisons/?study=first-lab/{STUDY}", token_of(stack)
    response = ask(second, f"/api/v1/{address}", token=token)
    assert json.loads(response.body) == client(stack, token).get(address)


def test_only_web_and_worker_reach_other_machines(restored, beyond):
    # Some of the containers have only a shell.
    asks = f"exec 3<>/dev/tcp/{beyond.address}/{beyond.port}"
    reached = {}
    for service in LASTING:
        words = ("timeout", "5", "bash", "-c", f"({asks}) 2>/dev/null; echo $?")
        reached[service] = restored.stack.execute(service, *words).strip() == b"0"

    # The proxy serves people, and requests its certificate from an authority.
    assert {name for name, is_there in reached.items() if is_there} == {
        *("web", "worker", "proxy")
    }


def test_mail_webhooks_and_provider_are_reached(stack, restored, beyond):
    # The token is unchanged, and is where it was written.
    second, token = restored.stack, token_of(stack)
    hook = {
        "target_url": f"http://{beyond.address}:{beyond.port}/hook",
        "kinds": ["flags"],
    }

    made = ask(second, "/api/v1/webhooks/", token=token, body=hook)
    tested = f"/api/v1/webhooks/{json.loads(made.body)['id']}/test/"
    assert ask(second, tested, token=token, body={}).status < 300
    second.execute("worker", *MAIL.split())
    second.execute("web", "python", "-c", PROVIDER)

    wait_for(lambda: beyond.has(b"POST /hook "), lambda: second.log("worker"))
    assert beyond.has(b"Virtlab-Signature: sha256=")
    assert beyond.has(b"To ['ann@example.org']")
    # Reads only the start of the TLS handshake, which names the server.
    assert beyond.has(b"\x16\x03\x01")


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(
    stack: Stack,
    path: str,
    *,
    secure: bool = True,
    token: str = "",
    body: dict[str, Any] | None = None,
) -> Answer:
    """Send a request to the second installation, trusting only its own authority."""
    port = int(stack.environment["HTTPS_PORT" if secure else "HTTP_PORT"])
    with socket.create_connection(("127.0.0.1", port), 60) as plain:
        connection = http.client.HTTPConnection(NAME, port)
        connection.sock = plain
        if secure:
            root = "/data/caddy/pki/authorities/local/root.crt"
            trusted = stack.execute("proxy", "cat", root).decode()
            context = ssl.create_default_context(cadata=trusted)
            connection.sock = context.wrap_socket(plain, server_hostname=NAME)
        headers = {"Host": f"{NAME}:{port}" if secure else NAME, "Connection": "close"}
        if token:
            headers["Authorization"] = f"Token {token}"
        method, sent = "GET", None
        if body is not None:
            method, sent = "POST", json.dumps(body)
            headers["Content-Type"] = "application/json"
        with closing(connection):
            connection.request(method, path, sent, headers)
            with connection.getresponse() as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())


MAIL = "python manage.py sendtestemail ann@example.org"
PROVIDER = """
import os, requests
try: requests.get(os.environ["OIDC_ISSUER"], timeout=5)
except requests.exceptions.SSLError: pass
"""
RESTORE = (
    "pg_restore -U postgres --clean --if-exists --no-owner --role=virtlab_owner"
    " --exit-on-error --single-transaction --dbname=virtlab"
)
