"""Benchmark programs, the packages that contain them, and their command lines.

The fio steps follow the Iometer pattern of the LMU studies: block sizes x read/write x
sequential/random.
"""

import functools
import os
import shutil
from typing import Callable, Dict, List, NamedTuple, Optional

from agents.errors import UsageError
from agents.kernels.compilation import (
    COMPILER_HINT,
    find_compiler,
    kernel_argv,
    prebuilt_program,
)
from agents.processes import program_output

FIO_BLOCKS = ("4k", "32k", "256k", "1m", "4m")
FIO_PATTERNS = ("read", "write", "randread", "randwrite")
# A tool that runs this much longer than expected is stuck.
_GRACE_S = 60.0
_FIXED_WORK_S = 600.0
_SLOW_WORK_S = 3600.0
# The other tools print their version with their results.
_VERSION_ARGUMENTS = {
    "fio": "--version",
    "hdparm": "-V",
    "httperf": "--version",
    "iozone": "-v",
    "iperf3": "--version",
    "netperf": "-V",
    "stress-ng": "--version",
    "sysbench": "--version",
}


# Tools for Windows, and how to install them.
_ON_WINDOWS = {
    "ab": "comes with Apache for Windows (apachelounge.com), bin\\ab.exe",
    "fio": "choco install fio, or the installer at github.com/axboe/fio/releases",
    "iozone": "the installer for Windows at iozone.org",
    "iperf3": "winget install ar51an.iPerf3",
    "virtlab-linpack": COMPILER_HINT,
    "virtlab-memory": COMPILER_HINT,
    "virtlab-system": COMPILER_HINT,
}
_NOT_ON_WINDOWS = (
    "no build for Windows is known; use virtlab-linpack, -memory or -system"
)


class Program(NamedTuple):
    tool: str
    program: str
    package: str

    @property
    def path(self) -> Optional[str]:
        """The path of the program; None if missing.

        For kernels, the compiler or "inside the agent".
        """
        kernel = self.tool.partition("virtlab-")[2]
        if not kernel:
            return shutil.which(self.program)
        prebuilt = "inside the agent" if prebuilt_program(kernel) else None
        return find_compiler() or prebuilt

    @property
    def advice(self) -> str:
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


class ToolOptions(NamedTuple):
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
    # Path of the probe if steps run on another machine.
    probe: str = ""


class Step(NamedTuple):
    """A program of a tool with its command line; it is killed after ``limit_s``."""

    tool: str
    name: str
    argv: List[str]
    limit_s: float


def select_steps(words: str, options: ToolOptions) -> List[Step]:
    """Return a tool's steps, or a selection such as ``sysbench:cpu,memory``.

    Raise UsageError for unknown tools and steps.
    """
    tool, colon, names = words.partition(":")
    steps = tool_steps(tool, options)
    if not colon:
        return steps
    by_name = {step.name: step for step in steps}
    selected = [name.strip() for name in names.split(",")]
    for name in selected:
        if name not in by_name:
            raise UsageError(
                "%s has no program %r. Choose from: %s."
                % (tool, name, ", ".join(by_name))
            )
    return [by_name[name] for name in dict.fromkeys(selected)]


def tool_steps(tool: str, options: ToolOptions) -> List[Step]:
    runner = RUNNERS.get(tool)
    if runner is None:
        raise UsageError(
            "There is no runner for %s. Available: %s. Run the tool yourself and push "
            "its output." % (tool, ", ".join(sorted(RUNNERS)))
        )
    program = next(program for program in PROGRAMS if program.tool == tool)
    if program.path is None and not options.probe:
        raise UsageError("%s is not installed: %s" % (tool, program.advice))
    return runner(options)


def tool_version(tool: str) -> str:
    """Return what the tool prints as its version; "" if its results include it."""
    path = shutil.which(tool) if tool in _VERSION_ARGUMENTS else None
    if path is None:
        return ""
    # Cached for an unchanged file, because the call is slow on emulated processors.
    return _version(tool, path, os.stat(path).st_mtime)


@functools.lru_cache(maxsize=64)
def _version(tool: str, path: str, changed_at: float) -> str:
    output = program_output([tool, _VERSION_ARGUMENTS[tool]]) or ""
    return output.partition("\n")[0].strip()


_FIO = (
    "fio --name=%s-%s --rw=%s --bs=%s --size={file_mib}m --directory={fio_folder} "
    "--filename=virtlab-agent.fio --runtime={seconds} --time_based "
    # --direct=1 bypasses the page cache.
    "--ioengine={fio_engine} --direct=1 --numjobs={threads} --unlink=1 "
    "--output-format=json"
)
_SYSBENCH = "sysbench %s --threads={threads} --time={seconds} run"
_STRESS_NG = "stress-ng --%s {threads} --timeout {seconds}s --metrics-brief"
_IPERF3 = "iperf3 -c {peer} -t {seconds} -J -P {threads}"
_NETPERF = "netperf -H {peer} -t %s -l {seconds}"
# These take a number of messages or connections, not a time.
_HTTPERF = (
    "httperf --hog --server {peer} --port 80 --uri / --rate 100 "
    "--num-conns {connections} --timeout 5"
)
# Write, rewrite, read, reread, random; -I bypasses the page cache.
_IOZONE = (
    "iozone -a -I -s {file_mib}m -y 4k -q 4m -i 0 -i 1 -i 2 "
    "-f {folder}/virtlab-agent.iozone"
)
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


def _tool_steps(tool: str, options: ToolOptions) -> List[Step]:
    if tool in _NEEDS:
        option, sentence = _NEEDS[tool]
        if not getattr(options, option):
            raise UsageError(sentence)
    is_windows = os.name == "nt"
    values = dict(
        options._asdict(),
        groups=max(1, options.threads),
        connections=100 * options.seconds,
        # fio separates folders by colons.
        fio_folder=options.folder.replace(":", "\\:") if is_windows else options.folder,
        fio_engine="windowsaio" if is_windows else "psync",
    )
    limit_s = _LIMITS.get(tool, 3 * options.seconds + _GRACE_S)
    return [
        Step(tool, name, [word.format(**values) for word in line.split()], limit_s)
        for name, line in _COMMANDS[tool].items()
    ]


def _kernel_argv(kernel: str, arguments: List[str], options: ToolOptions) -> List[str]:
    start = [options.probe, kernel] if options.probe else None
    return kernel_argv(
        kernel, arguments, options.bits, options.time_server, start, options.iterations
    )


def _virtlab_linpack(options: ToolOptions) -> List[Step]:
    arguments = ["--budget-s", str(options.budget_s)]
    if options.sizes:
        arguments += ["--sizes", options.sizes]
    argv = _kernel_argv("linpack", arguments, options)
    # More than twice the budget, because the duration of a precision's first solution
    # is unknown.
    limit_s = 2 * options.budget_s + _FIXED_WORK_S
    return [Step("virtlab-linpack", "all sizes", argv, limit_s)]


def _virtlab_memory(options: ToolOptions) -> List[Step]:
    # By default, the kernel measures about 720 rows.
    arguments = ["--seconds", "%g" % (options.seconds / 100)]
    argv = _kernel_argv("memory", arguments, options)
    if options.blocks_kib:
        argv += ["--blocks-kib", options.blocks_kib]
    if options.array_mib:
        argv += ["--array-mib", str(options.array_mib)]
    limit_s = 50 * options.seconds + _FIXED_WORK_S
    return [Step("virtlab-memory", "all", argv, limit_s)]


def _virtlab_system(options: ToolOptions) -> List[Step]:
    # By default, the kernel measures about 120 rows, each with a warm-up.
    arguments = ["--seconds", "%g" % (options.seconds / 20), "--folder", options.folder]
    if options.peer:
        arguments += ["--peer", options.peer]
    if options.file_mib:
        arguments += ["--file-mib", str(options.file_mib)]
    argv = _kernel_argv("system", arguments, options)
    limit_s = 50 * options.seconds + _FIXED_WORK_S
    return [Step("virtlab-system", "all", argv, limit_s)]


RUNNERS: Dict[str, Callable[[ToolOptions], List[Step]]] = {
    **{tool: functools.partial(_tool_steps, tool) for tool in _COMMANDS},
    "virtlab-linpack": _virtlab_linpack,
    "virtlab-memory": _virtlab_memory,
    "virtlab-system": _virtlab_system,
}
