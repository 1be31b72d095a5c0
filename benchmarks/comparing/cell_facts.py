"""Whether the two sides of a cell may be set side by side, and how many runs help."""

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from benchmarks.analysis.advice import runs_for_width, width_sentence
from benchmarks.analysis.comparability import (
    Comparability,
    Difference,
    comparability,
    one_at_a_time,
)
from benchmarks.analysis.intervals import Rollups
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Cell, Run, Study, System

# What every comparison of a guest with its machine is about.
ALWAYS_STUDIED = ("hypervisor", "hypervisor_version", "virtualization")
SIZES = ("cores", "memory_bytes")
# A study names its factors as people do.
OPTIONS_OF_FACTORS = {
    "amd_v": "hw_virt",
    "vt_x": "hw_virt",
    "amd_v_vt_x": "hw_virt",
    "hardware_virtualization": "hw_virt",
    "vmware_tools": "guest_tools",
    "pv_drivers": "guest_tools",
    "guest": "guest_os",
    "os": "guest_os",
    "bits": "guest_bits",
}


def studied_facts(study: Study) -> frozenset[str]:
    """Return the facts that a study varies on purpose."""
    named = map(_fact_name, study.factors)
    found = (OPTIONS_OF_FACTORS.get(name, name) for name in named)
    return frozenset([*ALWAYS_STUDIED, *found])


def _fact_name(factor: str) -> str:
    """Return a factor as facts are spelled: "PV drivers (Windows)" is pv_drivers."""
    plain = re.sub(r"\(.*?\)", "", factor).casefold()
    return re.sub(r"\W+", "_", plain).strip("_")


def sides_compared(
    cell: Cell, baseline: Cell, runs: Iterable[Run], baseline_runs: Iterable[Run]
) -> Comparability:
    """Compare what is known of both sides; what the study studies may differ.

    Facts that came with runs count where both sides state them: what only one side
    happened to send says nothing about the other.
    """
    one, other = _sent(runs), _sent(baseline_runs)
    shared = one.keys() & other.keys()
    return comparability(
        {**_chosen(one, shared), **system_facts(cell.system)},
        {**_chosen(other, shared), **system_facts(baseline.system)},
        studied=studied_facts(cell.study),
    )


def stated_differences(
    cell: Cell, baseline: Cell, found: Comparability
) -> tuple[Difference, ...]:
    """Return what both sides state, differently, and the study does not study.

    Of what came with runs only how large the machines were; and not their hosts, for
    two machines are always named.
    """
    named = {*system_facts(cell.system), *system_facts(baseline.system), *SIZES}
    told = (each for each in found.unwanted if each.one and each.other)
    return tuple(each for each in told if each.name in named - {"host"})


def systems_compared(study: Study, one: System, other: System) -> Comparability:
    """Compare two systems by what was stated of them; one studied thing may differ."""
    found = comparability(
        system_facts(one), system_facts(other), studied=studied_facts(study)
    )
    return one_at_a_time(found, ALWAYS_STUDIED)


def system_facts(system: System) -> dict[str, str]:
    """Return what a system was stated to be, as texts that can be compared."""
    stated = system.stated
    options = canonical_parameters(system.options)
    everything = {"host": system.host.slug, **stated, **options}
    return {name: str(value) for name, value in everything.items() if value}


def _sent(runs: Iterable[Run]) -> dict[str, str]:
    """Return the facts on which all runs of a side agree."""
    sides = [
        {name: str(value) for name, value in run.facts.items() if not _is_nested(value)}
        for run in runs
    ]
    first = sides[0] if sides else {}
    return {
        name: value
        for name, value in first.items()
        if all(side.get(name) == value for side in sides)
    }


def _is_nested(value: object) -> bool:
    return isinstance(value, dict | list)


def _chosen(facts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: facts[name] for name in names}


def width_advice(cell: Cell, baseline: Cell, half_width: float) -> str:
    """Say how many more runs narrow the interval; nothing where spread is unknown."""
    if min(cell.n, baseline.n) < 2 or cell.shape_codes or baseline.shape_codes:
        return ""
    own, other = _rollups(cell), _rollups(baseline)
    wanted = int(runs_for_width(own, other, half_width)[0])
    return width_sentence(min(cell.n, baseline.n), wanted, half_width)


def _rollups(cell: Cell) -> Rollups:
    resolution = np.nan if cell.resolution is None else cell.resolution
    mean, m2 = np.array([[cell.mean], [cell.m2]], dtype=float)
    return Rollups.of([cell.n], mean, m2, [resolution])
