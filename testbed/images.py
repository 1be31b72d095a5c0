"""Images and disks of guests, jobs (folders of files) and the packed agent.

Images are built again only if their content changes.
"""

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

from testbed import TestbedError

ROOT: Final = Path(__file__).resolve().parent.parent
FILES: Final = ROOT / "testbed" / "files"
BUILD_TIMEOUT_S: Final = 1800
XZ: Final = b"\xfd7zXZ\x00"
KERNELS: Final = ("linpack", "memory", "system")
RAW_MIB: Final = 64
FLAGS: Final = ("-O2", "-std=c99", "-static")
COMMON: Final = ("python3", "iproute2", "kmod", "procps")


@dataclass(frozen=True)
class ImageRecipe:
    name: str
    packages: tuple[str, ...]
    disk_mib: int


GUEST: Final = ImageRecipe(
    "guest", (*COMMON, "linux-image-cloud-amd64", "sysbench"), 700
)
NESTED_HOST: Final = ImageRecipe(
    "tower",
    (*COMMON, "linux-image-amd64", "xen-system-amd64", "qemu-system-x86"),
    1600,
)


class Image:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.disk = folder / "root", folder / "disk.img"
        self.kernel, self.initrd = folder / "vmlinuz", folder / "initrd"
        self.xen = folder / "xen"


def own_sources(root: Path = Path("/etc/apt")) -> Path:
    for path in (root / "sources.list.d/debian.sources", root / "sources.list"):
        if path.is_file() and path.read_text().strip():
            return path
    raise TestbedError(
        f"Neither {root}/sources.list.d/debian.sources nor {root}/sources.list has "
        "Debian's sources. Name another file: APT_SOURCES=FILE make testbed"
    )


def codename(release: Path = Path("/etc/os-release")) -> str:
    """Return the codename of this machine's Debian, which the guests use too."""
    for line in release.read_text().splitlines():
        name, _, value = line.partition("=")
        if name == "VERSION_CODENAME":
            return value.strip('"')
    raise TestbedError(f"{release} has no VERSION_CODENAME. The testbed needs Debian.")


def image_key(recipe: ImageRecipe, sources: Path) -> str:
    digest = hashlib.sha256(repr((recipe, codename())).encode())
    for path in (sources, *(FILES / name for name in ("init", "initrd", "prepare"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def build_image(
    recipe: ImageRecipe, folder: Path, sources: Path, say: Callable[[str], None]
) -> Image:
    image = Image(folder / f"{recipe.name}-{image_key(recipe, sources)}")
    if image.disk.is_file():
        return image
    say(f"building the {recipe.name} image (only once)")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = Image(folder / f"{recipe.name}.unfinished")
    shutil.rmtree(unfinished.folder, ignore_errors=True)
    unfinished.folder.mkdir()
    log = folder / f"{recipe.name}.log"
    _fill(recipe, unfinished, sources, log)
    boot = unfinished.root / "boot"
    # QEMU boots from these files, so the disk needs no boot loader.
    for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
        shutil.copy(sorted(boot.glob(pattern))[-1], unfinished.folder / name)
    kernel = unfinished.kernel.read_bytes()
    unfinished.kernel.write_bytes(unpacked_kernel(kernel))
    for packed in boot.glob("xen-*-amd64.gz"):  # QEMU cannot load it compressed
        with unfinished.xen.open("wb") as unpacked:
            subprocess.run(["gzip", "-dc", str(packed)], stdout=unpacked, check=True)
    argv = ["mke2fs", "-q", "-t", "ext4", "-d", str(unfinished.root)]
    _run([*argv, str(unfinished.disk), f"{recipe.disk_mib}M"], log, {})
    # The pattern does not match the unfinished folder, whose name has a dot.
    for old in folder.glob(f"{recipe.name}-*"):
        shutil.rmtree(old)
    unfinished.folder.rename(image.folder)
    return image


def unpacked_kernel(kernel: bytes) -> bytes:
    """Return the kernel as an ELF file; emulated processors unpack xz slowly."""
    start = kernel.find(XZ)
    if start < 0:
        return kernel
    # Bytes after the end of xz belong to the boot loader, and are ignored.
    return lzma.LZMADecompressor().decompress(kernel[start:])


def _fill(recipe: ImageRecipe, image: Image, sources: Path, log: Path) -> None:
    argv = ["mmdebstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}"]
    prepare = shlex.quote(str(FILES / "prepare"))
    # mmdebstrap passes the new root's folder as $1.
    argv += [f'--customize-hook=sh {prepare} "$1"']
    argv += [codename(), str(image.root), str(sources)]
    _run(argv, log, {"VIRTLAB_FILES": str(FILES)})


def _run(argv: list[str], log: Path, environment: dict[str, str]) -> None:
    # The PATH of ordinary users of Debian lacks the folder of mke2fs.
    path = os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/sbin"])
    with log.open("ab") as file:
        process = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path, **environment},
            timeout=BUILD_TIMEOUT_S,
        )
    if process.returncode != 0:
        end = "\n  ".join(log.read_text(errors="replace").splitlines()[-8:])
        raise TestbedError(f"{argv[0]} failed; the end of {log}:\n  {end}")


def write_job(
    folder: Path, start: str, copies: Mapping[str, Path], texts: Mapping[str, str]
) -> Path:
    """Write a job: a new folder with the script ``start``, copied files, and texts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for name, source in copies.items():
        shutil.copy(source, folder / name)
    for name, text in {"start": start, **texts}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o700)
    return folder


def write_disk(folder: Path) -> Path:
    """Write the files of a folder to a tar archive, which is used as a disk.

    GNU tar archives consist of whole sectors.
    """
    path = folder.with_suffix(".tar")
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name)
    # The job contains a token.
    path.chmod(0o600)
    return path


def write_raw_disk(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for _ in range(RAW_MIB):
            file.write(bytes(1024 * 1024))
        os.fsync(file.fileno())
    # nodiscard, because discarded blocks would no longer be allocated.
    features = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
    argv = ["mke2fs", "-q", "-F", "-t", "ext4", "-E", features, str(path)]
    _run(argv, path.with_suffix(".log"), {})
    return path


def agent_job_files(agent: Path) -> dict[str, Path]:
    return {"virtlab-agent.pyz": agent, "clock.py": FILES / "clock.py"}


def kernel_path(kernel: str, folder: Path) -> Path:
    return folder / "binaries" / f"{kernel}-linux-x86_64"


def pack_agent(folder: Path) -> Path:
    binaries = folder / "binaries"
    binaries.mkdir(parents=True, exist_ok=True)
    agent = folder / "virtlab-agent.pyz"
    words = " ".join(("gcc", *FLAGS))
    commands = [
        [
            *("gcc", *FLAGS, "-s", f'-DVIRTLAB_FLAGS="{words}"'),
            *("-o", str(kernel_path(kernel, folder))),
            str(ROOT / "agents" / "kernels" / f"{kernel}.c"),
        ]
        for kernel in KERNELS
    ]
    build = [sys.executable, "-m", "agents.build", str(agent)]
    commands.append([*build, "--with-binaries", str(binaries)])
    for argv in commands:
        process = subprocess.run(
            argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if process.returncode != 0:
            raise TestbedError(f"{argv[0]} failed: {process.stderr.strip()[-1000:]}")
    return agent
