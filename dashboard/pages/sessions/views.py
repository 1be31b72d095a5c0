from collections.abc import Sequence

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.errors import InvalidError
from benchmarks.models import Run, Session
from benchmarks.models.run import counted_runs
from benchmarks.studies.overview import measured_systems
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.studies.sessions import visible_sessions
from benchmarks.uploads.run_queries import listed_runs
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.page_cache import PageContent, cached_study_page
from dashboard.kit.routes import MULTI_DAY_STUDY, Tab, action, page
from dashboard.kit.url_parts import STUDY_PATH, parse_id
from dashboard.kit.viewers import (
    editable_study_or_404,
    is_editor,
    query_params,
    required_user,
    study_or_404,
    viewer_of,
)

WITHOUT_START = "none"
SESSIONS_SHOWN = 300
RUNS_SHOWN = 200


def sessions_answer(
    sessions: Sequence[Session], untimed_count: int, has_more: bool = False
) -> str:
    """Return what the sessions of a study mean for its verdicts; "" without runs."""
    if has_more:
        return _("The runs were made in more than %(n)s sessions.") % {
            "n": formatting.number(len(sessions))
        }
    count = sum(session.counted_with_id is None for session in sessions)
    if count > 1:
        hosts = len({session.host_id for session in sessions})
        text = ngettext(
            "The runs were made in %(n)s separate sessions on %(hosts)s machine. A "
            "result measured in several of them has a verdict that also holds on "
            "other days.",
            "The runs were made in %(n)s separate sessions on %(hosts)s machines. A "
            "result measured in several of them has a verdict that also holds on "
            "other days.",
            hosts,
        )
        values = {"n": formatting.number(count), "hosts": formatting.number(hosts)}
        return text % values
    if count:
        return _(
            "All runs with a start time count as one session. Verdicts hold for that "
            "session, and may differ on another day."
        )
    if untimed_count:
        return _(
            "The uploads do not state when their runs started, so all runs count as "
            "one session. How results differ between days is unknown."
        )
    return ""


@cached_study_page
def list_sessions(request: HttpRequest, lab: str, slug: str) -> PageContent:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    session_id = query_params(request).get("session", "")
    rows = visible_sessions(viewer, study=study).order_by("first_at", "pk")
    sessions = list(rows[: SESSIONS_SHOWN + 1])
    untimed = listed_runs(viewer, study=study, session=None).filter(counted_runs())
    opened: Session | None = None
    runs: QuerySet[Run] = untimed
    if session_id and session_id != WITHOUT_START:
        opened = rows.filter(pk=parse_id(session_id)).first()
        runs = listed_runs(viewer, study=study, session=opened)
    shown_runs: Sequence[Run] = ()
    if opened is not None or session_id == WITHOUT_START:
        shown_runs = list(runs.order_by("started_at", "pk")[: RUNS_SHOWN + 1])
    systems = [*measured_systems(study), *(run.system for run in shown_runs)]
    is_missing = bool(session_id) and session_id != WITHOUT_START and opened is None
    untimed_count, has_more = untimed.count(), len(sessions) > SESSIONS_SHOWN
    page = {
        "answer": sessions_answer(sessions[:SESSIONS_SHOWN], untimed_count, has_more),
        "sessions": sessions[:SESSIONS_SHOWN],
        "has_more": has_more,
        "unknown": untimed_count,
        "opened": opened,
        "is_unknown_opened": session_id == WITHOUT_START,
        "is_opened": opened is not None or session_id == WITHOUT_START,
        "runs": shown_runs[:RUNS_SHOWN],
        "has_more_runs": len(shown_runs) > RUNS_SHOWN,
        "names": wording.system_names(systems),
        "ignored_parameters": [f"session={session_id}"] if is_missing else [],
    }
    may_correct = is_editor(request, study.lab_id)
    context = {"study": study, "page": page, "can_correct": may_correct}
    return PageContent("sessions/sessions.html", context)


def save_correction(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    data, person = request.POST, required_user(request)
    is_correction = data.get("do") != "undo"
    name = data.get("name", "").strip() if is_correction else ""
    runs, sessions = (
        list(map(parse_id, data.getlist(name))) for name in ("run", "sessions")
    )
    url = reverse("dashboard:sessions", args=[study.lab.slug, study.slug])
    try:
        if is_correction and not name:
            raise InvalidError("invalid_session", "Enter a session name.")
        session = correct_sessions(
            study=study,
            name=name,
            actor=person.get_username(),
            runs=runs,
            sessions=sessions,
            note=data.get("note", ""),
            person=person,
        )
    except InvalidError as error:
        messages.error(request, wording.translate_text(error.sentence))
        opened = data.get("opened", "")
        is_known = opened == WITHOUT_START or parse_id(opened)
        return redirect(f"{url}?session={opened}" if is_known else url)
    messages.success(
        request,
        _("The runs now belong to “%(name)s”. Verdicts will update in a moment.")
        % {"name": session.name}
        if session
        else _(
            "Correction undone. Each run is back in the session given by its "
            "session name or start time."
        ),
    )
    return redirect(f"{url}?session={session.pk}" if session else url)


urlpatterns = [
    page(
        f"{STUDY_PATH}sessions/",
        list_sessions,
        "sessions",
        example_urls=(f"{MULTI_DAY_STUDY}sessions/", "?session=none"),
        query_count_urls=("sessions/", "sessions/?session=none"),
        id_queries=("session={session}",),
        tab=Tab(gettext_lazy("Sessions"), 100),
    ),
    action(f"{STUDY_PATH}sessions/correct/", save_correction, "correct-sessions"),
]
