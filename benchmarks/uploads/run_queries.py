from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Case, Run, Sample
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

MAX_INLINE_SAMPLES = 100


def visible_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    related = (
        "study__lab",
        "system__host",
        "agent",
        "corun",
        "declared_session",
        "session",
    )
    return listed_runs(viewer, **filters).select_related(*related)


def listed_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    runs = Run.objects.visible_to(viewer).filter(**filters)
    return runs.select_related("system__host").order_by("pk")


def find_run(viewer: Viewer, run_id: int) -> Run:
    """Raises NotFoundError."""
    run = visible_runs(viewer, pk=run_id).first()
    if run is None:
        raise NotFoundError(Sentence("run"), run_id)
    return run


def runs_of_upload(run: Run) -> QuerySet[Run]:
    """Return the other runs of the same upload, ordered by position."""
    first = run.first_run_id or run.pk
    siblings = Run.objects.filter(Q(pk=first) | Q(first_run=first))
    return siblings.exclude(pk=run.pk).order_by("upload_position")


def samples_of(run: Run) -> QuerySet[Sample]:
    # The primary key begins with the lab.
    samples = run.samples.filter(lab_id=run.lab_id)
    return samples.select_related("case").order_by("sequence")


def inline_samples(runs: Sequence[Run]) -> Mapping[int, list[Sample]]:
    """Return samples by run id, for the runs with few enough to show in a list."""
    few = {run.pk: run for run in runs if run.sample_count <= MAX_INLINE_SAMPLES}
    samples: dict[int, list[Sample]] = {run_id: [] for run_id in few}
    labs = {run.lab_id for run in few.values()}
    samples_of_few = Sample.objects.filter(lab__in=labs, run__in=list(few))
    rows = samples_of_few.order_by("run_id", "sequence")
    cases = Case.objects.in_bulk({row.case_id for row in rows})
    for row in rows:
        row.run, row.case = few[row.run_id], cases[row.case_id]
        samples[row.run_id].append(row)
    return samples
