"""Studies as lists and pages show them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import (
    Count,
    Q,
    QuerySet,
)
from django.utils import timezone

from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.models import (
    Cell,
    Host,
    Job,
    Run,
    Study,
    System,
)
from benchmarks.models.run import SCENARIOS
from benchmarks.own_tools.lookup import known_tool
from benchmarks.studies.lookup import visible
from benchmarks.studies.rollups import Rollup, counted_studies, numbers_of, run_tallies
from benchmarks.text import natural
from benchmarks.viewer import Viewer

LEFT_WAITING = timedelta(seconds=20)
TROUBLE_SHOWN = 10


@dataclass(frozen=True)
class Tally:
    """Counts of a study; ``flags`` are the open ones.

    ``unchecked``: flags may still change; ``stuck``: the check failed too often.
    """

    runs: int = 0
    cells: int = 0
    systems: int = 0
    compared: int = 0
    waiting: int = 0
    rejected: int = 0
    quarantined: int = 0
    unchecked: int = 0
    stuck: int = 0
    flags: int = 0

    @property
    def is_unfinished(self) -> bool:
        return bool(self.waiting or self.unchecked)

    @property
    def read(self) -> int:
        return self.runs - self.waiting


@dataclass(frozen=True)
class StudyCard:
    """A study with its numbers."""

    study: Study
    tally: Tally
    rollup: Rollup


@dataclass(frozen=True)
class Coverage:
    """How many cells a component has in each scenario."""

    component: str
    tools: tuple[str, ...]
    by_scenario: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class StudyDetail:
    """A study, what was measured on what, and what still has to be looked at."""

    tally: Tally
    systems: tuple[System, ...]
    hosts: tuple[Host, ...]
    scenarios: tuple[str, ...]
    coverage: tuple[Coverage, ...]
    sources: tuple[tuple[str, int], ...]
    trouble: tuple[Run, ...]


def overview(viewer: Viewer, **only: Any) -> list[StudyCard]:
    """Return visible studies with their numbers, archived ones last."""
    studies = visible(viewer).filter(deleted_at=None, **only)
    return _cards(sorted(studies, key=lambda study: study.archived_at is not None))


def card_of(study: Study) -> StudyCard:
    return _cards([study])[0]


def processing_of(study: Study) -> Tally:
    """Return how far a study's uploads are, in two queries; no cell is counted."""
    ids = [study.pk]
    runs = {name: n for row in run_tallies(ids) for name, n in row.items()}
    runs.pop("study", None)
    return Tally(**runs, **_check_tallies(ids)[study.pk])


def is_left_waiting(study: Study) -> bool:
    """Return whether nobody has begun with a run of the study for a good while."""
    ripe = timezone.now() - LEFT_WAITING
    uploads = Job.objects.filter(kind=Job.Kind.UPLOAD, study=study)
    left = uploads.filter(batch=None, failures=0)
    return left.filter(due_at__lt=ripe).exists()


def _cards(studies: list[Study]) -> list[StudyCard]:
    ids = [study.pk for study in studies]
    rollups, checks = counted_studies(ids), _check_tallies(ids)
    return [
        StudyCard(
            study,
            Tally(**rollups[study.pk].numbers, **checks[study.pk]),
            rollups[study.pk],
        )
        for study in studies
    ]


def tally_of(study: Study) -> Tally:
    numbers, checks = numbers_of([study.pk]), _check_tallies([study.pk])
    return Tally(**numbers[study.pk], **checks[study.pk])


def _check_tallies(ids: list[int]) -> dict[int, dict[str, int]]:
    # What was set aside keeps its jobs, and nobody waits for it.
    checks = Job.objects.filter(kind=Job.Kind.CHECK, study__in=ids).order_by()
    noted = checks.values("study").annotate(
        notes=Count("pk"), aside=Count("quarantined_at")
    )
    tallies = {pk: {"unchecked": 0, "stuck": 0} for pk in ids}
    for row in noted:
        tallies[row["study"]]["stuck" if row["aside"] else "unchecked"] = row["notes"]
    return tallies


def study_detail(study: Study) -> StudyDetail:
    """Return a study with all that its page says, in a fixed number of queries."""
    # Each with ``cell_count``, which its row shows.
    measured = Count("cells", filter=Q(cells__study=study, cells__n__gt=0))
    systems = System.objects.filter(cells__study=study).annotate(cell_count=measured)
    in_order = sorted(
        systems.select_related("host"),
        key=lambda system: (not system.is_native, natural(system.label)),
    )
    hosts = {system.host_id: system.host for system in in_order}
    scenarios, coverage = _coverage(study)
    runs = Run.objects.filter(study=study)
    documents = runs.exclude(document="").values_list("document")
    sources = documents.annotate(count=Count("pk")).order_by("-count", "document")
    # The latest runs that were not taken, or not yet.
    troubled = runs.exclude(status=Run.Status.PARSED).order_by("-pk")
    trouble = list(troubled.select_related("system__host")[:TROUBLE_SHOWN])
    ids = [run.pk for run in trouble]
    uploads = Job.objects.filter(kind=Job.Kind.UPLOAD, study=study, subject_id__in=ids)
    jobs = {job.subject_id: job for job in uploads}
    for run in trouble:
        run.job = jobs.get(run.pk)
    return StudyDetail(
        tally=tally_of(study),
        systems=tuple(in_order),
        hosts=tuple(sorted(hosts.values(), key=lambda host: host.slug)),
        scenarios=scenarios,
        coverage=coverage,
        sources=tuple(sources[:TROUBLE_SHOWN]),
        trouble=tuple(trouble),
    )


def measured_systems(study: Study) -> QuerySet[System]:
    cells = Cell.objects.filter(study=study).values("system")
    return System.objects.filter(pk__in=cells).select_related("host")


def _coverage(study: Study) -> tuple[tuple[str, ...], tuple[Coverage, ...]]:
    """Return the scenarios, and a line for each component in them."""
    names = ("case__component", "scenario", "case__tool")
    cells = Cell.objects.filter(study=study, n__gt=0).order_by().values_list(*names)
    counted = list(cells.annotate(Count("pk")))
    scenarios = sorted({row[1] for row in counted}, key=lambda s: rank(SCENARIOS, s))
    components = sorted({row[0] for row in counted}, key=lambda c: rank(COMPONENTS, c))
    lines = []
    for component in components:
        sums = dict.fromkeys(scenarios, 0)
        titles = set()
        for of_component, scenario, tool, count in counted:
            if of_component == component:
                sums[scenario] += count
                titles.add(known_tool(tool).title)
        lines.append(Coverage(component, tuple(sorted(titles)), tuple(sums.items())))
    return tuple(scenarios), tuple(lines)


def tool_versions(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the versions of each tool; an empty one where runs do not state it."""
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    names = runs.order_by("tool", "tool_version").values_list("tool", "tool_version")
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version in names.distinct():
        versions[tool] = (*versions.get(tool, ()), version)
    return versions
