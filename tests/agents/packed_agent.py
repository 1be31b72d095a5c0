"""The packed agent with a server that stores runs, a tool and a power meter."""

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents import build
from running.product_launcher import free_port
from tests.agents.test_signatures import KEY, SIGNATURE

SYSTEM = ("--host", "alpha", "--hypervisor", "KVM")
# A console of a machine that is ready at once.
CONSOLE = ("sh", "-c", "echo login:; sleep 20")
TOKEN = "vl_abcdef_secret"
# The port of `discard`, which is closed.
AWAY = "http://127.0.0.1:9"
# The archive as its own `__main__` runs it, followed by its peak memory. The value for
# children (ru_maxrss) may be that of the parent.
PROGRAM = """
import os, sys
sys.argv = sys.argv[1:]
try:
    if sys.argv:
        sys.path.insert(0, sys.argv[0])
        from agents.__main__ import main
        sys.exit(main())
finally:
    held = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    used = os.times()
    sys.stderr.write("%s CPU: %.6f s\\n" % (held[0].strip(), used.user + used.system))
"""
# Above a bare interpreter, whose memory grows with each Python version.
LIMIT_BYTES = 18_000_000
LIMIT_UJ = 262_143_328_850
ZONES = {
    "intel-rapl:0": "package-0",
    "intel-rapl:0:0": "core",
    "intel-rapl:0:1": "dram",
    "intel-rapl:1": "psys",
    "intel-rapl-mmio:0": "package-0",
}
PART = {
    "id": 7,
    "attempt": 1,
    "step": 3,
    "position": 0,
    "start_order": 4,
    "repetition": 2,
    "repetitions": 5,
    "is_warm_up": False,
    "role": "measured",
    "tool": "hackbench",
    "program": "process",
    "options": {"threads": 2},
    "scenario": "parallel",
    "vms": 2,
    "slot": "2",
    "load": "",
    "corun": "plan 1, step 1",
    "session": "plan 1",
    "system": 17,
}
HACKBENCH = """\
Running in process mode with 4 groups using 40 file descriptors each (== 160 tasks)
Each sender will pass 200 messages of 100 bytes
Time: 0.721
"""
LSCPU = """\
Architecture:        x86_64
CPU(s):              4
Model name:          AMD Athlon(tm) II X4 640 Processor
"""


@dataclass(frozen=True)
class Cost:
    """A command's exit code, peak memory, and processor time."""

    exit_code: int
    resident_bytes: int
    cpu_s: float
    printed: str


class KeepingServer(ThreadingHTTPServer):
    """Stores each key once; ``faults`` are used up first, one per request.

    A fault is a status, a (status, headers, answer), or an action after storing: "lose"
    sends no response, "page" sends a web page without storing, "hang up" does neither.
    Each response is delayed by ``slow_s``.
    """

    # Connections stay open, each in a thread, and must not delay the end of a test.
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), KeepingHandler)
        self.connections, self.slow_s = 0, 0.0
        self.lock = threading.Lock()
        self.stored: dict[str, Any] = {}
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.faults: list[Any] = []
        self.refused_keys: dict[str, tuple[int, Any]] = {}
        self.shows_runs = False
        self.studies: dict[str, Any] = {"study": {"slug": "study", "archived_at": None}}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def is_unreadable(self, key: str) -> bool:
        """Return whether no tool printed the uploaded text: it is a letter."""
        return str(self.stored.get(key, {}).get("output", "")).startswith("Dear ")

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that were killed."""


class KeepingHandler(BaseHTTPRequestHandler):
    server: KeepingServer
    protocol_version = "HTTP/1.1"
    # Sent separately, head and body would wait for each other.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        if "/runs/?key=" in self.path:
            run = {
                "status": "rejected",
                "reason": "No tool that is known printed this.",
            }
            key = self.path.partition("key=")[2]
            is_seen = self.server.shows_runs and self.server.is_unreadable(key)
            return self.reply(200, {"results": [run] if is_seen else [], "next": None})
        if "/study-file/" in self.path:
            self.server.requests.append((self.path, dict(self.headers), b""))
            return self.reply(200, {"format": "virtlab-study"})
        return self.reply(200, {"status": "ok", "version": "1.0", "database": True})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        packed = self.headers.get("Content-Encoding") == "gzip"
        body = gzip.decompress(raw) if packed else raw
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            return self.reply(401, problem("wrong_token", "Unknown token."))
        time.sleep(self.server.slow_s)
        with self.server.lock:
            if self.server.faults[:1] == ["hang up"]:
                self.close_connection = bool(self.server.faults.pop(0))
                return None
            if self.path.endswith("/bulk/"):
                return self.fail_or_store_all(body)
            return self.fail_or_store(json.loads(body))

    def do_PATCH(self) -> None:
        """Return an existing study, whatever was to be changed."""
        self.rfile.read(int(self.headers["Content-Length"]))
        slug = self.path.rstrip("/").rpartition("/")[2]
        if slug not in self.server.studies:
            return self.reply(404, problem("not_found", f"There is no study {slug}."))
        return self.reply(200, self.server.studies[slug])

    def fail_or_store(self, document: Any) -> None:
        fault = self.server.faults.pop(0) if self.server.faults else None
        if isinstance(fault, int):
            return self.reply(fault, problem("told", f"Told {fault}."))
        if isinstance(fault, tuple):
            return self.reply(fault[0], fault[2], fault[1])
        if fault == "page":
            return self.reply(200, {})
        if "key" not in document:
            return self.reply(400, problem("invalid", "Send a key."))
        status, answer = self.store(document)
        if fault == "lose":
            self.close_connection = True
            return None
        return self.reply(status, answer)

    def fail_or_store_all(self, body: bytes) -> None:
        """Store all lines or none, as Virtlab does."""
        documents = [json.loads(line) for line in body.split(b"\n")]
        fault = self.server.faults.pop(0) if self.server.faults else None
        if isinstance(fault, int):
            return self.reply(fault, problem("told", f"Told {fault}."))
        if isinstance(fault, tuple):
            return self.reply(fault[0], fault[2], fault[1])
        if fault == "page":
            return self.reply(200, {})
        stored = dict(self.server.stored)
        answers = [self.store(document) for document in documents]
        if any(status >= 400 for status, _ in answers):
            self.server.stored.clear()
            self.server.stored.update(stored)
            return self.reply(400, problem("lines_rejected", "A line is refused."))
        if fault == "lose":
            self.close_connection = True
            return None
        runs = [answer for _, answer in answers]
        return self.reply(202, {"accepted": len(runs), "repeated": 0, "runs": runs})

    def store(self, document: Any) -> tuple[int, Any]:
        key = document["key"]
        if key in self.server.refused_keys:
            return self.server.refused_keys[key]
        stored = key in self.server.stored
        # As in Virtlab, a key belongs to one run forever.
        if stored and self.server.stored[key] != document:
            return 409, problem("key_reused", "Used for another run.")
        self.server.stored[key] = document
        if not stored:
            return 202, {"id": 1, "key": key, "status": "received"}
        state = "rejected" if self.server.is_unreadable(key) else "parsed"
        return 200, {"id": 1, "key": key, "status": state, "url": "/runs/1/"}

    def reply(
        self, status: int, answer: Any, headers: dict[str, str] | None = None
    ) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def problem(code: str, detail: str) -> dict[str, Any]:
    """Return an error in Virtlab's format."""
    return {"code": code, "detail": detail, "fields": {}}


class Powercap:
    """A folder like /sys/class/powercap whose counters can be set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "intel-rapl").mkdir(parents=True)
        (folder / "intel-rapl" / "enabled").write_text("1\n")
        for zone, name in ZONES.items():
            (folder / zone).mkdir()
            (folder / zone / "name").write_text(f"{name}\n")
            (folder / zone / "max_energy_range_uj").write_text(f"{LIMIT_UJ}\n")
            self.set(zone, 0)

    def set(self, zone: str, count_uj: int) -> None:
        (self.folder / zone / "energy_uj").write_text(f"{count_uj}\n")


class PlanningHandler(KeepingHandler):
    """Serves a plan with one part, accepts studies and hosts, and stores uploads."""

    server: "PlanningServer"

    def fail_or_store(self, document: Any) -> None:
        answers: dict[str, dict[str, Any]] = {
            "slots": {"id": 5, "number": 1, "name": "a", "system": "KVM"}
            | {"study": "study", "system_id": 17, "tools": []},
            "next": {"action": "finished", "message": "Done.", "wait_s": 0},
            "arrive": {"action": "start", "message": "", "starts_at_us": None},
            "finish": {"action": "keep", "message": "", "wait_s": 0},
            "machine": {"facts": {"cpu model": "Athlon"}, "warnings": []},
            "hosts": {"id": 3, "slug": "alpha"},
            "studies": {"lab": "lab", "visibility": "private", **document},
        }
        question = self.path.rstrip("/").rpartition("/")[2]
        if question not in answers:
            return super().fail_or_store(document)
        if question == "next" and self.server.parts:
            return self.reply(200, {"action": "run", "part": self.server.parts.pop()})
        return self.reply(200, answers[question])


class PlanningServer(KeepingServer):
    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = PlanningHandler
        self.parts = [{**PART, "vms": 1}]


class Stage:
    """A folder with the packed agent and a tool, a server, and a simulated meter."""

    def __init__(self, folder: Path, server: KeepingServer) -> None:
        self.folder, self.server, self.home = folder, server, folder / "home"
        self.agent = folder / build.NAME
        self.agent.write_bytes(build.build_archive())
        tool = folder / "bin" / "hackbench"
        tool.parent.mkdir()
        self.printed = folder / "hackbench.txt"
        self.printed.write_text(HACKBENCH)
        tool.write_text(f"#!/bin/sh\ncat {self.printed}\n")
        tool.chmod(0o755)
        self.described = folder / "lscpu.txt"
        self.described.write_text(LSCPU)
        self.powercap = Powercap(folder / "powercap")

    def environment(self, server: str = "") -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "VIRTLAB_AGENT": str(self.home),
            "VIRTLAB_HOST_LOCK": str(self.folder / "host.lock"),
            "VIRTLAB_SERVER": server or self.server.url,
            "VIRTLAB_TOKEN": TOKEN,
        }

    def begin(self, *words: str, server: str = "") -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM, str(self.agent), *words],
            cwd=self.folder,
            env=self.environment(server),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def cost(self, *words: str, server: str = "", until: Any = None) -> Cost:
        """Run a command to its end, or send SIGTERM once a condition is true."""
        program = self.begin(*words, server=server)
        if until:
            await_true(until)
            program.send_signal(signal.SIGTERM)
        return cost_of(program)

    def own_cost(self, command: str) -> Cost:
        """Let a command do its work once."""
        words, before = self._words(command), len(self.server.stored)
        until = {
            "watch": lambda: len(self.server.stored) > before,
            "timeserver": lambda: answers(int(words[1])),
        }
        if command == "watch":
            self.cost("push", str(self.printed), "--later", "--study", "study", *SYSTEM)
        return self.cost(command, *words, until=until.get(command))

    def _signed_file(self) -> str:
        (self.folder / "signed.minisig").write_text(SIGNATURE)
        (self.folder / "signed").write_text("hello\n")
        return str(self.folder / "signed")

    def _words(self, command: str) -> tuple[str, ...]:
        study = ("--study", "study", *SYSTEM)
        meter = ("rapl", str(self.powercap.folder), "--host", "alpha")
        responses = {
            "enroll": ("--server", self.server.url, "--token", TOKEN),
            "run": ("hackbench", "--repetitions", "2", *study),
            "plan": ("7", "--system", "17", "--as", "a"),
            "push": (str(self.printed), *study),
            "power": (*meter, "--every", "0.05", "--seconds", "1"),
            "timeserver": ("--port", str(free_port()), "--bind", "127.0.0.1"),
            "spool": ("list",),
            "study": ("new", "study", "--title", "KVM against native"),
            "host": ("alpha", str(self.described)),
            "bundle": ("write", str(self.folder / "bundles")),
            "verify": (self._signed_file(), "--key", KEY.split()[-1]),
            "vm": ("boot", "--until", "login:", "--watch-s", "0", "--", *CONSOLE),
        }
        return responses.get(command, ())


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Set everything up, and remove it afterwards."""
    server = PlanningServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield Stage(folder, server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cost_of(program: "subprocess.Popen[str]") -> Cost:
    printed = program.communicate(timeout=60)[1]
    costs = re.search(r"VmHWM:\s*(\d+) kB CPU: ([\d.]+) s\n", printed)
    assert costs, printed
    return Cost(program.returncode, int(costs[1]) * 1024, float(costs[2]), printed)


def bare_bytes() -> int:
    """Return the memory of an idle Python, measured like that of a command."""
    program = subprocess.Popen(
        [sys.executable, "-I", "-c", PROGRAM], stderr=subprocess.PIPE, text=True
    )
    return cost_of(program).resident_bytes


def await_true(claim: Callable[[], Any], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not claim():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def answers(port: int) -> bool:
    """Return whether a time server on this port answers the studies' client."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            client.sendall(b"start\n")
            return client.recv(100) == b"start"
    except OSError:
        return False
