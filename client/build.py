"""Pack the client into a reproducible wheel (PyPA, "Binary distribution format").

python -m client.build dist
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
    metadata_folder = f"{NAME}-{version}.dist-info"
    files = {
        "virtlab/__init__.py": (ROOT / "client/virtlab/__init__.py").read_bytes(),
        "virtlab/client.py": (ROOT / "agents/client.py").read_bytes(),
        f"{metadata_folder}/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{metadata_folder}/METADATA": METADATA.format(version=version).encode(),
        f"{metadata_folder}/WHEEL": WHEEL.encode(),
    }
    record = [
        f"{name},{_digest(data)},{len(data)}" for name, data in sorted(files.items())
    ]
    files[f"{metadata_folder}/RECORD"] = "\n".join(
        [*record, f"{metadata_folder}/RECORD,,", ""]
    ).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as wheel_file:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            wheel_file.writestr(entry, content)
    return archive.getvalue()


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def main(folder: str) -> Path:
    version = (ROOT / "VERSION").read_text().strip()
    path = Path(folder) / wheel_name(version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wheel(version))
    return path


if __name__ == "__main__":
    print(f"written: {main(*sys.argv[1:] or ['dist'])}")
