"""What a study comes to on pages that show all of them: kept, renewed by the sweeper.

Counted from all its runs, cells and flags, which takes the longer the more there are.
So it is stored with the version of what it was counted from (`data_versions`): read
while that is the version, and counted anew where it is not. No number is ever old: an
upload makes its study's rollup one that nobody reads, until the sweeper counts again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Floor, Ln

from benchmarks import sight
from benchmarks.comparing.primaries import primary_ids
from benchmarks.models import Case, Cell, Efficiency, Flag, Run, Study, StudyRollup
from benchmarks.studies.data_versions import (
    LeantOn,
    RollupSums,
    leant_on_by,
    rollup_sums,
)

# Lines closer than one part in this many are drawn as one: their number, and so what is
# kept, stays small however many cells there are.
STEPS_PER_E: Final = 50
# What a band is of.
BAND: Final = ("case__component", "platform", "hypervisor_version")
# Another one whenever what is counted, or how, becomes another.
FORMAT: Final = 1
AT_MOST_S: Final = 2.0


class Bin(NamedTuple):
    """How many pairs of a band lie at one step; a flag doubts some of them."""

    component: str
    platform: str
    version: str
    step: float
    pairs: int
    lowest: float
    highest: float
    doubted: int


@dataclass(frozen=True)
class Rollup:
    """A study's numbers (as in `studies.lists.Tally`), names and bins."""

    numbers: Mapping[str, int]
    hypervisors: tuple[str, ...]
    tools: tuple[str, ...]
    bins: tuple[tuple[Any, ...], ...]


def counted_studies(ids: Collection[int]) -> dict[int, Rollup]:
    """Return what these studies come to now, in a fixed number of queries.

    Those to which nothing has happened since they were counted are not counted again.
    """
    sums = rollup_sums()
    found = {
        row.study_id: Rollup(**_thawed(row))
        for row in StudyRollup.objects.filter(study__in=list(ids))
        if row.version == _version(sums, row.leant_on)
    }
    if changed := [pk for pk in ids if pk not in found]:
        # The same for every reader, as what the sweeper stores.
        with sight.everything():
            found |= _count(changed)
    return found


class Renewal:
    """Counts studies anew that were changed, and to which nothing happens any more."""

    def __init__(self) -> None:
        self.seen: RollupSums | None = None
        self.is_done = False

    def __call__(self) -> int:
        """Renew those that did not change since the last time; return how many.

        For about two seconds at most: the sweeper has other duties.
        """
        before, sums = self.seen, rollup_sums()
        self.seen = sums
        if before is None or (before == sums and self.is_done):
            return 0
        end, renewed, are_left = time.monotonic() + AT_MOST_S, 0, False
        for pk in _outdated(sums):
            is_quiet = before.of_study.get(pk) == sums.of_study.get(pk)
            if not is_quiet or time.monotonic() > end:
                are_left = True
                continue
            renewed += _renew(pk)
        self.is_done = not are_left
        return renewed


def _outdated(sums: RollupSums) -> list[int]:
    rows = StudyRollup.objects.values_list("study", "version", "leant_on")
    current = {
        pk for pk, version, leant_on in rows if version == _version(sums, leant_on)
    }
    ids = Study.objects.order_by("pk").values_list("pk", flat=True)
    return [pk for pk in ids if pk not in current]


def _renew(pk: int) -> bool:
    # Before anything is counted: what is committed meanwhile makes another version.
    sums, leant_on = rollup_sums(), leant_on_by(pk)
    counted = _count([pk])[pk]
    if not Study.objects.filter(pk=pk).exists():
        return False
    StudyRollup.objects.update_or_create(
        study_id=pk,
        defaults={
            "version": _version(sums, leant_on),
            "leant_on": leant_on,
            "counts": {
                **counted.numbers,
                "hypervisors": counted.hypervisors,
                "tools": counted.tools,
            },
            "bins": counted.bins,
        },
    )
    return True


def _version(sums: RollupSums, leant_on: LeantOn) -> str:
    return f"{settings.VERSION} {FORMAT} {sums.version(leant_on)}"


def _thawed(row: StudyRollup) -> dict[str, Any]:
    numbers = dict(row.counts)
    return {
        "hypervisors": tuple(numbers.pop("hypervisors")),
        "tools": tuple(numbers.pop("tools")),
        "numbers": numbers,
        "bins": tuple(tuple(each) for each in row.bins),
    }


def _count(ids: Collection[int]) -> dict[int, Rollup]:
    numbers = numbers_of(ids)
    hypervisors: dict[int, set[str]] = {pk: set() for pk in ids}
    tools: dict[int, set[str]] = {pk: set() for pk in ids}
    names = ("study", "system__hypervisor", "case__tool")
    rows = Cell.objects.filter(study__in=list(ids)).values_list(*names)
    for study_id, hypervisor, tool in rows.distinct().order_by():
        hypervisors[study_id].add(hypervisor)
        tools[study_id].add(tool)
    bins: dict[int, list[tuple[Any, ...]]] = {pk: [] for pk in ids}
    for row in _binned_pairs(ids):
        bins[row.pop("study")].append(tuple(row.values()))
    return {
        pk: Rollup(
            numbers=numbers[pk],
            hypervisors=tuple(sorted(hypervisors[pk])),
            tools=tuple(sorted(tools[pk])),
            bins=tuple(bins[pk]),
        )
        for pk in ids
    }


def numbers_of(ids: Collection[int]) -> dict[int, dict[str, int]]:
    """Count the rows of these studies, in three queries; what there is none of is left
    out."""
    found: dict[int, dict[str, int]] = {pk: {} for pk in ids}
    for row in run_tallies(ids):
        found[row.pop("study")] |= row
    cells = Cell.objects.filter(study__in=list(ids)).values("study").order_by("study")
    for row in cells.annotate(
        cells=Count("pk"),
        systems=Count("system", distinct=True),
        compared=Count("pk", filter=Q(efficiency__ratio__isnull=False)),
    ):
        found[row.pop("study")] |= row
    # In a query of their own: joined to the cells they would multiply the counts.
    flags = Flag.objects.current().filter(study__in=list(ids), status=Flag.Status.OPEN)
    for row in flags.values("study").order_by("study").annotate(flags=Count("pk")):
        found[row.pop("study")] |= row
    return found


def run_tallies(ids: Collection[int]) -> QuerySet[Run, dict[str, Any]]:
    """Return how many runs each of some studies has, and how far they are."""
    status = Run.Status
    rows = Run.objects.filter(study__in=list(ids)).values("study").order_by("study")
    return rows.annotate(
        runs=Count("pk"),
        waiting=Count("pk", filter=Q(status=status.RECEIVED)),
        rejected=Count("pk", filter=Q(status=status.REJECTED)),
        quarantined=Count("pk", filter=Q(status=status.QUARANTINED)),
    )


def _binned_pairs(ids: Collection[int]) -> QuerySet[Cell, dict[str, Any]]:
    pairs = Cell.objects.filter(
        study__in=list(ids),
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__ratio__gt=0,
        shape_codes="",
        efficiency__baseline__shape_codes="",
        scenario="single",
    )
    # What a processor emulated in software costs is not what a hypervisor costs.
    pairs = pairs.exclude(system__is_emulated=True)
    counted = _primary(pairs)
    # Not rounded: PostgreSQL would make decimals of a thousand digits of them first.
    step = Floor(Ln("efficiency__ratio") * STEPS_PER_E + 0.5)
    named = counted.annotate(
        platform=F("system__hypervisor"),
        hypervisor_version=F("system__hypervisor_version"),
        step=step,
    )
    # A cell's own study says what is doubtful of it: a rollup's version counts that.
    links = Flag.cells.through._default_manager.filter(flag__study=F("cell__study"))
    doubted = links.filter(flag__in=Flag.objects.withholding()).values("cell")
    is_doubted = Q(pk__in=doubted) | Q(efficiency__baseline__in=doubted)
    return (
        named.values("study", *BAND, "step")
        .annotate(
            pairs=Count("pk"),
            lowest=Min("efficiency__ratio"),
            highest=Max("efficiency__ratio"),
            doubted=Count("pk", filter=is_doubted),
        )
        # `groupby` needs the rows of a group side by side, and a band's ends are its
        # first and its last step.
        .order_by("study", *BAND, "step")
    )


def _primary(pairs: QuerySet[Cell]) -> QuerySet[Cell]:
    """Leave out what another case of the same study implies: it is no second pair."""
    measured = defaultdict(set)
    for study, case in pairs.values_list("study_id", "case_id").distinct():
        measured[study].add(case)
    cases = Case.objects.in_bulk(set().union(*measured.values()))
    # Studies measure the same few sets of cases.
    studies = defaultdict(list)
    for study, ids in measured.items():
        implied = frozenset(ids) - primary_ids({pk: cases[pk] for pk in ids})
        studies[implied].append(study)
    for implied, measuring in studies.items():
        if implied:
            pairs = pairs.exclude(study__in=measuring, case__in=implied)
    return pairs
