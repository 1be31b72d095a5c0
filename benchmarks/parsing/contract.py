"""Benchmark tools, their metrics, what a parser returns, and the values allowed."""

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
from benchmarks.text import collapse
from benchmarks.work_classes import work_class

# Parameters that hold a whole command line's options.
LINES: Final = frozenset({"args", "arguments", "options", "command line"})
_BARE_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGtT])")
_SWITCHES: Final = {"0": "off", "1": "on"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a tool's options mean: ``names`` as typed -> the parameter.

    ``sizes`` have prefixes of 1024, ``bit_rates`` of 1000; ``switches`` are 0 or 1.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    bit_rates: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()

    def spelled(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return parameters with those options that are known under our names."""
        given: list[tuple[str, str, object]] = []
        for key, value in parameters.items():
            read = self._read(value) if _plain(key) in LINES else None
            if read is None:
                given.append((self._name(key), key, value))
            else:
                given += read
        spelled: dict[str, object] = {}
        keys: dict[str, str] = {}
        for name, key, value in given:
            if name in spelled:
                raise InvalidError(
                    "parameter",
                    'The parameters "{one}" and "{other}" are the same one '
                    '("{key}"). Send it once.',
                    one=shorten(keys[name]),
                    other=shorten(key),
                    key=name,
                )
            spelled[name], keys[name] = self._value(name, value), key
        return spelled

    def _name(self, key: str) -> str:
        """Return the parameter that an option means: of one letter with its dash."""
        typed = key.strip()
        if not typed.startswith("-") and len(typed) > 1:
            typed = "--" + _plain(typed).replace(" ", "-")
        return self.names.get(typed, key)

    def _read(self, line: object) -> list[tuple[str, str, object]] | None:
        """Return the options of a line; None unless every one of them is known."""
        try:
            words = shlex.split(line) if isinstance(line, str) else []
        except ValueError:  # an open quotation mark
            return None
        found: list[tuple[str, str, object]] = []
        at = 0
        while at < len(words):
            option, sign, value = words[at].partition("=")
            at += 1
            # -t4 and -t=4 do not mean the same everywhere: only what getopt takes.
            if not option.startswith("--") and option[:2] in self.names:
                value = words[at - 1][2:]
                option, sign = option[:2], value
            if option not in self.names:
                return None
            if not sign:
                if at == len(words):
                    return None
                value = words[at]
                at += 1
            found.append((self.names[option], option, value))
        return found or None

    def _value(self, name: str, value: object) -> object:
        text = value.strip() if isinstance(value, str) else str(value)
        if name in self.switches and text in _SWITCHES:
            return _SWITCHES[text]
        if name in self.bit_rates and (rate := _BARE_SIZE.fullmatch(text)):
            # Kilobits alone have a small prefix.
            return f"{rate[1]} {rate[2].upper().replace('K', 'k')}bit/s"
        size = _BARE_SIZE.fullmatch(text) if name in self.sizes else None
        return f"{size[1]} {size[2].upper()}iB" if size else value


def _plain(key: str) -> str:
    return re.sub(r"[ _-]+", " ", key.strip().casefold())


NONE: Final = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """The class (its slug) of cases whose parameters match, each as a whole text."""

    work: str
    where: tuple[tuple[str, str], ...]

    def fits(self, parameters: Mapping[str, str]) -> bool:
        return all(
            re.fullmatch(pattern, parameters.get(name, ""), re.IGNORECASE)
            for name, pattern in self.where
        )


@dataclass(frozen=True, slots=True)
class Work:
    """The classes that the cases of one metric may have: the first rule that fits."""

    rules: tuple[Rule, ...]

    def of(self, parameters: Mapping[str, str]) -> str:
        """Return the slug of a case's class, "" where no rule fits."""
        fitting = (rule.work for rule in self.rules if rule.fits(parameters))
        return next(fitting, NONE)

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.work for rule in self.rules))


def works(*rules: Rule) -> Work:
    """Return the classes of a metric's cases: that of the first rule that fits."""
    return Work(rules)


def always(work: str) -> Work:
    """Return the work of a metric whose cases are all of one class."""
    return works(when(work))


def when(work: str, **where: str) -> Rule:
    """Return the rule of a class: parameters and patterns of their values."""
    return Rule(work_class(work).slug, tuple(where.items()))


NO_CLASS: Final = works()
FLOATING_POINT: Final = always("CPU: floating point")
COPY: Final = always("memory: copy")
WEB: Final = always("application: web")
ENERGY: Final = always("energy-per-work")
SEQUENTIAL_READ: Final = always("disk: sequential read")

# Benchmarks of the disk that do not say how they go through a file go from its
# beginning to its end.
DISK: Final = works(
    when("disk: random read", access="random", operation=r"(random )?read"),
    when("disk: random write", access="random", operation=r"(random )?(re)?write"),
    when("disk: random read", access="", operation="random read"),
    when("disk: random write", access="", operation="random write"),
    when("disk: sequential read", access="|sequential", operation="(re)?read"),
    when("disk: sequential write", access="|sequential", operation="(re)?write"),
)
# Scaling, adding and the triad read as well as write, as copying does.
MEMORY: Final = works(
    when("memory: read", operation="read(ing)?"),
    when("memory: write", operation="writ(e|ing)"),
    when("memory: copy", operation="copy|scale|add|triad"),
)
# "out" is away from the machine that runs the test.
NETWORK: Final = works(
    when("network: throughput in", operation="receive|reverse|read|in"),
    when("network: throughput out", operation="|send|forward|write|out"),
)


Better = Literal["higher", "lower", "neither"]
Component = Literal["CPU", "memory", "disk", "network", "power", "application"]
# A lab's own tool has the lab's slug and a colon before its own.
_SLUG = re.compile(r"(?:[-\w]+:)?[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
Kind = Literal["speed", "energy", "cost", "share", "count", "amount", "setting"]
_OF_CPU = re.compile(r"\bCPU\b")
# What a metric is follows from its unit where nothing else is said.
_KINDS: Final[Mapping[str, Kind]] = {
    "": "count",
    "%": "share",
    "W": "energy",
    "J": "energy",
    "B": "amount",
    "KiB": "amount",
    "MiB": "amount",
}
# How tools, and people, call the option that ends a test after so many seconds, and
# the one that ends it after so much work.
SET_LENGTHS: Final = (
    *("time", "seconds", "duration", "max_time", "runtime", "run_time", "timeout"),
    *("timelimit", "time_limit", "test_duration"),
)
SET_AMOUNTS: Final = (
    *("events", "max_events", "requests", "max_requests", "num_requests"),
    *("transactions", "iterations", "loops"),
)
# Sums of squares of larger numbers no longer fit into a double.
LARGEST: Final = 1e150


@dataclass(frozen=True, slots=True)
class Cap:
    """An option that asks for a rate, for ``unit`` where it is a bare number.

    "10M" of "bit/s" is 10 Mbit/s; of "B/s" it is 10 MiB/s. Each of the parameters
    ``times`` multiplies it: jobs that all keep it ("wsess.1": the second of its
    numbers). Of a list the number at the place of
    the case's operation among ``ways`` counts. Without a unit it is the rate of
    something else, from which this one follows.
    """

    option: str
    unit: str = "1/s"
    times: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The metrics of a run that CPU time for a unit of data is made of.

    ``shares`` are percentages that add up; ``rate`` is what was moved meanwhile.
    """

    shares: tuple[str, ...]
    rate: str


@dataclass(frozen=True, slots=True)
class Metric:
    """What one number of a tool means.

    ``component`` is the part of the machine that the test loads: the CPU utilization
    of a network test belongs to the network. ``zero_allowed``: 0 can be a reading (a
    count, a share), not the sign of a failed run.

    ``kind``: a speed (of which times are a sort), the energy or the CPU time that work
    cost, a share, a count, an amount, a setting. Only speeds and energies have an
    efficiency; CPU time has one where no hypervisor hides a part of it
    (``parsing/cases``). A time is no speed where one of the options ``fixed_by``
    sets it, unless one of ``unless`` sets the amount of work; a rate is none where it
    is the one that an option of ``capped_by`` asks for.

    ``work`` is the class of work of a metric that stands for its test (``NO_CLASS``:
    primary, and of none): these alone enter profiles, corrections for many tests and
    pooling. One ``implied_by`` others (MiB/s by operations/s) stands for its test where
    none of these was measured. All others are details. No output has one with a
    ``cost``: it is made of others of the same run (`parsing/cases`).
    """

    name: str
    unit: str
    better: Better
    component: Component
    _: KW_ONLY
    title: str = ""
    zero_allowed: bool = False
    kind: Kind | None = None
    fixed_by: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    capped_by: tuple[Cap, ...] = ()
    work: Work | None = None
    implied_by: tuple[str, ...] = ()
    cost: Cost | None = None

    def __post_init__(self) -> None:
        if self.kind is None:
            kind = _KINDS.get(self.unit, "speed")
            # A score has no unit either, and the more of a peak was reached the better.
            is_reached = self.better == "higher" and kind in ("count", "share")
            object.__setattr__(self, "kind", "speed" if is_reached else kind)
        for what, word, known in (
            ("better", self.better, get_args(Better)),
            ("kind", self.kind, get_args(Kind)),
            ("component", self.component, get_args(Component)),
        ):
            if word not in known:
                known_words = ", ".join(known)
                raise ValueError(f'{what} is "{word}", not one of {known_words}')
        units.unit(self.unit)  # refuses an unknown one
        if not self.title:
            title = self.name[:1].upper() + self.name[1:]
            object.__setattr__(self, "title", title)

    @property
    def is_of_cpu(self) -> bool:
        """Whether it is about time of processors, by its name."""
        return _OF_CPU.search(self.name) is not None


def metrics(
    names: Iterable[str],
    unit: str,
    better: Better,
    component: Component,
    *,
    work: Mapping[str, Work] = MappingProxyType({}),
    implied_by: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    **options: Any,
) -> tuple[Metric, ...]:
    """Return metrics that differ by their names, and by what these stand for."""
    names = tuple(names)
    for name in (*work, *implied_by):
        if name not in names:
            raise ValueError(f'there is no metric "{name}" here')
    return tuple(
        Metric(
            name,
            unit,
            better,
            component,
            work=work.get(name),
            implied_by=implied_by.get(name, ()),
            **options,
        )
        for name in names
    )


Parameter = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One number as printed, in the unit that its tool means by it."""

    metric: str
    value: float
    unit: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """A doubt about a run: a code for programs, a sentence for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRun:
    """One execution; ``facts`` are not parameters; ``problem``: why it is refused."""

    readings: tuple[Reading, ...]
    tool_version: str = ""
    warnings: tuple[Mark, ...] = ()
    facts: Mapping[str, Parameter] = field(default_factory=dict)
    problem: ParseError | None = None


Parse = Callable[[str], tuple[ParsedRun, ...]]
"""Every run in a text; ParseError if there is none."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A benchmark program of a module in ``benchmarks/tools/``.

    ``labels`` are the parameters that tell its cases apart at a glance, as patterns
    over their names (``"n={n}"``); a pattern whose parameters a case lacks is left out.
    ``options`` says which parameters its command line's options are.

    ``parse`` reads its output (without it, samples come as numbers only); raise
    ``version`` with every change of what it reads. ``signatures`` are patterns at the
    beginning of a line (after blanks) that only this tool prints: one of them starts
    its output in a longer log. ``shape`` recognizes a text without any signature.
    ``programs`` are the names of its executables. ``localized``: its numbers follow
    the locale, so decimal commas are read where the locale is named. Between a
    signature and ``last_line`` the signatures of the tools in ``encloses`` are part of
    this output. ``needs_command``: ``parse`` finds options that the output does not
    repeat in the command above it.
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
    shape: Callable[[str], bool] | None = None
    programs: tuple[str, ...] = ()
    localized: bool = True
    encloses: tuple[str, ...] = ()
    last_line: str = ""
    needs_command: bool = False

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f'"{self.slug}" is no slug for a tool')
        if len(self._by_name) != len(self.metrics):
            raise ValueError(f"{self.slug} has two metrics of one name")
        made_of = [(*cost.shares, cost.rate) for cost in self.costs.values()]
        for name in chain(*self.implied.values(), *made_of):
            if folded(name) not in self._by_name:
                raise ValueError(f'{self.slug} has no metric "{name}"')
        if both := self.primary.keys() & self.implied.keys():
            raise ValueError(f"{self.slug}: {min(both)} is primary and implied")

    @cached_property
    def _by_name(self) -> dict[str, Metric]:
        return {folded(metric.name): metric for metric in self.metrics}

    @cached_property
    def _signature(self) -> re.Pattern[str]:
        branches = "|".join(f"(?:{pattern})" for pattern in self.signatures)
        # A newline in front instead of ^: a search leaps from line end to line end.
        return re.compile(rf"\n[ \t]*+(?:{branches})", re.MULTILINE | re.ASCII)

    @cached_property
    def primary(self) -> dict[str, Work]:
        """The metrics that stand for its tests, with the classes of their cases."""
        return {metric.name: metric.work for metric in self.metrics if metric.work}

    @cached_property
    def implied(self) -> dict[str, tuple[str, ...]]:
        """The metrics that follow from others, with these."""
        return {each.name: each.implied_by for each in self.metrics if each.implied_by}

    @cached_property
    def costs(self) -> dict[str, Cost]:
        """The metrics that are made of others of the same run."""
        return {metric.name: metric.cost for metric in self.metrics if metric.cost}

    @property
    def names(self) -> tuple[str, ...]:
        return (self.slug, self.title, *self.aliases)

    def starts(self, text: str, position: int) -> bool:
        """Whether the line after the newline at ``position`` is a signature."""
        return self._signature.match(text, position) is not None

    def metric(self, name: str) -> Metric:
        """Return the metric of that name in any case, or raise UnknownNameError."""
        if metric := self._by_name.get(folded(name)):
            return metric
        known = [metric.name for metric in self.metrics]
        raise UnknownNameError(
            Sentence("metric of {tool} called", tool=self.title),
            name,
            known,
            code="unknown_metric",
            remedy=Sentence(
                "The metrics of {tool} are: {names}.",
                tool=self.title,
                names=", ".join(known),
            ),
        )

    def work_of(self, metric: str, parameters: Mapping[str, str]) -> str:
        """Return the slug of a case's class of work, or "" for none."""
        sources = (metric, *self.implied.get(metric, ()))
        works = (self.primary.get(name, NO_CLASS).of(parameters) for name in sources)
        return next(filter(None, works), "")

    def same_work(self, metric: str) -> frozenset[str]:
        """Return the metrics that measure the same in another unit."""
        implying = self.implied.get(metric, ())
        implied = (name for name, sources in self.implied.items() if metric in sources)
        return frozenset((*implying, *implied))


def cost_metric(
    name: str, component: Component, shares: tuple[str, ...], rate: str
) -> Metric:
    """Return the metric of CPU time for data; 0 where a share was too small."""
    return Metric(
        name,
        "us/KB",
        "lower",
        component,
        zero_allowed=True,
        kind="cost",
        cost=Cost(shares, rate),
    )


def folded(name: str) -> str:
    """Return a name for lookups, without case and spacing."""
    return collapse(name).casefold()


def check_value(metric: Metric, value: float, unit: str) -> float:
    """Return ``value`` in the metric's unit, or raise ValueRefusedError.

    Refused: NaN, infinite, negative, too small or large, and zero unless allowed.
    """
    # True is 1 in Python.
    if isinstance(value, bool):
        raise _refusal(metric, value, Sentence("it is not a number"))
    try:
        number = float(value)
    except OverflowError:  # a whole number of too many digits
        too_large = Sentence("it is too large")
        raise _refusal(metric, Sentence("a number"), too_large) from None
    if not math.isfinite(number):
        raise _refusal(metric, number, Sentence("it is not a finite number"))
    # Before and after it: a conversion can leave the range that sums can hold.
    _refuse_impossible(metric, number)
    converted = units.convert(number, unit, metric.unit)
    _refuse_impossible(metric, converted)
    return converted


def _refuse_impossible(metric: Metric, number: float) -> None:
    if number < 0:
        raise _refusal(metric, number, Sentence("it cannot be negative"))
    if number == 0 and not metric.zero_allowed:
        raise _refusal(
            metric,
            number,
            Sentence(
                "a working run never reads zero; leave the sample out if "
                "nothing was measured"
            ),
        )
    if 0 < number < float_info.min:
        raise _refusal(metric, number, Sentence("it is too small to be computed with"))
    if number > LARGEST:
        raise _refusal(metric, number, Sentence("it is too large to be computed with"))


def _refusal(metric: Metric, value: str | float, why: str) -> InvalidError:
    return InvalidError(
        "value_refused",
        '"{metric}" cannot be {value}: {why}.',
        metric=metric.name,
        value=value,
        why=why,
    )
