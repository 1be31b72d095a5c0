"""The Virtlab that a lab posts to, given or its own, and the proxy in front of it.

The lab's study and machine are written to it before anything runs. Guests post through
the proxy on this machine (`Desk`), which records each upload.
"""

import gzip
import json
import lzma
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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from agents.client import Client, RefusedError
from lab import LabError
from lab.images import ROOT, agents_files, codename, write_job
from lab.machines import bare
from lab.processes import Program

READY_S: Final = 900
LAST_WORDS: Final = 20  # the end of a log that Virtlab repeats, and more
# What is of the moment, or of the program that asked, is no fact of the machine.
NOT_OF_THE_MACHINE: Final = ("platform", "evidence", "agent", "steal")

TITLE: Final = "Native, container, QEMU, KVM and Xen on one machine, emulated"
NOTE: Final = (
    "Real guests of an ordinary machine without special hardware, by make lab "
    "(docs/lab.md). Every guest runs on QEMU's software emulation of a processor, "
    "KVM's and Xen's on an emulated one that has AMD-V, so that their figures show "
    "that the chain works, not which hypervisor is faster. Native and container "
    "share this machine's kernel, and all share one user space (Debian {codename}) and "
    "the same static programs. {order} {beneath}"
)
ORDER: Final = (
    "In each of {sessions} sessions the guests were booted anew, systems and programs "
    "in orders drawn by chance (seed {seed}); the machine was not booted in between."
)
# Of a network that is kept for measuring (RFC 2544): nobody's machines are in it.
OURS: Final = "198.18.0.1"
PEERS: Final = "198.18.0.2"
PORT: Final = 5099
WITHIN_S: Final = 20.0
_INSIDE: Final = "in a network of its own"

TIMEOUT_S: Final = 120
# Without Host: the server answers to its own names only.
PASSED: Final = ("Authorization", "Content-Type", "Content-Encoding", "Accept")
ANSWERED: Final = ("Content-Type", "Retry-After")
UPLOADS: Final = ("/api/v1/runs/", "/api/v1/runs/bulk/")

STUDY_FIELDS: Final = ("slug", "title", "published", "note", "visibility")
HOST_FIELDS: Final = ("slug", "title", "facts")
SYSTEM_FIELDS: Final = (
    *("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes", "options"),
)

Upload = dict[str, Any]


@dataclass(frozen=True)
class Server:
    """Where to post to, with a token that may upload and one that may read."""

    url: str
    token: str
    read_token: str


@contextmanager
def server_of(environment: Mapping[str, str], folder: Path) -> Iterator[Server]:
    """Give the server that SERVER, TOKEN and READ_TOKEN name, or start our own."""
    if url := environment.get("SERVER"):
        token = environment.get("TOKEN", "")
        if not token:
            raise LabError("SERVER is set, but TOKEN is not: a token that may upload.")
        yield Server(url.rstrip("/"), token, environment.get("READ_TOKEN", token))
        return
    port, var = free_port(), folder / "product"
    program = Program(
        [sys.executable, "-m", "running.supervisor"],
        folder / "product.log",
        # Without the published studies: the recorded lab among them is of a machine
        # that may be called as this one.
        {**environment, "PORT": str(port), "VAR": str(var), "REFERENCE": "off"},
    )
    try:
        _await_ready(program, var)
        token, read_token = (
            (var / name).read_text().strip() for name in ("upload-token", "read-token")
        )
        yield Server(f"http://127.0.0.1:{port}", token, read_token)
    finally:
        program.stop()


def _await_ready(program: Program, var: Path) -> None:
    program.deadline_s = program.begun_s + READY_S
    try:
        for line in program.follow():
            if line.text.startswith("ready: "):
                return
        what = f"ended with exit code {program.exit_code} before it was ready."
    except TimeoutError:
        what = f"was not ready within {READY_S} s."
    advice = (
        f"If {var} was made by another version of Virtlab, remove it (with the results "
        "of earlier labs), or take another folder: LAB=/path/to/folder make lab"
    )
    lines = [f"The lab's own Virtlab {what}", *program.last_words(LAST_WORDS), advice]
    raise LabError("\n".join(lines))


def free_port() -> int:
    """Return a port of this machine that nobody has."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def lab_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where images, logs and our own server's data lie: $LAB, or var/lab."""
    return (ROOT / (environment.get("LAB") or "var/lab")).absolute()


def machine_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return this machine's name on the server: $MACHINE, or its own."""
    own = re.sub(r"[^a-z0-9]+", "-", platform.node().lower()).strip("-")
    return environment.get("MACHINE") or f"lab-{own or 'machine'}"[:50].rstrip("-")


def facts_of_machine(agent: Path, root: Path, folder: Path) -> dict[str, Any]:
    """Return what the agent finds out about this machine in the guests' own root."""
    start = "cd /mnt && exec python3 virtlab-agent.pyz detect --json\n"
    job = write_job(folder / "jobs" / "detect", start, agents_files(agent), {})
    done = subprocess.run(
        bare(str(root), str(job)), capture_output=True, text=True, timeout=60
    )
    if done.returncode != 0:
        raise LabError(f"The agent cannot look at this machine: {done.stderr.strip()}")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def create_study(
    server: Server, facts: dict[str, Any], slug: str, machine: str, order: str
) -> tuple[str, ...]:
    """Write study and machine to the server; return what this machine stands on."""
    layers = tuple(facts["platform"]["layers"])
    client = Client(server.url, server.token, patience_s=30)
    reader = Client(server.url, server.read_token, patience_s=30)
    if any(study["slug"] == slug for study in reader.get_all("studies/")):
        raise LabError(
            f"There is a study {slug} already, and every pass is one of its own: "
            "name another one (STUDY=...)."
        )
    beneath = "The machine itself is bare metal."
    if layers:
        beneath = f"The machine itself is a guest ({' > '.join(layers)}): "
        beneath += "native is without another layer."
    client.create_study(
        {
            "slug": slug,
            "title": TITLE,
            "published": time.strftime("%Y-%m-%d"),
            "note": NOTE.format(codename=codename(), order=order, beneath=beneath),
            "visibility": "public",
        }
    )
    kept = {name: facts[name] for name in facts if name not in NOT_OF_THE_MACHINE}
    # Register the machine; what it stated at an earlier time stays.
    host = {"slug": machine, "title": "Lab machine", "facts": kept}
    try:
        client.register_host(host)
    except RefusedError as refused:
        if refused.code != "host_exists":
            raise
    return layers


def versions_here() -> dict[str, str]:
    """Return the versions of what this machine lends its guests, by layer."""
    versions = {}
    # "QEMU emulator version 7.2.9 ...", "systemd 252 ...": which word is the version.
    for layer, argv, place in (
        ("qemu-tcg", ("qemu-system-x86_64", "--version"), 3),
        ("systemd-nspawn", ("systemd-nspawn", "--version"), 1),
    ):
        if shutil.which(argv[0]):
            words = subprocess.run(argv, capture_output=True, text=True).stdout.split()
            versions[layer] = words[place]
    return versions


@contextmanager
def network_peer(kernel: Path, logs: Path) -> Iterator[str]:
    """Give the address of the peer; raise LabError where it cannot be reached."""
    name = f"vlab{os.getpid()}"[:15]
    steps = [
        f"echo {_INSIDE}",
        f"until ip addr add {PEERS}/30 dev peer 2> /dev/null; do sleep 0.05; done",
        "ip link set lo up",
        "ip link set peer up",
        f"exec {shlex.quote(str(kernel))} serve {PEERS}:{PORT}",
    ]
    argv = ["unshare", "--net", "sh", "-c", "; ".join(steps)]
    program = Program(argv, logs / "peer.log")
    try:
        # Earlier, the wire's other end would stay in this machine's own network.
        program.await_line(_INSIDE, WITHIN_S)
        for words in (
            f"link add {name} type veth peer name peer netns {program.pid}",
            f"addr add {OURS}/30 dev {name}",
            f"link set {name} up",
        ):
            argv = ["ip", *words.split()]
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode != 0:
                raise LabError(f"ip {words}: {done.stderr.strip()}")
        program.await_line(f"serving at {PEERS}:{PORT}", WITHIN_S)
        check_answers(PEERS, PORT)
        yield f"{PEERS}:{PORT}"
    finally:
        program.stop()
        # It goes with the other end's network, but not at once.
        subprocess.run(["ip", "link", "delete", name], capture_output=True)


def check_answers(host: str, port: int, within_s: float = WITHIN_S) -> None:
    """Raise LabError if nobody answers: each row of the network would wait in vain."""
    try:
        socket.create_connection((host, port), within_s).close()
    except OSError as error:
        raise LabError(
            f"The network's peer at {host}:{port} cannot be reached ({error}). "
            "A wire that a lab which was killed has left may be in the way: `ip link` "
            "names it vlab..., and `ip link delete NAME` takes it away."
        ) from None


class Desk:
    """A server on this machine in front of another one."""

    def __init__(self, server: str) -> None:
        self.server = server.rstrip("/")
        self.uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def take(self, path: str, body: bytes, encoding: str) -> None:
        """Store uploaded runs by their keys."""
        if path not in UPLOADS:
            return
        text = gzip.decompress(body) if encoding == "gzip" else body
        with self._lock:
            for line in text.splitlines() if path.endswith("bulk/") else [text]:
                document = json.loads(line)
                self.uploads[document["key"]] = document

    def passed_on(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request to the server and return its answer."""
        request = urllib.request.Request(self.server + path, body, headers)
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                answered = answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                answered = error.code, dict(error.headers), error.read()
        # Refused uploads are not part of the record.
        if body is not None and answered[0] < 300:
            self.take(path, body, headers.get("Content-Encoding", ""))
        return answered

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Serve on a free port of this machine; yield the port."""
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield int(server.server_address[1])
            finally:
                server.shutdown()
                thread.join()


def _handler(desk: Desk) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = self.headers.get("Content-Length")
            body = self.rfile.read(int(length)) if length else None
            headers = {
                name: self.headers[name] for name in PASSED if self.headers[name]
            }
            try:
                status, answered, content = desk.passed_on(
                    self.command, self.path, body, headers
                )
            except OSError:  # the agent's own patience decides
                status, answered, content = 502, {}, b"{}"
            self.send_response(status)
            for name in ANSWERED:
                if name in answered:
                    self.send_header(name, answered[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the console belongs to the guests."""

    return Handler


def write_record(
    path: Path, client: Client, study: str, uploads: Iterable[Upload]
) -> None:
    """Write study, machine and uploads as sent, for any installation to load."""
    name = path.name.partition(".")[0]
    systems = {
        system["id"]: _kept(system, SYSTEM_FIELDS)
        for system in client.get_all("systems/", study=study)
    }
    runs = [{**_named(upload, systems), "study": name} for upload in uploads]
    runs.sort(key=lambda run: (run["started_at"], run["key"]))
    hosts = {run["system"]["host"] for run in runs}
    content = {
        "study": {
            **_kept(client.get(f"studies/{study}/"), STUDY_FIELDS),
            "slug": name,
        },
        "hosts": [
            _kept(host, HOST_FIELDS)
            for host in client.get_all("hosts/")
            if host["slug"] in hosts
        ],
        "runs": runs,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _named(upload: Upload, systems: dict[int, dict[str, Any]]) -> Upload:
    named = upload["system"]
    return {**upload, "system": systems[named] if isinstance(named, int) else named}


def _kept(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named fields that have a value: empty ones are not sent again."""
    return {
        name: document[name] for name in names if document.get(name) not in (None, "")
    }
