"""Guess a system from the names of folders like ``esxi8_debian12_4vcpu_8G``. PURE."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.parsing.machines import read_machine
from benchmarks.platforms import (
    HYPERVISORS,
    NATIVE,
    VIRTUALIZATIONS,
    canonical_platform,
)
from benchmarks.tools import TOOLS

LONGEST: Final = 200
GIB: Final = 1024**3
_ARCHIVE: Final = re.compile(r"\.(zip|tar|tgz|tar\.\w{1,4})$", re.IGNORECASE)
_TOOLS: Final = frozenset(TOOLS).union(*(tool.programs for tool in TOOLS.values()))
_TURN: Final = re.compile(
    r"(?:runs?|rep|repeat|repetition|iteration|session|day|r)?[ _-]?\d{1,6}",
    re.IGNORECASE,
)
_NATIVE: Final = frozenset({"host", "metal", "physical", "bare", "nativ", "natively"})
_WORD: Final = re.compile(r"[^\W_]+(?:\.\d+)*")
_NUMBERED: Final = re.compile(r"([^\W\d_]+?)v?(\d+(?:\.\d+)*)")
_NUMBER: Final = re.compile(r"v?(\d+(?:\.\d+)*)")
_VCPUS: Final = re.compile(r"(\d{1,4})(?:v?cpus?|v?cores?|p|c)")
_MEMORY: Final = re.compile(r"(\d{1,4})(?:g|gb|gib)")
_BITS: Final = {
    **dict.fromkeys(("64bit", "x64", "amd64", "arm64", "aarch64"), 64),
    **dict.fromkeys(("32bit", "x86", "i386", "i586", "i686"), 32),
}
_SYSTEMS: Final = {
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "centos": "CentOS",
    "rocky": "Rocky Linux",
    "alma": "AlmaLinux",
    "almalinux": "AlmaLinux",
    "fedora": "Fedora",
    "rhel": "RHEL",
    "suse": "SUSE",
    "opensuse": "openSUSE",
    "sles": "SLES",
    "alpine": "Alpine",
    "arch": "Arch Linux",
    "freebsd": "FreeBSD",
    "openbsd": "OpenBSD",
    "netbsd": "NetBSD",
    "windows": "Windows",
    "win": "Windows",
    "linux": "Linux",
}
# So many words the longest name of a platform has.
_LONGEST_NAME: Final = 5


@dataclass(frozen=True)
class Guess:
    """A guessed system; empty: not known. ``said`` is where each field was found."""

    hypervisor: str = ""
    hypervisor_version: str = ""
    virtualization: str = ""
    guest_os: str = ""
    guest_bits: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    said: Mapping[str, str] = field(default_factory=dict)


def named(name: str) -> Guess:
    """Return the system that the name of a folder or an archive states."""
    text = _ARCHIVE.sub("", name[:LONGEST])
    words = [word.casefold() for word in _WORD.findall(text)]
    found: dict[str, object] = {}
    if platform := _platform(words):
        hypervisor, version, at, end = platform
        found["hypervisor"] = hypervisor
        rest = words[end:]
        if not version and rest and (number := _NUMBER.fullmatch(rest[0])):
            version, end = number[1], end + 1
        if version and hypervisor != NATIVE:
            found["hypervisor_version"] = version
        words = [*words[:at], *words[end:]]
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        both = f"{word}{after}"
        stem, digits = _split(word)
        if VIRTUALIZATIONS.get(word):
            found.setdefault("virtualization", VIRTUALIZATIONS[word])
        elif stem in _SYSTEMS:
            later = _NUMBER.fullmatch(after)
            digits = digits or (later[1] if later else "")
            found.setdefault("guest_os", f"{_SYSTEMS[stem]} {digits}".strip())
        elif word in _BITS or both in _BITS:
            found.setdefault("guest_bits", _BITS.get(word) or _BITS[both])
        elif vcpus := _VCPUS.fullmatch(word) or _VCPUS.fullmatch(both):
            found.setdefault("vcpus", int(vcpus[1]) or None)
        elif memory := _MEMORY.fullmatch(word) or _MEMORY.fullmatch(both):
            found.setdefault("memory_bytes", int(memory[1]) * GIB or None)
    return Guess(**found, said=dict.fromkeys(found, "name"))  # type: ignore[arg-type]


def folder_of(path: str) -> str:
    """Return the folder that stands for a file's system; "" if there is none.

    The innermost one that names a platform, else that is not a tool or a repetition.
    """
    folders = path.split("/")[:-1]
    for end in range(len(folders), 0, -1):
        if named(folders[end - 1]).hypervisor:
            return "/".join(folders[:end])
    while folders and (
        folders[-1].casefold() in _TOOLS or _TURN.fullmatch(folders[-1])
    ):
        folders.pop()
    if len(folders) == 1 and _ARCHIVE.search(folders[0]):
        return ""
    return "/".join(folders)


def with_files(guess: Guess, texts: Sequence[str]) -> Guess:
    """Add what ``lscpu``, ``systemd-detect-virt`` and the like print."""
    found: dict[str, object] = {}
    said: dict[str, str] = {}

    def take(name: str, value: object, program: str) -> None:
        if value and name not in found:
            found[name], said[name] = value, program

    for text in texts:
        word = " ".join(text.split())
        if len(word) <= 40 and (known := _detected(word)):
            take("hypervisor", known, word)
            continue
        facts = read_machine(text).facts
        if vendor := re.search(r"^Hypervisor vendor: *(.+?) *$", text, re.MULTILINE):
            take("hypervisor", _detected(vendor[1]), "lscpu")
            kind = re.search(r"^Virtualization type: *(\S+)", text, re.MULTILINE)
            take("virtualization", VIRTUALIZATIONS.get(kind[1], "") if kind else "", "")
        if "architecture" in facts:
            is_wide = str(facts["architecture"]).endswith(("64", "s390x"))
            take("guest_bits", 64 if is_wide else 32, "architecture")
        take("guest_os", facts.get("distribution"), "systeminfo")
        # Of a guest these are what it was given.
        is_guest = "hypervisor" in found or guess.hypervisor not in ("", NATIVE)
        if is_guest:
            take("vcpus", facts.get("threads"), "lscpu")
            take("memory_bytes", facts.get("memory bytes"), "dmidecode")
    if found.get("hypervisor") not in (None, guess.hypervisor) and guess.hypervisor:
        # Nested, or a folder of another name: the person says which it is.
        del found["hypervisor"]
    return replace(guess, **found, said={**guess.said, **said})  # type: ignore[arg-type]


def _split(word: str) -> tuple[str, str]:
    """Return a word and the number at its end: ("esxi", "8")."""
    parts = _NUMBERED.fullmatch(word)
    return (parts[1], parts[2]) if parts else (word, "")


def _platform(words: Sequence[str]) -> tuple[str, str, int, int] | None:
    """Return the platform that most words name: name, version, begin, end."""
    for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            some = words[at : at + length]
            if known := HYPERVISORS.get(" ".join(some)):
                return known, "", at, at + length
            *before, last = some
            stem, number = _split(last)
            if number and (known := HYPERVISORS.get(" ".join([*before, stem]))):
                return known, number, at, at + length
    for at, word in enumerate(words):
        if word in _NATIVE:
            return NATIVE, "", at, at + 1
    return None


def _detected(word: str) -> str:
    """Return the platform of the vocabulary that a program's one word means."""
    if word.casefold() in {"vmware", "microsoft", "qemu", "oracle"}:
        # Which product of theirs is not said; of Microsoft there is one.
        return {"microsoft": "Hyper-V", "oracle": "VirtualBox"}.get(word.casefold(), "")
    known = canonical_platform(word).hypervisor
    return known if known in HYPERVISORS.values() else ""
