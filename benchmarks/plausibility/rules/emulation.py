"""Systems that are as slow as an emulated processor, whatever they are called."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.plausibility.days import log_efficiency
from benchmarks.plausibility.facts import CellFact, ColumnKey, StudyFacts, factor_of
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.plausibility.slips import nearest_factor
from benchmarks.sentences import Sentence, joined

SLOW: Final = 1 / 3
"""A third of native. Single CPU cases under QEMU TCG (x86 and POWER9; alone, below KVM,
below Xen) reached 0.03 to 0.30 of native. Of 42 systems of eight studies on the
processor itself the slowest median is 0.45 (LINPACK, whose guest does not see the
topology), the next 0.61."""
SLOWEST: Final = 0.01
"""What is slower still reads in another unit: no CPU case was below 0.03."""
SAME: Final = 0.1
"""How near to the factor of a unit all cases come where that is the cause, as a log."""
LEAST_CASES: Final = 2

WORKERS: Final = (
    *("threads", "workers", "instances", "processes", "procs", "ranks", "jobs"),
    *("copies", "concurrency"),
)
"""Parameters that say how many CPUs a case can keep busy."""
ON_ALL_CPUS: Final = frozenset({"hpl", "hpcc", "intel-linpack", "stream", "stress-ng"})
"""Tools that use every CPU there is unless they are told."""
OF_THE_KERNEL: Final = frozenset({"hackbench"})
COMPUTING: Final = frozenset(
    {"bsearch", "cache", "cpu", "crypt", "fp", "int", "int128", "matrix", "memcpy"}
    | {"memrate", "memthrash", "prime", "qsort", "str", "stream", "vecmath", "vm"}
    | {"zlib"}
)
"""Stressors of stress-ng that compute. The others ask the kernel, page tables or timers
for something, which a hypervisor may make ten times dearer."""
WATCHING: Final = frozenset(
    {"libvirt-domstats", "openvz-beancounters", "pdh-csv", "xentop", "xl-info"}
)
"""Tools that watch a load and are none."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed against native per CPU; ``at_most``: the guest's CPUs are unknown."""

    cell: CellFact
    ratio: float
    at_most: float


@rule(
    "emulation-speed",
    "As slow as an emulated processor",
    "implausible",
    looks_beside=True,
)
def emulation_speed(study: StudyFacts) -> Iterator[Doubt]:
    """A guest that is not said to be emulated, and whose CPU and memory cases run as
    slowly as if it were: the median of its CPU cases is a third of native or less, so
    is a memory case if it has any, and there are two cases at least. Looked at are
    cases of one VM alone that compute (no system calls, no counters of a monitor), at
    native's number of CPUs: eight threads on two virtual CPUs are expected at a fourth.
    Where the virtual CPUs are not stated and a single one would explain it, it is a
    check. Containers, which share their host's kernel, are left out; so are systems
    below a hundredth of native, or whose cases all come within 10 % of the factor
    between two units: `unit-slip` looks at those.

    Why: QEMU falls back to emulating the processor (TCG) where /dev/kvm is missing, may
    not be opened, or nested virtualization is off, and says so in one line. CPU cases
    on an emulated processor reach 0.03 to 0.3 of native. Of 42 systems of eight studies
    on the processor itself the slowest reaches 0.45, the next 0.61; half way between,
    on a log scale, is a third.

    What to do: look for ``accel=kvm`` and /dev/kvm on the host, and run the agent's
    ``detect`` in the guest. If it was emulated, upload it as a system of QEMU TCG;
    dismiss the flag if the guest was given a part of a CPU only, and say how much.
    """
    for speeds in _imitated(study):
        is_sure = _is_slow(speeds, [speed.at_most for speed in speeds])
        ratios = sorted(speed.ratio for speed in speeds)
        cell = speeds[0].cell
        why: str = Sentence(
            "{system} computes at {typical:.3g} of native ({slowest:.3g} to "
            "{fastest:.3g} in {n} benchmarks): as slowly as a processor that a program "
            "emulates (QEMU TCG), and no guest on the processor itself.",
            system=cell.where,
            typical=median(ratios),
            slowest=ratios[0],
            fastest=ratios[-1],
            n=len(ratios),
        )
        if not is_sure:
            few = Sentence(
                "Its virtual CPUs are not stated: a few of the host's would explain "
                "it, too."
            )
            why = joined([why, few])
        yield about_cells(
            why,
            [speed.cell for speed in speeds],
            None if is_sure else "check",
            ratios=[round(speed.ratio, 5) for speed in speeds],
            median=round(median(ratios), 5),
            limit=round(SLOW, 5),
            hypervisor=cell.hypervisor,
        )


def imitated_cells(study: StudyFacts) -> Iterator[CellFact]:
    """The cells of which emulation explains that they are slow."""
    for speeds in _imitated(study):
        yield from (speed.cell for speed in speeds if speed.ratio <= SLOW)


def _imitated(study: StudyFacts) -> Iterator[list[Speed]]:
    """The speeds of each system that computes as slowly as if it were emulated."""
    columns: dict[ColumnKey, list[Speed]] = defaultdict(list)
    for cell in study.cells:
        if (speed := _speed(cell, study)) is not None:
            columns[cell.column].append(speed)
    for speeds in columns.values():
        if not _is_slow(speeds, [speed.ratio for speed in speeds]):
            continue
        # All cases off by the factor between two units: no processor is.
        factors = {
            nearest_factor(speed.cell, math.log(speed.ratio), SAME) for speed in speeds
        }
        if len(factors) > 1 or "" in factors:
            yield speeds


def _is_slow(speeds: Sequence[Speed], ratios: Sequence[float]) -> bool:
    by_component: dict[str, list[float]] = {"CPU": [], "memory": []}
    for speed, ratio in zip(speeds, ratios, strict=True):
        by_component[speed.cell.component].append(ratio)
    cpu, memory = by_component.values()
    return (
        len(speeds) >= LEAST_CASES
        and SLOWEST <= median(cpu or [0]) <= SLOW
        and min(memory, default=0) <= SLOW
    )


def _speed(cell: CellFact, study: StudyFacts) -> Speed | None:
    """How fast a guest computes beside its host; None where it does not compute."""
    native = study.baseline(cell)
    if native is None or not native.is_native or min(cell.mean, native.mean) <= 0:
        return None
    if cell.is_native or cell.emulation or native.emulation:
        return None
    if cell.virtualization == "container" or cell.scenario != "single" or cell.load:
        return None
    if not computes(cell):
        return None
    ratio = factor_of(log_efficiency(cell, native))
    share, least = _shares_of_cpus(cell)
    return Speed(cell, ratio / share, ratio / least if least else math.inf)


def computes(cell: CellFact) -> bool:
    """Whether a case runs on the processor and memory alone: no kernel, no counters."""
    if cell.component not in {"CPU", "memory"} or cell.better == "neither":
        return False
    if cell.is_share or cell.is_extreme or cell.tool in WATCHING | OF_THE_KERNEL:
        return False
    return cell.tool != "stress-ng" or cell.parameters.get("stressor") in COMPUTING


def _shares_of_cpus(cell: CellFact) -> tuple[float, float]:
    """Return the guest's part of native's CPUs, and its minimum; 0 if not known."""
    counts = (cell.parameters.get(name, "") for name in WORKERS)
    workers = max((int(text) for text in counts if text.isdecimal()), default=None)
    if workers is None and cell.tool not in ON_ALL_CPUS:
        return 1.0, 1.0
    known = [most for most in (workers, cell.host_cores) if most]
    if not known:
        return 1.0, 0.0
    at_once = min(known)
    if cell.vcpus is None:
        return 1.0, 1 / at_once
    share = min(cell.vcpus, at_once) / at_once
    return share, share
