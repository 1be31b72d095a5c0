"""Relations between the readings of one run: quotients, products, orders."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import RunFact, SampleFact
from benchmarks.sentences import Sentence

TOLERANCE: Final = 0.02
"""Tools round, and take two looks at the clock; a slip is larger than 2 %."""


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
        return math.fsum(_rounding(self.samples[metric]) for metric in metrics)


def _rounding(sample: SampleFact) -> float:
    exponent = int(Decimal(repr(float(sample.value))).normalize().as_tuple().exponent)
    decimals = max(-exponent, 0) if sample.decimals is None else sample.decimals
    return 0.5 * 10.0**-decimals / abs(sample.value) if sample.value else 0.0


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A number that should be another one; ``relation`` is ``=``, ``<=`` or ``>=``."""

    what: str
    stated: float
    computed: float
    metrics: tuple[str, ...]
    relation: str = "="


Identity = Callable[[Readings], Iterator[Mismatch]]


def quotient(rate: str, amount: str, time: str, factor: float = 1) -> Identity:
    """``rate = factor x amount / time``."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        used = (rate, amount, time)
        if run.has(*used) and run[time] > 0 and run[rate] > 0:
            computed = factor * run[amount] / run[time]
            if _differs(run[rate], computed, TOLERANCE + run.rounding(*used)):
                yield Mismatch(f"{amount} / {time}", run[rate], computed, used)

    return identity


def _differs(stated: float, computed: float, tolerance: float) -> bool:
    return abs(stated - computed) > tolerance * max(abs(stated), abs(computed))


def blocks(rate: str, operations: str, *keys: str) -> Identity:
    """``rate = operations per second x block size``."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        size = next((_bytes(run.parameters[k]) for k in keys if k in run.parameters), 0)
        if size and run.has(rate, operations) and run[rate] > 0:
            computed = run[operations] * size
            tolerance = TOLERANCE + run.rounding(rate, operations)
            if _differs(run[rate], computed, tolerance):
                what = Sentence("{amount} x block size", amount=operations)
                yield Mismatch(what, run[rate], computed, (rate, operations))

    return identity


def transferred(rate: str, time: str) -> Identity:
    """``rate = size / time``; the size is rounded to whole units."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        size = _bytes(run.parameters.get("size", ""))
        if size and run.has(rate, time) and run[time] > 0:
            computed = size / run[time]
            tolerance = TOLERANCE + run.rounding(rate, time) + 0.5 * 2**20 / size
            if _differs(run[rate], computed, tolerance):
                what = Sentence("size / {time}", time=time)
                yield Mismatch(what, run[rate], computed, (rate, time))

    return identity


_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKMGT]?i?B)", re.ASCII)
_WHOLE: Final = re.compile(r"[1-9]\d{0,8}", re.ASCII)


def _bytes(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    known = found and units.find(found[2])
    return units.convert(float(found[1]), found[2], "B") if found and known else 0.0


def _whole(text: str) -> int:
    """A count among the parameters; 0 if it is none."""
    return int(text) if _WHOLE.fullmatch(text) else 0


def at_most(small: str, large: str, slack: float = 0.0) -> Identity:
    """``small <= large``, where one of them is known to so many parts only."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        if run.has(small, large) and run[small] > run[large] * (1 + slack + 1e-6):
            rounding = run.rounding(large) * run[large]
            if slack:  # two numbers rounded alike keep their order, but only that
                rounding += run.rounding(small) * run[small]
            if run[small] > run[large] * (1 + slack) + rounding:
                what, used = Sentence("at most {most}", most=large), (small, large)
                yield Mismatch(what, run[small], run[large], used, "<=")

    return identity


def linpack(run: Readings) -> Iterator[Mismatch]:
    """``(2/3 n^3 + 2 n^2) / time``, the operations of one dense solution."""
    size, used = _whole(run.parameters.get("n", "")), ("performance", "time")
    if size and run.has(*used) and run["time"] > 0:
        computed = (2 / 3 * size**3 + 2 * size**2) / run["time"]
        if _differs(run["performance"], computed, 0.03 + run.rounding(*used)):
            what = "(2/3 n^3 + 2 n^2) / time"
            yield Mismatch(what, run["performance"], computed, used)


def sysbench_threads(run: Readings) -> Iterator[Mismatch]:
    """``events x mean latency / threads``: how long each thread was busy.

    Never longer than the run. In a closed loop (OLTP, CPU) a thread does nothing else,
    so it is not below three quarters either; fileio waits for the disk between events,
    and a target rate for its next event.
    """
    threads = _whole(run.parameters.get("threads", ""))
    events = next((m for m in ("events", "transactions") if run.has(m)), "")
    used = (events, "request latency mean", "total time")
    if not events or not threads or not run.has(*used):
        return
    busy_s = run[events] * run["request latency mean"] / threads
    tolerance = TOLERANCE + run.rounding("request latency mean", "total time")
    test = run.parameters.get("test", "")
    closed = test.startswith(("oltp", "cpu")) and "target_rate" not in run.parameters
    what = Sentence("{events} x mean latency / threads", events=events)
    if busy_s > run["total time"] * (1 + tolerance):
        yield Mismatch(what, run["total time"], busy_s, used, ">=")
    elif closed and run[events] > 0 and busy_s < 0.75 * run["total time"]:
        yield Mismatch(what, run["total time"], busy_s, used)


def sysbench_total(run: Readings) -> Iterator[Mismatch]:
    """``read + write + other = total``."""
    used = ("queries", "read/write requests", "other operations")
    if run.has(*used) and run["queries"] != run[used[1]] + run[used[2]]:
        computed = run[used[1]] + run[used[2]]
        what = Sentence("read + write + other")
        yield Mismatch(what, run["queries"], computed, used)


ORDER: Final = ("min", "p50", "p90", "p95", "p99", "p99.9", "max")
MEANS: Final = ("mean", "median")


def ordered(slack: float = 0.0) -> Identity:
    """``min <= percentiles <= max`` and ``min <= mean <= max``, of whatever metric.

    ``slack`` is how far a percentile may lie from the reading that it stands for.
    """

    def identity(run: Readings) -> Iterator[Mismatch]:
        for stem in {metric.rpartition(" ")[0] for metric in run.values}:
            chain = [f"{stem} {each}" for each in ORDER if run.has(f"{stem} {each}")]
            for small, large in pairwise(chain):
                yield from at_most(small, large, slack)(run)
            for middle in (f"{stem} {each}" for each in MEANS):
                yield from at_most(f"{stem} min", middle)(run)
                yield from at_most(middle, f"{stem} max")(run)

    return identity


SYSBENCH_PERCENTILES: Final = math.exp(math.log(1e8) / 1023 / 2) - 1
"""sysbench 1.0 counts latencies in 1024 buckets whose centres lie evenly on a log scale
from 0.001 to 100,000 ms, the nearest one each, and prints the centre of the bucket that
its percentile falls into (src/sb_histogram.c: ``floor(... + 0.5)``; OPER_LOG_* in
src/sb_logger.c). So a p95 may exceed the exact max by half a bucket: 0.9 %."""


def grouped(run: RunFact, least: int = 1) -> Iterator[Readings]:
    """The readings of a run that stand beside each other, at least so many."""
    groups: dict[object, dict[str, SampleFact]] = defaultdict(dict)
    for sample in run.samples:
        key = (tuple(sorted(sample.parameters.items())), sample.repetition)
        groups[key].setdefault(sample.metric, sample)
    for samples in groups.values():
        if len(samples) < least:
            continue
        values = {metric: _in_base(each) for metric, each in samples.items()}
        yield Readings(values, samples, next(iter(samples.values())).parameters)


def _in_base(sample: SampleFact) -> float:
    unit = units.find(sample.unit)
    base = units.BASE_UNITS.get(unit.dimension) if unit else None
    return units.convert(sample.value, sample.unit, base) if base else sample.value
