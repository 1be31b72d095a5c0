"""Comments on studies, cells and runs, visible to viewers of these.

Members of any lab that sees the study write. Authors edit and remove, admins of the
study's lab remove; only these two see earlier texts. A removed comment is deleted only
with its study, cell or run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import (
    Agent,
    Cell,
    Comment,
    EarlierText,
    Membership,
    Run,
    Study,
)
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text
from benchmarks.viewer import Viewer

MOST_LETTERS: Final = 10_000


@dataclass(frozen=True)
class Author:
    """A person of a lab or an agent; ``admin_of`` are the labs they may moderate."""

    person: User | None = None
    agent: Agent | None = None
    lab_ids: frozenset[int] = frozenset()
    admin_of: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """What stands beside the text."""
        return self.person.get_username() if self.person else str(self.agent or "")

    @property
    def may_write(self) -> bool:
        """Whether they belong to a lab; whoever sees a thing may then write of it."""
        return bool(self.lab_ids)

    def wrote(self, comment: Comment) -> bool:
        if self.person:
            return comment.person_id == self.person.pk
        return self.agent is not None and comment.agent_id == self.agent.pk

    def may_remove(self, comment: Comment) -> bool:
        return self.wrote(comment) or comment.lab_id in self.admin_of

    # Whoever may take a text away may read what was taken away.
    may_look_back = may_remove


NOBODY: Final = Author()


@dataclass(frozen=True)
class Thing:
    """What a comment is about: a study, or a cell or a run of it."""

    study: Study
    cell: Cell | None = None
    run: Run | None = None

    @property
    def keys(self) -> dict[str, Any]:
        """What tells its comments from others."""
        return {"study": self.study, "cell": self.cell, "run": self.run}


def find_cell(viewer: Viewer, pk: int) -> Thing:
    """Return a cell as a thing to write about, or raise NotFoundError."""
    cells = Cell.objects.visible_to(viewer).select_related("study__lab")
    cell = cells.filter(pk=pk).first()
    if cell is None:
        raise NotFoundError(Sentence("cell"), pk)
    return Thing(cell.study, cell=cell)


def author_of(person: User | None) -> Author:
    """Return a person as an author; nobody is one who writes nothing."""
    if person is None:
        return NOBODY
    places = dict(Membership.objects.filter(user=person).values_list("lab_id", "role"))
    admin_of = {lab for lab, role in places.items() if role == Membership.Role.ADMIN}
    return Author(person, None, frozenset(places), frozenset(admin_of))


def visible_comments(viewer: Viewer, **filters: Any) -> QuerySet[Comment]:
    """Return the comments somebody may see, oldest first."""
    comments = Comment.objects.visible_to(viewer).filter(**filters)
    return comments.select_related("study__lab").order_by("pk")


def find_comment(viewer: Viewer, pk: int) -> Comment:
    """Return one comment, or raise NotFoundError."""
    comment = visible_comments(viewer, pk=pk).first()
    if comment is None:
        raise NotFoundError(Sentence("comment"), pk)
    return comment


def earlier_texts(
    author: Author, comments: Iterable[Comment]
) -> dict[int, list[EarlierText]]:
    """Return what those comments said before of which somebody may know, by comment."""
    may = [comment.pk for comment in comments if author.may_look_back(comment)]
    found: dict[int, list[EarlierText]] = {}
    if may:
        for text in EarlierText.objects.filter(comment__in=may).order_by("pk"):
            found.setdefault(text.comment_id, []).append(text)
    return found


def write_comment(*, author: Author, about: Thing, text: str) -> Comment:
    """Store a comment on a thing that its author was found to see."""
    if not author.may_write:
        raise InvalidError(
            "comment", "Comments are written by members of a lab. You belong to none."
        )
    return Comment.objects.create(
        **about.keys,
        lab_id=about.study.lab_id,
        person=author.person,
        agent=author.agent,
        who=author.name,
        text=_clean(text),
    )


@transaction.atomic
def edit_comment(*, comment: Comment, author: Author, text: str) -> Comment:
    """Let its author say it otherwise; what it said is kept."""
    text = _clean(text)
    locked = Comment.objects.select_for_update().get(pk=comment.pk)
    if locked.removed_at:
        raise InvalidError("comment", "This comment was removed. Write another one.")
    if not author.wrote(locked):
        raise InvalidError("comment", "Only its author edits a comment.")
    if locked.text == text:
        return locked
    _keep_text(locked, author)
    locked.text, locked.edited_at = text, timezone.now()
    locked.save(update_fields=["text", "edited_at"])
    return locked


@transaction.atomic
def remove_comment(*, comment: Comment, author: Author) -> Comment:
    """Take a text away, and leave word that one was there; removing twice is once."""
    locked = Comment.objects.select_for_update().get(pk=comment.pk)
    if not author.may_remove(locked):
        raise InvalidError(
            "comment", "Its author removes a comment, or an admin of the study's lab."
        )
    if locked.removed_at:
        return locked
    _keep_text(locked, author)
    locked.text, locked.removed_at = "", timezone.now()
    locked.removed_by = author.name
    locked.save(update_fields=["text", "removed_at", "removed_by"])
    return locked


def _keep_text(comment: Comment, author: Author) -> None:
    EarlierText.objects.create(
        lab_id=comment.lab_id,
        comment=comment,
        text=comment.text,
        written_at=comment.edited_at or comment.written_at,
        replaced_by=author.name,
    )


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidError("comment", "A comment needs a text.")
    if len(text) > MOST_LETTERS:
        raise InvalidError(
            "comment", "A comment has at most {n} characters.", n=MOST_LETTERS
        )
    return clean_text(text, what=Sentence("comment"), multiline=True)
