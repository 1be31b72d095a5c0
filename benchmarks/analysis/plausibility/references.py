"""A co-run and the single run that it is set against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.analysis.plausibility.facts import CellFact, Study
from benchmarks.analysis.plausibility.findings import Id, subjects
from benchmarks.analysis.plausibility.registry import Doubt, rule

PATHS: Final = frozenset({"inter-vm", "inter-host", "same-host"})
SIZES: Final = ("hypervisor_version", "virtualization", "vcpus", "memory_bytes")


@rule("corun-reference", "A co-run without a single run of its system", "warning")
def corun_reference(study: Study) -> Iterator[Doubt]:
    """Several guests were measured together on a system that was never measured alone
    in that case, while another system of the host with the same hypervisor, guest OS
    and bits was: the reference of the co-run differs from it in what is named. One flag
    for each pair of systems.

    Why: what a co-run costs is its value over that of a single guest of the same
    configuration. Another one (memory, vCPUs, drivers, storage) adds its own effect. In
    the LMU study of ESXi the configuration of the parallel runs is not stated.

    What to do: run the co-run's own configuration alone, or state that the options are
    the same.
    """
    alone: dict[object, dict[Id, CellFact]] = defaultdict(dict)
    for cell in study.cells:
        if cell.scenario == "single" and not cell.is_native:
            alone[_platform(cell)].setdefault(cell.system, cell)
    found: dict[tuple[Id, Id], list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        single = alone.get(_platform(cell), {})
        together = cell.scenario not in {"single", *PATHS} and not cell.is_native
        if together and single and cell.system not in single:
            nearest = min(single.values(), key=lambda each: len(_unlike(cell, each)))
            found[cell.system, nearest.system].append(cell)
    singles = {cell.system: cell for each in alone.values() for cell in each.values()}
    for (_, reference), cells in found.items():
        yield _reference_doubt(cells, singles[reference])


def _platform(cell: CellFact) -> tuple[object, ...]:
    system = (cell.host, cell.hypervisor, cell.guest_os, cell.guest_bits)
    return (*system, cell.case)


def _unlike(cell: CellFact, other: CellFact) -> dict[str, tuple[object, object]]:
    """In what two systems differ; what one of them does not state counts too."""
    stated = {name: (getattr(cell, name), getattr(other, name)) for name in SIZES}
    for key in {*cell.options, *other.options}:
        stated[key] = (cell.options.get(key), other.options.get(key))
    return {key: pair for key, pair in sorted(stated.items()) if pair[0] != pair[1]}


def _reference_doubt(cells: Sequence[CellFact], single: CellFact) -> Doubt:
    differs = {
        key: [_shown(here), _shown(there)]
        for key, (here, there) in _unlike(cells[0], single).items()
    }
    said = ", ".join(f"{key} {a} against {b}" for key, (a, b) in differs.items())
    return Doubt(
        f"{len(cells)} cells of several guests on "
        f"{cells[0].system_label or cells[0].system} have no single run of that "
        f"system; the nearest one differs in {said}.",
        subjects("cell", (cell.id for cell in cells)),
        {"differs": differs, "reference_system": str(single.system)},
        (str(single.system), *(f"{key}: {a}/{b}" for key, (a, b) in differs.items())),
    )


def _shown(value: object) -> str:
    return "not stated" if value in (None, "") else str(value)
