"""What goes when something is deleted, and what stays."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import BatchRefusedError, InvalidError
from benchmarks.keeping.deletion import (
    delete_account,
    delete_study,
    delete_uploads,
    loss_of_study,
)
from benchmarks.labs.people import place_person
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
    """Two native runs and a Xen run; returned are their ids."""
    documents = (run_document(10.0), run_document(12.0), run_document(5.0, system=xen))
    return [each.run_id for each in submit(*documents)]


def test_a_deleted_run_counts_no_more(measured, lab):
    first, second, guest = measured

    loss = delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=first), who="carol", reason="wrong host"
    )

    assert (loss.runs, loss.samples, loss.cells) == (1, 1, 0)
    assert set(Run.objects.values_list("pk", flat=True)) == {second, guest}
    means = set(Cell.objects.values_list("n", "mean"))
    assert means == {(1, 12.0), (1, 5.0)}


def test_what_was_set_against_it_is_set_against_the_rest(measured, lab):
    guest = Cell.objects.get(mean=5.0)
    before = guest.efficiency.ratio

    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[0]), who="carol", reason="wrong"
    )

    guest = Cell.objects.get(pk=guest.pk)
    assert before is not None
    assert guest.efficiency.ratio == pytest.approx(before * 11 / 12)


def test_without_its_last_run_a_cell_is_gone(measured, lab):
    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[2]), who="carol", reason="wrong"
    )

    assert Cell.objects.count() == 1
    assert Job.objects.filter(kind="check").exists()


def test_the_audit_log_keeps_who_and_why(measured, lab):
    delete_uploads(
        lab=lab, runs=Run.objects.filter(pk=measured[0]), who="carol", reason="wrong"
    )

    entry = AuditEntry.objects.get()
    assert (entry.kind, entry.who) == (AuditEntry.Kind.DELETED_RUNS, "carol")
    assert "wrong" in entry.about


def test_nothing_is_deleted_without_a_reason(measured, study, lab):
    with pytest.raises(InvalidError):
        delete_uploads(lab=lab, runs=Run.objects.all(), who="carol", reason=" ")
    with pytest.raises(InvalidError):
        delete_study(study=study, who="carol", reason="")

    assert Run.objects.count() == 3


def test_a_study_that_was_never_published_goes_with_all_it_has(measured, study):
    loss = delete_study(study=study, who="carol", reason="made to try it out")

    assert (loss.runs, loss.cells, loss.withdrawn) == (3, 2, 0)
    models = (Study, Run, RunOutput, Sample, Cell)
    assert [model.objects.count() for model in models] == [0] * len(models)


@pytest.fixture
def published(measured, study, publish):
    return publish(study)


def test_what_was_published_is_withdrawn_and_stays(published, study):
    files = {file.name: file.digest for file in published.files.all()}

    loss = delete_study(study=study, who="carol", reason="the disk was broken")

    kept = Version.objects.get()
    assert loss.withdrawn == 1
    assert (kept.withdrawn_by, kept.withdrawn_reason) == (
        "carol",
        "the disk was broken",
    )
    assert {file.name: file.digest for file in kept.files.all()} == files
    study.refresh_from_db()
    assert study.deleted_at is not None
    assert study.note == "the disk was broken"
    assert (Run.objects.count(), Cell.objects.count()) == (0, 0)


def test_a_tombstone_has_its_pages_and_is_in_no_list(published, study, client):
    delete_study(study=study, who="carol", reason="the disk was broken")

    version = client.get(f"/versions/{published.pk}/")
    page = client.get(f"/studies/{study.lab.slug}/{study.slug}/")

    assert b"the disk was broken" in version.content
    assert b"the disk was broken" in page.content
    assert f"/{study.slug}/" not in client.get("/").content.decode()


def test_a_tombstone_takes_no_uploads(published, study, agent, run_document):
    delete_study(study=study, who="carol", reason="the disk was broken")

    with pytest.raises(BatchRefusedError):
        intake.submit_runs(agent=agent, documents=[run_document()])


def test_a_study_is_deleted_once(published, study):
    delete_study(study=study, who="carol", reason="first")

    with pytest.raises(InvalidError):
        delete_study(study=study, who="carol", reason="second")


def test_a_loss_is_told_before_and_is_what_goes(measured, study):
    told = loss_of_study(study)

    assert delete_study(study=study, who="carol", reason="x") == told


def test_an_account_goes_and_what_it_did_stays(person, lab, published):
    place_person(lab=lab, username="dora", role=Membership.Role.ADMIN)

    assert delete_account(person=person, who="manage.py") == [lab]

    assert not get_user_model().objects.filter(username="carol").exists()
    assert Version.objects.get().published_by == "carol"
    last = AuditEntry.objects.latest("pk")
    assert (last.kind, last.about) == (AuditEntry.Kind.DELETED_ACCOUNT, "carol")


def test_the_last_keeper_of_a_lab_stays(person):
    with pytest.raises(InvalidError):
        delete_account(person=person, who="manage.py")

    assert Membership.objects.filter(user=person).exists()
