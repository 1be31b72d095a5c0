"""The sessions of a study, and what people correct of them."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import InvalidError
from benchmarks.studies.session_corrections import correct_sessions
from dashboard import wording
from dashboard.kit.addresses import STUDY, id_in
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import DAYS, Tab, action, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    signed_in_person,
    study_or_404,
    viewer_of,
)
from dashboard.pages.sessions.page import sessions_page


@kept_study_page
def list_sessions(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show which runs of a study were one sitting, and why they are taken for that."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    context = {
        "study": study,
        "page": sessions_page(viewer, study, query_of(request)),
        "may_correct": keeps(request, study.lab_id),
    }
    return Content("sessions/sessions.html", context)


def correct(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Put chosen runs and sessions into one session, or take such a correction back."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    sent, person = request.POST, signed_in_person(request)
    is_put = sent.get("do") != "give-back"
    name = sent.get("name", "").strip() if is_put else ""
    runs, sessions = (list(map(id_in, sent.getlist(each))) for each in ("run", "in"))
    page = reverse("dashboard:sessions", args=[study.lab.slug, study.slug])
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
        is_known = opened == "none" or id_in(opened)
        return redirect(f"{page}?session={opened}" if is_known else page)
    messages.success(
        request,
        _("These runs count in “%(name)s” now; verdicts follow in a moment.")
        % {"name": session.name}
        if session
        else _("The runs are back where their name or their start puts them."),
    )
    return redirect(f"{page}?session={session.pk}" if session else page)


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
