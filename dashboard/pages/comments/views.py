from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from benchmarks.collaboration.comments import (
    CommentTarget,
    author_of,
    edit_comment,
    find_cell_target,
    find_comment,
    remove_comment,
    write_comment,
)
from benchmarks.errors import BenchmarksError
from benchmarks.models import Comment
from benchmarks.uploads.run_queries import find_run
from dashboard import wording
from dashboard.kit.comments import comment_url
from dashboard.kit.routes import REDIRECTED, action
from dashboard.kit.url_parts import STUDY_PATH, parse_id
from dashboard.kit.viewers import (
    current_page_url,
    required_user,
    study_or_404,
    viewer_of,
)


def add_comment_view(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    viewer, sent = viewer_of(request), request.POST
    about = CommentTarget(study_or_404(viewer, lab, slug))
    if sent.get("cell"):
        about = find_cell_target(viewer, parse_id(sent["cell"]))
    elif sent.get("run"):
        run = find_run(viewer, parse_id(sent["run"]))
        about = CommentTarget(run.study, run=run)
    author, text = author_of(required_user(request)), sent.get("text", "")
    return _act_and_redirect(
        request, lambda: write_comment(author=author, target=about, text=text), ""
    )


def edit_comment_view(request: HttpRequest, comment_id: int) -> HttpResponse:
    comment = find_comment(viewer_of(request), comment_id)
    author, text = author_of(required_user(request)), request.POST.get("text", "")
    return _act_and_redirect(
        request,
        lambda: edit_comment(comment=comment, author=author, text=text),
        _("Comment updated. The previous text is kept."),
    )


def remove_comment_view(request: HttpRequest, comment_id: int) -> HttpResponse:
    comment = find_comment(viewer_of(request), comment_id)
    author = author_of(required_user(request))
    return _act_and_redirect(
        request,
        lambda: remove_comment(comment=comment, author=author),
        _("Comment removed. Its author and the lab's admins can still see the text."),
    )


def _act_and_redirect(
    request: HttpRequest, act: Callable[[], Comment], success: str
) -> HttpResponse:
    try:
        comment = act()
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
        return redirect(current_page_url(request))
    if success:
        messages.success(request, success)
    return redirect(comment_url(comment))


urlpatterns = [
    # All signed-in users who can see the page may comment on it.
    action(
        f"{STUDY_PATH}comments/",
        add_comment_view,
        "comment",
        member_statuses=REDIRECTED,
    ),
    action(
        "comments/<int:comment_id>/edit/",
        edit_comment_view,
        "edit-comment",
        member_statuses=REDIRECTED,
    ),
    action(
        "comments/<int:comment_id>/remove/",
        remove_comment_view,
        "remove-comment",
        member_statuses=REDIRECTED,
    ),
]
