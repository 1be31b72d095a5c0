"""Integrate power over the windows of runs, whichever arrives first.

Jobs are stored with a log's piece or a run and done by the sweeper; repeating is safe.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.power_trace import (
    Span,
    clusters,
    energy_within,
    hull,
    moment,
    quietest_w,
)
from benchmarks.models import Host, Meter, Run, RunEnergy, RunWindow
from benchmarks.power.logs import operations_done, power_of, window_of
from benchmarks.power.meters import METER_TOOLS
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind

QUIET = timedelta(seconds=1)
# How far around the work its idle power is looked for.
AROUND = timedelta(minutes=10)
# The sweeper has plans to look after too.
HOSTS_A_CALL = 20
KEPT = (
    *("lead_id", "together", "is_external", "duration_s", "covered_s", "mean_w"),
    *("idle_w", "samples", "interval_s", "edge_error_j", "clock_error_s"),
    *("operations", "reason"),
)


def integrate_due(quiet: timedelta = QUIET) -> int:
    """Integrate what was noted a moment ago or earlier; return for how many hosts."""
    old = timezone.now() - quiet
    due = queue.units(Kind.ENERGY, created_at__lte=old)[:HOSTS_A_CALL]
    return sum(queue.run(Kind.ENERGY, unit.subject_id) for unit in due)


@queue.job(Kind.ENERGY)
@transaction.atomic
def _integrate(jobs: Jobs) -> None:
    """Integrate power on a host over the spans in which something changed."""
    # Held against other integrations only: systems that are stored refer to the host.
    host_id = jobs[0].subject_id
    Host.objects.select_for_update(no_key=True).get(pk=host_id)
    fresh = _store_windows(host_id)
    # Of these an energy may be stored from when it was still known when they ran.
    RunEnergy.objects.filter(run__in=fresh, run__window__begin_at=None).delete()
    touched = Q(run__in=fresh)
    for job in jobs:
        if job.detail:
            # A span changes idle power as far around it as that is looked for.
            begin, end = map(moment, job.detail)
            first, last = begin - AROUND, end + AROUND
            touched |= Q(begin_at__lt=last, end_at__gt=first)
    # What was uploaded twice ran once: it shares no energy with itself.
    again = RunEnergy.objects.filter(run__system__host=host_id)
    again.exclude(run__duplicate_of=None).delete()
    windows = _counted(host_id).filter(touched, begin_at__isnull=False)
    rows = _with_overlapping(host_id, list(windows))
    spans = [_span(row) for row in rows]
    meters = list(Meter.objects.filter(host=host_id).order_by("pk"))
    energies: list[RunEnergy] = []
    for places in clusters(spans):
        span = hull([spans[place] for place in places])
        members = [rows[place] for place in places]
        for meter in meters:
            energies += _energies(meter, members, span)
    _store([row.run_id for row in rows], energies)
    queue.finish(jobs)


def _store_windows(host_id: int) -> list[int]:
    """Work out when the host's runs ran, where that is not stored; return them."""
    runs = Run.objects.filter(
        system__host=host_id, status=Run.Status.PARSED, window=None
    )
    rows = []
    for run in runs.exclude(tool__in=METER_TOOLS).order_by("pk"):
        row = RunWindow(run=run, lab_id=run.lab_id, host_id=host_id)
        if window := window_of(run):
            row.begin_at = moment(window.begin_s)
            row.end_at = moment(window.begin_s + window.duration_s)
            row.is_external = window.is_external
        rows.append(row)
    RunWindow.objects.bulk_create(rows)
    return [row.run_id for row in rows]


def _with_overlapping(host_id: int, rows: Sequence[RunWindow]) -> list[RunWindow]:
    """Add the windows that overlap these, and those that overlap the added ones."""
    known = {row.pk: row for row in rows}
    while rows:
        begin, end = hull([_span(row) for row in rows])
        near = _counted(host_id).filter(
            begin_at__lt=moment(end), end_at__gt=moment(begin)
        )
        rows = [row for row in near if row.pk not in known]
        known |= {row.pk: row for row in rows}
    return sorted(known.values(), key=lambda row: row.pk)


def _counted(host_id: int) -> QuerySet[RunWindow]:
    """The windows of a host's runs that count: not of those uploaded twice."""
    return RunWindow.objects.filter(host=host_id, run__duplicate_of=None)


def _span(row: RunWindow) -> Span:
    # Every query here leaves out the windows that nobody knows.
    assert row.begin_at is not None
    assert row.end_at is not None
    return (row.begin_at.timestamp(), row.end_at.timestamp())


def _energies(
    meter: Meter, members: Sequence[RunWindow], span: Span
) -> list[RunEnergy]:
    """Return the energy that a meter saw of one run, or of several that overlapped."""
    around_s = AROUND.total_seconds()
    power = power_of(meter, span[0] - around_s, span[1] + around_s)
    if power is None or not power.sees(span):
        return []
    runs = list(Run.objects.filter(pk__in=[row.run_id for row in members]))
    windows = [window for run in runs if (window := window_of(run))]
    work = hull([power.span_of(window) for window in windows])
    begin, end = power.ends_s
    near = RunWindow.objects.filter(
        host=meter.host_id, begin_at__lt=moment(end), end_at__gt=moment(begin)
    )
    # Idle is where no known work ran: others may use the machine meanwhile.
    idle_w = quietest_w(power.trace, [_span(row) for row in near])
    operations = operations_done(runs)
    measured: dict[str, Any] = {"duration_s": work[1] - work[0]}
    try:
        energy = energy_within(power.trace, work)
    except ValueError as error:
        measured["reason"] = error.args[0]
    else:
        measured |= {
            "covered_s": energy.covered_s,
            "mean_w": energy.mean_w,
            "samples": energy.samples,
            "interval_s": energy.interval_s,
            "edge_error_j": energy.edge_error_j,
            "clock_error_s": power.error_s,
        }
    return [
        RunEnergy(
            lab_id=row.lab_id,
            run_id=row.run_id,
            meter=meter,
            lead_id=min(member.run_id for member in members),
            together=len(members),
            is_external=all(member.is_external for member in members),
            idle_w=idle_w,
            operations=operations,
            **measured,
        )
        for row in members
    ]


def _store(run_ids: Iterable[int], energies: Sequence[RunEnergy]) -> None:
    stored = {
        (row.run_id, row.meter_id): row
        for row in RunEnergy.objects.filter(run__in=run_ids)
    }
    wanted = {(row.run_id, row.meter_id): row for row in energies}
    gone = [row.pk for key, row in stored.items() if key not in wanted]
    RunEnergy.objects.filter(pk__in=gone).delete()
    kept = attrgetter(*KEPT)
    # Only what differs: a row that is written again is another version of its study.
    RunEnergy.objects.bulk_create(
        [
            row
            for key, row in wanted.items()
            if key not in stored or kept(row) != kept(stored[key])
        ],
        update_conflicts=True,
        unique_fields=["run", "meter"],
        update_fields=[name.removesuffix("_id") for name in KEPT],
    )
