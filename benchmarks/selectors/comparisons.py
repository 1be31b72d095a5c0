"""Cells set side by side: one flat row a cell, the same in the API and on pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from django.db.models import F, QuerySet

from benchmarks import tools
from benchmarks.analysis.judgement import Judgement
from benchmarks.models import Campaign, Case, Cell, Efficiency, System
from benchmarks.models.cell import ratio_of_means
from benchmarks.selectors.cell_figures import (
    codes_of,
    instead_of_mean,
    no_single_figure,
    shape_sentence,
)
from benchmarks.sentences import Sentence
from benchmarks.tools.base import Better
from benchmarks.viewer import Viewer

State = Efficiency.State
NOT_YET = "waiting"
CIRCUMSTANCES = ("case_id", "scenario", "vms", "seat", "load")
OWN = (
    *CIRCUMSTANCES,
    *("pk", "system_id", "clock", "mean", "n", "document", "table"),
    *("minimum", "maximum", "shape_codes"),
)
# The state of a row whose runs, or those of its baseline, no single figure describes.
NO_SINGLE_FIGURE = "no_single_figure"


class AnnotatedCell(Protocol):
    """What `compared_cells` adds to a cell."""

    baseline_system_id: int | None
    baseline_doubts: str | None


@dataclass(frozen=True)
class ComparisonRow:
    """One cell against its baseline.

    ``value`` and ``baseline_value`` are means over runs in ``unit``; they are None, as
    is every ratio, where no single figure describes the runs: ``doubts`` then says why,
    ``shape`` in words, ``speeds`` has the two speeds and ``range`` the least and the
    greatest run. ``efficiency`` is
    set against a native baseline only (1 = native speed); ``relative`` is the same
    ratio against a reference system, and ``scaling`` that of a sum over several VMs
    against one machine alone.
    """

    id: int
    campaign: str
    case: str
    case_id: int
    tool: str
    tool_title: str
    metric: str
    operation: str
    access: str
    parameters: Mapping[str, str]
    component: str
    better: str
    system: str
    system_id: int
    host: str
    hypervisor: str
    hypervisor_version: str
    virtualization: str
    guest_os: str
    guest_bits: int | None
    vcpus: int | None
    memory_bytes: int | None
    hw_virt: str
    guest_tools: str
    options: Mapping[str, str]
    scenario: str
    vms: int | None
    seat: str
    load: str
    clock: str
    value: float | None
    unit: str
    n: int
    baseline_value: float | None
    baseline_n: int | None
    baseline_system_id: int | None
    efficiency: float | None
    relative: float | None
    scaling: float | None
    state: str
    reason: str
    judgement: Judgement | None
    document: str
    table: str
    doubts: tuple[str, ...] = ()
    baseline_doubts: tuple[str, ...] = ()
    shape: str = ""
    speeds: tuple[float, ...] = ()
    range: tuple[float, float] | None = None

    @property
    def shown_state(self) -> str:
        """The state, or that there is no single figure."""
        return NO_SINGLE_FIGURE if self.doubts or self.baseline_doubts else self.state

    @property
    def ratio(self) -> float | None:
        """The efficiency, the ratio to a reference system, or the scaling."""
        if self.efficiency is not None:
            return self.efficiency
        return self.scaling if self.relative is None else self.relative


@dataclass(frozen=True, slots=True)
class Against:
    """What a cell was set against, and what came of it."""

    state: str = NOT_YET
    ratio: float | None = None
    baseline_value: float | None = None
    baseline_n: int | None = None
    baseline_system_id: int | None = None
    reason: str = ""
    baseline_doubts: str = ""
    """The codes of why no single figure describes the baseline's runs."""


def compared_cells(
    viewer: Viewer,
    *,
    campaign: Campaign | None = None,
    filters: Mapping[str, Any] | None = None,
) -> QuerySet[Cell]:
    """Return visible cells with all that a comparison row needs, in five queries.

    Cases, systems, hosts and campaigns are few and shared by many cells: each is read
    once, not once a cell as a join would. ``filters`` are Django look-ups on Cell
    ("case__component", "scenario", ...).
    """
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0, **(filters or {}))
    if campaign is not None:
        cells = cells.filter(campaign=campaign)
    return (
        cells.select_related("efficiency")
        .annotate(
            baseline_system_id=F("efficiency__baseline__system_id"),
            baseline_doubts=F("efficiency__baseline__shape_codes"),
        )
        .prefetch_related("case", "system__host", "campaign")
        .order_by("pk")
    )


def comparison_row(
    cell: Cell,
    reference: "Reference | None" = None,
    judgement: Judgement | None = None,
) -> ComparisonRow:
    """Return a cell as a row, against its own baseline or a chosen reference system."""
    own = {name: getattr(cell, name) for name in (*OWN, "shape")}
    shared = {
        "campaign": cell.campaign.slug,
        "unit": cell.case.unit,
        **case_fields(cell.case),
        **system_fields(cell.system),
    }
    against = reference.against_cell(cell) if reference else _stored(cell)
    return compared_row(own, shared, against, judgement)


def compared_row(
    own: Mapping[str, Any],
    shared: Mapping[str, Any],
    against: Against,
    judgement: Judgement | None,
) -> ComparisonRow:
    """Return a row from a cell's own values and those of its case and system.

    A frozen class sets its forty fields one by one; a table of thousands of rows would
    take five times as long to make as this.
    """
    doubts, others = own["shape_codes"], against.baseline_doubts
    ratio = None if doubts or others else against.ratio
    is_relative = against.state == State.RELATIVE
    is_scaling = against.state == State.SCALING
    row = object.__new__(ComparisonRow)
    row.__dict__.update(
        _instead_of_mean(own, against) if doubts or others else IS_ONE_FIGURE,
        **shared,
        id=own["pk"],
        scenario=own["scenario"],
        vms=own["vms"],
        seat=own["seat"],
        load=own["load"],
        clock=own["clock"],
        value=None if doubts else own["mean"],
        n=own["n"],
        document=own["document"],
        table=own["table"],
        baseline_value=None if others else against.baseline_value,
        baseline_n=against.baseline_n,
        baseline_system_id=against.baseline_system_id,
        efficiency=None if is_relative or is_scaling else ratio,
        relative=ratio if is_relative else None,
        scaling=ratio if is_scaling else None,
        state=against.state,
        reason=_reason(own, against),
        judgement=judgement,
    )
    return row


# What a row whose two sides are each one figure has for `_instead_of_mean`.
IS_ONE_FIGURE: Final[Mapping[str, Any]] = {
    "doubts": (),
    "baseline_doubts": (),
    "shape": "",
    "speeds": (),
    "range": None,
}


def _instead_of_mean(own: Mapping[str, Any], against: Against) -> dict[str, Any]:
    """Return what a row says where one figure describes not both of its sides."""
    baseline_doubts = codes_of(against.baseline_doubts)
    return {**instead_of_mean(own), "baseline_doubts": baseline_doubts}


def _reason(own: Mapping[str, Any], against: Against) -> str:
    if own["shape_codes"]:
        return no_single_figure(shape_sentence(own["shape"] or {}))
    if against.baseline_doubts:
        return Sentence("No single figure describes the runs of the baseline.")
    return against.reason


def case_fields(case: Case) -> dict[str, Any]:
    """Return what a row says of its case."""
    return {
        "case": case.label,
        "case_id": case.pk,
        "tool": case.tool,
        "tool_title": tools.get(case.tool).title,
        "metric": case.metric,
        "operation": case.parameters.get("operation", ""),
        "access": case.parameters.get("access", ""),
        "parameters": case.parameters,
        "component": case.component,
        "better": case.better,
    }


def system_fields(system: System) -> dict[str, Any]:
    """Return what a row says of its system."""
    return {
        "system": system.label,
        "system_id": system.pk,
        "host": system.host.slug,
        "hypervisor": system.hypervisor,
        "hypervisor_version": system.hypervisor_version,
        "virtualization": system.virtualization,
        "guest_os": system.guest_os,
        "guest_bits": system.guest_bits,
        "vcpus": system.vcpus,
        "memory_bytes": system.memory_bytes,
        "hw_virt": system.options.get("hw_virt", ""),
        "guest_tools": system.options.get("guest_tools", ""),
        "options": system.options,
    }


def _stored(cell: Cell) -> Against:
    stored = getattr(cell, "efficiency", None)
    if stored is None:
        return Against()
    return Against(
        state=stored.state,
        ratio=stored.ratio,
        baseline_value=stored.baseline_mean,
        baseline_n=stored.baseline_n,
        baseline_system_id=cast(AnnotatedCell, cell).baseline_system_id,
        reason=stored.reason,
        baseline_doubts=cast(AnnotatedCell, cell).baseline_doubts or "",
    )


@dataclass(frozen=True)
class Reference:
    """What was measured on a system that somebody chose to compare with."""

    system: System
    measured: Mapping[tuple[Any, ...], tuple[float | None, int, str]]

    @classmethod
    def of(cls, campaign: Campaign, system: System) -> "Reference":
        """Look up a system's cells of a campaign, in one query."""
        cells = Cell.objects.filter(campaign=campaign, system=system, n__gt=0)
        found = cells.values_list(*CIRCUMSTANCES, "mean", "n", "shape_codes")
        return cls(system, {tuple(row[:-3]): tuple(row[-3:]) for row in found})

    def against_cell(self, cell: Cell) -> Against:
        """Set a cell against this system's cell of the same case and scenario."""
        circumstances = tuple(getattr(cell, name) for name in CIRCUMSTANCES)
        return self.against(
            cell.system_id, circumstances, cell.mean, cast(Better, cell.case.better)
        )

    def against(
        self,
        system_id: int,
        circumstances: tuple[Any, ...],
        mean: float | None,
        better: Better,
    ) -> Against:
        """Do the same for a cell of which only its values are at hand."""
        if system_id == self.system.pk:
            return Against(State.REFERENCE)
        if better == "neither":
            return Against(State.UNDIRECTED)
        other = self.measured.get(circumstances)
        if other is None:
            return Against(
                State.MISSING, reason=Sentence("The reference has no such cell.")
            )
        other_mean, n, doubts = other
        ratio, reason = ratio_of_means(mean, other_mean, better)
        pk = self.system.pk
        return Against(State.RELATIVE, ratio, other_mean, n, pk, reason, doubts)
