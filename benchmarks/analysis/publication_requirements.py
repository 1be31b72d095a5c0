"""Publication levels of a study and their requirements (``docs/method.md``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.sentences import Sentence

MIN_PUBLISHED_RUNS: Final = 5
# The largest standard deviation between runs, relative to the mean.
MAX_DISPERSION: Final[Mapping[str, float]] = {
    "CPU": 0.02,
    "memory": 0.03,
    "network": 0.05,
    "disk": 0.10,
    "power": 0.05,
}
PublicationLevel = Literal["draft", "lab", "reproduced", "verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPrecision:
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
class LevelAssessment:
    level: PublicationLevel
    cells: int
    cells_with_few_runs: tuple[CellPrecision, ...]
    cells_with_high_dispersion: tuple[CellPrecision, ...]
    missing_facts: Mapping[str, tuple[str, ...]]
    reproduced_by: tuple[str, ...]
    rule_set: int = RULE_SET

    def with_reproducing_labs(self, labs: Sequence[str]) -> LevelAssessment:
        level: PublicationLevel = (
            "reproduced" if labs and self.level == "lab" else self.level
        )
        return replace(self, level=level, reproduced_by=tuple(labs))


@dataclass(frozen=True, slots=True)
class RequiredFact:
    """A fact that a publication requires, and the facts of a run that state it."""

    name: Sentence
    agent_facts: tuple[str, ...] = ()
    uploader_facts: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
        return self.agent_facts + self.uploader_facts


REQUIRED_FACTS: Final[Mapping[str, tuple[RequiredFact, ...]]] = {
    Sentence("host"): (
        RequiredFact(Sentence("CPU"), ("cpu model",), ("cpu",)),
        RequiredFact(Sentence("microcode"), ("microcode",)),
        RequiredFact(Sentence("SMT"), ("smt", "threads")),
        RequiredFact(Sentence("turbo"), ("turbo",)),
        RequiredFact(Sentence("frequency governor"), ("governor",), ("cpu_governor",)),
        RequiredFact(Sentence("NUMA"), ("numa nodes",), ("numa", "numa_nodes")),
        RequiredFact(Sentence("memory"), ("memory bytes",), ("memory", "memory_bytes")),
        RequiredFact(Sentence("disk and disk cache"), ("disks",), ("disk", "storage")),
        RequiredFact(
            Sentence("network card and offloads"), ("networks",), ("network", "nic")
        ),
    ),
    Sentence("hypervisor"): (
        RequiredFact(Sentence("name"), (), ("hypervisor",)),
        RequiredFact(Sentence("build"), ("hypervisor build",), ("hypervisor_version",)),
        RequiredFact(Sentence("type"), (), ("virtualization",)),
        RequiredFact(Sentence("vCPUs"), (), ("vcpus",)),
        RequiredFact(Sentence("pinning"), (), ("pinning",)),
        RequiredFact(Sentence("guest memory"), (), ("memory_bytes",)),
        RequiredFact(Sentence("ballooning"), (), ("ballooning",)),
        RequiredFact(
            Sentence("huge pages"), ("huge pages",), ("huge_pages", "hugepages")
        ),
        RequiredFact(Sentence("disk bus"), (), ("disk_bus",)),
        RequiredFact(Sentence("disk cache mode"), (), ("disk_cache",)),
        RequiredFact(Sentence("network card model"), (), ("nic_model", "nic")),
        RequiredFact(Sentence("clock source"), ("clocksource",)),
        RequiredFact(Sentence("mitigations"), ("mitigations",)),
    ),
    Sentence("guest"): (
        RequiredFact(Sentence("kernel"), ("kernel",)),
        RequiredFact(Sentence("guest tools"), (), ("guest_tools",)),
    ),
    Sentence("benchmark"): (
        RequiredFact(Sentence("version"), (), ("tool_version",)),
        RequiredFact(
            Sentence("compiler and flags"), (), ("compiler", "flags", "compiler flags")
        ),
        RequiredFact(Sentence("author"), (), ("author",)),
        RequiredFact(Sentence("start time"), (), ("started_at",)),
    ),
}


def assess_publication_level(
    cells: Sequence[CellPrecision],
    stated: Mapping[str, frozenset[str]],
) -> LevelAssessment:
    """Return the level of a study: draft or lab.

    ``stated`` has, for each group of `REQUIRED_FACTS`, the facts that all members of
    the group report.
    """
    few = tuple(cell for cell in cells if cell.n < MIN_PUBLISHED_RUNS)
    dispersed = tuple(
        cell
        for cell in cells
        if (dispersion := cell.dispersion) is not None
        and dispersion > MAX_DISPERSION.get(cell.component, math.inf)
    )
    missing = missing_facts(stated)
    is_ready = bool(cells) and not (few or dispersed or missing)
    return LevelAssessment(
        level="lab" if is_ready else "draft",
        cells=len(cells),
        cells_with_few_runs=few,
        cells_with_high_dispersion=dispersed,
        missing_facts=missing,
        reproduced_by=(),
    )


def missing_facts(
    stated: Mapping[str, frozenset[str]],
) -> dict[str, tuple[Sentence, ...]]:
    missing = {
        group: tuple(
            fact.name
            for fact in facts
            if not stated.get(group, frozenset()) & {*fact.facts}
        )
        for group, facts in REQUIRED_FACTS.items()
    }
    return {group: names for group, names in missing.items() if names}
