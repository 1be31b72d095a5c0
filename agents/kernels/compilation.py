"""Compile the kernels, or unpack prebuilt ones from the agent.

Programs are cached under a checksum of compiler, flags and sources, or of the prebuilt
program.
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
from agents.files import memory_fields, read_text_file, write_durably
from agents.local_state import agent_folder
from agents.processes import run_program
from agents.timing.time_server import PORT

COMPILERS = ("cc", "gcc", "clang", "tcc")
FLAGS = ("-O2", "-std=c99")
SOURCES = {
    "linpack": ("linpack.c", "solve.h", "clock.h", "options.h"),
    "memory": ("memory.c", "sweep.h", "clock.h", "options.h"),
    "system": (
        *("system.c", "second_process.h", "files.h", "peer.h"),
        *("clock.h", "options.h"),
    ),
}
# Linker flags to try: for sockets on Windows, and for clocks in glibc before 2.17.
_LIBRARIES = (["-lws2_32"],) if os.name == "nt" else ([], ["-lrt"])
COMPILER_HINT = (
    "use the agent for Windows, which contains them (docs/agents.md)"
    if os.name == "nt"
    else "apt install gcc libc6-dev"
)
_TIMEOUT_S = 120.0
# Kernels use only a part of the free memory, to avoid swapping.
_FREE_MEMORY_SHARE = 0.8
_INTEL = {"x86_64", "amd64", "i386", "i486", "i586", "i686", "x86"}


class CompileError(UsageError):
    """The compiler failed."""


def kernel_argv(
    kernel: str,
    options: List[str],
    bits: int = 0,
    time_server: str = "",
    start: Optional[List[str]] = None,
    iterations: int = 0,
) -> List[str]:
    """Return a kernel's command line; compile the kernel if needed.

    ``start`` are the words that start the kernel on another machine. With 0, ``bits``
    and ``iterations`` have their defaults.
    """
    words = [*(start or [program_path(kernel, bits)]), *options]
    if iterations:
        words += ["--repetitions", str(iterations)]
    if not start and free_bytes():
        words += ["--most-bytes", str(free_bytes())]
    if time_server and tcp_address(time_server):
        words += ["--time-server", tcp_address(time_server)]
    return words


def tcp_address(time_server: str) -> str:
    """Return HOST:PORT; "" for HTTP and UDP, which the kernels do not support."""
    parts = urlsplit(time_server if "://" in time_server else "tcp://" + time_server)
    if parts.scheme != "tcp" or not parts.hostname:
        return ""
    return bracketed(host_of(parts), parts.port or PORT)


def free_bytes() -> int:
    """Return how much memory a kernel may use; 0 if unknown."""
    if os.name == "nt":
        from agents import windows

        ram = windows.memory()
        return int(ram.free * _FREE_MEMORY_SHARE) if ram else 0
    fields = memory_fields(read_text_file("/proc/meminfo"))
    # Linux before 3.14 does not report MemAvailable.
    free = fields.get("MemAvailable") or fields.get("MemFree") or 0
    return int(free * _FREE_MEMORY_SHARE)


def find_compiler() -> Optional[str]:
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def program_path(kernel: str, bits: int = 0) -> str:
    """Return the path of a kernel; compile or unpack it if needed.

    Raise UsageError that names the missing package. With 0 ``bits``, use the word size
    of this machine.
    """
    compiler = find_compiler()
    prebuilt = prebuilt_program(kernel, bits)
    if compiler:
        try:
            return compiled_program(kernel, compiler, bits)
        except CompileError:
            if prebuilt is None:
                raise
    if prebuilt is None:
        raise UsageError(
            "There is no C compiler for %s (tried %s) and no prebuilt program for "
            "%s: %s"
            % (kernel, ", ".join(COMPILERS), platform_name(bits), COMPILER_HINT)
        )
    # Programs cannot run inside a zip.
    folder = os.path.join(_store(), hashlib.sha256(prebuilt).hexdigest()[:16])
    program = os.path.join(folder, _file_name(kernel))
    if not os.path.isfile(program):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_durably(program, prebuilt, 0o700)
    return program


def compiled_program(kernel: str, compiler: str, bits: int = 0) -> str:
    sources = kernel_sources(kernel)
    flags = [*FLAGS, *(["-m%d" % bits] if bits else [])]
    # Include size and date, because an upgraded compiler has the same path.
    status = os.stat(compiler)
    parts = [compiler, str(status.st_size), str(status.st_mtime), *flags]
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
    temporary = "%s.%d" % (program, os.getpid())
    _compile(compiler, flags, os.path.join(folder, kernel + ".c"), temporary)
    os.replace(temporary, program)
    return program


def kernel_sources(kernel: str) -> Dict[str, bytes]:
    sources = {}
    for name in SOURCES[kernel]:
        content = pkgutil.get_data("agents.kernels", name)
        if content is None:
            raise UsageError("This agent lacks %s. Download it again." % name)
        sources[name] = content
    return sources


def prebuilt_program(kernel: str, bits: int = 0) -> Optional[bytes]:
    name = "prebuilt/%s-%s" % (kernel, platform_name(bits))
    try:
        return pkgutil.get_data("agents.kernels", name)
    except OSError:
        return None


def platform_name(bits: int = 0) -> str:
    width = bits or (64 if sys.maxsize > 2**32 else 32)
    machine = platform.machine().lower()
    if machine in _INTEL:
        machine = "x86_64" if width == 64 else "i686"
    return "%s-%s" % (platform.system().lower(), machine)


def compiler_argv(
    compiler: str, flags: List[str], source: str, output: str
) -> List[str]:
    words = " ".join([os.path.basename(compiler), *flags])
    defined = ['-DVIRTLAB_FLAGS="%s"' % words, '-DVIRTLAB_BUILT="where it ran"']
    return [compiler, *flags, *defined, "-o", output, source]


def _compile(compiler: str, flags: List[str], source: str, output: str) -> None:
    text = ""
    for libraries in _LIBRARIES:
        argv = [*compiler_argv(compiler, flags, source, output), *libraries]
        try:
            code, text, _ = run_program(argv, _TIMEOUT_S, merge_stderr=True)
        except OSError as error:
            code, text = 1, str(error)
        except subprocess.TimeoutExpired:
            code, text = 1, "no end within %.0f s" % _TIMEOUT_S
        if code == 0:
            return
    lines = [line for line in text.splitlines() if line.strip()]
    lines = lines or ["no reason given"]
    reason = next((line for line in lines if "error" in line), lines[-1]).rstrip(".")
    advice = COMPILER_HINT
    if os.name != "nt":
        package = "gcc-multilib" if "-m32" in flags else "libc6-dev"
        advice = "Try: apt install " + package
    raise CompileError(
        "%s cannot compile our kernels: %s. %s"
        % (" ".join([compiler, *flags]), reason, advice)
    )


def _store() -> str:
    return os.path.join(agent_folder(), "kernels")


def _file_name(kernel: str) -> str:
    return "virtlab-" + kernel + (".exe" if os.name == "nt" else "")
