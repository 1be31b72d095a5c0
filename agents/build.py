"""Pack the agent into one file for any Python from 3.6 on.

    python -m agents.build dist/virtlab-agent.pyz [--with-binaries FOLDER]
    python -m agents.build --readers dist/virtlab-readers.pyz
    python -m agents.build --windows dist

FOLDER contains kernels as static programs, such as `linpack-linux-x86_64` or
`memory-windows-i686.exe`, for machines without a C compiler.

`--windows` writes archives with Python (pinned in `agents/pins`) and the kernels: one
for Windows 10, Server 2016 and newer, and `-old` for Windows 7 and Server 2008 R2.
"""

import argparse
import glob
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

from agents.commands import check

NAME = "virtlab-agent.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
FOLDER = os.path.dirname(os.path.abspath(__file__))
PINS_FOLDER = os.path.join(FOLDER, "pins")
_DATE = (2010, 7, 29, 0, 0, 0)
# This code is also valid in Python 2, which is the `python` of many old guests.
_MAIN = """import sys

if sys.version_info < (3, {minor}):
    version = "%d.%d" % tuple(sys.version_info[:2])
    sys.exit("{name} needs Python 3.{minor} or newer; this is Python " + version)
from agents.__main__ import main

sys.exit(main({arguments}))
"""
_AGENT_MAIN = _MAIN.format(name="virtlab-agent", minor=6, arguments="")
_READERS_MAIN = _MAIN.format(
    name="virtlab-readers",
    minor=check.OLDEST[1],
    arguments='["check"] + sys.argv[1:]',
)
_NOT_PACKED = (
    "agents/build.py",
    "agents/start.py",
    "agents/kernels/static_build.py",
    "agents/kernels/probe.c",
    "agents/packages/",
)
READERS_NAME = check.READERS
_READER_FILES = (
    *("agents/__init__.py", "agents/__main__.py", "agents/argument_parsing.py"),
    *("agents/console.py", "agents/errors.py", "agents/commands/__init__.py"),
    *("agents/commands/check.py", "benchmarks/__init__.py"),
    *("benchmarks/tools/*.py", "benchmarks/parsing/*.py", "benchmarks/errors.py"),
    *("benchmarks/fingerprints.py", "benchmarks/hypervisor_names.py"),
    *("benchmarks/sentences.py", "benchmarks/text_validation.py"),
    *("benchmarks/units.py", "benchmarks/work_classes.py"),
)
_ENDINGS = (".py", ".c", ".h")
_PREBUILT = "agents/kernels/prebuilt/"

WINDOWS_TOP = "virtlab-agent/"
WINDOWS_COMMAND = b"""@echo off\r
rem Virtlab agent with its own Python. Set VIRTLAB_AGENT to keep enrolment and spool\r
rem in a folder other than .virtlab-agent in your profile. See docs/agents.md.\r
"%~dp0python\\python.exe" -X utf8 "%~dp0virtlab-agent.pyz" %*\r
exit /b %errorlevel%\r
"""
# Archive, requirements file of its Python, Windows versions.
WINDOWS_EDITIONS = (
    ("virtlab-agent-windows.zip", "python.txt", "Windows 10, Server 2016 and newer"),
    ("virtlab-agent-windows-old.zip", "python-old.txt", "Windows 7, Server 2008 R2"),
)
_PIP_TIMEOUT_S = 300.0
# Parts of Python that the agent does not need. `_wmi` is excluded because `platform`
# would query WMI, which can hang, for a version that `sys` already has.
_EXCLUDED = re.compile(
    r"(sqlite3|_sqlite3|_msi|winsound|pyexpat|_elementtree|_asyncio|_overlapped|"
    r"_multiprocessing|_decimal|_zoneinfo|_wmi|pythonw|python)\.(dll|pyd|exe|cat)"
)
_PYTHON_PROGRAM = "python.exe"


class BuildError(Exception):
    """A part of the archive is missing."""


def agent_files(folder: str = FOLDER) -> Dict[str, bytes]:
    files = {"__main__.py": _AGENT_MAIN.encode()}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            archive_name = "agents/" + os.path.relpath(path, folder).replace(
                os.sep, "/"
            )
            if name.endswith(_ENDINGS) and not archive_name.startswith(_NOT_PACKED):
                files[archive_name] = _content(path)
    return files


def build_readers() -> bytes:
    files = {"__main__.py": _READERS_MAIN.encode()}
    root = os.path.dirname(FOLDER)
    for pattern in _READER_FILES:
        for path in glob.glob(os.path.join(root, pattern)):
            name = os.path.relpath(path, root).replace(os.sep, "/")
            files[name] = _content(path)
    return SHEBANG + zip_bytes(files)


def start_script(server: str) -> str:
    """Return the program that downloads the agent of a server and enrolls it."""
    content = _content(os.path.join(FOLDER, "start.py"))
    return content.decode().replace("@SERVER@", server)


def zip_bytes(files: Dict[str, bytes], system: int = 3) -> bytes:
    """Return a reproducible zip archive for ``system`` (3 is Unix, 0 is Windows)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as archive_file:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = system
            entry.external_attr = 0o644 << 16 if system else 0
            archive_file.writestr(entry, files[name])
    return archive.getvalue()


def build_archive(folder: str = "") -> bytes:
    files = agent_files()
    for name in os.listdir(folder) if folder else []:
        if not re.fullmatch(r"(linpack|memory|system)-[a-z]+-\w+(\.exe)?", name):
            sys.exit("%s is not a name like linpack-linux-x86_64" % name)
        files[_PREBUILT + name.replace(".exe", "")] = _content(
            os.path.join(folder, name)
        )
    return SHEBANG + zip_bytes(files)


def build_windows(python: Dict[str, bytes], programs: Dict[str, bytes]) -> bytes:
    agent = agent_files()
    files = {"virtlab-agent.cmd": WINDOWS_COMMAND}
    files.update(("python/" + name, content) for name, content in python.items())
    for name, content in programs.items():
        if name.startswith("virtlab-probe"):
            files["probe/" + name] = content
        else:
            agent[_PREBUILT + name.replace(".exe", "")] = content
    files[NAME] = SHEBANG + zip_bytes(agent)
    return zip_bytes({WINDOWS_TOP + name: files[name] for name in files}, system=0)


def fetch_python(pin: str, folder: str) -> Dict[str, bytes]:
    """Download the Python of a requirements file in `agents/pins`; return its files."""
    tools = os.path.join(folder, "tools")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    common = ["--no-deps", "--require-hashes", "-r"]
    builders = os.path.join(PINS_FOLDER, "builders.txt")
    _run([*pip, "install", "--target", tools, *common, builders])
    _run(
        [
            *(*pip, "download", "--no-build-isolation", "--no-binary", ":all:"),
            *("--dest", folder, *common, os.path.join(PINS_FOLDER, pin)),
        ],
        PYTHONPATH=tools,
    )
    names = [name for name in os.listdir(folder) if name.endswith(".tar.gz")]
    with tarfile.open(os.path.join(folder, names[0])) as opened:
        inner = [entry for entry in opened if entry.name.endswith("/data.zip")]
        file = opened.extractfile(inner[0]) if inner else None
        if file is None:
            raise BuildError("%s does not contain data.zip" % names[0])
        content = file.read()
    return python_files(content)


def python_files(content: bytes) -> Dict[str, bytes]:
    files = {}
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for name in opened.namelist():
            base_name = name.rpartition("/")[2]
            if base_name and (
                base_name == _PYTHON_PROGRAM or not _EXCLUDED.fullmatch(base_name)
            ):
                files[base_name] = opened.read(name)
    if _PYTHON_PROGRAM not in files:
        raise BuildError("the package does not contain %s" % _PYTHON_PROGRAM)
    return files


def _run(argv: List[str], **environment: str) -> None:
    process = subprocess.Popen(
        argv,
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = process.communicate(timeout=_PIP_TIMEOUT_S)[0].decode("utf-8", "replace")
    if process.returncode:
        last_lines = [line for line in output.splitlines() if line.strip()][-3:]
        raise BuildError("\n  ".join(["%s failed:" % " ".join(argv[2:4]), *last_lines]))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def checksum_line(content: bytes, name: str = NAME) -> str:
    return "%s  %s\n" % (hashlib.sha256(content).hexdigest(), name)


def write_with_checksum(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    with open(path + ".sha256", "w") as text:
        text.write(checksum_line(content, os.path.basename(path)))


def write_windows(folder: str) -> int:
    from agents.kernels import static_build

    try:
        programs: Dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as work:
            for platform in static_build.PLATFORMS:
                if platform.is_windows:
                    paths = [static_build.build(platform, work)[0]]
                    for kernel in static_build.KERNELS:
                        paths.append(static_build.build_kernel(platform, kernel, work))
                    programs.update((os.path.basename(p), _content(p)) for p in paths)
        for name, pin, systems in WINDOWS_EDITIONS:
            with tempfile.TemporaryDirectory() as work:
                content = build_windows(fetch_python(pin, work), programs)
            path = os.path.join(folder, name)
            write_with_checksum(path, content)
            print("%s, %.1f MB, for %s" % (path, len(content) / 1e6, systems))
    except (BuildError, static_build.ProbeBuildError) as error:
        print("not built: %s" % error, file=sys.stderr)
        return 1
    return 0


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m agents.build")
    parser.add_argument("path", help="the file, or the folder of --windows")
    parser.add_argument("--with-binaries", default="", metavar="FOLDER")
    parser.add_argument("--windows", action="store_true")
    parser.add_argument(
        "--readers", action="store_true", help="pack the readers of `check`"
    )
    options = parser.parse_args(arguments)
    if options.windows:
        return write_windows(options.path)
    content = (
        build_readers() if options.readers else build_archive(options.with_binaries)
    )
    write_with_checksum(options.path, content)
    os.chmod(options.path, 0o755)
    print("written: %s, %.1f kB" % (options.path, len(content) / 1e3))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
