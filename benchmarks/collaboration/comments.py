"""Comments on studies, cells and runs, which viewers of the study can see.

Members of any lab can comment. Authors and admins of the study's lab can remove
comments and see earlier texts. The row of a removed comment is kept until its study,
cell or run is deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError, RateLimitError
from benchmarks.models import (
    Agent,
    Cell,
    Comment,
    CommentRevision,
    Membership,
    Run,
    Study,
)
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text
from benchmarks.viewer import Viewer

MAX_COMMENT_LENGTH: Final = 10_000
WINDOW: Final = timedelta(hours=1)
MAX_PER_AUTHOR: Final = 30
"""Comments and edits of one author on one study per `WINDOW`."""
MAX_FROM_OTHER_LABS: Final = 100
"""Comments of all authors from other labs on one study per `WINDOW`."""


@dataclass(frozen=True)
class Author:
    person: User | None = None
    agent: Agent | None = None
    lab_ids: frozenset[int] = frozenset()
    admin_of: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        return self.person.get_username() if self.person else str(self.agent or "")

    @property
    def may_write(self) -> bool:
        return bool(self.lab_ids)

    def is_author_of(self, comment: Comment) -> bool:
        if self.person:
            return comment.person_id == self.person.pk
        return self.agent is not None and comment.agent_id == self.agent.pk

    def may_remove(self, comment: Comment) -> bool:
        return self.is_author_of(comment) or comment.lab_id in self.admin_of

    may_see_revisions = may_remove


ANONYMOUS_AUTHOR: Final = Author()


@dataclass(frozen=True)
class CommentTarget:
    study: Study
    cell: Cell | None = None
    run: Run | None = None

    @property
    def filters(self) -> dict[str, Any]:
        return {"study": self.study, "cell": self.cell, "run": self.run}


def find_cell_target(viewer: Viewer, cell_id: int) -> CommentTarget:
    """Raise NotFoundError if the cell is not visible."""
    cells = Cell.objects.visible_to(viewer).select_related("study__lab")
    cell = cells.filter(pk=cell_id).first()
    if cell is None:
        raise NotFoundError(Sentence("result"), cell_id)
    return CommentTarget(cell.study, cell=cell)


def author_of(person: User | None) -> Author:
    if person is None:
        return ANONYMOUS_AUTHOR
    memberships = dict(
        Membership.objects.filter(user=person).values_list("lab_id", "role")
    )
    admin_of = {
        lab for lab, role in memberships.items() if role == Membership.Role.ADMIN
    }
    return Author(person, None, frozenset(memberships), frozenset(admin_of))


def visible_comments(viewer: Viewer, **filters: Any) -> QuerySet[Comment]:
    comments = Comment.objects.visible_to(viewer).filter(**filters)
    return comments.select_related("study__lab").order_by("pk")


def find_comment(viewer: Viewer, pk: int) -> Comment:
    comment = visible_comments(viewer, pk=pk).first()
    if comment is None:
        raise NotFoundError(Sentence("comment"), pk)
    return comment


def revisions_of_comments(
    author: Author, comments: Iterable[Comment]
) -> dict[int, list[CommentRevision]]:
    """Return the earlier texts of comments, as far as ``author`` may see them."""
    may = [comment.pk for comment in comments if author.may_see_revisions(comment)]
    revisions: dict[int, list[CommentRevision]] = {}
    if may:
        for text in CommentRevision.objects.filter(comment__in=may).order_by("pk"):
            revisions.setdefault(text.comment_id, []).append(text)
    return revisions


def write_comment(*, author: Author, target: CommentTarget, text: str) -> Comment:
    if not author.may_write:
        raise InvalidError(
            "invalid_comment",
            "Only members of a lab can write comments. You are not a "
            "member of any lab.",
        )
    text = _clean_comment(text)
    study = target.study
    _admit_text(author, study)
    return Comment.objects.create(
        **target.filters,
        lab_id=study.lab_id,
        person=author.person,
        agent=author.agent,
        author=author.name,
        is_from_other_lab=study.lab_id not in author.lab_ids,
        text=text,
    )


@transaction.atomic
def edit_comment(*, comment: Comment, author: Author, text: str) -> Comment:
    """Store the old text as a revision. Raises InvalidError."""
    text = _clean_comment(text)
    locked = Comment.objects.select_for_update().get(pk=comment.pk)
    if locked.removed_at:
        raise InvalidError(
            "invalid_comment", "This comment was removed. Write a new one."
        )
    if not author.is_author_of(locked):
        raise InvalidError("invalid_comment", "Only the author can edit a comment.")
    if locked.text == text:
        return locked
    _admit_text(author, locked.study)
    _store_revision(locked, author)
    locked.text, locked.edited_at = text, timezone.now()
    locked.save(update_fields=["text", "edited_at"])
    return locked


@transaction.atomic
def remove_comment(*, comment: Comment, author: Author) -> Comment:
    """Remove the text but keep the row; raise InvalidError if not allowed."""
    locked = Comment.objects.select_for_update().get(pk=comment.pk)
    if not author.may_remove(locked):
        raise InvalidError(
            "invalid_comment",
            "Only the author or an admin of the study's lab can remove a comment.",
        )
    if locked.removed_at:
        return locked
    _store_revision(locked, author)
    locked.text, locked.removed_at = "", timezone.now()
    locked.removed_by = author.name
    locked.save(update_fields=["text", "removed_at", "removed_by"])
    return locked


def _admit_text(author: Author, study: Study) -> None:
    """Raise InvalidError if comments are closed, RateLimitError above a limit."""
    is_from_other_lab = study.lab_id not in author.lab_ids
    if study.comments_closed and is_from_other_lab:
        raise InvalidError(
            "invalid_comment",
            "The study's lab has closed its comments for members of other labs.",
        )
    since = timezone.now() - WINDOW
    comments = Comment.objects.filter(study=study)
    own = comments.filter(Q(person=author.person), Q(agent=author.agent))
    recent = own.filter(written_at__gt=since).count()
    recent += CommentRevision.objects.filter(
        comment__in=own, replaced_at__gt=since
    ).count()
    if recent >= MAX_PER_AUTHOR:
        limit = Sentence(
            "You can write or edit at most {n} comments on a study per hour.",
            n=MAX_PER_AUTHOR,
        )
        raise RateLimitError(limit, int(WINDOW.total_seconds()))
    if is_from_other_lab:
        others = comments.filter(is_from_other_lab=True, written_at__gt=since)
        if others.count() >= MAX_FROM_OTHER_LABS:
            limit = Sentence(
                "Other labs have already written {n} comments on this study in the "
                "last hour.",
                n=MAX_FROM_OTHER_LABS,
            )
            raise RateLimitError(limit, int(WINDOW.total_seconds()))


def _store_revision(comment: Comment, author: Author) -> None:
    CommentRevision.objects.create(
        lab_id=comment.lab_id,
        comment=comment,
        text=comment.text,
        written_at=comment.edited_at or comment.written_at,
        replaced_by=author.name,
    )


def _clean_comment(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidError("invalid_comment", "The comment is empty.")
    if len(text) > MAX_COMMENT_LENGTH:
        raise InvalidError(
            "invalid_comment",
            "A comment can have at most {n} characters.",
            n=MAX_COMMENT_LENGTH,
        )
    return clean_text(text, label=Sentence("comment"), multiline=True)
