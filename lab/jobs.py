"""What a guest is given: a folder, or a tar on a disk of its own."""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from lab.images import FILES


def write_job(
    folder: Path, start: str, copies: Mapping[str, Path], texts: Mapping[str, str]
) -> Path:
    """Write a job's folder anew: its script, copied files and short texts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for name, source in copies.items():
        shutil.copy(source, folder / name)
    for name, text in {"start": start, **texts}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o700)
    return folder


def write_disk(folder: Path) -> Path:
    """Write a job's folder as a tar of whole sectors, as a disk has them."""
    path = folder.with_suffix(".tar")
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for each in sorted(folder.iterdir()):
            archive.add(each, each.name)
    path.chmod(0o600)
    return path


def agents_files(agent: Path) -> dict[str, Path]:
    """Return what every system that measures is given."""
    return {"virtlab-agent.pyz": agent, "clock.py": FILES / "clock.py"}
