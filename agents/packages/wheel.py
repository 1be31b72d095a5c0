"""Reproducible wheels (PyPA, "Binary distribution format"), without setuptools.

The wheel of the agent contains the agent's file, so that its SHA-256 is the same in
all packages, and site-packages get no module `agents`.
"""

import base64
import hashlib
from typing import Dict

from agents import VERSION, build
from agents.packages import contents

_WHEEL = """\
Wheel-Version: 1.0
Generator: virtlab
Root-Is-Purelib: true
Tag: py3-none-any
"""
_METADATA = """\
Metadata-Version: 2.1
Name: virtlab-agent
Version: {version}
Summary: {summary}
License: BSD-3-Clause
Requires-Python: >=3.6
"""
_MODULE = '''\
"""The Virtlab agent, packed into one file."""

import os
import sys


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "{file}")
    sys.argv[0] = path
    sys.path.insert(0, path)
    from agents.__main__ import main

    return main()
'''
_ENTRY_POINTS = """\
[console_scripts]
virtlab-agent = virtlab_agent:main
"""
_RUN_MODULE = "from virtlab_agent import main\n\nraise SystemExit(main())\n"


def agent_wheel_name() -> str:
    return wheel_name("virtlab_agent", VERSION)


def build_agent_wheel() -> bytes:
    metadata = _METADATA.format(version=VERSION, summary=contents.SUMMARY)
    files = {
        "virtlab_agent/__init__.py": _MODULE.format(file=build.NAME).encode(),
        "virtlab_agent/__main__.py": _RUN_MODULE.encode(),
        "virtlab_agent/" + build.NAME: build.build_archive(),
    }
    about = {
        "LICENSE": contents.licence(),
        "METADATA": metadata.encode(),
        "entry_points.txt": _ENTRY_POINTS.encode(),
    }
    return wheel_bytes("virtlab_agent", VERSION, files, about)


def wheel_name(name: str, version: str) -> str:
    return "%s-%s-py3-none-any.whl" % (name, version)


def wheel_bytes(
    name: str, version: str, files: Dict[str, bytes], about: Dict[str, bytes]
) -> bytes:
    """Return a wheel with ``files``; ``about`` has the files of its metadata."""
    folder = "%s-%s.dist-info/" % (name, version)
    packed = dict(files)
    packed.update((folder + key, value) for key, value in about.items())
    packed[folder + "WHEEL"] = _WHEEL.encode()
    record = [
        "%s,%s,%d" % (path, _digest(packed[path]), len(packed[path]))
        for path in sorted(packed)
    ]
    record += [folder + "RECORD,,", ""]
    packed[folder + "RECORD"] = "\n".join(record).encode()
    return build.zip_bytes(packed)


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.rstrip(b"=").decode()
