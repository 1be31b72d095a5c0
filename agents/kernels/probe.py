"""Compile the probe: all our kernels in one static program for each platform.

    python -m agents.kernels.probe dist [PLATFORM...]

Platforms without a compiler are skipped, with the Debian packages to install. The C
library is musl if available (Linux from 2.6 on), else glibc (from 3.2 on), and mingw on
Windows.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from typing import Dict, List, NamedTuple, Tuple

from agents.processes import ended

FOLDER = os.path.dirname(os.path.abspath(__file__))
KERNELS = ("linpack", "memory", "system")
FLAGS = ("-O2", "-std=c99")
_PATIENCE_S = 120.0


class Platform(NamedTuple):
    """A target, its compiler, and the Debian packages of both."""

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


class CannotBuildError(Exception):
    """A compiler is missing or failed."""


def missing(platform: Platform) -> str:
    """Return what to install for a platform; empty if it can be built.

    Debian's compilers for other processors come without a C library.
    """
    if shutil.which(platform.compiler) is None:
        lacking = platform.compiler
    elif platform.is_windows or _has_musl(platform) or _has_glibc(platform):
        return ""
    else:
        lacking = "C library for " + platform.compiler
    return "no %s: apt install %s" % (lacking, platform.packages)


def _musl_folder(platform: Platform) -> str:
    return "/usr/lib/" + platform.musl


def _has_musl(platform: Platform) -> bool:
    return os.path.exists(_musl_folder(platform) + "/libc.a")


def _has_glibc(platform: Platform) -> bool:
    # The compiler prints the bare name of a file that it does not find.
    return os.path.isabs(_told(platform.compiler, "-print-file-name=libc.a"))


def build(platform: Platform, folder: str) -> Tuple[str, str]:
    """Compile the probe into a folder; return its path and its C library."""
    path = os.path.join(folder, platform.file_name)
    flags = {kernel: ["-Dmain=%s_main" % kernel] for kernel in KERNELS}
    flags["probe"] = []
    return path, _compile(platform, path, flags, ["-DVIRTLAB_PROBE"])


def build_kernel(platform: Platform, kernel: str, folder: str) -> str:
    """Compile one kernel for an agent with binaries; return its path."""
    name = "%s-%s%s" % (kernel, platform.name, ".exe" if platform.is_windows else "")
    path = os.path.join(folder, name)
    _compile(platform, path, {kernel: []}, [])
    return path


def _compile(
    platform: Platform, path: str, sources: Dict[str, List[str]], common: List[str]
) -> str:
    """Link a program of sources, each with its flags; return the C library."""
    lack = missing(platform)
    if lack:
        raise CannotBuildError(lack)
    compiler = str(shutil.which(platform.compiler))
    library, before, (starts, ends) = _library(platform, compiler)
    words = " ".join([platform.compiler, *FLAGS, "-static", library])
    defined = ['-DVIRTLAB_FLAGS="%s"' % words, '-DVIRTLAB_BUILT="beforehand"']
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for name, flags in sources.items():
            made = os.path.join(work, name + ".o")
            argv = [compiler, *FLAGS, *before, *defined, *common, *flags]
            _run([*argv, "-c", "-o", made, os.path.join(FOLDER, name + ".c")])
            objects.append(made)
        _run([compiler, "-static", "-s", "-o", path, *starts, *objects, *ends])
    return library


def _library(
    platform: Platform, compiler: str
) -> Tuple[str, List[str], Tuple[List[str], List[str]]]:
    """Return the name of a C library, its flags to compile, and the words before and
    after the objects to link."""
    if platform.is_windows:
        # Without the flag two programs of the same sources differ.
        return "mingw", [], (["-Wl,--no-insert-timestamp"], ["-lws2_32"])
    if not _has_musl(platform):
        return "glibc", [], ([], [])
    libraries = _musl_folder(platform)
    own = _told(compiler, "-print-file-name=include")
    headers = ["-nostdinc", "-isystem", "/usr/include/" + platform.musl]
    starts = [libraries + "/crt1.o", libraries + "/crti.o"]
    ends = ["-L" + libraries, "-lc", "-lgcc", libraries + "/crtn.o"]
    return (
        "musl",
        [*headers, "-isystem", own, "-fno-pie", "-fno-stack-protector"],
        (["-nostdlib", "-no-pie", *starts], ends),
    )


def _told(compiler: str, question: str) -> str:
    return ended([compiler, question], _PATIENCE_S).printed.strip()


def _run(argv: List[str]) -> None:
    code, printed, _ = ended(argv, _PATIENCE_S, is_joined=True)
    if code:
        lines = printed.splitlines() or ["no reason"]
        wrong = [line for line in lines if "error" in line or "cannot find" in line]
        reason = (wrong or lines)[0]
        raise CannotBuildError("%s: %s" % (os.path.basename(argv[0]), reason))


def main(words: List[str]) -> int:
    """Build what can be built; say what cannot. 1 if that is nothing."""
    folder, names = words[0], words[1:]
    unknown = set(names) - {platform.name for platform in PLATFORMS}
    if unknown:
        known = ", ".join(platform.name for platform in PLATFORMS)
        sys.exit("%s is no platform; there are: %s" % (min(unknown), known))
    os.makedirs(folder, exist_ok=True)
    built = 0
    for platform in PLATFORMS:
        if names and platform.name not in names:
            continue
        try:
            path, library = build(platform, folder)
        except CannotBuildError as error:
            print("%-15s not built: %s" % (platform.name, error))
            continue
        built += 1
        with open(path, "rb") as file:
            content = file.read()
        digest = hashlib.sha256(content).hexdigest()
        words_said = (platform.name, path, len(content) / 1e3, library, digest)
        print("%-15s %s, %.0f kB, %s, sha256 %s" % words_said)
        if library == "glibc":
            print(
                "%-15s has glibc (kernels from 3.2 on). With musl: apt install %s"
                % ("", platform.musl_package)
            )
    return 0 if built else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
