"""Disks as Linux describes them: model, rotation, scheduler and cache."""

import os
from typing import Any, Dict, Optional

from agents.detection.cpus import chosen
from agents.files import link_of, names_in, text_of, whole_number_of

_SECTOR_BYTES = 512  # /sys/block/*/size counts these, whatever the disk has
_MADE_UP = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


def facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    """Return each disk by its name; what the kernel makes up itself is left out."""
    folder = os.path.join(root, "sys/block")
    names = [name for name in names_in(folder) if not name.startswith(_MADE_UP)]
    return {name: _disk(os.path.join(folder, name)) for name in names}


def _disk(folder: str) -> Dict[str, Any]:
    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(folder, path))

    sectors = whole_number_of(os.path.join(folder, "size"))
    return {
        "model": text("device/model"),
        "vendor": text("device/vendor"),
        "bytes": None if sectors is None else sectors * _SECTOR_BYTES,
        "rotational": {"0": "no", "1": "yes"}.get(text("queue/rotational") or ""),
        "scheduler": _scheduler(text("queue/scheduler")),
        "write cache": text("queue/write_cache"),
        "queue depth": whole_number_of(os.path.join(folder, "queue/nr_requests")),
        "read ahead KiB": whole_number_of(os.path.join(folder, "queue/read_ahead_kb")),
        "driver": _driver(os.path.join(folder, "device/driver")),
    }


def _scheduler(text: Optional[str]) -> Optional[str]:
    """Return the chosen one; a disk with only one shows it without brackets."""
    return chosen(text) or text


def _driver(link: str) -> Optional[str]:
    target = link_of(link)
    return os.path.basename(target) if target else None
