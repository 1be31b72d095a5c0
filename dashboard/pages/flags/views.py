"""The flags of a study, and what people decide about them."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError
from benchmarks.models import Flag
from benchmarks.studies.flags import decide_flag, find_flag
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import Tab, action, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    study_or_404,
    viewer_of,
)
from dashboard.pages.flags.page import flag_page


@kept_study_page
def list_flags(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what is doubtful in a study, by rule, with the evidence."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    context = {
        "study": study,
        "page": flag_page(viewer, study, query_of(request)),
        "may_decide": keeps(request, study.lab_id),
    }
    return Content("flags/flags.html", context)


def decide(request: HttpRequest, flag_id: int) -> HttpResponse:
    """Confirm, dismiss or reopen a flag, with a note."""
    flag = find_flag(viewer_of(request), flag_id)
    keeper_or_404(request, flag.lab_id)
    status = request.POST.get("status", "")
    if status not in Flag.Status.values:
        raise Http404("There is no such decision.")
    user = cast(User, request.user)
    try:
        note = request.POST.get("note", "")
        decide_flag(
            flag=flag, status=status, note=note, who=user.get_username(), person=user
        )
        messages.success(request, _("Your decision is kept, with its note."))
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    study = flag.study
    page = reverse("dashboard:flags", args=[study.lab.slug, study.slug])
    # Once decided, the flag is no longer among the open ones.
    return redirect(f"{page}?status=all&rule={flag.rule}#flag-{flag.pk}")


urlpatterns = [
    page(
        f"{STUDY}flags/",
        list_flags,
        "flags",
        walked=("?status=all",),
        tab=Tab(gettext_lazy("Flags"), 110),
    ),
    action("flags/<int:flag_id>/decide/", decide, "decide-flag"),
]
