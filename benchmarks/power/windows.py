"""When a run ran on its machine, and what it did meanwhile."""

from collections.abc import Sequence

from benchmarks.analysis.server_time import Window, external_window
from benchmarks.models import Run, Sample
from benchmarks.plausibility.rules.coruns import WORK_TIMES
from benchmarks.power.meters import OPERATIONS, operations_of, took_s

_MICROSECONDS = 1e6


def window_of(run: Run) -> Window | None:
    """Return the window of a run; None if nobody can know it.

    By the time server's stamps where an agent took them, whatever the guest's clock
    says; else as its uploader stated begin and length.
    """
    external = external_window(run.facts)
    if external is not None:
        return external
    if run.started_at is None:
        return None
    timed = Sample.objects.filter(run=run, case__metric__in=WORK_TIMES)
    seconds = _executed_s(run) or took_s(run, timed.select_related("case"))
    return Window(run.started_at.timestamp(), seconds) if seconds else None


def operations_done(runs: Sequence[Run]) -> float | None:
    """Return what runs did together; None unless every one of them counted it."""
    counted = Sample.objects.filter(run__in=runs, case__metric__in=OPERATIONS)
    by_run: dict[int, list[Sample]] = {run.pk: [] for run in runs}
    for sample in counted.select_related("case"):
        by_run[sample.run_id].append(sample)
    done = [operations_of(samples) for samples in by_run.values()]
    known = [each for each in done if each and each > 0]
    return sum(known) if known and len(known) == len(done) else None


def _executed_s(run: Run) -> float | None:
    told = run.facts.get("execution")
    local_us = told.get("local_us") if isinstance(told, dict) else None
    if isinstance(local_us, int) and local_us > 0:
        return local_us / _MICROSECONDS
    return None
