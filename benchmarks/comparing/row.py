"""One cell against its baseline as one flat row, the same in the API and on pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import tools
from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.cell_figures import (
    codes_of,
    instead_of_mean,
    no_single_figure,
    shape_sentence,
)
from benchmarks.models import Case, Efficiency, System
from benchmarks.sentences import Sentence, in_unit

State = Efficiency.State
NOT_YET = "waiting"
CIRCUMSTANCES = ("case_id", "scenario", "vms", "slot", "load")
OWN = (
    *CIRCUMSTANCES,
    *("pk", "system_id", "clock", "mean", "n", "document", "table"),
    *("minimum", "maximum", "shape_codes"),
)
# The state of a row whose runs, or those of its baseline, no single figure describes.
NO_SINGLE_FIGURE = "no_single_figure"


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
    study: str
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
    slot: str
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
        slot=own["slot"],
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
        reason=_reason(own, shared["unit"], against),
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


def _reason(own: Mapping[str, Any], unit: str, against: Against) -> str:
    if own["shape_codes"]:
        return no_single_figure(in_unit(shape_sentence(own["shape"] or {}), unit))
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
        **system.stated,
        "hw_virt": system.options.get("hw_virt", ""),
        "guest_tools": system.options.get("guest_tools", ""),
        "options": system.options,
    }
