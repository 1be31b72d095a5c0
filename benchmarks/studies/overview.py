"""Studies with counts and facts for lists and pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import (
    Count,
    Q,
    QuerySet,
)
from django.utils import timezone

from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import (
    Cell,
    Host,
    Job,
    Run,
    Study,
    System,
)
from benchmarks.models.run import SCENARIOS
from benchmarks.natural_sort import natural_sort_key
from benchmarks.studies.lookup import list_studies
from benchmarks.studies.study_rollups import (
    Rollup,
    current_rollups,
    rollup_counts,
    run_counts,
)
from benchmarks.viewer import Viewer

STALLED_AFTER = timedelta(seconds=20)
MAX_UNREAD_RUNS = 10


@dataclass(frozen=True)
class StudyCounts:
    """Counts of a study.

    ``unchecked_runs`` counts waiting checks: flags may still change. ``failed_jobs``
    counts quarantined checks, and ``open_flags`` flags without a decision.
    """

    runs: int = 0
    cells: int = 0
    systems: int = 0
    compared_cells: int = 0
    waiting_runs: int = 0
    rejected_runs: int = 0
    quarantined_runs: int = 0
    unchecked_runs: int = 0
    failed_jobs: int = 0
    open_flags: int = 0

    @property
    def is_unfinished(self) -> bool:
        return bool(self.waiting_runs or self.unchecked_runs)

    @property
    def parsed_runs(self) -> int:
        return self.runs - self.waiting_runs


@dataclass(frozen=True)
class StudyCard:
    study: Study
    counts: StudyCounts
    rollup: Rollup


@dataclass(frozen=True)
class ScenarioCoverage:
    """The tools of a component, and its number of cells by scenario."""

    component: str
    tools: tuple[str, ...]
    by_scenario: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class StudyDetail:
    counts: StudyCounts
    systems: tuple[System, ...]
    hosts: tuple[Host, ...]
    scenarios: tuple[str, ...]
    coverage: tuple[ScenarioCoverage, ...]
    sources: tuple[tuple[str, int], ...]
    unread_runs: tuple[Run, ...]
    failures: tuple[tuple[str, int], ...]


def study_cards(viewer: Viewer, **filters: Any) -> list[StudyCard]:
    """Put archived studies last."""
    studies = list_studies(viewer).filter(deleted_at=None, **filters)
    return _cards(sorted(studies, key=lambda study: study.archived_at is not None))


def system_count(study_ids: Iterable[int]) -> int:
    """Return the number of systems measured in these studies, each counted once."""
    cells = Cell.objects.filter(study__in=list(study_ids), n__gt=0)
    count: int = cells.aggregate(count=Count("system", distinct=True))["count"]
    return count


def study_card(study: Study) -> StudyCard:
    return _cards([study])[0]


def processing_counts(study: Study) -> StudyCounts:
    ids = [study.pk]
    runs = {name: n for row in run_counts(ids) for name, n in row.items()}
    runs.pop("study", None)
    return StudyCounts(**runs, **_check_tallies(ids)[study.pk])


def has_waiting_runs(study: Study) -> bool:
    return Run.objects.filter(study=study, status=Run.Status.RECEIVED).exists()


def is_stalled(study: Study) -> bool:
    cutoff = timezone.now() - STALLED_AFTER
    uploads = Job.objects.filter(kind=Job.Kind.UPLOAD, study=study)
    unclaimed = uploads.filter(claim_id=None, failures=0)
    return unclaimed.filter(due_at__lt=cutoff).exists()


def _cards(studies: list[Study]) -> list[StudyCard]:
    ids = [study.pk for study in studies]
    rollups, checks = current_rollups(ids), _check_tallies(ids)
    return [
        StudyCard(
            study,
            StudyCounts(**rollups[study.pk].counts, **checks[study.pk]),
            rollups[study.pk],
        )
        for study in studies
    ]


def count_study(study: Study) -> StudyCounts:
    numbers, checks = rollup_counts([study.pk]), _check_tallies([study.pk])
    return StudyCounts(**numbers[study.pk], **checks[study.pk])


def _check_tallies(ids: list[int]) -> dict[int, dict[str, int]]:
    # Quarantined checks are not waiting.
    checks = Job.objects.filter(kind=Job.Kind.CHECK, study__in=ids).order_by()
    counts = checks.values("study").annotate(
        job_count=Count("pk"), quarantined=Count("quarantined_at")
    )
    counts_by_study = {pk: {"unchecked_runs": 0, "failed_jobs": 0} for pk in ids}
    for row in counts:
        name = "failed_jobs" if row["quarantined"] else "unchecked_runs"
        counts_by_study[row["study"]][name] = row["job_count"]
    return counts_by_study


def study_detail(study: Study) -> StudyDetail:
    """Use a fixed number of queries.

    Systems have a ``cell_count``, and unread runs their ``job``.
    """
    measured = Count("cells", filter=Q(cells__study=study, cells__n__gt=0))
    systems = System.objects.filter(cells__study=study).annotate(cell_count=measured)
    sorted_systems = sorted(
        systems.select_related("host"),
        key=lambda system: (not system.is_native, natural_sort_key(system.label)),
    )
    hosts = {system.host_id: system.host for system in sorted_systems}
    scenarios, coverage = _coverage(study)
    runs = Run.objects.filter(study=study)
    documents = runs.exclude(document="").values_list("document")
    sources = documents.annotate(count=Count("pk")).order_by("-count", "document")
    unparsed = runs.exclude(status=Run.Status.PARSED).order_by("-pk")
    unread_runs = list(unparsed.select_related("system__host")[:MAX_UNREAD_RUNS])
    ids = [run.pk for run in unread_runs]
    uploads = Job.objects.filter(kind=Job.Kind.UPLOAD, study=study, subject_id__in=ids)
    jobs = {job.subject_id: job for job in uploads}
    for run in unread_runs:
        run.job = jobs.get(run.pk)
    return StudyDetail(
        counts=count_study(study),
        systems=tuple(sorted_systems),
        hosts=tuple(sorted(hosts.values(), key=lambda host: host.slug)),
        scenarios=scenarios,
        coverage=coverage,
        sources=tuple(sources[:MAX_UNREAD_RUNS]),
        unread_runs=tuple(unread_runs),
        failures=_failures(study),
    )


def _failures(study: Study) -> tuple[tuple[str, int], ...]:
    """Return the reasons why runs failed, and how many runs failed for each."""
    failed = Run.objects.failed().filter(study=study).values_list("failure")
    return tuple(failed.annotate(count=Count("pk")).order_by("-count", "failure"))


def measured_systems(study: Study) -> QuerySet[System]:
    cells = Cell.objects.filter(study=study).values("system")
    return System.objects.filter(pk__in=cells).select_related("host")


def _coverage(study: Study) -> tuple[tuple[str, ...], tuple[ScenarioCoverage, ...]]:
    names = ("case__component", "scenario", "case__tool")
    cells = Cell.objects.filter(study=study, n__gt=0).order_by().values_list(*names)
    counted = list(cells.annotate(Count("pk")))
    scenarios = sorted(
        {row[1] for row in counted}, key=lambda s: rank_by_order(SCENARIOS, s)
    )
    components = sorted(
        {row[0] for row in counted}, key=lambda c: rank_by_order(COMPONENTS, c)
    )
    lines = []
    for component in components:
        sums = dict.fromkeys(scenarios, 0)
        titles = set()
        for cell_component, scenario, tool, count in counted:
            if cell_component == component:
                sums[scenario] += count
                titles.add(require_tool(tool).title)
        lines.append(
            ScenarioCoverage(component, tuple(sorted(titles)), tuple(sums.items()))
        )
    return tuple(scenarios), tuple(lines)


def tool_versions(study: Study) -> dict[str, tuple[str, ...]]:
    """A version is "" if not stated."""
    runs = Run.objects.counted().filter(study=study)
    names = runs.order_by("tool", "tool_version").values_list("tool", "tool_version")
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version in names.distinct():
        versions[tool] = (*versions.get(tool, ()), version)
    return versions
