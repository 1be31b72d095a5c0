"""A row of a comparison: one cell against its baseline, in one measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.analysis.energy import EnergyRatio, MeterFacts
from benchmarks.analysis.intervals import mean_interval
from benchmarks.analysis.judgement import Judgement, TableRatio
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.own_tools.lookup import known_tool
from benchmarks.sentences import Sentence, in_unit, kept_words


@dataclass(frozen=True, slots=True)
class Measure:
    """What a row compares, its verdicts, and which way its written ratio is better."""

    name: str
    verdicts: tuple[str, ...]
    is_less_better: bool = False


RELATIVE_SPEED = Measure("speed", ("slower", "faster", "equivalent", "undetermined"))
ENERGY_PER_WORK = Measure(
    "energy", ("less", "more", "equivalent", "undetermined"), is_less_better=True
)
State = Efficiency.State
NOT_YET = "waiting"
KINDS: Mapping[str, str] = {
    State.RELATIVE: "relative",
    State.OTHER_HOST: "relative",
    State.SCALING: "scaling",
    State.SLOWDOWN: "slowdown",
}
"""Whose ratio is no efficiency, and what it is."""
# The state of a row whose runs, or those of its baseline, no single figure describes.
NO_SINGLE_FIGURE = "no_single_figure"
CIRCUMSTANCES = ("scenario", "vms", "slot", "load")
"""What cells of one case and system differ in."""
SHAPED = ("shape", "shape_codes", "minimum", "maximum")
"""What of a cell tells whether one figure describes its runs."""
BRIEF = ("system", "case", *CIRCUMSTANCES, "n", "mean", *SHAPED)
"""What of a cell is read for its figure and its place; the rest is long."""
OWN = (
    *("case_id", *CIRCUMSTANCES),
    *("pk", "system_id", "clock", "mean", "n", "m2", "decimals", "document", "table"),
    *("minimum", "maximum", "shape_codes"),
)
"""What of a cell a row shows; its shape comes with those that need it alone."""


class Shown(Protocol):
    """Whatever is shown as a mean, or as what stands in its place."""

    @property
    def value(self) -> float | None: ...
    @property
    def speeds(self) -> tuple[float, ...]: ...
    @property
    def range(self) -> tuple[float, float] | None: ...
    @property
    def within(self) -> tuple[float, float] | None: ...


@dataclass(frozen=True)
class CellFigure:
    """The mean of runs, or what is shown where no single figure describes them."""

    value: float | None
    doubts: tuple[str, ...] = ()
    reason: str = ""
    speeds: tuple[float, ...] = ()
    range: tuple[float, float] | None = None
    within: tuple[float, float] | None = None
    """The 95 % interval of the value, by its runs; None where it has none."""


@dataclass(frozen=True, slots=True)
class CellEnergy:
    """The joules of a cell's metered runs per ``unit`` of work, and its baseline's.

    ``ratio`` is None without comparable power of the baseline, ``judgement`` where two
    meters forbid an interval. ``gates`` are of the cell itself; sessions are -1 if
    unknown.
    """

    unit: str
    costs: tuple[float, ...]
    meter: MeterFacts
    gates: int = 0
    base: float | None = None
    base_n: int = 0
    sessions: tuple[int, ...] = ()
    ratio: EnergyRatio | None = None
    judgement: Judgement | None = None

    @property
    def mean(self) -> float:
        return sum(self.costs) / len(self.costs)


@dataclass(frozen=True, slots=True)
class Compared:
    """What a row shows of its cell in one measure: a speed, or the energy of its work.

    ``value`` and ``baseline_value`` are means over runs in ``unit`` (J for a unit of
    work). They and ``ratio`` are None where no single figure describes the runs:
    ``doubts`` then has the codes, ``shape`` the words, ``speeds`` the two speeds,
    ``range`` the least and the greatest run, ``ratio_range`` the ratios of the
    extreme runs.

    ``ratio`` is 1 for the baseline, and less is worse. ``kind`` says against what:
    a native baseline ("efficiency"), a reference system ("relative"), one machine
    alone for a sum over VMs ("scaling"), the system with one VM alone ("slowdown");
    empty without a ratio.

    ``interval`` is the 95 % interval of ``written_ratio``, ``within`` that of the
    value. ``judgement`` is of ``written_ratio``. ``light`` is how far the two sides
    may be compared (green, amber, red; empty without another side),
    ``light_sentence`` what differs. ``energy`` is None where nothing was metered.
    """

    value: float | None
    unit: str
    better: str
    n: int
    baseline_value: float | None
    baseline_n: int | None
    baseline_system_id: int | None
    ratio: float | None
    kind: str
    state: str
    reason: str
    judgement: Judgement | None
    doubts: tuple[str, ...] = ()
    baseline_doubts: tuple[str, ...] = ()
    shape: str = ""
    speeds: tuple[float, ...] = ()
    range: tuple[float, float] | None = None
    measure: Measure = RELATIVE_SPEED
    energy: CellEnergy | None = None
    light: str = ""
    light_sentence: str = ""
    ratio_range: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    within: tuple[float, float] | None = None

    @property
    def full_state(self) -> str:
        return NO_SINGLE_FIGURE if self.doubts or self.baseline_doubts else self.state

    @property
    def written_ratio(self) -> float | None:
        """The ratio that people read: own / baseline of joules, else ``ratio``."""
        return self.joules.ratio if self.joules else self.ratio

    @property
    def is_drawn(self) -> bool:
        """Whether it has a ratio that may stand beside others."""
        return self.ratio is not None and self.light != "red"

    @property
    def joules(self) -> EnergyRatio | None:
        """The ratio of joules; None where it may not be shown."""
        return self.energy.ratio if self.energy and self.ratio is not None else None


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One cell against its baseline, the same in the API and on pages.

    Thousands of rows share their cases and systems.
    """

    id: int
    study: str
    case: Case
    system: System
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
        return (self.case.pk, self.scenario, self.vms, self.load, self.slot)

    @property
    def tool_title(self) -> str:
        return known_tool(self.case.tool).title

    @property
    def operation(self) -> str:
        return str(self.case.parameters.get("operation", ""))

    @property
    def access(self) -> str:
        return str(self.case.parameters.get("access", ""))

    @property
    def hw_virt(self) -> str:
        return str(self.system.options.get("hw_virt", ""))

    @property
    def guest_tools(self) -> str:
        return str(self.system.options.get("guest_tools", ""))


@dataclass(frozen=True, slots=True)
class Against:
    """What a cell was compared with, and what came of it."""

    # `rows.STORED` reads them from the database in this order.
    state: str = NOT_YET
    ratio: float | None = None
    baseline_value: float | None = None
    baseline_n: int | None = None
    baseline_system_id: int | None = None
    reason: str = ""
    baseline_doubts: str = ""
    """The codes of why no single figure describes the baseline's runs."""


def cell_figure(cell: Cell, unit: str = "") -> CellFigure:
    """Return what is shown of a cell, whose speeds are told in that unit."""
    if not cell.shape_codes:
        return CellFigure(cell.mean)
    instead = _instead_of_mean({name: getattr(cell, name) for name in SHAPED})
    shape = in_unit(instead.pop("shape"), unit)
    return CellFigure(None, reason=no_single_figure(shape), **instead)


def _instead_of_mean(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a cell, given by `SHAPED`, instead of its mean."""
    shape: Mapping[str, Any] = own["shape"] or {}
    ends = (own["minimum"], own["maximum"])
    centres = tuple(mode["centre"] for mode in shape.get("modes", ()))
    return {
        "doubts": _separated(own["shape_codes"]),
        "shape": kept_words(shape),
        "speeds": centres if len(centres) > 1 else (),
        "range": ends if own["shape_codes"] and None not in ends else None,
    }


def _separated(doubts: str) -> tuple[str, ...]:
    return tuple(filter(None, doubts.split(",")))


def no_single_figure(shape: str) -> Sentence:
    """Say that no mean may be shown, and why."""
    return Sentence("No single figure: {shape}.", shape=shape)


def row_of(
    own: Mapping[str, Any],
    study: Study,
    case: Case,
    system: System,
    against: Against,
    judgement: Judgement | None = None,
    light: tuple[str, str] = ("", ""),
    told: TableRatio | None = None,
) -> ComparisonRow:
    """Return the row of a cell's speed; ``own`` are its values of `OWN` and the shape.

    ``told`` has the interval, and the ratio where it is not the one of both means; a
    judgement has both, too.
    """
    names = (*CIRCUMSTANCES, "clock", "document", "table")
    return ComparisonRow(
        id=own["pk"],
        study=study.slug,
        case=case,
        system=system,
        shown=_speed(own, case, against, judgement, light, told),
        **{name: own[name] for name in names},
    )


def _speed(
    own: Mapping[str, Any],
    case: Case,
    against: Against,
    judgement: Judgement | None,
    light: tuple[str, str],
    told: TableRatio | None,
) -> Compared:
    doubts, baseline_doubts = own["shape_codes"], against.baseline_doubts
    ratio, reason = against.ratio, against.reason
    if judgement is not None:
        told = TableRatio(judgement.ratio, judgement.range, judgement.interval)
    if told is not None and ratio is not None:
        ratio = told.ratio or ratio
    ratio_range = None
    instead: dict[str, Any] = {}
    if doubts or baseline_doubts:
        ratio_range = told.range if told and ratio is not None else None
        ratio = None
        instead = _instead_of_mean(own)
        instead["baseline_doubts"] = _separated(baseline_doubts)
        reason = Sentence("No single figure describes the runs of the baseline.")
    # Last: the cell's own doubts go before those of its baseline.
    if doubts:
        reason = no_single_figure(in_unit(instead["shape"], case.unit))
    n, mean, m2, decimals = own["n"], own["mean"], own["m2"], own["decimals"]
    within = None
    if not doubts and n > 1 and None not in (mean, m2):
        resolution = None if decimals is None else 10.0**-decimals
        within = mean_interval(n, mean, m2, resolution)
    return Compared(
        value=None if doubts else mean,
        unit=case.unit,
        better=case.better,
        n=n,
        baseline_value=None if baseline_doubts else against.baseline_value,
        baseline_n=against.baseline_n,
        baseline_system_id=against.baseline_system_id,
        ratio=ratio,
        kind="" if ratio is None else KINDS.get(against.state, "efficiency"),
        state=against.state,
        reason=reason,
        judgement=judgement,
        light=light[0],
        light_sentence=light[1],
        ratio_range=ratio_range,
        interval=told.interval if told and ratio is not None else None,
        within=(within.low, within.high) if within else None,
        **instead,
    )
