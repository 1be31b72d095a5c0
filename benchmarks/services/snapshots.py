"""Freeze a campaign so that it can be cited; withdraw it; sign another lab's."""

import hashlib
from collections.abc import Callable, Mapping

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from benchmarks.errors import SnapshotError
from benchmarks.models import Campaign, Lab, Signature, Snapshot, SnapshotFile
from benchmarks.selectors.campaigns import card_of
from benchmarks.selectors.publishing import campaign_assessment
from benchmarks.selectors.versions import campaign_version
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text

Write = Callable[[Snapshot], Mapping[str, bytes]]


@transaction.atomic
def freeze_campaign(
    *, campaign: Campaign, person: User, licence: str, licence_note: str, write: Write
) -> Snapshot:
    """Freeze what a campaign says now: all forms of it, with their digests.

    ``write`` makes the files, once the snapshot has its number and address. Raises
    SnapshotError where the campaign has runs that wait, or changes meanwhile, or where
    the question about licences is not answered.
    """
    note = _said(licence_note, "answer about the licence")
    _check_licence(licence, note)
    locked = Campaign.objects.select_for_update().get(pk=campaign.pk)
    _check_settled(locked)
    before = campaign_version(locked)
    snapshot = _begun(locked, person, licence, note)
    files = write(snapshot)
    if campaign_version(locked) != before:
        raise SnapshotError(
            Sentence("The campaign changed meanwhile. Freeze it once more.")
        )
    _keep(snapshot, files)
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


def _check_licence(licence: str, note: str) -> None:
    if licence not in Snapshot.Licence.values:
        raise SnapshotError(
            Sentence("Say whether a licence of these hypervisors restricts publishing.")
        )
    if licence == Snapshot.Licence.PERMITTED and not note:
        raise SnapshotError(
            Sentence("Say who permitted it and when: the answer is kept.")
        )


def _check_settled(campaign: Campaign) -> None:
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


def _begun(campaign: Campaign, person: User, licence: str, note: str) -> Snapshot:
    judged = campaign_assessment(campaign)
    others = Snapshot.objects.filter(campaign=campaign)
    latest = others.aggregate(latest=Max("number"))["latest"] or 0
    return Snapshot.objects.create(
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
        licence=licence,
        licence_note=note,
    )


def _keep(snapshot: Snapshot, files: Mapping[str, bytes]) -> None:
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
    SnapshotFile.objects.bulk_create(kept)
    snapshot.digest = digest_of({each.form: each.digest for each in kept})
    snapshot.save(update_fields=["digest"])


def digest_of(files: Mapping[str, str]) -> str:
    """Return the digest of a snapshot: SHA-256 of lines ``digest  form``, by form."""
    lines = "".join(f"{files[form]}  {form}\n" for form in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
