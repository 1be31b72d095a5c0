"""The Virtlab server of a testbed, and a proxy that records uploads."""

import gzip
import json
import os
import platform
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from agents.client import Client, RefusedError
from testbed import TestbedError
from testbed.images import ROOT, agent_job_files, codename, write_job
from testbed.logged_programs import LoggedProgram
from testbed.machines import chroot_command

READY_TIMEOUT_S: Final = 900
LAST_LINES: Final = 20  # covers the log excerpt of Virtlab
# Detected facts that do not describe the machine.
TRANSIENT_FACTS: Final = ("platform", "evidence", "agent", "steal")

TITLE: Final = "{systems} on one machine, emulated"
PLATFORMS: Final = {
    "native": "native",
    "container": "container",
    "qemu": "QEMU",
    "kvm": "KVM",
    "xen-pv": "Xen PV",
    "xen-pvh": "Xen PVH",
    "liar": "QEMU with a wrong clock",
}
NOTE: Final = (
    "Real guests of an ordinary machine without special hardware, by make testbed "
    "(docs/testbed.md). Every guest runs on QEMU's software emulation of a processor, "
    "those of KVM and Xen on an emulated one with AMD-V. The figures therefore show "
    "that the tools work, not which hypervisor is faster. Native and container "
    "share this machine's kernel, and all share one user space (Debian {codename}) and "
    "the same static programs. {order} {machine}"
)
ORDER: Final = (
    "In each of {sessions} sessions the guests were booted again, with systems and "
    "programs in random order (seed {seed}); the machine was not rebooted in between."
)
# Addresses of a network that RFC 2544 reserves for benchmarks.
HOST_ADDRESS: Final = "198.18.0.1"
PEER_ADDRESS: Final = "198.18.0.2"
PORT: Final = 5099
PEER_TIMEOUT_S: Final = 20.0
_IN_NAMESPACE: Final = "in the network namespace"

TIMEOUT_S: Final = 120
# Headers to forward. Not Host, because the server answers only to its own names.
FORWARDED_HEADERS: Final = (
    "Authorization",
    "Content-Type",
    "Content-Encoding",
    "Accept",
)
RETURNED_HEADERS: Final = ("Content-Type", "Retry-After")
UPLOAD_PATHS: Final = ("/api/v1/runs/", "/api/v1/runs/bulk/")

STUDY_FIELDS: Final = ("slug", "title", "published", "note")
HOST_FIELDS: Final = ("slug", "title", "facts")
SYSTEM_FIELDS: Final = (
    *("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes", "options"),
)

Upload = dict[str, Any]


@dataclass(frozen=True)
class TestServer:
    url: str
    token: str
    read_token: str


@contextmanager
def open_server(environment: Mapping[str, str], folder: Path) -> Iterator[TestServer]:
    """Yield the server of SERVER, TOKEN and READ_TOKEN, or start one.

    Raise TestbedError if the token is missing or the server does not start.
    """
    if url := environment.get("SERVER"):
        token = environment.get("TOKEN", "")
        if not token:
            raise TestbedError(
                "SERVER is set, but TOKEN is not. Set it to a token for uploads."
            )
        yield TestServer(url.rstrip("/"), token, environment.get("READ_TOKEN", token))
        return
    port, var = free_port(), folder / "product"
    program = LoggedProgram(
        [sys.executable, "-m", "running.supervisor"],
        folder / "product.log",
        # Without the published studies: the recorded testbed is one of them, and may
        # have a machine of the same name.
        {**environment, "PORT": str(port), "VAR": str(var), "LOAD_REFERENCE": "off"},
    )
    try:
        _wait_until_ready(program, var)
        token, read_token = (
            (var / name).read_text().strip() for name in ("upload-token", "read-token")
        )
        yield TestServer(f"http://127.0.0.1:{port}", token, read_token)
    finally:
        program.stop()


def _wait_until_ready(program: LoggedProgram, var: Path) -> None:
    program.deadline_s = program.started_s + READY_TIMEOUT_S
    try:
        for line in program.follow():
            if line.text.startswith("ready: "):
                return
        problem = f"ended with exit code {program.exit_code} before it was ready."
    except TimeoutError:
        problem = f"was not ready within {READY_TIMEOUT_S} s."
    advice = (
        f"If {var} belongs to another version of Virtlab, remove it (with the results "
        "of earlier runs), or choose another folder: TESTBED=/path/to/folder make "
        "testbed"
    )
    lines = [
        f"The testbed's Virtlab {problem}",
        *program.last_lines(LAST_LINES),
        advice,
    ]
    raise TestbedError("\n".join(lines))


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    return (ROOT / (environment.get("TESTBED") or "var/testbed")).absolute()


def machine_name(environment: Mapping[str, str] = os.environ) -> str:
    host_name = re.sub(r"[^a-z0-9]+", "-", platform.node().lower()).strip("-")
    return environment.get("MACHINE") or f"lab-{host_name or 'machine'}"[:50].rstrip(
        "-"
    )


def detect_machine_facts(agent: Path, root: Path, folder: Path) -> dict[str, Any]:
    """Return the facts that the agent detects, run in the guests' root file system."""
    start = "cd /mnt && exec python3 virtlab-agent.pyz detect --json\n"
    job = write_job(folder / "jobs" / "detect", start, agent_job_files(agent), {})
    process = subprocess.run(
        chroot_command(str(root), str(job)), capture_output=True, text=True, timeout=60
    )
    if process.returncode != 0:
        raise TestbedError(
            f"The agent cannot detect this machine: {process.stderr.strip()}"
        )
    facts: dict[str, Any] = json.loads(process.stdout)
    return facts


def study_title(systems: Collection[str]) -> str:
    names = [PLATFORMS[name] for name in PLATFORMS if name in systems]
    if not names and systems:
        names = ["parallel QEMU guests"]
    text = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return TITLE.format(systems=text[:1].upper() + text[1:])


def create_study(
    server: TestServer,
    facts: dict[str, Any],
    slug: str,
    machine: str,
    order: str,
    systems: Collection[str],
) -> tuple[str, ...]:
    """Create the study and the machine; return the layers of this machine.

    Raise TestbedError if the study exists.
    """
    layers = tuple(facts["platform"]["layers"])
    client = Client(server.url, server.token, retry_for_s=30)
    reader = Client(server.url, server.read_token, retry_for_s=30)
    if any(study["slug"] == slug for study in reader.get_all("studies/")):
        raise TestbedError(
            f"Study {slug} already exists, and each run needs a new one: "
            "name another study (STUDY=...)."
        )
    description = "The machine itself is bare metal."
    if layers:
        description = f"The machine itself is a guest ({' > '.join(layers)}): "
        description += "native has no additional layer."
    client.create_study(
        {
            "slug": slug,
            "title": study_title(systems),
            "published": time.strftime("%Y-%m-%d"),
            "note": NOTE.format(codename=codename(), order=order, machine=description),
            "visibility": "public",
        }
    )
    stable = {name: facts[name] for name in facts if name not in TRANSIENT_FACTS}
    register_machine(client, machine, stable)
    return layers


def register_machine(client: Client, name: str, facts: dict[str, Any]) -> None:
    """Register a machine; if it exists with other facts, these remain."""
    try:
        client.register_host({"slug": name, "title": "Lab machine", "facts": facts})
    except RefusedError as refused:
        if refused.code != "host_exists":
            raise


def hypervisor_versions() -> dict[str, str]:
    """Return the versions of QEMU and systemd-nspawn, if installed, by layer.

    The agent cannot detect these versions.
    """
    versions = {}
    # The index of the version in "QEMU emulator version 7.2.9" and "systemd 252".
    for layer, argv, word in (
        ("qemu-tcg", ("qemu-system-x86_64", "--version"), 3),
        ("systemd-nspawn", ("systemd-nspawn", "--version"), 1),
    ):
        if shutil.which(argv[0]):
            words = subprocess.run(argv, capture_output=True, text=True).stdout.split()
            versions[layer] = words[word]
    return versions


@contextmanager
def network_peer(kernel: Path, logs: Path) -> Iterator[str]:
    """Run the other end of network tests in a network namespace; yield its address.

    Raise TestbedError if it cannot be reached.
    """
    name = f"vlab{os.getpid()}"[:15]
    steps = [
        f"echo {_IN_NAMESPACE}",
        f"until ip addr add {PEER_ADDRESS}/30 dev peer 2> /dev/null; "
        "do sleep 0.05; done",
        "ip link set lo up",
        "ip link set peer up",
        f"exec {shlex.quote(str(kernel))} serve {PEER_ADDRESS}:{PORT}",
    ]
    argv = ["unshare", "--net", "sh", "-c", "; ".join(steps)]
    program = LoggedProgram(argv, logs / "peer.log")
    try:
        # Before this line, the other end of the cable would stay in this machine's
        # network.
        program.wait_for_line(_IN_NAMESPACE, PEER_TIMEOUT_S)
        for words in (
            f"link add {name} type veth peer name peer netns {program.pid}",
            f"addr add {HOST_ADDRESS}/30 dev {name}",
            f"link set {name} up",
        ):
            argv = ["ip", *words.split()]
            process = subprocess.run(argv, capture_output=True, text=True)
            if process.returncode != 0:
                raise TestbedError(f"ip {words}: {process.stderr.strip()}")
        program.wait_for_line(f"serving at {PEER_ADDRESS}:{PORT}", PEER_TIMEOUT_S)
        require_peer(PEER_ADDRESS, PORT)
        yield f"{PEER_ADDRESS}:{PORT}"
    finally:
        program.stop()
        # The interface also disappears with the namespace, but not immediately.
        subprocess.run(["ip", "link", "delete", name], capture_output=True)


def require_peer(host: str, port: int, within_s: float = PEER_TIMEOUT_S) -> None:
    try:
        socket.create_connection((host, port), within_s).close()
    except OSError as error:
        raise TestbedError(
            f"The network peer at {host}:{port} cannot be reached ({error}). A killed "
            "testbed may have left a network interface: `ip link` lists it as vlab..., "
            "and `ip link delete NAME` removes it."
        ) from None


class RecordingProxy:
    def __init__(self, server: str) -> None:
        self.server = server.rstrip("/")
        self.uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def record(self, path: str, body: bytes, encoding: str) -> None:
        if path not in UPLOAD_PATHS:
            return
        text = gzip.decompress(body) if encoding == "gzip" else body
        with self._lock:
            for line in text.splitlines() if path.endswith("bulk/") else [text]:
                document = json.loads(line)
                self.uploads[document["key"]] = document

    def forward(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        request = urllib.request.Request(self.server + path, body, headers)
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                result = answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                result = error.code, dict(error.headers), error.read()
        if body is not None and result[0] < 300:
            self.record(path, body, headers.get("Content-Encoding", ""))
        return result

    @contextmanager
    def serve(self) -> Iterator[int]:
        """Serve on a free port; yield the port."""
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield int(server.server_address[1])
            finally:
                server.shutdown()
                thread.join()


def _handler(proxy: RecordingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = self.headers.get("Content-Length")
            body = self.rfile.read(int(length)) if length else None
            headers = {
                name: self.headers[name]
                for name in FORWARDED_HEADERS
                if self.headers[name]
            }
            try:
                status, response_headers, content = proxy.forward(
                    self.command, self.path, body, headers
                )
            except OSError:  # the agent retries as long as it is configured to
                status, response_headers, content = 502, {}, b"{}"
            self.send_response(status)
            for name in RETURNED_HEADERS:
                if name in response_headers:
                    self.send_header(name, response_headers[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing, because the console shows the guests."""

    return Handler


def write_record(
    path: Path, client: Client, study: str, uploads: Iterable[Upload]
) -> None:
    """Write a study file (`docs/study-files.md`) of these uploads."""
    name = path.name.partition(".")[0]
    systems = {
        system["id"]: _with_values(system, SYSTEM_FIELDS)
        for system in client.get_all("systems/", study=study)
    }
    runs = [_with_system(upload, systems) for upload in uploads]
    runs.sort(key=lambda run: (run["started_at"], run["key"]))
    hosts = {run["system"]["host"] for run in runs}
    content = {
        "format": "virtlab-study",
        "version": 1,
        "study": {
            **_with_values(client.get(f"studies/{study}/"), STUDY_FIELDS),
            "slug": name,
        },
        "hosts": [
            _with_values(host, HOST_FIELDS)
            for host in client.get_all("hosts/")
            if host["slug"] in hosts
        ],
        "runs": runs,
    }
    text = json.dumps(content, ensure_ascii=False)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _with_system(upload: Upload, systems: dict[int, dict[str, Any]]) -> Upload:
    system = upload["system"]
    kept = {name: value for name, value in upload.items() if name != "study"}
    return {
        **kept,
        "system": systems[system] if isinstance(system, int) else system,
    }


def _with_values(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {
        name: document[name] for name in names if document.get(name) not in (None, "")
    }
