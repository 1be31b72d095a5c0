"""Comments on the pages of studies, cells and runs."""

from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from benchmarks.collaboration.comments import (
    CommentTarget,
    author_of,
    revisions_of_comments,
    visible_comments,
)
from benchmarks.models import Comment
from dashboard.kit.viewers import signed_in_user, viewer_of

MAX_COMMENTS: Final = 100
MAX_PART_COMMENTS: Final = 8


def comment_thread(request: HttpRequest, target: CommentTarget) -> dict[str, Any]:
    """Return the newest comments on a study, cell or run, the oldest first.

    ``part_comments`` of a study are the newest comments on its cells and runs.
    """
    viewer, author = viewer_of(request), author_of(signed_in_user(request))
    comments = visible_comments(viewer, **target.filters)
    newest = list(comments.order_by("-pk")[: MAX_COMMENTS + 1])
    displayed = (
        newest[MAX_COMMENTS - 1 :: -1] if newest[MAX_COMMENTS:] else newest[::-1]
    )
    earlier = revisions_of_comments(author, displayed)
    elsewhere: list[Comment] = []
    if target.cell is None and target.run is None:
        parts = visible_comments(viewer, study=target.study, removed_at=None)
        parts = parts.exclude(cell=None, run=None)
        elsewhere = list(parts.order_by("-pk")[:MAX_PART_COMMENTS])
    return {
        "about": target,
        "comments": [
            {
                "comment": comment,
                "is_removed": comment.removed_at is not None,
                "can_edit": author.is_author_of(comment) and comment.removed_at is None,
                "can_remove": author.may_remove(comment) and comment.removed_at is None,
                "earlier": earlier.get(comment.pk, ()),
            }
            for comment in displayed
        ],
        "has_older": len(newest) > MAX_COMMENTS,
        "can_write": author.may_write,
        "part_comments": [(comment_url(comment), comment) for comment in elsewhere],
    }


def comment_url(comment: Comment) -> str:
    study = comment.study
    if comment.run_id:
        page = reverse("dashboard:run-detail", args=[comment.run_id])
    elif comment.cell_id:
        arguments = [study.lab.slug, study.slug, comment.cell_id]
        page = reverse("dashboard:cell", args=arguments)
    else:
        page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    return f"{page}#comment-{comment.pk}"
