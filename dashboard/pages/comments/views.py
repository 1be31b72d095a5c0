"""Comments: write, edit and remove one."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.models import Comment
from benchmarks.together.comments import (
    Thing,
    author_of,
    edit_comment,
    find_cell,
    find_comment,
    remove_comment,
    write_comment,
)
from benchmarks.uploads.runs import find_run
from dashboard import wording
from dashboard.kit.addresses import STUDY, id_in
from dashboard.kit.comments import place_of
from dashboard.kit.routes import REDIRECT, action
from dashboard.kit.viewers import page_of, signed_in_person, study_or_404, viewer_of


def write(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Store a comment on a study, or on a cell or a run of it."""
    viewer, sent = viewer_of(request), request.POST
    about = Thing(study_or_404(viewer, lab, slug))
    if sent.get("cell"):
        about = find_cell(viewer, id_in(sent["cell"]))
    elif sent.get("run"):
        run = find_run(viewer, id_in(sent["run"]))
        about = Thing(run.study, run=run)
    author, text = author_of(signed_in_person(request)), sent.get("text", "")
    return _done(
        request, lambda: write_comment(author=author, about=about, text=text), ""
    )


def edit(request: HttpRequest, comment_id: int) -> HttpResponse:
    comment = find_comment(viewer_of(request), comment_id)
    author, text = author_of(signed_in_person(request)), request.POST.get("text", "")
    return _done(
        request,
        lambda: edit_comment(comment=comment, author=author, text=text),
        _("Your comment is changed. What it said before is kept."),
    )


def remove(request: HttpRequest, comment_id: int) -> HttpResponse:
    comment = find_comment(viewer_of(request), comment_id)
    author = author_of(signed_in_person(request))
    return _done(
        request,
        lambda: remove_comment(comment=comment, author=author),
        _("The comment is removed. Its text is kept for its author and the admins."),
    )


def _done(
    request: HttpRequest, act: Callable[[], Comment], success: str
) -> HttpResponse:
    """Act and redirect to the comment, or back to the page with the error."""
    try:
        comment = act()
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
        return redirect(page_of(request))
    if success:
        messages.success(request, success)
    return redirect(place_of(comment))


urlpatterns = [
    # Every member who sees the page may post; errors are shown as messages.
    action(f"{STUDY}comments/", write, "comment", own=REDIRECT),
    action("comments/<int:comment_id>/edit/", edit, "edit-comment", own=REDIRECT),
    action("comments/<int:comment_id>/remove/", remove, "remove-comment", own=REDIRECT),
]
