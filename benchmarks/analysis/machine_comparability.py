"""Comparability of a guest with a native run on another machine (docs/method.md,
Machines of one model).

A *specimen* is one physical machine of a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from statistics import median
from typing import Any, Final

from benchmarks.sentences import Sentence, join_sentences

DOUBTFUL_SPEEDUP: Final = 1.05
"""A guest that is faster on one thread probably has another CPU than it states."""
CACHES: Final = ("l1_kib_per_core", "l2_kib_per_core", "l3_mib")
THREAD_PARAMETERS: Final = ("instances", "workers", "threads", "processes", "jobs")
BOOST: Final = Sentence("Boost settings are included: turbo limits may differ.")


class Level(IntEnum):
    SAME_MACHINE = 1
    SAME_MODEL = 2
    SAME_CPU = 3
    REFUSED = 4


class Load(StrEnum):
    """Which part of a machine a benchmark uses."""

    ONE_THREAD = "one thread"
    SOME_CPUS = "some CPUs"
    ALL_CPUS = "all CPUs"
    MEMORY = "memory"
    DEVICE = "device"
    CLIENT_AND_SERVER = "client and server"


NEVER_FASTER: Final = frozenset({Load.ALL_CPUS, Load.MEMORY})
"""Loads that a guest cannot run faster than its host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """The stated facts of a machine; None or empty if not stated.

    ``host`` identifies the machine, ``owner`` the provider or lab. ``memory`` is the
    number of memory modules and their transfers per second.
    """

    host: str
    owner: str
    cpu: str
    bios_cpu: str = ""
    stepping: str = ""
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    numa_nodes: int | None = None
    caches: tuple[int | None, ...] = ()
    memory: tuple[int, int] | None = None
    product_family: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far a guest can be compared with a native machine, and why."""

    level: Level
    reason: Sentence


_OWNERS: Final = {
    "aws": "amazon web services",
    "amazon": "amazon web services",
    "gcp": "google cloud",
    "google": "google cloud",
    "google cloud platform": "google cloud",
    "azure": "microsoft azure",
}
_MARKS: Final = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_NOISE: Final = re.compile(
    r"@\s*[\d.]+\s*[gm]hz|\b\d+-core\b|\b(?:processor|cpu)\b|,\s*[\d.]+ ?[gm]hz$",
    re.IGNORECASE,
)
_IN_BRACKETS: Final = re.compile(r"\(([^()]+)\)")
_VIRTUAL_BIOS: Final = re.compile(
    r"^(?:pc-|qemu|virtual|kvm|bochs|seabios|rhel|vmware|google|not |none|n/a|unknown)",
    re.IGNORECASE,
)
_MODULES: Final = re.compile(r"(\d+) x .*?(\d+) MT/s", re.IGNORECASE)


def normalized_cpu(name: str) -> str:
    """Return a CPU's name without marks, core count and frequency.

    ``INTEL(R) XEON(R) PLATINUM 8559C`` and ``Intel(R) Xeon(R) Platinum 8559C`` are one
    name, like ``AMD EPYC 7R13 48-Core Processor`` and ``AMD EPYC 7R13 Processor``.
    """
    return " ".join(_NOISE.sub(" ", _MARKS.sub(" ", name)).casefold().split())


def specimen_from_facts(host: str, owner: str, facts: Mapping[str, Any]) -> Specimen:
    """A stated provider precedes ``owner``."""
    cpu = str(facts.get("cpu") or "")
    plain = _MARKS.sub(" ", cpu)
    in_name = _IN_BRACKETS.search(plain)
    bios = str(facts.get("bios_model_name") or (in_name[1] if in_name else ""))
    modules = _MODULES.search(str(facts.get("memory_modules") or ""))
    family = str(facts.get("product_family") or "").casefold()
    return Specimen(
        host=host,
        owner=_owner(str(facts.get("provider") or owner)),
        cpu=normalized_cpu(_IN_BRACKETS.sub(" ", plain)),
        bios_cpu="" if _VIRTUAL_BIOS.match(bios) else normalized_cpu(bios),
        stepping=str(facts.get("stepping") or ""),
        sockets=_integer(facts.get("sockets")),
        cores=_integer(facts.get("cores")),
        threads=_integer(facts.get("threads")),
        numa_nodes=_integer(facts.get("numa_nodes")),
        caches=tuple(_integer(facts.get(name)) for name in CACHES),
        memory=(int(modules[1]), int(modules[2])) if modules else None,
        product_family=family,
        model=str(facts.get("machine_model") or ""),
    )


def _owner(name: str) -> str:
    plain = " ".join(name.casefold().split())
    return _OWNERS.get(plain, plain)


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def load_of(
    component: str,
    parameters: Mapping[str, Any],
    *,
    threads: int | None,
    has_local_client: bool = False,
) -> Load:
    """Return what a benchmark uses of a machine with so many CPUs.

    ``has_local_client`` means that the client runs on the machine of its server.
    Without a stated number of threads, a benchmark uses all CPUs.
    """
    if has_local_client or parameters.get("client") == "same machine":
        return Load.CLIENT_AND_SERVER
    if component == "memory":
        return Load.MEMORY
    if component in ("disk", "network"):
        return Load.DEVICE
    stated = (parameters.get(name) for name in THREAD_PARAMETERS)
    used = next((n for n in map(_integer, stated) if n), None)
    if used == 1:
        return Load.ONE_THREAD
    is_whole = used is None or threads is None or used >= threads
    return Load.ALL_CPUS if is_whole else Load.SOME_CPUS


def compare_specimens(
    native: Specimen,
    guest: Specimen,
    load: Load,
    *,
    versions: tuple[str, str] = ("", ""),
    one_thread_ratios: Sequence[float] = (),
) -> Comparison:
    """Return at which level two runs of one benchmark can be compared.

    ``versions`` are those of the tool. ``one_thread_ratios`` are the pair's relative
    performance in work of one thread, by which the identity of the CPU is checked.
    """
    if native.host == guest.host:
        return Comparison(Level.SAME_MACHINE, Sentence("Same machine."))
    refusal = _refusal(native, guest, load, versions, one_thread_ratios)
    if refusal:
        return Comparison(Level.REFUSED, refusal)
    differing = _differing(native, guest)
    if not differing:
        sentence = Sentence("On other machines of the same model; no machine ran both.")
        if load == Load.ONE_THREAD:
            sentence = join_sentences([sentence, BOOST])
        return Comparison(Level.SAME_MODEL, sentence)
    found = join_sentences(differing, ", ")
    if load == Load.ONE_THREAD:
        sentence = Sentence(
            "One thread, on another machine with this CPU ({differences}).",
            differences=found,
        )
        return Comparison(Level.SAME_CPU, join_sentences([sentence, BOOST]))
    return Comparison(
        Level.REFUSED,
        Sentence(
            "The machines differ ({differences}), and the benchmark uses more than "
            "one thread.",
            differences=found,
        ),
    )


def _refusal(
    native: Specimen,
    guest: Specimen,
    load: Load,
    versions: tuple[str, str],
    one_thread_ratios: Sequence[float],
) -> Sentence | None:
    if not (native.cpu and guest.cpu):
        return Sentence("The CPU model of a machine is not stated.")
    if native.cpu != guest.cpu:
        return Sentence(
            "Other CPU model: {native} ran natively, {guest} ran the guest.",
            native=native.cpu,
            guest=guest.cpu,
        )
    if native.bios_cpu and guest.bios_cpu and native.bios_cpu != guest.bios_cpu:
        return Sentence(
            "Both CPUs are named {cpu}, but by their BIOS they are {native} and "
            "{guest}.",
            cpu=native.cpu,
            native=native.bios_cpu,
            guest=guest.bios_cpu,
        )
    if all(versions) and versions[0] != versions[1]:
        return Sentence(
            "Other version of the benchmark: {native} natively, {guest} in the guest.",
            native=versions[0],
            guest=versions[1],
        )
    if load == Load.CLIENT_AND_SERVER:
        return Sentence(
            "Client and server ran on one machine: the ratio shows how they were "
            "scheduled."
        )
    if load == Load.DEVICE:
        return Sentence(
            "Disks and networks of different machines are not the same devices."
        )
    if one_thread_ratios and median(one_thread_ratios) > DOUBTFUL_SPEEDUP:
        return Sentence(
            "The guest is {percent:.0f}% faster than the native machine on one "
            "thread: it probably has another CPU than it states.",
            percent=100 * (median(one_thread_ratios) - 1),
        )
    return _memory_refusal(native, guest) if load == Load.MEMORY else None


def _memory_refusal(native: Specimen, guest: Specimen) -> Sentence | None:
    if native.memory and guest.memory:
        if native.memory == guest.memory:
            return None
        (count, speed), (other_count, other_speed) = native.memory, guest.memory
        return Sentence(
            "Other memory modules: {count} at {speed} MT/s natively, {other_count} at "
            "{other_speed} MT/s under the guest.",
            count=count,
            speed=speed,
            other_count=other_count,
            other_speed=other_speed,
        )
    if native.product_family and native.product_family == guest.product_family:
        return None
    return Sentence(
        "The guest does not see the memory modules of its machine, and the machines "
        "are not of one product family."
    )


def _differing(native: Specimen, guest: Specimen) -> list[Sentence]:
    """Return the facts that make machines with equal CPUs other models."""
    differing = []
    if native.owner != guest.owner:
        differing.append(Sentence("other provider"))
    counts = (
        (Sentence("CPUs"), native.threads, guest.threads),
        (Sentence("sockets"), native.sockets, guest.sockets),
        (Sentence("cores"), native.cores, guest.cores),
        (Sentence("NUMA nodes"), native.numa_nodes, guest.numa_nodes),
    )
    differing += [
        Sentence("{fact}: {native} and {guest}", fact=fact, native=one, guest=other)
        for fact, one, other in counts
        if one is not None and other is not None and one != other
    ]
    if None in (native.threads, guest.threads):
        differing.append(Sentence("number of CPUs not stated"))
    if native.stepping and guest.stepping and native.stepping != guest.stepping:
        differing.append(Sentence("other stepping"))
    caches = zip(native.caches, guest.caches, strict=False)
    if any(None not in pair and pair[0] != pair[1] for pair in caches):
        differing.append(Sentence("other caches"))
    return differing
