"""Runs and their samples, as a viewer may see them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Case, Run, Sample
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

SHOWN_INLINE = 100


def visible_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    """Return the runs a viewer may see, with all that belongs to them."""
    related = ("study__lab", "system__host", "agent", "corun", "session", "sitting")
    return listed_runs(viewer, **filters).select_related(*related)


def listed_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    """Return the runs a viewer may see, with the columns of lists: fewer joins."""
    runs = Run.objects.visible_to(viewer).filter(**filters)
    return runs.select_related("system__host").order_by("pk")


def find_run(viewer: Viewer, run_id: int) -> Run:
    """Return one run with its upload, or raise NotFoundError."""
    run = visible_runs(viewer, pk=run_id).first()
    if run is None:
        raise NotFoundError(Sentence("run"), run_id)
    return run


def runs_of_upload(run: Run) -> QuerySet[Run]:
    """Return the other runs that were read from the same upload, in its order."""
    first = run.source_id or run.pk
    same = Run.objects.filter(Q(pk=first) | Q(source=first))
    return same.exclude(pk=run.pk).order_by("part")


def samples_of(run: Run) -> QuerySet[Sample]:
    """Return a run's samples in the order they were measured, with their cases."""
    # The lab is asked for because the primary key begins with it.
    samples = run.samples.filter(lab_id=run.lab_id)
    return samples.select_related("case").order_by("sequence")


def samples_inline(runs: Sequence[Run]) -> Mapping[int, list[Sample]]:
    """Return the samples of those runs that have few enough to show in a list."""
    few = {run.pk: run for run in runs if run.sample_count <= SHOWN_INLINE}
    samples: dict[int, list[Sample]] = {run_id: [] for run_id in few}
    labs = {run.lab_id for run in few.values()}
    samples_of_few = Sample.objects.filter(lab__in=labs, run__in=list(few))
    rows = samples_of_few.order_by("run_id", "sequence")
    cases = Case.objects.in_bulk({row.case_id for row in rows})
    for row in rows:
        row.run, row.case = few[row.run_id], cases[row.case_id]
        samples[row.run_id].append(row)
    return samples
