"""Deletion of uploads, studies and accounts."""

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, transaction

from benchmarks.errors import BatchRejectedError, InvalidError
from benchmarks.labs.members import set_role
from benchmarks.maintenance.deletion import (
    count_study_deletion,
    delete_account,
    delete_study,
    delete_uploads,
)
from benchmarks.models import (
    AuditEntry,
    Cell,
    Job,
    Membership,
    Run,
    RunOutput,
    Sample,
    Study,
    Version,
)
from benchmarks.uploads import intake


@pytest.fixture
def measured(submit, run_document, xen):
    """Upload two native runs and a Xen run; return their ids."""
    documents = (run_document(10.0), run_document(12.0), run_document(5.0, system=xen))
    return [item.run_id for item in submit(*documents)]


def test_deleted_run_does_not_count(measured, lab):
    first, second, guest = measured

    loss = delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=first), actor="carol", reason="wrong host"
    )

    assert (loss.runs, loss.samples, loss.cells) == (1, 1, 0)
    assert set(Run.objects.values_list("pk", flat=True)) == {second, guest}
    means = set(Cell.objects.values_list("n", "mean"))
    assert means == {(1, 12.0), (1, 5.0)}


def test_comparisons_use_the_remaining_runs(measured, lab):
    guest = Cell.objects.get(mean=5.0)
    before = guest.efficiency.ratio

    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[0]), actor="carol", reason="wrong"
    )

    guest = Cell.objects.get(pk=guest.pk)
    assert before is not None
    assert guest.efficiency.ratio == pytest.approx(before * 11 / 12)


def test_cell_is_deleted_with_its_last_run(measured, lab):
    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[2]), actor="carol", reason="wrong"
    )

    assert Cell.objects.count() == 1
    assert Job.objects.filter(kind="check").exists()


def test_deletion_is_audited_with_reason(measured, lab):
    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[0]), actor="carol", reason="wrong"
    )

    entry = AuditEntry.objects.get()
    assert (entry.kind, entry.actor) == (AuditEntry.Kind.DELETED_RUNS, "carol")
    assert "wrong" in entry.about


def test_deletion_needs_a_reason(measured, study, lab):
    with pytest.raises(InvalidError):
        delete_uploads(lab=lab, runs=Run.objects.all(), actor="carol", reason=" ")
    with pytest.raises(InvalidError):
        delete_study(study=study, actor="carol", reason="")

    assert Run.objects.count() == 3


def test_unpublished_study_is_deleted_completely(measured, study):
    loss = delete_study(study=study, actor="carol", reason="made to try it out")

    assert (loss.runs, loss.cells, loss.withdrawn) == (3, 2, 0)
    models = (Study, Run, RunOutput, Sample, Cell)
    assert [model.objects.count() for model in models] == [0] * len(models)


@pytest.fixture
def published(measured, study, publish):
    return publish(study)


def test_publications_of_a_deleted_study_are_withdrawn(published, study):
    files = {file.name: file.digest for file in published.files.all()}

    loss = delete_study(study=study, actor="carol", reason="the disk was broken")

    stored = Version.objects.get()
    assert loss.withdrawn == 1
    assert (stored.withdrawn_by, stored.withdrawal_reason) == (
        "carol",
        "the disk was broken",
    )
    assert {file.name: file.digest for file in stored.files.all()} == files
    study.refresh_from_db()
    assert study.deleted_at is not None
    assert study.note == "the disk was broken"
    assert (Run.objects.count(), Cell.objects.count()) == (0, 0)


def test_tombstone_has_a_page_but_is_not_listed(published, study, client):
    delete_study(study=study, actor="carol", reason="the disk was broken")

    version = client.get(f"/versions/{published.pk}/")
    page = client.get(f"/studies/{study.lab.slug}/{study.slug}/")

    assert b"the disk was broken" in version.content
    assert b"the disk was broken" in page.content
    assert f"/{study.slug}/" not in client.get("/").content.decode()


def test_tombstone_rejects_uploads(published, study, agent, run_document):
    delete_study(study=study, actor="carol", reason="the disk was broken")

    with pytest.raises(BatchRejectedError):
        intake.submit_runs(agent=agent, documents=[run_document()])


def test_deleting_a_study_again_fails(published, study):
    delete_study(study=study, actor="carol", reason="first")

    with pytest.raises(InvalidError):
        delete_study(study=study, actor="carol", reason="second")


def test_announced_deletion_equals_actual_deletion(measured, study):
    reported = count_study_deletion(study)

    assert delete_study(study=study, actor="carol", reason="x") == reported


def test_deleted_account_leaves_its_data(person, lab, published):
    set_role(lab=lab, username="dora", role=Membership.Role.ADMIN)

    assert delete_account(person=person, actor="manage.py") == [lab]

    assert not get_user_model().objects.filter(username="carol").exists()
    assert Version.objects.get().published_by == "carol"
    last = AuditEntry.objects.latest("pk")
    assert (last.kind, last.about) == (AuditEntry.Kind.DELETED_ACCOUNT, "carol")


def test_last_editor_of_a_lab_cannot_be_deleted(person):
    with pytest.raises(InvalidError):
        delete_account(person=person, actor="manage.py")

    assert Membership.objects.filter(user=person).exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda entries: entries.update(about="nothing"),
        lambda entries: entries.update(person=get_user_model().objects.get()),
        lambda entries: entries._raw_delete("default"),
    ],
    ids=["text", "person", "deletion"],
)
def test_entries_of_the_audit_log_never_change(lab, person, change):
    AuditEntry.log(lab, AuditEntry.Kind.LEFT_LAB, "eve")

    with pytest.raises(DatabaseError, match="never change"), transaction.atomic():
        change(AuditEntry.objects.filter(lab=lab, about="eve"))
