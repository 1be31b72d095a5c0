"""Flags as lists and pages show them, and what people decide about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import Decision, Efficiency, Flag, Study
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text
from benchmarks.unattended.queue import put_checks
from benchmarks.viewer import Viewer


@dataclass(frozen=True)
class Subjects:
    """The first cells, or runs, that a flag is about, and how many there are."""

    ids: tuple[int, ...] = ()
    count: int = 0


NO_SUBJECTS: Final = Subjects()


def visible_flags(viewer: Viewer, **filters: Any) -> QuerySet[Flag]:
    """Return the flags that stand and may be seen, with all that a list shows."""
    flags = Flag.objects.visible_to(viewer).current().filter(**filters)
    related = flags.select_related("study__lab")
    return related.prefetch_related("decisions").order_by("pk")


def find_flag(viewer: Viewer, flag_id: int) -> Flag:
    """Return one flag, current or gone, or raise NotFoundError."""
    flags = Flag.objects.visible_to(viewer).select_related("study__lab")
    flag = flags.prefetch_related("decisions").filter(pk=flag_id).first()
    if flag is None:
        raise NotFoundError(Sentence("flag"), flag_id)
    return flag


def cells_of_flags(flags: Iterable[Flag], most: int) -> dict[int, Subjects]:
    """Return what cells each flag is about, the first ``most`` of them."""
    return _subjects(Flag.cells.through, "cell_id", flags, most)


def runs_of_flags(flags: Iterable[Flag], most: int) -> dict[int, Subjects]:
    """Return what runs each flag is about, the first ``most`` of them."""
    return _subjects(Flag.runs.through, "run_id", flags, most)


def _subjects(
    links: type[Model], name: str, flags: Iterable[Flag], most: int
) -> dict[int, Subjects]:
    """Return the first subjects of each flag, cut in SQL."""
    query = f"""
        SELECT flag_id, (array_agg({name} ORDER BY {name}))[:%s], count(*)
        FROM {links._meta.db_table} WHERE flag_id = ANY(%s) GROUP BY flag_id
    """
    with connection.cursor() as cursor:
        cursor.execute(query, [most, [flag.pk for flag in flags]])
        rows = cursor.fetchall()
    return {flag_id: Subjects(tuple(ids), count) for flag_id, ids, count in rows}


def impossible_results(study: Study) -> frozenset[int]:
    """Return the cells of a study whose ratio cannot be: a flag says so of their
    number, or of the one that they are compared with."""
    flags = study.flags.withholding().filter(severity="impossible")
    links = Flag.cells.through._default_manager.filter(flag__in=flags)
    named = links.values_list("cell_id", flat=True)
    leaning = Efficiency.objects.filter(cell__study=study, baseline__in=named)
    return frozenset({*named, *leaning.values_list("cell_id", flat=True)})


def studies_quoted(study: Study) -> QuerySet[Study]:
    """Return the other studies of which the pages and files of one say values."""
    own = Efficiency.objects.filter(cell__study=study)
    baselines = own.values("baseline__study")
    flagged = Flag.quotes.through._default_manager.filter(
        flag__in=study.flags.current()
    ).values("study")
    quoted = Q(pk__in=baselines) | Q(pk__in=flagged)
    return Study.objects.filter(quoted).exclude(pk=study.pk)


@transaction.atomic
def decide_flag(
    *, flag: Flag, status: str, note: str, who: str, person: User | None = None
) -> Flag:
    """Confirm, dismiss or reopen a flag; raise InvalidError without a note."""
    if not note.strip():
        raise InvalidError(
            "decision", "Give the reason in a note: others must be able to follow it."
        )
    note = clean_text(note.strip(), what=Sentence("note"), multiline=True)
    # Locked, so that the decision noted last is the one that holds.
    locked = Flag.objects.select_for_update().get(pk=flag.pk)
    Decision.objects.create(
        flag=locked, status=status, note=note, who=who, person=person
    )
    locked.status = status
    locked.save(update_fields=["status"])
    # Pools and repeated uploads depend on the decision.
    put_checks([locked.study_id])
    return locked
