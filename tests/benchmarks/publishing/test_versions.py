"""Snapshots: frozen whole, never changed, withdrawn with a reason, signed by others."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import ProgrammingError, transaction
from django.db.models import ProtectedError

from benchmarks.errors import SnapshotError
from benchmarks.models import Campaign, Snapshot, SnapshotFile
from benchmarks.publishing.jobs import note_stage, take_freezing
from benchmarks.publishing.versions import (
    digest_of,
    freeze_campaign,
    sign_snapshot,
    withdraw_snapshot,
)
from benchmarks.studies import checking
from benchmarks.uploads import intake
from tests import freezing


@pytest.fixture
def measured(campaign, submit, run_document):
    submit(run_document())
    return campaign


@pytest.fixture
def settled(measured):
    """Its checks are done."""
    checking.check_due_campaigns(timedelta(0))


@pytest.fixture
def reviewer(other_lab):
    return get_user_model().objects.create_user("dave")


def test_it_keeps_every_form_with_its_digest(measured, freeze):
    snapshot = freeze(measured)

    found = {each.form: each for each in snapshot.files.all()}
    assert bytes(found["csv"].content) == b"a,b\r\n"
    assert found["csv"].digest == hashlib.sha256(b"a,b\r\n").hexdigest()
    assert (found["csv"].size, snapshot.number, snapshot.who) == (5, 1, "carol")
    lines = f"{found['bib'].digest}  bib\n{found['csv'].digest}  csv\n"
    assert snapshot.digest == hashlib.sha256(lines.encode()).hexdigest()
    assert snapshot.digest == digest_of({f: each.digest for f, each in found.items()})


def test_it_says_what_it_was_judged_as_and_by_which_rules(measured, freeze, settings):
    snapshot = freeze(measured)

    assert (snapshot.rule_set, snapshot.level) == (1, "draft")
    assert "microcode" in snapshot.undisclosed["host"]
    assert snapshot.version == settings.VERSION


def test_each_has_the_next_number(measured, freeze):
    assert [freeze(measured).number for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "change",
    [lambda files: files.update(content=b"x"), lambda files: files.delete()],
    ids=["update", "delete"],
)
def test_the_database_refuses_to_change_what_is_frozen(measured, freeze, change):
    freeze(measured)
    files = SnapshotFile.objects.filter(form="csv")

    with transaction.atomic(), pytest.raises(ProgrammingError, match="are frozen"):
        change(files)


def test_its_campaign_cannot_be_deleted(measured, freeze):
    freeze(measured)

    with pytest.raises(ProtectedError):
        measured.delete()


def test_a_campaign_without_results_is_not_frozen(campaign, freeze):
    with pytest.raises(SnapshotError, match="no results"):
        freeze(campaign)


def test_runs_that_wait_are_waited_for(measured, freeze, agent, run_document):
    intake.submit_runs(agent=agent, documents=[run_document()])

    with pytest.raises(SnapshotError, match="still being processed"):
        freeze(measured)


def test_one_that_changes_meanwhile_is_not_frozen(measured, freeze):
    def write(snapshot):
        with transaction.atomic():
            Campaign.objects.update(note="another")
        return {"csv": b""}

    with pytest.raises(SnapshotError, match="changed meanwhile"):
        freeze(measured, write=write)
    assert not Snapshot.objects.exists()


def test_one_that_changed_before_anybody_began_is_not_frozen_unseen(
    measured, person, settled
):
    asked = freezing.asked(measured, person)
    with transaction.atomic():
        Campaign.objects.update(note="another")

    with pytest.raises(SnapshotError, match="changed meanwhile"):
        freeze_campaign(freezing=take_freezing(asked.pk), write=freezing.two_forms)


def test_nothing_of_it_is_there_before_all_of_it_is(measured, freeze):
    seen = []

    def write(snapshot):
        seen.append((snapshot.pk, Snapshot.objects.count()))
        return {"csv": b"", "bib": b""}

    assert seen == [(freeze(measured, write=write).pk, 0)]


def test_who_was_taken_for_dead_and_is_not_stores_nothing(measured, person, settled):
    slow = take_freezing(freezing.asked(measured, person).pk)
    note_stage(freezing=slow, stage="waiting")
    quick = take_freezing(slow.pk)
    freeze_campaign(freezing=quick, write=freezing.two_forms)

    with pytest.raises(SnapshotError, match="Another worker"):
        freeze_campaign(freezing=slow, write=freezing.two_forms)
    assert Snapshot.objects.count() == 1


@pytest.mark.parametrize(
    ("licence", "note", "said"),
    [
        ("", "", "Say whether a licence"),
        ("maybe", "", "Say whether a licence"),
        ("permitted", "  ", "Say who permitted it"),
    ],
)
def test_the_question_about_licences_must_be_answered(
    measured, freeze, licence, note, said
):
    with pytest.raises(SnapshotError, match=said):
        freeze(measured, licence=licence, licence_note=note)


def test_the_answer_about_licences_is_kept(measured, freeze):
    snapshot = freeze(measured, licence="permitted", licence_note="VMware, 2026-05-01")

    assert (snapshot.licence, snapshot.licence_note) == (
        "permitted",
        "VMware, 2026-05-01",
    )


def test_it_is_withdrawn_once_with_a_reason_and_stays(measured, freeze):
    snapshot = freeze(measured)
    with pytest.raises(SnapshotError, match="Say why"):
        withdraw_snapshot(snapshot=snapshot, who="carol", reason=" ")

    withdraw_snapshot(snapshot=snapshot, who="carol", reason="Wrong disk.")

    with pytest.raises(SnapshotError, match="withdrawn before"):
        withdraw_snapshot(snapshot=snapshot, who="carol", reason="Another reason.")
    found = Snapshot.objects.get()
    assert (found.withdrawn_by, found.withdrawn_reason) == ("carol", "Wrong disk.")
    assert found.files.count() == 2


def test_another_lab_verifies_what_is_a_labs(measured, freeze, other_lab, reviewer):
    snapshot = freeze(measured)
    Snapshot.objects.update(judged="lab")

    sign_snapshot(
        snapshot=snapshot, lab=other_lab, person=reviewer, note="Repeated it."
    )

    found = Snapshot.objects.get()
    assert found.level == "verified"
    assert found.signatures.get().who == "dave"


def test_a_signature_lifts_no_draft(measured, freeze, other_lab, reviewer):
    snapshot = freeze(measured)
    sign_snapshot(snapshot=snapshot, lab=other_lab, person=reviewer, note="Read it.")

    assert Snapshot.objects.get().level == "draft"


def test_a_signature_that_means_nothing_is_refused(
    measured, freeze, lab, other_lab, reviewer
):
    snapshot = freeze(measured)

    def refused(match, **changes):
        given = {"lab": other_lab, "person": reviewer, "note": "Read it.", **changes}
        with pytest.raises(SnapshotError, match=match):
            sign_snapshot(snapshot=snapshot, **given)

    refused("its own", lab=lab)
    refused("Say what", note=" ")
    sign_snapshot(snapshot=snapshot, lab=other_lab, person=reviewer, note="Read it.")
    refused("already")
    withdraw_snapshot(snapshot=snapshot, who="carol", reason="Wrong disk.")
    refused("withdrawn")
