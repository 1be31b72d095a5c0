"""Compile the probe, a static program with all kernels, for each platform.

    python -m agents.kernels.static_build dist [PLATFORM...]

Programs for Windows are built with mingw. Programs for Linux use musl (Linux 2.6 and
newer) or, if it is not installed, glibc (3.2 and newer). Platforms without a compiler
are skipped.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from typing import Dict, List, NamedTuple, Tuple

from agents.processes import run_program

FOLDER = os.path.dirname(os.path.abspath(__file__))
KERNELS = ("linpack", "memory", "system")
FLAGS = ("-O2", "-std=c99")
_TIMEOUT_S = 120.0


class Platform(NamedTuple):
    name: str
    compiler: str
    packages: str
    musl: str = ""
    musl_package: str = ""

    @property
    def is_windows(self) -> bool:
        return self.name.startswith("windows")

    @property
    def file_name(self) -> str:
        return "virtlab-probe-" + self.name + (".exe" if self.is_windows else "")


PLATFORMS = (
    Platform(
        "linux-x86_64",
        "x86_64-linux-gnu-gcc",
        "gcc musl-tools",
        "x86_64-linux-musl",
        "musl-tools",
    ),
    Platform(
        "linux-i686",
        "i686-linux-gnu-gcc",
        "gcc-i686-linux-gnu libc6-dev-i386-cross",
        "i386-linux-musl",
        "musl-dev:i386",
    ),
    Platform(
        "linux-aarch64",
        "aarch64-linux-gnu-gcc",
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        "aarch64-linux-musl",
        "musl-dev:arm64",
    ),
    Platform("windows-x86_64", "x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32"),
    Platform("windows-i686", "i686-w64-mingw32-gcc", "gcc-mingw-w64-i686-win32"),
)


class ProbeBuildError(Exception):
    """A compiler is missing or failed."""


def missing_compilers(platform: Platform) -> str:
    """Return what is missing and how to install it; "" if nothing is missing.

    Debian's cross compilers have no C library, so it is checked as well.
    """
    if shutil.which(platform.compiler) is None:
        missing = platform.compiler
    elif platform.is_windows or _has_musl(platform) or _has_glibc(platform):
        return ""
    else:
        missing = "C library for " + platform.compiler
    return "no %s: apt install %s" % (missing, platform.packages)


def _musl_folder(platform: Platform) -> str:
    return "/usr/lib/" + platform.musl


def _has_musl(platform: Platform) -> bool:
    return os.path.exists(_musl_folder(platform) + "/libc.a")


def _has_glibc(platform: Platform) -> bool:
    # The compiler prints the name without a folder if the file does not exist.
    return os.path.isabs(_compiler_output(platform.compiler, "-print-file-name=libc.a"))


def build(platform: Platform, folder: str) -> Tuple[str, str]:
    """Build the probe; return its path and the name of its C library."""
    path = os.path.join(folder, platform.file_name)
    flags = {kernel: ["-Dmain=%s_main" % kernel] for kernel in KERNELS}
    flags["probe"] = []
    return path, _compile(platform, path, flags, ["-DVIRTLAB_PROBE"])


def build_kernel(platform: Platform, kernel: str, folder: str) -> str:
    name = "%s-%s%s" % (kernel, platform.name, ".exe" if platform.is_windows else "")
    path = os.path.join(folder, name)
    _compile(platform, path, {kernel: []}, [])
    return path


def _compile(
    platform: Platform, path: str, sources: Dict[str, List[str]], common: List[str]
) -> str:
    """Compile a program; return the name of its C library or raise ProbeBuildError."""
    missing = missing_compilers(platform)
    if missing:
        raise ProbeBuildError(missing)
    compiler = str(shutil.which(platform.compiler))
    library, before, (starts, ends) = _library(platform, compiler)
    words = " ".join([platform.compiler, *FLAGS, "-static", library])
    defined = ['-DVIRTLAB_FLAGS="%s"' % words, '-DVIRTLAB_BUILT="beforehand"']
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for name, flags in sources.items():
            object_path = os.path.join(work, name + ".o")
            argv = [compiler, *FLAGS, *before, *defined, *common, *flags]
            _run([*argv, "-c", "-o", object_path, os.path.join(FOLDER, name + ".c")])
            objects.append(object_path)
        _run([compiler, "-static", "-s", "-o", path, *starts, *objects, *ends])
    return library


def _library(
    platform: Platform, compiler: str
) -> Tuple[str, List[str], Tuple[List[str], List[str]]]:
    """Return the name of a C library, and the arguments of compiler and linker for it.

    Those of the linker are in two parts, before and after the object files.
    """
    if platform.is_windows:
        # With a timestamp, two builds of the same sources would differ.
        return "mingw", [], (["-Wl,--no-insert-timestamp"], ["-lws2_32"])
    if not _has_musl(platform):
        return "glibc", [], ([], [])
    libraries = _musl_folder(platform)
    compiler_headers = _compiler_output(compiler, "-print-file-name=include")
    headers = ["-nostdinc", "-isystem", "/usr/include/" + platform.musl]
    starts = [libraries + "/crt1.o", libraries + "/crti.o"]
    ends = ["-L" + libraries, "-lc", "-lgcc", libraries + "/crtn.o"]
    return (
        "musl",
        [*headers, "-isystem", compiler_headers, "-fno-pie", "-fno-stack-protector"],
        (["-nostdlib", "-no-pie", *starts], ends),
    )


def _compiler_output(compiler: str, question: str) -> str:
    return run_program([compiler, question], _TIMEOUT_S).stdout.strip()


def _run(argv: List[str]) -> None:
    code, output, _ = run_program(argv, _TIMEOUT_S, merge_stderr=True)
    if code:
        lines = output.splitlines() or ["no reason given"]
        errors = [line for line in lines if "error" in line or "cannot find" in line]
        reason = (errors or lines)[0]
        raise ProbeBuildError("%s: %s" % (os.path.basename(argv[0]), reason))


def main(words: List[str]) -> int:
    folder, names = words[0], words[1:]
    unknown = set(names) - {platform.name for platform in PLATFORMS}
    if unknown:
        available = ", ".join(platform.name for platform in PLATFORMS)
        sys.exit("%s is not a platform. Available: %s" % (min(unknown), available))
    os.makedirs(folder, exist_ok=True)
    built = 0
    for platform in PLATFORMS:
        if names and platform.name not in names:
            continue
        try:
            path, library = build(platform, folder)
        except ProbeBuildError as error:
            print("%-15s not built: %s" % (platform.name, error))
            continue
        built += 1
        with open(path, "rb") as file:
            content = file.read()
        digest = hashlib.sha256(content).hexdigest()
        values = (platform.name, path, len(content) / 1e3, library, digest)
        print("%-15s %s, %.0f kB, %s, sha256 %s" % values)
        if library == "glibc":
            print(
                "%-15s uses glibc (Linux from 3.2 on). For musl: apt install %s"
                % ("", platform.musl_package)
            )
    return 0 if built else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
