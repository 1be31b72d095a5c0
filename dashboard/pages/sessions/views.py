"""The sessions of a study, and corrections of them."""

from collections.abc import Sequence

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import InvalidError
from benchmarks.models import Run, Session
from benchmarks.studies.lists import measured_systems
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.studies.sessions import visible_sessions
from benchmarks.uploads.runs import listed_runs
from dashboard import wording
from dashboard.kit.addresses import STUDY, id_in
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import DAYS, Tab, action, page
from dashboard.kit.viewers import (
    keeps,
    kept_study_or_404,
    query_of,
    signed_in_person,
    study_or_404,
    viewer_of,
)

UNKNOWN = "none"
"""In the query: the runs without a start."""
SHOWN = 300
RUNS_SHOWN = 200


@kept_study_page
def list_sessions(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show the sessions of a study by time, and the runs of the one that is opened."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    wanted = query_of(request).get("session", "")
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
    page = {
        "sessions": sessions[:SHOWN],
        "has_more": len(sessions) > SHOWN,
        "unknown": untimed.count(),
        "opened": opened,
        "is_unknown_opened": wanted == UNKNOWN,
        "is_opened": opened is not None or wanted == UNKNOWN,
        "runs": listed[:RUNS_SHOWN],
        "has_more_runs": len(listed) > RUNS_SHOWN,
        "names": wording.system_names(systems),
        "unmet": [f"session={wanted}"] if is_missing else [],
    }
    may_correct = keeps(request, study.lab_id)
    context = {"study": study, "page": page, "may_correct": may_correct}
    return Content("sessions/sessions.html", context)


def correct(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Put chosen runs and sessions into one session, or undo such a correction."""
    study = kept_study_or_404(request, lab, slug)
    sent, person = request.POST, signed_in_person(request)
    is_put = sent.get("do") != "give-back"
    name = sent.get("name", "").strip() if is_put else ""
    runs, sessions = (list(map(id_in, sent.getlist(each))) for each in ("run", "in"))
    place = reverse("dashboard:sessions", args=[study.lab.slug, study.slug])
    try:
        if is_put and not name:
            raise InvalidError("session", "Give the session a name.")
        session = correct_sessions(
            study=study,
            name=name,
            who=person.get_username(),
            runs=runs,
            sessions=sessions,
            note=sent.get("note", ""),
            person=person,
        )
    except InvalidError as error:
        messages.error(request, wording.said(error.sentence))
        opened = sent.get("opened", "")
        is_known = opened == UNKNOWN or id_in(opened)
        return redirect(f"{place}?session={opened}" if is_known else place)
    messages.success(
        request,
        _("These runs count in “%(name)s” now; verdicts follow in a moment.")
        % {"name": session.name}
        if session
        else _("The runs are back where their name or their start puts them."),
    )
    return redirect(f"{place}?session={session.pk}" if session else place)


urlpatterns = [
    page(
        f"{STUDY}sessions/",
        list_sessions,
        "sessions",
        walked=(f"{DAYS}sessions/", "?session=none"),
        counted=("sessions/", "sessions/?session=none"),
        ids=("session={session}",),
        tab=Tab(gettext_lazy("Sessions"), 100),
    ),
    action(f"{STUDY}sessions/correct/", correct, "correct-sessions"),
]
