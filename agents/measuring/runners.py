"""Benchmark programs: their packages, and how each is run.

A step is one start of a program, without a shell; its output is one upload. The fio
steps follow the Iometer pattern of the LMU studies: block sizes x reading and writing x
sequential and random.
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
from agents.processes import output_of

FIO_BLOCKS = ("4k", "32k", "256k", "1m", "4m")
FIO_PATTERNS = ("read", "write", "randread", "randwrite")
# A tool that exceeds its time by this much is stuck.
_GRACE_S = 60.0
_FIXED_WORK_S = 600.0
_SLOW_WORK_S = 3600.0
# Arguments for the version; the other tools print it with their results.
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


# Tools with a build for Windows, and how to install them.
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
    """A tool that Virtlab can parse, its program, and its Debian package."""

    tool: str
    program: str
    package: str

    @property
    def path(self) -> Optional[str]:
        """Where it is; for a kernel of ours its compiler, or that it is prebuilt."""
        kernel = self.tool.partition("virtlab-")[2]
        if not kernel:
            return shutil.which(self.program)
        inside = "inside the agent" if prebuilt_program(kernel) else None
        return find_compiler() or inside

    @property
    def advice(self) -> str:
        """How to install it on Debian or Ubuntu, or on Windows."""
        if os.name == "nt":
            return _ON_WINDOWS.get(self.tool, _NOT_ON_WINDOWS)
        if not self.package:
            return "build it from source"
        return "apt install " + self.package


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
    Program("virtlab-linpack", "cc", "gcc"),
    Program("virtlab-memory", "cc", "gcc"),
    Program("virtlab-system", "cc", "gcc"),
    Program("wrk", "wrk", "wrk"),
)


class Wishes(NamedTuple):
    """Options for all tools."""

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
    # Path of the probe in another machine that is measured from here.
    probe: str = ""


class Step(NamedTuple):
    """A program with its arguments and its time limit."""

    tool: str
    name: str
    argv: List[str]
    limit_s: float


def chosen_steps(words: str, wishes: Wishes) -> List[Step]:
    """Return the steps of ``sysbench``, or some of them: ``sysbench:cpu,memory``.

    Raises UsageError for an unknown program.
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
    """Return the steps of a tool; raise UsageError if it cannot run here."""
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
    """Return the version that a tool reports, or an empty text."""
    path = shutil.which(tool) if tool in _VERSIONS else None
    if path is None:
        return ""
    # Cached: on an emulated processor the call takes a third of a second.
    return _version(tool, path, os.stat(path).st_mtime)


@functools.lru_cache(maxsize=64)
def _version(tool: str, path: str, changed_at: float) -> str:
    printed = output_of([tool, _VERSIONS[tool]]) or ""
    return printed.partition("\n")[0].strip()


_FIO = (
    "fio --name=%s-%s --rw=%s --bs=%s --size={file_mib}m --directory={fio_folder} "
    "--filename=virtlab-agent.fio --runtime={seconds} --time_based "
    # direct: the disk, not the page cache.
    "--ioengine={fio_engine} --direct=1 --numjobs={threads} --unlink=1 "
    "--output-format=json"
)
_SYSBENCH = "sysbench %s --threads={threads} --time={seconds} run"
_STRESS_NG = "stress-ng --%s {threads} --timeout {seconds}s --metrics-brief"
_IPERF3 = "iperf3 -c {peer} -t {seconds} -J -P {threads}"
_NETPERF = "netperf -H {peer} -t %s -l {seconds}"
# hackbench and httperf take a number of messages or connections, not a time.
_HTTPERF = (
    "httperf --hog --server {peer} --port 80 --uri / --rate 100 "
    "--num-conns {connections} --timeout 5"
)
# Write, rewrite, read, reread and random, without the page cache (-I).
_IOZONE = (
    "iozone -a -I -s {file_mib}m -y 4k -q 4m -i 0 -i 1 -i 2 "
    "-f {folder}/virtlab-agent.iozone"
)
# Tool -> steps -> command line.
_COMMANDS = {
    "fio": {
        "%s %s" % (pattern, block): _FIO % (pattern, block, pattern, block)
        for block in FIO_BLOCKS
        for pattern in FIO_PATTERNS
    },
    "hackbench": {"process": "hackbench -g {groups} -l 1000"},
    "hdparm": {"reads": "hdparm -tT {device}"},
    "httperf": {"100 a second": _HTTPERF},
    "iozone": {"auto": _IOZONE},
    "iperf3": {"to the peer": _IPERF3, "from the peer": _IPERF3 + " -R"},
    "mbw": {"128 MiB": "mbw -n 10 128"},
    "netperf": {
        test: _NETPERF % test
        for test in ("TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_STREAM")
    },
    "stress-ng": {stressor: _STRESS_NG % stressor for stressor in ("cpu", "matrix")},
    "sysbench": {test: _SYSBENCH % test for test in ("cpu", "memory", "threads")},
    "tiotest": {"all": "tiotest -t {threads} -f {file_mib} -d {folder}"},
}
_LIMITS = {
    "hackbench": _FIXED_WORK_S,
    "hdparm": _FIXED_WORK_S,
    "iozone": _SLOW_WORK_S,
    "mbw": _FIXED_WORK_S,
    "tiotest": _SLOW_WORK_S,
}
_NEEDS = {
    "hdparm": ("device", "hdparm needs a disk: --device /dev/vda (and root)"),
    "httperf": ("peer", "httperf needs a web server: --peer HOST"),
    "iperf3": ("peer", "iperf3 needs a server: --peer HOST (there: iperf3 -s)"),
    "netperf": ("peer", "netperf needs a server: --peer HOST (there: netserver)"),
}


def _tool_steps(tool: str, wishes: Wishes) -> List[Step]:
    if tool in _NEEDS:
        option, sentence = _NEEDS[tool]
        if not getattr(wishes, option):
            raise UsageError(sentence)
    is_windows = os.name == "nt"
    values = dict(
        wishes._asdict(),
        groups=max(1, wishes.threads),
        connections=100 * wishes.seconds,
        # For fio a colon separates folders.
        fio_folder=wishes.folder.replace(":", "\\:") if is_windows else wishes.folder,
        fio_engine="windowsaio" if is_windows else "psync",
    )
    limit_s = _LIMITS.get(tool, 3 * wishes.seconds + _GRACE_S)
    return [
        Step(tool, name, [word.format(**values) for word in line.split()], limit_s)
        for name, line in _COMMANDS[tool].items()
    ]


def _kernel_argv(kernel: str, options: List[str], wishes: Wishes) -> List[str]:
    start = [wishes.probe, kernel] if wishes.probe else None
    return kernel_argv(
        kernel, options, wishes.bits, wishes.time_server, start, wishes.iterations
    )


def _virtlab_linpack(wishes: Wishes) -> List[Step]:
    """Allow twice the budget: the first solution of a size always begins."""
    options = ["--budget-s", str(wishes.budget_s)]
    if wishes.sizes:
        options += ["--sizes", wishes.sizes]
    argv = _kernel_argv("linpack", options, wishes)
    limit_s = 2 * wishes.budget_s + _FIXED_WORK_S
    return [Step("virtlab-linpack", "all sizes", argv, limit_s)]


def _virtlab_memory(wishes: Wishes) -> List[Step]:
    """About 720 rows, each of a hundredth of the time."""
    argv = _kernel_argv("memory", ["--seconds", "%g" % (wishes.seconds / 100)], wishes)
    if wishes.blocks_kib:
        argv += ["--blocks-kib", wishes.blocks_kib]
    if wishes.array_mib:
        argv += ["--array-mib", str(wishes.array_mib)]
    limit_s = 50 * wishes.seconds + _FIXED_WORK_S
    return [Step("virtlab-memory", "all", argv, limit_s)]


def _virtlab_system(wishes: Wishes) -> List[Step]:
    """About 120 rows and as many to warm up, each of a twentieth of the time."""
    options = ["--seconds", "%g" % (wishes.seconds / 20), "--folder", wishes.folder]
    if wishes.peer:
        options += ["--peer", wishes.peer]
    if wishes.file_mib:
        options += ["--file-mib", str(wishes.file_mib)]
    argv = _kernel_argv("system", options, wishes)
    limit_s = 50 * wishes.seconds + _FIXED_WORK_S
    return [Step("virtlab-system", "all", argv, limit_s)]


RUNNERS: Dict[str, Callable[[Wishes], List[Step]]] = {
    **{tool: functools.partial(_tool_steps, tool) for tool in _COMMANDS},
    "virtlab-linpack": _virtlab_linpack,
    "virtlab-memory": _virtlab_memory,
    "virtlab-system": _virtlab_system,
}
