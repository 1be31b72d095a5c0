"""What buttons of comments send: write one, say it otherwise, take it away."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.models import Comment
from benchmarks.together.comments import (
    Author,
    Thing,
    author_of,
    edit_comment,
    find_cell,
    find_comment,
    remove_comment,
    write_comment,
)
from dashboard import wording
from dashboard.kit.addresses import STUDY, id_in
from dashboard.kit.comments import place_of
from dashboard.kit.routes import REDIRECT, action
from dashboard.kit.viewers import (
    page_of,
    run_or_404,
    signed_in_person,
    study_or_404,
    viewer_of,
)


def write(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Keep a comment on a study, or on a cell or a run of it."""
    viewer = viewer_of(request)
    about = Thing(study_or_404(viewer, lab, slug))
    if cell := request.POST.get("cell", ""):
        about = find_cell(viewer, id_in(cell))
    elif run := request.POST.get("run", ""):
        found = run_or_404(viewer, id_in(run))
        about = Thing(found.study, run=found)
    author, text = author_of(signed_in_person(request)), request.POST.get("text", "")
    return _done(
        request, lambda: write_comment(author=author, about=about, text=text), ""
    )


def edit(request: HttpRequest, comment_id: int) -> HttpResponse:
    """Let the author say a comment otherwise."""
    comment, author = _comment_or_404(request, comment_id)
    text = request.POST.get("text", "")
    return _done(
        request,
        lambda: edit_comment(comment=comment, author=author, text=text),
        _("Your comment is changed. What it said before is kept."),
    )


def remove(request: HttpRequest, comment_id: int) -> HttpResponse:
    """Take the text of a comment away."""
    comment, author = _comment_or_404(request, comment_id)
    return _done(
        request,
        lambda: remove_comment(comment=comment, author=author),
        _("The comment is removed. Its text is kept for its author and the admins."),
    )


def _comment_or_404(request: HttpRequest, pk: int) -> tuple[Comment, Author]:
    comment = find_comment(viewer_of(request), pk)
    return comment, author_of(signed_in_person(request))


def _done(
    request: HttpRequest, act: Callable[[], Comment], sentence: str
) -> HttpResponse:
    """Do it and lead to the comment, or back to the page, which says why not."""
    try:
        comment = act()
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
        return redirect(page_of(request))
    if sentence:
        messages.success(request, sentence)
    return redirect(place_of(comment))


urlpatterns = [
    # Every member who sees the page may post; errors are shown as messages.
    action(f"{STUDY}comments/", write, "comment", own=REDIRECT),
    action("comments/<int:comment_id>/edit/", edit, "edit-comment", own=REDIRECT),
    action("comments/<int:comment_id>/remove/", remove, "remove-comment", own=REDIRECT),
]
