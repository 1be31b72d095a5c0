"""Rules about start-up times of systems that do different work."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    StudyFacts,
    factor_from_log,
    own_ratio_error,
)
from benchmarks.sentences import Sentence, pluralized

CONTAINERS: Final = frozenset({"docker", "lxd", "lxc", "podman", "systemd-nspawn"})
LEAN_KINDS: Final = frozenset({"microvm", "unikernel"})
MIN_EXCESS: Final = 0.1
CRITICAL_ERRORS: Final = 3.3


@rule("start-ups-differ", "Start-up of different jobs", "check", family="systems")
def start_ups_differ(study: StudyFacts) -> Iterator[Finding]:
    """Flags start-up times of one benchmark on one host that belong to containers and
    to virtual machines.

    Why: `docker run` creates and starts a process, `lxc launch` unpacks an image, and
    `virsh start` boots an existing guest with its kernel and services. The ratio of
    such times compares jobs, not hypervisors.

    Remedy: compare containers with containers, or measure the same end (the first
    answer of the same service) from the same beginning (an existing image).
    """
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cells in _start_ups(study):
        kinds = {_is_container(cell) for cell in cells}
        if len(kinds) > 1:
            groups[cells[0].host, cells[0].sibling_key] += cells
    for cells in groups.values():
        containers = [cell for cell in cells if _is_container(cell)]
        first, other = containers[0], next(c for c in cells if not _is_container(c))
        cases = len({(cell.case, *cell.circumstances) for cell in cells})
        yield cell_finding(
            pluralized(
                "{case}: {container} is a container, {machine} is a virtual machine. "
                "Their start-ups do different work.",
                "{n} start-up benchmarks have containers and virtual machines, for "
                "example {case}: {container} and {machine}. Their start-ups do "
                "different work.",
                case=first.case_name,
                container=first.system_phrase,
                machine=other.system_phrase,
                n=cases,
            ),
            cells,
            containers=sorted({cell.system_phrase for cell in containers}),
        )


@rule(
    "lean-machine-slower", "Lean machine starts more slowly", "check", family="systems"
)
def lean_machine_slower(study: StudyFacts) -> Iterator[Finding]:
    """Flags the start-up time of a microVM or unikernel that is more than 10% (and 3.3
    standard errors) longer than those of all full machines of the same hypervisor on
    the host.

    Why: such machines have fewer devices in order to start faster. A result against
    the purpose of a system usually has another cause: a firmware, a kernel without
    the drivers, a timeout.

    Remedy: check the set-up (console, kernel image, firmware) and the log of a start.
    """
    for cells in _start_ups(study):
        by_hypervisor: dict[str, list[CellFact]] = defaultdict(list)
        for cell in cells:
            if not _is_container(cell):
                by_hypervisor[cell.hypervisor].append(cell)
        for members in by_hypervisor.values():
            full = [cell for cell in members if not _is_lean(cell)]
            slow = [
                cell
                for cell in members
                if full and _is_lean(cell) and all(_is_slower(cell, o) for o in full)
            ]
            for cell in slow:
                slowest = max(full, key=lambda other: other.mean)
                yield cell_finding(
                    Sentence(
                        "{name} takes {mean:g} {unit}, {other} only {usual:g} {unit}, "
                        "although it has more devices. Check the set-up.",
                        name=cell.description,
                        mean=cell.mean,
                        unit=cell.unit,
                        other=slowest.system_phrase,
                        usual=slowest.mean,
                    ),
                    [cell, slowest],
                    factor=factor_from_log(
                        math.log(cell.mean) - math.log(slowest.mean)
                    ),
                )


def _start_ups(study: StudyFacts) -> Iterator[Sequence[CellFact]]:
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.is_start_up and not cell.is_native:
            cases[cell.host, cell.case, *cell.circumstances].append(cell)
    return (cells for cells in cases.values() if len(cells) > 1)


def _is_container(cell: CellFact) -> bool:
    names = {cell.hypervisor.casefold(), cell.virtualization.casefold()}
    return "container" in names or bool(names & CONTAINERS)


def _is_lean(cell: CellFact) -> bool:
    return (
        cell.virtualization.casefold() in LEAN_KINDS
        or cell.options.get("machine", "").casefold() in LEAN_KINDS
    )


def _is_slower(cell: CellFact, other: CellFact) -> bool:
    if min(cell.mean, other.mean) <= 0:
        return False
    excess = math.log(cell.mean) - math.log(other.mean)
    return excess > max(
        math.log1p(MIN_EXCESS), CRITICAL_ERRORS * own_ratio_error(cell, other)
    )
