"""What the numbers of one run must have to do with each other, tool by tool."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import (
    ORDER,
    Readings,
    RunFact,
    SampleFact,
    StudyFacts,
    grouped,
)
from benchmarks.plausibility.findings import Doubt, Evidence, rule, subjects
from benchmarks.sentences import Sentence, counted

TOLERANCE: Final = 0.02
"""Tools round, and take two looks at the clock; a slip is larger than 2 %."""
SYSBENCH_PERCENTILES: Final = math.exp(math.log(1e8) / 1023 / 2) - 1
"""sysbench 1.0 counts latencies in 1024 buckets whose centres lie evenly on a log scale
from 0.001 to 100,000 ms, the nearest one each, and prints the centre of the bucket that
its percentile falls into (src/sb_histogram.c: ``floor(... + 0.5)``; OPER_LOG_* in
src/sb_logger.c). So a p95 may exceed the exact max by half a bucket: 0.9 %."""
RELATIONS: Final[Mapping[str, Sentence]] = {
    # Translators: stated = 5, but 6 follows from the other numbers.
    "=": Sentence("but"),
    "<=": Sentence("but at most"),
    ">=": Sentence("but at least"),
}
# Bounded: parameters hold any text, and too many digits are inf or a ValueError.
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKMGT]?i?B)", re.ASCII)
_WHOLE: Final = re.compile(r"[1-9]\d{0,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A number that should be another one; ``relation`` is ``=``, ``<=`` or ``>=``."""

    what: str
    stated: float
    computed: float
    metrics: tuple[str, ...]
    relation: str = "="


Identity = Callable[[Readings], Iterator[Mismatch]]


def quotient(rate: str, amount: str, time: str) -> Identity:
    """``rate = amount / time``."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        used = (rate, amount, time)
        if run.has(*used) and run[time] > 0 and run[rate] > 0:
            computed = run[amount] / run[time]
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


def _bytes(text: str) -> float:
    match = _SIZE.fullmatch(text.strip())
    known = match and units.find(match[2])
    return units.convert(float(match[1]), match[2], "B") if match and known else 0.0


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


def ordered(slack: float = 0.0) -> Identity:
    """Check ``min <= rank <= max`` and ``min <= mean <= max`` within ``slack``."""

    def identity(run: Readings) -> Iterator[Mismatch]:
        for stem in {metric.rpartition(" ")[0] for metric in run.values}:
            names = (f"{stem} {statistic}" for statistic in ORDER)
            for small, large in pairwise(name for name in names if run.has(name)):
                yield from at_most(small, large, slack)(run)
            for middle in (f"{stem} mean", f"{stem} median"):
                yield from at_most(f"{stem} min", middle)(run)
                yield from at_most(middle, f"{stem} max")(run)

    return identity


IDENTITIES: Final[Mapping[str, tuple[Identity, ...]]] = {
    "sysbench": (
        quotient("transaction rate", "transactions", "total time"),
        quotient("read/write request rate", "read/write requests", "total time"),
        quotient("query rate", "queries", "total time"),
        quotient("event rate", "events", "total time"),
        blocks("file throughput", "file request rate", "block"),
        sysbench_threads,
        sysbench_total,
    ),
    "linpack": (linpack,),
    "intel-linpack": (linpack,),
    "virtlab-linpack": (linpack,),
    "hpl": (linpack,),
    "iometer": (blocks("disk throughput", "IOps", "block_size"),),
    "fio": (blocks("throughput", "IOPS", "block"),),
    "tiotest": (transferred("rate", "time"),),
    "wrk": (quotient("request rate", "requests", "test duration"),),
    "ab": (quotient("request rate", "requests", "test duration"),),
    "httperf": (
        at_most("replies", "requests"),
        quotient("request rate", "requests", "test duration"),
    ),
    "watts-up": (quotient("power mean", "energy", "meter time"),),
    "power-csv": (quotient("power mean", "energy", "meter time"),),
    "netperf": (at_most("throughput", "sent throughput"),),
}
ORDERS: Final[Mapping[str, Identity]] = {"sysbench": ordered(SYSBENCH_PERCENTILES)}
IN_ORDER: Final = ordered()


@rule(
    "identity-violated", "Numbers of one run that contradict each other", "impossible"
)
def identity_violated(study: StudyFacts) -> Iterator[Doubt]:
    """The numbers of a run break what they must fulfil, by more than 2 % and their
    rounding: rates are counts over time; throughput is operations times block size;
    LINPACK needs 2/3 n^3 + 2 n^2 operations; sysbench's events times mean latency over
    threads is the time of a thread, and read + write + other the total; httperf gets at
    most as many replies as it sends requests; mean power is energy over time; minimum,
    percentiles, mean and maximum are in order (sysbench takes its percentiles from a
    histogram whose buckets let one exceed the maximum by 0.9 %).

    Why: both numbers come from the same counters. If they differ, one of them was
    copied from another run, rounded too early, or typed.

    What to do: open the raw output; upload it instead of the typed numbers.
    """
    for run in study.runs:
        for readings, mismatch in mismatches(run):
            yield _doubt(run, readings, mismatch)


def mismatches(run: RunFact) -> Iterator[tuple[Readings, Mismatch]]:
    """What a run's numbers break, with those that stand beside each other."""
    for readings in grouped(run, least=2):
        order = ORDERS.get(run.tool, IN_ORDER)
        for identity in (*IDENTITIES.get(run.tool, ()), order):
            for mismatch in identity(readings):
                yield readings, mismatch


def _doubt(run: RunFact, readings: Readings, mismatch: Mismatch) -> Doubt:
    involved = [readings.samples[metric] for metric in mismatch.metrics]
    cells = (sample.cell for sample in involved if sample.cell is not None)
    return Doubt(
        Sentence(
            "{name} states {metric} = {stated:g}, {relation} {computed:g} follows from "
            "{formula} (in base units).",
            name=run.name,
            metric=mismatch.metrics[0],
            stated=mismatch.stated,
            relation=RELATIONS[mismatch.relation],
            computed=mismatch.computed,
            formula=mismatch.what,
        ),
        (*subjects("run", [run.id]), *subjects("cell", cells)),
        {
            "stated": mismatch.stated,
            "computed": mismatch.computed,
            "relation": mismatch.relation,
            "formula": mismatch.what,
            "readings": {sample.metric: sample.value for sample in involved},
        },
        tuple(sample.value for sample in involved),
    )


ENDS: Final = (("local", "from"), ("remote", "to"))
CPU_TOLERANCE: Final = 0.01
MEBI: Final = 2**20 / 10**6


@dataclass(frozen=True, slots=True)
class End:
    """One end of a netperf run: how many CPUs its numbers imply, and how surely."""

    run: RunFact
    samples: tuple[SampleFact, ...]
    side: str
    place: str
    cpus: float
    tolerance: float

    def whole(self, factor: float = 1) -> int | None:
        """The whole number of CPUs that it comes near to; None if none."""
        cpus = self.cpus * factor
        nearest = round(cpus)
        near = nearest >= 1 and abs(cpus / nearest - 1) <= self.tolerance
        return nearest if near else None


@rule(
    "netperf-service-demand",
    "netperf's CPU time contradicts itself",
    "impossible",
    family="netperf",
)
def netperf_service_demand(study: StudyFacts) -> Iterator[Doubt]:
    """Service demand times throughput over CPU utilization is the number of CPUs of an
    end, so it must come near to a whole number (1 % and rounding), and to the same one
    in all runs of that machine. If it does so only after multiplying with 1.0486, the
    throughput is in MiB/s and labelled MB/s: netperf's ``-f M`` means 2^20 bytes.

    Why: netperf computes the demand from the two others. In the Heidelberg study all
    33 runs show that their MB are MiB, and one run "to node7" implies a machine with
    one CPU: it measured a guest's own loopback.

    What to do: correct the unit or the name of the end; look up the raw output.
    """
    ends = list(_ends(study.runs))
    broken = [end for end in ends if end.whole() is None]
    mebi = [end for end in broken if end.whole(MEBI) is not None]
    if mebi:
        throughput = [end.samples[0] for end in mebi]
        known = (sample.cell for sample in throughput if sample.cell is not None)
        yield Doubt(
            counted(
                "The throughput of {n} run is in MiB/s, not {unit}: only so do service "
                "demand and CPU utilization imply whole CPUs.",
                "The throughput of {n} runs is in MiB/s, not {unit}: only so do "
                "service demand and CPU utilization imply whole CPUs.",
                # Both ends of a run may show it, but it is one run.
                n=len({end.run.id for end in mebi}),
                unit=throughput[0].unit,
            ),
            (*subjects("run", (e.run.id for e in mebi)), *subjects("cell", known)),
            {"factor": MEBI, "implied_cpus": [round(e.cpus, 4) for e in mebi[:100]]},
            tuple(sample.value for sample in throughput),
        )
    for end in broken:
        if end not in mebi:
            sentence = Sentence(
                "{name}: service demand {side} x throughput / CPU utilization implies "
                "{cpus:.3f} CPUs at {place}.",
                name=end.run.name,
                side=end.side,
                cpus=end.cpus,
                place=end.place,
            )
            yield _about_end(
                end,
                sentence,
                {
                    "implied_cpus": end.cpus,
                    "tolerance": end.tolerance,
                    "place": end.place,
                },
            )
    yield from _other_machine(ends)


def implies_no_cpus(run: RunFact) -> bool:
    """Whether no whole number of CPUs follows from a run, in MB or in MiB."""
    return any(end.whole() is None and end.whole(MEBI) is None for end in _ends([run]))


def _ends(runs: Iterable[RunFact]) -> Iterator[End]:
    """CPUs = service demand x throughput / CPU share; a KB is 1024 B here."""
    for run in runs:
        for readings in grouped(run) if run.tool == "netperf" else ():
            for side, key in ENDS:
                demand, share = f"service demand {side}", f"CPU utilization {side}"
                used = ("throughput", demand, share)
                if not readings.has(*used) or min(readings[n] for n in used) <= 0:
                    continue
                printed = readings.samples[demand].unit
                unit = units.find(printed)
                if unit is None or unit.dimension != "CPU time per data":
                    continue
                per_kb_us = units.convert(readings[demand], printed, "us/KB")
                busy = per_kb_us * 1e-6 * readings["throughput"] / 1024
                part = readings[share] / 100
                # Numbers that no machine reads: their quotient is none.
                if part == 0 or not math.isfinite(busy) or math.isinf(busy / part):
                    continue
                yield End(
                    run,
                    tuple(readings.samples[name] for name in used),
                    side,
                    readings.parameters.get(key, f"{run.host} {run.system_label}"),
                    busy / part,
                    CPU_TOLERANCE + readings.rounding(*used),
                )


def _other_machine(ends: Sequence[End]) -> Iterator[Doubt]:
    """What implies other CPUs than three of four runs to the same place do."""
    places: dict[str, list[tuple[End, int]]] = defaultdict(list)
    for end in ends:
        # A throughput with a wrong label still tells which machine it was.
        cpus = end.whole() or end.whole(MEBI)
        if cpus is not None:
            places[end.place].append((end, cpus))
    for place, members in places.items():
        usual, times = Counter(cpus for _, cpus in members).most_common(1)[0]
        if times < 3 or times < 0.75 * len(members):
            continue
        for end, cpus in members:
            if cpus != usual:
                sentence = Sentence(
                    "{name} to or from {place} implies {cpus} CPU there, {times} other "
                    "runs imply {usual}: it measured another machine.",
                    name=end.run.name,
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


def _about_end(end: End, sentence: Sentence, evidence: Mapping[str, Evidence]) -> Doubt:
    cells = (sample.cell for sample in end.samples if sample.cell is not None)
    about = (*subjects("run", [end.run.id]), *subjects("cell", cells))
    return Doubt(sentence, about, evidence, tuple(s.value for s in end.samples))
