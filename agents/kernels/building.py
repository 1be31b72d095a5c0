"""Compile our kernels on this machine, or unpack prebuilt ones from the agent.

Programs are stored in the agent's folder under a checksum of compiler, flags and
sources.
"""

import hashlib
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
from typing import Dict, List, Optional
from urllib.parse import urlsplit

from agents.client import bracketed, host_of
from agents.errors import UsageError
from agents.files import memory_fields, text_of, write_durably
from agents.home import home
from agents.processes import ended
from agents.timing.server import PORT

COMPILERS = ("cc", "gcc", "clang", "tcc")
FLAGS = ("-O2", "-std=c99")
SOURCES = {
    "linpack": ("linpack.c", "solve.h", "clock.h", "options.h"),
    "memory": ("memory.c", "sweep.h", "clock.h", "options.h"),
    "system": (
        *("system.c", "beside.h", "files.h", "peer.h"),
        *("clock.h", "options.h"),
    ),
}
# Libraries for sockets on Windows, and for clocks before glibc 2.17.
_LIBRARIES = (["-lws2_32"],) if os.name == "nt" else ([], ["-lrt"])
COMPILER_ADVICE = (
    "take the agent for Windows, which has them (docs/agents.md)"
    if os.name == "nt"
    else "apt install gcc libc6-dev"
)
_PATIENCE_S = 120.0
# Leaves memory for the system, so that nothing is swapped.
_SHARE_OF_FREE_MEMORY = 0.8
_INTEL = {"x86_64", "amd64", "i386", "i486", "i586", "i686", "x86"}


class CannotCompileError(UsageError):
    """The compiler does not make this program."""


def kernel_argv(
    kernel: str,
    options: List[str],
    bits: int = 0,
    time_server: str = "",
    start: Optional[List[str]] = None,
    iterations: int = 0,
) -> List[str]:
    """Return the command line of a kernel, compiled if needed.

    ``start`` starts a kernel on another machine. ``iterations`` 0 is its own default.
    """
    words = [*(start or [program_of(kernel, bits)]), *options]
    if iterations:
        words += ["--repetitions", str(iterations)]
    # The free memory of another machine is unknown.
    if not start and free_bytes():
        words += ["--most-bytes", str(free_bytes())]
    if time_server and studies_address(time_server):
        words += ["--time-server", studies_address(time_server)]
    return words


def studies_address(time_server: str) -> str:
    """Return HOST:PORT of a time server over TCP; empty for HTTP and UDP."""
    parts = urlsplit(time_server if "://" in time_server else "tcp://" + time_server)
    if parts.scheme != "tcp" or not parts.hostname:
        return ""
    return bracketed(host_of(parts), parts.port or PORT)


def free_bytes() -> int:
    """Return how much memory a kernel may use; 0 if unknown."""
    if os.name == "nt":
        from agents import windows

        ram = windows.memory()
        return int(ram.free * _SHARE_OF_FREE_MEMORY) if ram else 0
    known = memory_fields(text_of("/proc/meminfo"))
    # Linux before 3.14 has no MemAvailable.
    free = known.get("MemAvailable") or known.get("MemFree") or 0
    return int(free * _SHARE_OF_FREE_MEMORY)


def find_compiler() -> Optional[str]:
    """Return the first C compiler on the path."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def program_of(kernel: str, bits: int = 0) -> str:
    """Return the path of a program, compiled if needed; ``bits`` 0 is the machine's.

    Raises UsageError with the package to install.
    """
    compiler = find_compiler()
    prebuilt = prebuilt_program(kernel, bits)
    if compiler:
        try:
            return compiled(kernel, compiler, bits)
        except CannotCompileError:
            if prebuilt is None:
                raise
    if prebuilt is None:
        raise UsageError(
            "There is no C compiler for %s (looked for %s), and none was built before "
            "for %s: %s"
            % (kernel, ", ".join(COMPILERS), machine_name(bits), COMPILER_ADVICE)
        )
    # A program cannot run inside a zip: unpack it beside the compiled ones.
    folder = os.path.join(_store(), hashlib.sha256(prebuilt).hexdigest()[:16])
    program = os.path.join(folder, _file_name(kernel))
    if not os.path.isfile(program):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_durably(program, prebuilt, 0o700)
    return program


def compiled(kernel: str, compiler: str, bits: int = 0) -> str:
    """Return the path of a compiled program, from an earlier time or made now."""
    sources = sources_of(kernel)
    flags = [*FLAGS, *(["-m%d" % bits] if bits else [])]
    # An upgraded compiler has the same path, but another size and date.
    known = os.stat(compiler)
    parts = [compiler, str(known.st_size), str(known.st_mtime), *flags]
    digest = hashlib.sha256("\n".join(parts).encode())
    for name in sorted(sources):
        digest.update(sources[name])
    folder = os.path.join(_store(), digest.hexdigest()[:16])
    program = os.path.join(folder, _file_name(kernel))
    if os.path.isfile(program):
        return program
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name, content in sources.items():
        write_durably(os.path.join(folder, name), content)
    # Another process may compile it at the same time.
    beside = "%s.%d" % (program, os.getpid())
    _compile(compiler, flags, os.path.join(folder, kernel + ".c"), beside)
    os.replace(beside, program)
    return program


def sources_of(kernel: str) -> Dict[str, bytes]:
    """Return the sources of a kernel by their names."""
    sources = {}
    for name in SOURCES[kernel]:
        content = pkgutil.get_data("agents.kernels", name)
        if content is None:
            raise UsageError("This agent holds no %s: get it anew." % name)
        sources[name] = content
    return sources


def prebuilt_program(kernel: str, bits: int = 0) -> Optional[bytes]:
    """Return the prebuilt program for this machine in the agent, if any."""
    name = "prebuilt/%s-%s" % (kernel, machine_name(bits))
    try:
        return pkgutil.get_data("agents.kernels", name)
    except OSError:
        return None


def machine_name(bits: int = 0) -> str:
    """Return the target of a program: `linux-x86_64`, `windows-i686`."""
    width = bits or (64 if sys.maxsize > 2**32 else 32)
    machine = platform.machine().lower()
    if machine in _INTEL:
        machine = "x86_64" if width == 64 else "i686"
    return "%s-%s" % (platform.system().lower(), machine)


def compiler_argv(compiler: str, flags: List[str], source: str, to: str) -> List[str]:
    """Return the command to compile; the program prints compiler and flags."""
    words = " ".join([os.path.basename(compiler), *flags])
    defined = ['-DVIRTLAB_FLAGS="%s"' % words, '-DVIRTLAB_BUILT="where it ran"']
    return [compiler, *flags, *defined, "-o", to, source]


def _compile(compiler: str, flags: List[str], source: str, to: str) -> None:
    printed = ""
    for libraries in _LIBRARIES:
        argv = [*compiler_argv(compiler, flags, source, to), *libraries]
        try:
            code, printed, _ = ended(argv, _PATIENCE_S, is_joined=True)
        except OSError as error:
            code, printed = 1, str(error)
        except subprocess.TimeoutExpired:
            code, printed = 1, "no end within %.0f s" % _PATIENCE_S
        if code == 0:
            return
    lines = [line for line in printed.splitlines() if line.strip()]
    lines = lines or ["no reason given"]
    wrong = next((line for line in lines if "error" in line), lines[-1]).rstrip(".")
    advice = COMPILER_ADVICE
    if os.name != "nt":
        package = "gcc-multilib" if "-m32" in flags else "libc6-dev"
        advice = "Try: apt install " + package
    raise CannotCompileError(
        "%s does not compile our kernels: %s. %s"
        % (" ".join([compiler, *flags]), wrong, advice)
    )


def _store() -> str:
    return os.path.join(home(), "kernels")


def _file_name(kernel: str) -> str:
    return "virtlab-" + kernel + (".exe" if os.name == "nt" else "")
