"""History read again: the button for maintainers, and the page of its progress."""

from typing import cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Reread
from benchmarks.studies.lists import LEFT_WAITING
from benchmarks.uploads.rereading import begin_reread
from dashboard.kit.viewers import keeper_or_404, signed_in, study_or_404, viewer_of


@require_POST
@signed_in
def begin(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Note that a study's uploads shall be read again; the sweeper does it."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    reread = begin_reread(study=study, person=cast(User, request.user))
    return redirect("dashboard:reread", reread.pk)


@require_safe
@signed_in
def show(request: HttpRequest, reread_id: int) -> HttpResponse:
    """Show how far a reread is and which samples changed."""
    rereads = Reread.objects.select_related("study__lab")
    reread = get_object_or_404(rereads, pk=reread_id)
    study = reread.study
    if study is None:
        raise Http404("The whole installation's is shown where it was typed.")
    keeper_or_404(request, study.lab_id)
    is_left = not reread.done and timezone.now() > reread.created_at + LEFT_WAITING
    context = {"reread": reread, "study": study, "is_left": is_left}
    return render(request, "runs/reread.html", context)
