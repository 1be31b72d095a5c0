"""Sessions of a study, derived by the study check and corrected by people."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Subquery

from benchmarks.analysis.sessions import (
    BOOT_FACT,
    MACHINE_STATES,
    DerivedSession,
    RunStart,
    derive_sessions,
    host_states,
    is_declared_name,
    match_stored_sessions,
    nearest_sessions,
    sessions_counted_together,
)
from benchmarks.database import ids_subquery
from benchmarks.models import Cell, Host, Run, Session, Study
from benchmarks.models.run import CELLS_OF_RUNS_SQL, FAILED_RUNS, cells_of_runs_sql
from benchmarks.viewer import Viewer

Origin = Session.Origin
MACHINE_STATE_FIELDS = (*MACHINE_STATES, BOOT_FACT)
CELLS_TO_RESHAPE_SQL = f"""
    {cells_of_runs_sql("run.id = ANY(%s)")}
    SELECT DISTINCT cell.id {CELLS_OF_RUNS_SQL} WHERE cell.shaped_at IS NOT NULL
"""


class SessionRun(NamedTuple):
    id: int
    host_id: int
    started_at: datetime | None
    declared_session_id: int | None
    session_id: int | None
    states: Mapping[str, str]


class DerivedGroup(NamedTuple):
    host_id: int
    session: DerivedSession
    runs: Sequence[int]


@dataclass(frozen=True)
class SessionAssignments:
    """Corrected and declared sessions by run.

    The sessions of ``unassigned`` runs will be derived from start times. Such runs join
    the corrected session of an ``extendable`` run that is near in time.
    """

    sessions: dict[int, int | None]
    unassigned: set[int]
    extendable: dict[int, int]


def derive_study_sessions(study: Study) -> set[int]:
    """Set the session of each run of a study; return runs whose session changed.

    Priority: a person's correction, the declared session, the start time. The caller
    must have locked the study.
    """
    derived = study.sessions.filter(origin=Origin.DERIVED)
    # Locked: uploads that declare one of them wait for its final name.
    list(derived.select_for_update().order_by("pk"))
    # A derived session that an upload has declared becomes a named session.
    declaring_runs = Run.objects.filter(declared_session=OuterRef("pk"))
    derived.filter(Exists(declaring_runs)).update(
        origin=Origin.NAMED, reason="", host=None
    )
    # Failed runs belong to no session, except to a corrected one.
    failed = Run.objects.failed().filter(study=study, session__isnull=False)
    failed.exclude(session__origin=Origin.CORRECTED).update(session=None)
    sessions = study.sessions.in_bulk()
    rows = _rows(study)
    assignments = _fixed_assignments(rows, sessions)
    groups = _groups(rows, assignments)
    derived_ids = {
        pk
        for pk, stored_session in sessions.items()
        if stored_session.origin == Origin.DERIVED
    }
    previous = {row.id: row.session_id for row in rows if row.session_id in derived_ids}
    matched = match_stored_sessions([group.runs for group in groups], previous)
    empty = derived_ids - set(matched)
    # Other sessions may get these names.
    _give_temporary_names(empty)
    stored = _store(study, groups, [sessions[pk] if pk else None for pk in matched])
    for group, session in zip(groups, stored, strict=True):
        assignments.sessions.update(dict.fromkeys(group.runs, session.pk))
    moved: dict[int | None, list[int]] = defaultdict(list)
    for row in rows:
        if (target := assignments.sessions[row.id]) != row.session_id:
            moved[target].append(row.id)
    for session_id, runs in moved.items():
        Run.objects.filter(pk__in=runs).update(session=session_id)
    Session.objects.filter(pk__in=empty).delete()
    changed = {run for runs in moved.values() for run in runs}
    changed |= _count_together(study, rows, assignments.sessions)
    queue_reshaping(changed)
    return changed


def _count_together(
    study: Study, rows: Iterable[SessionRun], session_by_run: Mapping[int, int | None]
) -> set[int]:
    """Store which sessions count as one; return the runs of changed sessions."""
    known = {run: pk for run, pk in session_by_run.items() if pk is not None}
    counted = sessions_counted_together(_starts_by_host(rows).values(), known)
    changed = []
    for session in study.sessions.all():
        other = counted.get(session.pk)
        values = (other.counted_with, other.reason) if other else (None, "")
        if (session.counted_with_id, session.counted_reason) != values:
            session.counted_with_id, session.counted_reason = values
            changed.append(session)
    Session.objects.bulk_update(
        changed, ["counted_with", "counted_reason"], batch_size=500
    )
    changed_ids = {session.pk for session in changed}
    return {run for run, pk in known.items() if pk in changed_ids}


def queue_reshaping(run_ids: Collection[int]) -> None:
    """Let the next check describe the distributions of these runs' cells again."""
    if run_ids:
        with connection.cursor() as cursor:
            cursor.execute(CELLS_TO_RESHAPE_SQL, [list(run_ids)])
            shaped = [pk for (pk,) in cursor.fetchall()]
        Cell.objects.filter(pk__in=ids_subquery(shaped)).update(shaped_at=None)


def visible_sessions(viewer: Viewer, **filters: Any) -> QuerySet[Session]:
    session_runs = (
        Run.objects.exclude(FAILED_RUNS)
        .filter(session=OuterRef("pk"))
        .order_by()
        .values("session")
    )
    sessions = Session.objects.visible_to(viewer).filter(**filters)
    annotated = sessions.annotate(
        run_count=Subquery(session_runs.values(count=Count("pk"))),
        system_count=Subquery(
            session_runs.values(count=Count("system", distinct=True))
        ),
        first_at=Subquery(session_runs.values(first=Min("started_at"))),
        last_at=Subquery(session_runs.values(last=Max("started_at"))),
    )
    return annotated.filter(run_count__gt=0).select_related(
        "study", "host", "counted_with"
    )


def _rows(study: Study) -> list[SessionRun]:
    # Runs that wait for their processing are checked later.
    runs = Run.objects.filter(study=study).exclude(
        Q(status=Run.Status.RECEIVED) | FAILED_RUNS
    )
    columns = (
        *("id", "system__host_id", "started_at"),
        *("declared_session_id", "session_id"),
    )
    facts = [f"facts__{name}" for name in MACHINE_STATE_FIELDS]
    rows = []
    for row in runs.order_by("pk").values_list(*columns, *facts):
        pk, host_id, started_at, declared_id, session_id, *stated = row
        states = host_states(dict(zip(MACHINE_STATE_FIELDS, stated, strict=True)))
        rows.append(
            SessionRun(pk, host_id, started_at, declared_id, session_id, states)
        )
    return rows


def _fixed_assignments(
    rows: Iterable[SessionRun], sessions: Mapping[int, Session]
) -> SessionAssignments:
    rows = list(rows)
    corrected: dict[int, int] = {}
    for row in rows:
        session = sessions.get(row.session_id or 0)
        if session is None or session.origin == Origin.DERIVED:
            continue
        if session.origin == Origin.CORRECTED or session.pk != row.declared_session_id:
            corrected[row.id] = session.pk
    moved = _moved_sessions(rows, corrected)
    assignments = SessionAssignments({}, set(), {})
    for row in rows:
        declared = sessions.get(row.declared_session_id or 0)
        is_anonymous = declared is None or not is_declared_name(declared.name)
        if row.id in corrected:
            assignments.sessions[row.id] = corrected[row.id]
            if is_anonymous:
                assignments.extendable[row.id] = corrected[row.id]
        elif is_anonymous and row.started_at:
            assignments.unassigned.add(row.id)
        elif declared is None:
            assignments.sessions[row.id] = None
        else:
            assignments.sessions[row.id] = moved.get(declared.pk, declared.pk)
    return assignments


def _moved_sessions(
    rows: Iterable[SessionRun], corrected: Mapping[int, int]
) -> dict[int, int]:
    """Map declared sessions to those to which a person moved all of their runs.

    Later uploads that declare the session go there, too.
    """
    counts_by_declared: dict[int, Counter[int]] = defaultdict(Counter)
    for row in rows:
        if (declared := row.declared_session_id) and row.session_id:
            counts_by_declared[declared][corrected.get(row.id, declared)] += 1
    return {
        declared: min(counts, key=lambda session_id: (-counts[session_id], session_id))
        for declared, counts in counts_by_declared.items()
        if declared not in counts
    }


def _starts_by_host(rows: Iterable[SessionRun]) -> dict[int, list[RunStart]]:
    starts: dict[int, list[RunStart]] = defaultdict(list)
    for row in rows:
        if row.started_at:
            starts[row.host_id].append(RunStart(row.id, row.started_at, row.states))
    return starts


def _groups(
    rows: Iterable[SessionRun], assignments: SessionAssignments
) -> list[DerivedGroup]:
    """Return the derived sessions; runs near a corrected session join that one."""
    # All runs, so that assignments do not move the boundaries of sessions.
    starts = _starts_by_host(rows)
    groups = []
    for host_id in sorted(starts):
        for session in derive_sessions(starts[host_id]):
            if following := nearest_sessions(session, assignments.extendable):
                following = {
                    run: session_id
                    for run, session_id in following.items()
                    if run in assignments.unassigned
                }
                assignments.sessions.update(following)
                assignments.unassigned.difference_update(following)
            if runs := [run for run in session.runs if run in assignments.unassigned]:
                groups.append(DerivedGroup(host_id, session, runs))
    return groups


def _store(
    study: Study, groups: Sequence[DerivedGroup], sessions: Sequence[Session | None]
) -> list[Session]:
    """Store and return the sessions of groups, with names and reasons.

    ``sessions`` has the stored session of each group, None for a new one.
    """
    names = _names(study, groups)
    stored = [
        session
        or Session(
            lab_id=study.lab_id,
            study=study,
            origin=Origin.DERIVED,
            host_id=group.host_id,
        )
        for group, session in zip(groups, sessions, strict=True)
    ]
    changed = []
    for group, name, session in zip(groups, names, stored, strict=True):
        values = (name, group.session.reason)
        if (session.name, session.reason) != values:
            session.name, session.reason = values
            if session.pk:
                changed.append(session)
    _give_temporary_names(session.pk for session in changed)
    Session.objects.bulk_update(changed, ["name", "reason"], batch_size=500)
    Session.objects.bulk_create(session for session in stored if not session.pk)
    return stored


def _names(study: Study, groups: Sequence[DerivedGroup]) -> list[str]:
    """Return a name for each group: its first start, and host or number if needed."""
    hosts = Host.objects.in_bulk({group.host_id for group in groups})
    other_sessions = study.sessions.exclude(origin=Origin.DERIVED)
    taken = set(other_sessions.values_list("name", flat=True))
    name_counts = Counter(group.session.session_name(group.runs[0]) for group in groups)
    names = []
    for group in groups:
        name = group.session.session_name(group.runs[0])
        if name_counts[name] > 1 or name in taken:
            name = f"{name} ({hosts[group.host_id].slug})"
        number, base = 1, name
        while name in taken:
            number += 1
            name = f"{base} {number}"
        taken.add(name)
        names.append(name)
    return names


def _give_temporary_names(session_ids: Iterable[int]) -> None:
    for pk in session_ids:
        Session.objects.filter(pk=pk).update(name=f"\N{BULLET} {pk}")
