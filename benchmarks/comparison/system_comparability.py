"""Comparability of stored systems and machines with their baselines."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from benchmarks.analysis.cell_statistics import resolution
from benchmarks.analysis.comparability import (
    Comparability,
    Difference,
    compare_facts,
    differences,
    other_os_sentence,
    warn_on_several_changes,
)
from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    RunStatistics,
    log_ratio_intervals,
)
from benchmarks.analysis.nearest_case import MeasuredCase, NearCase, nearest_case
from benchmarks.comparison.comparison_row import BaselineComparison
from benchmarks.fingerprints import canonical_parameters
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Case, Cell, Efficiency, Host, Study, System
from benchmarks.sentences import Sentence, join_sentences, pluralized

ALWAYS_STUDIED = ("hypervisor", "hypervisor_version", "virtualization")
FACTOR_OPTIONS = {
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
# States of cells that have no baseline, only a similar native measurement.
NEAR_CASE_STATES = frozenset(
    {Efficiency.State.OTHER_PARAMETERS, Efficiency.State.UNIT_MISMATCH}
)
# A native Windows that runs on its own hypervisor.
NESTED_FACT = {"hypervisor beneath": "Windows' own (VBS)"}
RUN_STATISTICS_FIELDS = ("n", "mean", "m2", "decimals", "display_step")
CIRCUMSTANCE_FIELDS = ("scenario", "vms", "slot", "load", "case_id")
Circumstances = tuple[object, ...]
CONFIDENCE: Final = 0.95
MAX_LISTED_FACTS: Final = 5


class ComparabilityLevel(NamedTuple):
    rating: str = ""
    sentence: str = ""


ON_OTHER_MACHINES = (Efficiency.State.SAME_MODEL, Efficiency.State.SAME_CPU)
NO_COMPARABILITY = ComparabilityLevel()


@dataclass(frozen=True, slots=True)
class NativeRuns:
    """Statistics of native runs on two hosts, one entry per case that ran on both."""

    labels: Sequence[str]
    first: RunStatistics
    second: RunStatistics


@dataclass(frozen=True, slots=True)
class HostComparison:
    is_alike: bool
    differences: tuple[Difference, ...]
    sentence: Sentence


@dataclass(frozen=True)
class ReferenceSystem:
    """A system chosen as baseline, for its own study or for ``other_study``."""

    study: Study
    system: System
    other_study: Study | None = field(default=None, kw_only=True)
    host_cache: dict[int, Mapping[int, HostComparison]] = field(
        default_factory=dict, kw_only=True, compare=False
    )
    """By host; references of one study may share it."""

    @property
    def hosts(self) -> Mapping[int, HostComparison]:
        host_id = self.system.host_id
        if host_id not in self.host_cache:
            others = [self.other_study] if self.other_study else []
            self.host_cache[host_id] = compare_study_hosts(self.study, host_id, *others)
        return self.host_cache[host_id]

    def is_host_incomparable(self, host_id: int) -> bool:
        hosts = self.hosts.get(host_id) if self.other_study else None
        return hosts is not None and not hosts.is_alike

    def is_reference(self, system_id: int) -> bool:
        return self.other_study is None and system_id == self.system.pk

    @property
    def incomparable_hosts(self) -> list[int]:
        return [pk for pk, compared in self.hosts.items() if not compared.is_alike]

    def nearest_case(self, case: Case, circumstances: Circumstances) -> NearCase | None:
        key = (case.pk, *circumstances)
        if key not in self._nearest:
            candidates = self._cases.get(circumstances, ())
            self._nearest[key] = nearest_case(case.measured_case, candidates)
        return self._nearest[key]

    def with_near_case_states(
        self, cell_ids: list[int], states: Sequence[str]
    ) -> Sequence[str]:
        """Return ``states`` with "missing" replaced by the kind of the nearest case, if
        any.
        """
        missing = Efficiency.State.MISSING
        missing_ids = [
            pk for pk, state in zip(cell_ids, states, strict=True) if state == missing
        ]
        if not missing_ids:
            return states
        rows = list(
            Cell.objects.filter(pk__in=missing_ids).values_list(
                "pk", *CIRCUMSTANCE_FIELDS
            )
        )
        cases = Case.objects.in_bulk({row[-1] for row in rows})
        kinds = {
            pk: near.kind
            for pk, *circumstances, case_id in rows
            if (near := self.nearest_case(cases[case_id], tuple(circumstances)))
        }
        pairs = zip(cell_ids, states, strict=True)
        return [kinds.get(pk, state) for pk, state in pairs]

    @cached_property
    def _nearest(self) -> dict[Circumstances, NearCase | None]:
        return {}

    @cached_property
    def _cases(self) -> Mapping[Circumstances, list[MeasuredCase]]:
        cells = Cell.objects.filter(study=self.study, system=self.system, n__gt=0)
        rows = list(cells.order_by("case_id").values_list(*CIRCUMSTANCE_FIELDS))
        cases = Case.objects.in_bulk({row[-1] for row in rows})
        measured = {pk: case.measured_case for pk, case in cases.items()}
        by_circumstances: dict[Circumstances, list[MeasuredCase]] = {}
        for *circumstances, case_id in rows:
            by_circumstances.setdefault(tuple(circumstances), []).append(
                measured[case_id]
            )
        return by_circumstances


@dataclass(frozen=True)
class ComparabilityCache:
    study: Study
    systems: Mapping[int, System]
    reference: ReferenceSystem | None = None
    _levels: dict[tuple[int, int], ComparabilityLevel] = field(default_factory=dict)

    def level(
        self, system_id: int, comparison: BaselineComparison
    ) -> ComparabilityLevel:
        if comparison.state in NEAR_CASE_STATES:
            return ComparabilityLevel("none", comparison.reason)
        if comparison.state in ON_OTHER_MACHINES:
            return ComparabilityLevel("limited", comparison.reason)
        baseline_id = comparison.baseline_system_id
        if baseline_id is None or baseline_id not in self.systems:
            return NO_COMPARABILITY
        pair = (system_id, baseline_id)
        if pair not in self._levels:
            system, baseline = (self.systems[pk] for pk in pair)
            if self.reference is None:
                compared = compare_with_baseline(self.study, system, baseline)
            else:
                hosts = self.reference.hosts.get(system.host_id)
                compared = compare_systems(
                    self.study,
                    system,
                    baseline,
                    hosts,
                    other_study=self.reference.study,
                )
            self._levels[pair] = ComparabilityLevel(compared.rating, compared.sentence)
        return self._levels[pair]


def systems_by_id(
    systems: Iterable[System], others: Iterable[int | None]
) -> dict[int, System]:
    by_id = {system.pk: system for system in systems}
    missing = {pk for pk in others if pk} - by_id.keys()
    return {**by_id, **System.objects.in_bulk(missing)} if missing else by_id


def compare_with_baseline(
    study: Study,
    own: System,
    baseline: System,
    run_facts: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> Comparability:
    """Compare a system with its own baseline; ``run_facts`` are further facts of both.

    A native baseline with another OS limits the comparability even if the study varies
    the OS.
    """
    is_same_os = own.guest_os.casefold() == baseline.guest_os.casefold()
    is_cross_os = baseline.is_native and not is_same_os
    studied = studied_facts(study)
    own_facts, baseline_facts = common_facts(own, baseline, studied)
    if baseline.is_native_nested:
        baseline_facts = {**baseline_facts, **NESTED_FACT}
    compared = compare_facts(
        {**run_facts[0], **own_facts},
        {**run_facts[1], **baseline_facts},
        studied_names=studied - {"guest_os"} if is_cross_os else studied,
    )
    if not is_cross_os:
        return compared
    os_sentence = other_os_sentence(own.guest_os, baseline.guest_os)
    other_facts = [fact for fact in compared.unwanted if fact.name != "guest_os"]
    sentence = (
        join_sentences([os_sentence, compared.sentence]) if other_facts else os_sentence
    )
    return Comparability("limited", compared.studied, compared.unwanted, sentence)


def compare_systems(
    study: Study,
    one: System,
    other: System,
    hosts: HostComparison | None = None,
    *,
    other_study: Study | None = None,
) -> Comparability:
    """Compare two systems by their reported facts.

    Comparability is full only if at most one studied factor differs. With two studies,
    both must vary it.
    """
    studied = studied_facts(study)
    if other_study is not None and other_study != study:
        studied &= studied_facts(other_study)
    compared = compare_facts(*common_facts(one, other, studied), studied_names=studied)
    compared = warn_on_several_changes(compared, ALWAYS_STUDIED)
    return with_host_comparison(compared, hosts) if hosts else compared


def studied_facts(study: Study) -> frozenset[str]:
    names = set(ALWAYS_STUDIED)
    for factor in study.factors:
        # "PV drivers (Windows)" is spelled pv_drivers among facts.
        plain = re.sub(r"\(.*?\)", "", factor).casefold()
        name = re.sub(r"\W+", "_", plain).strip("_")
        names.add(FACTOR_OPTIONS.get(name, name))
    return frozenset(names)


def system_facts(system: System) -> dict[str, str]:
    options = canonical_parameters(system.options)
    facts = {**system.stated_fields, **options}
    return {name: str(value) for name, value in facts.items() if value}


def common_facts(
    one: System, other: System, studied: frozenset[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the reported facts of two systems.

    If only one is native, these are the facts that it reports and the studied ones.
    """
    first, second = system_facts(one), system_facts(other)
    if one.is_native == other.is_native:
        return first, second
    stated = studied.union(first if one.is_native else second)
    return _select_facts(first, stated), _select_facts(second, stated)


def _select_facts(facts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name in names}


def compare_study_hosts(
    study: Study, host_id: int, *others: Study
) -> dict[int, HostComparison]:
    """Compare one host with all others of these studies; the keys are host ids."""
    studies = (study, *others)
    measured = Cell.objects.filter(study__in=studies, n__gt=0).values("system")
    systems = System.objects.filter(pk__in=measured).values("host")
    hosts = Host.objects.filter(pk__in=systems).in_bulk()
    if len(hosts) < 2 or host_id not in hosts:
        return {}
    reference = hosts.pop(host_id)
    similar = [
        host.pk
        for host in hosts.values()
        if not host_differences(host.facts, reference.facts)
    ]
    natives = _native_runs(studies, [reference.pk, *similar]) if similar else {}
    return {
        host.pk: compare_hosts(
            (host.slug, reference.slug),
            (host.facts, reference.facts),
            _shared_native_runs(
                natives.get(host.pk, {}), natives.get(reference.pk, {})
            ),
            margin=study.equivalence_margin_percent / 100,
        )
        for host in hosts.values()
    }


# Label and statistics of native cells by case and conditions.
NativeResults = Mapping[tuple[object, ...], tuple[str, tuple[float, ...]]]


def _native_runs(
    studies: Collection[Study], host_ids: list[int]
) -> Mapping[int, NativeResults]:
    cells = Cell.objects.filter(
        study__in=studies,
        system__host__in=host_ids,
        system__hypervisor=NATIVE,
        n__gt=0,
    )
    condition_fields = (
        "case_id",
        "system__guest_os",
        "system__guest_bits",
        "scenario",
        "load",
    )
    names = (
        "system__host_id",
        *condition_fields,
        "case__label",
        *RUN_STATISTICS_FIELDS,
    )
    natives: dict[int, dict[tuple[object, ...], tuple[str, tuple[float, ...]]]] = {}
    for host, *conditions, label, n, mean, m2, decimals, step in cells.values_list(
        *names
    ):
        runs = (n, mean, m2, resolution(decimals, step) or float("nan"))
        natives.setdefault(host, {})[tuple(conditions)] = (label, runs)
    return natives


def _shared_native_runs(one: NativeResults, other: NativeResults) -> NativeRuns:
    shared = sorted(one.keys() & other.keys(), key=str)
    labels = [one[key][0] for key in shared]
    return NativeRuns(
        labels, _run_statistics(one, shared), _run_statistics(other, shared)
    )


def _run_statistics(
    natives: NativeResults, keys: Sequence[tuple[object, ...]]
) -> RunStatistics:
    if not keys:
        return RunStatistics.from_sums([], [], [], [])
    return RunStatistics.from_sums(
        *zip(*(natives[key][1] for key in keys), strict=True)
    )


def host_differences(
    one: Mapping[str, object], other: Mapping[str, object]
) -> tuple[Difference, ...]:
    return differences(_texts(one), _texts(other))


@NO_WARNINGS
def compare_hosts(
    names: tuple[str, str],
    facts: tuple[Mapping[str, object], Mapping[str, object]],
    natives: NativeRuns | None = None,
    *,
    margin: float,
) -> HostComparison:
    """See docs/method.md, How far two sides may be compared."""
    host_names = {"one": names[0], "other": names[1]}
    differing = host_differences(*facts)
    if differing:
        listed = [fact.sentence for fact in differing[:MAX_LISTED_FACTS]]
        more = len(differing) - MAX_LISTED_FACTS
        rest = (
            [pluralized("{n} more fact", "{n} more facts", n=more)] if more > 0 else []
        )
        text = Sentence(
            "Different hosts ({one}, {other}): {facts}.",
            facts=join_sentences([*listed, *rest], "; "),
            **host_names,
        )
    elif not _texts(facts[0]):
        text = Sentence(
            "Different hosts ({one}, {other}), and no facts about them are reported.",
            **host_names,
        )
    elif natives is None or not len(natives.labels):
        text = Sentence(
            "Different hosts ({one}, {other}): their facts are equal, but no "
            "benchmark was run natively on both.",
            **host_names,
        )
    elif (worst := _largest_difference(natives, margin)) is None:
        text = pluralized(
            "Hosts {one} and {other} are treated as equal: their facts and their "
            "native results in {n} benchmark agree.",
            "Hosts {one} and {other} are treated as equal: their facts and their "
            "native results in {n} benchmarks agree.",
            n=len(natives.labels),
            **host_names,
        )
        return HostComparison(True, (), text)
    else:
        text = Sentence(
            "Different hosts ({one}, {other}): their facts are equal, but their "
            "native results differ ({case}: ratio {ratio:.3g}).",
            case=natives.labels[worst],
            ratio=float(natives.first.mean[worst] / natives.second.mean[worst]),
            **host_names,
        )
    return HostComparison(False, differing or (Difference("host", *names),), text)


def with_host_comparison(
    comparability: Comparability, hosts: HostComparison
) -> Comparability:
    """Add the comparison of the hosts; hosts that do not count as equal rate "none"."""
    if hosts.is_alike:
        return replace(
            comparability,
            sentence=join_sentences([comparability.sentence, hosts.sentence]),
        )
    unwanted = (*hosts.differences, *comparability.unwanted)
    return replace(
        comparability, rating="none", unwanted=unwanted, sentence=hosts.sentence
    )


def _largest_difference(natives: NativeRuns, margin: float) -> int | None:
    ratios = natives.first.mean / natives.second.mean
    # Readings of 0 on both sides are equal.
    is_equal = natives.first.mean == natives.second.mean
    distance = np.where(is_equal, 0.0, np.abs(np.log(ratios)))
    confidence = 1 - (1 - CONFIDENCE) / len(ratios)
    intervals = log_ratio_intervals(
        natives.first, natives.second, True, confidence=confidence
    )
    half_width = np.nan_to_num(intervals.log_half_width, nan=0.0, posinf=0.0)
    beyond = np.nan_to_num(distance, nan=np.inf) - half_width
    worst = int(np.argmax(beyond))
    mean_log_ratio = float(np.mean(np.where(is_equal, 0.0, np.log(ratios))))
    is_apart = beyond[worst] > np.log1p(margin) or abs(mean_log_ratio) > np.log1p(
        margin
    )
    return worst if is_apart else None


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in facts.items()
        if value not in ("", None, [], {})
    }
