"""What a published number must come with, and the names of the facts that say it.

One list for everybody: the rules of publishing judge by it, reports and pages name what
is missing by it. ``detected`` are names that the agent sends by itself (its vocabulary
stands in docs/agents.md), ``stated`` those that a person writes: fields of a system,
options, facts of a host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Group = Literal["host", "hypervisor", "guest", "benchmark"]


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that must be stated; any one of its names states it."""

    name: str
    detected: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
        """All names by which it may be stated."""
        return self.detected + self.stated


DISCLOSURE: Final[Mapping[Group, tuple[Thing, ...]]] = {
    "host": (
        Thing("CPU", ("cpu model",), ("cpu",)),
        Thing("microcode", ("microcode",)),
        Thing("SMT", ("smt", "threads")),
        Thing("turbo", ("turbo",)),
        Thing("frequency governor", ("governor",), ("cpu_governor",)),
        Thing("NUMA", ("numa nodes",), ("numa", "numa_nodes")),
        Thing("memory", ("memory bytes",), ("memory", "memory_bytes")),
        Thing("disk and its cache", ("disks",), ("disk", "storage")),
        Thing("network card and offloads", ("networks",), ("network", "nic")),
    ),
    "hypervisor": (
        Thing("name", (), ("hypervisor",)),
        Thing("build", ("hypervisor build",), ("hypervisor_version",)),
        Thing("type", (), ("virtualization",)),
        Thing("vCPUs", (), ("vcpus",)),
        Thing("pinning", (), ("pinning",)),
        Thing("guest memory", (), ("memory_bytes",)),
        Thing("ballooning", (), ("ballooning",)),
        Thing("huge pages", ("huge pages",), ("huge_pages", "hugepages")),
        Thing("disk bus", (), ("disk_bus",)),
        Thing("disk cache mode", (), ("disk_cache",)),
        Thing("network card model", (), ("nic_model", "nic")),
        Thing("clock source", ("clocksource",)),
        Thing("mitigations", ("mitigations",)),
    ),
    "guest": (
        Thing("kernel", ("kernel",)),
        Thing("guest tools", (), ("guest_tools",)),
    ),
    "benchmark": (
        Thing("version", (), ("tool_version",)),
        Thing("compiler and flags", (), ("compiler", "flags", "compiler flags")),
        Thing("who", (), ("author",)),
        Thing("when", (), ("started_at",)),
    ),
}


def undisclosed(
    stated: Mapping[str, frozenset[str]],
) -> dict[str, tuple[str, ...]]:
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
