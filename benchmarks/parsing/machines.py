"""Facts of a machine, out of what its own programs print. PURE.

Understood, in any order and one after the other in one text: ``lscpu``, ``dmidecode``,
``uname -a``, ``systeminfo`` (Windows), ``esxcli hardware cpu global get``, ``... memory
get``, ``... platform get`` and ``esxcli system version get``. The facts have the names
that agents use (docs/agents.md). What tells a machine from all others of its kind
(serial numbers, UUIDs, names of hosts and owners) is not taken.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.sentences import Sentence

LIMIT = 512 * 1024
"""More characters than this no machine says of itself."""

_LINE = re.compile(r"^[ \t]*([^:\n]{1,60}?)[ \t]*:[ \t]*(.*?)[ \t]*$")
_UNAME = re.compile(
    r"^(Linux|FreeBSD|NetBSD|OpenBSD|DragonFly|Darwin|SunOS|VMkernel) \S+ (\S+) (.*)$",
    re.MULTILINE,
)
_ARCHITECTURES = re.compile(
    r"\b(x86_64|amd64|i[3-6]86|aarch64|arm64|armv\w+|ppc64\w*|s390x|riscv64|sun4[uv])\b"
)
_SIZE = re.compile(r"([\d.,\s]+?)\s*(bytes|[kKMGT]i?B)", re.IGNORECASE)
_UNITS = {"bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4}
_NOTHING = {
    *("", "unknown", "none", "n/a", "not specified", "not provided", "default string"),
    *(
        "to be filled by o.e.m.",
        "system manufacturer",
        "system product name",
        "<out of spec>",
    ),
}
_VIRTUAL = re.compile(
    r"\b(kvm|qemu|xen|hvm domu|vmware|virtualbox|bochs|virtual machine|parallels|bhyve|"
    r"firecracker)\b",
    re.IGNORECASE,
)

Fact = str | int


@dataclass(frozen=True)
class MachineFacts:
    """The facts, by which programs, and doubts about them."""

    facts: Mapping[str, Fact]
    programs: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def read_machine(text: str) -> MachineFacts:
    """Return a text's facts; of several programs the first in ``found`` wins."""
    text = text[:LIMIT].replace("\r\n", "\n")
    sections = list(_dmi_sections(text))
    # From the last line, so that the first one of a name wins.
    lines = filter(None, map(_LINE.match, reversed(text.splitlines())))
    pairs = {line[1]: line[2] for line in lines}
    found = {
        "dmidecode": _of_dmidecode(sections),
        "esxcli": _of_esxcli(pairs),
        "lscpu": _of_lscpu(pairs),
        "systeminfo": _of_systeminfo(text, pairs),
        "uname": _of_uname(text),
    }
    facts: dict[str, Fact] = {}
    programs = []
    for program, own in found.items():
        known = {name: value for name, value in own.items() if value is not None}
        if known:
            programs.append(program)
        for name, value in known.items():
            facts.setdefault(name, value)
    return MachineFacts(facts, tuple(programs), tuple(_doubts(pairs, facts)))


def _dmi_sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each structure of dmidecode: its title and its properties."""
    for block in re.split(r"^Handle 0x", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        if len(lines) < 2:
            continue
        properties: dict[str, str] = {}
        for line in lines[2:]:
            # Structures are indented; whatever follows the last one is not.
            if line.strip() and not line.startswith(("\t", " ")):
                break
            if match := _LINE.match(line):
                properties.setdefault(match[1], match[2])
        yield lines[1].strip(), properties


def _of_dmidecode(sections: list[tuple[str, dict[str, str]]]) -> dict[str, Fact | None]:
    by_title: dict[str, list[dict[str, str]]] = {}
    for title, properties in sections:
        by_title.setdefault(title, []).append(properties)

    def first(title: str, name: str) -> str | None:
        return _stated(by_title.get(title, [{}])[0].get(name))

    sockets = [
        each
        for each in by_title.get("Processor Information", [])
        if each.get("Status", "Populated").startswith("Populated")
    ]
    modules = by_title.get("Memory Device", [])
    sizes = [_bytes(each.get("Size")) for each in modules]
    kinds = {
        name: {
            text
            for each, size in zip(modules, sizes, strict=True)
            if size and (text := _stated(each.get(name)))
        }
        for name in ("Type", "Configured Memory Speed", "Speed")
    }
    speeds = kinds["Configured Memory Speed"] or kinds["Speed"]
    return {
        "machine vendor": first("System Information", "Manufacturer"),
        "machine": first("System Information", "Product Name"),
        "firmware": first("BIOS Information", "Version"),
        "cpu model": _stated(sockets[0].get("Version")) if sockets else None,
        "sockets": len(sockets) or None,
        "cores": _total(sockets, "Core Count"),
        "threads": _total(sockets, "Thread Count"),
        "memory bytes": sum(filter(None, sizes)) or None,
        "memory modules": sum(map(bool, sizes)) or None,
        "memory type": ", ".join(sorted(kinds["Type"])) or None,
        "memory speed": ", ".join(sorted(speeds)) or None,
    }


def _of_esxcli(pairs: Mapping[str, str]) -> dict[str, Fact | None]:
    is_platform = "Product Name" in pairs and "Enclosure Serial Number" in pairs
    is_version = pairs.get("Product", "").startswith("VMware ESX")
    build = re.search(r"\d+", pairs.get("Build", "")) if is_version else None
    active = {"true": "on", "false": "off"}.get(pairs.get("Hyperthreading Active", ""))
    words = (pairs.get("Product"), pairs.get("Version"))
    return {
        "sockets": _whole(pairs.get("CPU Packages")),
        "cores": _whole(pairs.get("CPU Cores")),
        "threads": _whole(pairs.get("CPU Threads")),
        "smt": active,
        "memory bytes": _bytes(pairs.get("Physical Memory")),
        "numa nodes": _whole(pairs.get("NUMA Node Count")),
        "machine": _stated(pairs.get("Product Name")) if is_platform else None,
        "machine vendor": _stated(pairs.get("Vendor Name")) if is_platform else None,
        "distribution": " ".join(filter(None, words)) if is_version else None,
        "hypervisor build": build[0] if build else None,
    }


def _of_lscpu(pairs: Mapping[str, str]) -> dict[str, Fact | None]:
    sockets = _whole(pairs.get("Socket(s)"))
    each = _whole(pairs.get("Core(s) per socket"))
    threads = _whole(pairs.get("CPU(s)"))
    if "Architecture" not in pairs or threads is None:
        return {}
    family = [pairs.get(name) for name in ("CPU family", "Model", "Stepping")]
    fastest = re.match(r"\d+", pairs.get("CPU max MHz", ""))
    a_core = _whole(pairs.get("Thread(s) per core"))
    return {
        "architecture": _stated(pairs["Architecture"]),
        "cpu model": _stated(pairs.get("Model name")),
        "cpu family model stepping": "/".join(filter(None, family))
        if all(family)
        else None,
        "sockets": sockets,
        "cores": sockets * each if sockets and each else None,
        "threads": threads,
        "smt": ("on" if a_core > 1 else "off") if a_core else None,
        "numa nodes": _whole(pairs.get("NUMA node(s)")),
        "cpu max MHz": int(fastest[0]) if fastest else None,
        "L2 cache": _stated(pairs.get("L2 cache")),
        "L3 cache": _stated(pairs.get("L3 cache")),
        "hardware virtualization": _stated(pairs.get("Virtualization")),
    }


def _of_systeminfo(text: str, pairs: Mapping[str, str]) -> dict[str, Fact | None]:
    if "OS Name" not in pairs or "System Type" not in pairs:
        return {}
    processors = re.findall(r"^\s+\[\d+\]: (.*?) ~(\d+) Mhz", text, re.MULTILINE)
    count = re.match(r"(\d+) Processor", pairs.get("Processor(s)", ""))
    kind = re.match(r"(x64|x86|ARM64)", pairs["System Type"], re.IGNORECASE)
    # "Version, day": the day says no more.
    firmware = pairs.get("BIOS Version", "").rpartition(",")
    return {
        "distribution": _stated(pairs["OS Name"]),
        "kernel": _stated(pairs.get("OS Version")),
        "machine vendor": _stated(pairs.get("System Manufacturer")),
        "machine": _stated(pairs.get("System Model")),
        "firmware": _stated(firmware[0] or firmware[2]),
        "architecture": kind[1].lower() if kind else None,
        "cpu model": processors[0][0] if processors else None,
        "cpu nominal MHz": int(processors[0][1]) if processors else None,
        "sockets": int(count[1]) if count else None,
        "memory bytes": _bytes(pairs.get("Total Physical Memory")),
    }


def _of_uname(text: str) -> dict[str, Fact | None]:
    match = _UNAME.search(text)
    if match is None:
        return {}
    architectures = _ARCHITECTURES.findall(match[3])
    build = re.search(r"build-(\d+)", match[3]) if match[1] == "VMkernel" else None
    return {
        "kernel": match[2] if match[1] == "Linux" else f"{match[1]} {match[2]}",
        "architecture": architectures[-1] if architectures else None,
        "hypervisor build": build[1] if build else None,
    }


def _doubts(pairs: Mapping[str, str], facts: Mapping[str, Fact]) -> Iterator[str]:
    if hypervisor := pairs.get("Hypervisor vendor"):
        yield Sentence(
            "lscpu names a hypervisor, {name}: this was printed in a guest. The facts "
            "of a host are those of the machine itself.",
            name=hypervisor,
        )
    named = " ".join(str(facts.get(name, "")) for name in ("machine vendor", "machine"))
    if match := _VIRTUAL.search(named):
        yield Sentence(
            "{machine} is not a physical machine ({name}): this was printed in a "
            "guest. The facts of a host are those of the machine itself.",
            machine=named.strip(),
            name=match[0],
        )


def _stated(text: str | None) -> str | None:
    """Return a text, None for what firmware says where nothing was filled in."""
    text = " ".join((text or "").split())
    return None if text.casefold() in _NOTHING else text[:300]


def _whole(text: str | None) -> int | None:
    return (
        int(text)
        if text and text.isascii() and text.isdigit() and len(text) < 10
        else None
    )


def _total(parts: list[dict[str, str]], name: str) -> int | None:
    """Return a sum; None where any part lacks the number."""
    counts = [_whole(each.get(name)) for each in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _bytes(text: str | None) -> int | None:
    """Return a size in bytes (prefixes of 1,024); ignore thousands separators."""
    match = _SIZE.match(text or "")
    digits = re.sub(r"\D", "", match[1]) if match else ""
    if match is None or not digits or len(digits) > 18:
        return None
    power: int = _UNITS[match[2].lower().replace("ib", "b")]
    return int(digits) * int(1024**power)
