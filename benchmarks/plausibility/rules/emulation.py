"""Rule about guests that are as slow as an emulated processor."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.plausibility.day_effects import log_efficiency
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    ColumnKey,
    StudyFacts,
    factor_from_log,
)
from benchmarks.plausibility.unit_errors import nearest_factor
from benchmarks.sentences import Sentence, join_sentences

MAX_EMULATED_SPEED: Final = 1 / 3
"""Relative to native.

CPU cases under QEMU TCG (on x86 and POWER9; alone, below KVM, below Xen) reached 0.03
to 0.30.
"""
MIN_EMULATED_SPEED: Final = 0.01
"""A slower system has a unit error: no CPU case under emulation was below 0.03."""
FACTOR_TOLERANCE: Final = 0.1
"""Log distance of all cases from a unit factor."""
MIN_CASES: Final = 2

WORKER_PARAMETERS: Final = (
    *("threads", "workers", "instances", "processes", "procs", "ranks", "jobs"),
    *("copies", "concurrency"),
)
ALL_CPU_TOOLS: Final = frozenset(
    {"hpl", "hpcc", "intel-linpack", "stream", "stress-ng"}
)
KERNEL_TOOLS: Final = frozenset({"hackbench"})
COMPUTE_STRESSORS: Final = frozenset(
    {"bsearch", "cache", "cpu", "crypt", "fp", "int", "int128", "matrix", "memcpy"}
    | {"memrate", "memthrash", "prime", "qsort", "str", "stream", "vecmath", "vm"}
    | {"zlib"}
)
"""Other stressors use the kernel, page tables or timers, which a hypervisor may make
ten times slower.
"""
MONITORING_TOOLS: Final = frozenset(
    {"libvirt-domstats", "openvz-beancounters", "pdh-csv", "xentop", "xl-info"}
)


@dataclass(frozen=True, slots=True)
class RelativeCpuSpeed:
    """The speed of a cell relative to native, per CPU that the guest has.

    ``upper_bound`` assumes that the guest has a single CPU if their number is unknown.
    """

    cell: CellFact
    ratio: float
    upper_bound: float


@rule(
    "emulation-speed",
    "As slow as an emulated processor",
    "implausible",
    uses_other_studies=True,
)
def emulation_speed(study: StudyFacts) -> Iterator[Finding]:
    """Flags a guest that is not reported as emulated although its CPU and memory
    benchmarks are as slow as if it were. The median of its CPU benchmarks is at most a
    third of native, one of its memory benchmarks is too (if it has any), and there are
    at least two benchmarks. Only computing benchmarks of a single VM without other load
    are used, not system calls and counters of monitoring tools. Speeds are relative to
    the CPUs that the guest has: eight threads on two virtual CPUs are expected to reach
    a fourth of native. If the number of virtual CPUs is not reported and a single one
    would explain the speed, the severity is check. The following are excluded:
    containers, because they share the kernel of their host; guests whose CPU benchmarks
    reach less than a hundredth of native in the median; and guests whose benchmarks are
    all within 10% of the factor between two units, which `unit-slip` checks.

    Why: QEMU falls back to an emulated processor (TCG) if /dev/kvm is missing or cannot
    be opened, or if nested virtualization is off, and reports this in a single line.
    CPU benchmarks on an emulated processor reach 0.03 to 0.3 of native. Of 42 systems
    of eight studies that use the processor directly, the slowest reaches 0.45 and the
    next 0.61.

    Remedy: look for ``accel=kvm`` and /dev/kvm on the host, and run the agent's
    ``detect`` in the guest. If the processor was emulated, upload the system as QEMU
    TCG. Dismiss the flag if the guest had only a part of a CPU, and state how much.
    """
    for speeds in _emulated_speeds(study):
        is_sure = _is_slow(speeds, [speed.upper_bound for speed in speeds])
        ratios = sorted(speed.ratio for speed in speeds)
        cell = speeds[0].cell
        sentence: str = Sentence(
            "{system} reaches {typical:.3g}% of native speed in the median of {n} "
            "benchmarks ({slowest:.3g}% to {fastest:.3g}%). This is as slow as an "
            "emulated processor (QEMU TCG); guests that use the processor directly "
            "are faster.",
            system=cell.system_phrase,
            typical=100 * median(ratios),
            slowest=100 * ratios[0],
            fastest=100 * ratios[-1],
            n=len(ratios),
        )
        if not is_sure:
            few_cpus = Sentence(
                "Its number of virtual CPUs is not reported. Having only a few of "
                "the host's CPUs would also explain the speed."
            )
            sentence = join_sentences([sentence, few_cpus])
        yield cell_finding(
            sentence,
            [speed.cell for speed in speeds],
            None if is_sure else "check",
            ratios=[round(speed.ratio, 5) for speed in speeds],
            median=round(median(ratios), 5),
            limit=round(MAX_EMULATED_SPEED, 5),
            hypervisor=cell.hypervisor,
        )


def emulation_explained_cells(study: StudyFacts) -> Iterator[CellFact]:
    for speeds in _emulated_speeds(study):
        yield from (speed.cell for speed in speeds if speed.ratio <= MAX_EMULATED_SPEED)


def _emulated_speeds(study: StudyFacts) -> Iterator[list[RelativeCpuSpeed]]:
    columns: dict[ColumnKey, list[RelativeCpuSpeed]] = defaultdict(list)
    for cell in study.cells:
        if (speed := _speed(cell, study)) is not None:
            columns[cell.column_key].append(speed)
    for speeds in columns.values():
        if not _is_slow(speeds, [speed.ratio for speed in speeds]):
            continue
        factors = {
            nearest_factor(speed.cell, math.log(speed.ratio), FACTOR_TOLERANCE)
            for speed in speeds
        }
        if len(factors) > 1 or "" in factors:
            yield speeds


def _is_slow(speeds: Sequence[RelativeCpuSpeed], ratios: Sequence[float]) -> bool:
    by_component: dict[str, list[float]] = {"CPU": [], "memory": []}
    for speed, ratio in zip(speeds, ratios, strict=True):
        by_component[speed.cell.component].append(ratio)
    cpu, memory = by_component.values()
    return (
        len(speeds) >= MIN_CASES
        and MIN_EMULATED_SPEED <= median(cpu or [0]) <= MAX_EMULATED_SPEED
        and min(memory, default=0) <= MAX_EMULATED_SPEED
    )


def _speed(cell: CellFact, study: StudyFacts) -> RelativeCpuSpeed | None:
    native = study.baseline(cell)
    if native is None or not native.is_native or min(cell.mean, native.mean) <= 0:
        return None
    if cell.is_native or cell.emulation_layers or native.emulation_layers:
        return None
    if cell.virtualization == "container" or cell.scenario != "single" or cell.load:
        return None
    if not is_compute_bound(cell):
        return None
    ratio = factor_from_log(log_efficiency(cell, native))
    fraction, min_fraction = _cpu_fractions(cell)
    return RelativeCpuSpeed(
        cell, ratio / fraction, ratio / min_fraction if min_fraction else math.inf
    )


def is_compute_bound(cell: CellFact) -> bool:
    if cell.component not in {"CPU", "memory"} or cell.better == "neither":
        return False
    if (
        cell.is_cpu_utilization
        or cell.is_extreme
        or cell.tool in MONITORING_TOOLS | KERNEL_TOOLS
    ):
        return False
    return (
        cell.tool != "stress-ng" or cell.parameters.get("stressor") in COMPUTE_STRESSORS
    )


def _cpu_fractions(cell: CellFact) -> tuple[float, float]:
    """Return which fraction of native's CPUs a guest can use, and its lower bound.

    The lower bound is 0 if nothing is known about the CPUs.
    """
    counts = (cell.parameters.get(name, "") for name in WORKER_PARAMETERS)
    workers = max((int(text) for text in counts if text.isdecimal()), default=None)
    if workers is None and cell.tool not in ALL_CPU_TOOLS:
        return 1.0, 1.0
    limits = [count for count in (workers, cell.host_cores) if count]
    if not limits:
        return 1.0, 0.0
    usable_cpus = min(limits)
    if cell.vcpus is None:
        return 1.0, 1 / usable_cpus
    fraction = min(cell.vcpus, usable_cpus) / usable_cpus
    return fraction, fraction
