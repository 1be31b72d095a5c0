"""What the page of a study's sessions shows: each with why it begins, and its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from benchmarks.models import Run, Session, Study
from benchmarks.studies.lists import measured_systems
from benchmarks.studies.sessions import visible_sessions
from benchmarks.uploads.runs import listed_runs
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.addresses import id_in

UNKNOWN = "none"
"""Stands for the session of runs that state no start."""
SHOWN = 300
RUNS_SHOWN = 200


@dataclass(frozen=True)
class SessionsPage:
    """A study's sessions in the order of time, and the runs of the one that is open.

    ``unknown`` is how many runs count in none, for nobody stated when they were made.
    """

    sessions: tuple[Session, ...]
    has_more: bool
    unknown: int
    opened: Session | None
    is_unknown_opened: bool
    runs: tuple[Run, ...]
    has_more_runs: bool
    names: Mapping[int, str]
    """What the systems are called, by their ids."""
    unmet: tuple[str, ...] = ()

    @property
    def is_opened(self) -> bool:
        return self.opened is not None or self.is_unknown_opened


def sessions_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> SessionsPage:
    """Return the sessions of a study; those of a query's ``session`` with their runs.

    Raises nothing for a session that is not there: the page says so.
    """
    wanted = query.get("session", "")
    rows = visible_sessions(viewer, study=study).order_by("first_at", "pk")
    sessions = list(rows[: SHOWN + 1])
    untimed = listed_runs(viewer, study=study, sitting=None)
    untimed = untimed.filter(status=Run.Status.PARSED, duplicate_of=None)
    opened: Session | None = None
    runs: QuerySet[Run] = untimed
    if wanted and wanted != UNKNOWN:
        opened = rows.filter(pk=id_in(wanted)).first()
        runs = listed_runs(viewer, study=study, sitting=opened)
    listed: Sequence[Run] = ()
    if opened is not None or wanted == UNKNOWN:
        listed = list(runs.order_by("started_at", "pk")[: RUNS_SHOWN + 1])
    systems = [*measured_systems(study), *(run.system for run in listed)]
    is_missing = bool(wanted) and wanted != UNKNOWN and opened is None
    return SessionsPage(
        sessions=tuple(sessions[:SHOWN]),
        has_more=len(sessions) > SHOWN,
        unknown=untimed.count(),
        opened=opened,
        is_unknown_opened=wanted == UNKNOWN,
        runs=tuple(listed[:RUNS_SHOWN]),
        has_more_runs=len(listed) > RUNS_SHOWN,
        names=wording.system_names(systems),
        unmet=(f"session={wanted}",) if is_missing else (),
    )
