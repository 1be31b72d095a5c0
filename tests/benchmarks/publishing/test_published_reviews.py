"""Reviews: frozen evidence of many studies."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.evidence.json_records import ReviewChanges
from benchmarks.evidence.queries import Question
from benchmarks.health import check_health
from benchmarks.jobs import queue
from benchmarks.maintenance.deletion import delete_study
from benchmarks.models import AuditEntry, Job, Lab, Review, Study
from benchmarks.publishing.publications import find_file, find_publication, withdraw
from benchmarks.publishing.published_reviews import (
    changes_since,
    reviewable_questions,
    reviewable_studies,
)
from benchmarks.publishing.versions import sign_version
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer
from tests import job_queue, publications
from tests.upload_documents import interleaved

WORK = "network-throughput-out"
XEN = Question("Xen", WORK)
NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)


@pytest.fixture
def measured(submit, run_document, xen):
    """A Xen guest and its native machine, six runs each."""
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def review(measured, lab):
    return publications.reviewed(lab)


def hide(study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)


def frozen(review):
    """The immutable content of a review."""
    fresh = find_publication(Review, Viewer(frozenset({review.lab_id})), review.pk)
    files = {file.name: file.digest for file in fresh.files.all()}
    return fresh.title, fresh.authors, fresh.content, fresh.digest, files


def test_review_stores_numbers_studies_and_files(review, study):
    (record,) = review.content["questions"]

    assert record["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    assert [item["study"] for item in review.content["studies"]] == ["alpha-lab/study"]
    assert review.rule_set == 3
    names = {file.name for file in review.files.all()}
    assert names == {f"review.{form}" for form in ("csv", "json", "tex", "md", "bib")}


def test_review_does_not_change_with_its_studies(
    review, submit, run_document, xen, study
):
    before = frozen(review)

    submit(*interleaved(run_document(value - 20, system=xen) for value in SLOW))
    checking.check_due_studies(timedelta(0))

    assert frozen(review) == before
    result = changes_since(review)
    assert result.changed == ("alpha-lab/study",)
    assert [item.before["hypervisor"] for item in result.changed_answers] == ["Xen"]


def test_no_differences_without_changes(review):
    assert changes_since(review) == ReviewChanges((), (), (), ())


def test_later_study_of_another_lab_is_a_difference(review, study):
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    for effect in list(study.effects.select_related("cell")):
        # The same cell in a study of another lab.
        later = Study.objects.create(
            lab=other, slug="later", title="Later", visibility="public"
        )
        study.effects.filter(pk=effect.pk).update(study=later, lab=other)

    result = changes_since(review)

    assert (result.added, result.removed) == (("beta-lab/later",), ("alpha-lab/study",))


def test_review_is_hidden_with_its_studies(review, study):
    hide(study)

    with pytest.raises(NotFoundError):
        find_publication(Review, ANYONE, review.pk)
    with pytest.raises(NotFoundError):
        find_file(Review, ANYONE, review.pk, "review.csv")
    assert frozen(review)[3] == review.digest


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"content": {}},
        {"authors": "Nobody"},
        {"digest": "0" * 64},
        {"requested_at": timezone.now()},
    ],
)
def test_database_rejects_changes_of_a_review(review, change):
    with pytest.raises(DatabaseError, match="published"), transaction.atomic():
        Review.objects.filter(pk=review.pk).update(**change)


def test_database_rejects_changes_of_review_files(review):
    for act in (
        lambda: review.files.update(content=b"x"),
        lambda: review.files.all().delete(),
        lambda: review.reviewed_studies.all().delete(),
        review.delete,
    ):
        with pytest.raises(DatabaseError, match="published"), transaction.atomic():
            act()


def test_private_studies_are_not_reviewed(measured, study, lab):
    hide(study)
    own = Viewer(frozenset({lab.pk}))

    assert reviewable_questions(own) == []
    with pytest.raises(InvalidError, match="No public or signed results"):
        publications.reviewed(lab, questions=[XEN], viewer=own)


def test_signed_studies_can_be_reviewed_by_their_viewers(measured, study, lab, person):
    hide(study)
    own = Viewer(frozenset({lab.pk}))
    version = publications.published(study, person)
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    reviewer = type(person).objects.create_user("reviewer")
    sign_version(version=version, lab=other, person=reviewer, note="Repeated.")

    assert reviewable_studies(own) == {study.pk}
    assert reviewable_studies(ANYONE) == set()
    review = publications.reviewed(lab, questions=[XEN], viewer=own)
    assert review.content["studies"][0]["version"]["number"] == 1
    with pytest.raises(NotFoundError):
        find_publication(Review, ANYONE, review.pk)


def test_changed_study_is_no_longer_signed(
    measured, study, lab, person, submit, run_document
):
    hide(study)
    version = publications.published(study, person)
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    reviewer = type(person).objects.create_user("reviewer")
    sign_version(version=version, lab=other, person=reviewer, note="Repeated.")

    submit(run_document(101.0))

    assert reviewable_studies(Viewer(frozenset({lab.pk}))) == set()


def test_repeated_request_gives_one_review(review, lab):
    assert publications.reviewed(lab).pk == review.pk
    assert publications.reviewed(lab, title="Another").pk != review.pk


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": "  "}, "title"),
        ({"authors": ""}, "authors"),
        ({"title": "x" * 301}, "300"),
        ({"questions": []}, "at least one"),
        ({"questions": [Question("KVM", WORK)]}, "No public or signed results"),
        ({"questions": [Question("KVM", "cooking")]}, "Unknown work class"),
    ],
)
def test_invalid_reviews_are_rejected_with_a_reason(measured, lab, change, reason):
    with pytest.raises(InvalidError, match=reason):
        publications.reviewed(lab, **change)
    assert not Review.objects.exists()


def test_review_is_withdrawn_once_with_a_reason(review):
    with pytest.raises(InvalidError, match="Give a reason"):
        withdraw(review, actor="carol", reason=" ")

    withdraw(review, actor="carol", reason="A slip.")

    assert find_publication(Review, ANYONE, review.pk).withdrawal_reason == "A slip."
    assert find_file(Review, ANYONE, review.pk, "review.csv")[1].content
    with pytest.raises(InvalidError, match="already withdrawn"):
        withdraw(review, actor="carol", reason="Again.")
    reported = AuditEntry.objects.filter(
        kind=AuditEntry.Kind.WITHDREW_PUBLICATION
    ).get()
    assert (reported.actor, reported.lab) == ("carol", review.lab)
    assert "A slip." in reported.about


def test_deleted_study_of_a_review_becomes_a_tombstone(review, study):
    loss = delete_study(study=study, actor="carol", reason="It was made up.")

    study.refresh_from_db()
    assert study.deleted_at
    assert loss.withdrawn == 1
    withdrawn = find_publication(Review, ANYONE, review.pk)
    assert "It was made up" in withdrawn.withdrawal_reason
    assert find_file(Review, ANYONE, review.pk, "review.json")[1].content


@pytest.fixture
def unwritten(measured, lab, monkeypatch):
    """A review whose files cannot be written."""
    review = publications.requested_review(lab)
    assert (check_health().failed_jobs, check_health().status) == ((), "ok")

    def fail(review):
        raise OSError("disk full")

    monkeypatch.setattr("dashboard.exports.version_and_review_files.review_files", fail)
    return review


def test_failed_review_is_reported_and_can_be_retried(unwritten, monkeypatch):
    queue.run_due_jobs("review", unwritten.pk)
    unwritten.refresh_from_db()
    assert unwritten.stage == "failed"
    (stuck,) = check_health().failed_jobs
    assert (stuck.kind, stuck.retrying, stuck.quarantined) == ("review", 1, 0)

    for _ in range(4):
        job_queue.make_due()
        queue.run_due_jobs("review", unwritten.pk)

    (stuck,) = check_health().failed_jobs
    assert (stuck.retrying, stuck.quarantined) == (0, 1)
    assert check_health().status == "degraded"
    listed, tried = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert f"review of {unwritten.pk}: failed 5 times, quar" in listed.getvalue()
    assert queue.partitions_to_dispatch() == []
    call_command("jobs", "--kind", "review", "--retry", stdout=tried)
    assert "1 will be retried" in tried.getvalue()
    assert check_health().failed_jobs == ()
    monkeypatch.undo()
    Job.objects.update(dispatched_at=None)
    assert queue.partitions_to_dispatch() == [("review", unwritten.pk)]
    assert queue.run_due_jobs("review", unwritten.pk) == 1
    unwritten.refresh_from_db()
    assert unwritten.stage == "done"


def test_waiting_review_is_counted_as_due(unwritten):
    due = {item.kind: item.waiting for item in check_health().waiting_jobs}

    assert due["review"] == 1
