"""Benchmark tools, their metrics, parsed runs, and the values that are allowed."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import chain
from sys import float_info
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from benchmarks import units
from benchmarks.errors import InvalidError, ParseError, UnknownNameError, shorten
from benchmarks.sentences import Sentence
from benchmarks.text_validation import normalize_whitespace
from benchmarks.work_classes import find_work_class

COMMAND_LINE_PARAMETERS: Final = frozenset(
    {"args", "arguments", "options", "command line"}
)
_BARE_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGtT])")
_SWITCHES: Final = {"0": "off", "1": "on"}


@dataclass(frozen=True, slots=True)
class Options:
    """A tool's options; ``names`` maps their spellings to parameters.

    Unit prefixes (k, M) are powers of 1024 in parameters of ``sizes`` and of 1000 in
    ``bit_rates``; ``switches`` are 0 or 1.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    bit_rates: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()

    def normalize(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return parameters with uniform names and values.

        Raise InvalidError if two options are the same parameter.
        """
        entries: list[tuple[str, str, object]] = []
        for key, value in parameters.items():
            options = (
                self._parse_options(value)
                if _plain(key) in COMMAND_LINE_PARAMETERS
                else None
            )
            if options is None:
                entries.append((self._parameter_name(key), key, value))
            else:
                entries += options
        normalized: dict[str, object] = {}
        keys: dict[str, str] = {}
        for name, key, value in entries:
            if name in normalized:
                raise InvalidError(
                    "invalid_parameter",
                    'The parameters "{one}" and "{other}" are the same '
                    '("{key}"). Send only one of them.',
                    one=shorten(keys[name]),
                    other=shorten(key),
                    key=name,
                )
            normalized[name], keys[name] = self._normalized_value(name, value), key
        return normalized

    def _parameter_name(self, key: str) -> str:
        typed = key.strip()
        if not typed.startswith("-") and len(typed) > 1:
            typed = "--" + _plain(typed).replace(" ", "-")
        return self.names.get(typed, key)

    def _parse_options(self, line: object) -> list[tuple[str, str, object]] | None:
        """Return parameter, option and value of each option; None if one is unknown."""
        try:
            words = shlex.split(line) if isinstance(line, str) else []
        except ValueError:
            return None
        options: list[tuple[str, str, object]] = []
        index = 0
        while index < len(words):
            option, equals, value = words[index].partition("=")
            index += 1
            # -t4 and -t=4 differ between programs, so accept only the form of getopt.
            if not option.startswith("--") and option[:2] in self.names:
                value = words[index - 1][2:]
                option, equals = option[:2], value
            if option not in self.names:
                return None
            if not equals:
                if index == len(words):
                    return None
                value = words[index]
                index += 1
            options.append((self.names[option], option, value))
        return options or None

    def _normalized_value(self, name: str, value: object) -> object:
        text = value.strip() if isinstance(value, str) else str(value)
        if name in self.switches and text in _SWITCHES:
            return _SWITCHES[text]
        if name in self.bit_rates and (rate := _BARE_SIZE.fullmatch(text)):
            return f"{rate[1]} {rate[2].upper().replace('K', 'k')}bit/s"
        size = _BARE_SIZE.fullmatch(text) if name in self.sizes else None
        return f"{size[1]} {size[2].upper()}iB" if size else value


def _plain(key: str) -> str:
    return re.sub(r"[ _-]+", " ", key.strip().casefold())


NO_SLUG: Final = ""


@dataclass(frozen=True, slots=True)
class WorkClassRule:
    work_class: str
    where: tuple[tuple[str, str], ...]

    def matches(self, parameters: Mapping[str, str]) -> bool:
        return all(
            re.fullmatch(pattern, parameters.get(name, ""), re.IGNORECASE)
            for name, pattern in self.where
        )


@dataclass(frozen=True, slots=True)
class WorkClassRules:
    """Rules for the work class of a case; the first matching rule applies."""

    rules: tuple[WorkClassRule, ...]

    def work_class_for(self, parameters: Mapping[str, str]) -> str:
        """Return the slug of the work class, or "" if no rule matches."""
        matching = (rule.work_class for rule in self.rules if rule.matches(parameters))
        return next(matching, NO_SLUG)

    @property
    def work_classes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.work_class for rule in self.rules))


def first_match(*rules: WorkClassRule) -> WorkClassRules:
    return WorkClassRules(rules)


def always(work: str) -> WorkClassRules:
    return first_match(when(work))


def when(work: str, **where: str) -> WorkClassRule:
    return WorkClassRule(find_work_class(work).slug, tuple(where.items()))


NO_WORK_CLASS: Final = first_match()
FLOATING_POINT: Final = always("CPU: floating point")
COPY: Final = always("memory: copy")
WEB: Final = always("application: web")
ENERGY: Final = always("energy-per-work")
# A tail is a class of its own: it may become longer while throughput is unchanged.
DISK_TAIL: Final = always("disk: tail latency")
NETWORK_TAIL: Final = always("network: tail latency")
APPLICATION_TAIL: Final = always("application: tail latency")
SEQUENTIAL_READ: Final = always("disk: sequential read")

# Disk benchmarks that do not report an access pattern are sequential.
DISK: Final = first_match(
    when("disk: random read", access="random", operation=r"(random )?read"),
    when("disk: random write", access="random", operation=r"(random )?(re)?write"),
    when("disk: random read", access="", operation="random read"),
    when("disk: random write", access="", operation="random write"),
    when("disk: sequential read", access="|sequential", operation="(re)?read"),
    when("disk: sequential write", access="|sequential", operation="(re)?write"),
)
# Scale, add and triad read and write, like copy.
MEMORY: Final = first_match(
    when("memory: read", operation="read(ing)?"),
    when("memory: write", operation="writ(e|ing)"),
    when("memory: copy", operation="copy|scale|add|triad"),
)
# "out" is away from the machine that runs the test.
NETWORK: Final = first_match(
    when("network: throughput in", operation="receive|reverse|read|in"),
    when("network: throughput out", operation="|send|forward|write|out"),
)


Better = Literal["higher", "lower", "neither"]
Component = Literal["CPU", "memory", "disk", "network", "power", "application"]
# The slug of a lab's own tool begins with the lab's slug and a colon.
_SLUG = re.compile(r"(?:[-\w]+:)?[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
MetricKind = Literal["speed", "energy", "cost", "share", "count", "amount", "setting"]
_CPU_WORD = re.compile(r"\bCPU\b")
PERCENTILE_PARAMETER: Final = "percentile"
_SUMMARY: Final = re.compile(r"\b(?P<name>min|mean|median|max)\b")
_SUMMARY_RANKS: Final = {"min": 0.0, "mean": 1.0, "median": 50.0, "max": 100.0}
_PERCENTILE: Final = re.compile(
    r"\bp(?P<p>\d{2}(?:\.\d+)?)\b|\b(?P<th>\d{2}(?:\.\d+)?)(?:st|nd|rd|th) percentile"
    r"|\bpercentile\b",
    re.IGNORECASE,
)
MIN_TAIL_PERCENTILE: Final = 90.0
MAIN_TAIL_PERCENTILE: Final = 99.0
"""The percentile that represents the tail of a test, or the next lower one."""
_KINDS: Final[Mapping[str, MetricKind]] = {
    "": "count",
    "%": "share",
    "W": "energy",
    "J": "energy",
    "B": "amount",
    "KiB": "amount",
    "MiB": "amount",
}
DURATION_OPTIONS: Final = (
    *("time", "seconds", "duration", "max_time", "runtime", "run_time", "timeout"),
    *("timelimit", "time_limit", "test_duration"),
)
AMOUNT_OPTIONS: Final = (
    *("events", "max_events", "requests", "max_requests", "num_requests"),
    *("transactions", "iterations", "loops"),
)
# Sums of squares of larger numbers do not fit into a double.
MAX_SAMPLE_VALUE: Final = 1e150
# Keys of a sample that is the mean of several runs.
SUMMARIZED_RUNS: Final = "runs"
STANDARD_DEVIATION: Final = "standard_deviation"


# The value of a rate option that an output does not print.
UNKNOWN_RATE: Final = "unknown"


@dataclass(frozen=True, slots=True)
class RateOption:
    """An option that requests a rate, in ``unit`` if its value is a plain number.

    "10M" in "bit/s" is 10 Mbit/s; in "B/s" it is 10 MiB/s. The rate is multiplied by
    each parameter in ``multipliers`` ("wsess.1" is the second number of ``wsess``). If
    the value is a list, it has a number for each of the ``directions`` of an operation.
    Without a unit, the option sets another rate, from which this rate follows.
    """

    option: str
    unit: str = "1/s"
    multipliers: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CpuCost:
    """CPU time per unit of data, computed from other metrics of the run.

    ``shares`` are CPU utilizations in percent, which are added; ``rate`` is a data
    rate.
    """

    shares: tuple[str, ...]
    rate: str


@dataclass(frozen=True, slots=True)
class Metric:
    """The meaning of a number that a tool prints.

    ``component`` is the part of the machine that the test loads: the CPU utilization of
    a network test belongs to the network. ``allows_zero``: 0 may be a reading instead
    of the sign of a failed run.

    ``kind``: only speeds (including times) and energies have a relative performance;
    CPU time has one if no hypervisor hides a part of it. A time is not a speed if one
    of ``fixed_by_parameters`` sets it, unless one of ``amount_options`` sets the amount
    of work. A rate is not a speed if one of ``rate_options`` requests it.

    Only primary metrics, which represent their test, have a ``work_class`` (possibly
    ``NO_WORK_CLASS``). A metric ``implied_by`` others (MiB/s by operations/s)
    represents its test if none of them was measured. Of several primary percentiles of
    a test, p99 or the next lower one represents its tail.
    """

    name: str
    unit: str
    better: Better
    component: Component
    _: KW_ONLY
    title: str = ""
    allows_zero: bool = False
    kind: MetricKind | None = None
    fixed_by_parameters: tuple[str, ...] = ()
    amount_options: tuple[str, ...] = ()
    rate_options: tuple[RateOption, ...] = ()
    work_class: WorkClassRules | None = None
    implied_by: tuple[str, ...] = ()
    cpu_cost: CpuCost | None = None

    def __post_init__(self) -> None:
        if self.kind is None:
            kind = _KINDS.get(self.unit, "speed")
            # A score has no unit, and a fraction of a peak is a share.
            is_speed = self.better == "higher" and kind in ("count", "share")
            object.__setattr__(self, "kind", "speed" if is_speed else kind)
        for field_name, value, allowed in (
            ("better", self.better, get_args(Better)),
            ("kind", self.kind, get_args(MetricKind)),
            ("component", self.component, get_args(Component)),
        ):
            if value not in allowed:
                allowed_values = ", ".join(allowed)
                raise ValueError(
                    f'{field_name} is "{value}", not one of {allowed_values}'
                )
        units.get_unit(self.unit)  # raises an error for an unknown unit
        if not self.title:
            title = self.name[:1].upper() + self.name[1:]
            object.__setattr__(self, "title", title)

    @property
    def is_cpu_metric(self) -> bool:
        return _CPU_WORD.search(self.name) is not None


def metrics(
    names: Iterable[str],
    unit: str,
    better: Better,
    component: Component,
    *,
    work_class: Mapping[str, WorkClassRules] = MappingProxyType({}),
    implied_by: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    **options: Any,
) -> tuple[Metric, ...]:
    """Return metrics that differ in name, work class and implying metrics only."""
    names = tuple(names)
    for name in (*work_class, *implied_by):
        if name not in names:
            raise ValueError(f'unknown metric "{name}"')
    return tuple(
        Metric(
            name,
            unit,
            better,
            component,
            work_class=work_class.get(name),
            implied_by=implied_by.get(name, ()),
            **options,
        )
        for name in names
    )


@dataclass(frozen=True, slots=True)
class Percentile:
    """The percentile that a case reports of the operations of each run."""

    rank: float

    @property
    def is_tail(self) -> bool:
        return self.rank >= MIN_TAIL_PERCENTILE

    @property
    def preference(self) -> tuple[bool, float]:
        """Sort key: p99, lower percentiles from the highest, then higher ones."""
        distance = abs(self.rank - MAIN_TAIL_PERCENTILE)
        return self.rank > MAIN_TAIL_PERCENTILE, distance

    def __str__(self) -> str:
        return f"p{self.rank:g}"


def find_percentile(metric: str, parameters: Mapping[str, str]) -> Percentile | None:
    """Return the percentile in the name of a metric or in its parameter."""
    if not (match := _PERCENTILE.search(metric)):
        return None
    try:
        rank = float(
            match["p"] or match["th"] or parameters.get(PERCENTILE_PARAMETER, "")
        )
    except ValueError:
        return None
    return Percentile(rank) if 0 < rank <= 100 else None


def summarized_metric(metric: str) -> str:
    """Return a metric's name without "mean", "max" or a percentile.

    All summaries of one distribution have the same name. It is the whole name if the
    metric is not a summary.
    """
    without = _SUMMARY.sub(" ", _PERCENTILE.sub(" ", metric))
    return normalize_whitespace(without)


def summary_rank(metric: str, parameters: Mapping[str, str]) -> float:
    """Return the place of a summary in its distribution, from "min" to "max"."""
    if percentile := find_percentile(metric, parameters):
        return percentile.rank
    match = _SUMMARY.search(metric)
    return _SUMMARY_RANKS[match["name"]] if match else -1.0


def without_percentile(parameters: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in parameters.items()
        if name != PERCENTILE_PARAMETER
    }


Parameter = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    metric: str
    value: float
    unit: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class ParseWarning:
    """A doubt about a run; ``is_failure`` if its work failed."""

    code: str
    message: str
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class ErrorMetrics:
    """The metrics that count failed operations and the attempted ones.

    ``successes``, if given, counts operations that did not fail.
    """

    errors: tuple[str, ...]
    operations: str
    successes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRun:
    """A run that a parser read.

    ``errors`` of ``operations`` failed; both are None if the samples have the counts
    (`Tool.error_metrics`) or they are unknown. ``part`` is the system of an output with
    several systems.
    """

    readings: tuple[Reading, ...]
    tool_version: str = ""
    warnings: tuple[ParseWarning, ...] = ()
    facts: Mapping[str, Parameter] = field(default_factory=dict)
    problem: ParseError | None = None
    errors: int | None = None
    operations: int | None = None
    part: str = ""


Parse = Callable[[str], tuple[ParsedRun, ...]]
"""Raises ParseError if a text contains no run."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A benchmark program, defined by a module in ``benchmarks/tools/``.

    ``labels`` are patterns of parameters (``"n={n}"``) that identify cases; patterns
    with an absent parameter are omitted.

    Without ``parse``, samples are sent as numbers; increase ``version`` with every
    change of its results. ``signatures`` are patterns at the beginning of a line (after
    blanks) that only this tool prints. ``recognizes`` identifies a text without any
    signature. ``is_localized``: numbers follow the locale. Between a signature and
    ``last_line``, the signatures of ``enclosed_tools`` are part of this output.
    ``needs_command``: ``parse`` reads options from the command above the output.
    ``targets`` are facts that name what was measured (a device): if results in one text
    differ in them, they are parameters.
    """

    slug: str
    title: str
    homepage: str
    metrics: tuple[Metric, ...]
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    options: Options = field(default_factory=Options, hash=False)
    parse: Parse | None = None
    version: int = 0
    signatures: tuple[str, ...] = ()
    recognizes: Callable[[str], bool] | None = None
    programs: tuple[str, ...] = ()
    is_localized: bool = True
    enclosed_tools: tuple[str, ...] = ()
    last_line: str = ""
    needs_command: bool = False
    targets: tuple[str, ...] = ()
    error_metrics: ErrorMetrics | None = None

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f'"{self.slug}" is not a valid slug')
        if len(self._by_name) != len(self.metrics):
            raise ValueError(f"{self.slug} has two metrics with the same name")
        sources = [(*cost.shares, cost.rate) for cost in self.derived_costs.values()]
        if counts := self.error_metrics:
            sources.append((*counts.errors, counts.operations))
        for name in chain(*self.implied_metrics.values(), *sources):
            if normalize_name(name) not in self._by_name:
                raise ValueError(f'{self.slug} has no metric "{name}"')
        if both := self.primary_metrics.keys() & self.implied_metrics.keys():
            raise ValueError(f"{self.slug}: {min(both)} is primary and implied")

    @cached_property
    def _by_name(self) -> dict[str, Metric]:
        return {normalize_name(metric.name): metric for metric in self.metrics}

    @cached_property
    def _by_exact_name(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics}

    @cached_property
    def _signature(self) -> re.Pattern[str]:
        branches = "|".join(f"(?:{pattern})" for pattern in self.signatures)
        # A newline instead of ^, because the search then jumps from line end to line
        # end.
        return re.compile(rf"\n[ \t]*+(?:{branches})", re.MULTILINE | re.ASCII)

    @cached_property
    def primary_metrics(self) -> dict[str, WorkClassRules]:
        return {
            metric.name: metric.work_class
            for metric in self.metrics
            if metric.work_class
        }

    @cached_property
    def implied_metrics(self) -> dict[str, tuple[str, ...]]:
        return {
            metric.name: metric.implied_by
            for metric in self.metrics
            if metric.implied_by
        }

    @cached_property
    def derived_costs(self) -> dict[str, CpuCost]:
        return {
            metric.name: metric.cpu_cost for metric in self.metrics if metric.cpu_cost
        }

    @property
    def names(self) -> tuple[str, ...]:
        return (self.slug, self.title, *self.aliases)

    def is_signature_at(self, text: str, position: int) -> bool:
        """Return whether a signature follows the newline at ``position``."""
        return self._signature.match(text, position) is not None

    def metric(self, name: str) -> Metric:
        """Ignore case. Raises UnknownNameError."""
        if metric := self._by_exact_name.get(name) or self._by_name.get(
            normalize_name(name)
        ):
            return metric
        metric_names = [metric.name for metric in self.metrics]
        raise UnknownNameError(
            Sentence("{tool} metric", tool=self.title),
            name,
            metric_names,
            code="unknown_metric",
            remedy=Sentence(
                "The metrics of {tool} are: {names}.",
                tool=self.title,
                names=", ".join(metric_names),
            ),
        )

    def work_class_of(self, metric: str, parameters: Mapping[str, str]) -> str:
        """Return the slug of a case's work class, or "" if it has none."""
        sources = (metric, *self.implied_metrics.get(metric, ()))
        works = (
            self.primary_metrics.get(name, NO_WORK_CLASS).work_class_for(parameters)
            for name in sources
        )
        return next(filter(None, works), "")

    def equivalent_metrics(self, metric: str) -> frozenset[str]:
        """Return the metrics that measure the same in another unit."""
        implying = self.implied_metrics.get(metric, ())
        implied = (
            name for name, sources in self.implied_metrics.items() if metric in sources
        )
        return frozenset((*implying, *implied))


def cost_metric(
    name: str, component: Component, shares: tuple[str, ...], rate: str
) -> Metric:
    """Return a metric of CPU time per unit of data (us/KB).

    It allows 0, because tools print a small CPU utilization as 0.
    """
    return Metric(
        name,
        "us/KB",
        "lower",
        component,
        allows_zero=True,
        kind="cost",
        cpu_cost=CpuCost(shares, rate),
    )


def normalize_name(name: str) -> str:
    return normalize_whitespace(name).casefold()


def check_value(metric: Metric, value: float, unit: str) -> float:
    """Return ``value`` in the metric's unit.

    Raise InvalidError for NaN, infinite, negative, too small and too large values, and
    for zero unless the metric allows it.
    """
    if isinstance(value, bool):
        raise _refusal(metric, value, Sentence("it is not a number"))
    try:
        number = float(value)
    except OverflowError:
        too_large = Sentence("it is too large")
        raise _refusal(metric, Sentence("a number"), too_large) from None
    if not math.isfinite(number):
        raise _refusal(metric, number, Sentence("it is not a finite number"))
    # A conversion may leave the allowed range.
    _refuse_impossible(metric, number)
    converted = units.convert(number, unit, metric.unit)
    _refuse_impossible(metric, converted)
    return converted


def _refuse_impossible(metric: Metric, number: float) -> None:
    if number < 0:
        raise _refusal(metric, number, Sentence("it cannot be negative"))
    if number == 0 and not metric.allows_zero:
        raise _refusal(
            metric,
            number,
            Sentence(
                "a working run never measures zero; leave the sample out if "
                "nothing was measured"
            ),
        )
    if 0 < number < float_info.min:
        raise _refusal(metric, number, Sentence("it is too small for calculations"))
    if number > MAX_SAMPLE_VALUE:
        raise _refusal(metric, number, Sentence("it is too large for calculations"))


def _refusal(metric: Metric, value: str | float, reason: str) -> InvalidError:
    return InvalidError(
        "value_rejected",
        '"{metric}" cannot be {value}: {why}.',
        metric=metric.name,
        value=value,
        why=reason,
    )
