"""Which rows of the tables somebody asks for, and may see."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django.db.models import Exists, F, IntegerField, OuterRef, QuerySet, Sum, Value
from django.utils import timezone

from benchmarks.database import is_distributed
from benchmarks.models import Cell, Run, RunMean, Sample, Study, System
from benchmarks.viewer import Viewer

KEYS_AT_ONCE: Final = 5_000
ROWS_AT_ONCE: Final = 50_000


@dataclass(frozen=True)
class Wanted:
    """A selection; empty is all. Days are in UTC, ``until`` is the last one.

    With ``since`` or ``until``, rows without a time are left out.
    """

    study: Study | None = None
    host: str = ""
    hypervisor: str = ""
    tool: str = ""
    metric: str = ""
    case: int | None = None
    scenario: str = ""
    since: date | None = None
    until: date | None = None

    def of_system(self, path: str = "") -> dict[str, Any]:
        """Return the look-ups of the system; ``path`` leads to it."""
        return _given(
            {f"{path}host__slug": self.host, f"{path}hypervisor": self.hypervisor}
        )

    def of_case(self) -> dict[str, Any]:
        """Return the look-ups of what has a case."""
        names = {
            "case__tool": self.tool,
            "case__metric": self.metric,
            "case": self.case,
        }
        return _given(names)

    def of_time(self, first: str, last: str) -> dict[str, Any]:
        """Return the look-ups of a span that begins and ends in these columns."""
        return _given(
            {
                f"{last}__gte": self.since and _midnight(self.since),
                f"{first}__lt": self.until
                and _midnight(self.until + timedelta(days=1)),
            }
        )

    @property
    def is_of_cells(self) -> bool:
        """Whether something is asked for that only cells can tell."""
        other = Wanted(host=self.host, hypervisor=self.hypervisor)
        return self != other


def rows_of(name: str, viewer: Viewer, wanted: Wanted) -> QuerySet[Any]:
    """Return the rows of a table one may see; of samples the runs that have any."""
    return _ROWS[name](viewer, wanted)


def count_of(name: str, viewer: Viewer, wanted: Wanted) -> int:
    """Return how many rows a table has; of samples without regard to their metric."""
    rows = rows_of(name, viewer, wanted)
    if name != "samples":
        return rows.count()
    return rows.aggregate(n=Sum("sample_count"))["n"] or 0


def pieces_of(name: str, viewer: Viewer, wanted: Wanted) -> Iterator[QuerySet[Any]]:
    """Yield a table's rows in order of their keys, so many at once as memory takes."""
    is_samples = name == "samples"
    rows = rows_of(name, viewer, wanted)
    weight = F("sample_count") if is_samples else Value(1, IntegerField())
    for ids in _pages(rows, weight):
        if is_samples:
            runs = Run.objects.filter(pk__in=ids).order_by()
            # The key of samples begins with the lab.
            labs = set(runs.values_list("lab_id", flat=True).distinct())
            samples = Sample.objects.filter(lab__in=labs, run_id__in=ids)
            yield samples.filter(**wanted.of_case()).order_by("run_id", "sequence")
        else:
            yield rows.model._default_manager.filter(pk__in=ids).order_by("pk")


def _pages(rows: QuerySet[Any], weight: Any) -> Iterator[list[int]]:
    last, page, total = 0, list[int](), 0
    while True:
        keys = rows.filter(pk__gt=last).order_by("pk").values_list("pk", weight)
        found = list(keys[:KEYS_AT_ONCE])
        for pk, n in found:
            if page and total + n > ROWS_AT_ONCE:
                yield page
                page, total = [], 0
            page.append(pk)
            total += n
        if len(found) < KEYS_AT_ONCE:
            break
        last = found[-1][0]
    if page:
        yield page


def _studies(viewer: Viewer, wanted: Wanted) -> QuerySet[Study]:
    studies = Study.objects.visible_to(viewer)
    if wanted == Wanted():
        return studies
    return studies.filter(Exists(_cells(viewer, wanted).filter(study=OuterRef("pk"))))


def _systems(viewer: Viewer, wanted: Wanted) -> QuerySet[System]:
    systems = System.objects.visible_to(viewer).filter(**wanted.of_system())
    if not wanted.is_of_cells:
        return systems
    return systems.filter(Exists(_cells(viewer, wanted).filter(system=OuterRef("pk"))))


def _cells(viewer: Viewer, wanted: Wanted) -> QuerySet[Cell]:
    return Cell.objects.visible_to(viewer).filter(
        n__gt=0,
        **_given({"study": wanted.study, "scenario": wanted.scenario}),
        **wanted.of_system("system__"),
        **wanted.of_case(),
        **wanted.of_time("first_at", "last_at"),
    )


def _runs(viewer: Viewer, wanted: Wanted) -> QuerySet[Run]:
    given = {"study": wanted.study, "scenario": wanted.scenario, "tool": wanted.tool}
    runs = Run.objects.visible_to(viewer).filter(
        **_given(given),
        **wanted.of_system("system__"),
        **wanted.of_time("started_at", "started_at"),
    )
    if not wanted.metric and wanted.case is None:
        return runs
    said = RunMean.objects.filter(**wanted.of_case())
    if is_distributed():
        # There is no join of each run with what lies elsewhere.
        if wanted.study is not None:
            said = said.filter(lab=wanted.study.lab_id)
        return runs.filter(pk__in=said.values("run_id"))
    # The key of what runs say begins with the lab.
    return runs.filter(Exists(said.filter(lab=OuterRef("lab"), run=OuterRef("pk"))))


def _sampled_runs(viewer: Viewer, wanted: Wanted) -> QuerySet[Run]:
    return _runs(viewer, wanted).filter(status=Run.Status.PARSED, sample_count__gt=0)


_ROWS: Final[Mapping[str, Callable[[Viewer, Wanted], QuerySet[Any]]]] = {
    "studies": _studies,
    "systems": _systems,
    "cells": _cells,
    "runs": _runs,
    "samples": _sampled_runs,
}


def _given(lookups: Mapping[str, Any]) -> dict[str, Any]:
    return {name: it for name, it in lookups.items() if it not in (None, "")}


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), timezone.get_default_timezone())
