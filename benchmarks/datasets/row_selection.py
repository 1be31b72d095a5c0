"""Selection of the rows of dataset tables, by viewer and filters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django.db.models import Exists, F, IntegerField, OuterRef, QuerySet, Sum, Value
from django.utils import timezone

from benchmarks.database import is_distributed
from benchmarks.models import Cell, Run, RunMean, Sample, Study, System
from benchmarks.models.cell import SHOWN_CELLS
from benchmarks.viewer import Viewer

MAX_BATCH_KEYS: Final = 5_000
MAX_BATCH_ROWS: Final = 50_000


@dataclass(frozen=True)
class RowSelection:
    """Filters of rows; an empty filter selects all.

    ``since`` and ``until`` are the first and the last day, in UTC. With one of them,
    rows without a time are omitted.
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

    def system_lookups(self, path: str = "") -> dict[str, Any]:
        return _given(
            {f"{path}host__slug": self.host, f"{path}hypervisor": self.hypervisor}
        )

    def case_lookups(self) -> dict[str, Any]:
        names = {
            "case__tool": self.tool,
            "case__metric": self.metric,
            "case": self.case,
        }
        return _given(names)

    def time_lookups(self, first: str, last: str) -> dict[str, Any]:
        return _given(
            {
                f"{last}__gte": self.since and _midnight(self.since),
                f"{first}__lt": self.until
                and _midnight(self.until + timedelta(days=1)),
            }
        )

    @property
    def filters_cells(self) -> bool:
        system_filters = RowSelection(host=self.host, hypervisor=self.hypervisor)
        return self != system_filters


def selected_rows(name: str, viewer: Viewer, selection: RowSelection) -> QuerySet[Any]:
    """For samples, return the runs that have samples."""
    return _ROWS[name](viewer, selection)


def count_selected_rows(name: str, viewer: Viewer, selection: RowSelection) -> int:
    """For samples, count all samples of the selected runs, also of other metrics."""
    rows = selected_rows(name, viewer, selection)
    if name != "samples":
        return rows.count()
    return rows.aggregate(n=Sum("sample_count"))["n"] or 0


def row_batches(
    name: str, viewer: Viewer, selection: RowSelection
) -> Iterator[QuerySet[Any]]:
    """Yield the selected rows ordered by key, in batches that fit into memory."""
    is_samples = name == "samples"
    rows = selected_rows(name, viewer, selection)
    weight = F("sample_count") if is_samples else Value(1, IntegerField())
    for ids in _pages(rows, weight):
        if is_samples:
            runs = Run.objects.filter(pk__in=ids).order_by()
            # The key of samples begins with the lab.
            labs = set(runs.values_list("lab_id", flat=True).distinct())
            samples = Sample.objects.filter(lab__in=labs, run_id__in=ids)
            yield samples.filter(**selection.case_lookups()).order_by(
                "run_id", "sequence"
            )
        else:
            yield rows.model._default_manager.filter(pk__in=ids).order_by("pk")


def _pages(rows: QuerySet[Any], weight: Any) -> Iterator[list[int]]:
    """Yield lists of ids whose weights add up to at most `MAX_BATCH_ROWS`.

    The weight of a single id may be larger.
    """
    last, page, total = 0, list[int](), 0
    while True:
        keys = rows.filter(pk__gt=last).order_by("pk").values_list("pk", weight)
        batch = list(keys[:MAX_BATCH_KEYS])
        for pk, n in batch:
            if page and total + n > MAX_BATCH_ROWS:
                yield page
                page, total = [], 0
            page.append(pk)
            total += n
        if len(batch) < MAX_BATCH_KEYS:
            break
        last = batch[-1][0]
    if page:
        yield page


def _studies(viewer: Viewer, selection: RowSelection) -> QuerySet[Study]:
    studies = Study.objects.visible_to(viewer)
    if selection == RowSelection():
        return studies
    return studies.filter(
        Exists(_cells(viewer, selection).filter(study=OuterRef("pk")))
    )


def _systems(viewer: Viewer, selection: RowSelection) -> QuerySet[System]:
    systems = System.objects.visible_to(viewer).filter(**selection.system_lookups())
    if not selection.filters_cells:
        return systems
    return systems.filter(
        Exists(_cells(viewer, selection).filter(system=OuterRef("pk")))
    )


def _cells(viewer: Viewer, selection: RowSelection) -> QuerySet[Cell]:
    return Cell.objects.visible_to(viewer).filter(
        SHOWN_CELLS,
        **_given({"study": selection.study, "scenario": selection.scenario}),
        **selection.system_lookups("system__"),
        **selection.case_lookups(),
        **selection.time_lookups("first_at", "last_at"),
    )


def _runs(viewer: Viewer, selection: RowSelection) -> QuerySet[Run]:
    lookups = {
        "study": selection.study,
        "scenario": selection.scenario,
        "tool": selection.tool,
    }
    runs = Run.objects.visible_to(viewer).filter(
        **_given(lookups),
        **selection.system_lookups("system__"),
        **selection.time_lookups("started_at", "started_at"),
    )
    if not selection.metric and selection.case is None:
        return runs
    run_means = RunMean.objects.filter(**selection.case_lookups())
    if is_distributed():
        # Distributed tables cannot be joined with rows on other nodes for each run.
        if selection.study is not None:
            run_means = run_means.filter(lab=selection.study.lab_id)
        return runs.filter(pk__in=run_means.values("run_id"))
    return runs.filter(
        Exists(run_means.filter(lab=OuterRef("lab"), run=OuterRef("pk")))
    )


def _sampled_runs(viewer: Viewer, selection: RowSelection) -> QuerySet[Run]:
    return _runs(viewer, selection).filter(status=Run.Status.PARSED, sample_count__gt=0)


_ROWS: Final[Mapping[str, Callable[[Viewer, RowSelection], QuerySet[Any]]]] = {
    "studies": _studies,
    "systems": _systems,
    "cells": _cells,
    "runs": _runs,
    "samples": _sampled_runs,
}


def _given(lookups: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in lookups.items() if value not in (None, "")}


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), timezone.get_default_timezone())
