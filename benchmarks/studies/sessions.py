"""The sessions of a study: derived by its check, corrected by people."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, Max, Min, OuterRef, QuerySet, Subquery

from benchmarks.analysis.sessions import (
    BOOT,
    MACHINE,
    DerivedSession,
    RunStart,
    derive_sessions,
    followed,
    host_states,
    is_named,
    kept_sessions,
)
from benchmarks.database import any_of
from benchmarks.models import Cell, Host, Run, Session, Study
from benchmarks.models.run import CELLS_OF_RUNS, cells_of
from benchmarks.viewer import Viewer

Origin = Session.Origin
STATES = (*MACHINE, BOOT)
LOOK_AGAIN = f"""
    {cells_of("run.id = ANY(%s)")}
    SELECT DISTINCT cell.id {CELLS_OF_RUNS} WHERE cell.shaped_at IS NOT NULL
"""


class RunRow(NamedTuple):
    """What decides in which session a run counts; ``session_id`` was uploaded."""

    id: int
    host_id: int
    started_at: datetime | None
    session_id: int | None
    sitting_id: int | None
    states: Mapping[str, str]


class Group(NamedTuple):
    """The runs that a derived session of a host is to hold."""

    host_id: int
    session: DerivedSession
    runs: Sequence[int]


@dataclass(frozen=True)
class Places:
    """The session of each run but ``free`` ones; later runs join ``followable``."""

    sittings: dict[int, int | None]
    free: set[int]
    followable: dict[int, int]


def derive_study_sessions(study: Study) -> set[int]:
    """Set the session of each run of a study, which is locked; return the moved runs.

    In order: a person's choice, the uploaded name, the start.
    """
    derived = study.sessions.filter(origin=Origin.DERIVED)
    # Held: an upload that names one of them waits, and finds it under its new name.
    list(derived.select_for_update().order_by("pk"))
    # Whoever names a derived session makes it a named one; what is in it stays there.
    named = Run.objects.filter(session=OuterRef("pk"))
    derived.filter(Exists(named)).update(origin=Origin.NAMED, reason="", host=None)
    sessions = study.sessions.in_bulk()
    rows = _rows(study)
    places = _places(rows, sessions)
    groups = _groups(rows, places)
    old = {pk for pk, one in sessions.items() if one.origin == Origin.DERIVED}
    so_far = {row.id: row.sitting_id for row in rows if row.sitting_id in old}
    kept = kept_sessions([group.runs for group in groups], so_far)
    empty = old - set(kept)
    # One may get the name that another one loses.
    _unname(empty)
    stored = _store(study, groups, [sessions[pk] if pk else None for pk in kept])
    for group, session in zip(groups, stored, strict=True):
        places.sittings.update(dict.fromkeys(group.runs, session.pk))
    moved: dict[int | None, list[int]] = defaultdict(list)
    for row in rows:
        if (wanted := places.sittings[row.id]) != row.sitting_id:
            moved[wanted].append(row.id)
    for session_id, runs in moved.items():
        Run.objects.filter(pk__in=runs).update(sitting=session_id)
    Session.objects.filter(pk__in=empty).delete()
    changed = {run for runs in moved.values() for run in runs}
    look_again(changed)
    return changed


def look_again(run_ids: Collection[int]) -> None:
    """Let the next check look at the cells of these runs."""
    if run_ids:
        with connection.cursor() as cursor:
            cursor.execute(LOOK_AGAIN, [list(run_ids)])
            shaped = [pk for (pk,) in cursor.fetchall()]
        Cell.objects.filter(pk__in=any_of(shaped)).update(shaped_at=None)


def visible_sessions(viewer: Viewer, **filters: Any) -> QuerySet[Session]:
    """Return sessions that hold runs, with counts and first and last start."""
    held = Run.objects.filter(sitting=OuterRef("pk")).order_by().values("sitting")
    sessions = Session.objects.visible_to(viewer).filter(**filters)
    sittings = sessions.annotate(
        run_count=Subquery(held.values(count=Count("pk"))),
        system_count=Subquery(held.values(count=Count("system", distinct=True))),
        first_at=Subquery(held.values(first=Min("started_at"))),
        last_at=Subquery(held.values(last=Max("started_at"))),
    )
    return sittings.filter(run_count__gt=0).select_related("study", "host")


def _rows(study: Study) -> list[RunRow]:
    # What was just received is processed in another transaction, and checked after it.
    runs = Run.objects.filter(study=study).exclude(status=Run.Status.RECEIVED)
    columns = ("id", "system__host_id", "started_at", "session_id", "sitting_id")
    facts = [f"facts__{name}" for name in STATES]
    rows = []
    for row in runs.order_by("pk").values_list(*columns, *facts):
        pk, host_id, started_at, session_id, sitting_id, *stated = row
        states = host_states(dict(zip(STATES, stated, strict=True)))
        rows.append(RunRow(pk, host_id, started_at, session_id, sitting_id, states))
    return rows


def _places(rows: Iterable[RunRow], sessions: Mapping[int, Session]) -> Places:
    """Keep what people said; the rest is named, or free to be derived."""
    rows = list(rows)
    corrected: dict[int, int] = {}
    for row in rows:
        session = sessions.get(row.sitting_id or 0)
        if session is None or session.origin == Origin.DERIVED:
            continue
        if session.origin == Origin.CORRECTED or session.pk != row.session_id:
            corrected[row.id] = session.pk
    elsewhere = _moved_as_a_whole(rows, corrected)
    places = Places({}, set(), {})
    for row in rows:
        uploaded = sessions.get(row.session_id or 0)
        is_anonymous = uploaded is None or not is_named(uploaded.name)
        if row.id in corrected:
            places.sittings[row.id] = corrected[row.id]
            if is_anonymous:
                places.followable[row.id] = corrected[row.id]
        elif is_anonymous and row.started_at:
            places.free.add(row.id)
        elif uploaded is None:
            places.sittings[row.id] = None
        else:
            places.sittings[row.id] = elsewhere.get(uploaded.pk, uploaded.pk)
    return places


def _moved_as_a_whole(
    rows: Iterable[RunRow], corrected: Mapping[int, int]
) -> dict[int, int]:
    """Return where a person put the runs of named sessions, for later uploads."""
    places: dict[int, Counter[int]] = defaultdict(Counter)
    for row in rows:
        if row.session_id and row.sitting_id:
            places[row.session_id][corrected.get(row.id, row.session_id)] += 1
    return {
        named: min(places, key=lambda place: (-places[place], place))
        for named, places in places.items()
        if named not in places
    }


def _groups(rows: Iterable[RunRow], places: Places) -> list[Group]:
    """Derive the free runs' sessions; those that follow a person's get their place."""
    # Named and corrected runs count in time: they move no other boundary.
    starts: dict[int, list[RunStart]] = defaultdict(list)
    for row in rows:
        if row.started_at:
            starts[row.host_id].append(RunStart(row.id, row.started_at, row.states))
    groups = []
    for host_id in sorted(starts):
        for session in derive_sessions(starts[host_id]):
            if following := followed(session, places.followable):
                following = {
                    run: place for run, place in following.items() if run in places.free
                }
                places.sittings.update(following)
                places.free.difference_update(following)
            if runs := [run for run in session.runs if run in places.free]:
                groups.append(Group(host_id, session, runs))
    return groups


def _store(
    study: Study, groups: Sequence[Group], kept: Sequence[Session | None]
) -> list[Session]:
    """Return the derived session of each group, stored under its name and reason."""
    names = _names(study, groups)
    stored = [
        session
        or Session(
            lab_id=study.lab_id,
            study=study,
            origin=Origin.DERIVED,
            host_id=group.host_id,
        )
        for group, session in zip(groups, kept, strict=True)
    ]
    changed = []
    for group, name, session in zip(groups, names, stored, strict=True):
        said = (name, group.session.reason)
        if (session.name, session.reason) != said:
            session.name, session.reason = said
            if session.pk:
                changed.append(session)
    _unname(session.pk for session in changed)
    Session.objects.bulk_update(changed, ["name", "reason"], batch_size=500)
    Session.objects.bulk_create(session for session in stored if not session.pk)
    return stored


def _names(study: Study, groups: Sequence[Group]) -> list[str]:
    """Name each group by its first start; where two do so at once, by its host too."""
    hosts = Host.objects.in_bulk({group.host_id for group in groups})
    others = study.sessions.exclude(origin=Origin.DERIVED)
    taken = set(others.values_list("name", flat=True))
    firsts = Counter(group.session.name_of(group.runs[0]) for group in groups)
    names = []
    for group in groups:
        name = group.session.name_of(group.runs[0])
        if firsts[name] > 1 or name in taken:
            name = f"{name} ({hosts[group.host_id].slug})"
        place, base = 1, name
        while name in taken:
            place += 1
            name = f"{base} {place}"
        taken.add(name)
        names.append(name)
    return names


def _unname(session_ids: Iterable[int]) -> None:
    """Give sessions names that nobody has, so that others may have theirs."""
    for pk in session_ids:
        Session.objects.filter(pk=pk).update(name=f"\N{BULLET} {pk}")
