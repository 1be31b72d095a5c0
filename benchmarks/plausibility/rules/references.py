"""A co-run and the single run that it is set against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.analysis.baselines import PATHS
from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.findings import Id, subjects
from benchmarks.plausibility.registry import Doubt, rule
from benchmarks.sentences import Sentence, counted, joined

Pair = tuple[object, object]
SIZES: Final = ("hypervisor_version", "virtualization", "vcpus", "memory_bytes")


@rule("corun-reference", "A co-run without a single run of its system", "implausible")
def corun_reference(study: StudyFacts) -> Iterator[Doubt]:
    """Several guests were measured together on a system that was never measured alone
    in that case, while another system of the host with the same hypervisor, guest OS
    and bits was: the reference of the co-run differs from it in what is named. Or the
    system was measured alone, but the test in one or two other parameters. One flag for
    each pair of systems.

    Why: what a co-run costs is its value over that of a single guest of the same
    configuration. Another one (memory, vCPUs, drivers, storage) adds its own effect. In
    the LMU study of ESXi the configuration of the parallel runs is not stated.

    What to do: run the co-run's own configuration alone, or state that the options are
    the same.
    """
    alone: dict[object, dict[Id, CellFact]] = defaultdict(dict)
    tests: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.scenario == "single" and not cell.is_native:
            alone[_platform(cell)].setdefault(cell.system, cell)
            tests[cell.system, cell.kind].append(cell)
    found: dict[tuple[object, ...], list[tuple[CellFact, CellFact]]] = defaultdict(list)
    for cell in study.cells:
        if cell.scenario in {"single", *PATHS} or cell.is_native:
            continue
        others = alone.get(_platform(cell), {})
        singles = [] if cell.system in others else list(others.values())
        if not others:
            singles = _similar(cell, tests[cell.system, cell.kind])
        if singles:
            nearest = min(singles, key=lambda each: len(_unlike(cell, each)))
            found[cell.system, nearest.system, cell.kind].append((cell, nearest))
    for pairs in _joined(found):
        yield _reference_doubt([cell for cell, _ in pairs], pairs[0][1])


def _similar(cell: CellFact, singles: Sequence[CellFact]) -> list[CellFact]:
    """The system's own single cells of the test in one or two other parameters."""
    return [each for each in singles if 0 < len(_other_parameters(cell, each)) <= 2]


def _other_parameters(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    pairs = {
        key: (cell.parameters.get(key), other.parameters.get(key))
        for key in {*cell.parameters, *other.parameters}
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _joined(
    found: Mapping[tuple[object, ...], list[tuple[CellFact, CellFact]]],
) -> Iterator[list[tuple[CellFact, CellFact]]]:
    """One flag a pair of systems; one a test where only parameters differ."""
    joined: dict[tuple[object, ...], list[tuple[CellFact, CellFact]]] = defaultdict(
        list
    )
    for (system, reference, kind), pairs in found.items():
        key = (system, reference, kind if system == reference else None)
        joined[key] += pairs
    return iter(joined.values())


def _platform(cell: CellFact) -> tuple[object, ...]:
    system = (cell.host, cell.hypervisor, cell.guest_os, cell.guest_bits)
    return (*system, cell.case)


def _unlike(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    """In what two systems differ; what one of them does not state counts too."""
    stated: dict[str, Pair] = {
        name: (getattr(cell, name), getattr(other, name)) for name in SIZES
    }
    for key in {*cell.options, *other.options}:
        stated[key] = (cell.options.get(key), other.options.get(key))
    stated |= _other_parameters(cell, other)
    return {key: pair for key, pair in sorted(stated.items()) if pair[0] != pair[1]}


def _reference_doubt(cells: Sequence[CellFact], single: CellFact) -> Doubt:
    differs = {
        key: [_shown(here), _shown(there)]
        for key, (here, there) in _unlike(cells[0], single).items()
    }
    said = [
        Sentence("{key} {here} against {there}", key=key, here=here, there=there)
        for key, (here, there) in differs.items()
    ]
    return Doubt(
        counted(
            "{n} cell of several guests on {system} has no single run like it; the "
            "nearest one differs in {said}.",
            "{n} cells of several guests on {system} have no single run like them; the "
            "nearest one differs in {said}.",
            n=len(cells),
            system=cells[0].where,
            said=joined(said, ", "),
        ),
        subjects("cell", (cell.id for cell in cells)),
        {"differs": differs, "reference_system": str(single.system)},
        (str(single.system), *(f"{key}: {a}/{b}" for key, (a, b) in differs.items())),
    )


def _shown(value: object) -> str:
    return Sentence("not stated") if value in (None, "") else str(value)
