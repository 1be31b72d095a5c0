"""What follows from the slots of one co-run. PURE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import platforms
from benchmarks.analysis.coruns import (
    SumCheck,
    Target,
    check_sum,
    cpu_target,
    fairness,
    interference,
    scaling,
    slowdown,
)
from benchmarks.comparing.table import SCENARIOS
from benchmarks.sentences import Sentence

SINGLE, PARALLEL, UNDER_LOAD, COMBINED, INTER_VM = SCENARIOS[:5]
MIXED = "combined"
BESIDE_OTHER_WORK = (UNDER_LOAD, MIXED)
ONE_ALONE = Sentence("one VM alone")
NATIVE_ALONE = Sentence("the native machine")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known of one co-run; ``full`` has the mean time by number of VMs.

    ``doubted`` names the sides that no single figure describes; there are no ``slots``
    where one of them is.
    """

    better: str
    component: str
    unit: str
    scenario: str
    vms: int
    vcpus: int | None
    host_facts: Mapping[str, Any]
    slots: tuple[float, ...]
    doubted: tuple[str, ...]
    is_whole: bool
    coruns: tuple[tuple[float, ...], ...]
    printed_sum: float | None
    printed_mean: float | None
    single: float | None
    native: float | None
    alone: float | None
    full: Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class CoRunFigures:
    """None is what is not known; ``reasons`` says why for targets and fairness.

    ``sum`` is recomputed where all slots are there, else the printed one; times have
    none. ``virtual`` cores of all VMs share ``cores`` physical ones.
    """

    sum: float | None
    is_sum_printed: bool
    mean: float | None
    minimum: float | None
    maximum: float | None
    jain: float | None
    jain_low: float | None
    jain_high: float | None
    repeated: int
    sum_check: SumCheck | None
    scaling: float | None
    scaling_to_native: float | None
    slowdown: float | None
    interference: float | None
    target: Target | None
    virtual: int | None
    cores: int | None
    reasons: tuple[str, ...]


def corun_figures(evidence: Evidence) -> CoRunFigures:
    """Return the figures of method, section 5, as far as the evidence carries them."""
    reasons = _doubts(evidence)
    is_whole = evidence.is_whole and bool(evidence.slots)
    total, is_printed = _sum(evidence, is_whole)
    mean = (
        sum(evidence.slots) / len(evidence.slots) if is_whole else evidence.printed_mean
    )
    shares = (
        _fairness(evidence, reasons) if is_whole and len(evidence.slots) > 1 else None
    )
    cores = platforms.cores(evidence.host_facts)
    virtual = evidence.vms * evidence.vcpus if evidence.vcpus else None
    return CoRunFigures(
        sum=total,
        is_sum_printed=is_printed,
        mean=mean,
        minimum=min(evidence.slots) if is_whole else None,
        maximum=max(evidence.slots) if is_whole else None,
        jain=shares.jain if shares else None,
        jain_low=shares.low if shares else None,
        jain_high=shares.high if shares else None,
        repeated=len(evidence.coruns),
        sum_check=_checked(evidence) if is_whole else None,
        scaling=_ratio(scaling, total, evidence.single)
        if evidence.better == "higher"
        else None,
        scaling_to_native=(
            _ratio(scaling, total, evidence.native)
            if evidence.better == "higher"
            else None
        ),
        slowdown=_ratio(slowdown, mean, evidence.single)
        if evidence.better != "neither"
        else None,
        interference=_interference(evidence, total),
        target=_target(evidence, mean, virtual, cores, reasons),
        virtual=virtual,
        cores=cores,
        reasons=tuple(reasons),
    )


def _doubts(evidence: Evidence) -> list[str]:
    """Say whose runs are not described by one figure."""
    if not evidence.doubted:
        return []
    side, others = evidence.doubted[0], len(evidence.doubted) - 1
    if not others:
        return [
            Sentence(
                "No single figure describes {side}: nothing is made of it.", side=side
            )
        ]
    return [
        Sentence(
            "No single figure describes {side} and {n} more: nothing is made of them.",
            side=side,
            n=others,
        )
    ]


def _sum(evidence: Evidence, is_whole: bool) -> tuple[float | None, bool]:
    if evidence.better == "lower" or evidence.scenario in BESIDE_OTHER_WORK:
        return None, False
    if is_whole:
        return sum(evidence.slots), False
    return evidence.printed_sum, evidence.printed_sum is not None


def _fairness(evidence: Evidence, reasons: list[str]) -> Any:
    """Return how fairly slots shared; of times, their reciprocals did."""
    if evidence.better == "neither":
        return None
    rows = evidence.coruns
    if evidence.better == "lower":
        if not all(value > 0 for row in rows for value in row):
            reasons.append(Sentence("A slot reads 0: a time of 0 has no speed."))
            return None
        rows = tuple(tuple(1 / value for value in row) for row in rows)
    try:
        return fairness(rows)
    except ValueError as error:
        reasons.append(Sentence("No index of fairness: {why}.", why=error.args[0]))
        return None


def _checked(evidence: Evidence) -> SumCheck | None:
    if (
        evidence.printed_sum is None
        or evidence.better == "lower"
        or not any(evidence.slots)
    ):
        return None
    try:
        return check_sum(evidence.slots, evidence.printed_sum)
    except ValueError:  # a slot below 0 is nothing that could be added up
        return None


def _ratio(
    formula: Callable[[Any, float], float], total: float | None, base: float | None
) -> float | None:
    if not total or not base or min(total, base) <= 0:
        return None
    try:
        return formula([total], base)
    except ValueError:  # beyond all rates
        return None


def _interference(evidence: Evidence, total: float | None) -> float | None:
    """Set what is left under another load against the same without it."""
    if evidence.scenario in BESIDE_OTHER_WORK:
        under, alone = (evidence.slots[0] if evidence.slots else None), evidence.single
    elif evidence.scenario == COMBINED:
        under, alone = total, evidence.alone
    else:
        return None
    return interference(under, alone) if under and alone else None


def _target(
    evidence: Evidence,
    mean: float | None,
    virtual: int | None,
    cores: int | None,
    reasons: list[str],
) -> Target | None:
    """Set a time of work for the CPU against what the cores allow."""
    is_time = (evidence.component, evidence.better, evidence.unit) == (
        "CPU",
        "lower",
        "s",
    )
    if not is_time or evidence.scenario != PARALLEL or not mean:
        return None
    if virtual is None or evidence.vcpus is None:
        reasons.append(Sentence("No target: how many vCPUs a VM has is not stated."))
    elif cores is None:
        reasons.append(
            Sentence("No target: how many cores the machine has is not stated.")
        )
    elif not evidence.single:
        if ONE_ALONE in evidence.doubted:
            return None
        reasons.append(Sentence("No target: one VM alone was not measured."))
    else:
        # As many VMs as there are cores; their time is no target of itself.
        vms, rest = divmod(cores, evidence.vcpus)
        full = None if rest or vms == evidence.vms else evidence.full.get(vms)
        return cpu_target(
            mean, single_s=evidence.single, virtual=virtual, cores=cores, full_s=full
        )
    return None
