"""Freeze a campaign so that it can be cited; withdraw it; sign another lab's."""

import hashlib
from collections.abc import Callable, Mapping

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from benchmarks.errors import SnapshotError
from benchmarks.models import (
    Campaign,
    Freezing,
    Lab,
    Signature,
    Snapshot,
    SnapshotFile,
)
from benchmarks.publishing.jobs import check_settled
from benchmarks.publishing.readiness import campaign_assessment
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import campaign_version
from benchmarks.text import clean_text

Write = Callable[[Snapshot], Mapping[str, bytes]]


def freeze_campaign(*, freezing: Freezing, write: Write) -> Snapshot:
    """Freeze what a campaign says: all forms of it, with their digests.

    ``write`` makes the files, once the snapshot has its number and address; only then
    is it stored, whole, in one short transaction, so that uploads into the campaign do
    not wait for a typesetter. Raises SnapshotError where the campaign has runs that
    wait, or is not what it was when somebody asked for this.
    """
    _check_unchanged(freezing)
    check_settled(freezing.campaign)
    snapshot = _begun(freezing)
    files = write(snapshot)
    with transaction.atomic():
        _take_over(freezing)
        _store(snapshot, files)
        news = {"stage": Freezing.Stage.DONE, "snapshot": snapshot}
        Freezing.objects.filter(pk=freezing.pk).update(**news, seen_at=timezone.now())
    return snapshot


@transaction.atomic
def withdraw_snapshot(*, snapshot: Snapshot, who: str, reason: str) -> Snapshot:
    """Withdraw a snapshot with a reason; its page and its files stay where they are."""
    reason = _said(reason, "reason")
    if not reason:
        raise SnapshotError(Sentence("Say why: whoever follows the link must find it."))
    locked = Snapshot.objects.select_for_update().get(pk=snapshot.pk)
    if locked.withdrawn_at:
        raise SnapshotError(
            Sentence("The snapshot was withdrawn before; the reason stays.")
        )
    locked.withdrawn_at, locked.withdrawn_by = timezone.now(), who
    locked.withdrawn_reason = reason
    locked.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
    return locked


@transaction.atomic
def sign_snapshot(
    *, snapshot: Snapshot, lab: Lab, person: User, note: str
) -> Signature:
    """Stand for another lab's snapshot, with a note what was looked at or repeated."""
    note = _said(note, "note")
    if not note:
        raise SnapshotError(Sentence("Say what you looked at or repeated."))
    locked = Snapshot.objects.select_for_update().get(pk=snapshot.pk)
    if lab.pk == locked.lab_id:
        raise SnapshotError(
            Sentence("A lab cannot sign its own snapshot: another one must.")
        )
    if locked.withdrawn_at:
        raise SnapshotError(
            Sentence("The snapshot is withdrawn: there is nothing to sign.")
        )
    if locked.signatures.filter(lab=lab).exists():
        raise SnapshotError(
            Sentence("{lab} has signed this snapshot already.", lab=lab.name)
        )
    who = person.get_username()
    return locked.signatures.create(lab=lab, person=person, who=who, note=note)


def _said(text: str, what: str) -> str:
    return clean_text(text.strip(), what=what, multiline=True)


def _check_unchanged(freezing: Freezing) -> None:
    if campaign_version(freezing.campaign) != freezing.version:
        raise SnapshotError(
            Sentence("The campaign changed meanwhile. Look at it and freeze it again.")
        )


def _take_over(freezing: Freezing) -> None:
    """See to it, until the transaction ends, that this maker is the one that stores."""
    locked = Freezing.objects.select_for_update().get(pk=freezing.pk)
    if not locked.is_unfinished or locked.attempts != freezing.attempts:
        raise SnapshotError(Sentence("Another worker has taken it over meanwhile."))
    Campaign.objects.select_for_update().get(pk=freezing.campaign_id)
    _check_unchanged(freezing)


def _begun(freezing: Freezing) -> Snapshot:
    """Return a snapshot with its address and number; it is stored with its files."""
    campaign, person = freezing.campaign, freezing.person
    judged = campaign_assessment(campaign)
    others = Snapshot.objects.filter(campaign=campaign)
    latest = others.aggregate(latest=Max("number"))["latest"] or 0
    return Snapshot(
        pk=_next_address(),
        lab=campaign.lab,
        campaign=campaign,
        number=latest + 1,
        title=campaign.title,
        person=person,
        who=person.get_username(),
        version=settings.VERSION,
        rule_set=judged.rule_set,
        judged=judged.level,
        undisclosed={group: list(names) for group, names in judged.undisclosed.items()},
        licence=freezing.licence,
        licence_note=freezing.licence_note,
    )


def _next_address() -> int:
    """Return a number that no other snapshot gets: its files say their address."""
    table = Snapshot._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table])
        return int(cursor.fetchone()[0])


def _store(snapshot: Snapshot, files: Mapping[str, bytes]) -> None:
    kept = [
        SnapshotFile(
            snapshot=snapshot,
            form=form,
            content=content,
            size=len(content),
            digest=hashlib.sha256(content).hexdigest(),
        )
        for form, content in files.items()
    ]
    snapshot.digest = digest_of({each.form: each.digest for each in kept})
    snapshot.save(force_insert=True)
    SnapshotFile.objects.bulk_create(kept)


def digest_of(files: Mapping[str, str]) -> str:
    """Return the digest of a snapshot: SHA-256 of lines ``digest  form``, by form."""
    lines = "".join(f"{files[form]}  {form}\n" for form in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
