"""Studies as lists and pages show them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from benchmarks.errors import AmbiguousStudyError, NotFoundError
from benchmarks.models import Cell, DueCheck, Flag, OutboxItem, Run, Study
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

LEFT_WAITING = timedelta(seconds=20)


@dataclass(frozen=True)
class Tally:
    """How many of each a study has; ``flags`` are the open ones.

    ``waiting`` to ``unchecked`` are about processing: ``unchecked`` is not 0 while the
    flags may still change.
    """

    runs: int = 0
    cells: int = 0
    systems: int = 0
    compared: int = 0
    waiting: int = 0
    rejected: int = 0
    quarantined: int = 0
    unchecked: int = 0
    flags: int = 0

    @property
    def is_unfinished(self) -> bool:
        """Whether something is still being read, compared or checked."""
        return bool(self.waiting or self.unchecked)

    @property
    def read(self) -> int:
        """How many runs have been read, whatever came of it."""
        return self.runs - self.waiting


@dataclass(frozen=True)
class StudyCard:
    """A study with its numbers and the names of what it compares."""

    study: Study
    tally: Tally
    hypervisors: tuple[str, ...]
    tools: tuple[str, ...]


def visible(viewer: Viewer) -> QuerySet[Study]:
    """Return the studies a viewer may see, newest first."""
    studies = Study.objects.visible_to(viewer).select_related("lab")
    return studies.order_by("-published", "-pk")


def find_study(viewer: Viewer, name: str, **annotations: Any) -> Study:
    """Return the study called "slug" or "lab/slug", annotated as asked for.

    A lab's own study goes before another lab's of the same slug. Raises
    NotFoundError, also for what the viewer may not know of, or
    AmbiguousStudyError when only the lab's name can tell.
    """
    lab, _, slug = name.rpartition("/")
    wanted = Q(slug=slug) & (Q(lab__slug=lab) if lab else Q())
    found = list(visible(viewer).filter(wanted).annotate(**annotations)[:10])
    own = [study for study in found if study.lab_id in viewer.lab_ids]
    if len(own) == 1:
        return own[0]
    if not found:
        raise NotFoundError(Sentence("study"), name)
    if len(found) > 1:
        raise AmbiguousStudyError(slug, [each.lab.slug for each in found])
    return found[0]


def overview(viewer: Viewer, **only: Any) -> list[StudyCard]:
    """Return every visible study with its numbers, in a fixed number of queries.

    ``only`` narrows them, for example to those of one lab.
    """
    return _cards(list(visible(viewer).filter(**only)))


def card_of(study: Study) -> StudyCard:
    """Return one study with its numbers."""
    return _cards([study])[0]


def processing_of(study: Study) -> Tally:
    """Return how far a study's uploads are, in two queries; no cell is counted."""
    ids = [study.pk]
    due = _numbers(DueCheck.objects.all(), ids)
    runs = _run_tallies(ids).get(study.pk, {})
    return Tally(**runs, unchecked=due.get(study.pk, 0))


def is_left_waiting(study: Study) -> bool:
    """Return whether nobody has begun with a run of the study for a good while."""
    ripe = timezone.now() - LEFT_WAITING
    left = OutboxItem.objects.filter(run__study=study, attempts=0)
    return left.filter(due_at__lt=ripe).exists()


def _cards(studies: list[Study]) -> list[StudyCard]:
    ids = [study.pk for study in studies]
    tallies, names = _tallies(ids), _names(ids)
    return [
        StudyCard(study, tallies[study.pk], *names.get(study.pk, ((), ())))
        for study in studies
    ]


def tally_of(study: Study) -> Tally:
    """Return one study's numbers."""
    return _tallies([study.pk])[study.pk]


def _tallies(ids: list[int]) -> dict[int, Tally]:
    runs, cells = _run_tallies(ids), _cell_tallies(ids)
    due, flags = _numbers(DueCheck.objects.all(), ids), _numbers(_open_flags(), ids)
    return {
        pk: Tally(
            **runs.get(pk, {}),
            **cells.get(pk, {}),
            unchecked=due.get(pk, 0),
            flags=flags.get(pk, 0),
        )
        for pk in ids
    }


def _run_tallies(ids: list[int]) -> dict[int, dict[str, int]]:
    status = Run.Status
    rows = Run.objects.filter(study__in=ids).values("study").order_by("study")
    counted = rows.annotate(
        runs=Count("pk"),
        waiting=Count("pk", filter=Q(status=status.RECEIVED)),
        rejected=Count("pk", filter=Q(status=status.REJECTED)),
        quarantined=Count("pk", filter=Q(status=status.QUARANTINED)),
    )
    return {row.pop("study"): row for row in counted}


def _cell_tallies(ids: list[int]) -> dict[int, dict[str, int]]:
    rows = Cell.objects.filter(study__in=ids).values("study").order_by("study")
    counted = rows.annotate(
        cells=Count("pk"),
        systems=Count("system", distinct=True),
        compared=Count("pk", filter=Q(efficiency__ratio__isnull=False)),
    )
    return {row.pop("study"): row for row in counted}


def _open_flags() -> QuerySet[Flag]:
    return Flag.objects.standing().filter(status=Flag.Status.OPEN)


def _numbers(rows: QuerySet[Any], ids: list[int]) -> dict[int, int]:
    """Return how many of these rows each study has."""
    counted = rows.filter(study__in=ids).order_by().values_list("study")
    return dict(counted.annotate(Count("pk")))


def _names(ids: list[int]) -> dict[int, tuple[tuple[str, ...], tuple[str, ...]]]:
    pairs = Cell.objects.filter(study__in=ids).values_list(
        "study", "system__hypervisor", "case__tool"
    )
    hypervisors: dict[int, set[str]] = {}
    tools: dict[int, set[str]] = {}
    for study, hypervisor, tool in pairs.distinct().order_by():
        hypervisors.setdefault(study, set()).add(hypervisor)
        tools.setdefault(study, set()).add(tool)
    return {
        study: (tuple(sorted(hypervisors[study])), tuple(sorted(names)))
        for study, names in tools.items()
    }
