"""Guesses of a system from folder names like ``esxi8_debian12_4vcpu_8G``. PURE."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.hypervisor_names import (
    HYPERVISOR_BY_SPELLING,
    NATIVE,
    VIRTUALIZATION_BY_SPELLING,
    canonical_platform,
)
from benchmarks.parsing.machine_facts import read_machine
from benchmarks.tools import TOOLS

MAX_NAME_LENGTH: Final = 200
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
# The number of words in the longest name of a platform.
_LONGEST_NAME: Final = 5


@dataclass(frozen=True)
class SystemGuess:
    """A guess of a system; unknown fields are empty.

    ``sources`` maps the other fields to the origin of their values.
    """

    hypervisor: str = ""
    hypervisor_version: str = ""
    virtualization: str = ""
    guest_os: str = ""
    guest_bits: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


def guess_from_name(name: str) -> SystemGuess:
    text = _ARCHIVE.sub("", name[:MAX_NAME_LENGTH])
    words = [word.casefold() for word in _WORD.findall(text)]
    guessed: dict[str, object] = {}
    if platform := _platform(words):
        hypervisor, version, begin, end = platform
        guessed["hypervisor"] = hypervisor
        rest = words[end:]
        if not version and rest and (number := _NUMBER.fullmatch(rest[0])):
            version, end = number[1], end + 1
        if version and hypervisor != NATIVE:
            guessed["hypervisor_version"] = version
        words = [*words[:begin], *words[end:]]
    for index, word in enumerate(words):
        next_word = words[index + 1] if index + 1 < len(words) else ""
        joined = f"{word}{next_word}"
        stem, digits = _split(word)
        if VIRTUALIZATION_BY_SPELLING.get(word):
            guessed.setdefault("virtualization", VIRTUALIZATION_BY_SPELLING[word])
        elif stem in _SYSTEMS:
            number_match = _NUMBER.fullmatch(next_word)
            digits = digits or (number_match[1] if number_match else "")
            guessed.setdefault("guest_os", f"{_SYSTEMS[stem]} {digits}".strip())
        elif word in _BITS or joined in _BITS:
            guessed.setdefault("guest_bits", _BITS.get(word) or _BITS[joined])
        elif vcpus := _VCPUS.fullmatch(word) or _VCPUS.fullmatch(joined):
            guessed.setdefault("vcpus", int(vcpus[1]) or None)
        elif memory := _MEMORY.fullmatch(word) or _MEMORY.fullmatch(joined):
            guessed.setdefault("memory_bytes", int(memory[1]) * GIB or None)
    return SystemGuess(**guessed, sources=dict.fromkeys(guessed, "name"))  # type: ignore[arg-type]


def system_folder(path: str) -> str:
    """Return the folder that represents a file's system, or "".

    This is the innermost folder that names a platform, else the innermost one that is
    not a tool or a repetition.
    """
    folders = path.split("/")[:-1]
    for end in range(len(folders), 0, -1):
        if guess_from_name(folders[end - 1]).hypervisor:
            return "/".join(folders[:end])
    while folders and (
        folders[-1].casefold() in _TOOLS or _TURN.fullmatch(folders[-1])
    ):
        folders.pop()
    if len(folders) == 1 and _ARCHIVE.search(folders[0]):
        return ""
    return "/".join(folders)


def add_file_facts(guess: SystemGuess, texts: Sequence[str]) -> SystemGuess:
    """Add facts to a guess, from outputs of ``lscpu``, ``systemd-detect-virt``, ..."""
    added: dict[str, object] = {}
    origins: dict[str, str] = {}

    def add(name: str, value: object, program: str) -> None:
        if value and name not in added:
            added[name], origins[name] = value, program

    for text in texts:
        word = " ".join(text.split())
        if len(word) <= 40 and (detected := _detected(word)):
            add("hypervisor", detected, word)
            continue
        facts = read_machine(text).facts
        if vendor := re.search(r"^Hypervisor vendor: *(.+?) *$", text, re.MULTILINE):
            add("hypervisor", _detected(vendor[1]), "lscpu")
            kind = re.search(r"^Virtualization type: *(\S+)", text, re.MULTILINE)
            add(
                "virtualization",
                VIRTUALIZATION_BY_SPELLING.get(kind[1], "") if kind else "",
                "",
            )
        if "architecture" in facts:
            is_wide = str(facts["architecture"]).endswith(("64", "s390x"))
            add("guest_bits", 64 if is_wide else 32, "architecture")
        add("guest_os", facts.get("distribution"), "systeminfo")
        is_guest = "hypervisor" in added or guess.hypervisor not in ("", NATIVE)
        if is_guest:
            add("vcpus", facts.get("threads"), "lscpu")
            add("memory_bytes", facts.get("memory bytes"), "dmidecode")
    if added.get("hypervisor") not in (None, guess.hypervisor) and guess.hypervisor:
        # Either the guest is nested or its folder is misnamed, so the user decides.
        del added["hypervisor"]
    return replace(guess, **added, sources={**guess.sources, **origins})  # type: ignore[arg-type]


def _split(word: str) -> tuple[str, str]:
    parts = _NUMBERED.fullmatch(word)
    return (parts[1], parts[2]) if parts else (word, "")


def _platform(words: Sequence[str]) -> tuple[str, str, int, int] | None:
    for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
        for begin in range(len(words) - length + 1):
            phrase = words[begin : begin + length]
            if platform := HYPERVISOR_BY_SPELLING.get(" ".join(phrase)):
                return platform, "", begin, begin + length
            *head, last = phrase
            stem, number = _split(last)
            if number and (
                platform := HYPERVISOR_BY_SPELLING.get(" ".join([*head, stem]))
            ):
                return platform, number, begin, begin + length
    for begin, word in enumerate(words):
        if word in _NATIVE:
            return NATIVE, "", begin, begin + 1
    return None


def _detected(word: str) -> str:
    if word.casefold() in {"vmware", "microsoft", "qemu", "oracle"}:
        # Microsoft and Oracle have a single hypervisor; the others are not unique.
        return {"microsoft": "Hyper-V", "oracle": "VirtualBox"}.get(word.casefold(), "")
    platform = canonical_platform(word).hypervisor
    return platform if platform in HYPERVISOR_BY_SPELLING.values() else ""
