"""The CPUs that netperf's service demand implies."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import RunFact, SampleFact, StudyFacts, grouped
from benchmarks.plausibility.findings import Doubt, Evidence, rule, subjects
from benchmarks.sentences import Sentence, counted

ENDS: Final = (("local", "from"), ("remote", "to"))
TOLERANCE: Final = 0.01
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
                    TOLERANCE + readings.rounding(*used),
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
