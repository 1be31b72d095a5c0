"""Virtual machines seen from their host: console times, memory and waiting time."""

import os
import re
import select
import shlex
import signal
import subprocess
import time
from typing import Dict, List, NamedTuple, Optional

from agents.files import list_names, read_text_file
from agents.measuring.timed_run import DIE_WITH_PARENT
from agents.processes import plain_environment

STAGES = ("output", "kernel", "init", "ready")
_OUTPUT = re.compile("(?s).")
_KERNEL = re.compile(r"Linux version |Booting Linux |Command line: ")
_INIT = re.compile(
    r"Run /\S+ as init process|systemd\[1\]|INIT: version|Welcome to |init started"
)
# Lines that a guest prints after each answered ping and write, and those of `ping`.
EVENTS = {"ping": re.compile(r"ping\b|\d+ bytes from"), "write": re.compile(r"write\b")}
_MAX_TEXT = 4 * 1024 * 1024
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ", re.MULTILINE)
_PSS = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)
_STOP_S = 10.0


class VirtualMachine:
    """A started machine; ``times_s`` has the time until its console showed a stage."""

    def __init__(self, argv: List[str], until: str) -> None:
        self.text = ""
        self.line_times_s: List[float] = []
        self.events_s: Dict[str, List[float]] = {name: [] for name in EVENTS}
        self._line = ""
        patterns = (_OUTPUT, _KERNEL, _INIT, re.compile(until))
        self._patterns = dict(zip(STAGES, patterns))
        self.times_s: Dict[str, float] = {}
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            start_new_session=True,
            preexec_fn=DIE_WITH_PARENT,
        )

    @property
    def is_ready(self) -> bool:
        return "ready" in self.times_s

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def fileno(self) -> int:
        assert self.process.stdout
        return self.process.stdout.fileno()

    def read(self) -> bool:
        """Read what the console shows now; return False at its end."""
        data = os.read(self.fileno(), 65536)
        now_s = time.monotonic() - self.started_s
        text = data.decode("utf-8", "replace")
        self.text = (self.text + text)[-_MAX_TEXT:]
        *lines, self._line = (self._line + text).split("\n")
        self.line_times_s += [now_s] * len(lines)
        for name, pattern in EVENTS.items():
            shown = sum(1 for line in lines if pattern.match(line))
            self.events_s[name] += [now_s] * shown
        for stage, pattern in self._patterns.items():
            if stage not in self.times_s and pattern.search(self.text):
                self.times_s[stage] = now_s
        return bool(data)

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(_STOP_S)
                break
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                pass
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def last_lines(self, number: int = 5) -> str:
        return "\n  ".join(self.text.strip().splitlines()[-number:])


def command_of_machine(words: List[str], number: int) -> List[str]:
    return [word.replace("{n}", str(number)) for word in words]


def watch_consoles(
    machines: List[VirtualMachine], seconds: float, until_ready: bool
) -> None:
    """Read consoles for a time or until all machines are ready or have ended."""
    ends_s, running = time.monotonic() + seconds, list(machines)
    while running and time.monotonic() < ends_s:
        if until_ready and all(machine.is_ready for machine in running):
            return
        shown, _, _ = select.select(running, [], [], 0.2)
        for machine in shown:
            if not machine.read():
                running.remove(machine)


class Memory(NamedTuple):
    """The proportional set size of a monitor, and without its largest mapping.

    The largest mapping is the guest's memory.
    """

    all_kib: int
    monitor_kib: int


def monitor_processes(machine: VirtualMachine, text: str) -> List[int]:
    """Return the processes of the machine's session or, if given, with a text."""
    found = []
    for name in filter(str.isdigit, list_names("/proc")):
        if text:
            words = read_text_file("/proc/%s/cmdline" % name) or ""
            is_found = text in words.replace("\0", " ") and int(name) != os.getpid()
        else:
            stat = (read_text_file("/proc/%s/stat" % name) or "").rpartition(")")[2]
            is_found = stat.split()[3:4] == [str(machine.process.pid)]
        if is_found:
            found.append(int(name))
    return found


def monitor_memory(processes: List[int], root: str = "/proc") -> Optional[Memory]:
    total = monitor = 0
    for pid in processes:
        text = read_text_file("%s/%d/smaps" % (root, pid), _MAX_TEXT * 4)
        sizes = [int(size) for size in _PSS.findall(text or "")]
        total += sum(sizes)
        monitor += sum(sizes) - max(sizes, default=0)
    return Memory(total, monitor) if total else None


class CpuTime(NamedTuple):
    """Nanoseconds in which threads ran, and in which they waited for a processor."""

    ran_ns: int
    waited_ns: int


def cpu_time(processes: List[int], root: str = "/proc") -> CpuTime:
    ran = waited = 0
    for pid in processes:
        for thread in list_names("%s/%d/task" % (root, pid)):
            path = "%s/%d/task/%s/schedstat" % (root, pid, thread)
            words = (read_text_file(path) or "").split()
            if len(words) == 3:
                ran, waited = ran + int(words[0]), waited + int(words[1])
    return CpuTime(ran, waited)


def wait_share(before: CpuTime, after: CpuTime) -> Optional[float]:
    """Return the share of the wanted processor time that was not given (steal)."""
    ran, waited = after.ran_ns - before.ran_ns, after.waited_ns - before.waited_ns
    return waited / (ran + waited) if ran + waited > 0 else None


def accelerator(words: List[str]) -> str:
    """Return "software emulation" for QEMU without an accelerator, otherwise ""."""
    text = " ".join(words)
    is_qemu = any("qemu-system" in os.path.basename(word) for word in words[:3])
    is_fast = re.search(r"kvm|xen|hvf|whpx|nvmm", text)
    return "software emulation" if is_qemu and not is_fast else ""


def quoted(words: List[str]) -> str:
    return " ".join(map(shlex.quote, words))
