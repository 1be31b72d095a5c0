"""A study's network results as matrices of paths between nodes, one per setting."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from benchmarks import units
from benchmarks.analysis.baselines import ON_HOST_SCENARIOS
from benchmarks.analysis.intervals import log_ratio_intervals
from benchmarks.comparison.comparison_row import FIGURE_FIELDS, CellFigure, cell_figure
from benchmarks.comparison.comparison_table import (
    OPTIONS,
    PROPERTIES,
    Fact,
    rank_by_order,
)
from benchmarks.comparison.study_verdicts import cell_statistics
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.errors import InvalidError
from benchmarks.host_facts import line_rate_bit_per_s
from benchmarks.models import Cell, Flag, Study
from benchmarks.natural_sort import natural_sort_key
from benchmarks.studies.flags import visible_flags
from benchmarks.viewer import Viewer

ENDPOINT_PARAMETERS = ("from", "to", "from_host", "to_host")
NETWORK_SCENARIOS = ("single", "inter-vm", "same-host", "inter-host")
SYSTEM_TRAITS = ("hypervisor", "hypervisor_version", *PROPERTIES)
Medium = Literal["loopback", "same_host", "wire", "unknown"]
Endpoints = tuple[str, str]

MIN_ASYMMETRY: Final = 1.25


@dataclass(frozen=True)
class Asymmetry:
    """A path whose opposite direction is slower by ``factor``.

    The interval, ``low`` to ``high``, does not exist for single runs.
    """

    larger: Endpoints
    factor: float
    low: float | None
    high: float | None


def path_medium(scenario: str, endpoints: Endpoints, hosts: tuple[str, str]) -> Medium:
    if endpoints[0] == endpoints[1]:
        return "loopback"
    if scenario in ON_HOST_SCENARIOS or (hosts[0] and hosts[0] == hosts[1]):
        return "same_host"
    if scenario == "inter-host" or all(hosts):
        return "wire"
    return "unknown"


def asymmetries(paths: Mapping[Endpoints, Cell]) -> tuple[Asymmetry, ...]:
    asymmetric = []
    means = {ends: cell.mean or 0.0 for ends, cell in paths.items()}
    for forward in paths:
        backward = (forward[1], forward[0])
        if (
            forward < backward
            and backward in paths
            and min(means[forward], means[backward]) > 0
        ):
            faster, slower = (
                (forward, backward)
                if means[forward] >= means[backward]
                else (backward, forward)
            )
            larger, smaller = (
                cell_statistics([paths[ends]]) for ends in (faster, slower)
            )
            ratio = log_ratio_intervals(larger, smaller, [True])
            low, high = float(ratio.low[0]), float(ratio.high[0])
            interval = (low, high) if np.isfinite(low) else (None, None)
            factor = means[faster] / means[slower]
            asymmetric.append(Asymmetry(faster, factor, *interval))
    clear = [
        asymmetry
        for asymmetry in asymmetric
        if asymmetry.factor >= MIN_ASYMMETRY and (asymmetry.low or 2) > 1
    ]
    return tuple(sorted(clear, key=lambda asymmetry: -asymmetry.factor))


@dataclass(frozen=True)
class NetworkPath:
    cell: Cell
    endpoints: Endpoints
    hosts: tuple[str, str]
    medium: Medium
    line_rate: float | None
    """The capacity of the sender's card in the unit of the value.

    None if the path does not pass the card, or if the value is not a throughput.
    """
    flags: tuple[Flag, ...]
    figure: CellFigure

    @classmethod
    def from_cell(cls, cell: Cell, flags: Iterable[Flag]) -> "NetworkPath":
        parameters = cell.case.parameters
        ends = (parameters["from"], parameters["to"])
        hosts = (parameters.get("from_host", ""), parameters.get("to_host", ""))
        medium = path_medium(cell.scenario, ends, hosts)
        rate = line_rate_bit_per_s(cell.system.host.facts) if medium == "wire" else None
        line_rate = None
        if rate is not None and cell.case.better == "higher":
            with suppress(InvalidError):
                line_rate = units.convert(rate, "bit/s", cell.case.unit)
        return cls(
            cell=cell,
            endpoints=ends,
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
        stated = {
            name: getattr(system, name) for name in SYSTEM_TRAITS if name != "host"
        }
        stated["host"] = system.host.slug
        stated["scenario"] = "" if scenario in NETWORK_SCENARIOS else scenario
        stated |= {"vms": self.cell.vms, "slot": self.cell.slot} | dict(system.options)
        return {name: str(value) for name, value in stated.items() if value is not None}

    @property
    def line_rate_share(self) -> float | None:
        if self.value is None or not self.line_rate:
            return None
        return self.value / self.line_rate


@dataclass(frozen=True)
class NetworkMatrix:
    setting: tuple[Fact, ...]
    paths: Mapping[Endpoints, NetworkPath]

    @property
    def setting_by_name(self) -> dict[str, str]:
        return {fact.name: fact.value for fact in self.setting}

    @property
    def all_paths(self) -> tuple[NetworkPath, ...]:
        return tuple(self.paths.values())

    @cached_property
    def asymmetries(self) -> tuple[Asymmetry, ...]:
        unimodal_paths = (path for path in self.all_paths if path.value is not None)
        return asymmetries({path.endpoints: path.cell for path in unimodal_paths})


@dataclass(frozen=True)
class NetworkMetric:
    key: str
    tool: str
    metric: str
    unit: str
    better: str
    parameters: Mapping[str, str]
    nodes: tuple[tuple[str, str], ...]
    """Names and hosts; nodes of one host are adjacent."""
    matrices: tuple[NetworkMatrix, ...]


def study_network(viewer: Viewer, study: Study) -> tuple[NetworkMetric, ...]:
    measured = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    between = measured.filter(case__parameters__has_keys=["from", "to"])
    shared = between.prefetch_related("case", "system__host")
    cells = list(
        shared.only(*FIGURE_FIELDS, "m2", "decimals", "display_step").order_by("pk")
    )

    # Studies can have thousands of flags: read only those of these cells.
    flags: dict[int, list[Flag]] = defaultdict(list)
    if cells:
        undismissed = visible_flags(viewer, study=study).exclude(status="dismissed")
        links = Flag.cells.through._default_manager.filter(
            cell__in=[cell.pk for cell in cells],
            flag__in=undismissed.order_by().values("pk"),
        )
        for link in links.select_related("flag").order_by("flag"):
            flags[link.cell_id].append(link.flag)

    groups: dict[str, list[NetworkPath]] = defaultdict(list)
    for cell in cells:
        case = cell.case
        other_parameters = {
            k: v for k, v in case.parameters.items() if k not in ENDPOINT_PARAMETERS
        }
        key = json.dumps(
            [case.tool, case.metric, sorted(other_parameters.items()), cell.load]
        )
        groups[key].append(NetworkPath.from_cell(cell, flags.get(cell.pk, ())))

    def sort_key(metric: NetworkMetric) -> tuple[Any, ...]:
        names = [metric_spec.name for metric_spec in require_tool(metric.tool).metrics]
        return (metric.tool, rank_by_order(names, metric.metric), metric.key)

    metrics = [_metric(key, paths) for key, paths in groups.items()]
    return tuple(sorted(metrics, key=sort_key))


def _metric(key: str, paths: Sequence[NetworkPath]) -> NetworkMetric:
    # A trait is a setting if one sender has several values of it. All other traits
    # follow from the name of the sender.
    values_by_sender: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        for name, value in path.traits.items():
            values_by_sender[name, path.endpoints[0]].add(value)
    varied = {name for (name, _), values in values_by_sender.items() if len(values) > 1}
    names = sorted(
        varied, key=lambda name: rank_by_order((*SYSTEM_TRAITS, *OPTIONS), name)
    )
    by_setting: dict[tuple[Fact, ...], dict[Endpoints, NetworkPath]] = defaultdict(dict)
    for path in paths:
        stated = path.traits
        setting = tuple(Fact(name, stated.get(name, "")) for name in names)
        by_setting[setting][path.endpoints] = path

    hosts: dict[str, str] = {}
    for path in paths:
        for end, host in zip(path.endpoints, path.hosts, strict=True):
            hosts[end] = hosts.get(end) or host
    nodes = sorted(
        hosts.items(),
        key=lambda node: (
            natural_sort_key(node[1]),
            node[0] != node[1],
            natural_sort_key(node[0]),
        ),
    )

    def sort_key(setting: Sequence[Fact]) -> list[Any]:
        values = [fact.value for fact in setting]
        return [
            (value not in {"", "no", "off"}, natural_sort_key(value))
            for value in values
        ]

    case = paths[0].cell.case
    return NetworkMetric(
        key=key,
        tool=case.tool,
        metric=case.metric,
        unit=case.unit,
        better=case.better,
        parameters={
            k: v for k, v in case.parameters.items() if k not in ENDPOINT_PARAMETERS
        },
        nodes=tuple(nodes),
        matrices=tuple(
            NetworkMatrix(setting, by_setting[setting])
            for setting in sorted(by_setting, key=sort_key)
        ),
    )
