"""Pack the client into a reproducible wheel.

python -m client.build dist
"""

import sys
from pathlib import Path

from agents.packages import wheel as agent_wheel

ROOT = Path(__file__).resolve().parents[1]
NAME = "virtlab_client"
METADATA = """\
Metadata-Version: 2.1
Name: virtlab-client
Version: {version}
Summary: Read what hypervisors cost from a Virtlab server, and upload to it
Requires-Python: >=3.8
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
"""


def wheel_name(version: str) -> str:
    return agent_wheel.wheel_name(NAME, version)


def wheel(version: str) -> bytes:
    files = {
        "virtlab/__init__.py": (ROOT / "client/virtlab/__init__.py").read_bytes(),
        "virtlab/client.py": (ROOT / "agents/client.py").read_bytes(),
    }
    about = {
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "METADATA": METADATA.format(version=version).encode(),
    }
    return agent_wheel.wheel_bytes(NAME, version, files, about)


def main(folder: str) -> Path:
    version = (ROOT / "VERSION").read_text().strip()
    path = Path(folder) / wheel_name(version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wheel(version))
    return path


if __name__ == "__main__":
    print(f"written: {main(*sys.argv[1:] or ['dist'])}")
