from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Efficiency, Flag, FlagDecision, Study
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text
from benchmarks.viewer import Viewer


@dataclass(frozen=True)
class FlagSubjects:
    """A flag's first cells or runs, and their total number."""

    ids: tuple[int, ...] = ()
    count: int = 0


NO_SUBJECTS: Final = FlagSubjects()


def visible_flags(viewer: Viewer, **filters: Any) -> QuerySet[Flag]:
    flags = Flag.objects.visible_to(viewer).current().filter(**filters)
    related = flags.select_related("study__lab")
    return related.prefetch_related("decisions").order_by("pk")


def find_flag(viewer: Viewer, flag_id: int) -> Flag:
    """Return a current or resolved flag, or raise NotFoundError."""
    flags = Flag.objects.visible_to(viewer).select_related("study__lab")
    flag = flags.prefetch_related("decisions").filter(pk=flag_id).first()
    if flag is None:
        raise NotFoundError(Sentence("flag"), flag_id)
    return flag


def cells_of_flags(flags: Iterable[Flag], limit: int) -> dict[int, FlagSubjects]:
    return _subjects(Flag.cells.through, "cell_id", flags, limit)


def runs_of_flags(flags: Iterable[Flag], limit: int) -> dict[int, FlagSubjects]:
    return _subjects(Flag.runs.through, "run_id", flags, limit)


def _subjects(
    links: type[Model], name: str, flags: Iterable[Flag], limit: int
) -> dict[int, FlagSubjects]:
    query = f"""
        SELECT flag_id, (array_agg({name} ORDER BY {name}))[:%s], count(*)
        FROM {links._meta.db_table} WHERE flag_id = ANY(%s) GROUP BY flag_id
    """
    with connection.cursor() as cursor:
        cursor.execute(query, [limit, [flag.pk for flag in flags]])
        rows = cursor.fetchall()
    return {flag_id: FlagSubjects(tuple(ids), count) for flag_id, ids, count in rows}


def impossible_cells(study: Study) -> frozenset[int]:
    """Return cells that are flagged as impossible, or whose baselines are."""
    flags = study.flags.withholding_verdicts().filter(severity="impossible")
    links = Flag.cells.through._default_manager.filter(flag__in=flags)
    impossible = links.values_list("cell_id", flat=True)
    dependents = Efficiency.objects.filter(cell__study=study, baseline__in=impossible)
    return frozenset({*impossible, *dependents.values_list("cell_id", flat=True)})


def studies_quoted(study: Study) -> QuerySet[Study]:
    """Return other studies whose values appear in a study's pages and files."""
    efficiencies = Efficiency.objects.filter(cell__study=study)
    baselines = efficiencies.values("baseline__study")
    flagged = Flag.quoted_studies.through._default_manager.filter(
        flag__in=study.flags.current()
    ).values("study")
    quoted = Q(pk__in=baselines) | Q(pk__in=flagged)
    return Study.objects.filter(quoted).exclude(pk=study.pk)


@transaction.atomic
def decide_flag(
    *, flag: Flag, status: str, note: str, actor: str, person: User | None = None
) -> Flag:
    """Raise InvalidError without a note."""
    if not note.strip():
        raise InvalidError(
            "reason_missing",
            "Give the reason in a note so that others can understand the decision.",
        )
    note = clean_text(note.strip(), label=Sentence("note"), multiline=True)
    # Another person may decide about the same flag.
    locked = Flag.objects.select_for_update().get(pk=flag.pk)
    FlagDecision.objects.create(
        flag=locked, status=status, note=note, decided_by=actor, person=person
    )
    locked.status = status
    locked.save(update_fields=["status"])
    # Pooled evidence and the exclusion of repeated uploads depend on the decision.
    enqueue_checks([locked.study_id])
    return locked
