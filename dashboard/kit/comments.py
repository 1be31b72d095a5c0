from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from benchmarks.collaboration.comments import (
    CommentTarget,
    author_of,
    revisions_of_comments,
    visible_comments,
)
from benchmarks.models import Comment, CommentRevision
from dashboard.kit.viewers import query_params, signed_in_user, viewer_of

MAX_COMMENTS: Final = 20
MAX_CHARACTERS: Final = 60_000
"""Comments above this total of their texts and earlier texts are on the next page."""
OLDER_PARAMETER: Final = "comments_before"
MAX_ID_DIGITS: Final = 18
MAX_PART_COMMENTS: Final = 8


def comment_thread(request: HttpRequest, target: CommentTarget) -> dict[str, Any]:
    """Return a page of comments, the oldest first; by default the newest page.

    The query has the id of the comment that follows the page. ``part_comments`` of a
    study are the newest comments on its cells and runs.
    """
    viewer, author = viewer_of(request), author_of(signed_in_user(request))
    comments = visible_comments(viewer, **target.filters)
    before = query_params(request).get(OLDER_PARAMETER, "")
    is_older = before.isascii() and before.isdigit() and len(before) < MAX_ID_DIGITS
    if is_older:
        comments = comments.filter(pk__lt=int(before))
    newest = list(comments.order_by("-pk")[: MAX_COMMENTS + 1])
    earlier = revisions_of_comments(author, newest)
    displayed = _first_page(newest, earlier)[::-1]
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
        "older": displayed[0].pk if len(newest) > len(displayed) else None,
        "is_older": is_older,
        "can_write": author.may_write
        and (target.study.lab_id in author.lab_ids or not target.study.comments_closed),
        "part_comments": [(comment_url(comment), comment) for comment in elsewhere],
    }


def _first_page(
    comments: Sequence[Comment], earlier: Mapping[int, Sequence[CommentRevision]]
) -> list[Comment]:
    sizes = accumulate(
        len(comment.text) + sum(len(old.text) for old in earlier.get(comment.pk, ()))
        for comment in comments
    )
    number = sum(size <= MAX_CHARACTERS for size in sizes)
    return list(comments[: min(max(number, 1), MAX_COMMENTS)])


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
