"""What the rules look at: the cells and runs of one study, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

from benchmarks.analysis.energy import WORK_TIMES
from benchmarks.platforms import EMULATED_LAYER, EMULATOR
from benchmarks.plausibility.findings import Id
from benchmarks.plausibility.precision import Noise, observed_noise
from benchmarks.sentences import Sentence

Better = Literal["higher", "lower", "neither"]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFact:
    """One cell with its system, its case, its run means and its baseline.

    Empty texts, empty tuples and None: not known; a cell without runs is no cell.
    ``host`` is the same text for the same machine, in other studies too. ``means``
    are the run means in the order of the runs, in ``unit``; ``decimals`` is how many
    decimals the most precise of its samples was printed with. ``efficiency`` with its
    interval is what the study shows; ``baseline`` names the cell it was formed with.
    """

    id: Id
    study: Id
    lab: Id = ""
    study_label: str = ""

    host: str
    system: Id
    system_label: str = ""
    is_native: bool = False
    hypervisor: str = ""
    hypervisor_version: str = ""
    virtualization: str = ""
    guest_os: str = ""
    guest_bits: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    host_cores: int | None = None
    line_rate_bit_per_s: float | None = None
    disk_bus_byte_per_s: float | None = None

    tool: str
    metric: str
    case: Id
    case_label: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    component: str = ""
    unit: str = ""
    better: Better = "higher"

    scenario: str = "single"
    vms: int | None = None
    slot: str = ""
    load: str = ""

    n: int
    mean: float
    means: tuple[float, ...] = ()
    decimals: int | None = None
    clock: str = ""

    baseline: Id | None = None
    baseline_mean: float | None = None
    baseline_n: int | None = None
    baseline_variance: float | None = None
    efficiency: float | None = None

    session: str = ""
    first_at: datetime | None = None
    last_at: datetime | None = None
    document: str = ""
    table: str = ""

    @property
    def variance(self) -> float | None:
        """The variance of the run means; None for a single run."""
        if len(self.means) < 2:
            return None
        mean = sum(self.means) / len(self.means)
        return sum((each - mean) ** 2 for each in self.means) / (len(self.means) - 1)

    @property
    def column(self) -> Column:
        """In which column of a comparison the cell stands; its row is the case."""
        place = (self.scenario, self.vms, self.slot, self.load)
        return (self.study, self.system, *place)

    @property
    def kind(self) -> tuple[str, str, str]:
        """What cells must have in common to be siblings."""
        return (self.component, self.tool, self.metric)

    @property
    def emulation(self) -> str:
        """The layers of a system whose processor a program imitates; else empty."""
        layers = self.options.get("layers", "").casefold()
        is_emulated = self.hypervisor == EMULATOR or EMULATED_LAYER in layers
        return (layers or EMULATED_LAYER) if is_emulated else ""

    @property
    def is_share(self) -> bool:
        """Whether it says how busy a CPU was, not how fast something went."""
        return self.unit == "%" and "cpu" in self.metric.casefold()

    @property
    def name(self) -> str:
        """Case, system and slot for a sentence."""
        case = self.case_label or f"{self.tool} {self.metric}"
        return _on(case, self.where, "" if self.scenario == "single" else self.slot)

    @property
    def where(self) -> str:
        """The system for a sentence."""
        return self.system_label or str(self.system)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFact:
    """One reading of a run, in the unit of its metric."""

    metric: str
    value: float
    unit: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    repetition: int = 1
    cell: Id | None = None
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFact:
    """One run with its readings, its facts and the doubts of its parser.

    ``corun`` names the group of runs that ran together. ``duration_s`` is how long the
    run took by the clock named in ``clock``; ``requested_s`` how long it was told to
    take. ``marks`` are (code, sentence).
    """

    id: Id
    study: Id
    host: str = ""
    system: Id
    system_label: str = ""
    is_native: bool = False
    vcpus: int | None = None
    host_cores: int | None = None

    tool: str
    scenario: str = "single"
    vms: int | None = None
    slot: str = ""
    load: str = ""
    corun: str = ""
    clock: str = ""
    started_at: datetime | None = None
    duration_s: float | None = None
    requested_s: float | None = None
    samples: tuple[SampleFact, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    marks: tuple[tuple[str, str], ...] = ()
    document: str = ""
    table: str = ""

    @property
    def elapsed_s(self) -> float | None:
        """The time that the run's facts state, if it is one: facts hold anything."""
        stated = self.facts.get("elapsed_s")
        known = isinstance(stated, int | float) and 0 < stated < 1e12
        return float(stated) if known and stated is not None else None

    @property
    def took_s(self) -> float | None:
        """How long the run took: by its clock, its facts, or what its tool printed."""
        times = [each.value for each in self.samples if each.metric in WORK_TIMES]
        return self.duration_s or self.elapsed_s or max(times, default=None)

    @property
    def name(self) -> str:
        """Tool, system and slot for a sentence."""
        slot = "" if self.scenario == "single" else self.slot
        return _on(self.tool, self.where, slot)

    @property
    def where(self) -> str:
        """The system for a sentence."""
        return self.system_label or str(self.system)


def _on(what: str, where: str, slot: str) -> Sentence:
    if not slot:
        return Sentence("{what} on {system}", what=what, system=where)
    return Sentence(
        "{what} on {system}, slot {slot}", what=what, system=where, slot=slot
    )


Column = tuple[Id, Id, str, int | None, str, str]
"""Study, system, scenario, VMs, slot and load: one column of a comparison."""


def by_column(cells: Iterable[CellFact]) -> Mapping[Column, Mapping[Id, CellFact]]:
    """Cells by their columns and, within these, by their cases."""
    columns: dict[Column, dict[Id, CellFact]] = {}
    for cell in cells:
        columns.setdefault(cell.column, {})[cell.case] = cell
    return columns


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyFacts:
    """What is checked: a study's cells and runs, beside the cells of others.

    ``others`` are cells of other studies that may be shown to whoever sees these
    findings; they are compared with, never judged. ``varied`` names the dimensions in
    which the study's systems differ on purpose.
    """

    id: Id
    label: str = ""
    cells: tuple[CellFact, ...] = ()
    runs: tuple[RunFact, ...] = ()
    others: tuple[CellFact, ...] = ()
    varied: tuple[str, ...] = ()

    @cached_property
    def _everywhere(self) -> Mapping[Id, CellFact]:
        return {cell.id: cell for cell in (*self.others, *self.cells)}

    def baseline(self, cell: CellFact) -> CellFact | None:
        """The cell that a cell is set against, if it is known here."""
        return None if cell.baseline is None else self._everywhere.get(cell.baseline)

    @cached_property
    def noise(self) -> Noise:
        """How much a run scatters here, per tool and metric."""
        return observed_noise(self.cells)

    @cached_property
    def columns(self) -> Mapping[Column, Mapping[Id, CellFact]]:
        """The cells of each system under each circumstances, by their cases."""
        return by_column(self.cells)
