"""Rules about relations that the numbers of one run must fulfill."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from benchmarks import units
from benchmarks.plausibility.findings import Evidence, Finding, rule, unique_subjects
from benchmarks.plausibility.study_facts import (
    PERCENTILE_ORDER,
    ParameterReadings,
    RunFact,
    SampleFact,
    StudyFacts,
    readings_by_parameters,
)
from benchmarks.sentences import Sentence, Template, pluralized, template

TOLERANCE: Final = 0.02
"""Relative. Tools round, and read the clock twice."""
SYSBENCH_PERCENTILES: Final = math.exp(math.log(1e8) / 1023 / 2) - 1
"""sysbench 1.0 counts latencies in 1024 buckets, evenly spaced on a log scale from
0.001 to 100,000 ms, and prints the center of a bucket (src/sb_histogram.c: ``floor(...
+ 0.5)``; OPER_LOG_* in src/sb_logger.c). So a p95 may exceed the exact max by half a
bucket: 0.9 %.
"""
MISMATCH_SENTENCES: Final[Mapping[str, Template]] = {
    "=": template(
        "{name} reports {metric} = {stated:g}, but {formula} = {computed:g} (in base "
        "units such as B, s and W)."
    ),
    "<=": template(
        "{name} reports {metric} = {stated:g}, which is more than {formula} = "
        "{computed:g} (in base units such as B, s and W)."
    ),
    ">=": template(
        "{name} reports {metric} = {stated:g}, which is less than {formula} = "
        "{computed:g} (in base units such as B, s and W)."
    ),
}
# Bounded: parameters may hold any text.
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKMGT]?i?B)", re.ASCII)
_WHOLE: Final = re.compile(r"[1-9]\d{0,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class IdentityMismatch:
    """A printed number that contradicts the number computed from others.

    ``stated`` is the value of the first of ``metrics``, ``computed`` the value of the
    formula ``quantity``. The required ``relation`` of stated to computed is ``=``,
    ``<=`` or ``>=``.
    """

    quantity: str
    stated: float
    computed: float
    metrics: tuple[str, ...]
    relation: str = "="


Identity = Callable[[ParameterReadings], Iterator[IdentityMismatch]]


def rate_identity(rate: str, amount: str, time: str) -> Identity:
    def identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
        used = (rate, amount, time)
        if run.has(*used) and run[time] > 0 and run[rate] > 0:
            computed = run[amount] / run[time]
            if _differs(run[rate], computed, TOLERANCE + run.rounding(*used)):
                yield IdentityMismatch(f"{amount} / {time}", run[rate], computed, used)

    return identity


def _differs(stated: float, computed: float, tolerance: float) -> bool:
    return abs(stated - computed) > tolerance * max(abs(stated), abs(computed))


def block_identity(rate: str, operations: str, *keys: str) -> Identity:
    """Return a check of ``rate = operations per second x block size``.

    ``keys`` are possible names of the parameter that has the block size.
    """

    def identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
        size = next((_bytes(run.parameters[k]) for k in keys if k in run.parameters), 0)
        if size and run.has(rate, operations) and run[rate] > 0:
            computed = run[operations] * size
            tolerance = TOLERANCE + run.rounding(rate, operations)
            if _differs(run[rate], computed, tolerance):
                what = Sentence("{amount} x block size", amount=operations)
                yield IdentityMismatch(what, run[rate], computed, (rate, operations))

    return identity


def size_identity(rate: str, time: str) -> Identity:
    """Return a check of ``rate = size / time``, with a size rounded to whole MiB."""

    def identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
        size = _bytes(run.parameters.get("size", ""))
        if size and run.has(rate, time) and run[time] > 0:
            computed = size / run[time]
            tolerance = TOLERANCE + run.rounding(rate, time) + 0.5 * 2**20 / size
            if _differs(run[rate], computed, tolerance):
                what = Sentence("size / {time}", time=time)
                yield IdentityMismatch(what, run[rate], computed, (rate, time))

    return identity


def _bytes(text: str) -> float:
    match = _SIZE.fullmatch(text.strip())
    is_known = match and units.find_unit(match[2])
    return units.convert(float(match[1]), match[2], "B") if match and is_known else 0.0


def _whole(text: str) -> int:
    return int(text) if _WHOLE.fullmatch(text) else 0


def bound_identity(smaller: str, larger: str, slack: float = 0.0) -> Identity:
    def identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
        if run.has(smaller, larger) and run[smaller] > run[larger] * (1 + slack + 1e-6):
            rounding = run.rounding(larger) * run[larger]
            if slack:  # numbers rounded alike keep their order
                rounding += run.rounding(smaller) * run[smaller]
            if run[smaller] > run[larger] * (1 + slack) + rounding:
                used = (smaller, larger)
                yield IdentityMismatch(larger, run[smaller], run[larger], used, "<=")

    return identity


def linpack_identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
    """Check ``performance = (2/3 n^3 + 2 n^2) / time``.

    The numerator is the number of operations that solve one dense system.
    """
    size, used = _whole(run.parameters.get("n", "")), ("performance", "time")
    if size and run.has(*used) and run["time"] > 0:
        computed = (2 / 3 * size**3 + 2 * size**2) / run["time"]
        if _differs(run["performance"], computed, 0.03 + run.rounding(*used)):
            what = "(2/3 n^3 + 2 n^2) / time"
            yield IdentityMismatch(what, run["performance"], computed, used)


def sysbench_threads(run: ParameterReadings) -> Iterator[IdentityMismatch]:
    """Check the busy time of a thread, ``events x mean latency / threads``.

    Only closed tests have a minimum: in fileio tests, threads wait for the disk between
    events; with a target rate, they wait for the next event.
    """
    threads = _whole(run.parameters.get("threads", ""))
    events = next((m for m in ("events", "transactions") if run.has(m)), "")
    used = ("total time", events, "request latency mean")
    if not events or not threads or not run.has(*used):
        return
    busy_s = run[events] * run["request latency mean"] / threads
    tolerance = TOLERANCE + run.rounding("request latency mean", "total time")
    test = run.parameters.get("test", "")
    closed = test.startswith(("oltp", "cpu")) and "target_rate" not in run.parameters
    what = Sentence("{events} x mean latency / threads", events=events)
    if busy_s > run["total time"] * (1 + tolerance):
        yield IdentityMismatch(what, run["total time"], busy_s, used, ">=")
    elif closed and run[events] > 0 and busy_s < 0.75 * run["total time"]:
        yield IdentityMismatch(what, run["total time"], busy_s, used)


def sysbench_total(run: ParameterReadings) -> Iterator[IdentityMismatch]:
    used = ("queries", "read/write requests", "other operations")
    if run.has(*used) and run["queries"] != run[used[1]] + run[used[2]]:
        computed = run[used[1]] + run[used[2]]
        what = Sentence("read + write + other")
        yield IdentityMismatch(what, run["queries"], computed, used)


def order_identity(slack: float = 0.0) -> Identity:
    """Return a check that minimum, percentiles, mean and maximum of a metric are in
    order.
    """

    def identity(run: ParameterReadings) -> Iterator[IdentityMismatch]:
        for stem in {metric.rpartition(" ")[0] for metric in run.values}:
            names = (f"{stem} {statistic}" for statistic in PERCENTILE_ORDER)
            for small, large in pairwise(name for name in names if run.has(name)):
                yield from bound_identity(small, large, slack)(run)
            for middle in (f"{stem} mean", f"{stem} median"):
                yield from bound_identity(f"{stem} min", middle)(run)
                yield from bound_identity(middle, f"{stem} max")(run)

    return identity


IDENTITIES: Final[Mapping[str, tuple[Identity, ...]]] = {
    "sysbench": (
        rate_identity("transaction rate", "transactions", "total time"),
        rate_identity("read/write request rate", "read/write requests", "total time"),
        rate_identity("query rate", "queries", "total time"),
        rate_identity("event rate", "events", "total time"),
        block_identity("file throughput", "file request rate", "block"),
        sysbench_threads,
        sysbench_total,
    ),
    "linpack": (linpack_identity,),
    "intel-linpack": (linpack_identity,),
    "virtlab-linpack": (linpack_identity,),
    "hpl": (linpack_identity,),
    "iometer": (block_identity("disk throughput", "IOps", "block_size"),),
    "fio": (block_identity("throughput", "IOPS", "block"),),
    "tiotest": (size_identity("rate", "time"),),
    "wrk": (rate_identity("request rate", "requests", "test duration"),),
    "ab": (rate_identity("request rate", "requests", "test duration"),),
    "httperf": (
        bound_identity("replies", "requests"),
        rate_identity("request rate", "requests", "test duration"),
    ),
    "watts-up": (rate_identity("power mean", "energy", "meter time"),),
    "power-csv": (rate_identity("power mean", "energy", "meter time"),),
    "netperf": (bound_identity("throughput", "sent throughput"),),
}
ORDER_CHECKS: Final[Mapping[str, Identity]] = {
    "sysbench": order_identity(SYSBENCH_PERCENTILES)
}
EXACT_ORDER: Final = order_identity()


@rule(
    "identity-violated",
    "Contradictory values in one run",
    "impossible",
    family="identities",
)
def identity_violated(study: StudyFacts) -> Iterator[Finding]:
    """Flags a run whose numbers contradict each other by more than 2% (3% for LINPACK)
    and their rounding. Counts and the order of statistics must match up to their
    rounding. The following must hold:
    - Rates are counts divided by time, and throughput is operations per second times
      block size.
    - LINPACK performance is 2/3 n^3 + 2 n^2 operations divided by time.
    - For sysbench, events times mean latency divided by threads is the busy time of a
      thread. It must not exceed the total time. For OLTP and CPU tests without a target
      rate, it must be at least three quarters of the total time. Read, write and other
      queries add up to the total.
    - httperf receives at most as many replies as it sends requests, and netperf does
      not receive more than it sends.
    - Mean power is energy divided by time.
    - Minimum, percentiles, mean and maximum are in order. sysbench computes percentiles
      from a histogram, so they may exceed the maximum by 0.9%.

    Why: the numbers come from the same counters. If they differ, one of them was copied
    from another run, rounded too early, or mistyped.

    Remedy: open the raw output and upload it instead of the typed numbers.
    """
    for run in study.runs:
        for readings, mismatch in mismatches(run):
            yield _mismatch_finding(run, readings, mismatch)


def mismatches(run: RunFact) -> Iterator[tuple[ParameterReadings, IdentityMismatch]]:
    for readings in readings_by_parameters(run, min_readings=2):
        order = ORDER_CHECKS.get(run.tool, EXACT_ORDER)
        for identity in (*IDENTITIES.get(run.tool, ()), order):
            for mismatch in identity(readings):
                yield readings, mismatch


def _mismatch_finding(
    run: RunFact, readings: ParameterReadings, mismatch: IdentityMismatch
) -> Finding:
    involved = [readings.samples[metric] for metric in mismatch.metrics]
    cells = (sample.cell for sample in involved if sample.cell is not None)
    return Finding(
        Sentence(
            MISMATCH_SENTENCES[mismatch.relation],
            name=run.description,
            metric=mismatch.metrics[0],
            stated=mismatch.stated,
            computed=mismatch.computed,
            formula=mismatch.quantity,
        ),
        (*unique_subjects("run", [run.id]), *unique_subjects("cell", cells)),
        {
            "stated": mismatch.stated,
            "computed": mismatch.computed,
            "relation": mismatch.relation,
            "formula": mismatch.quantity,
            "readings": {sample.metric: sample.value for sample in involved},
        },
        tuple(sample.value for sample in involved),
    )


NETPERF_ENDS: Final = (("local", "from"), ("remote", "to"))
CPU_TOLERANCE: Final = 0.01
MIB_PER_MB: Final = 2**20 / 10**6


@dataclass(frozen=True, slots=True)
class NetperfEnd:
    """One end (``local`` or ``remote``) of a netperf run.

    ``cpus`` is the number of CPUs that the printed numbers imply, ``tolerance`` its
    possible relative error, ``location`` the name of the machine.
    """

    run: RunFact
    samples: tuple[SampleFact, ...]
    side: str
    location: str
    cpus: float
    tolerance: float

    def whole_cpus(self, factor: float = 1) -> int | None:
        """Return the whole number of CPUs that is nearest to ``cpus`` times ``factor``.

        Return None if it is not within the tolerance.
        """
        cpus = self.cpus * factor
        nearest = round(cpus)
        near = nearest >= 1 and abs(cpus / nearest - 1) <= self.tolerance
        return nearest if near else None


@rule(
    "netperf-service-demand",
    "Inconsistent netperf CPU times",
    "impossible",
    family="netperf",
)
def netperf_service_demand(study: StudyFacts) -> Iterator[Finding]:
    """Flags netperf runs whose service demand is inconsistent. Service demand times
    throughput divided by CPU utilization is the number of CPUs of the machine at one
    end of the connection. It must be close to a whole number (within 1% and rounding)
    and the same in all runs with that machine. If the number is whole only after
    multiplying by 1.0486, the throughput is in MiB/s but labeled MB/s: netperf's ``-f
    M`` means 2^20 bytes.

    Why: netperf calculates the service demand from the other two numbers.

    Remedy: check the raw output. Correct the unit or the name of the machine.
    """
    ends = list(_ends(study.runs))
    broken = [end for end in ends if end.whole_cpus() is None]
    mebi = [end for end in broken if end.whole_cpus(MIB_PER_MB) is not None]
    if mebi:
        throughput = [end.samples[0] for end in mebi]
        cells = (sample.cell for sample in throughput if sample.cell is not None)
        yield Finding(
            pluralized(
                "The throughput of {n} run is in MiB/s, not {unit}: only then do "
                "service demand and CPU utilization imply a whole number of CPUs.",
                "The throughput of {n} runs is in MiB/s, not {unit}: only then do "
                "service demand and CPU utilization imply a whole number of CPUs.",
                # Both ends of a run may show this.
                n=len({end.run.id for end in mebi}),
                unit=throughput[0].unit,
            ),
            (
                *unique_subjects("run", (e.run.id for e in mebi)),
                *unique_subjects("cell", cells),
            ),
            {
                "factor": MIB_PER_MB,
                "implied_cpus": [round(e.cpus, 4) for e in mebi[:100]],
            },
            tuple(sample.value for sample in throughput),
        )
    for end in broken:
        if end not in mebi:
            sentence = Sentence(
                "{name}: service demand {side} x throughput / CPU utilization {side} "
                "gives {cpus:.3f} CPUs at {place}, which is not a whole number.",
                name=end.run.description,
                side=end.side,
                cpus=end.cpus,
                place=end.location,
            )
            yield _about_end(
                end,
                sentence,
                {
                    "implied_cpus": end.cpus,
                    "tolerance": end.tolerance,
                    "place": end.location,
                },
            )
    yield from _other_machine(ends)


def has_no_whole_cpu_count(run: RunFact) -> bool:
    """Return whether an end of a netperf run implies a fractional number of CPUs, both
    in MB and in MiB.
    """
    return any(
        end.whole_cpus() is None and end.whole_cpus(MIB_PER_MB) is None
        for end in _ends([run])
    )


def _ends(runs: Iterable[RunFact]) -> Iterator[NetperfEnd]:
    """Yield the ends of netperf runs for which all of the following numbers are known.

    CPUs = service demand x throughput / CPU utilization; a KB is 1024 B.
    """
    for run in runs:
        for readings in readings_by_parameters(run) if run.tool == "netperf" else ():
            for side, key in NETPERF_ENDS:
                demand, share = f"service demand {side}", f"CPU utilization {side}"
                used = ("throughput", demand, share)
                if not readings.has(*used) or min(readings[n] for n in used) <= 0:
                    continue
                printed = readings.samples[demand].unit
                unit = units.find_unit(printed)
                if unit is None or unit.dimension != "CPU time per data":
                    continue
                per_kb_us = units.convert(readings[demand], printed, "us/KB")
                busy = per_kb_us * 1e-6 * readings["throughput"] / 1024
                fraction = readings[share] / 100
                if (
                    fraction == 0
                    or not math.isfinite(busy)
                    or math.isinf(busy / fraction)
                ):
                    continue
                yield NetperfEnd(
                    run,
                    tuple(readings.samples[name] for name in used),
                    side,
                    readings.parameters.get(key, f"{run.host} {run.system_label}"),
                    busy / fraction,
                    CPU_TOLERANCE + readings.rounding(*used),
                )


def _other_machine(ends: Sequence[NetperfEnd]) -> Iterator[Finding]:
    """Yield findings about ends that imply another number of CPUs than at least three
    quarters of the ends at the same location.
    """
    places: dict[str, list[tuple[NetperfEnd, int]]] = defaultdict(list)
    for end in ends:
        # A wrong unit still identifies the machine.
        cpus = end.whole_cpus() or end.whole_cpus(MIB_PER_MB)
        if cpus is not None:
            places[end.location].append((end, cpus))
    for place, members in places.items():
        usual, times = Counter(cpus for _, cpus in members).most_common(1)[0]
        if times < 3 or times < 0.75 * len(members):
            continue
        for end, cpus in members:
            if cpus != usual:
                sentence = Sentence(
                    "{name} to or from {place} implies a CPU count of {cpus} "
                    "there, but {times} other measurements imply {usual}. This run "
                    "measured another machine.",
                    name=end.run.description,
                    place=place,
                    cpus=cpus,
                    times=times,
                    usual=usual,
                )
                evidence: Mapping[str, Evidence] = {
                    "implied_cpus": cpus,
                    "elsewhere": usual,
                    "place": place,
                }
                yield _about_end(end, sentence, evidence)


def _about_end(
    end: NetperfEnd, sentence: Sentence, evidence: Mapping[str, Evidence]
) -> Finding:
    cells = (sample.cell for sample in end.samples if sample.cell is not None)
    subjects = (*unique_subjects("run", [end.run.id]), *unique_subjects("cell", cells))
    return Finding(sentence, subjects, evidence, tuple(s.value for s in end.samples))
