"""One study as its page shows it."""

from dataclasses import dataclass

from django.db.models import Count, Q

from benchmarks import tools
from benchmarks.comparing.ordering import COMPONENTS, SCENARIOS, natural, rank
from benchmarks.models import Cell, Host, Run, Study, System
from benchmarks.studies.lists import Tally, tally_of

TROUBLE_SHOWN = 10


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


def study_detail(study: Study) -> StudyDetail:
    """Return a study with all that its page says, in a fixed number of queries."""
    systems = _systems(study)
    scenarios, coverage = _coverage(study)
    hosts = {system.host_id: system.host for system in systems}
    return StudyDetail(
        tally=tally_of(study),
        systems=systems,
        hosts=tuple(sorted(hosts.values(), key=lambda host: host.slug)),
        scenarios=scenarios,
        coverage=coverage,
        sources=_sources(study),
        trouble=_trouble(study),
    )


def _systems(study: Study) -> tuple[System, ...]:
    """Return the systems measured, each with ``cell_count`` and ``run_count``."""
    cells = Count("cells", filter=Q(cells__study=study, cells__n__gt=0))
    found = (
        System.objects.filter(cells__study=study)
        .annotate(cell_count=cells)
        .select_related("host")
    )
    return tuple(
        sorted(found, key=lambda each: (not each.is_native, natural(each.label)))
    )


def _coverage(
    study: Study,
) -> tuple[tuple[str, ...], tuple[Coverage, ...]]:
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    names = ("case__component", "scenario", "case__tool")
    counted = list(cells.values_list(*names).annotate(Count("pk")))
    found = {row[1] for row in counted}
    scenarios = tuple(sorted(found, key=lambda name: rank(SCENARIOS, name)))
    components = sorted({row[0] for row in counted}, key=lambda x: rank(COMPONENTS, x))
    lines = (
        _line(component, scenarios, [row[1:] for row in counted if row[0] == component])
        for component in components
    )
    return scenarios, tuple(lines)


def _line(
    component: str, scenarios: tuple[str, ...], counted: list[tuple[str, str, int]]
) -> Coverage:
    sums = {
        name: sum(row[2] for row in counted if row[0] == name) for name in scenarios
    }
    titles = sorted({tools.get(slug).title for _, slug, _ in counted})
    return Coverage(component, tuple(titles), tuple(sums.items()))


def tool_versions(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the versions of each tool; an empty one where runs do not state it."""
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    names = runs.order_by("tool", "tool_version").values_list("tool", "tool_version")
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version in names.distinct():
        versions[tool] = (*versions.get(tool, ()), version)
    return versions


def _sources(study: Study) -> tuple[tuple[str, int], ...]:
    """Return the documents the runs were taken from, and how many from each."""
    runs = Run.objects.filter(study=study).exclude(document="")
    counted = runs.values_list("document").annotate(count=Count("pk"))
    return tuple(counted.order_by("-count", "document")[:TROUBLE_SHOWN])


def _trouble(study: Study) -> tuple[Run, ...]:
    """Return the latest runs that were not taken, or not yet."""
    status = Run.Status
    runs = Run.objects.filter(study=study).exclude(status=status.PARSED)
    related = ("outbox_item", "system")
    return tuple(runs.select_related(*related).order_by("-pk")[:TROUBLE_SHOWN])
