"""Studies as lists and pages show them, and which pages a study has."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    When,
    prefetch_related_objects,
)
from django.db.models import Case as CaseOf
from django.db.models.expressions import RawSQL
from django.utils import timezone

from benchmarks.comparing.table import (
    COMPONENTS,
    SCENARIOS,
    TOGETHER,
    TOTALS,
    natural,
    rank,
)
from benchmarks.errors import MalformedError, NotFoundError
from benchmarks.models import (
    Case,
    Cell,
    DueCheck,
    Host,
    OutboxItem,
    Plan,
    Run,
    RunEnergy,
    Study,
    System,
    UnfinishedWork,
)
from benchmarks.own_tools.lookup import known_tool
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence, either
from benchmarks.studies.rollups import counted_studies, numbers_of, run_tallies
from benchmarks.viewer import Viewer

LEFT_WAITING = timedelta(seconds=20)
TROUBLE_SHOWN = 10


@dataclass(frozen=True)
class Tally:
    """How many of each a study has; ``flags`` are the open ones.

    ``waiting`` to ``unchecked`` are about processing: ``unchecked`` is not 0 while the
    flags may still change by themselves; ``stuck`` is not 0 where the check was set
    aside after it had failed too often.
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
        """Whether something is still being read, compared or checked."""
        return bool(self.waiting or self.unchecked)

    @property
    def read(self) -> int:
        """How many runs have been read, whatever came of it."""
        return self.runs - self.waiting


@dataclass(frozen=True)
class StudyCard:
    """A study with its numbers, the names of what it compares, where its ratios lie
    (`rollups.Bin`), and what it has to show (`rollups.Rollup.places`)."""

    study: Study
    tally: Tally
    hypervisors: tuple[str, ...]
    tools: tuple[str, ...]
    bins: tuple[tuple[Any, ...], ...]
    places: Mapping[str, int]


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


def visible(viewer: Viewer) -> QuerySet[Study]:
    """Return the studies a viewer may see, newest first."""
    studies = Study.objects.visible_to(viewer).select_related("lab")
    return studies.order_by("-published", "-pk")


def find_study(viewer: Viewer, name: str, **annotations: Any) -> Study:
    """Return the study called "slug" or "lab/slug", annotated as asked for.

    A lab's own study goes before another lab's of the same slug. Raises
    NotFoundError, also for what the viewer may not know of, or
    MalformedError when only the lab's name can tell.
    """
    lab, _, slug = name.rpartition("/")
    wanted = Q(slug=slug) & (Q(lab__slug=lab) if lab else Q())
    # Own ones first: a few of the others are enough to say that there are several.
    own_first = CaseOf(When(lab__in=viewer.lab_ids, then=0), default=1)
    named = visible(viewer).filter(wanted).annotate(**annotations)
    studies = list(named.order_by(own_first, "-published", "-pk")[:10])
    own = [study for study in studies if study.lab_id in viewer.lab_ids]
    if len(own) == 1:
        return own[0]
    if not studies:
        raise NotFoundError(Sentence("study"), name)
    if len(studies) > 1:
        labs = sorted(study.lab.slug for study in studies)
        raise MalformedError(
            "ambiguous_study",
            'Several labs have a study "{slug}". Say {choices}.',
            slug=slug,
            choices=either([f'"{lab}/{slug}"' for lab in labs]),
        )
    return studies[0]


def overview(viewer: Viewer, **only: Any) -> list[StudyCard]:
    """Return every visible study with its numbers, in a fixed number of queries.

    ``only`` narrows them, for example to those of one lab. What was deleted is found
    only by who has its address; archived ones come last.
    """
    studies = visible(viewer).filter(deleted_at=None, **only)
    return _cards(sorted(studies, key=lambda study: study.archived_at is not None))


def card_of(study: Study) -> StudyCard:
    """Return one study with its numbers."""
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
    left = OutboxItem.objects.filter(run__study=study, batch=None, failures=0)
    return left.filter(due_at__lt=ripe).exists()


def _cards(studies: list[Study]) -> list[StudyCard]:
    ids = [study.pk for study in studies]
    rollups, checks = counted_studies(ids), _check_tallies(ids)
    return [
        StudyCard(
            study,
            Tally(**rollups[study.pk].numbers, **checks[study.pk]),
            rollups[study.pk].hypervisors,
            rollups[study.pk].tools,
            rollups[study.pk].bins,
            rollups[study.pk].places,
        )
        for study in studies
    ]


def tally_of(study: Study) -> Tally:
    """Return one study's numbers."""
    numbers, checks = numbers_of([study.pk]), _check_tallies([study.pk])
    return Tally(**numbers[study.pk], **checks[study.pk])


def _check_tallies(ids: list[int]) -> dict[int, dict[str, int]]:
    checks = UnfinishedWork.objects.filter(
        kind=UnfinishedWork.Kind.CHECK, study=OuterRef("study")
    )
    # What was set aside keeps its notes, and nobody waits for it.
    rows = DueCheck.objects.filter(study__in=ids).order_by().values("study")
    noted = rows.annotate(
        notes=Count("pk"), is_stuck=Exists(checks.exclude(quarantined_at=None))
    )
    tallies = {pk: {"unchecked": 0, "stuck": 0} for pk in ids}
    for row in noted:
        tallies[row["study"]]["stuck" if row["is_stuck"] else "unchecked"] = row[
            "notes"
        ]
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
    # Read where it is shown, for the outbox changes with every upload of anybody.
    prefetch_related_objects([run for run in trouble if not run.reason], "outbox_item")
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
    """Return the systems of a study's cells, with their hosts."""
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


def _listed(names: Iterable[str]) -> str:
    return "{" + ",".join(names) + "}"


CELLS = f"{Cell._meta.db_table} AS cell"
CASES = (
    f"JOIN {Case._meta.db_table} AS benchmark_case ON benchmark_case.id = cell.case_id"
)
SYSTEMS = f"JOIN {System._meta.db_table} AS system ON system.id = cell.system_id"
MEASURED = "cell.study_id = of_study AND cell.n > 0"
# In SQL all alike: keys of JSON and lateral joins are more than the ORM can say.
TOGETHER_ON_SLOTS = f"""EXISTS (
    SELECT 1 FROM {CELLS}
    WHERE {MEASURED} AND cell.scenario = ANY('{_listed(TOGETHER)}')
      AND (cell.slot ~ '^[0-9]+$' OR cell.slot = ANY('{_listed(TOTALS)}'))
)"""
METERED = f"""EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED} AND benchmark_case.component = 'power'
)"""
LOGGED = f"""EXISTS (
    SELECT 1 FROM {RunEnergy._meta.db_table} AS energy
    JOIN {Run._meta.db_table} AS run ON run.id = energy.run_id
    WHERE run.study_id = of_study
)"""
PLANNED = f"""EXISTS (
    SELECT 1 FROM {Plan._meta.db_table} AS plan
    WHERE plan.study_id = of_study
)"""
FROM_AND_TO = f"""EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED} AND benchmark_case.parameters ?& ARRAY['from', 'to']
)"""
EMULATED = f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS} WHERE {MEASURED} AND system.is_emulated
)"""
# Beside an emulator other guests may have run on the real processor.
EMULATED_AND_NOT = f"""({EMULATED} AND EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED} AND NOT system.is_emulated AND system.hypervisor <> '{NATIVE}'
))"""
NATIVE_ABOVE = f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED} AND system.is_above_hypervisor AND system.hypervisor = '{NATIVE}'
)"""
# At least three cases that differ in the text of one parameter which begins as a
# number. The page itself asks for known units and for lines of two levels.
SWEPT = f"""EXISTS (
    SELECT 1
    FROM (SELECT DISTINCT cell.case_id FROM {CELLS} WHERE {MEASURED}) AS measured
    JOIN {Case._meta.db_table} AS benchmark_case
      ON benchmark_case.id = measured.case_id
    CROSS JOIN LATERAL jsonb_each_text(benchmark_case.parameters) AS parameter
    WHERE parameter.value ~ '^[0-9.]+( ?[A-Za-z/]+)?$'
    GROUP BY benchmark_case.tool, benchmark_case.metric, parameter.key,
             benchmark_case.parameters - parameter.key
    HAVING count(*) >= 3
)"""
DATED_OR_OF_VERSIONS = f"""(
    EXISTS (SELECT 1 FROM {CELLS} WHERE {MEASURED} AND cell.first_at IS NOT NULL)
    OR EXISTS (
        SELECT 1 FROM {CELLS} {SYSTEMS}
        WHERE {MEASURED} AND system.hypervisor_version <> ''
        GROUP BY system.hypervisor
        HAVING count(DISTINCT system.hypervisor_version) > 1
    )
)"""


PAGES: Final[Mapping[str, str]] = {
    "coruns": TOGETHER_ON_SLOTS,
    "energy": f"({METERED} OR {LOGGED})",
    "sweep": SWEPT,
    "network": FROM_AND_TO,
    "emulation": EMULATED,
    "emulation_beside": EMULATED_AND_NOT,
    "native_above_hypervisor": NATIVE_ABOVE,
    "plans": PLANNED,
    "trend": DATED_OR_OF_VERSIONS,
}
"""What each of these pages needs in a study. `row_security` makes functions of them,
which are planned once a session: that takes longer than reading."""


TABLE: Final = re.compile(r"\bbenchmarks_[a-z]+\b")


def has_pages() -> dict[str, Any]:
    """Return the annotations of a study: has_coruns, has_energy, has_sweep, ...

    has_emulation: a software emulator stands below a system; has_emulation_beside:
    below some guests, and not below others. has_native_above_hypervisor: what is called
    native ran above Windows' own hypervisor.
    """
    study = f"{Study._meta.db_table}.id"
    return {
        f"has_{name}": RawSQL(
            # With the tables that it reads, for whoever notes these (`data_versions`).
            f"virtlab_has_{name}({study} /* {' '.join(TABLE.findall(question))} */)",
            (),
            output_field=BooleanField(),
        )
        for name, question in PAGES.items()
    }
