"""What a published number must come with, and the names of the facts that say it.

One list for everybody: the rules of publishing judge by it, reports and pages name what
is missing by it. ``detected`` are names that the agent sends by itself (its vocabulary
stands in docs/agents.md), ``stated`` those that a person writes: fields of a system,
options, facts of a host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that must be stated; any one of its names states it."""

    name: Sentence
    detected: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
        """All names by which it may be stated."""
        return self.detected + self.stated


DISCLOSURE: Final[Mapping[str, tuple[Thing, ...]]] = {
    Sentence("host"): (
        Thing(Sentence("CPU"), ("cpu model",), ("cpu",)),
        Thing(Sentence("microcode"), ("microcode",)),
        Thing(Sentence("SMT"), ("smt", "threads")),
        Thing(Sentence("turbo"), ("turbo",)),
        Thing(Sentence("frequency governor"), ("governor",), ("cpu_governor",)),
        Thing(Sentence("NUMA"), ("numa nodes",), ("numa", "numa_nodes")),
        Thing(Sentence("memory"), ("memory bytes",), ("memory", "memory_bytes")),
        Thing(Sentence("disk and its cache"), ("disks",), ("disk", "storage")),
        Thing(Sentence("network card and offloads"), ("networks",), ("network", "nic")),
    ),
    Sentence("hypervisor"): (
        Thing(Sentence("name"), (), ("hypervisor",)),
        Thing(Sentence("build"), ("hypervisor build",), ("hypervisor_version",)),
        Thing(Sentence("type"), (), ("virtualization",)),
        Thing(Sentence("vCPUs"), (), ("vcpus",)),
        Thing(Sentence("pinning"), (), ("pinning",)),
        Thing(Sentence("guest memory"), (), ("memory_bytes",)),
        Thing(Sentence("ballooning"), (), ("ballooning",)),
        Thing(Sentence("huge pages"), ("huge pages",), ("huge_pages", "hugepages")),
        Thing(Sentence("disk bus"), (), ("disk_bus",)),
        Thing(Sentence("disk cache mode"), (), ("disk_cache",)),
        Thing(Sentence("network card model"), (), ("nic_model", "nic")),
        Thing(Sentence("clock source"), ("clocksource",)),
        Thing(Sentence("mitigations"), ("mitigations",)),
    ),
    Sentence("guest"): (
        Thing(Sentence("kernel"), ("kernel",)),
        Thing(Sentence("guest tools"), (), ("guest_tools",)),
    ),
    Sentence("benchmark"): (
        Thing(Sentence("version"), (), ("tool_version",)),
        Thing(
            Sentence("compiler and flags"), (), ("compiler", "flags", "compiler flags")
        ),
        Thing(Sentence("who"), (), ("author",)),
        Thing(Sentence("when"), (), ("started_at",)),
    ),
}


def undisclosed(
    stated: Mapping[str, frozenset[str]],
) -> dict[str, tuple[Sentence, ...]]:
    """Return what nobody states, by group; ``stated`` are names of facts by group."""
    missing = {
        group: tuple(
            thing.name
            for thing in things
            if not stated.get(group, frozenset()) & {*thing.facts}
        )
        for group, things in DISCLOSURE.items()
    }
    return {group: names for group, names in missing.items() if names}
