"""Ask for a campaign to be frozen; note how far that is; find what was forgotten.

The row is the work: a message to a worker is only a hint. Whoever begins takes the row
in hand (`holding`), so one whose maker was killed is found at once and begun again.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from benchmarks.errors import SnapshotError
from benchmarks.models import Campaign, Freezing, Snapshot
from benchmarks.publishing.locks import UNHELD, begin, is_lost
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import campaign_version
from benchmarks.studies.lists import card_of
from benchmarks.text import clean_text

Stage = Freezing.Stage
UNTAKEN = timedelta(seconds=10)
"""How long a hint may be under way: the sweeper looks for those that got lost."""
MOST_ATTEMPTS = 5


def ask_freezing(
    *, campaign: Campaign, person: User, site: str, licence: str, licence_note: str
) -> tuple[Freezing, bool]:
    """Note that a campaign is to be frozen as it is now; return whether that is new.

    One that is being frozen is not asked for again: who asks sees how far it is. Raises
    SnapshotError where runs still wait, or the question about licences is not answered.
    """
    note = clean_text(
        licence_note.strip(), what="answer about the licence", multiline=True
    )
    _check_licence(licence, note)
    version = campaign_version(campaign)
    check_settled(campaign)
    return Freezing.objects.get_or_create(
        campaign=campaign,
        stage__in=Freezing.UNFINISHED,
        defaults={
            "person": person,
            "site": site,
            "licence": licence,
            "licence_note": note,
            "version": version,
        },
    )


def take_freezing(pk: int) -> Freezing | None:
    """Begin with one that waits; None where somebody has, or it is over."""
    return begin(Freezing, pk, attempts=F("attempts") + 1)


def note_stage(*, freezing: Freezing, stage: str) -> None:
    """Note how far a freezing is."""
    _note(freezing, stage=stage)


def note_failure(*, freezing: Freezing, problem: str) -> None:
    """Note why a campaign was not frozen."""
    _note(freezing, stage=Stage.FAILED, problem=problem)


def revive_freezings() -> list[int]:
    """Return those that no worker has in hand, to be sent once more.

    Their hint was lost, or their maker was killed. One that was begun too often fails.
    """
    now = timezone.now()
    silent = Freezing.objects.filter(
        stage__in=Freezing.UNFINISHED, seen_at__lt=now - UNHELD
    )
    lost = [each for each in silent if is_lost(each, UNTAKEN)]
    return [each.pk for each in lost if _begins_again(each)]


def check_settled(campaign: Campaign) -> None:
    """Raise SnapshotError where a campaign has no results, or some still to come."""
    tally = card_of(campaign).tally
    if not tally.cells:
        raise SnapshotError(Sentence("The campaign has no results yet to be cited."))
    if tally.waiting or tally.unchecked:
        raise SnapshotError(
            Sentence(
                "Runs of this campaign are still being processed. "
                "Freeze it when they are done."
            )
        )


def _check_licence(licence: str, note: str) -> None:
    if licence not in Snapshot.Licence.values:
        raise SnapshotError(
            Sentence("Say whether a licence of these hypervisors restricts publishing.")
        )
    if licence == Snapshot.Licence.PERMITTED and not note:
        raise SnapshotError(
            Sentence("Say who permitted it and when: the answer is kept.")
        )


def _note(freezing: Freezing, **news: str) -> None:
    """Write it down, unless another maker has taken over."""
    mine = Freezing.objects.filter(pk=freezing.pk, attempts=freezing.attempts)
    mine.filter(stage__in=Freezing.UNFINISHED).update(**news, seen_at=timezone.now())


def _begins_again(freezing: Freezing) -> bool:
    if freezing.attempts >= MOST_ATTEMPTS:
        problem = Sentence(
            "It stopped its worker {n} times, so it is not tried again. "
            "The reason is in the log of the workers.",
            n=freezing.attempts,
        )
        note_failure(freezing=freezing, problem=problem)
        return False
    note_stage(freezing=freezing, stage=Stage.WAITING)
    return True
