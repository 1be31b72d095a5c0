"""Build what guests are made of, once per content: file systems, disks, jobs, the
agent."""

import hashlib
import lzma
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab import LabError

ROOT: Final = Path(__file__).resolve().parent.parent
FILES: Final = ROOT / "lab" / "files"
BUILD_S: Final = 1800
XZ: Final = b"\xfd7zXZ\x00"
KERNELS: Final = ("linpack", "memory", "system")
RAW_MIB: Final = 64
FLAGS: Final = ("-O2", "-std=c99", "-static")
COMMON: Final = ("python3", "iproute2", "kmod", "procps")


@dataclass(frozen=True)
class Recipe:
    """What goes into an image, and how large its disk is."""

    name: str
    packages: tuple[str, ...]
    disk_mib: int


GUEST: Final = Recipe("guest", (*COMMON, "linux-image-cloud-amd64", "sysbench"), 700)
TOWER: Final = Recipe(
    "tower",
    (*COMMON, "linux-image-amd64", "xen-system-amd64", "qemu-system-x86"),
    1600,
)


class Image:
    """A built image: its root file system, its disk, and what a machine boots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.disk = folder / "root", folder / "disk.img"
        self.kernel, self.initrd = folder / "vmlinuz", folder / "initrd"
        self.xen = folder / "xen"


def own_sources(root: Path = Path("/etc/apt")) -> Path:
    """Return where this machine itself gets Debian from."""
    for path in (root / "sources.list.d/debian.sources", root / "sources.list"):
        if path.is_file() and path.read_text().strip():
            return path
    raise LabError(
        f"Neither {root}/sources.list.d/debian.sources nor {root}/sources.list says "
        "where Debian comes from. Name such a file: APT_SOURCES=FILE make lab"
    )


def codename(release: Path = Path("/etc/os-release")) -> str:
    """Return the name of this machine's Debian, which the guests get too."""
    for line in release.read_text().splitlines():
        name, _, value = line.partition("=")
        if name == "VERSION_CODENAME":
            return value.strip('"')
    raise LabError(f"{release} names no VERSION_CODENAME: the lab is for Debian.")


def key_of(recipe: Recipe, sources: Path) -> str:
    """Return a checksum of all that an image is made of."""
    digest = hashlib.sha256(repr((recipe, codename())).encode())
    for path in (sources, *(FILES / name for name in ("init", "initrd", "prepare"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def image_of(
    recipe: Recipe, folder: Path, sources: Path, say: Callable[[str], None]
) -> Image:
    """Return an image; build it if there is none of these ingredients."""
    image = Image(folder / f"{recipe.name}-{key_of(recipe, sources)}")
    if image.disk.is_file():
        return image
    say(f"building the {recipe.name} image; this is done once")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = Image(folder / f"{recipe.name}.unfinished")
    shutil.rmtree(unfinished.folder, ignore_errors=True)
    unfinished.folder.mkdir()
    log = folder / f"{recipe.name}.log"
    _fill(recipe, unfinished, sources, log)
    boot = unfinished.root / "boot"
    # QEMU boots them from files of this machine: a disk needs no boot loader.
    for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
        shutil.copy(sorted(boot.glob(pattern))[-1], unfinished.folder / name)
    kernel = unfinished.kernel.read_bytes()
    unfinished.kernel.write_bytes(unpacked_kernel(kernel))
    for packed in boot.glob("xen-*-amd64.gz"):  # QEMU loads it unpacked only
        with unfinished.xen.open("wb") as unpacked:
            subprocess.run(["gzip", "-dc", str(packed)], stdout=unpacked, check=True)
    # Write the file system without mounting anything.
    argv = ["mke2fs", "-q", "-t", "ext4", "-d", str(unfinished.root)]
    _run([*argv, str(unfinished.disk), f"{recipe.disk_mib}M"], log, {})
    # The unfinished one has a dot where these have a dash, and stays.
    for old in folder.glob(f"{recipe.name}-*"):
        shutil.rmtree(old)
    unfinished.folder.rename(image.folder)
    return image


def unpacked_kernel(kernel: bytes) -> bytes:
    """Return a kernel's ELF, unpacked from xz to save half an emulated boot."""
    start = kernel.find(XZ)
    if start < 0:
        return kernel
    # What follows the stream is the rest of the loader.
    return lzma.LZMADecompressor().decompress(kernel[start:])


def _fill(recipe: Recipe, image: Image, sources: Path, log: Path) -> None:
    argv = ["mmdebstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}"]
    prepare = shlex.quote(str(FILES / "prepare"))
    # mmdebstrap gives a hook the new root's folder as $1.
    argv += [f'--customize-hook=sh {prepare} "$1"']
    argv += [codename(), str(image.root), str(sources)]
    _run(argv, log, {"VIRTLAB_FILES": str(FILES)})


def _run(argv: list[str], log: Path, more: dict[str, str]) -> None:
    # Debian's PATH for ordinary users lacks the folder of mke2fs.
    path = os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/sbin"])
    with log.open("ab") as file:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path, **more},
            timeout=BUILD_S,
        )
    if done.returncode != 0:
        last = "\n  ".join(log.read_text(errors="replace").splitlines()[-8:])
        raise LabError(f"{argv[0]} failed; {log} ends with:\n  {last}")


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
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name)
    # The job holds a token.
    path.chmod(0o600)
    return path


def write_raw(path: Path) -> Path:
    """Write a fully allocated file system for a raw disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for _ in range(RAW_MIB):
            file.write(bytes(1024 * 1024))
        os.fsync(file.fileno())
    # Without `nodiscard` the zeros were given back to the disk of this machine.
    how = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
    argv = ["mke2fs", "-q", "-F", "-t", "ext4", "-E", how, str(path)]
    _run(argv, path.with_suffix(".log"), {})
    return path


def agents_files(agent: Path) -> dict[str, Path]:
    """Return what every system that measures is given."""
    return {"virtlab-agent.pyz": agent, "clock.py": FILES / "clock.py"}


def binary_of(kernel: str, folder: Path) -> Path:
    """Return where `pack_agent` lays a kernel's program."""
    return folder / "binaries" / f"{kernel}-linux-x86_64"


def pack_agent(folder: Path) -> Path:
    """Compile static kernels once for all systems, and pack the agent with them."""
    binaries = folder / "binaries"
    binaries.mkdir(parents=True, exist_ok=True)
    agent = folder / "virtlab-agent.pyz"
    words = " ".join(("gcc", *FLAGS))
    commands = [
        [
            *("gcc", *FLAGS, "-s", f'-DVIRTLAB_FLAGS="{words}"'),
            *("-o", str(binary_of(kernel, folder))),
            str(ROOT / "agents" / "kernels" / f"{kernel}.c"),
        ]
        for kernel in KERNELS
    ]
    build = [sys.executable, "-m", "agents.build", str(agent)]
    commands.append([*build, "--with-binaries", str(binaries)])
    for argv in commands:
        done = subprocess.run(
            argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise LabError(f"{argv[0]} failed: {done.stderr.strip()[-1000:]}")
    return agent
