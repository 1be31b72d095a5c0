"""Comments as the pages of studies, cells and runs show them."""

from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from benchmarks.models import Comment
from benchmarks.together.comments import (
    Thing,
    author_of,
    earlier_texts,
    visible_comments,
)
from dashboard.kit.viewers import person_of, viewer_of

MOST_SHOWN: Final = 100
MOST_ELSEWHERE: Final = 8


def comment_thread(request: HttpRequest, about: Thing) -> dict[str, Any]:
    """Return the comments on a visible thing; ``elsewhere`` are those on its parts."""
    viewer, author = viewer_of(request), author_of(person_of(request))
    comments = visible_comments(viewer, **about.keys)
    newest = list(comments.order_by("-pk")[: MOST_SHOWN + 1])
    shown = newest[MOST_SHOWN - 1 :: -1] if newest[MOST_SHOWN:] else newest[::-1]
    earlier = earlier_texts(author, shown)
    elsewhere: list[Comment] = []
    if about.cell is None and about.run is None:
        parts = visible_comments(viewer, study=about.study, removed_at=None)
        parts = parts.exclude(cell=None, run=None)
        elsewhere = list(parts.order_by("-pk")[:MOST_ELSEWHERE])
    return {
        "about": about,
        "comments": [
            {
                "comment": comment,
                "is_removed": comment.removed_at is not None,
                "may_edit": author.wrote(comment) and comment.removed_at is None,
                "may_remove": author.may_remove(comment) and comment.removed_at is None,
                "earlier": earlier.get(comment.pk, ()),
            }
            for comment in shown
        ],
        "has_older": len(newest) > MOST_SHOWN,
        "may_write": author.may_write,
        "elsewhere": [(place_of(comment), comment) for comment in elsewhere],
    }


def place_of(comment: Comment) -> str:
    """Return the address of a comment on its page."""
    study = comment.study
    if comment.run_id:
        page = reverse("dashboard:run-detail", args=[comment.run_id])
    elif comment.cell_id:
        place = [study.lab.slug, study.slug, comment.cell_id]
        page = reverse("dashboard:cell", args=place)
    else:
        page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    return f"{page}#comment-{comment.pk}"
