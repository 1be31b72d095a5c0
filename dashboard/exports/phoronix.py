"""A comparison as composite.xml of the Phoronix Test Suite. PURE.

``RawString`` has the means of runs. Results from Phoronix files get their own
identifiers and scales again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from benchmarks.parsing.phoronix_files import (
    PhoronixEntry,
    PhoronixFile,
    PhoronixResult,
    PhoronixSystem,
    write_composite,
)
from benchmarks.tools import phoronix

CLIENT = "Virtlab"
PROPORTIONS = {"higher": phoronix.HIGHER, "lower": phoronix.LOWER}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedCell:
    """A result of a system: its benchmark, and the means of its runs in ``unit``."""

    system: int
    tool: str
    tool_title: str
    metric: str
    unit: str
    better: str
    parameters: Mapping[str, str]
    conditions: str = ""
    """Scenario, number of VMs, slot and load, if they are not usual."""
    runs: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSystem:
    id: int
    label: str
    processor: str = ""
    memory: str = ""
    guest_os: str = ""
    platform: str = ""


def composite_xml(
    title: str,
    description: str,
    lab: str,
    moment: str,
    systems: Sequence[ExportedSystem],
    cells: Iterable[ExportedCell],
) -> str:
    """Return the file; raise ParseError if there are no results.

    ``moment`` is "2026-11-28 10:00:00".
    """
    names = unique_names(systems)
    results: dict[PhoronixResult, list[PhoronixEntry]] = {}
    for cell in cells:
        results.setdefault(_result(cell), []).append(_entry(cell, names[cell.system]))
    return write_composite(
        PhoronixFile(
            title=title,
            description=description,
            client=CLIENT,
            modified=moment,
            systems=tuple(
                PhoronixSystem(
                    identifier=names[system.id],
                    hardware=_components(
                        Processor=system.processor, Memory=system.memory
                    ),
                    software=_components(
                        OS=system.guest_os, **{"System Layer": system.platform}
                    ),
                    user=lab,
                    timestamp=moment,
                    client=CLIENT,
                )
                for system in systems
            ),
            results=tuple(
                replace(result, entries=tuple(entries))
                for result, entries in results.items()
            ),
        )
    )


def unique_names(systems: Iterable[ExportedSystem]) -> dict[int, str]:
    names: dict[int, str] = {}
    for system in systems:
        name = system.label[:100] or f"system {system.id}"
        is_used = name in names.values()
        names[system.id] = f"{name} (system {system.id})" if is_used else name
    return names


def _components(**values: str) -> str:
    return ", ".join(
        f"{name}: {value.replace(', ', ' ')}" for name, value in values.items() if value
    )


def _result(cell: ExportedCell) -> PhoronixResult:
    parameters = cell.parameters
    if cell.tool != phoronix.TOOL.slug:
        stated = [f"{name}: {value}" for name, value in parameters.items()]
        return PhoronixResult(
            title=cell.tool_title,
            description=" - ".join(
                filter(None, [cell.metric, *stated, cell.conditions])
            ),
            scale=cell.unit,
            proportion=PROPORTIONS.get(cell.better, ""),
        )
    stated = [parameters.get("description", ""), cell.conditions]
    return PhoronixResult(
        identifier=parameters.get("test", ""),
        title=parameters.get("title", ""),
        version=parameters.get("version", ""),
        arguments=parameters.get("arguments", ""),
        description=" - ".join(filter(None, stated)),
        scale=phoronix.original_scale(cell.metric, parameters),
        proportion=PROPORTIONS.get(cell.better, ""),
    )


def _entry(cell: ExportedCell, system: str) -> PhoronixEntry:
    is_own = cell.tool == phoronix.TOOL.slug
    scale = phoronix.original_scale(cell.metric, cell.parameters)

    def printed(value: float) -> str:
        if is_own:
            return phoronix.original_value(cell.metric, scale, value)
        return f"{value:.15g}"

    # The Phoronix Test Suite also leaves out the raw values of a single run.
    runs = tuple(map(printed, cell.runs)) if len(cell.runs) > 1 else ()
    mean = fsum(cell.runs) / len(cell.runs)
    return PhoronixEntry(system=system, value=printed(mean), raw=runs)
