"""Facts of a machine, from the output of system programs. PURE.

Supported in any order, also in one text: ``lscpu``, ``dmidecode``, ``uname -a``,
``systeminfo`` (Windows), ``esxcli hardware cpu global get``, ``... memory get``, ``...
platform get`` and ``esxcli system version get``. Facts have the names of
docs/agents.md.
Data that identify a machine (serial numbers, UUIDs, names of hosts and owners) are not
read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.sentences import Sentence

MAX_CHARACTERS = 512 * 1024

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
    facts: Mapping[str, Fact]
    programs: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def read_machine(text: str) -> MachineFacts:
    """Return all facts; if programs differ, the first in alphabetical order wins."""
    text = text[:MAX_CHARACTERS].replace("\r\n", "\n")
    sections = list(_dmi_sections(text))
    # Lines are reversed, so that the first value of a name wins.
    lines = filter(None, map(_LINE.match, reversed(text.splitlines())))
    pairs = {line[1]: line[2] for line in lines}
    by_program = {
        "dmidecode": _facts_from_dmidecode(sections),
        "esxcli": _facts_from_esxcli(pairs),
        "lscpu": _facts_from_lscpu(pairs),
        "systeminfo": _facts_from_systeminfo(text, pairs),
        "uname": _facts_from_uname(text),
    }
    facts: dict[str, Fact] = {}
    programs = []
    for program, program_facts in by_program.items():
        reported = {
            name: value for name, value in program_facts.items() if value is not None
        }
        if reported:
            programs.append(program)
        for name, value in reported.items():
            facts.setdefault(name, value)
    return MachineFacts(facts, tuple(programs), tuple(_warnings(pairs, facts)))


def _dmi_sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for block in re.split(r"^Handle 0x", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        if len(lines) < 2:
            continue
        properties: dict[str, str] = {}
        for line in lines[2:]:
            if line.strip() and not line.startswith(("\t", " ")):
                break
            if match := _LINE.match(line):
                properties.setdefault(match[1], match[2])
        yield lines[1].strip(), properties


def _facts_from_dmidecode(
    sections: list[tuple[str, dict[str, str]]],
) -> dict[str, Fact | None]:
    by_title: dict[str, list[dict[str, str]]] = {}
    for title, properties in sections:
        by_title.setdefault(title, []).append(properties)

    def first(title: str, name: str) -> str | None:
        return _stated(by_title.get(title, [{}])[0].get(name))

    sockets = [
        device
        for device in by_title.get("Processor Information", [])
        if device.get("Status", "Populated").startswith("Populated")
    ]
    modules = by_title.get("Memory Device", [])
    sizes = [_bytes(device.get("Size")) for device in modules]
    kinds = {
        name: {
            text
            for device, size in zip(modules, sizes, strict=True)
            if size and (text := _stated(device.get(name)))
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


def _facts_from_esxcli(pairs: Mapping[str, str]) -> dict[str, Fact | None]:
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


def _facts_from_lscpu(pairs: Mapping[str, str]) -> dict[str, Fact | None]:
    sockets = _whole(pairs.get("Socket(s)"))
    cores_per_socket = _whole(pairs.get("Core(s) per socket"))
    threads = _whole(pairs.get("CPU(s)"))
    if "Architecture" not in pairs or threads is None:
        return {}
    family = [pairs.get(name) for name in ("CPU family", "Model", "Stepping")]
    fastest = re.match(r"\d+", pairs.get("CPU max MHz", ""))
    threads_per_core = _whole(pairs.get("Thread(s) per core"))
    return {
        "architecture": _stated(pairs["Architecture"]),
        "cpu model": _stated(pairs.get("Model name")),
        "cpu family model stepping": "/".join(filter(None, family))
        if all(family)
        else None,
        "sockets": sockets,
        "cores": sockets * cores_per_socket if sockets and cores_per_socket else None,
        "threads": threads,
        "smt": ("on" if threads_per_core > 1 else "off") if threads_per_core else None,
        "numa nodes": _whole(pairs.get("NUMA node(s)")),
        "cpu max MHz": int(fastest[0]) if fastest else None,
        "L2 cache": _stated(pairs.get("L2 cache")),
        "L3 cache": _stated(pairs.get("L3 cache")),
        "hardware virtualization": _stated(pairs.get("Virtualization")),
    }


def _facts_from_systeminfo(
    text: str, pairs: Mapping[str, str]
) -> dict[str, Fact | None]:
    if "OS Name" not in pairs or "System Type" not in pairs:
        return {}
    processors = re.findall(r"^\s+\[\d+\]: (.*?) ~(\d+) Mhz", text, re.MULTILINE)
    count = re.match(r"(\d+) Processor", pairs.get("Processor(s)", ""))
    kind = re.match(r"(x64|x86|ARM64)", pairs["System Type"], re.IGNORECASE)
    # The text is "version, date".
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


def _facts_from_uname(text: str) -> dict[str, Fact | None]:
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


def _warnings(pairs: Mapping[str, str], facts: Mapping[str, Fact]) -> Iterator[str]:
    if hypervisor := pairs.get("Hypervisor vendor"):
        yield Sentence(
            "lscpu reports a hypervisor ({name}), so this output comes from a "
            "guest. The facts of a host must come from the machine itself.",
            name=hypervisor,
        )
    machine_name = " ".join(
        str(facts.get(name, "")) for name in ("machine vendor", "machine")
    )
    if match := _VIRTUAL.search(machine_name):
        yield Sentence(
            "{machine} is not a physical machine ({name}), so this output comes "
            "from a guest. The facts of a host must come from the machine itself.",
            machine=machine_name.strip(),
            name=match[0],
        )


def _stated(text: str | None) -> str | None:
    """Return the text, or None for a placeholder of the firmware."""
    text = " ".join((text or "").split())
    return None if text.casefold() in _NOTHING else text[:300]


def _whole(text: str | None) -> int | None:
    return (
        int(text)
        if text and text.isascii() and text.isdigit() and len(text) < 10
        else None
    )


def _total(parts: list[dict[str, str]], name: str) -> int | None:
    counts = [_whole(part.get(name)) for part in parts]
    numbers = [count for count in counts if count is not None]
    return sum(numbers) if numbers and len(numbers) == len(counts) else None


def _bytes(text: str | None) -> int | None:
    match = _SIZE.match(text or "")
    digits = re.sub(r"\D", "", match[1]) if match else ""
    if match is None or not digits or len(digits) > 18:
        return None
    power: int = _UNITS[match[2].lower().replace("ib", "b")]
    return int(digits) * int(1024**power)
