"""Compile the probe: all our kernels in one static program for each platform.

    python -m agents.kernels.probe dist [PLATFORM...]

A platform whose compiler is missing is left out, and its Debian packages are said. The
libraries are musl's where they can be had (kernels from 2.6 on), else glibc's (from 3.2
on), and mingw's for Windows.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from typing import List, NamedTuple, Tuple

from agents.programs import ended

FOLDER = os.path.dirname(os.path.abspath(__file__))
KERNELS = ("linpack", "memory", "system")
FLAGS = ("-O2", "-std=c99")
_WAYS = ("-static", "-s")
_PATIENCE_S = 120.0


class Platform(NamedTuple):
    """A system and a machine, their compiler, and what of Debian has it."""

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
    """No compiler for this platform, or one that failed; says what to do."""


def missing(platform: Platform) -> str:
    """Say what a platform lacks here, and what to install; nothing if it can be built.

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
    # A file that it does not find it calls by its bare name.
    return os.path.isabs(_told(platform.compiler, "-print-file-name=libc.a"))


def build(platform: Platform, folder: str) -> Tuple[str, str]:
    """Compile the probe into a folder; return its path and whose library it has."""
    compiler = _compiler(platform)
    library, before, behind = _library(platform, compiler)
    path = os.path.join(folder, platform.file_name)
    common = [*_common(platform, compiler, library, before), "-DVIRTLAB_PROBE"]
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for kernel in (*KERNELS, "probe"):
            made = os.path.join(work, kernel + ".o")
            renamed = [] if kernel == "probe" else ["-Dmain=%s_main" % kernel]
            source = os.path.join(FOLDER, kernel + ".c")
            _run([*common, *renamed, "-c", "-o", made, source])
            objects.append(made)
        _run([compiler, *_WAYS, "-o", path, *_in_order(objects, behind)])
    return path, library


def build_kernel(platform: Platform, kernel: str, folder: str) -> str:
    """Compile one kernel alone, for an agent that carries it; return its path."""
    compiler = _compiler(platform)
    library, before, behind = _library(platform, compiler)
    name = "%s-%s%s" % (kernel, platform.name, ".exe" if platform.is_windows else "")
    path = os.path.join(folder, name)
    common = _common(platform, compiler, library, before)
    with tempfile.TemporaryDirectory() as work:
        made = os.path.join(work, kernel + ".o")
        _run([*common, "-c", "-o", made, os.path.join(FOLDER, kernel + ".c")])
        _run([compiler, *_WAYS, "-o", path, *_in_order([made], behind)])
    return path


def _compiler(platform: Platform) -> str:
    lack = missing(platform)
    if lack:
        raise CannotBuildError(lack)
    return str(shutil.which(platform.compiler))


def _common(
    platform: Platform, compiler: str, library: str, before: List[str]
) -> List[str]:
    words = " ".join([platform.compiler, *FLAGS, "-static", library])
    defined = ['-DVIRTLAB_FLAGS="%s"' % words, '-DVIRTLAB_BUILT="beforehand"']
    return [compiler, *FLAGS, *before, *defined]


def _library(
    platform: Platform, compiler: str
) -> Tuple[str, List[str], Tuple[List[str], List[str]]]:
    """Return a C library's name, what is said to compile with it, and what stands
    before and behind the objects to link it."""
    if platform.is_windows:
        # Without it two programs of the same sources differ.
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


def _in_order(objects: List[str], around: Tuple[List[str], List[str]]) -> List[str]:
    return [*around[0], *objects, *around[1]]


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
