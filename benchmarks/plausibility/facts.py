"""The cells and runs of a study as plain values, their precision and their noise."""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property, wraps
from itertools import takewhile
from typing import Final, Literal, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from benchmarks import units
from benchmarks.analysis.energy import WORK_TIMES
from benchmarks.analysis.publishing import DISPERSION
from benchmarks.errors import InvalidError
from benchmarks.platforms import EMULATED_LAYER, is_emulation
from benchmarks.sentences import Sentence

Id = int | str | UUID
Better = Literal["higher", "lower", "neither"]
Scalar = str | int | float | bool
Found = TypeVar("Found")
ColumnKey = tuple[Id, Id, str, int | None, str, str]
"""Study, system, scenario, VMs, slot and load: one column of a comparison."""

ORDER: Final = ("min", "p50", "p90", "p95", "p99", "p99.9", "max")
EXTREMES: Final = frozenset({*ORDER, "percentile"} - {"p50"})

TYPICAL: Final[Mapping[str, float]] = {**DISPERSION, "application": 0.05}
"""The relative standard deviation of one run that a lab may publish with (method,
section 9): what a single printed value is believed to scatter by."""

_STARTING: Final = re.compile(
    r"\b(re)?boot(s|ing|ed)?\b|\bboot[ -]?(up|time)|\bstart(ing)?[ -]?up\b|"
    r"\b(cold|warm)[ -]start|\bstart time\b|\blaunch(es|ing)?\b|\bspin[ -]?up\b"
)

NORMAL: Final = 1.4826
"""The median absolute deviation of a normal sample times this is its deviation."""
PRIOR_RUNS: Final = 4
"""The degrees of freedom that the noise of a kind counts for beside a cell's own."""
ENOUGH: Final = 8
"""The degrees of freedom from which on a study's own scatter replaces TYPICAL."""
OWN_FREEDOM: Final = 4
"""The degrees of freedom from which on a cell's own scatter may stand alone."""
LEAST_ERROR: Final = 1e-3
"""No mean is known better than this, however alike a few readings are."""


def factor_of(log: float) -> float:
    """The factor of a log ratio, held within what a number can be."""
    return math.exp(min(max(log, -700.0), 700.0))


# No slots: what rules ask again and again of thousands of cells is kept with each.
@dataclass(frozen=True, kw_only=True)
class CellFact:
    """One cell with its system, its case, its run means and its baseline.

    Empty texts, empty tuples and None: not known; there are no cells without runs.
    ``host`` is equal for the same machine, also in other studies. ``means`` are the run
    means in order, in ``unit``; ``decimals`` the most that a sample was printed with.
    ``sittings`` are the session names of ``means`` (empty: not known). ``is_emulated``:
    an agent detected an emulated processor.
    """

    id: Id
    study: Id
    study_label: str = ""

    host: str
    system: Id
    system_label: str = ""
    is_native: bool = False
    is_emulated: bool = False
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
    zero_allowed: bool = False

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
    baseline_study: Id | None = None

    session: str = ""
    sittings: tuple[str, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def variance(self) -> float | None:
        """The variance of the run means; None for a single run, or beyond a number."""
        share = self.relative_variance
        if share is None:
            return 0.0 if len(self.means) > 1 and not any(self.means) else None
        variance = share * self.mean * self.mean
        return variance if math.isfinite(variance) else None

    @cached_property
    def relative_variance(self) -> float | None:
        """Return variance / mean^2 of the run means; None for one run or mean 0."""
        if len(self.means) < 2 or self.mean == 0:
            return None
        # Of the ratios: the squares of very large and small readings are no numbers.
        ratios = [value / self.mean for value in self.means]
        middle = math.fsum(ratios) / len(ratios)
        squares = math.fsum((ratio - middle) * (ratio - middle) for ratio in ratios)
        return squares / (len(ratios) - 1) if math.isfinite(squares) else None

    @cached_property
    def column(self) -> ColumnKey:
        """In which column of a comparison the cell stands; its row is the case."""
        return (self.study, self.system, *self.circumstances)

    @property
    def circumstances(self) -> tuple[str, int | None, str, str]:
        return (self.scenario, self.vms, self.slot, self.load)

    @cached_property
    def kind(self) -> tuple[str, str, str]:
        """What cells must have in common to be siblings."""
        return (self.component, self.tool, self.metric)

    @cached_property
    def emulation(self) -> str:
        """The layers of a system whose processor a program imitates; else empty."""
        stated = (self.hypervisor, self.hypervisor_version, self.virtualization)
        if not (self.is_emulated or is_emulation(*stated, self.options)):
            return ""
        return self.options.get("layers", "").casefold() or EMULATED_LAYER

    @property
    def is_speed(self) -> bool:
        """Whether it has a direction and is neither a share nor an extreme."""
        return self.better != "neither" and not (self.is_share or self.is_extreme)

    @property
    def is_share(self) -> bool:
        """Whether it says how busy a CPU was, not how fast something went."""
        return self.unit == "%" and "cpu" in self.metric.casefold()

    @property
    def is_extreme(self) -> bool:
        """Whether it is a minimum, a maximum or a percentile."""
        return self.metric.rpartition(" ")[2] in EXTREMES

    @cached_property
    def is_start_up(self) -> bool:
        """Return whether it is the time that something took to start."""
        said = f"{self.tool} {self.metric} {self.case_label}".casefold()
        return self.better == "lower" and _STARTING.search(said) is not None

    @property
    def readings(self) -> tuple[float, ...]:
        """The run means; of a single printed value itself."""
        return self.means or (self.mean,)

    @property
    def case_name(self) -> str:
        """The case for a sentence."""
        return self.case_label or str(self.case)

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
    """One run with readings, facts and its parser's ``marks`` (code, sentence).

    ``corun`` groups runs that ran together; ``upload`` is the key of its upload.
    """

    id: Id
    study: Id
    upload: str = ""
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
        times = [s.value for s in self.samples if s.metric in WORK_TIMES]
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


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of a run that share their parameters, in base units (B, s, W)."""

    values: Mapping[str, float]
    samples: Mapping[str, SampleFact]
    parameters: Mapping[str, str]

    def __getitem__(self, metric: str) -> float:
        return self.values[metric]

    def has(self, *metrics: str) -> bool:
        """Whether all of these were read."""
        return all(metric in self.values for metric in metrics)

    def rounding(self, *metrics: str) -> float:
        """How far rounding alone may move a product of these, as a ratio."""
        halves = []
        for sample in (self.samples[metric] for metric in metrics):
            value = Decimal(repr(float(sample.value))).normalize()
            decimals = max(-int(value.as_tuple().exponent), 0)
            if sample.decimals is not None:
                decimals = sample.decimals
            if sample.value:
                halves.append(0.5 * 10.0**-decimals / abs(sample.value))
        return math.fsum(halves)


def grouped(run: RunFact, least: int = 1) -> Iterator[Readings]:
    """The readings of a run that stand beside each other, at least so many."""
    groups: dict[object, dict[str, SampleFact]] = defaultdict(dict)
    for sample in run.samples:
        key = (tuple(sorted(sample.parameters.items())), sample.repetition)
        groups[key].setdefault(sample.metric, sample)
    for samples in groups.values():
        if len(samples) < least:
            continue
        values = {}
        for metric, sample in samples.items():
            unit = units.find(sample.unit)
            base = units.BASE_UNITS.get(unit.dimension) if unit else None
            value = sample.value
            try:
                value = units.convert(value, sample.unit, base) if base else value
            except InvalidError:
                continue  # no number in the base unit, so nothing to compare
            values[metric] = value
        yield Readings(values, samples, next(iter(samples.values())).parameters)


CONVERTED: Final = 8
"""Of so many significant digits none is printed: they come from a conversion."""
BINARY_PREFIXES: Final = tuple(1.024**power for power in range(1, 5))


@dataclass(frozen=True, slots=True)
class Precision:
    """The decimals and the significant digits that a set of values shows at most."""

    decimals: int
    digits: int

    def step(self, value: float) -> float:
        """The distance to the next value that could have been printed."""
        by_decimals = max(10.0**-self.decimals, sys.float_info.min)
        if value == 0 or not math.isfinite(value):
            return by_decimals
        magnitude = math.floor(math.log10(abs(value))) + 1
        return max(by_decimals, 10.0 ** (magnitude - self.digits))


def precision(values: Iterable[float], decimals: int | None = None) -> Precision:
    """Return the resolution of printed values; more ``decimals`` are trusted if known.

    Converted values (MiB/s stored in MB/s) get the digits of the printed ones.
    """
    values = list(values)
    plain = _shown(values, decimals)
    if plain.digits < CONVERTED:
        return plain
    found = [plain]
    for factor in BINARY_PREFIXES:
        # A binary prefix is nearly the decimal one: the step is the same, to a tenth.
        before = (float(f"{value / factor:.12g}") for value in values)
        # The first that has too many ends it: a study has many readings.
        shown = list(takewhile(_is_printed, before))
        if len(shown) == len(values):
            found.append(_shown(shown))
    return min(found, key=lambda it: it.digits)


def _is_printed(value: float) -> bool:
    return _shown([value]).digits < CONVERTED


def _shown(values: Iterable[float], decimals: int | None = None) -> Precision:
    most_decimals, most_digits = 0, 1
    for value in values:
        number = Decimal(repr(float(value))).normalize()
        _, digits, exponent = number.as_tuple()
        most_decimals = max(most_decimals, -int(exponent))
        most_digits = max(most_digits, len(digits))
    if decimals is not None and decimals > most_decimals:
        # Lost zeros are digits, too: 12.50 shows four.
        most_digits += decimals - most_decimals
        most_decimals = decimals
    return Precision(most_decimals, most_digits)


@dataclass(frozen=True, slots=True)
class Noise:
    """The relative standard deviation of one run, per kind of cell.

    A cell's own scatter is pooled with that of its kind (from 8 degrees of freedom),
    its component or ``TYPICAL``, which counts as ``PRIOR_RUNS`` degrees of freedom.
    """

    by_kind: Mapping[tuple[str, ...], float]

    def of_kind(self, cell: CellFact) -> float:
        """One run's relative standard deviation in cells like this one."""
        for kind in _kinds(cell):
            if kind in self.by_kind:
                return self.by_kind[kind]
        return TYPICAL.get(cell.component, 0.05)

    def of_run(self, cell: CellFact) -> float:
        """One run's relative standard deviation in this cell."""
        prior, own = self.of_kind(cell), cell.relative_variance
        if own is None:
            return prior
        freedom = len(cell.means) - 1
        pooled = freedom * own + PRIOR_RUNS * prior**2
        return math.sqrt(pooled / (freedom + PRIOR_RUNS))

    def of_mean(self, cell: CellFact) -> float:
        """The relative standard error of the cell's mean."""
        return self.of_run(cell) / math.sqrt(max(cell.n, 1))

    def at_least(self, cell: CellFact) -> float:
        """Return a mean's relative standard error; quiet cells by a t quantile."""
        own, freedom = cell.relative_variance, len(cell.means) - 1
        if own is None or freedom < OWN_FREEDOM:
            return self.of_mean(cell)
        # A t quantile over the normal one: 2.6 for 4 degrees, 1.5 for 9.
        wider = 1 + 13 / math.pow(freedom, 1.5)
        alone = wider * math.sqrt(own / max(cell.n, 1))
        return min(self.of_mean(cell), max(alone, LEAST_ERROR))


def observed_noise(cells: Iterable[CellFact]) -> Noise:
    """Pool the relative variances of repeated cells without the largest fifth."""
    variances: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for cell in cells:
        own = cell.relative_variance
        if own is not None:
            for kind in _kinds(cell):
                variances[kind].append((own, len(cell.means) - 1))
    by_kind = {}
    for kind, pairs in variances.items():
        kept = sorted(pairs)[: max(1, math.ceil(0.8 * len(pairs)))]
        freedom = sum(count for _, count in kept)
        if freedom >= ENOUGH:
            total = sum(variance * count for variance, count in kept)
            by_kind[kind] = math.sqrt(total / freedom)
    return Noise(by_kind)


def _kinds(cell: CellFact) -> tuple[tuple[str, ...], ...]:
    return ((cell.component, cell.tool, cell.metric), (cell.component,))


def by_column(cells: Iterable[CellFact]) -> Mapping[ColumnKey, Mapping[Id, CellFact]]:
    """Cells by their columns and, within these, by their cases."""
    columns: dict[ColumnKey, dict[Id, CellFact]] = {}
    for cell in cells:
        columns.setdefault(cell.column, {})[cell.case] = cell
    return columns


# No slots here: a cached_property needs the instance's dictionary.
@dataclass(frozen=True, kw_only=True, eq=False)
class StudyFacts:
    """A study's cells and runs, with ``others`` of other studies that may be shown.

    ``varied`` are the dimensions in which the systems differ on purpose.
    """

    id: Id
    cells: tuple[CellFact, ...] = ()
    runs: tuple[RunFact, ...] = ()
    others: tuple[CellFact, ...] = ()
    varied: tuple[str, ...] = ()

    @cached_property
    def leant_on(self) -> frozenset[Id]:
        """The other studies with a cell that one of these is compared with."""
        studies = {cell.baseline_study for cell in self.cells}
        return frozenset(pk for pk in studies - {self.id} if pk is not None)

    @cached_property
    def _everywhere(self) -> Mapping[Id, CellFact]:
        return {cell.id: cell for cell in (*self.others, *self.cells)}

    def baseline(self, cell: CellFact) -> CellFact | None:
        """The cell that a cell is compared with, if it is known here."""
        return None if cell.baseline is None else self._everywhere.get(cell.baseline)

    @cached_property
    def noise(self) -> Noise:
        """How much a run scatters here, per tool and metric."""
        return observed_noise(self.cells)

    @cached_property
    def precisions(self) -> Mapping[object, Precision]:
        """How finely each kind of cell is printed, by study and kind."""
        kinds: dict[object, list[CellFact]] = defaultdict(list)
        for cell in (*self.cells, *self.others):
            kinds[cell.study, cell.kind].append(cell)
        return {
            kind: precision(
                (value for cell in cells for value in cell.readings),
                max(
                    (c.decimals for c in cells if c.decimals is not None), default=None
                ),
            )
            for kind, cells in kinds.items()
        }

    def step(self, cell: CellFact) -> float:
        """The distance to the next value that could have been printed for a cell."""
        return self.precisions[cell.study, cell.kind].step(cell.mean)

    @cached_property
    def columns(self) -> Mapping[ColumnKey, Mapping[Id, CellFact]]:
        """The cells of each system under each circumstances, by their cases."""
        return by_column(self.cells)


def once(work: Callable[[StudyFacts], Found]) -> Callable[[StudyFacts], Found]:
    """Work something out once for a study: several rules ask for it."""
    known: WeakKeyDictionary[StudyFacts, Found] = WeakKeyDictionary()

    @wraps(work)
    def found(study: StudyFacts) -> Found:
        if study not in known:
            known[study] = work(study)
        return known[study]

    return found
