"""The CPUs that netperf's service demand implies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import RunFact, SampleFact, StudyFacts
from benchmarks.plausibility.findings import Subject
from benchmarks.plausibility.registry import Doubt, rule
from benchmarks.plausibility.relations import Readings, grouped
from benchmarks.sentences import Sentence, counted

ENDS: Final = (("local", "from"), ("remote", "to"))
TOLERANCE: Final = 0.01
MEBI: Final = 2**20 / 10**6


@dataclass(frozen=True, slots=True)
class End:
    """One end of a netperf run: how many CPUs its numbers imply, and how surely."""

    run: RunFact
    readings: Readings
    side: str
    place: str
    cpus: float
    tolerance: float

    @property
    def whole(self) -> int | None:
        """The whole number of CPUs that it comes near to; None if none."""
        return _whole(self.cpus, self.tolerance)

    @property
    def samples(self) -> list[SampleFact]:
        found = (f"service demand {self.side}", f"CPU utilization {self.side}")
        return [self.readings.samples[each] for each in ("throughput", *found)]


def _whole(cpus: float, tolerance: float) -> int | None:
    nearest = round(cpus)
    near = nearest >= 1 and abs(cpus / nearest - 1) <= tolerance
    return nearest if near else None


def _ends(study: StudyFacts) -> Iterator[End]:
    """CPUs = service demand x throughput / CPU share; a KB is 1024 B here."""
    for run in study.runs:
        if run.tool == "netperf":
            for readings in grouped(run):
                for side, key in ENDS:
                    yield from _end(run, readings, side, key)


def _end(run: RunFact, readings: Readings, side: str, key: str) -> Iterator[End]:
    demand, share = f"service demand {side}", f"CPU utilization {side}"
    used = ("throughput", demand, share)
    unit = units.find(readings.samples[demand].unit) if readings.has(demand) else None
    if unit is None or unit.dimension != "CPU time per data":
        return
    if not readings.has(*used) or not all(readings[each] > 0 for each in used):
        return
    per_kb_us = units.convert(readings[demand], readings.samples[demand].unit, "us/KB")
    busy = per_kb_us * 1e-6 * readings["throughput"] / 1024
    place = readings.parameters.get(key, f"{run.host} {run.system_label}")
    tolerance = TOLERANCE + readings.rounding(*used)
    cpus = busy / (readings[share] / 100)
    yield End(run, readings, side, place, cpus, tolerance)


@rule("netperf-service-demand", "netperf's CPU time contradicts itself", "impossible")
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
    ends = list(_ends(study))
    broken = [end for end in ends if end.whole is None]
    mebi = [e for e in broken if _whole(e.cpus * MEBI, e.tolerance) is not None]
    if mebi:
        yield _mebibytes(mebi)
    for end in broken:
        if end not in mebi:
            yield _violated(end)
    yield from _other_machine(ends)


def _subjects(ends: Sequence[End], *, cells: bool = True) -> tuple[Subject, ...]:
    runs = dict.fromkeys(Subject("run", str(end.run.id)) for end in ends)
    samples = [each for end in ends for each in end.samples if each.cell is not None]
    named = dict.fromkeys(Subject("cell", str(each.cell)) for each in samples)
    return (*runs, *(named if cells else ()))


def _mebibytes(ends: Sequence[End]) -> Doubt:
    throughput = [end.readings.samples["throughput"] for end in ends]
    cells = dict.fromkeys(
        str(each.cell) for each in throughput if each.cell is not None
    )
    runs = len({end.run.id for end in ends})
    return Doubt(
        counted(
            "The throughput of {n} run is in MiB/s, not {unit}: only so do service "
            "demand and CPU utilization imply whole CPUs.",
            "The throughput of {n} runs is in MiB/s, not {unit}: only so do service "
            "demand and CPU utilization imply whole CPUs.",
            n=runs,
            unit=throughput[0].unit,
        ),
        (*_subjects(ends, cells=False), *(Subject("cell", each) for each in cells)),
        {"factor": MEBI, "implied_cpus": [round(end.cpus, 4) for end in ends[:100]]},
        tuple(each.value for each in throughput),
    )


def _violated(end: End) -> Doubt:
    return Doubt(
        Sentence(
            "{name}: service demand {side} x throughput / CPU utilization implies "
            "{cpus:.3f} CPUs at {place}.",
            name=end.run.name,
            side=end.side,
            cpus=end.cpus,
            place=end.place,
        ),
        _subjects([end]),
        {"implied_cpus": end.cpus, "tolerance": end.tolerance, "place": end.place},
        tuple(each.value for each in end.samples),
    )


def _other_machine(ends: Sequence[End]) -> Iterator[Doubt]:
    places: dict[str, list[tuple[End, int]]] = defaultdict(list)
    for end in ends:
        cpus = end.whole or _whole(end.cpus * MEBI, end.tolerance)
        if cpus is not None:
            places[end.place].append((end, cpus))
    for place, members in places.items():
        usual, times = Counter(cpus for _, cpus in members).most_common(1)[0]
        if times < 3 or times < 0.75 * len(members):
            continue
        for end, cpus in members:
            if cpus != usual:
                yield Doubt(
                    Sentence(
                        "{name} to or from {place} implies {cpus} CPU there, {times} "
                        "other runs imply {usual}: it measured another machine.",
                        name=end.run.name,
                        place=place,
                        cpus=cpus,
                        times=times,
                        usual=usual,
                    ),
                    _subjects([end]),
                    {"implied_cpus": cpus, "elsewhere": usual, "place": place},
                    tuple(each.value for each in end.samples),
                )
