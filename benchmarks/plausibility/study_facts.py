"""Facts of a study that plausibility rules read, without the database."""

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
from statistics import median
from typing import Final, Literal, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from benchmarks import units
from benchmarks.analysis.cell_statistics import dominating_outliers
from benchmarks.analysis.energy_ratio import RUN_TIME_METRICS
from benchmarks.analysis.publication_requirements import MAX_DISPERSION
from benchmarks.errors import InvalidError
from benchmarks.hypervisor_names import EMULATED_LAYER, is_emulation
from benchmarks.sentences import Sentence

Id = int | str | UUID
Better = Literal["higher", "lower", "neither"]
Scalar = str | int | float | bool
Result = TypeVar("Result")
ColumnKey = tuple[Id, Id, str, int | None, str, str]
"""Study, system, scenario, VMs, slot and load, which identify a column of a
comparison.
"""

PERCENTILE_ORDER: Final = (
    *("min", "p50", "p90", "p95", "p99", "p99.5", "p99.9", "p99.95", "p99.99", "max"),
)
EXTREME_STATISTICS: Final = frozenset({*PERCENTILE_ORDER, "percentile"} - {"p50"})

TYPICAL_DEVIATION: Final[Mapping[str, float]] = {**MAX_DISPERSION, "application": 0.05}
"""Relative standard deviation of single runs by component, used if a study has too few
repeated results. It is the largest with which a lab may publish (docs/method.md,
Publishing).
"""

_START_UP: Final = re.compile(
    r"\b(re)?boot(s|ing|ed)?\b|\bboot[ -]?(up|time)|\bstart(ing)?[ -]?up\b|"
    r"\b(cold|warm)[ -]start|\bstart time\b|\blaunch(es|ing)?\b|\bspin[ -]?up\b"
)

MAD_TO_SD: Final = 1.4826
PRIOR_DF: Final = 4
"""Degrees of freedom of the noise of a kind of cells when pooled with a cell's own."""
MIN_POOLED_DF: Final = 8
MIN_OWN_DF: Final = 4
"""Degrees of freedom from which on a cell's own scatter is used without pooling."""
MIN_MEAN_ERROR: Final = 1e-3
"""Minimum relative standard error of a mean, however similar a few readings are."""


def factor_from_log(log: float) -> float:
    """Return exp(log), limited to the range of floats."""
    return math.exp(min(max(log, -700.0), 700.0))


# No slots, because of cached_property.
@dataclass(frozen=True, kw_only=True)
class CellFact:
    """A cell with its system, case, run means and baseline.

    Every cell has runs. Empty texts, empty tuples and None mean unknown. ``host`` is
    the same text for the same machine, also in other studies. ``run_means`` are in
    ``unit``; ``session_names`` are the sessions of these runs, in the same order.
    ``decimals`` is the largest number of decimals printed for a sample, and
    ``stated_deviation`` the published standard deviation of the runs.
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
    run_means: tuple[float, ...] = ()
    stated_deviation: float | None = None
    decimals: int | None = None
    clock: str = ""

    baseline: Id | None = None
    baseline_study: Id | None = None

    declared_session: str = ""
    session_names: tuple[str, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None

    @cached_property
    def typical_value(self) -> float:
        """The mean of the runs, or their median if outliers dominate the variance."""
        names = self.session_names
        if len(names) != len(self.run_means):
            names = ("",) * len(self.run_means)
        if dominating_outliers(self.run_means, names):
            return median(self.run_means)
        return self.mean

    @property
    def variance(self) -> float | None:
        """The variance of the run means; None for one run or if it is not finite."""
        relative = self.relative_variance
        if relative is None:
            return 0.0 if len(self.run_means) > 1 and not any(self.run_means) else None
        variance = relative * self.mean * self.mean
        return variance if math.isfinite(variance) else None

    @cached_property
    def relative_variance(self) -> float | None:
        """The variance of the run means divided by mean^2; None for one run or mean
        0.
        """
        if len(self.run_means) < 2 or self.mean == 0:
            return None
        # Squares of very large or small readings leave the range of floats.
        ratios = [value / self.mean for value in self.run_means]
        middle = math.fsum(ratios) / len(ratios)
        squares = math.fsum((ratio - middle) * (ratio - middle) for ratio in ratios)
        return squares / (len(ratios) - 1) if math.isfinite(squares) else None

    @cached_property
    def column_key(self) -> ColumnKey:
        return (self.study, self.system, *self.circumstances)

    @property
    def circumstances(self) -> tuple[str, int | None, str, str]:
        return (self.scenario, self.vms, self.slot, self.load)

    @cached_property
    def sibling_key(self) -> tuple[str, str, str]:
        return (self.component, self.tool, self.metric)

    @cached_property
    def emulation_layers(self) -> str:
        """The stated layers of an emulated system, otherwise `EMULATED_LAYER`; empty if
        the processor is real.
        """
        stated = (self.hypervisor, self.hypervisor_version, self.virtualization)
        if not (self.is_emulated or is_emulation(*stated, self.options)):
            return ""
        return self.options.get("layers", "").casefold() or EMULATED_LAYER

    @property
    def is_performance(self) -> bool:
        """Whether higher or lower is better, except for CPU utilization and extreme
        values.
        """
        return self.better != "neither" and not (
            self.is_cpu_utilization or self.is_extreme
        )

    @property
    def is_cpu_utilization(self) -> bool:
        return self.unit == "%" and "cpu" in self.metric.casefold()

    @property
    def is_extreme(self) -> bool:
        return self.metric.rpartition(" ")[2] in EXTREME_STATISTICS

    @cached_property
    def is_start_up(self) -> bool:
        text = f"{self.tool} {self.metric} {self.case_label}".casefold()
        return self.better == "lower" and _START_UP.search(text) is not None

    @property
    def readings(self) -> tuple[float, ...]:
        return self.run_means or (self.mean,)

    @property
    def case_name(self) -> str:
        return self.case_label or str(self.case)

    @property
    def description(self) -> str:
        case = self.case_label or f"{self.tool} {self.metric}"
        return _location_phrase(
            case, self.system_phrase, "" if self.scenario == "single" else self.slot
        )

    @property
    def system_phrase(self) -> str:
        return self.system_label or str(self.system)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFact:
    metric: str
    value: float
    unit: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    repetition: int = 1
    cell: Id | None = None
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFact:
    """A run with its samples and facts.

    ``parse_warnings`` are pairs of a code and a sentence. ``failure`` is why its work
    failed, and ``failure_decision`` identifies the decided flag about it, if any.
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
    tool_version: str = ""
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
    parse_warnings: tuple[tuple[str, str], ...] = ()
    failure: str = ""
    failure_decision: str = ""
    document: str = ""
    table: str = ""

    @property
    def elapsed_s(self) -> float | None:
        elapsed = self.facts.get("elapsed_s")
        is_valid = isinstance(elapsed, int | float) and 0 < elapsed < 1e12
        return float(elapsed) if is_valid and elapsed is not None else None

    @property
    def effective_duration_s(self) -> float | None:
        times = [s.value for s in self.samples if s.metric in RUN_TIME_METRICS]
        return self.duration_s or self.elapsed_s or max(times, default=None)

    @property
    def description(self) -> str:
        slot = "" if self.scenario == "single" else self.slot
        return _location_phrase(self.tool, self.system_phrase, slot)

    @property
    def system_phrase(self) -> str:
        return self.system_label or str(self.system)


def _location_phrase(what: str, where: str, slot: str) -> Sentence:
    if not slot:
        return Sentence("{what} on {system}", what=what, system=where)
    return Sentence(
        "{what} on {system}, slot {slot}", what=what, system=where, slot=slot
    )


@dataclass(frozen=True, slots=True)
class ParameterReadings:
    """The readings of a run that have the same parameters and repetition.

    ``values`` are in base units (B, s, W), ``samples`` in their own units; the keys are
    metrics.
    """

    values: Mapping[str, float]
    samples: Mapping[str, SampleFact]
    parameters: Mapping[str, str]

    def __getitem__(self, metric: str) -> float:
        return self.values[metric]

    def has(self, *metrics: str) -> bool:
        return all(metric in self.values for metric in metrics)

    def rounding(self, *metrics: str) -> float:
        """Return the largest relative error that rounding causes in a product of
        metrics.
        """
        halves = []
        for sample in (self.samples[metric] for metric in metrics):
            value = Decimal(repr(float(sample.value))).normalize()
            decimals = max(-int(value.as_tuple().exponent), 0)
            if sample.decimals is not None:
                decimals = sample.decimals
            if sample.value:
                halves.append(0.5 * 10.0**-decimals / abs(sample.value))
        return math.fsum(halves)


def readings_by_parameters(
    run: RunFact, min_readings: int = 1
) -> Iterator[ParameterReadings]:
    """Yield the readings of a run by parameters and repetition."""
    groups: dict[object, dict[str, SampleFact]] = defaultdict(dict)
    for sample in run.samples:
        key = (tuple(sorted(sample.parameters.items())), sample.repetition)
        groups[key].setdefault(sample.metric, sample)
    for samples in groups.values():
        if len(samples) < min_readings:
            continue
        values = {}
        for metric, sample in samples.items():
            unit = units.find_unit(sample.unit)
            base = units.BASE_UNITS.get(unit.dimension) if unit else None
            value = sample.value
            try:
                value = units.convert(value, sample.unit, base) if base else value
            except InvalidError:
                continue
            values[metric] = value
        yield ParameterReadings(
            values, samples, next(iter(samples.values())).parameters
        )


CONVERTED_DIGITS: Final = 8
"""Values with at least this many significant digits were converted from another
unit.
"""
BINARY_PREFIXES: Final = tuple(1.024**power for power in range(1, 5))
"""Factors from decimal to binary prefixes: Ki/k, Mi/M, Gi/G and Ti/T."""


@dataclass(frozen=True, slots=True)
class Precision:
    """The largest numbers of decimals and significant digits in a set of values."""

    decimals: int
    digits: int

    def step(self, value: float) -> float:
        """Return the value of the last printed digit of a value."""
        by_decimals = max(10.0**-self.decimals, sys.float_info.min)
        if value == 0 or not math.isfinite(value):
            return by_decimals
        magnitude = math.floor(math.log10(abs(value))) + 1
        return max(by_decimals, 10.0 ** (magnitude - self.digits))


def find_precision(values: Iterable[float], decimals: int | None = None) -> Precision:
    """Return the precision of printed values.

    ``decimals`` is the known number of printed decimals, used if it is larger (trailing
    zeros). Values that were converted from a binary prefix (MiB/s stored in MB/s) get
    the precision of the printed values.
    """
    values = list(values)
    unconverted = _printed_precision(values, decimals)
    if unconverted.digits < CONVERTED_DIGITS:
        return unconverted
    candidates = [unconverted]
    for factor in BINARY_PREFIXES:
        # A binary prefix is nearly decimal: the step is the same within a tenth.
        originals = (float(f"{value / factor:.12g}") for value in values)
        printed = list(takewhile(_is_printed, originals))
        if len(printed) == len(values):
            candidates.append(_printed_precision(printed))
    return min(candidates, key=lambda precision: precision.digits)


def _is_printed(value: float) -> bool:
    return _printed_precision([value]).digits < CONVERTED_DIGITS


def _printed_precision(
    values: Iterable[float], decimals: int | None = None
) -> Precision:
    most_decimals, most_digits = 0, 1
    for value in values:
        number = Decimal(repr(float(value))).normalize()
        _, digits, exponent = number.as_tuple()
        most_decimals = max(most_decimals, -int(exponent))
        most_digits = max(most_digits, len(digits))
    if decimals is not None and decimals > most_decimals:
        most_digits += decimals - most_decimals
        most_decimals = decimals
    return Precision(most_decimals, most_digits)


def own_ratio_error(one: CellFact, other: CellFact) -> float:
    """Return the standard error of the log ratio of two means, from their own runs."""
    return math.sqrt(
        sum(
            (cell.relative_variance or 0.0) / len(cell.readings)
            for cell in (one, other)
        )
    )


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative standard deviations of single runs, by kind of cell.

    A kind is a component, tool and metric, or a component. Kinds with fewer than 8
    degrees of freedom are missing; ``TYPICAL_DEVIATION`` replaces them.
    """

    by_kind: Mapping[tuple[str, ...], float]

    def kind_deviation(self, cell: CellFact) -> float:
        for kind in _noise_kinds(cell):
            if kind in self.by_kind:
                return self.by_kind[kind]
        return TYPICAL_DEVIATION.get(cell.component, 0.05)

    def run_deviation(self, cell: CellFact) -> float:
        prior, own = self.kind_deviation(cell), cell.relative_variance
        if own is None:
            return prior
        freedom = len(cell.run_means) - 1
        pooled = freedom * own + PRIOR_DF * prior**2
        return math.sqrt(pooled / (freedom + PRIOR_DF))

    def mean_error(self, cell: CellFact) -> float:
        return self.run_deviation(cell) / math.sqrt(max(cell.n, 1))

    def conservative_mean_error(self, cell: CellFact) -> float:
        """Return a relative standard error of the cell's mean for strict tests."""
        own, freedom = cell.relative_variance, len(cell.run_means) - 1
        if own is None or freedom < MIN_OWN_DF:
            return self.mean_error(cell)
        # Ratio of the t and normal quantiles: 2.6 for 4 degrees of freedom, 1.5 for 9.
        widening = 1 + 13 / math.pow(freedom, 1.5)
        own_error = widening * math.sqrt(own / max(cell.n, 1))
        return min(self.mean_error(cell), max(own_error, MIN_MEAN_ERROR))


def observed_noise(cells: Iterable[CellFact]) -> Noise:
    """Return the noise by kind, pooled over cells with several runs.

    The largest fifth of the variances of a kind is ignored.
    """
    variances: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for cell in cells:
        own = cell.relative_variance
        if own is not None:
            for kind in _noise_kinds(cell):
                variances[kind].append((own, len(cell.run_means) - 1))
    by_kind = {}
    for kind, pairs in variances.items():
        smallest = sorted(pairs)[: max(1, math.ceil(0.8 * len(pairs)))]
        freedom = sum(count for _, count in smallest)
        if freedom >= MIN_POOLED_DF:
            total = sum(variance * count for variance, count in smallest)
            by_kind[kind] = math.sqrt(total / freedom)
    return Noise(by_kind)


def _noise_kinds(cell: CellFact) -> tuple[tuple[str, ...], ...]:
    return ((cell.component, cell.tool, cell.metric), (cell.component,))


def group_by_column(
    cells: Iterable[CellFact],
) -> Mapping[ColumnKey, Mapping[Id, CellFact]]:
    columns: dict[ColumnKey, dict[Id, CellFact]] = {}
    for cell in cells:
        columns.setdefault(cell.column_key, {})[cell.case] = cell
    return columns


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalCell:
    """The cell whose runs a cell of the study repeats.

    ``shared`` is the number of repeated runs, ``factor`` the ratio of the repeated runs
    to the original ones.
    """

    id: Id
    study: Id
    study_label: str
    host: str
    system: Id
    system_label: str
    is_same_host: bool
    is_same_lab: bool
    shared: int
    factor: float


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyFacts:
    """The cells and runs of a study.

    ``runs`` are those that count, and those that repeat them. ``failed_runs`` are those
    whose work failed, even if they count because their flag was dismissed.
    ``other_study_cells`` are those of the lab's other studies that all viewers of this
    study may see. ``varied`` are names of factors that the study varies on purpose.
    ``originals`` are by cell of the study.
    """

    id: Id
    cells: tuple[CellFact, ...] = ()
    runs: tuple[RunFact, ...] = ()
    failed_runs: tuple[RunFact, ...] = ()
    other_study_cells: tuple[CellFact, ...] = ()
    varied: tuple[str, ...] = ()
    originals: Mapping[Id, OriginalCell] = field(default_factory=dict)

    @cached_property
    def baseline_studies(self) -> frozenset[Id]:
        studies = {cell.baseline_study for cell in self.cells}
        return frozenset(pk for pk in studies - {self.id} if pk is not None)

    @cached_property
    def _cells_by_id(self) -> Mapping[Id, CellFact]:
        return {cell.id: cell for cell in (*self.other_study_cells, *self.cells)}

    def baseline(self, cell: CellFact) -> CellFact | None:
        return None if cell.baseline is None else self._cells_by_id.get(cell.baseline)

    @cached_property
    def noise(self) -> Noise:
        return observed_noise(self.cells)

    @cached_property
    def precisions(self) -> Mapping[object, Precision]:
        kinds: dict[object, list[CellFact]] = defaultdict(list)
        for cell in (*self.cells, *self.other_study_cells):
            kinds[cell.study, cell.sibling_key].append(cell)
        return {
            kind: find_precision(
                (value for cell in cells for value in cell.readings),
                max(
                    (c.decimals for c in cells if c.decimals is not None), default=None
                ),
            )
            for kind, cells in kinds.items()
        }

    def print_step(self, cell: CellFact) -> float:
        return self.precisions[cell.study, cell.sibling_key].step(cell.mean)

    @cached_property
    def cells_by_column(self) -> Mapping[ColumnKey, Mapping[Id, CellFact]]:
        return group_by_column(self.cells)


def cached_per_study(
    compute: Callable[[StudyFacts], Result],
) -> Callable[[StudyFacts], Result]:
    cache: WeakKeyDictionary[StudyFacts, Result] = WeakKeyDictionary()

    @wraps(compute)
    def cached(study: StudyFacts) -> Result:
        if study not in cache:
            cache[study] = compute(study)
        return cache[study]

    return cached
