"""What the numbers of one run must have to do with each other, tool by tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.plausibility.facts import RunFact, SampleFact, StudyFacts
from benchmarks.plausibility.findings import Subject
from benchmarks.plausibility.registry import Doubt, rule
from benchmarks.plausibility.relations import (
    SYSBENCH_PERCENTILES,
    Identity,
    Mismatch,
    Readings,
    at_most,
    blocks,
    grouped,
    linpack,
    ordered,
    quotient,
    sysbench_threads,
    sysbench_total,
    transferred,
)
from benchmarks.sentences import Sentence

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


RELATIONS: Final[Mapping[str, Sentence]] = {
    "=": Sentence("but"),
    "<=": Sentence("but at most"),
    ">=": Sentence("but at least"),
}


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
        for readings in grouped(run, least=2):
            order = ORDERS.get(run.tool, IN_ORDER)
            for identity in (*IDENTITIES.get(run.tool, ()), order):
                for mismatch in identity(readings):
                    yield _doubt(run, readings, mismatch)


def _doubt(run: RunFact, readings: Readings, found: Mismatch) -> Doubt:
    involved = [readings.samples[metric] for metric in found.metrics]
    return Doubt(
        Sentence(
            "{name} states {metric} = {stated:g}, {relation} {computed:g} follows from "
            "{formula} (in base units).",
            name=run.name,
            metric=found.metrics[0],
            stated=found.stated,
            relation=RELATIONS[found.relation],
            computed=found.computed,
            formula=found.what,
        ),
        about_run(run, involved),
        {
            "stated": found.stated,
            "computed": found.computed,
            "relation": found.relation,
            "formula": found.what,
            "readings": {each.metric: each.value for each in involved},
        },
        tuple(each.value for each in involved),
    )


def about_run(run: RunFact, samples: list[SampleFact]) -> tuple[Subject, ...]:
    """A run and the cells of some of its samples."""
    cells = dict.fromkeys(str(each.cell) for each in samples if each.cell is not None)
    return (Subject("run", str(run.id)), *(Subject("cell", cell) for cell in cells))
