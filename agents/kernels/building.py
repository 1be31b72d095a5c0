"""Our kernels: compiled where they will run, or taken from inside the agent; and run.

A program is kept in the agent's folder under a checksum of all that made it, so that
another compiler, other flags or other sources give another program.
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
from agents.programs import ended
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
# Windows has its sockets, and C libraries before glibc 2.17 their clocks, apart.
_LIBRARIES = (["-lws2_32"],) if os.name == "nt" else ([], ["-lrt"])
COMPILER_ADVICE = (
    "take the agent for Windows, which has them (docs/agents.md)"
    if os.name == "nt"
    else "apt install gcc libc6-dev"
)
_PATIENCE_S = 120.0
# The rest is left to the system, so that nothing is swapped.
_SHARE_OF_FREE_MEMORY = 0.8
_INTEL = {"x86_64", "amd64", "i386", "i486", "i586", "i686", "x86"}


class CannotCompileError(UsageError):
    """The compiler that is here does not make this program."""


def kernel_argv(
    kernel: str,
    options: List[str],
    bits: int = 0,
    time_server: str = "",
    start: Optional[List[str]] = None,
    iterations: int = 0,
) -> List[str]:
    """Return a kernel's command line; compile it unless ``start`` says how one that is
    elsewhere is started. ``iterations``: 0 as often as it likes."""
    words = [*(start or [program_of(kernel, bits)]), *options]
    if iterations:
        words += ["--repetitions", str(iterations)]
    # How much is free elsewhere is not known here.
    if not start and free_bytes():
        words += ["--most-bytes", str(free_bytes())]
    if time_server and studies_address(time_server):
        words += ["--time-server", studies_address(time_server)]
    return words


def studies_address(time_server: str) -> str:
    """Return HOST:PORT where the studies' protocol is spoken; nothing for HTTP, UDP."""
    parts = urlsplit(time_server if "://" in time_server else "tcp://" + time_server)
    if parts.scheme != "tcp" or not parts.hostname:
        return ""
    return bracketed(host_of(parts), parts.port or PORT)


def free_bytes() -> int:
    """Return how much memory a kernel may take; 0 if the system does not tell."""
    if os.name == "nt":
        from agents import windows

        ram = windows.memory()
        return int(ram.free * _SHARE_OF_FREE_MEMORY) if ram else 0
    known = memory_fields(text_of("/proc/meminfo"))
    # Kernels before 3.14 do not estimate what is available.
    free = known.get("MemAvailable") or known.get("MemFree") or 0
    return int(free * _SHARE_OF_FREE_MEMORY)


def find_compiler() -> Optional[str]:
    """Return the first C compiler on the path."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def program_of(kernel: str, bits: int = 0) -> str:
    """Return a program's path; compile it if need be. ``bits``: 0 as the machine is.

    Raises UsageError with the package to install if there is no way to have it.
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
    # No system runs a program inside a zip: it is laid beside the compiled ones.
    folder = os.path.join(_store(), hashlib.sha256(prebuilt).hexdigest()[:16])
    program = os.path.join(folder, _file_name(kernel))
    if not os.path.isfile(program):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_durably(program, prebuilt, 0o700)
    return program


def compiled(kernel: str, compiler: str, bits: int = 0) -> str:
    """Return the path of a program of our sources, from an earlier time or made now."""
    sources = sources_of(kernel)
    flags = [*FLAGS, *(["-m%d" % bits] if bits else [])]
    # One that was upgraded has the same path, but not the same size and date.
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
    # Another process may be compiling it, too: each puts a whole one in its place.
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
    """Return the program for this machine that was packed into the agent, if any."""
    name = "prebuilt/%s-%s" % (kernel, machine_name(bits))
    try:
        return pkgutil.get_data("agents.kernels", name)
    except OSError:
        return None


def machine_name(bits: int = 0) -> str:
    """Return what a program must be made for: `linux-x86_64`, `windows-i686`."""
    width = bits or (64 if sys.maxsize > 2**32 else 32)
    machine = platform.machine().lower()
    if machine in _INTEL:
        machine = "x86_64" if width == 64 else "i686"
    return "%s-%s" % (platform.system().lower(), machine)


def compiler_argv(compiler: str, flags: List[str], source: str, to: str) -> List[str]:
    """Return how a program is compiled; it prints the compiler's name and flags."""
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
