"""Stored counts per study for pages that show all studies.

Rollups with an outdated version (`data_versions`) are counted on each request, until
the sweeper renews them.
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

from benchmarks import rls
from benchmarks.comparison.study_verdicts import primary_case_ids
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
    RollupBaselines,
    RollupChangeCounts,
    rollup_baseline_studies,
    rollup_change_counts,
)
from benchmarks.viewer import Viewer

# Bins per factor of e. Ratios in the same bin are drawn as one line.
BINS_PER_E: Final = 50
BIN_FIELDS: Final = ("case__component", "platform", "hypervisor_version")
# Increase when the content changes.
ROLLUP_FORMAT: Final = 3
MAX_RENEWAL_S: Final = 2.0
XEN_SLUG, ESXI_SLUG, DISK_SLUG = "lmu-2010-xen", "lmu-2010-esxi", "inqbus-2008-io"
TOUR_STUDIES: Final = (XEN_SLUG, ESXI_SLUG, DISK_SLUG)
TOUR_EXAMPLES: Final = {
    "memory": (XEN_SLUG, "memory"),
    "single_run": (XEN_SLUG, "single_run"),
    "settings": (ESXI_SLUG, "network"),
    "mistake": (ESXI_SLUG, "mistake"),
    "bimodal": (DISK_SLUG, "bimodal"),
    "report": (XEN_SLUG, "anything"),
}
"""Study and key in `Rollup.example_ids`, by step of the tour."""
TourExamples: TypeAlias = dict[str, tuple[Study, int]]
"""Study and id of a cell or flag, by step of the tour."""
_STUDY, _CELL, _RUN, _FLAG = (
    model._meta.db_table for model in (Study, Cell, Run, Flag)
)
COUNT_FIELDS: Final = (
    *("cells", "systems", "compared_cells"),
    *("runs", "waiting_runs", "rejected_runs", "quarantined_runs", "open_flags"),
)
STUDY_COUNTS_SQL = f"""
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
        WHERE flag.study_id = study.id AND flag.resolved_at IS NULL
          AND flag.status = '{Flag.Status.OPEN}'
    ) AS flag
    WHERE study.id = ANY(%s)
"""
STUDY_NAMES_SQL = f"""
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


class RatioBin(NamedTuple):
    """A bin of cells of a platform with similar ratios: all (``pairs``) and flagged
    ones.

    ``step`` is ln(ratio) times `BINS_PER_E`, rounded.
    """

    component: str
    platform: str
    version: str
    step: float
    pairs: int
    lowest: float
    highest: float
    flagged: int


@dataclass(frozen=True)
class Rollup:
    """The stored counts of a study (see `studies.overview.StudyCounts`), names and
    bins.

    ``example_ids`` are cells and flags for `TOUR_EXAMPLES`, 0 without an example.
    """

    counts: Mapping[str, int]
    hypervisors: tuple[str, ...]
    tools: tuple[str, ...]
    bins: tuple[tuple[Any, ...], ...]
    example_ids: Mapping[str, int]


def current_rollups(ids: Collection[int]) -> dict[int, Rollup]:
    """Return rollups by study; count outdated ones, in a fixed number of queries."""
    sums = rollup_change_counts()
    rollups = {}
    for row in StudyRollup.objects.filter(study__in=list(ids)):
        if row.data_version == _version(sums, row.baseline_studies):
            numbers = dict(row.counts)
            rollups[row.study_id] = Rollup(
                hypervisors=tuple(numbers.pop("hypervisors")),
                tools=tuple(numbers.pop("tools")),
                example_ids=numbers.pop("places"),
                counts=numbers,
                bins=tuple(tuple(bin_) for bin_ in row.bins),
            )
    if changed := [pk for pk in ids if pk not in rollups]:
        # Rollups are the same for all readers.
        with rls.allow_all():
            rollups |= _count(changed)
    return rollups


class RollupRenewal:
    """Renewal of outdated rollups, except of studies that are just being changed."""

    def __init__(self) -> None:
        self.last_counts: RollupChangeCounts | None = None
        self.is_done = False

    def __call__(self) -> int:
        """Stop after about two seconds; return the number of renewed rollups."""
        previous, sums = self.last_counts, rollup_change_counts()
        self.last_counts = sums
        if previous is None or (previous == sums and self.is_done):
            return 0
        end, renewed, has_more = time.monotonic() + MAX_RENEWAL_S, 0, False
        rows = StudyRollup.objects.values_list(
            "study", "data_version", "baseline_studies"
        )
        current = {
            pk
            for pk, version, baselines in rows
            if version == _version(sums, baselines)
        }
        ids = Study.objects.order_by("pk").values_list("pk", flat=True)
        for pk in ids:
            if pk in current:
                continue
            is_quiet = previous.by_study.get(pk) == sums.by_study.get(pk)
            if not is_quiet or time.monotonic() > end:
                has_more = True
                continue
            renewed += _renew(pk)
        self.is_done = not has_more
        return renewed


def _renew(pk: int) -> bool:
    # Read before counting, so that later commits make the rollup outdated.
    sums, baselines = rollup_change_counts(), rollup_baseline_studies(pk)
    counted = _count([pk])[pk]
    if not Study.objects.filter(pk=pk).exists():
        return False
    StudyRollup.objects.update_or_create(
        study_id=pk,
        defaults={
            "data_version": _version(sums, baselines),
            "baseline_studies": baselines,
            "counts": {
                **counted.counts,
                "hypervisors": counted.hypervisors,
                "tools": counted.tools,
                "places": counted.example_ids,
            },
            "bins": counted.bins,
        },
    )
    return True


def _version(sums: RollupChangeCounts, baseline_studies: RollupBaselines) -> str:
    return f"{settings.VERSION} {ROLLUP_FORMAT} {sums.version(baseline_studies)}"


def _count(ids: Collection[int]) -> dict[int, Rollup]:
    numbers = rollup_counts(ids)
    bins: dict[int, list[tuple[Any, ...]]] = {pk: [] for pk in ids}
    for row in _binned_pairs(ids):
        bins[row.pop("study")].append(tuple(row.values()))
    counted = {}
    names = _rows(STUDY_NAMES_SQL, ids)
    for pk in ids:
        slug, hypervisors, tools = names.get(pk, ("", (), ()))
        counted[pk] = Rollup(
            counts=numbers[pk],
            hypervisors=tuple(sorted(hypervisors)),
            tools=tuple(sorted(tools)),
            bins=tuple(bins[pk]),
            example_ids=_example_ids(pk) if slug in TOUR_STUDIES else {},
        )
    return counted


def rollup_counts(ids: Collection[int]) -> dict[int, dict[str, int]]:
    counted = {
        pk: dict(zip(COUNT_FIELDS, numbers, strict=True))
        for pk, numbers in _rows(STUDY_COUNTS_SQL, ids).items()
    }
    return {pk: counted.get(pk, {}) for pk in ids}


def _rows(statement: str, ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(ids)])
        return {pk: tuple(columns) for pk, *columns in cursor.fetchall()}


def run_counts(ids: Collection[int]) -> QuerySet[Run, dict[str, Any]]:
    status = Run.Status
    rows = Run.objects.filter(study__in=list(ids)).values("study").order_by("study")
    return rows.annotate(
        runs=Count("pk"),
        waiting_runs=Count("pk", filter=Q(status=status.RECEIVED)),
        rejected_runs=Count("pk", filter=Q(status=status.REJECTED)),
        quarantined_runs=Count("pk", filter=Q(status=status.QUARANTINED)),
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
    # CPU emulation is not the cost of a hypervisor.
    pairs = pairs.exclude(system__is_emulated=True)
    primary = _primary(pairs)
    # Not Round, which would convert to numeric with a thousand digits.
    step = Floor(Ln("efficiency__ratio") * BINS_PER_E + 0.5)
    binned = primary.annotate(
        platform=F("system__hypervisor"),
        hypervisor_version=F("system__hypervisor_version"),
        step=step,
    )
    # Only flags of the cell's own study, whose changes the rollup's version counts.
    links = Flag.cells.through._default_manager.filter(flag__study=F("cell__study"))
    flagged_cells = links.filter(flag__in=Flag.objects.withholding_verdicts()).values(
        "cell"
    )
    is_flagged = Q(pk__in=flagged_cells) | Q(efficiency__baseline__in=flagged_cells)
    return (
        binned.values("study", *BIN_FIELDS, "step")
        .annotate(
            pairs=Count("pk"),
            lowest=Min("efficiency__ratio"),
            highest=Max("efficiency__ratio"),
            flagged=Count("pk", filter=is_flagged),
        )
        .order_by("study", *BIN_FIELDS, "step")
    )


def _primary(pairs: QuerySet[Cell]) -> QuerySet[Cell]:
    """Exclude cases that another case of the study implies."""
    measured = defaultdict(set)
    for study, case in pairs.values_list("study_id", "case_id").distinct():
        measured[study].add(case)
    cases = Case.objects.in_bulk(set().union(*measured.values()))
    # Studies with the same implied cases share a condition.
    studies = defaultdict(list)
    for study, ids in measured.items():
        implied = frozenset(ids) - primary_case_ids(
            {pk: cases[pk] for pk in ids}, with_tails=False
        )
        studies[implied].append(study)
    for implied, study_ids in studies.items():
        if implied:
            pairs = pairs.exclude(study__in=study_ids, case__in=implied)
    return pairs


def _example_ids(study_id: int) -> dict[str, int]:
    cells = Cell.objects.filter(study=study_id, n__gt=0).order_by("pk")
    flags = Flag.objects.withholding_verdicts().filter(study=study_id)
    flagged_cells = Flag.cells.through._default_manager.filter(flag__in=flags).values(
        "cell"
    )
    # Two single runs, largest apparent loss first.
    single_runs = cells.exclude(pk__in=flagged_cells).filter(
        n=1,
        scenario="single",
        case__component="CPU",
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__baseline_n=1,
        efficiency__ratio__lt=1,
    )
    examples: dict[str, QuerySet[Any]] = {
        "anything": cells,
        "memory": cells.filter(case__component="memory"),
        "network": cells.filter(case__component="network"),
        "single_run": single_runs.order_by("efficiency__ratio"),
        "bimodal": cells.filter(shape_codes__contains="bimodal"),
        "mistake": flags.filter(rule="unit-slip").order_by("pk"),
    }
    return {
        name: rows.values_list("pk", flat=True).first() or 0
        for name, rows in examples.items()
    }


def visible_tour_examples(viewer: Viewer) -> TourExamples:
    visible = Study.objects.visible_to(viewer).filter(slug__in=TOUR_STUDIES)
    studies = list(visible.select_related("lab"))
    rollups = current_rollups([study.pk for study in studies])
    return tour_examples((study, rollups[study.pk].example_ids) for study in studies)


def tour_examples(studies: Iterable[tuple[Study, Mapping[str, int]]]) -> TourExamples:
    by_slug = {study.slug: (study, example_ids) for study, example_ids in studies}
    return {
        name: (by_slug[slug][0], pk)
        for name, (slug, kind) in TOUR_EXAMPLES.items()
        if slug in by_slug and (pk := by_slug[slug][1].get(kind))
    }
