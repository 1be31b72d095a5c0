"""A study's network as matrices: what went from x to y, one matrix a setting."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from benchmarks import units
from benchmarks.analysis.baselines import INSIDE
from benchmarks.analysis.intervals import log_ratio_intervals
from benchmarks.comparing.row import BRIEF, CellFigure, cell_figure
from benchmarks.comparing.table import OPTIONS, PROPERTIES, Fact, rank
from benchmarks.comparing.verdicts import rollups_of
from benchmarks.errors import InvalidError
from benchmarks.models import Cell, Flag, Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.platforms import line_rate_bit_per_s
from benchmarks.studies.flags import visible_flags
from benchmarks.text import natural
from benchmarks.viewer import Viewer

ENDS = ("from", "to", "from_host", "to_host")
PLACES = ("single", "inter-vm", "same-host", "inter-host")
TRAITS = ("hypervisor", "hypervisor_version", *PROPERTIES)
Medium = Literal["loopback", "inside", "wire", "unknown"]
Ends = tuple[str, str]

CLEAR: Final = 1.25
"""A smaller difference of two directions is not worth a reader's time."""


@dataclass(frozen=True)
class Asymmetry:
    """Two directions that differ by ``factor``; single runs have no interval."""

    larger: Ends
    factor: float
    low: float | None
    high: float | None


def medium_of(scenario: str, ends: Ends, hosts: tuple[str, str]) -> Medium:
    """Return what carries a path, from what was stated; nothing is guessed."""
    if ends[0] == ends[1]:
        return "loopback"
    if scenario in INSIDE or (hosts[0] and hosts[0] == hosts[1]):
        return "inside"
    if scenario == "inter-host" or all(hosts):
        return "wire"
    return "unknown"


def asymmetries(paths: Mapping[Ends, Cell]) -> tuple[Asymmetry, ...]:
    """Return the pairs whose directions differ clearly, the largest factor first."""
    asymmetric = []
    means = {ends: cell.mean or 0.0 for ends, cell in paths.items()}
    for one in paths:
        other = (one[1], one[0])
        # Each pair once, and no loopback.
        if one < other and other in paths and min(means[one], means[other]) > 0:
            above, below = (one, other) if means[one] >= means[other] else (other, one)
            larger, smaller = (rollups_of([paths[ends]]) for ends in (above, below))
            ratio = log_ratio_intervals(larger, smaller, [True])
            low, high = float(ratio.low[0]), float(ratio.high[0])
            interval = (low, high) if np.isfinite(low) else (None, None)
            factor = means[above] / means[below]
            asymmetric.append(Asymmetry(above, factor, *interval))
    # Without an interval (single runs) the factor decides alone.
    clear = [it for it in asymmetric if it.factor >= CLEAR and (it.low or 2) > 1]
    return tuple(sorted(clear, key=lambda pair: -pair.factor))


@dataclass(frozen=True)
class Path:
    """A cell as what went from one node to another, in the unit of its metric."""

    cell: Cell
    ends: Ends
    hosts: tuple[str, str]
    medium: Medium
    line_rate: float | None
    """What the sender's card carries, in the unit of the value; None: not stated, or
    the path does not pass it, or the value is no throughput."""
    flags: tuple[Flag, ...]
    figure: CellFigure

    @classmethod
    def of(cls, cell: Cell, flags: Iterable[Flag]) -> "Path":
        named = cell.case.parameters
        ends = (named["from"], named["to"])
        hosts = (named.get("from_host", ""), named.get("to_host", ""))
        medium = medium_of(cell.scenario, ends, hosts)
        rate = line_rate_bit_per_s(cell.system.host.facts) if medium == "wire" else None
        line_rate = None
        if rate is not None and cell.case.better == "higher":
            # A metric that is no throughput has no line to be compared with.
            with suppress(InvalidError):
                line_rate = units.convert(rate, "bit/s", cell.case.unit)
        return cls(
            cell=cell,
            ends=ends,
            hosts=hosts,
            medium=medium,
            line_rate=line_rate,
            flags=tuple(flags),
            figure=cell_figure(cell, cell.case.unit),
        )

    @property
    def flag_ids(self) -> list[int]:
        return [flag.pk for flag in self.flags]

    @property
    def value(self) -> float | None:
        return self.figure.value

    @cached_property
    def traits(self) -> Mapping[str, str]:
        system, scenario = self.cell.system, self.cell.scenario
        stated = {name: getattr(system, name) for name in TRAITS if name != "host"}
        stated["host"] = system.host.slug
        stated["scenario"] = "" if scenario in PLACES else scenario
        stated |= {"vms": self.cell.vms, "slot": self.cell.slot} | dict(system.options)
        return {name: str(value) for name, value in stated.items() if value is not None}

    @property
    def share(self) -> float | None:
        if self.value is None or not self.line_rate:
            return None
        return self.value / self.line_rate


@dataclass(frozen=True)
class Matrix:
    setting: tuple[Fact, ...]
    paths: Mapping[Ends, Path]

    @property
    def stated(self) -> dict[str, str]:
        return {fact.name: fact.value for fact in self.setting}

    @property
    def sent(self) -> tuple[Path, ...]:
        return tuple(self.paths.values())

    @cached_property
    def asymmetries(self) -> tuple[Asymmetry, ...]:
        known = (path for path in self.sent if path.value is not None)
        return asymmetries({path.ends: path.cell for path in known})


@dataclass(frozen=True)
class NetworkMetric:
    """One metric under equal parameters, with a matrix for each setting, in order."""

    key: str
    tool: str
    metric: str
    unit: str
    better: str
    parameters: Mapping[str, str]
    nodes: tuple[tuple[str, str], ...]
    """Name and host of each node, those of one host beside each other."""
    matrices: tuple[Matrix, ...]


def study_network(viewer: Viewer, study: Study) -> tuple[NetworkMetric, ...]:
    """Return a study's metrics between named nodes, in at most five queries."""
    measured = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    between = measured.filter(case__parameters__has_keys=["from", "to"])
    shared = between.prefetch_related("case", "system__host")
    cells = list(shared.only(*BRIEF, "m2", "decimals").order_by("pk"))

    # Only flags of these cells that nobody dismissed: others have thousands.
    flags: dict[int, list[Flag]] = defaultdict(list)
    if cells:
        undismissed = visible_flags(viewer, study=study).exclude(status="dismissed")
        links = Flag.cells.through._default_manager.filter(
            cell__in=[cell.pk for cell in cells],
            flag__in=undismissed.order_by().values("pk"),
        )
        for link in links.select_related("flag").order_by("flag"):
            flags[link.cell_id].append(link.flag)

    groups: dict[str, list[Path]] = defaultdict(list)
    for cell in cells:
        case = cell.case
        others = {k: v for k, v in case.parameters.items() if k not in ENDS}
        key = json.dumps([case.tool, case.metric, sorted(others.items()), cell.load])
        groups[key].append(Path.of(cell, flags.get(cell.pk, ())))

    def place(metric: NetworkMetric) -> tuple[Any, ...]:
        names = [known.name for known in known_tool(metric.tool).metrics]
        return (metric.tool, rank(names, metric.metric), metric.key)

    metrics = [_metric(key, paths) for key, paths in groups.items()]
    return tuple(sorted(metrics, key=place))


def _metric(key: str, paths: Sequence[Path]) -> NetworkMetric:
    # A trait that goes with the sender (dom0 of the nodes, guests of the VMs) tells
    # nothing that its name does not; one that one sender had in two ways is a setting.
    ways: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        for name, value in path.traits.items():
            ways[name, path.ends[0]].add(value)
    varied = {name for (name, _), values in ways.items() if len(values) > 1}
    names = sorted(varied, key=lambda name: rank((*TRAITS, *OPTIONS), name))
    by_setting: dict[tuple[Fact, ...], dict[Ends, Path]] = defaultdict(dict)
    for path in paths:
        stated = path.traits
        setting = tuple(Fact(name, stated.get(name, "")) for name in names)
        by_setting[setting][path.ends] = path

    hosts: dict[str, str] = {}
    for path in paths:
        for end, host in zip(path.ends, path.hosts, strict=True):
            hosts[end] = hosts.get(end) or host
    # A host is a node of its own: it stands before its guests.
    nodes = sorted(
        hosts.items(), key=lambda it: (natural(it[1]), it[0] != it[1], natural(it[0]))
    )

    def place(setting: Sequence[Fact]) -> list[Any]:
        values = [fact.value for fact in setting]
        return [(value not in {"", "no", "off"}, natural(value)) for value in values]

    case = paths[0].cell.case
    return NetworkMetric(
        key=key,
        tool=case.tool,
        metric=case.metric,
        unit=case.unit,
        better=case.better,
        parameters={k: v for k, v in case.parameters.items() if k not in ENDS},
        nodes=tuple(nodes),
        matrices=tuple(
            Matrix(setting, by_setting[setting])
            for setting in sorted(by_setting, key=place)
        ),
    )
