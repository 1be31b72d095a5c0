"""Pack the agent into one file that any Python from 3.6 on runs; the same bytes twice.

    python -m agents.build dist/virtlab-agent.pyz [--with-binaries FOLDER]

A folder of binaries holds our kernels as static programs, named `linpack-linux-x86_64`
or `memory-windows-i686.exe`, for machines without a compiler.

A zip behind a `#!` line, as `zipapp` makes it, but with names in order, one date for
all and no permissions of the builder's: the same sources (and zlib) give the same
checksum.
"""

import argparse
import hashlib
import io
import os
import re
import sys
import zipfile
from typing import Dict, List

NAME = "virtlab-agent.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
_DATE = (2010, 7, 29, 0, 0, 0)
# Read by Python 2 too, which many old guests have as their `python`.
_MAIN = b"""import sys

if sys.version_info < (3, 6):
    version = "%d.%d" % tuple(sys.version_info[:2])
    sys.exit("virtlab-agent needs Python 3.6 or newer; this is Python " + version)
from agents.__main__ import main

sys.exit(main())
"""
_LEFT_OUT = (
    *("agents/build.py", "agents/windows/bundle.py"),
    *("agents/kernels/probe.py", "agents/kernels/probe.c"),
)
_ENDINGS = (".py", ".c", ".h")


def sources(folder: str) -> Dict[str, bytes]:
    """Return the agent's modules and kernels by their names in the archive."""
    files = {"__main__.py": _MAIN}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            place = "agents/" + os.path.relpath(path, folder).replace(os.sep, "/")
            if name.endswith(_ENDINGS) and place not in _LEFT_OUT:
                with open(path, "rb") as file:
                    files[place] = file.read()
    return files


def packed(files: Dict[str, bytes]) -> bytes:
    """Return the archive's bytes; they depend on names and contents only."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # Unix, wherever it is built: ZipInfo writes down the builder's own system.
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            opened.writestr(entry, files[name])
    return SHEBANG + archive.getvalue()


def binaries(folder: str) -> Dict[str, bytes]:
    """Return the kernels' programs in a folder by their names in the archive."""
    programs = {}
    for name in os.listdir(folder):
        if not re.fullmatch(r"(linpack|memory|system)-[a-z]+-\w+(\.exe)?", name):
            sys.exit("%s: no name like linpack-linux-x86_64" % name)
        place = "agents/kernels/prebuilt/" + name.replace(".exe", "")
        with open(os.path.join(folder, name), "rb") as file:
            programs[place] = file.read()
    return programs


def build(folder: str = "") -> bytes:
    """Return the agent of the sources beside this file, with a folder's binaries."""
    files = sources(os.path.dirname(os.path.abspath(__file__)))
    return packed(dict(files, **(binaries(folder) if folder else {})))


def checksum(content: bytes) -> str:
    """Return the line that `sha256sum --check` reads."""
    return "%s  %s\n" % (hashlib.sha256(content).hexdigest(), NAME)


def main(arguments: List[str]) -> None:
    """Write the agent and its checksum beside it."""
    parser = argparse.ArgumentParser(prog="python -m agents.build")
    parser.add_argument("path")
    parser.add_argument("--with-binaries", default="", metavar="FOLDER")
    options = parser.parse_args(arguments)
    path, content = options.path, build(options.with_binaries)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o755)
    with open(path + ".sha256", "w") as text:
        text.write(checksum(content))
    print("written: %s, %.1f kB" % (path, len(content) / 1e3))


if __name__ == "__main__":
    main(sys.argv[1:])
