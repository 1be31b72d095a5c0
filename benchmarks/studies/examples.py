"""Telling places in the reference studies: what a first visit is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from benchmarks.models import Cell, Efficiency, Flag, Study
from benchmarks.viewer import Viewer

XEN, ESXI, DISK = "lmu-2010-xen", "lmu-2010-esxi", "inqbus-2008-io"
STUDIES = (XEN, ESXI, DISK)
COMPONENTS = ("memory", "network")
BIMODAL, UNIT_SLIP = "bimodal", "unit-slip"


@dataclass(frozen=True)
class ExamplePlace:
    """A cell or a flag of a study."""

    study: Study
    pk: int


@dataclass(frozen=True)
class Examples:
    """Each is None where its study is not there, not to be seen, or without it."""

    memory: Study | None = None
    """A hypervisor's memory against the native machine's."""
    single_run: ExamplePlace | None = None
    """A ratio that may not be judged."""
    settings: Study | None = None
    """Settings that moved the network."""
    mistake: ExamplePlace | None = None
    """The flag about a slip of a unit that the study printed."""
    bimodal: ExamplePlace | None = None
    report: Study | None = None


def visible_examples(viewer: Viewer) -> Examples:
    """Return what a viewer can be shown, in five queries at most."""
    studies = Study.objects.visible_to(viewer).filter(slug__in=STUDIES)
    return examples(studies.select_related("lab"))


def examples(studies: Iterable[Study]) -> Examples:
    """Return what these studies have to show, in four queries at most."""
    known = {study.slug: study for study in studies if study.slug in STUDIES}
    if not known:
        return Examples()
    # One cell of each is enough: not all of a study are looked at.
    cells = Cell.objects.filter(study=OuterRef("pk"), n__gt=0)
    rows = Study.objects.filter(pk__in=[study.pk for study in known.values()])
    measured = {
        slug: dict(zip(("anything", *COMPONENTS), found, strict=True))
        for slug, *found in rows.values_list(
            "slug",
            Exists(cells),
            *(Exists(cells.filter(case__component=name)) for name in COMPONENTS),
        )
    }
    doubts = Flag.cells.through.objects.filter(
        cell=OuterRef("pk"), flag__in=Flag.objects.withholding()
    )
    # Ratios of two single runs, what looks most like a loss first.
    single_runs = Cell.objects.filter(
        ~Exists(doubts),
        n=1,
        scenario="single",
        case__component="CPU",
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__baseline_n=1,
        efficiency__ratio__lt=1,
    ).order_by("efficiency__ratio")
    slips = Flag.objects.withholding().filter(rule=UNIT_SLIP).order_by("pk")
    bimodal = Cell.objects.filter(shape_codes__contains=BIMODAL).order_by("pk")
    xen, esxi, disk = (known.get(slug) for slug in STUDIES)
    return Examples(
        memory=xen if xen and measured[XEN]["memory"] else None,
        single_run=_first(xen, single_runs),
        settings=esxi if esxi and measured[ESXI]["network"] else None,
        mistake=_first(esxi, slips),
        bimodal=_first(disk, bimodal),
        report=xen if xen and measured[XEN]["anything"] else None,
    )


def _first(study: Study | None, rows: QuerySet[Any]) -> ExamplePlace | None:
    if study is None:
        return None
    pk = rows.filter(study=study).values_list("pk", flat=True).first()
    return None if pk is None else ExamplePlace(study, pk)
