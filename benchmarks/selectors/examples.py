"""Telling places in the reference campaigns: what a first visit is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from benchmarks.models import Campaign, Cell, Efficiency, Flag
from benchmarks.selectors.campaigns import visible
from benchmarks.viewer import Viewer

XEN, ESXI, DISK = "lmu-2010-xen", "lmu-2010-esxi", "inqbus-2008-io"
STUDIES = (XEN, ESXI, DISK)
TWO_SPEEDS, UNIT_SLIP = "two_speeds", "unit-slip"


@dataclass(frozen=True)
class Examples:
    """Each is None where its campaign is not there, not to be seen, or without it."""

    memory: Campaign | None = None
    """A hypervisor's memory against the native machine's."""
    single_run: Cell | None = None
    """A ratio that may not be judged."""
    settings: Campaign | None = None
    """Settings that moved the network."""
    mistake: Flag | None = None
    """A slip of a unit that the study printed."""
    two_speeds: Cell | None = None
    report: Campaign | None = None


def visible_examples(viewer: Viewer) -> Examples:
    """Return what a viewer can be shown, in five queries at most."""
    return examples(visible(viewer).filter(slug__in=STUDIES))


def examples(campaigns: Iterable[Campaign]) -> Examples:
    """Return what these campaigns have to show, in four queries at most."""
    found = {each.slug: each for each in campaigns if each.slug in STUDIES}
    if not found:
        return Examples()
    measured = _components(found.values())
    xen, esxi = found.get(XEN), found.get(ESXI)
    return Examples(
        memory=xen if (XEN, "memory") in measured else None,
        single_run=_single_run(xen) if xen else None,
        settings=esxi if esxi and (ESXI, "network") in measured else None,
        mistake=_mistake(esxi) if esxi else None,
        two_speeds=_two_speeds(found),
        report=xen if any(slug == XEN for slug, _ in measured) else None,
    )


def _components(campaigns: Iterable[Campaign]) -> set[tuple[str, str]]:
    cells = Cell.objects.filter(campaign__in=list(campaigns), n__gt=0).order_by()
    pairs = cells.values_list("campaign__slug", "case__component").distinct()
    return set(pairs)


def _single_run(campaign: Campaign) -> Cell | None:
    """Return the ratio of two single runs that looks most like a loss of the CPU."""
    cells = Cell.objects.filter(
        campaign=campaign,
        n=1,
        scenario="single",
        case__component="CPU",
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__baseline_n=1,
        efficiency__ratio__lt=1,
    ).exclude(flags__in=Flag.objects.withholding())
    return _placed(cells).order_by("efficiency__ratio").first()


def _mistake(campaign: Campaign) -> Flag | None:
    flags = Flag.objects.withholding().filter(campaign=campaign, rule=UNIT_SLIP)
    return flags.select_related("campaign__lab").order_by("pk").first()


def _two_speeds(found: Mapping[str, Campaign]) -> Cell | None:
    if DISK not in found:
        return None
    cells = Cell.objects.filter(campaign=found[DISK], shape_codes__contains=TWO_SPEEDS)
    return _placed(cells).order_by("pk").first()


def _placed(cells: QuerySet[Cell]) -> QuerySet[Cell]:
    return cells.select_related("campaign__lab")
