"""Pack the client into a wheel; equal sources give equal bytes.

    python -m client.build dist

A wheel is a zip (PyPA, "Binary distribution format") of our package, the agent's client
and metadata for pip.
"""

import base64
import hashlib
import io
import sys
import zipfile
from pathlib import Path

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
WHEEL = """\
Wheel-Version: 1.0
Generator: virtlab
Root-Is-Purelib: true
Tag: py3-none-any
"""
_DATE = (2010, 7, 29, 0, 0, 0)


def wheel_name(version: str) -> str:
    return f"{NAME}-{version}-py3-none-any.whl"


def wheel(version: str) -> bytes:
    """Return the bytes of the wheel."""
    about = f"{NAME}-{version}.dist-info"
    files = {
        "virtlab/__init__.py": (ROOT / "client/virtlab/__init__.py").read_bytes(),
        "virtlab/client.py": (ROOT / "agents/client.py").read_bytes(),
        f"{about}/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{about}/METADATA": METADATA.format(version=version).encode(),
        f"{about}/WHEEL": WHEEL.encode(),
    }
    listed = sorted(files.items())
    record = [f"{name},{_digest(data)},{len(data)}" for name, data in listed]
    files[f"{about}/RECORD"] = "\n".join([*record, f"{about}/RECORD,,", ""]).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            opened.writestr(entry, content)
    return archive.getvalue()


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def main(folder: str) -> Path:
    """Write the wheel into a folder and return its path."""
    version = (ROOT / "VERSION").read_text().strip()
    path = Path(folder) / wheel_name(version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wheel(version))
    return path


if __name__ == "__main__":
    print(f"written: {main(*sys.argv[1:] or ['dist'])}")
