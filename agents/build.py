"""Pack the agent into one file that any Python from 3.6 on runs; the same bytes twice.

    python -m agents.build dist/virtlab-agent.pyz

A zip behind a `#!` line, as `zipapp` makes it, but with names in order, one date for
all and no permissions of the builder's: the same sources (and zlib) give the same
checksum.
"""

import hashlib
import io
import os
import sys
import zipfile
from typing import Dict, List

NAME = "virtlab-agent.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
_DATE = (2010, 7, 29, 0, 0, 0)
_MAIN = b"import sys\nfrom agents.__main__ import main\n\nsys.exit(main())\n"
_LEFT_OUT = ("agents/build.py",)


def sources(folder: str) -> Dict[str, bytes]:
    """Return the agent's modules by their names in the archive."""
    found = {"__main__.py": _MAIN}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            place = "agents/" + os.path.relpath(path, folder).replace(os.sep, "/")
            if name.endswith(".py") and place not in _LEFT_OUT:
                with open(path, "rb") as file:
                    found[place] = file.read()
    return found


def packed(files: Dict[str, bytes]) -> bytes:
    """Return the archive's bytes; they depend on names and contents only."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            opened.writestr(entry, files[name])
    return SHEBANG + archive.getvalue()


def build() -> bytes:
    """Return the agent of the sources beside this file."""
    return packed(sources(os.path.dirname(os.path.abspath(__file__))))


def checksum(content: bytes) -> str:
    """Return the line that `sha256sum --check` reads."""
    return "%s  %s\n" % (hashlib.sha256(content).hexdigest(), NAME)


def main(arguments: List[str]) -> None:
    """Write the agent and its checksum beside it."""
    path = arguments[0]
    content = build()
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o755)
    with open(path + ".sha256", "w") as text:
        text.write(checksum(content))
    print("written: %s, %.1f kB" % (path, len(content) / 1e3))


if __name__ == "__main__":
    main(sys.argv[1:])
