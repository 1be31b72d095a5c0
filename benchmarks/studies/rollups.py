"""Numbers of studies for pages that show all of them, stored with their version.

A stored rollup is used while its version (`data_versions`) is current; the sweeper
renews it, and until then it is counted on request.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Floor, Ln

from benchmarks import sight
from benchmarks.comparing.verdicts import primary_ids
from benchmarks.models import (
    Case,
    Cell,
    Efficiency,
    Flag,
    Run,
    Study,
    StudyRollup,
    System,
)
from benchmarks.studies.data_versions import (
    LeantOn,
    RollupSums,
    leant_on_by,
    rollup_sums,
)
from benchmarks.viewer import Viewer

# Closer lines are drawn as one, so that few are stored.
STEPS_PER_E: Final = 50
# What a band is of.
BAND: Final = ("case__component", "platform", "hypervisor_version")
# Another one whenever what is counted, or how, becomes another.
FORMAT: Final = 2
AT_MOST_S: Final = 2.0
# The reference studies that a first visit is led through.
XEN, ESXI, DISK = "lmu-2010-xen", "lmu-2010-esxi", "inqbus-2008-io"
LED_THROUGH: Final = (XEN, ESXI, DISK)
EXAMPLES: Final = {
    "memory": (XEN, "memory"),
    "single_run": (XEN, "single_run"),
    "settings": (ESXI, "network"),
    "mistake": (ESXI, "mistake"),
    "bimodal": (DISK, "bimodal"),
    "report": (XEN, "anything"),
}
"""What a first visit is shown: in which study, at which of its `Rollup.places`."""
Examples: TypeAlias = dict[str, tuple[Study, int]]
"""Names of `EXAMPLES` with their study and the id of a cell or flag of it."""
_STUDY, _CELL, _RUN, _FLAG = (
    model._meta.db_table for model in (Study, Cell, Run, Flag)
)
COUNTED: Final = (
    *("cells", "systems", "compared"),
    *("runs", "waiting", "rejected", "quarantined", "flags"),
)
NUMBERS = f"""
    SELECT study.id, cell.*, run.*, flag.*
    FROM {_STUDY} AS study
    CROSS JOIN LATERAL (
        SELECT count(*), count(DISTINCT cell.system_id), count(against.ratio)
        FROM {_CELL} AS cell
        LEFT JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id
        WHERE cell.study_id = study.id
    ) AS cell
    CROSS JOIN LATERAL (
        SELECT count(*), count(*) FILTER (WHERE status = '{Run.Status.RECEIVED}'),
               count(*) FILTER (WHERE status = '{Run.Status.REJECTED}'),
               count(*) FILTER (WHERE status = '{Run.Status.QUARANTINED}')
        FROM {_RUN} AS run WHERE run.study_id = study.id
    ) AS run
    CROSS JOIN LATERAL (
        SELECT count(*) FROM {_FLAG} AS flag
        WHERE flag.study_id = study.id AND flag.gone_at IS NULL
          AND flag.status = '{Flag.Status.OPEN}'
    ) AS flag
    WHERE study.id = ANY(%s)
"""
NAMES = f"""
    SELECT study.id, study.slug, ARRAY(
        SELECT DISTINCT system.hypervisor
        FROM {_CELL} AS cell JOIN {System._meta.db_table} AS system
          ON system.id = cell.system_id
        WHERE cell.study_id = study.id
    ), ARRAY(
        SELECT DISTINCT measured.tool
        FROM {_CELL} AS cell JOIN {Case._meta.db_table} AS measured
          ON measured.id = cell.case_id
        WHERE cell.study_id = study.id
    )
    FROM {_STUDY} AS study WHERE study.id = ANY(%s)
"""


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
    """A study's numbers (as in `studies.lists.Tally`), names and bins.

    ``places`` are cells and flags for `EXAMPLES`; 0: there is none.
    """

    numbers: Mapping[str, int]
    hypervisors: tuple[str, ...]
    tools: tuple[str, ...]
    bins: tuple[tuple[Any, ...], ...]
    places: Mapping[str, int]


def counted_studies(ids: Collection[int]) -> dict[int, Rollup]:
    """Return current rollups, counting outdated ones, in a fixed number of queries."""
    sums = rollup_sums()
    found = {}
    for row in StudyRollup.objects.filter(study__in=list(ids)):
        if row.version == _version(sums, row.leant_on):
            numbers = dict(row.counts)
            found[row.study_id] = Rollup(
                hypervisors=tuple(numbers.pop("hypervisors")),
                tools=tuple(numbers.pop("tools")),
                places=numbers.pop("places"),
                numbers=numbers,
                bins=tuple(tuple(each) for each in row.bins),
            )
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
        """Renew quiet outdated rollups for about two seconds; return how many."""
        before, sums = self.seen, rollup_sums()
        self.seen = sums
        if before is None or (before == sums and self.is_done):
            return 0
        end, renewed, are_left = time.monotonic() + AT_MOST_S, 0, False
        rows = StudyRollup.objects.values_list("study", "version", "leant_on")
        current = {
            pk for pk, version, leant_on in rows if version == _version(sums, leant_on)
        }
        ids = Study.objects.order_by("pk").values_list("pk", flat=True)
        for pk in ids:
            if pk in current:
                continue
            is_quiet = before.of_study.get(pk) == sums.of_study.get(pk)
            if not is_quiet or time.monotonic() > end:
                are_left = True
                continue
            renewed += _renew(pk)
        self.is_done = not are_left
        return renewed


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
                "places": counted.places,
            },
            "bins": counted.bins,
        },
    )
    return True


def _version(sums: RollupSums, leant_on: LeantOn) -> str:
    return f"{settings.VERSION} {FORMAT} {sums.version(leant_on)}"


def _count(ids: Collection[int]) -> dict[int, Rollup]:
    numbers = numbers_of(ids)
    bins: dict[int, list[tuple[Any, ...]]] = {pk: [] for pk in ids}
    for row in _binned_pairs(ids):
        bins[row.pop("study")].append(tuple(row.values()))
    counted = {}
    named = _rows(NAMES, ids)
    for pk in ids:
        slug, hypervisors, tools = named.get(pk, ("", (), ()))
        counted[pk] = Rollup(
            numbers=numbers[pk],
            hypervisors=tuple(sorted(hypervisors)),
            tools=tuple(sorted(tools)),
            bins=tuple(bins[pk]),
            places=_places(pk) if slug in LED_THROUGH else {},
        )
    return counted


def numbers_of(ids: Collection[int]) -> dict[int, dict[str, int]]:
    counted = {
        pk: dict(zip(COUNTED, numbers, strict=True))
        for pk, numbers in _rows(NUMBERS, ids).items()
    }
    return {pk: counted.get(pk, {}) for pk in ids}


def _rows(statement: str, ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(ids)])
        return {pk: tuple(rest) for pk, *rest in cursor.fetchall()}


def run_tallies(ids: Collection[int]) -> QuerySet[Run, dict[str, Any]]:
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
        # `groupby` needs sorted rows.
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


def _places(study_id: int) -> dict[str, int]:
    cells = Cell.objects.filter(study=study_id, n__gt=0).order_by("pk")
    flags = Flag.objects.withholding().filter(study=study_id)
    doubted = Flag.cells.through._default_manager.filter(flag__in=flags).values("cell")
    # Ratios of two single runs, what looks most like a loss first.
    single_runs = cells.exclude(pk__in=doubted).filter(
        n=1,
        scenario="single",
        case__component="CPU",
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__baseline_n=1,
        efficiency__ratio__lt=1,
    )
    found: dict[str, QuerySet[Any]] = {
        "anything": cells,
        "memory": cells.filter(case__component="memory"),
        "network": cells.filter(case__component="network"),
        "single_run": single_runs.order_by("efficiency__ratio"),
        "bimodal": cells.filter(shape_codes__contains="bimodal"),
        "mistake": flags.filter(rule="unit-slip").order_by("pk"),
    }
    return {
        name: rows.values_list("pk", flat=True).first() or 0
        for name, rows in found.items()
    }


def visible_examples(viewer: Viewer) -> Examples:
    """Return what a viewer can be shown on a first visit."""
    visible = Study.objects.visible_to(viewer).filter(slug__in=LED_THROUGH)
    studies = list(visible.select_related("lab"))
    rollups = counted_studies([study.pk for study in studies])
    return examples((study, rollups[study.pk].places) for study in studies)


def examples(studies: Iterable[tuple[Study, Mapping[str, int]]]) -> Examples:
    """Return what these studies have to show, given the places of each."""
    known = {study.slug: (study, places) for study, places in studies}
    return {
        name: (known[slug][0], pk)
        for name, (slug, place) in EXAMPLES.items()
        if slug in known and (pk := known[slug][1].get(place))
    }
