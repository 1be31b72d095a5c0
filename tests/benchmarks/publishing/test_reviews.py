"""Reviews: what many studies said together, frozen."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Changes
from benchmarks.health import health
from benchmarks.keeping.deletion import delete_study
from benchmarks.models import AuditEntry, Job, Lab, Review, Study
from benchmarks.publishing.publications import find_file, find_publication, withdraw
from benchmarks.publishing.reviews import (
    changes_since,
    reviewable_questions,
    reviewable_studies,
)
from benchmarks.publishing.versions import sign_version
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.unattended import queue
from benchmarks.viewer import ANYONE, Viewer
from tests import jobs, publishing

WORK = "network-throughput-out"
XEN = Question("Xen", WORK)
NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)


@pytest.fixture
def measured(submit, run_document, xen):
    """A Xen guest beside its machine, six runs a side."""
    submit(
        *(run_document(value) for value in NATIVE),
        *(run_document(value, system=xen) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def review(measured, lab):
    return publishing.reviewed(lab)


def hide(study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)


def frozen(review):
    """Everything of a review that is promised to stay."""
    fresh = find_publication(Review, Viewer(frozenset({review.lab_id})), review.pk)
    files = {file.name: file.digest for file in fresh.files.all()}
    return fresh.title, fresh.authors, fresh.content, fresh.digest, files


def test_it_keeps_numbers_studies_and_files(review, study):
    (record,) = review.content["questions"]

    assert record["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    assert [it["study"] for it in review.content["studies"]] == ["alpha-lab/study"]
    assert review.rule_set == 2
    names = {file.name for file in review.files.all()}
    assert names == {f"review.{form}" for form in ("csv", "json", "tex", "md", "bib")}


def test_it_stays_what_it_was_when_its_studies_go_on(
    review, submit, run_document, xen, study
):
    before = frozen(review)

    submit(*(run_document(value - 20, system=xen) for value in SLOW))
    checking.check_due_studies(timedelta(0))

    assert frozen(review) == before
    found = changes_since(review)
    assert found.changed == ("alpha-lab/study",)
    assert [it.then["hypervisor"] for it in found.answers] == ["Xen"]


def test_nothing_is_different_as_long_as_nothing_changed(review):
    assert changes_since(review) == Changes((), (), (), ())


def test_a_study_of_another_lab_that_came_later_is_told(review, study):
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    for effect in list(study.effects.select_related("cell")):
        # The same cell, as if another lab's study had measured it.
        later = Study.objects.create(
            lab=other, slug="later", title="Later", visibility="public"
        )
        study.effects.filter(pk=effect.pk).update(study=later, lab=other)

    found = changes_since(review)

    assert (found.new, found.gone) == (("beta-lab/later",), ("alpha-lab/study",))


def test_who_may_not_see_a_study_any_more_sees_no_review_of_it(review, study):
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
def test_the_database_refuses_to_change_it(review, change):
    with pytest.raises(DatabaseError, match="published"), transaction.atomic():
        Review.objects.filter(pk=review.pk).update(**change)


def test_the_database_refuses_to_change_or_delete_its_files(review):
    for act in (
        lambda: review.files.update(content=b"x"),
        lambda: review.files.all().delete(),
        lambda: review.reviewed.all().delete(),
        review.delete,
    ):
        with pytest.raises(DatabaseError, match="published"), transaction.atomic():
            act()


def test_what_is_private_is_in_no_review(measured, study, lab):
    hide(study)
    own = Viewer(frozenset({lab.pk}))

    assert reviewable_questions(own) == []
    with pytest.raises(InvalidError, match="Nothing that is public or signed"):
        publishing.reviewed(lab, questions=[XEN], viewer=own)


def test_what_another_lab_signed_is_in_a_review_of_who_sees_it(
    measured, study, lab, person
):
    hide(study)
    own = Viewer(frozenset({lab.pk}))
    version = publishing.published(study, person)
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    reviewer = type(person).objects.create_user("reviewer")
    sign_version(version=version, lab=other, person=reviewer, note="Repeated.")

    assert reviewable_studies(own) == {study.pk}
    assert reviewable_studies(ANYONE) == set()
    review = publishing.reviewed(lab, questions=[XEN], viewer=own)
    assert review.content["studies"][0]["version"]["number"] == 1
    with pytest.raises(NotFoundError):
        find_publication(Review, ANYONE, review.pk)


def test_what_was_signed_and_then_changed_is_signed_no_more(
    measured, study, lab, person, submit, run_document
):
    hide(study)
    version = publishing.published(study, person)
    other = Lab.objects.create(slug="beta-lab", name="Beta lab")
    reviewer = type(person).objects.create_user("reviewer")
    sign_version(version=version, lab=other, person=reviewer, note="Repeated.")

    submit(run_document(101.0))

    assert reviewable_studies(Viewer(frozenset({lab.pk}))) == set()


def test_asked_for_twice_it_is_one(review, lab):
    assert publishing.reviewed(lab).pk == review.pk
    assert publishing.reviewed(lab, title="Another").pk != review.pk


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": "  "}, "title"),
        ({"authors": ""}, "authors"),
        ({"title": "x" * 301}, "300"),
        ({"questions": []}, "at least one"),
        ({"questions": [Question("KVM", WORK)]}, "Nothing that is public"),
        ({"questions": [Question("KVM", "cooking")]}, "no class of work"),
    ],
)
def test_what_cannot_be_published_is_refused_with_a_reason(
    measured, lab, change, reason
):
    with pytest.raises(InvalidError, match=reason):
        publishing.reviewed(lab, **change)
    assert not Review.objects.exists()


def test_it_is_withdrawn_once_with_a_reason(review):
    with pytest.raises(InvalidError, match="Give a reason"):
        withdraw(review, who="carol", reason=" ")

    withdraw(review, who="carol", reason="A slip.")

    assert find_publication(Review, ANYONE, review.pk).withdrawn_reason == "A slip."
    assert find_file(Review, ANYONE, review.pk, "review.csv")[1].content
    with pytest.raises(InvalidError, match="before"):
        withdraw(review, who="carol", reason="Again.")
    told = AuditEntry.objects.filter(kind=AuditEntry.Kind.WITHDREW_PUBLISHED).get()
    assert (told.who, told.lab) == ("carol", review.lab)
    assert "A slip." in told.about


def test_a_study_that_is_deleted_stays_behind_it_as_a_tombstone(review, study):
    loss = delete_study(study=study, who="carol", reason="It was made up.")

    study.refresh_from_db()
    assert study.deleted_at
    assert loss.withdrawn == 1
    withdrawn = find_publication(Review, ANYONE, review.pk)
    assert "It was made up" in withdrawn.withdrawn_reason
    assert find_file(Review, ANYONE, review.pk, "review.json")[1].content


@pytest.fixture
def unwritten(measured, lab, monkeypatch):
    """A review whose files cannot be written."""
    review = publishing.asked_for_review(lab)
    assert (health().stuck, health().status) == ((), "ok")

    def fail(review):
        raise OSError("disk full")

    monkeypatch.setattr("dashboard.exports.publications.review_texts", fail)
    return review


def test_one_that_cannot_be_written_is_told_and_can_be_tried_again(
    unwritten, monkeypatch
):
    queue.run("review", unwritten.pk)
    unwritten.refresh_from_db()
    assert unwritten.stage == "failed"
    (stuck,) = health().stuck
    assert (stuck.kind, stuck.failing, stuck.quarantined) == ("review", 1, 0)

    for _ in range(4):
        jobs.make_due()
        queue.run("review", unwritten.pk)

    (stuck,) = health().stuck
    assert (stuck.failing, stuck.quarantined) == (0, 1)
    assert health().status == "degraded"
    listed, tried = StringIO(), StringIO()
    call_command("jobs", stdout=listed)
    assert f"review of {unwritten.pk}: failed 5 times, quar" in listed.getvalue()
    assert queue.to_be_sent() == []
    call_command("jobs", "--kind", "review", "--retry", stdout=tried)
    assert "1 will be tried again" in tried.getvalue()
    assert health().stuck == ()
    monkeypatch.undo()
    Job.objects.update(hinted_at=None)
    assert queue.to_be_sent() == [("review", unwritten.pk)]
    assert queue.run("review", unwritten.pk) == 1
    unwritten.refresh_from_db()
    assert unwritten.stage == "done"


def test_one_that_waits_is_counted_as_due(unwritten):
    due = {each.kind: each.waiting for each in health().due}

    assert due["review"] == 1
