"""Evidence levels of a study, and what must be stated for each (`docs/method.md`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.sentences import Sentence

ENOUGH_RUNS: Final = 5
# The largest standard deviation between runs, as a part of their mean.
DISPERSION: Final[Mapping[str, float]] = {
    "CPU": 0.02,
    "memory": 0.03,
    "network": 0.05,
    "disk": 0.10,
    "power": 0.05,
}
Level = Literal["draft", "lab", "reproduced", "verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """A cell as publishing looks at it: runs, mean, sample variance (None below 2)."""

    id: int
    label: str
    component: str
    n: int
    mean: float
    variance: float | None

    @property
    def dispersion(self) -> float | None:
        if self.variance is None or self.mean <= 0:
            return None
        return math.sqrt(self.variance) / self.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The level a study reaches, and what is missing for the next one."""

    level: Level
    cells: int
    few_runs: tuple[MeasuredCell, ...]
    dispersed: tuple[MeasuredCell, ...]
    undisclosed: Mapping[str, tuple[str, ...]]
    reproduced_by: tuple[str, ...]
    rule_set: int = RULE_SET

    def reproduced(self, labs: Sequence[str]) -> Assessment:
        """Return it for a study that these labs reproduced; a draft stays one."""
        level: Level = "reproduced" if labs and self.level == "lab" else self.level
        return replace(self, level=level, reproduced_by=tuple(labs))


@dataclass(frozen=True, slots=True)
class Thing:
    """A fact required under any of its names.

    ``detected`` names are facts of the agent, ``stated`` ones of the uploader.
    """

    name: Sentence
    detected: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
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


def assess(
    cells: Sequence[MeasuredCell],
    stated: Mapping[str, frozenset[str]],
) -> Assessment:
    """Judge a study by rule set 1; ``stated`` are facts stated everywhere."""
    few = tuple(cell for cell in cells if cell.n < ENOUGH_RUNS)
    dispersed = tuple(
        cell
        for cell in cells
        if (dispersion := cell.dispersion) is not None
        # Rule set 1 has no limit for applications.
        and dispersion > DISPERSION.get(cell.component, math.inf)
    )
    missing = undisclosed(stated)
    is_ready = bool(cells) and not (few or dispersed or missing)
    return Assessment(
        level="lab" if is_ready else "draft",
        cells=len(cells),
        few_runs=few,
        dispersed=dispersed,
        undisclosed=missing,
        reproduced_by=(),
    )


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
