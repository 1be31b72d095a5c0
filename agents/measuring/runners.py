"""Benchmark programs: their packages, and how each is run.

Exact arguments, nothing that a shell would change.

A step is one start of one program; its output is one upload. The fio steps are the
studies' Iometer pattern: block sizes x reading and writing x sequential and random.
"""

import functools
import os
import shutil
from typing import Callable, Dict, List, NamedTuple, Optional

from agents.errors import UsageError
from agents.kernels.building import (
    COMPILER_ADVICE,
    find_compiler,
    kernel_argv,
    prebuilt_program,
)
from agents.programs import output_of

FIO_BLOCKS = ("4k", "32k", "256k", "1m", "4m")
FIO_PATTERNS = ("read", "write", "randread", "randwrite")
# A tool that takes this much longer than it was asked to is stuck.
_GRACE_S = 60.0
_FIXED_WORK_S = 600.0
_SLOW_WORK_S = 3600.0
# How each is asked for its version; the others print it with their results.
_VERSIONS = {
    "fio": "--version",
    "hdparm": "-V",
    "httperf": "--version",
    "iozone": "-v",
    "iperf3": "--version",
    "netperf": "-V",
    "stress-ng": "--version",
    "sysbench": "--version",
}


# What runs on Windows, and where it comes from; of the others nobody builds them.
_ON_WINDOWS = {
    "ab": "comes with Apache for Windows (apachelounge.com), bin\\ab.exe",
    "fio": "choco install fio, or the installer at github.com/axboe/fio/releases",
    "iozone": "the installer for Windows at iozone.org",
    "iperf3": "winget install ar51an.iPerf3",
    "virtlab-linpack": COMPILER_ADVICE,
    "virtlab-memory": COMPILER_ADVICE,
    "virtlab-system": COMPILER_ADVICE,
}
_NOT_ON_WINDOWS = "no build for Windows known; ours: virtlab-linpack, -memory, -system"


class Program(NamedTuple):
    """A tool that Virtlab can read, its program, and its package in Debian."""

    tool: str
    program: str
    package: str

    @property
    def path(self) -> Optional[str]:
        return shutil.which(self.program)

    @property
    def advice(self) -> str:
        """Say how to install it on Debian or Ubuntu; or on Windows, where that is."""
        if os.name == "nt":
            return _ON_WINDOWS.get(self.tool, _NOT_ON_WINDOWS)
        if not self.package:
            return "build it from source"
        return "apt install " + self.package


class Kernel(Program):
    """One of our own, whose program is compiled where it runs."""

    __slots__ = ()

    @property
    def path(self) -> Optional[str]:
        """Return its compiler, or where its program came with."""
        kernel = self.tool.partition("-")[2]
        inside = "inside the agent" if prebuilt_program(kernel) else None
        return find_compiler() or inside


PROGRAMS = (
    Program("ab", "ab", "apache2-utils"),
    Program("bonnie", "bonnie++", "bonnie++"),
    Program("dbench", "dbench", "dbench"),
    Program("fio", "fio", "fio"),
    Program("hackbench", "hackbench", "rt-tests"),
    Program("hdparm", "hdparm", "hdparm"),
    Program("hpcc", "hpcc", "hpcc"),
    Program("httperf", "httperf", "httperf"),
    Program("iozone", "iozone", "iozone3 (non-free)"),
    Program("iperf", "iperf", "iperf"),
    Program("iperf3", "iperf3", "iperf3"),
    Program("mbw", "mbw", "mbw"),
    Program("netperf", "netperf", "netperf (non-free)"),
    Program("postmark", "postmark", "postmark"),
    Program("ramspeed", "ramsmp", ""),
    Program("stress-ng", "stress-ng", "stress-ng"),
    Program("sysbench", "sysbench", "sysbench"),
    Program("tiotest", "tiotest", ""),
    Kernel("virtlab-linpack", "cc", "gcc"),
    Kernel("virtlab-memory", "cc", "gcc"),
    Kernel("virtlab-system", "cc", "gcc"),
    Program("wrk", "wrk", "wrk"),
)


class Wishes(NamedTuple):
    """What a user can choose of all tools alike."""

    seconds: int = 10
    threads: int = 1
    folder: str = "."
    peer: str = ""
    device: str = ""
    file_mib: int = 256
    sizes: str = ""
    budget_s: int = 1200
    bits: int = 0
    blocks_kib: str = ""
    array_mib: int = 0
    iterations: int = 0
    time_server: str = ""
    # Where our kernels are in the guest that is measured; nowhere else but here.
    probe: str = ""


class Step(NamedTuple):
    """One program with its arguments, and when it is given up."""

    tool: str
    name: str
    argv: List[str]
    limit_s: float


def chosen_steps(words: str, wishes: Wishes) -> List[Step]:
    """Return the steps of ``sysbench`` or, some of them, of ``sysbench:cpu,memory``.

    Raises UsageError where a tool has no such program.
    """
    tool, colon, names = words.partition(":")
    steps = steps_of(tool, wishes)
    if not colon:
        return steps
    by_name = {step.name: step for step in steps}
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in by_name:
            raise UsageError(
                "%s has no program %r; it has: %s." % (tool, name, ", ".join(by_name))
            )
    return [by_name[name] for name in dict.fromkeys(wanted)]


def steps_of(tool: str, wishes: Wishes) -> List[Step]:
    """Return a tool's steps in order; raise UsageError if it cannot be run here."""
    runner = RUNNERS.get(tool)
    if runner is None:
        raise UsageError(
            "There is no runner for %s; there are: %s. Run it yourself and push "
            "what it printed." % (tool, ", ".join(sorted(RUNNERS)))
        )
    program = next(known for known in PROGRAMS if known.tool == tool)
    if program.path is None and not wishes.probe:
        raise UsageError("%s is not installed: %s" % (tool, program.advice))
    return runner(wishes)


def version_of(tool: str) -> str:
    """Return what a tool calls its version, if it can be asked."""
    path = shutil.which(tool) if tool in _VERSIONS else None
    if path is None:
        return ""
    # Asked once for a program: on an emulated processor that takes a third of a second.
    return _version(tool, path, os.stat(path).st_mtime)


@functools.lru_cache(maxsize=64)
def _version(tool: str, path: str, changed_at: float) -> str:
    printed = output_of([tool, _VERSIONS[tool]]) or ""
    return printed.partition("\n")[0].strip()


def _sysbench(wishes: Wishes) -> List[Step]:
    common = ["--threads=%d" % wishes.threads, "--time=%d" % wishes.seconds, "run"]
    return [
        _timed("sysbench", name, ["sysbench", name, *common], wishes)
        for name in ("cpu", "memory", "threads")
    ]


def _stress_ng(wishes: Wishes) -> List[Step]:
    def step(stressor: str) -> Step:
        workers = [stressor, str(wishes.threads)]
        rest = ["--timeout", "%ds" % wishes.seconds, "--metrics-brief"]
        argv = ["stress-ng", "--" + workers[0], workers[1], *rest]
        return _timed("stress-ng", stressor, argv, wishes)

    return [step(stressor) for stressor in ("cpu", "matrix")]


def _hackbench(wishes: Wishes) -> List[Step]:
    # It takes a number of messages and no time.
    argv = ["hackbench", "-g", str(max(1, wishes.threads)), "-l", "1000"]
    return [Step("hackbench", "process", argv, _FIXED_WORK_S)]


def _fio(wishes: Wishes) -> List[Step]:
    is_windows = os.name == "nt"
    # A colon would begin another folder.
    folder = wishes.folder.replace(":", "\\:") if is_windows else wishes.folder

    def step(pattern: str, block: str) -> Step:
        argv = [
            "fio",
            "--name=%s-%s" % (pattern, block),
            "--rw=" + pattern,
            "--bs=" + block,
            "--size=%dm" % wishes.file_mib,
            "--directory=" + folder,
            "--filename=virtlab-agent.fio",
            "--runtime=%d" % wishes.seconds,
            "--time_based",
            "--ioengine=" + ("windowsaio" if is_windows else "psync"),
            "--direct=1",  # the disk, not what the guest's memory keeps of it
            "--numjobs=%d" % wishes.threads,
            "--unlink=1",
            "--output-format=json",
        ]
        return _timed("fio", "%s %s" % (pattern, block), argv, wishes)

    return [step(pattern, block) for block in FIO_BLOCKS for pattern in FIO_PATTERNS]


def _iperf3(wishes: Wishes) -> List[Step]:
    if not wishes.peer:
        raise UsageError("iperf3 needs a server: --peer HOST (there: iperf3 -s)")
    common = ["iperf3", "-c", wishes.peer, "-t", str(wishes.seconds), "-J"]
    common += ["-P", str(wishes.threads)]
    return [
        _timed("iperf3", "to the peer", common, wishes),
        _timed("iperf3", "from the peer", [*common, "-R"], wishes),
    ]


def _netperf(wishes: Wishes) -> List[Step]:
    if not wishes.peer:
        raise UsageError("netperf needs a server: --peer HOST (there: netserver)")

    def step(test: str) -> Step:
        rest = ["-H", wishes.peer, "-t", test, "-l", str(wishes.seconds)]
        return _timed("netperf", test, ["netperf", *rest], wishes)

    return [step(test) for test in ("TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_STREAM")]


def _httperf(wishes: Wishes) -> List[Step]:
    if not wishes.peer:
        raise UsageError("httperf needs a web server: --peer HOST")
    # It takes no seconds either: so many connections at this rate last as long.
    connections = str(100 * wishes.seconds)
    argv = ["httperf", "--hog", "--server", wishes.peer, "--port", "80", "--uri", "/"]
    argv += ["--rate", "100", "--num-conns", connections, "--timeout", "5"]
    return [_timed("httperf", "100 a second", argv, wishes)]


def _hdparm(wishes: Wishes) -> List[Step]:
    if not wishes.device:
        raise UsageError("hdparm needs a disk: --device /dev/vda (and root)")
    return [Step("hdparm", "reads", ["hdparm", "-tT", wishes.device], _FIXED_WORK_S)]


def _iozone(wishes: Wishes) -> List[Step]:
    """Write, rewrite, read, reread and random, past the page cache (-I)."""
    file = wishes.folder + "/virtlab-agent.iozone"
    argv = ["iozone", "-a", "-I", "-s", "%dm" % wishes.file_mib, "-y", "4k", "-q", "4m"]
    argv += ["-i", "0", "-i", "1", "-i", "2", "-f", file]
    return [Step("iozone", "auto", argv, _SLOW_WORK_S)]


def _tiotest(wishes: Wishes) -> List[Step]:
    argv = ["tiotest", "-t", str(wishes.threads), "-f", str(wishes.file_mib)]
    return [Step("tiotest", "all", [*argv, "-d", wishes.folder], _SLOW_WORK_S)]


def _mbw(wishes: Wishes) -> List[Step]:
    return [Step("mbw", "128 MiB", ["mbw", "-n", "10", "128"], _FIXED_WORK_S)]


def _kernel_argv(kernel: str, options: List[str], wishes: Wishes) -> List[str]:
    start = [wishes.probe, kernel] if wishes.probe else None
    return kernel_argv(
        kernel, options, wishes.bits, wishes.time_server, start, wishes.iterations
    )


def _virtlab_linpack(wishes: Wishes) -> List[Step]:
    """The first solution of a size is begun whatever it takes: twice the budget."""
    options = ["--budget-s", str(wishes.budget_s)]
    if wishes.sizes:
        options += ["--sizes", wishes.sizes]
    argv = _kernel_argv("linpack", options, wishes)
    limit_s = 2 * wishes.budget_s + _FIXED_WORK_S
    return [Step("virtlab-linpack", "all sizes", argv, limit_s)]


def _virtlab_memory(wishes: Wishes) -> List[Step]:
    """Some 720 rows, each of a hundredth of the time that tools are given."""
    argv = _kernel_argv("memory", ["--seconds", "%g" % (wishes.seconds / 100)], wishes)
    if wishes.blocks_kib:
        argv += ["--blocks-kib", wishes.blocks_kib]
    if wishes.array_mib:
        argv += ["--array-mib", str(wishes.array_mib)]
    limit_s = 50 * wishes.seconds + _FIXED_WORK_S
    return [Step("virtlab-memory", "all", argv, limit_s)]


def _virtlab_system(wishes: Wishes) -> List[Step]:
    """Some 120 rows and as much to warm up, each of a twentieth of the time."""
    options = ["--seconds", "%g" % (wishes.seconds / 20), "--folder", wishes.folder]
    if wishes.peer:
        options += ["--peer", wishes.peer]
    if wishes.file_mib:
        options += ["--file-mib", str(wishes.file_mib)]
    argv = _kernel_argv("system", options, wishes)
    limit_s = 50 * wishes.seconds + _FIXED_WORK_S
    return [Step("virtlab-system", "all", argv, limit_s)]


def _timed(tool: str, name: str, argv: List[str], wishes: Wishes) -> Step:
    return Step(tool, name, argv, 3 * wishes.seconds + _GRACE_S)


RUNNERS: Dict[str, Callable[[Wishes], List[Step]]] = {
    "fio": _fio,
    "hackbench": _hackbench,
    "hdparm": _hdparm,
    "httperf": _httperf,
    "iozone": _iozone,
    "iperf3": _iperf3,
    "mbw": _mbw,
    "netperf": _netperf,
    "stress-ng": _stress_ng,
    "sysbench": _sysbench,
    "tiotest": _tiotest,
    "virtlab-linpack": _virtlab_linpack,
    "virtlab-memory": _virtlab_memory,
    "virtlab-system": _virtlab_system,
}
