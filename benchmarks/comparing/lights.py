"""How far two systems may be compared: green, amber or red, and why.

Another host, other parameters and another unit are red and refuse the verdict.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from benchmarks.analysis.comparability import (
    Comparability,
    Difference,
    MeasuredCase,
    NearCase,
    comparability,
    differences,
    nearest,
    one_at_a_time,
    other_os,
)
from benchmarks.analysis.intervals import NO_WARNINGS, Rollups, log_ratio_intervals
from benchmarks.comparing.row import Against
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Case, Cell, Efficiency, Host, Study, System
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence, joined

ALWAYS_STUDIED = ("hypervisor", "hypervisor_version", "virtualization")
OPTIONS_OF_FACTORS = {
    "amd_v": "hw_virt",
    "vt_x": "hw_virt",
    "amd_v_vt_x": "hw_virt",
    "hardware_virtualization": "hw_virt",
    "vmware_tools": "guest_tools",
    "pv_drivers": "guest_tools",
    "guest": "guest_os",
    "os": "guest_os",
    "bits": "guest_bits",
}
# States of cells whose nearest counterpart is another measurement: so says the reason.
NEAR = frozenset({Efficiency.State.OTHER_PARAMETERS, Efficiency.State.UNIT_MISMATCH})
# What a native Windows ran above is in its baseline: no guest is like it in that.
BENEATH = {"hypervisor beneath": "Windows' own (VBS)"}
RUNS = ("n", "mean", "m2", "decimals")
PLACE = ("scenario", "vms", "slot", "load", "case_id")
Circumstances = tuple[object, ...]
CONFIDENCE: Final = 0.95
MOST_NAMED: Final = 5


class Light(NamedTuple):
    """A pair's colour and the sentence beside it; both empty where there is no pair."""

    color: str = ""
    sentence: str = ""


NO_PAIR = Light()


@dataclass(frozen=True, slots=True)
class NativeRuns:
    """What two hosts ran natively alike, an entry a case, in the same order."""

    labels: Sequence[str]
    one: Rollups
    other: Rollups


@dataclass(frozen=True, slots=True)
class HostsCompared:
    """Whether two hosts count as alike; ``differing`` are their facts that do not."""

    is_alike: bool
    differing: tuple[Difference, ...]
    sentence: Sentence


@dataclass(frozen=True)
class ChosenSystem:
    """A baseline somebody chose, for its own study or for the study ``beside`` it."""

    study: Study
    system: System
    beside: Study | None = field(default=None, kw_only=True)

    @cached_property
    def hosts(self) -> Mapping[int, HostsCompared]:
        others = [self.beside] if self.beside else []
        return hosts_beside(self.study, self.system.host_id, *others)

    def is_refused(self, host_id: int) -> bool:
        """Whether a cell of another study ran on a machine that is not comparable."""
        hosts = self.hosts.get(host_id) if self.beside else None
        return hosts is not None and not hosts.is_alike

    def is_itself(self, system_id: int) -> bool:
        """Whether a cell of this system is one of those compared with."""
        return self.beside is None and system_id == self.system.pk

    @property
    def other_hosts(self) -> list[int]:
        return [pk for pk, compared in self.hosts.items() if not compared.is_alike]

    def near(self, case: Case, circumstances: Circumstances) -> NearCase | None:
        """Return what the system ran that is nearest to a case it did not run."""
        place = (case.pk, *circumstances)
        if place not in self._found:
            ran = self._cases.get(circumstances, ())
            self._found[place] = nearest(case.measured, ran)
        return self._found[place]

    def with_near_ones(self, cell_ids: list[int], states: list[str]) -> list[str]:
        """Return the states of cells, those that miss a counterpart by the near one."""
        missing = Efficiency.State.MISSING
        wanted = [pk for pk, it in zip(cell_ids, states, strict=True) if it == missing]
        if not wanted:
            return states
        rows = list(Cell.objects.filter(pk__in=wanted).values_list("pk", *PLACE))
        cases = Case.objects.in_bulk({row[-1] for row in rows})
        kinds = {
            pk: near.kind
            for pk, *circumstances, case_id in rows
            if (near := self.near(cases[case_id], tuple(circumstances)))
        }
        pairs = zip(cell_ids, states, strict=True)
        return [kinds.get(pk, state) for pk, state in pairs]

    @cached_property
    def _found(self) -> dict[Circumstances, NearCase | None]:
        return {}

    @cached_property
    def _cases(self) -> Mapping[Circumstances, list[MeasuredCase]]:
        cells = Cell.objects.filter(study=self.study, system=self.system, n__gt=0)
        rows = list(cells.order_by("case_id").values_list(*PLACE))
        cases = Case.objects.in_bulk({row[-1] for row in rows})
        measured = {pk: case.measured for pk, case in cases.items()}
        by_place: dict[Circumstances, list[MeasuredCase]] = {}
        for *circumstances, case_id in rows:
            by_place.setdefault(tuple(circumstances), []).append(measured[case_id])
        return by_place


@dataclass(frozen=True)
class Lights:
    """The cached lights of a study's pairs; ``chosen`` None: own baselines."""

    study: Study
    systems: Mapping[int, System]
    chosen: ChosenSystem | None = None
    _made: dict[tuple[int, int], Light] = field(default_factory=dict)

    def of(self, system_id: int, against: Against) -> Light:
        """Return the light of a cell by its system and what it was compared with."""
        if against.state in NEAR:
            return Light("red", against.reason)
        baseline_id = against.baseline_system_id
        if baseline_id is None or baseline_id not in self.systems:
            return NO_PAIR
        pair = (system_id, baseline_id)
        if pair not in self._made:
            own, other = (self.systems[pk] for pk in pair)
            if self.chosen is None:
                compared = beside_baseline(self.study, own, other)
            else:
                hosts = self.chosen.hosts.get(own.host_id)
                compared = systems_compared(
                    self.study, own, other, hosts, beside=self.chosen.study
                )
            self._made[pair] = Light(compared.light, compared.sentence)
        return self._made[pair]


def known_systems(
    systems: Iterable[System], others: Iterable[int | None]
) -> dict[int, System]:
    """Return systems by their ids, with further ones, which take a query if any."""
    known = {system.pk: system for system in systems}
    wanted = {pk for pk in others if pk} - known.keys()
    return {**known, **System.objects.in_bulk(wanted)} if wanted else known


def beside_baseline(
    study: Study,
    own: System,
    baseline: System,
    sent: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> Comparability:
    """Compare a system with its own baseline; ``sent`` are further facts of both.

    Another operating system than the host's is never what a study studies here.
    """
    is_own_os = own.guest_os.casefold() == baseline.guest_os.casefold()
    is_other_os = baseline.is_native and not is_own_os
    studied = studied_facts(study)
    one, other = facts_of_both(own, baseline, studied)
    if baseline.is_native_above_hypervisor:
        other = {**other, **BENEATH}
    compared = comparability(
        {**sent[0], **one},
        {**sent[1], **other},
        studied=studied - {"guest_os"} if is_other_os else studied,
    )
    if not is_other_os:
        return compared
    said = other_os(own.guest_os, baseline.guest_os)
    others = [fact for fact in compared.unwanted if fact.name != "guest_os"]
    sentence = joined([said, compared.sentence]) if others else said
    return Comparability("amber", compared.studied, compared.unwanted, sentence)


def systems_compared(
    study: Study,
    one: System,
    other: System,
    hosts: HostsCompared | None = None,
    *,
    beside: Study | None = None,
) -> Comparability:
    """Compare two systems by what was stated; at most one studied thing may differ.

    Of two studies only what both vary counts as studied.
    """
    studied = studied_facts(study)
    if beside is not None and beside != study:
        studied &= studied_facts(beside)
    compared = comparability(*facts_of_both(one, other, studied), studied=studied)
    compared = one_at_a_time(compared, ALWAYS_STUDIED)
    return beside_hosts(compared, hosts) if hosts else compared


def studied_facts(study: Study) -> frozenset[str]:
    """Return the facts that a study varies on purpose."""
    names = set(ALWAYS_STUDIED)
    for factor in study.factors:
        # "PV drivers (Windows)" is spelled pv_drivers among facts.
        plain = re.sub(r"\(.*?\)", "", factor).casefold()
        name = re.sub(r"\W+", "_", plain).strip("_")
        names.add(OPTIONS_OF_FACTORS.get(name, name))
    return frozenset(names)


def system_facts(system: System) -> dict[str, str]:
    """Return what a system was stated to be, without its host."""
    options = canonical_parameters(system.options)
    everything = {**system.stated, **options}
    return {name: str(value) for name, value in everything.items() if value}


def facts_of_both(
    one: System, other: System, studied: frozenset[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the stated facts of two systems that both kinds can have.

    A machine has no virtual processors, layers or guest memory to state.
    """
    own, others = system_facts(one), system_facts(other)
    if one.is_native == other.is_native:
        return own, others
    stated = studied.union(own if one.is_native else others)
    return _only(own, stated), _only(others, stated)


def _only(facts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name in names}


def hosts_beside(
    study: Study, host_id: int, *others: Study
) -> dict[int, HostsCompared]:
    """Compare one host with all others of these studies, in 1 or 2 queries."""
    studies = (study, *others)
    measured = Cell.objects.filter(study__in=studies, n__gt=0).values("system")
    systems = System.objects.filter(pk__in=measured).values("host")
    hosts = Host.objects.filter(pk__in=systems).in_bulk()
    if len(hosts) < 2 or host_id not in hosts:
        return {}
    own = hosts.pop(host_id)
    alike = [
        host.pk
        for host in hosts.values()
        if not host_differences(host.facts, own.facts)
    ]
    natives = _native_runs(studies, [own.pk, *alike]) if alike else {}
    return {
        host.pk: compare_hosts(
            (host.slug, own.slug),
            (host.facts, own.facts),
            _on_both(natives.get(host.pk, {}), natives.get(own.pk, {})),
            margin=study.equivalence_margin_percent / 100,
        )
        for host in hosts.values()
    }


# By place and case: the label and the runs of what ran natively on a host.
Natives = Mapping[tuple[object, ...], tuple[str, tuple[float, ...]]]


def _native_runs(
    studies: Collection[Study], host_ids: list[int]
) -> Mapping[int, Natives]:
    cells = Cell.objects.filter(
        study__in=studies,
        system__host__in=host_ids,
        system__hypervisor=NATIVE,
        n__gt=0,
    )
    places = ("case_id", "system__guest_os", "system__guest_bits", "scenario", "load")
    names = ("system__host_id", *places, "case__label", *RUNS)
    natives: dict[int, dict[tuple[object, ...], tuple[str, tuple[float, ...]]]] = {}
    for host, *place, label, n, mean, m2, decimals in cells.values_list(*names):
        runs = (n, mean, m2, float("nan") if decimals is None else 10.0**-decimals)
        natives.setdefault(host, {})[tuple(place)] = (label, runs)
    return natives


def _on_both(one: Natives, other: Natives) -> NativeRuns:
    """Return the cases that ran natively on both hosts."""
    shared = sorted(one.keys() & other.keys(), key=str)
    labels = [one[place][0] for place in shared]
    return NativeRuns(labels, _rollups(one, shared), _rollups(other, shared))


def _rollups(natives: Natives, places: Sequence[tuple[object, ...]]) -> Rollups:
    if not places:
        return Rollups.of([], [], [], [])
    return Rollups.of(*zip(*(natives[place][1] for place in places), strict=True))


def host_differences(
    one: Mapping[str, object], other: Mapping[str, object]
) -> tuple[Difference, ...]:
    """Return the facts that two hosts do not share; an empty text is not stated."""
    return differences(_texts(one), _texts(other))


@NO_WARNINGS
def compare_hosts(
    names: tuple[str, str],
    facts: tuple[Mapping[str, object], Mapping[str, object]],
    natives: NativeRuns | None = None,
    *,
    margin: float,
) -> HostsCompared:
    """Compare two machines by their stated facts and their native runs.

    Native runs agree if no case differs by more than the margin beyond its 95 %
    interval (Bonferroni over cases) and their geometric mean is within the margin.
    """
    named = {"one": names[0], "other": names[1]}
    differing = host_differences(*facts)
    if differing:
        listed = [fact.sentence for fact in differing[:MOST_NAMED]]
        more = len(differing) - MOST_NAMED
        rest = [Sentence("{n} more facts", n=more)] if more > 0 else []
        text = Sentence(
            "Different hosts, {one} / {other}: {facts}.",
            facts=joined([*listed, *rest], "; "),
            **named,
        )
    elif not _texts(facts[0]):
        text = Sentence(
            "Different hosts, {one} / {other}, of which no facts are stated.", **named
        )
    elif natives is None or not len(natives.labels):
        text = Sentence(
            "Different hosts, {one} / {other}: their facts are equal, but no "
            "benchmark was "
            "run natively on both.",
            **named,
        )
    elif (worst := _worst(natives, margin)) is None:
        text = Sentence(
            "Hosts {one} and {other} count as alike: their facts are equal, and so are "
            "their native runs of {n} benchmarks.",
            n=len(natives.labels),
            **named,
        )
        return HostsCompared(True, (), text)
    else:
        text = Sentence(
            "Different hosts, {one} / {other}: their facts are equal, but their native "
            "runs are not ({case}: {ratio:.3g}).",
            case=natives.labels[worst],
            ratio=float(natives.one.mean[worst] / natives.other.mean[worst]),
            **named,
        )
    return HostsCompared(False, differing or (Difference("host", *names),), text)


def beside_hosts(compared: Comparability, hosts: HostsCompared) -> Comparability:
    """Compare two systems on these hosts.

    Red, with the differences of the hosts, unless the hosts are alike.
    """
    if hosts.is_alike:
        return replace(compared, sentence=joined([compared.sentence, hosts.sentence]))
    unwanted = (*hosts.differing, *compared.unwanted)
    return replace(compared, light="red", unwanted=unwanted, sentence=hosts.sentence)


def _worst(natives: NativeRuns, margin: float) -> int | None:
    """Return the case that tells the two apart most; None where none does."""
    ratios = natives.one.mean / natives.other.mean
    # Readings of 0 on both sides are equal.
    is_equal = natives.one.mean == natives.other.mean
    distance = np.where(is_equal, 0.0, np.abs(np.log(ratios)))
    confidence = 1 - (1 - CONFIDENCE) / len(ratios)
    intervals = log_ratio_intervals(
        natives.one, natives.other, True, confidence=confidence
    )
    # Without an interval (a single run) the figures themselves have to agree.
    reach = np.nan_to_num(intervals.log_half_width, nan=0.0, posinf=0.0)
    beyond = np.nan_to_num(distance, nan=np.inf) - reach
    worst = int(np.argmax(beyond))
    together = float(np.mean(np.where(is_equal, 0.0, np.log(ratios))))
    is_apart = beyond[worst] > np.log1p(margin) or abs(together) > np.log1p(margin)
    return worst if is_apart else None


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    """Return facts as texts that can be compared; what is empty is not stated."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in facts.items()
        if value not in ("", None, [], {})
    }
