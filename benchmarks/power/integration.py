"""Integrate power over the windows of runs, whenever either of them arrives.

Noted in the transaction that stores a log's piece or a run, done a moment later by the
sweeper; doing it twice changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.energy import energy_within
from benchmarks.analysis.power_trace import quietest_w
from benchmarks.analysis.server_time import Span, Window, clusters, hull, moment
from benchmarks.models import DueEnergy, Host, Meter, Run, RunEnergy, RunWindow, Study
from benchmarks.power.logs import ServerTrace, operations_done, power_of, window_of
from benchmarks.power.meters import METER_TOOLS

QUIET = timedelta(seconds=1)
# How far around the work its idle power is looked for.
AROUND = timedelta(minutes=10)
HOSTS_A_CALL = 20
KEPT = (
    *("lead_id", "together", "is_external", "duration_s", "covered_s", "mean_w"),
    *("idle_w", "samples", "interval_s", "edge_error_j", "clock_error_s"),
    *("operations", "reason"),
)


def integrate_due(quiet: timedelta = QUIET) -> int:
    """Integrate what was noted a moment ago or earlier; return for how many hosts."""
    due = DueEnergy.objects.filter(noted_at__lte=timezone.now() - quiet)
    hosts = due.order_by().values_list("host", flat=True).distinct()
    return sum(_integrate_noted(host) for host in hosts[:HOSTS_A_CALL])


@transaction.atomic
def _integrate_noted(host_id: int) -> bool:
    """Integrate a host's notes unless another process has them in hand."""
    Host.objects.select_for_update(no_key=True).get(pk=host_id)
    notes = list(DueEnergy.objects.filter(host=host_id).select_for_update())
    if not notes:
        return False
    DueEnergy.objects.filter(pk__in=[each.pk for each in notes]).delete()
    fresh = _store_windows(host_id)
    untimed = RunEnergy.objects.filter(run__in=fresh, run__window__begin_at=None)
    untimed.delete()
    touched = Q(run__in=fresh)
    for each in notes:
        touched |= _overlapping(each.begin_at, each.end_at)
    windows = RunWindow.objects.filter(touched, host=host_id, begin_at__isnull=False)
    _integrate(host_id, windows)
    return True


def _overlapping(begin: datetime | None, end: datetime | None) -> Q:
    """Return the windows whose energy or idle power a span can change."""
    if begin is None or end is None:
        return Q(pk__in=[])
    return Q(begin_at__lt=end + AROUND, end_at__gt=begin - AROUND)


def _store_windows(host_id: int) -> list[int]:
    """Work out when the host's runs ran, where that is not stored; return them."""
    runs = Run.objects.filter(
        system__host=host_id, status=Run.Status.PARSED, window=None
    )
    found = list(runs.exclude(tool__in=METER_TOOLS).order_by("pk"))
    windows = [(run, window_of(run)) for run in found]
    RunWindow.objects.bulk_create(_row(run, window, host_id) for run, window in windows)
    return [run.pk for run in found]


def _row(run: Run, window: Window | None, host_id: int) -> RunWindow:
    row = RunWindow(run=run, lab_id=run.lab_id, host_id=host_id)
    if window is not None:
        row.begin_at = moment(window.begin_s)
        row.end_at = moment(window.begin_s + window.duration_s)
        row.is_external = window.is_external
    return row


def _integrate(host_id: int, touched: QuerySet[RunWindow]) -> None:
    """Integrate the work around these windows over every meter of the host."""
    rows = _with_overlapping(host_id, list(touched))
    spans = [_span(row) for row in rows]
    meters = list(Meter.objects.filter(host=host_id).order_by("pk"))
    made: list[RunEnergy] = []
    for places in clusters(spans):
        members = [rows[at] for at in places]
        for meter in meters:
            made += _energies(meter, members, hull([spans[at] for at in places]))
    _store([row.run_id for row in rows], made)


def _with_overlapping(host_id: int, rows: Sequence[RunWindow]) -> list[RunWindow]:
    """Add the windows that overlap these, and those that overlap the added ones."""
    found = {row.pk: row for row in rows}
    while rows:
        begin, end = hull([_span(row) for row in rows])
        near = RunWindow.objects.filter(
            host=host_id, begin_at__lt=moment(end), end_at__gt=moment(begin)
        )
        rows = [row for row in near if row.pk not in found]
        found |= {row.pk: row for row in rows}
    return sorted(found.values(), key=lambda row: row.pk)


def _span(row: RunWindow) -> Span:
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
    told = _measured(power, work) | {
        "is_external": all(row.is_external for row in members),
        "idle_w": quietest_w(power.trace, _busy(meter.host_id, power)),
        "operations": operations_done(runs),
    }
    lead = min(row.run_id for row in members)
    return [
        RunEnergy(
            lab_id=row.lab_id,
            run_id=row.run_id,
            meter=meter,
            lead_id=lead,
            together=len(members),
            **told,
        )
        for row in members
    ]


def _measured(power: ServerTrace, work: Span) -> dict[str, Any]:
    duration_s = work[1] - work[0]
    try:
        energy = energy_within(power.trace, work)
    except ValueError as error:
        return {"duration_s": duration_s, "reason": error.args[0]}
    return {
        "duration_s": duration_s,
        "covered_s": energy.covered_s,
        "mean_w": energy.mean_w,
        "samples": energy.samples,
        "interval_s": energy.interval_s,
        "edge_error_j": energy.edge_error_j,
        "clock_error_s": power.error_s,
    }


def _busy(host_id: int, power: ServerTrace) -> list[Span]:
    """Return when known work ran on the machine within a trace."""
    begin, end = power.ends_s
    near = RunWindow.objects.filter(
        host=host_id, begin_at__lt=moment(end), end_at__gt=moment(begin)
    )
    return [_span(row) for row in near]


def _store(run_ids: Iterable[int], made: Sequence[RunEnergy]) -> None:
    """Make these the energies of these runs, and no others."""
    stored = {
        (row.run_id, row.meter_id): row
        for row in RunEnergy.objects.filter(run__in=run_ids)
    }
    by_key = {(row.run_id, row.meter_id): row for row in made}
    gone = [row.pk for key, row in stored.items() if key not in by_key]
    RunEnergy.objects.filter(pk__in=gone).delete()
    changed = [row for key, row in by_key.items() if _differs(row, stored.get(key))]
    RunEnergy.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["run", "meter"],
        update_fields=[name.removesuffix("_id") for name in KEPT],
    )


def _differs(made: RunEnergy, stored: RunEnergy | None) -> bool:
    return stored is None or any(
        getattr(made, name) != getattr(stored, name) for name in KEPT
    )


class Remark(NamedTuple):
    """A sentence whose numbers stand apart, so that pages can translate it."""

    template: str
    words: Mapping[str, object]

    def __str__(self) -> str:
        return self.template % self.words


UNSEEN = "Of the %(all)s s of the work the meter measured nothing."
PARTLY = "%(missing)s s of the %(all)s s (%(share)s %%) were not measured."
TOO_LITTLE = (
    "%(missing)s s of the %(all)s s (%(share)s %%) were not measured: too much for an "
    "energy."
)
SHARED = "%(n)s runs overlapped on the machine: this is the energy of all together."
UNCHECKED = (
    "When it ran was told by its own clock, which nobody set against the meter's."
)


@dataclass(frozen=True)
class MeteredWork:
    """The energy of one run's work, or of the work of runs that ran together."""

    runs: tuple[Run, ...]
    energy: RunEnergy

    @property
    def meter(self) -> Meter:
        return self.energy.meter

    @property
    def lead(self) -> Run:
        """The run that stands for all of them."""
        return self.runs[0]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the reader must know of this figure, in numbers."""
        return (*_coverage(self.energy), *_doubts(self.energy))

    @property
    def sentence(self) -> str:
        """The same for who reads no page; may be empty."""
        return " ".join(map(str, self.remarks))


def run_energies(study: Study) -> tuple[MeteredWork, ...]:
    """Return the energy of a study's work by each meter, in one query."""
    rows = (
        RunEnergy.objects.filter(run__study=study, run__status=Run.Status.PARSED)
        .select_related("run__system__host", "run__corun", "meter__host")
        .order_by("lead", "meter__name", "meter", "run")
    )
    groups: dict[tuple[int, int], list[RunEnergy]] = defaultdict(list)
    for row in rows:
        groups[row.lead_id, row.meter_id].append(row)
    return tuple(
        MeteredWork(tuple(row.run for row in members), members[0])
        for members in groups.values()
    )


def _coverage(energy: RunEnergy) -> Iterator[Remark]:
    missing_s = energy.duration_s - energy.covered_s
    words = {
        "missing": f"{missing_s:.3g}",
        "all": f"{energy.duration_s:.6g}",
        "share": f"{100 * missing_s / energy.duration_s:.2g}",
    }
    if energy.mean_w is None:
        yield Remark(UNSEEN, words)
    elif not energy.is_covered:
        yield Remark(TOO_LITTLE, words)
    elif missing_s > 1e-6 * energy.duration_s:
        yield Remark(PARTLY, words)


def _doubts(energy: RunEnergy) -> Iterator[Remark]:
    if energy.is_shared:
        yield Remark(SHARED, {"n": energy.together})
    if not energy.is_external:
        yield Remark(UNCHECKED, {})
