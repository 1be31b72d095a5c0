"""A co-run and the single run that it is compared with."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.analysis.baselines import PATHS
from benchmarks.plausibility.facts import CellFact, Id, StudyFacts
from benchmarks.plausibility.findings import Doubt, rule, subjects
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
    for members in _set_against_others(study):
        cell, single = members[0]
        differs = {
            key: [Sentence("not stated") if x in (None, "") else str(x) for x in values]
            for key, values in _unlike(cell, single).items()
        }
        differences = [
            Sentence("{key} {here} against {there}", key=key, here=here, there=there)
            for key, (here, there) in differs.items()
        ]
        yield Doubt(
            counted(
                "{n} cell of several guests on {system} has no single run like it; "
                "the nearest one differs in {said}.",
                "{n} cells of several guests on {system} have no single run like them; "
                "the nearest one differs in {said}.",
                n=len(members),
                system=cell.where,
                said=joined(differences, ", "),
            ),
            subjects("cell", (cell.id for cell, _ in members)),
            {"differs": differs, "reference_system": str(single.system)},
            (
                str(single.system),
                *(f"{key}: {a}/{b}" for key, (a, b) in differs.items()),
            ),
        )


def _set_against_others(
    study: StudyFacts,
) -> Iterator[list[tuple[CellFact, CellFact]]]:
    """Compare co-runs with single runs of other systems or cases."""
    alone: dict[object, dict[Id, CellFact]] = defaultdict(dict)
    tests: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.scenario == "single" and not cell.is_native:
            alone[_platform(cell)].setdefault(cell.system, cell)
            tests[cell.system, cell.kind].append(cell)
    # One flag a pair of systems; one a test where only its parameters differ.
    pairs: dict[object, dict[object, list[tuple[CellFact, CellFact]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in study.cells:
        if cell.scenario in {"single", *PATHS} or cell.is_native:
            continue
        others = alone.get(_platform(cell), {})
        singles = [] if cell.system in others else list(others.values())
        if not others:
            tested = tests[cell.system, cell.kind]
            singles = [one for one in tested if 0 < len(_other_named(cell, one)) <= 2]
        if singles:
            nearest = min(singles, key=lambda single: len(_unlike(cell, single)))
            test = cell.kind if nearest.system == cell.system else None
            pairs[cell.system, nearest.system, test][cell.kind].append((cell, nearest))
    for kinds in pairs.values():
        yield [pair for same_kind in kinds.values() for pair in same_kind]


def _platform(cell: CellFact) -> tuple[object, ...]:
    system = (cell.host, cell.hypervisor, cell.guest_os, cell.guest_bits)
    return (*system, cell.case)


def _other_named(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    """In which parameters two cases differ."""
    pairs = {
        key: (cell.parameters.get(key), other.parameters.get(key))
        for key in {*cell.parameters, *other.parameters}
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _unlike(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    """In what two systems differ; what one of them does not state counts too."""
    stated: dict[str, Pair] = {
        name: (getattr(cell, name), getattr(other, name)) for name in SIZES
    }
    for key in {*cell.options, *other.options}:
        stated[key] = (cell.options.get(key), other.options.get(key))
    stated |= _other_named(cell, other)
    return {key: pair for key, pair in sorted(stated.items()) if pair[0] != pair[1]}
