"""What a row of a comparison is: one cell against its baseline. PURE.

A table has thousands of rows, but few cases and systems: each of these is one object
that its rows share, so that an ordinary frozen row is as quickly made as a dictionary.
What a row shows, speed or energy, is a part of its own (``shown``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import tools
from benchmarks.analysis.energy import EnergyRatio, MeterFacts
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


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """What a row says of its case."""

    id: int
    label: str
    tool: str
    tool_title: str
    metric: str
    operation: str
    access: str
    parameters: Mapping[str, str]
    component: str

    @classmethod
    def of(cls, case: Case) -> "ComparedCase":
        return cls(
            id=case.pk,
            label=case.label,
            tool=case.tool,
            tool_title=tools.get(case.tool).title,
            metric=case.metric,
            operation=case.parameters.get("operation", ""),
            access=case.parameters.get("access", ""),
            parameters=case.parameters,
            component=case.component,
        )


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """What a row says of its system."""

    id: int
    label: str
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

    @classmethod
    def of(cls, system: System) -> "ComparedSystem":
        return cls(
            id=system.pk,
            label=system.label,
            host=system.host.slug,
            **system.stated,
            hw_virt=system.options.get("hw_virt", ""),
            guest_tools=system.options.get("guest_tools", ""),
            options=system.options,
        )


@dataclass(frozen=True, slots=True)
class CellEnergy:
    """What the work of one cell cost: J for each metered run, and against the baseline.

    ``unit`` is J, or J for a unit of data. ``ratio`` is None where the baseline has no
    power of its own that this can be set against; ``judgement`` is of the ratio of
    joules, None where two meters forbid an interval. ``gates`` are what stands against
    the cell itself.
    """

    unit: str
    costs: tuple[float, ...]
    meter: MeterFacts
    gates: int = 0
    base: float | None = None
    base_n: int = 0
    ratio: EnergyRatio | None = None
    judgement: Judgement | None = None

    @property
    def mean(self) -> float:
        return sum(self.costs) / len(self.costs)


@dataclass(frozen=True, slots=True)
class Compared:
    """What a row shows of its cell: a speed, or the energy of its work.

    ``value`` and ``baseline_value`` are means over runs in ``unit``; they are None, as
    is every ratio, where no single figure describes the runs: ``doubts`` then says why,
    ``shape`` in words, ``speeds`` has the two speeds and ``range`` the least and the
    greatest run. ``efficiency`` is
    set against a native baseline only (1 = native speed); ``relative`` is the same
    ratio against a reference system, and ``scaling`` that of a sum over several VMs
    against one machine alone.

    Of an energy ``value`` is J for a unit of work, and ``efficiency`` the work for a
    joule against the baseline's: 1 is the baseline and less is worse, as everywhere.
    ``judgement`` is then of ``joules``. ``energy`` is None where nothing was metered.
    """

    value: float | None
    unit: str
    better: str
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
    doubts: tuple[str, ...] = ()
    baseline_doubts: tuple[str, ...] = ()
    shape: str = ""
    speeds: tuple[float, ...] = ()
    range: tuple[float, float] | None = None
    is_energy: bool = False
    energy: CellEnergy | None = None

    @property
    def full_state(self) -> str:
        """The state, or that there is no single figure."""
        return NO_SINGLE_FIGURE if self.doubts or self.baseline_doubts else self.state

    @property
    def ratio(self) -> float | None:
        """The efficiency, the ratio to a reference system, or the scaling."""
        if self.efficiency is not None:
            return self.efficiency
        return self.scaling if self.relative is None else self.relative

    @property
    def joules(self) -> EnergyRatio | None:
        """The ratio of joules, where it may be told."""
        is_told = self.energy is not None and self.efficiency is not None
        return self.energy.ratio if self.energy and is_told else None


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One cell against its baseline, the same in the API and on pages."""

    id: int
    study: str
    case: ComparedCase
    system: ComparedSystem
    scenario: str
    vms: int | None
    slot: str
    load: str
    clock: str
    document: str
    table: str
    shown: Compared

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands in a table: all rows of one line have the same."""
        return (self.case.id, self.scenario, self.vms, self.load, self.slot)


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


def speed(
    own: Mapping[str, Any],
    case: Case,
    against: Against,
    judgement: Judgement | None = None,
) -> Compared:
    """Return what is shown of a cell's speed; ``own`` are its values of `OWN`.

    ``own["shape"]`` is needed only where the cell has codes of its shape.
    """
    doubts, others, reason = own["shape_codes"], against.baseline_doubts, against.reason
    ratio, instead = against.ratio, {}
    if doubts or others:
        ratio, instead = None, instead_of_mean(own)
        instead["baseline_doubts"] = codes_of(others)
        reason = Sentence("No single figure describes the runs of the baseline.")
    if doubts:
        reason = no_single_figure(
            in_unit(shape_sentence(own["shape"] or {}), case.unit)
        )
    is_relative, is_scaling = (
        against.state == each for each in (State.RELATIVE, State.SCALING)
    )
    return Compared(
        None if doubts else own["mean"],
        case.unit,
        case.better,
        own["n"],
        None if others else against.baseline_value,
        against.baseline_n,
        against.baseline_system_id,
        None if is_relative or is_scaling else ratio,
        ratio if is_relative else None,
        ratio if is_scaling else None,
        against.state,
        reason,
        judgement,
        **instead,
    )
