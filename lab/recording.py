"""A whole result as one small file, from which any installation can load it again."""

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agents.client import Client
from lab.desk import Upload


def write_record(
    path: Path, client: Client, study: str, uploads: Iterable[Upload]
) -> None:
    """Write study, machine and uploads as they were sent, in the order of time.

    The study is called as the file is. Only a system that was named by its number
    on that server is written out: another server has other numbers.
    """
    name = path.name.partition(".")[0]
    systems = {
        each["id"]: _kept(each, SYSTEM)
        for each in client.get_all("systems/", study=study)
    }
    runs = [{**_named(upload, systems), "study": name} for upload in uploads]
    runs.sort(key=lambda run: (run["started_at"], run["key"]))
    hosts = {run["system"]["host"] for run in runs}
    content = {
        "study": {
            **_kept(client.get(f"studies/{study}/"), STUDY),
            "slug": name,
        },
        "hosts": [
            _kept(host, HOST)
            for host in client.get_all("hosts/")
            if host["slug"] in hosts
        ],
        "runs": runs,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


STUDY = ("slug", "title", "published", "note", "visibility")
HOST = ("slug", "title", "facts")
SYSTEM = (
    *("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes", "options"),
)


def _named(upload: Upload, systems: dict[int, dict[str, Any]]) -> Upload:
    named = upload["system"]
    return {**upload, "system": systems[named] if isinstance(named, int) else named}


def _kept(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return what was stated of these; nothing is sent again as an empty field."""
    return {
        name: document[name] for name in names if document.get(name) not in (None, "")
    }
